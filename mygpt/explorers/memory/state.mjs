// The state of the explorer, and what follows from it: scores, ranks and the neurons in view.

import { clamp, descending, extent, fixed, integers, times } from "../kit/geometry.mjs";
import { visibleText } from "../kit/parts/heat.mjs";
import { store } from "../kit/mounting.mjs";
import { ranking, unpackPairs } from "../kit/parts/neurons.mjs";

export const BESIDE = 5; // words beside the chosen one
export const PROMOTED = 5; // words said of a neuron

/** @type {(value: number) => string} */
export const score = (value) => fixed(value, 2);
/** @type {(value: number) => string} */
export const signedScore = (value) => (value > 0 && Number(value.toFixed(2)) !== 0 ? "+" : "") + score(value);

/** The numbers of a binary trait of so many rows: each row's unit, the upper eight of the 12 bits of
 * all multiples of it, and the lower four, two to a byte.
 * @type {(view: DataView, rows: number) => Float64Array} */
export function packedRows(view, rows) {
  const upper = 4 * rows;
  const length = Math.floor(((view.byteLength - upper) * 2) / 3);
  return Float64Array.from({ length }, (_, i) => {
    const lower = (view.getUint8(upper + length + (i >> 1)) >> (4 * (i & 1))) & 15;
    const unit = view.getFloat32(4 * Math.floor((i * rows) / length), true);
    return (16 * view.getInt8(upper + i) + lower) * unit;
  });
}

/** The products of a row with each row of a matrix.
 * @type {(matrix: Kit.Numbers, row: Kit.Numbers) => number[]} */
export function products(matrix, row) {
  const { length } = row;
  return times(matrix.length / length, (at) => {
    let sum = 0;
    for (let i = 0; i < length; i += 1) sum += matrix[at * length + i] * row[i];
    return sum;
  });
}

/** The other neurons whose values have the largest cosine with that of one, with it.
 * @type {(values: Float64Array, channels: number, neuron: number, most: number) => [number, number][]} */
export function nearest(values, channels, neuron, most) {
  const own = values.subarray(neuron * channels, (neuron + 1) * channels);
  const sizes = times(values.length / channels, (n) => {
    let sum = 0;
    for (let i = n * channels; i < (n + 1) * channels; i += 1) sum += values[i] * values[i];
    return Math.sqrt(sum);
  });
  const cosines = products(values, own).map((product, n) => product / (sizes[n] * sizes[neuron]) || 0);
  const others = descending(cosines).filter((n) => n !== neuron);
  return others.slice(0, most).map((n) => [n, cosines[n]]);
}

/** The first of `count` neurons in view when page `page` of the order is shown: the last page is full. The last
 * neuron of the first page is on the second, too: its column may be another's.
 * @type {(page: number, count: number, neurons: number) => number} */
export const firstOf = (page, count, neurons) => clamp(page && page * count - 1, 0, Math.max(0, neurons - count));

/** The page on which the neuron of a rank stands; of two the first.
 * @type {(rank: number, count: number) => number} */
export const pageOf = (rank, count) => (rank < count ? 0 : Math.floor((rank + 1) / count));

/** What the neurons write, where the explorer was given it.
 * @param {Kit.Model<Memory.Traits & Kit.Described>} model */
export function writingOf(model) {
  const words = model.get("words");
  if (!words.length) return null;
  const vectors = packedRows(model.get("vector_data"), words.length);
  const values = packedRows(model.get("value_data"), model.get("neurons"));
  return { words, values, vectors, channels: vectors.length / words.length, norms: model.get("norms") };
}

/** @param {Kit.Model<Memory.Traits & Kit.Described>} model */
export function memoryState(model) {
  const neurons = model.get("neurons");
  const texts = model.get("texts").map(visibleText);
  /** @type {(trait: "trigger_data" | "promoted_data") => Kit.TextAndNumber[][]} */
  const pairs = (trait) => unpackPairs(integers(model.get(trait)), neurons, texts);
  return store(model, {
    id: `mygpt-memory-${Math.random().toString(36).slice(2)}`,
    tokens: model.get("tokens").map(visibleText),
    neurons,
    activations: Float64Array.from(integers(model.get("data")), (one) => one / 1000),
    triggers: pairs("trigger_data"),
    promoted: model.get("promoted_data").byteLength ? pairs("promoted_data") : [], // else they follow from `writing`
    writing: writingOf(model),
    ranked: /** @type {number[]} */ ([]),
    rows: /** @type {number[]} */ ([]), // the words of the lower map: the chosen one, then the most added to
    added: /** @type {number[][]} */ ([]), // of each of these, what each neuron adds
    totals: /** @type {number[]} */ ([]), // of every word, what all neurons add
    writes: /** @type {number[]} */ ([]), // on the chosen word, with an activation of 1
    page: 0,
    count: 12,
    width: 640,
  });
}

/** @type {(state: Memory.State, token?: number) => Float64Array} */
export function activationsAt({ activations, neurons, get }, token = get("token")) {
  return activations.subarray(token * neurons, (token + 1) * neurons);
}

/** What all neurons together add to each word's score at a token.
 * @type {(writing: Memory.Writing, activations: Kit.Numbers, norm: number) => number[]} */
export function totalsOf({ values, vectors, channels }, activations, norm) {
  const sum = new Float64Array(channels);
  Array.from(activations).forEach((m, n) => {
    for (let i = 0; i < channels; i += 1) sum[i] += m * values[n * channels + i];
  });
  return products(vectors, sum).map((total) => total / norm);
}

/** The words of the lower map: the chosen one, then those to which all neurons add most.
 * @type {(totals: number[], chosen: number) => number[]} */
export function rowsOf(totals, chosen) {
  const others = descending(totals).filter((word) => word !== chosen);
  return [chosen, ...others.slice(0, BESIDE)];
}

/** Computes what follows from the chosen word, token and order.
 * @type {(state: Memory.State) => void} */
export function compute(state) {
  const { writing, get } = state;
  const now = activationsAt(state);
  if (writing) {
    const norm = writing.norms[get("token")];
    state.totals = totalsOf(writing, now, norm);
    state.rows = rowsOf(state.totals, writing.words.indexOf(get("word")));
    const each = state.rows.map((word) => writesOf(writing, word));
    [state.writes] = each;
    state.added = each.map((writes) => writes.map((one, n) => (now[n] * one) / norm));
  }
  const order = get("order");
  if (order === "number") state.ranked = Array.from(now, (_, n) => n);
  else state.ranked = order === "adds" && writing ? descending(state.added[0]) : ranking(now);
}

/** What each neuron writes on a word, with an activation of 1 and before the last norm's division.
 * @type {(writing: Memory.Writing, word: number) => number[]} */
export function writesOf({ values, vectors, channels }, word) {
  return products(values, vectors.subarray(word * channels, (word + 1) * channels));
}

/** The words that a neuron promotes, with their scores: those given, or the most written.
 * @type {(state: Memory.State, neuron: number) => Kit.TextAndNumber[]} */
export function promotedBy({ promoted, writing }, neuron) {
  if (promoted.length || !writing) return promoted[neuron];
  const { words, values, vectors, channels } = writing;
  const scores = products(vectors, values.subarray(neuron * channels, (neuron + 1) * channels));
  return descending(scores)
    .slice(0, PROMOTED)
    .map((place) => ({ text: visibleText(words[place]), number: scores[place] }));
}

/** Whether the chosen neuron, which is not among the first, has the last column beside them.
 * @type {(state: Memory.State) => boolean} */
export const isApart = ({ ranked, page, count, get }) => page === 0 && ranked.indexOf(get("neuron")) >= count;

/** The ranks in view: from the first to before the last.
 * @type {(state: Memory.State) => [first: number, last: number]} */
export function ranksInView(state) {
  const { page, count, neurons } = state;
  const first = firstOf(page, count, neurons);
  return [first, Math.min(first + count, neurons) - Number(isApart(state))];
}

/** The neurons in view, in order; at the end the chosen one, where it is not among the first.
 * @type {(state: Memory.State) => number[]} */
export function inView(state) {
  const seen = state.ranked.slice(...ranksInView(state));
  return isApart(state) ? [...seen, state.neuron] : seen;
}

/** Turns to the page of the chosen neuron, unless it is in view in its own place.
 * @type {(state: Memory.State) => void} */
export function reveal(state) {
  const rank = state.ranked.indexOf(state.neuron);
  const [first, last] = ranksInView(state);
  if (rank < first || rank >= last) state.page = pageOf(rank, state.count);
}

/** The largest size among numbers, or 1.
 * @type {(lists: Iterable<Iterable<number>>) => number} */
export function limitOf(lists) {
  const [low, high] = extent(lists) ?? [0, 0];
  return Math.max(-low, high) || 1;
}

const ORDERED = { adds: "by what they add", fires: "by firing", number: "by number" };

/** Which neurons are in view, and what they add.
 * @type {(state: Memory.State) => string} */
export function rangeOf(state) {
  const { writing, neurons, ranked, added, totals, rows, get } = state;
  const [first, last] = ranksInView(state);
  const seen = `${first + 1}–${last} of ${neurons}`;
  if (!writing) return `${seen} ${ORDERED[get("order")]}`;
  const here = ranked.slice(first, last).reduce((total, neuron) => total + added[0][neuron], 0);
  return `${seen} add ${signedScore(here)}, all ${signedScore(totals[rows[0]])}`;
}

/** The parts of what the chosen neuron adds: each a number and what it is.
 * @type {(state: Memory.State) => [string, string, string][]} */
export function partsOf(state) {
  const { writing, get, tokens, added, writes } = state;
  if (!writing) return [];
  const [neuron, token, word] = [get("neuron"), get("token"), get("word")];
  return [
    ["", score(activationsAt(state)[neuron]), `it fires at “${tokens[token]}”`],
    ["×", score(writes[neuron]), `it writes on “${word}”`],
    ["÷", score(writing.norms[token]), "the last norm divides by"],
    ["=", signedScore(added[0][neuron]), `it adds to “${word}”`],
  ];
}

/** What is said of the chosen neuron: a sentence.
 * @type {(state: Memory.State) => string} */
export function sentenceOf(state) {
  const { writing, get, tokens, neurons, ranked, added } = state;
  const [neuron, token] = [get("neuron"), get("token")];
  const m = activationsAt(state)[neuron];
  const rank = `number ${ranked.indexOf(neuron) + 1} of ${neurons}`;
  const fires = `Neuron ${neuron} fires ${score(m)} at “${tokens[token]}”`;
  if (!writing) return `${fires}: ${get("order") === "fires" ? `${rank} by size` : rank}.`;
  const by = { adds: "", fires: " by firing", number: "" }[get("order")];
  return `${fires} and adds ${signedScore(added[0][neuron])} to “${get("word")}”: ${rank}${by}.`;
}
