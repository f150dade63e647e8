// Which neurons an answer hangs on, or else which heads. No page is touched here.

import { descending, largestAt, times } from "../kit/geometry.mjs";
import { forward, logitsAgain } from "./gpt.mjs";
import { compileEdits, contributions, unchanged } from "./writing.mjs";
import { mulberry32 } from "../kit/numbers.mjs";

export const MOST_NEURONS = 32;
export const DRAWS = 20;

/** The answer to the ids of a pass after the edits with some neurons of a layer off as well. In the last layer nothing
 * but its network need be computed again.
 * @type {(gpt: LiveModel.Gpt, pass: LiveModel.Pass, edits: LiveModel.Edits, layer: number, neurons: number[]) => number} */
function bestWithout(gpt, pass, edits, layer, neurons) {
  const edited = silenced(gpt, edits, layer, neurons);
  const last = layer === gpt.layers.length - 1;
  return largestAt(
    last ? logitsAgain(gpt, pass, edited) : forward(gpt, pass.ids, { edits: edited, after: pass, from: layer }).logits,
  );
}

/** The compiled edits of one layer, changed by `change`, beside those of the other layers.
 * @type {(gpt: LiveModel.Gpt, edits: LiveModel.Edits, layer: number, change: (own: LiveModel.Compiled) => Partial<LiveModel.Compiled>) => (LiveModel.Compiled | null)[]} */
function withLayer(gpt, edits, layer, change) {
  const all = [...(edits ?? compileEdits(gpt, []))];
  const own = all[layer] ?? unchanged();
  all[layer] = { ...own, ...change(own) };
  return all;
}

/** The edits, with some neurons of a layer off as well.
 * @type {(gpt: LiveModel.Gpt, edits: LiveModel.Edits, layer: number, neurons: number[]) => (LiveModel.Compiled | null)[]} */
export function silenced(gpt, edits, layer, neurons) {
  return withLayer(gpt, edits, layer, ({ scale }) => {
    const factors = Float64Array.from(scale ?? new Float64Array(gpt.neurons).fill(1));
    for (const neuron of neurons) factors[neuron] = 0;
    return { scale: factors };
  });
}

/** The neurons of a layer that push an answer, the strongest first.
 * @type {(gpt: LiveModel.Gpt, pass: LiveModel.Pass, edits: LiveModel.Edits, layer: number, word: number) => number[]} */
function pushing(gpt, pass, edits, layer, word) {
  const amounts = contributions(gpt, pass, layer, word, edits);
  return descending(amounts, Math.min(MOST_NEURONS, gpt.neurons >> 1)).filter((neuron) => amounts[neuron] > 0);
}

/**
 * What to switch off so that the answer to a prompt changes: of the neurons of the layer that add
 * most to it the fewest, at most 32 and at most half; where they do not suffice, all heads of one layer, from the last
 * layer on; null where these do not either. `edits` are compiled, or null.
 * @type {(gpt: LiveModel.Gpt, ids: number[], layer: number, edits?: LiveModel.Edits) => LiveModel.Held | null}
 */
export function holders(gpt, ids, layer, edits = null) {
  const pass = forward(gpt, ids, { edits });
  const word = largestAt(pass.logits);
  const neurons = pushing(gpt, pass, edits, layer, word);
  const fewest = neurons.findIndex((_, i) => bestWithout(gpt, pass, edits, layer, neurons.slice(0, i + 1)) !== word);
  if (fewest >= 0) return { neurons: neurons.slice(0, fewest + 1) };
  const heads = gpt.layers.findLastIndex((_, at) => {
    const edited = withLayer(gpt, edits, at, () => ({ heads: 0 }));
    return largestAt(forward(gpt, ids, { edits: edited, after: pass, from: at }).logits) !== word;
  });
  return heads >= 0 ? { heads } : null;
}

/** Draws `count` different numbers below `size` that are not among `without`.
 * @type {(next: () => number, count: number, size: number, without: number[]) => number[]} */
function drawn(next, count, size, without) {
  /** @type {Set<number>} */
  const found = new Set();
  while (found.size < count) {
    const one = Math.floor(next() * size);
    if (!without.includes(one)) found.add(one);
  }
  return [...found];
}

/** How many of 20 draws of as many other neurons leave the answer as it is: the null of `holders`.
 * @type {(gpt: LiveModel.Gpt, ids: number[], layer: number, neurons: number[], edits?: LiveModel.Edits) => number} */
export function survivals(gpt, ids, layer, neurons, edits = null) {
  const next = mulberry32(neurons.length);
  const pass = forward(gpt, ids, { edits });
  const word = largestAt(pass.logits);
  const draws = times(DRAWS, () => drawn(next, neurons.length, gpt.neurons, neurons));
  return draws.filter((one) => bestWithout(gpt, pass, edits, layer, one) === word).length;
}
