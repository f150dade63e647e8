// What a GPT's training computes, four float32 at a time, over one memory. AssemblyScript: `make kernels` compiles it
// to bytes.mjs. plain.mjs has the same functions in JavaScript, with the same arguments. All addresses and strides are
// in bytes, all counts in numbers. Rows of matrices are in memory one after the other, `step` bytes apart; widths and, in
// products, numbers of rows are multiples of 8, which network.mjs sees to.

export { product } from "./product";

declare function log(x: f64): f64; // JavaScript's own

// The constants of the exponential and the activations. They are read from memory, since V8 builds one in the code anew
// each time. First the bounds of exp, log₂ e, and 1.5 · 2^23: what is added to it is rounded to a whole number. From 4 on,
// the polynomial of 2^x between −½ and ½, to 1e-7 of it; from 10 on, 2√(2/π) and what else GELU's tanh form has; from 13
// on, the density of the normal distribution at 0, and the factors of Φ.
const NUMBERS = memory.data<f32>([
  -87, 88, 1.44269504, 12582912, 1, 0.6931470037, 0.2402224243, 0.0555073358, 0.009671513, 0.0013264727, 1.5957691216,
  0.0713548163, 0.2140644488, 0.3989422804, 0.2316418906, 1.061405429, -1.453152027, 1.421413741, -0.284496736,
  0.254829592, 0.5,
]);
const ONE = 4;

/** Four times a constant. */
function known(i: i32): v128 {
  return v128.load32_splat(NUMBERS + (i << 2));
}

function all(x: f32): v128 {
  return f32x4.splat(x);
}

function times(a: v128, b: v128): v128 {
  return f32x4.mul(a, b);
}

function plus(a: v128, b: v128): v128 {
  return f32x4.add(a, b);
}

/** The sum of the four. */
function total(x: v128): f32 {
  return f32x4.extract_lane(x, 0) + f32x4.extract_lane(x, 1) + (f32x4.extract_lane(x, 2) + f32x4.extract_lane(x, 3));
}

/** e^x, to about 1e-7 · (2 + |x|) of it; of less than −87, e^−87. */
function exp(x: v128): v128 {
  const y = times(f32x4.pmin(f32x4.pmax(x, known(0)), known(1)), known(2));
  const magic = plus(y, known(3));
  const r = f32x4.sub(y, f32x4.sub(magic, known(3)));
  const square = times(r, r);
  const low = plus(known(ONE), times(known(5), r));
  const middle = plus(known(6), times(known(7), r));
  const high = plus(known(8), times(known(9), r));
  const p = plus(plus(low, times(middle, square)), times(high, times(square, square)));
  return times(p, i32x4.add(i32x4.shl(magic, 23), known(ONE))); // the bits of 1, and the power above them
}

/** Packs B [terms, columns], whose element (k, j) is at b + k·down + j·across, for `product`: panels of eight columns,
 * in each panel the terms one after the other. */
export function pack(b: usize, down: usize, across: usize, terms: i32, columns: i32, to: usize): void {
  for (let j = 0; j < columns; j += 8) {
    let from = b + <usize>j * across;
    if (across === 4) {
      for (let k = 0; k < terms; k++) {
        v128.store(to, v128.load(from));
        v128.store(to, v128.load(from, 16), 16);
        from += down;
        to += 32;
      }
      continue;
    }
    let k = 0;
    for (; k + 4 <= terms; k += 4) {
      packFour(from, across, to);
      packFour(from + 4 * across, across, to + 16);
      from += 16;
      to += 128;
    }
  }
}

/** Four terms of four columns, whose terms are neighbours in memory. */
function packFour(from: usize, across: usize, to: usize): void {
  const a = v128.load(from);
  const b = v128.load(from + across);
  const c = v128.load(from + 2 * across);
  const d = v128.load(from + 3 * across);
  const ab0 = v128.shuffle<f32>(a, b, 0, 4, 1, 5);
  const ab1 = v128.shuffle<f32>(a, b, 2, 6, 3, 7);
  const cd0 = v128.shuffle<f32>(c, d, 0, 4, 1, 5);
  const cd1 = v128.shuffle<f32>(c, d, 2, 6, 3, 7);
  v128.store(to, v128.shuffle<f32>(ab0, cd0, 0, 1, 4, 5));
  v128.store(to + 32, v128.shuffle<f32>(ab0, cd0, 2, 3, 6, 7));
  v128.store(to + 64, v128.shuffle<f32>(ab1, cd1, 0, 1, 4, 5));
  v128.store(to + 96, v128.shuffle<f32>(ab1, cd1, 2, 3, 6, 7));
}

/** x += y. */
export function add(x: usize, y: usize, count: i32): void {
  for (let end = x + ((<usize>count) << 2); x < end; x += 16, y += 16) v128.store(x, plus(v128.load(x), v128.load(y)));
}

/** x *= y. */
export function multiply(x: usize, y: usize, count: i32): void {
  for (let end = x + ((<usize>count) << 2); x < end; x += 16, y += 16) v128.store(x, times(v128.load(x), v128.load(y)));
}

/** to += the sum of the rows of x. */
export function sumRows(x: usize, step: usize, rows: i32, columns: i32, to: usize): void {
  for (let i = 0; i < rows; i++, x += step) add(to, x, columns);
}

/** The sum of the squares, in float64. */
export function squares(x: usize, count: i32): f64 {
  let low = f64x2.splat(0);
  let high = f64x2.splat(0);
  for (let end = x + ((<usize>count) << 2); x < end; x += 16) {
    const now = v128.load(x);
    const a = f64x2.promote_low_f32x4(now);
    const b = f64x2.promote_low_f32x4(v128.shuffle<f32>(now, now, 2, 3, 2, 3));
    low = f64x2.add(low, f64x2.mul(a, a));
    high = f64x2.add(high, f64x2.mul(b, b));
  }
  const sum = f64x2.add(low, high);
  return f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1);
}

/** Each row's layer norm, weight · (x − mean) / √(variance + eps) + bias; keeps of each row the mean and what it was
 * multiplied by, two numbers a row. */
export function norm(
  x: usize,
  weight: usize,
  bias: usize,
  to: usize,
  kept: usize,
  rows: i32,
  width: i32,
  eps: f32,
): void {
  const size = (<usize>width) << 2;
  for (let row = 0; row < rows; row++) {
    let sum = all(0);
    let square = all(0);
    for (let i: usize = 0; i < size; i += 16) sum = plus(sum, v128.load(x + i));
    const mean = all(total(sum) / <f32>width);
    for (let i: usize = 0; i < size; i += 16) {
      const apart = f32x4.sub(v128.load(x + i), mean);
      square = plus(square, times(apart, apart));
    }
    const scale = all(1 / sqrt<f32>(total(square) / <f32>width + eps));
    store<f32>(kept, f32x4.extract_lane(mean, 0));
    store<f32>(kept, f32x4.extract_lane(scale, 0), 4);
    for (let i: usize = 0; i < size; i += 16) {
      const normal = times(f32x4.sub(v128.load(x + i), mean), scale);
      v128.store(to + i, plus(times(normal, v128.load(weight + i)), v128.load(bias + i)));
    }
    x += size;
    to += size;
    kept += 8;
  }
}

/** From the gradient of `norm`'s output, adds to those of its input, weight and bias. */
export function normBackward(
  gradient: usize,
  x: usize,
  kept: usize,
  weight: usize,
  toX: usize,
  toWeight: usize,
  toBias: usize,
  rows: i32,
  width: i32,
): void {
  const size = (<usize>width) << 2;
  for (let row = 0; row < rows; row++) {
    const mean = all(load<f32>(kept));
    const scale = all(load<f32>(kept, 4));
    let sum = all(0);
    let along = all(0);
    for (let i: usize = 0; i < size; i += 16) {
      const g = v128.load(gradient + i);
      const normal = times(f32x4.sub(v128.load(x + i), mean), scale);
      v128.store(toWeight + i, plus(v128.load(toWeight + i), times(g, normal)));
      v128.store(toBias + i, plus(v128.load(toBias + i), g));
      const weighted = times(g, v128.load(weight + i));
      sum = plus(sum, weighted);
      along = plus(along, times(weighted, normal));
    }
    const level = all(total(sum) / <f32>width);
    const slant = all(total(along) / <f32>width);
    for (let i: usize = 0; i < size; i += 16) {
      const normal = times(f32x4.sub(v128.load(x + i), mean), scale);
      const weighted = times(v128.load(gradient + i), v128.load(weight + i));
      const rest = f32x4.sub(f32x4.sub(weighted, level), times(normal, slant));
      v128.store(toX + i, plus(v128.load(toX + i), times(rest, scale)));
    }
    gradient += size;
    x += size;
    toX += size;
    kept += 8;
  }
}

/** The activation of each number, to `to`; the number itself makes way for the slope there. `kind`: 0 GELU's tanh
 * form, 1 GELU, 2 ReLU, 3 SiLU. */
export function activate(kind: i32, x: usize, to: usize, count: i32): void {
  const one = known(ONE);
  for (let end = x + ((<usize>count) << 2); x < end; x += 16, to += 16) {
    const h = v128.load(x);
    const square = times(h, h);
    let share = v128.and(f32x4.gt(h, all(0)), one); // the activation is h · share, its slope share + h · turn
    let turn = all(0);
    if (kind !== 2) {
      let power = f32x4.neg(h);
      if (kind === 0) power = times(power, plus(known(10), times(square, known(11))));
      if (kind === 1) power = times(square, f32x4.neg(known(20)));
      power = exp(power);
      if (kind === 1) {
        turn = times(power, known(13)); // the density
        share = normalShare(h, power);
      } else {
        share = f32x4.div(one, plus(one, power));
        turn = times(share, f32x4.sub(one, share));
        if (kind === 0) turn = times(turn, plus(known(10), times(square, known(12))));
      }
    }
    v128.store(to, times(h, share));
    v128.store(x, plus(share, times(h, turn)));
  }
}

/** Φ(h), to 1e-7, from e^(−h²/2): 7.1.26 of Abramowitz and Stegun (1964), for erf(h/√2). */
function normalShare(h: v128, power: v128): v128 {
  const t = f32x4.div(known(ONE), plus(known(ONE), times(f32x4.abs(h), known(14)))); // 0.3275911 / √2
  let p = plus(times(known(15), t), known(16));
  p = plus(times(p, t), known(17));
  p = plus(times(p, t), known(18));
  p = plus(times(p, t), known(19));
  const outside = times(times(times(p, t), power), known(20)); // half of erfc(|h|/√2)
  return v128.bitselect(outside, f32x4.sub(known(ONE), outside), f32x4.lt(h, all(0)));
}

/** Row i of [length, length] scores becomes the softmax of scale times its first i + 1, with 0 after them. */
export function weigh(scores: usize, length: i32, scale: f32): void {
  const size = (<usize>length) << 2;
  for (let row = 0; row < length; row++) {
    const end = scores + ((<usize>((row + 4) & ~3)) << 2); // of the last four, those after the row are left out
    for (let i = row + 1; i < ((row + 4) & ~3); i++) store<f32>(scores + ((<usize>i) << 2), -1e30);
    let most = all(-1e30);
    for (let at = scores; at < end; at += 16) most = f32x4.pmax(v128.load(at), most);
    most = all(largest(most));
    let sum = all(0);
    for (let at = scores; at < end; at += 16) {
      const power = exp(times(f32x4.sub(v128.load(at), most), all(scale)));
      sum = plus(sum, power);
      v128.store(at, power);
    }
    const share = all(1 / total(sum));
    for (let at = scores; at < end; at += 16) v128.store(at, times(v128.load(at), share));
    for (let i = row + 1; i < ((row + 4) & ~3); i++) store<f32>(scores + ((<usize>i) << 2), 0);
    for (let at = end; at < scores + size; at += 16) v128.store(at, all(0));
    scores += size;
  }
}

function largest(x: v128): f32 {
  return max(
    max(f32x4.extract_lane(x, 0), f32x4.extract_lane(x, 1)),
    max(f32x4.extract_lane(x, 2), f32x4.extract_lane(x, 3)),
  );
}

/** The gradient of `weigh`'s weights becomes that of the scores. */
export function weighBackward(gradient: usize, weights: usize, length: i32, scale: f32): void {
  const size = (<usize>length) << 2;
  for (let row = 0; row < length; row++) {
    const used = (<usize>((row + 4) & ~3)) << 2;
    let sum = all(0);
    for (let i: usize = 0; i < used; i += 16) sum = plus(sum, times(v128.load(gradient + i), v128.load(weights + i)));
    const mean = all(total(sum));
    for (let i: usize = 0; i < used; i += 16) {
      const apart = f32x4.sub(v128.load(gradient + i), mean);
      v128.store(gradient + i, times(times(apart, v128.load(weights + i)), all(scale)));
    }
    for (let i: usize = used; i < size; i += 16) v128.store(gradient + i, all(0));
    gradient += size;
    weights += size;
  }
}

/** The sum of the cross-entropies, in nats, over rows whose target is not −1; each row of logits becomes its gradient,
 * (softmax − target) / `among`, and 0 where there is no target. Only the first `classes` of a row's `step` bytes count. */
export function crossEntropy(logits: usize, step: usize, targets: usize, rows: i32, classes: i32, among: f32): f64 {
  let loss: f64 = 0;
  const size = (<usize>classes) << 2;
  const filled = (size + 15) & ~15;
  for (let row = 0; row < rows; row++) {
    const target = load<i32>(targets);
    if (target < 0) memory.fill(logits, 0, step);
    else {
      for (let i = size; i < filled; i += 4) store<f32>(logits + i, -1e30);
      let top = all(-1e30);
      for (let i: usize = 0; i < filled; i += 16) top = f32x4.pmax(v128.load(logits + i), top);
      const most = largest(top);
      const right = load<f32>(logits + ((<usize>target) << 2));
      let sum = all(0);
      for (let i: usize = 0; i < filled; i += 16) {
        const power = exp(f32x4.sub(v128.load(logits + i), all(most)));
        sum = plus(sum, power);
        v128.store(logits + i, power);
      }
      loss += <f64>most - <f64>right + log(<f64>total(sum));
      const share = all(1 / (total(sum) * among));
      for (let i: usize = 0; i < filled; i += 16) v128.store(logits + i, times(v128.load(logits + i), share));
      memory.fill(logits + size, 0, step - size);
      const at = logits + ((<usize>target) << 2);
      store<f32>(at, load<f32>(at) - 1 / among);
    }
    logits += step;
    targets += 4;
  }
  return loss;
}

/** A step of AdamW on `count` numbers: `first` and `second` are its moments, `rate` is lr / (1 − β₁ᵗ), `even` is
 * 1 / √(1 − β₂ᵗ), `keep` is 1 − lr · decay, `shrink` scales the gradients first. */
export function adamw(
  weights: usize,
  gradients: usize,
  first: usize,
  second: usize,
  count: i32,
  rate: f32,
  even: f32,
  keep: f32,
  shrink: f32,
  beta1: f32,
  beta2: f32,
  eps: f32,
): void {
  const b1 = all(beta1);
  const b2 = all(beta2);
  const c1 = all(1 - beta1);
  const c2 = all(1 - beta2);
  const bytes = (<usize>count) << 2;
  for (let i: usize = 0; i < bytes; i += 16) {
    const g = times(v128.load(gradients + i), all(shrink));
    const m = plus(times(b1, v128.load(first + i)), times(c1, g));
    const v = plus(times(b2, v128.load(second + i)), times(c2, times(g, g)));
    v128.store(first + i, m);
    v128.store(second + i, v);
    const by = f32x4.div(times(m, all(rate)), plus(times(f32x4.sqrt(v), all(even)), all(eps)));
    v128.store(weights + i, f32x4.sub(times(v128.load(weights + i), all(keep)), by));
  }
}

/** Row r of `to` = the embedding of id r + the embedding of place r mod length. */
export function embed(ids: usize, tokens: usize, places: usize, to: usize, rows: i32, length: i32, width: i32): void {
  const size = (<usize>width) << 2;
  for (let row = 0; row < rows; row++) {
    const token = tokens + <usize>load<i32>(ids + ((<usize>row) << 2)) * size;
    const place = places + <usize>(row % length) * size;
    for (let i: usize = 0; i < size; i += 16) v128.store(to + i, plus(v128.load(token + i), v128.load(place + i)));
    to += size;
  }
}

/** Adds each row of a gradient to that of its token and of its place. */
export function embedBackward(
  ids: usize,
  gradient: usize,
  toTokens: usize,
  toPlaces: usize,
  rows: i32,
  length: i32,
  width: i32,
): void {
  const size = (<usize>width) << 2;
  for (let row = 0; row < rows; row++) {
    add(toTokens + <usize>load<i32>(ids + ((<usize>row) << 2)) * size, gradient, width);
    add(toPlaces + <usize>(row % length) * size, gradient, width);
    gradient += size;
  }
}
