// What a GPT's shape costs, as mygpt/sizes.py counts it; no page is touched here. Every number is a
// whole one below 2^53, which the limits see to.

import { total } from "../kit/geometry.mjs";

const GPT2 = { vocab_size: 50257, max_seq_len: 1024 };

/** @type {Record<string, Shapes.Shape>} */
export const SIZES = {
  small: { ...GPT2, embed_dim: 768, num_heads: 12, num_layers: 12 },
  medium: { ...GPT2, embed_dim: 1024, num_heads: 16, num_layers: 24 },
  large: { ...GPT2, embed_dim: 1280, num_heads: 20, num_layers: 36 },
  xl: { ...GPT2, embed_dim: 1600, num_heads: 25, num_layers: 48 },
};
export const LIMITS = {
  vocab_size: 2_000_000,
  max_seq_len: 2_000_000,
  embed_dim: 100_000,
  num_heads: 100_000,
  num_layers: 1000,
};
const NAMES = /** @type {Shapes.Name[]} */ (Object.keys(LIMITS));

/** @type {(shape: Shapes.Shape) => Record<string, number>} */
export function parametersByPart({ vocab_size: V, max_seq_len: T, embed_dim: C, num_layers: L }) {
  return {
    "token embedding": V * C,
    positions: T * C,
    attention: L * (4 * C * C + 4 * C),
    "feed-forward": L * (8 * C * C + 5 * C),
    norms: (2 * L + 1) * 2 * C,
  };
}

/** The parameters of one block, by part.
 * @type {(shape: Shapes.Shape) => Record<string, number>} */
export const blockParts = ({ embed_dim: C }) => ({
  attention: 4 * C * C + 4 * C,
  "feed-forward": 8 * C * C + 5 * C,
  norms: 4 * C,
});

/** Of a forward pass for the last of `length` positions; a multiplication and an addition are two.
 * @type {(shape: Shapes.Shape, length: number) => Record<string, number>} */
export function flopsPerToken({ vocab_size: V, embed_dim: C, num_layers: L }, length) {
  return {
    "attention's matrices": L * 8 * C * C,
    "scores and values": L * 4 * C * length,
    "feed-forward": L * 16 * C * C,
    head: 2 * V * C,
  };
}

/** Bytes; of the weights and the cache with `each` for a number, of the others in float32.
 * @type {(shape: Shapes.Shape, length: number, each?: number) => Record<string, number>} */
export function memoryOf(shape, length, each = 4) {
  const parameters = total(parametersByPart(shape));
  return {
    weights: parameters * each,
    gradients: parameters * 4,
    "AdamW's averages": parameters * 8,
    "key-value cache": 2 * shape.num_layers * shape.embed_dim * length * each,
  };
}

/** FLOPs for each token of a training: counted, and by the rule 6N.
 * @type {(shape: Shapes.Shape, length: number) => { counted: number; rule: number }} */
export function trainingOf(shape, length) {
  return { counted: 3 * total(flopsPerToken(shape, length)), rule: 6 * total(parametersByPart(shape)) };
}

/** @type {(a: Shapes.Shape, b: Shapes.Shape) => boolean} */
export const sameShape = (a, b) => NAMES.every((name) => a[name] === b[name]);

/** The name of GPT-2's size that has this shape, if one has.
 * @type {(shape: Shapes.Shape) => string | undefined} */
export const sizeOf = (shape) => Object.keys(SIZES).find((name) => sameShape(shape, SIZES[name]));

/** The first field whose text is no whole number within its limit, or the two that do not divide.
 * @type {(texts: Shapes.Texts) => Shapes.Name[]} */
export function problemOf(texts) {
  for (const name of NAMES) {
    const value = Number(texts[name]);
    if (!Number.isInteger(value) || value < 1 || value > LIMITS[name]) return [name];
  }
  return Number(texts.embed_dim) % Number(texts.num_heads) ? ["embed_dim", "num_heads"] : [];
}

/** @type {(texts: Shapes.Texts) => Shapes.Shape} */
export const shapeOf = (texts) =>
  /** @type {Shapes.Shape} */ (Object.fromEntries(NAMES.map((name) => [name, Number(texts[name])])));

/** The nearest numbers of channels that the heads divide, within the limit.
 * @type {(channels: number, heads: number) => number[]} */
export function divisible(channels, heads) {
  const below = Math.floor(channels / heads) * heads;
  return [below, below + heads].filter((one) => one > 0 && one <= LIMITS.embed_dim);
}
