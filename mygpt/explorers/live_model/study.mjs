// A text read by a GPT that was trained in the page: where each neuron fires most, and what rewriting a fact needs of
// the last layer. The engine reads it, in slices of time that leave the page fluid.

import { times } from "../kit/geometry.mjs";
import { logitsOf, makeNetwork, numbersOf } from "../engine/network.mjs";
import { promptPieces } from "./pieces.mjs";

const SAMPLES = 240; // of the text, over the whole of it
const [FAST, SLOW] = [64, 16]; // tokens of a sample, with WebAssembly and without
const SLICE = 12; // ms
const [CANDIDATES, KEPT] = [8, 5]; // triggers of a neuron, before texts that are equal count once
const SHOWN = { characters: 22, words: 5 }; // tokens of a trigger
const PER_NEURON = 12; // tokens that the second moment is taken over
const RIDGE = 1e-2; // of the mean of its diagonal, as in mygpt/inside/editing.py

/** Samples of the text from its start to its end, as ids; one with a token that the model does not have is left out.
 * @type {(text: string, pieces: LiveModel.Pieces, places: Map<string, number>, count: number, length: number) => { ids: number[]; names: string[]; start: boolean }[]} */
export function samplesOf(text, pieces, places, count, length) {
  const room = pieces.noun === "word" ? 24 * length : 2 * length + 2;
  const last = Math.max(0, text.length - room);
  const number = Math.min(count, 1 + Math.ceil(last / length));
  const starts = times(number, (i) => Math.floor((last * i) / Math.max(1, number - 1)));
  return starts
    .map((at) => {
      const part = text
        .slice(at, at + room)
        .replace(/^[\uDC00-\uDFFF]/, "")
        .replace(/[\uD800-\uDBFF]$/, "");
      const all = pieces.split(part);
      const names = (at && pieces.noun === "word" ? all.slice(1, -1) : all).slice(0, length); // whole words
      return { names, ids: names.map((name) => places.get(name) ?? -1), start: at === 0 };
    })
    .filter(({ ids }) => ids.length > 0 && !ids.includes(-1));
}

/** For each neuron the samples in which it fires most, with how much and where: `add` takes a sample's activations.
 * @param {number} neurons
 */
export function strongestSamples(neurons) {
  const numbers = new Float32Array(neurons * CANDIDATES);
  const places = new Int32Array(neurons * CANDIDATES).fill(-1);
  /** @type {(active: Float32Array, rows: number, hidden: number, first: number, sample: number) => void} */
  function add(active, rows, hidden, first, sample) {
    for (let j = 0; j < hidden; j += 1) {
      let [most, where] = [0, -1];
      for (let row = 0; row < rows; row += 1) {
        const one = active[row * hidden + j];
        if (one > most) [most, where] = [one, row];
      }
      const start = (first + j) * CANDIDATES;
      let at = start + CANDIDATES - 1;
      if (where < 0 || most <= numbers[at]) continue;
      for (; at > start && numbers[at - 1] < most; at -= 1) {
        numbers[at] = numbers[at - 1];
        places[at] = places[at - 1];
      }
      numbers[at] = most;
      places[at] = sample * FAST + where;
    }
  }
  return { numbers, places, add };
}

/** Adds h hᵀ of some rows of activations, the lower triangle alone.
 * @type {(total: Float64Array, active: Float32Array, rows: number, hidden: number, step: number) => number} */
function addMoment(total, active, rows, hidden, step) {
  let count = 0;
  for (let row = 0; row < rows; row += step, count += 1) {
    const h = active.subarray(row * hidden, (row + 1) * hidden);
    for (let i = 0; i < hidden; i += 1) {
      const [one, to] = [h[i], i * hidden];
      for (let j = 0; j <= i; j += 1) total[to + j] += one * h[j];
    }
  }
  return count;
}

/** The mean of h hᵀ with a ridge that makes it invertible, from the sum's lower triangle.
 * @type {(total: Float64Array, hidden: number, count: number) => Float64Array} */
function momentFrom(total, hidden, count) {
  let trace = 0;
  for (let i = 0; i < hidden; i += 1) {
    trace += total[i * hidden + i] / count;
    for (let j = 0; j <= i; j += 1) total[j * hidden + i] = total[i * hidden + j] /= count;
  }
  for (let i = 0; i < hidden; i += 1) total[i * hidden + i] += (RIDGE * trace) / hidden;
  return total;
}

/** Lets the page do what waits.
 * @type {() => Promise<unknown>} */
export const pause = () => new Promise((resume) => setTimeout(resume));

/** The triggers as traits have them: each different text once, and packed pairs.
 * @param {ReturnType<typeof strongestSamples>} found
 * @param {ReturnType<typeof samplesOf>} samples
 * @param {LiveModel.Pieces} pieces
 * @param {number[]} layers */
export function packedTriggers({ numbers, places }, samples, pieces, layers) {
  const most = SHOWN[/** @type {"characters" | "words"} */ (pieces.kind)];
  /** @type {Map<string, number>} */
  const texts = new Map();
  /** @type {(place: number) => string} */
  const textAt = (place) => {
    const { names, start } = samples[Math.floor(place / FAST)];
    const end = place % FAST;
    const before = names.slice(Math.max(0, end + 1 - most), end);
    const cut = !start || end + 1 > most ? "…" : "";
    const gap = pieces.noun === "word" && before.length ? " " : "";
    return `${cut}${pieces.join(before)}${gap}${names[end]}`;
  };
  const neurons = numbers.length / CANDIDATES;
  const data = new Int32Array(2 * KEPT * neurons).fill(-1);
  for (let neuron = 0; neuron < neurons; neuron += 1) {
    const seen = new Set();
    for (let i = neuron * CANDIDATES; i < (neuron + 1) * CANDIDATES; i += 1) {
      const text = places[i] < 0 ? null : textAt(places[i]);
      if (text === null || seen.has(text) || seen.size === KEPT) continue;
      if (!texts.has(text)) texts.set(text, texts.size);
      data.set([texts.get(text) ?? -1, Math.round(1000 * numbers[i])], 2 * (neuron * KEPT + seen.size));
      seen.add(text);
    }
  }
  return { layers, texts: [...texts.keys()], data };
}

/**
 * Reads some 240 samples of a text. `triggers`: for each neuron of every layer up to five texts at whose last token it
 * fires most; `moment`, if `rewriting`: the second moment of the last layer's activations. Both are for
 * `liveModelOf`. Null once `signal` is aborted.
 * @type {(study: LiveModel.Study) => Promise<{ triggers: LiveModel.Triggers; moment?: Float64Array } | null>}
 */
export async function studyText({ config, tensors, tokenizer, text, rewriting = false, signal }) {
  const { hidden, layers, attentionOnly, positions } = config;
  const pieces = promptPieces(tokenizer.kind, tokenizer.tokens);
  const places = new Map(pieces.names(tokenizer.tokens).map((name, place) => [name, place]));
  const network = makeNetwork(config, 1, Math.min(positions, FAST));
  for (const name of network.plan.parts.keys()) {
    const part = tensors.get(name);
    if (!part) throw new Error(`expected a tensor ${name}`);
    numbersOf(network, name).set(part);
  }
  const samples = samplesOf(text, pieces, places, SAMPLES, Math.min(positions, network.simd ? FAST : SLOW));
  const known = [...network.plan.blocks.keys()].filter((i) => !attentionOnly.includes(i));
  const found = strongestSamples(known.length * hidden);
  const total = new Float64Array(rewriting && known.includes(layers - 1) ? hidden * hidden : 0);
  const rows = samples.reduce((sum, { ids }) => sum + ids.length, 0);
  const step = Math.max(1, Math.floor(rows / (PER_NEURON * hidden)));
  let [count, since] = [0, performance.now()];
  for (const [i, { ids }] of samples.entries()) {
    if (performance.now() - since > SLICE) {
      await pause();
      since = performance.now();
    }
    if (signal?.aborted) return null;
    logitsOf(network, ids);
    const activeOf = (/** @type {number} */ layer) => {
      const at = network.plan.blocks[layer].active >> 2;
      return network.numbers.subarray(at, at + ids.length * hidden);
    };
    known.forEach((layer, k) => found.add(activeOf(layer), ids.length, hidden, k * hidden, i));
    if (total.length) count += addMoment(total, activeOf(layers - 1), ids.length, hidden, step);
  }
  await pause();
  const triggers = packedTriggers(found, samples, pieces, known);
  return count ? { triggers, moment: momentFrom(total, hidden, count) } : { triggers };
}
