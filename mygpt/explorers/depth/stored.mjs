// The stored curves: where one setting's stand, how far they reach, and which way they go.

import { extent } from "../kit/geometry.mjs";
import { padded, significant } from "../kit/picture.mjs";

const FATAL = 3; // powers of ten

/**
 * The curves of one setting, as log10, one list per kind. On the wire each stack has one number
 * for the input and one for each of its own layers, in the order kind, gain, width, bias, depth.
 * @type {(numbers: Float32Array, counts: Depth.Counts, at: Record<"gain" | "width" | "bias" | "depth", number>) => Float32Array[]}
 */
export function curvesAt(numbers, { kinds, gains, widths, biases, depths }, at) {
  const block = depths.reduce((total, depth) => total + depth + 1, 0);
  const before = depths.slice(0, at.depth).reduce((total, depth) => total + depth + 1, 0);
  return Array.from({ length: kinds }, (_, kind) => {
    const row = ((kind * gains + at.gain) * widths + at.width) * biases + at.bias;
    const start = row * block + before;
    return numbers.subarray(start, start + depths[at.depth] + 1);
  });
}

/** The span of the log axis: the curves in view with some room, and never less than half a decade.
 * @type {(lists: Iterable<Iterable<number>>) => Kit.Pair} */
export function logDomain(lists) {
  const [low, high] = extent(lists) ?? [-1, 1];
  const [from, to] = padded([low, high], 0.05);
  const missing = Math.max(0, 0.5 - (to - from)) / 2;
  return [from - missing, to + missing];
}

/** The bands of the log axis where a signal has died, or has exploded: a thousand times away from where the
 * curves begin, which gradients do at the last layer.
 * @type {(curves: Float32Array[], quantity: Depth.Quantity, span: Kit.Pair) => { text: string; low: number; high: number }[]} */
export function fates(curves, quantity, [low, high]) {
  if (!curves.length) return [];
  const back = quantity === "gradients";
  const starts = curves.map((curve) => curve[back ? curve.length - 1 : 0]);
  const start = starts.reduce((total, one) => total + one, 0) / starts.length;
  const where = back ? "that at the last layer" : "the input";
  const bands = [
    { text: `died: under a thousandth of ${where}`, low, high: Math.min(start - FATAL, high) },
    { text: `exploded: over 1,000 × ${where}`, low: Math.max(start + FATAL, low), high },
  ];
  return bands.filter((band) => band.high > band.low);
}

/** In words: where a curve of log10 begins, where it ends, and whether it rises between them.
 * @type {(curve: Float32Array) => string} */
export function trend(curve) {
  const first = curve.findIndex((value) => !Number.isNaN(value));
  const last = curve.length - 1;
  const change = curve[last] - curve[first];
  const way = Math.abs(change) < 0.02 ? "hardly changes," : change > 0 ? "rises" : "falls";
  /** @type {(layer: number) => string} */
  const at = (layer) => `${significant(10 ** curve[layer])} at ${layer ? `layer ${layer}` : "the input"}`;
  return `${way} from ${at(first)} to ${at(last)}`;
}
