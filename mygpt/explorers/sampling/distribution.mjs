// What mygpt.sampling makes of logits, and what is drawn from it; no page is touched here.

import { clamp, descending, softmax, times, total } from "../kit/geometry.mjs";

export const SHOWN = 12;

/** How many of the probabilities, from the largest to the smallest, top-p keeps.
 * @type {(ordered: number[], topP: number) => number} */
function nucleus(ordered, topP) {
  let sum = 0;
  const end = ordered.findIndex((one, i) => {
    sum += one;
    return i > 0 && sum - one >= topP;
  });
  return end < 0 ? ordered.length : end;
}

/**
 * What mygpt.sampling makes of the logits: softmax of logits / temperature over what top-k, and
 * then top-p, leave. `topK` null and `topP` 1 are off. `before` is the softmax of them all,
 * `share` what those that are kept have of it, and `limited` what those that top-k kept have.
 * @param {Kit.Numbers} logits
 * @param {Sampling.Setting} setting
 */
export function distribution(logits, { temperature, topK, topP }) {
  const scaled = Array.from(logits, (logit) => logit / temperature);
  const before = softmax(scaled);
  const order = descending(scaled);
  if (topK !== null) {
    const least = scaled[order[Math.min(topK, order.length) - 1]];
    for (const id of order) if (scaled[id] < least) scaled[id] = -Infinity;
  }
  const shareKept = () => before.reduce((sum, one, id) => sum + (scaled[id] > -Infinity ? one : 0), 0);
  const limited = shareKept();
  if (topP < 1) {
    const counted = softmax(scaled);
    const within = nucleus(
      order.map((id) => counted[id]),
      topP,
    );
    for (const id of order.slice(within)) scaled[id] = -Infinity;
  }
  const kept = scaled.map((score) => score > -Infinity);
  return { probabilities: softmax(scaled), kept, before, limited, share: shareKept() };
}

/** The setting that keeps as nearly `count` tokens as one can that differs in top-p, where it cuts, or else in top-k.
 * @type {(logits: Kit.Numbers, setting: Sampling.Setting, count: number) => Sampling.Setting} */
export function settingFor(logits, setting, count) {
  const { probabilities, kept } = distribution(logits, { ...setting, topP: 1 });
  const ordered = descending(probabilities).map((id) => probabilities[id]);
  const limited = kept.filter(Boolean).length;
  /** @type {(topP: number) => number} */
  const keptBy = (topP) => (topP < 1 ? Math.min(nucleus(ordered, topP), limited) : limited);
  if (keptBy(setting.topP) === limited) return { ...setting, topK: count < logits.length ? count : null };
  /** @type {(topP: number) => number} */
  const away = (topP) => Math.abs(keptBy(topP) - count);
  const steps = times(100, (i) => (100 - i) / 100);
  const topP = steps.reduce((best, one) => (away(one) < away(best) ? one : best), setting.topP);
  return { ...setting, topP };
}

/** How many tokens are above a cut after so many rows; one always is.
 * @type {(rows: { ids: number[] }[], cut: number) => number} */
export function keptAbove(rows, cut) {
  const counts = rows.map(({ ids: { length } }, i) => clamp(Math.round((cut - i) * length), 0, length));
  return Math.max(1, total(counts));
}

/** Entropy in bits.
 * @type {(probabilities: number[]) => number} */
export function entropy(probabilities) {
  return Math.abs(probabilities.reduce((sum, one) => sum + (one > 0 ? one * Math.log2(one) : 0), 0));
}

/** How often each id is drawn with the numbers, and the last one drawn (-1 without numbers).
 * @type {(probabilities: number[], numbers: number[]) => { counts: number[]; last: number }} */
export function drawCounts(probabilities, numbers) {
  const ids = probabilities.flatMap((one, id) => (one > 0 ? [id] : []));
  let sum = 0;
  const ends = ids.map((id) => (sum += probabilities[id]));
  const counts = new Array(probabilities.length).fill(0);
  let last = -1;
  for (const number of numbers) {
    const found = ends.findIndex((end) => end > number);
    last = ids[found < 0 ? ids.length - 1 : found];
    counts[last] += 1;
  }
  return { counts, last };
}

/** The rows of the figure as lists of ids: the likeliest one by one, the others together.
 * @type {(order: number[], most?: number) => number[][]} */
export function grouped(order, most = SHOWN) {
  const rows = order.slice(0, most).map((id) => [id]);
  return order.length > most ? [...rows, order.slice(most)] : rows;
}
