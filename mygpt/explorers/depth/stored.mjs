// The stored curves: where one setting's stand, how far they reach, and which way they go.

import { extent, meanOf, times } from "../kit/geometry.mjs";
import { padded, significant } from "../kit/parts/picture.mjs";

const FATAL = 3; // powers of ten
const NEARLY = 0.3; // powers of ten, which is twice as much
const APART = 1; // powers of ten, of curves that have their bands together
const EDGE = 0.6; // powers of ten of a band that are always seen

/**
 * The curves of one setting, as log10, one list per kind. On the wire each stack has one number
 * for the input and one for each of its own layers, in the order kind, gain, width, bias, depth.
 * @type {(numbers: Float32Array, counts: Depth.Counts, at: Record<"gain" | "width" | "bias" | "depth", number>) => Float32Array[]}
 */
export function curvesAt(numbers, { kinds, gains, widths, biases, depths }, at) {
  const block = depths.reduce((total, depth) => total + depth + 1, 0);
  const before = depths.slice(0, at.depth).reduce((total, depth) => total + depth + 1, 0);
  return times(kinds, (kind) => {
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

/** Where a curve is followed from: a gradient at the last layer.
 * @type {(curve: Float32Array, quantity: Depth.Quantity) => number} */
const startOf = (curve, quantity) => curve[quantity === "gradients" ? curve.length - 1 : 0];

/** Where all curves begin, on average; NaN where they begin too far from each other.
 * @type {(curves: Float32Array[], quantity: Depth.Quantity) => number} */
function commonStart(curves, quantity) {
  const starts = curves.map((curve) => startOf(curve, quantity));
  const apart = Math.max(...starts) - Math.min(...starts);
  return apart <= APART ? meanOf(starts) : NaN;
}

/** What the log axis spans: the curves, and on both sides of where they begin the edge of a band.
 * @type {(curves: Float32Array[], quantity: Depth.Quantity) => Kit.Pair} */
export function spanOf(curves, quantity) {
  const start = commonStart(curves, quantity);
  return logDomain([...curves, [start - FATAL - EDGE, start + FATAL + EDGE].filter(Number.isFinite)]);
}

/** What becomes of a curve on its way: whether it ends under a thousandth or over a thousand times of where it
 * begins, and since which layer it has been there.
 * @type {(curve: Float32Array, quantity: Depth.Quantity) => string} */
export function fateOf(curve, quantity) {
  const layers = [...curve.keys()].filter((layer) => !Number.isNaN(curve[layer]));
  if (quantity === "activations") layers.reverse(); // from its end to where it begins
  const away = layers.map((layer) => curve[layer] - startOf(curve, quantity));
  const sign = Math.sign(away[0]);
  if (sign * away[0] <= FATAL) {
    const end = curve[layers[0]];
    if (sign * away[0] > FATAL - NEARLY) return `only just lives, with ${significant(10 ** end)} at the end`;
    return Math.abs(end) > FATAL ? `keeps its size, ${significant(10 ** end)}` : "lives";
  }
  const layer = layers[away.findIndex((one) => sign * one <= FATAL) - 1];
  return `${sign < 0 ? "dies" : "explodes"} at layer ${layer}`;
}

/** The bands of the log axis where a signal has died, or has exploded: a thousand times away from where the
 * curves begin, which gradients do at the last layer.
 * @type {(curves: Float32Array[], quantity: Depth.Quantity, span: Kit.Pair) => { text: string; low: number; high: number }[]} */
export function fates(curves, quantity, [low, high]) {
  const start = commonStart(curves, quantity);
  if (!Number.isFinite(start)) return [];
  const where = quantity === "gradients" ? "that at the last layer" : "the input";
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
