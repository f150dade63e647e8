// A stack of feed-forward networks between two linear layers, its loss and its gradient; no page is
// touched here. All parameters are one list, in the order of `shapesOf`.

import { times } from "../kit/geometry.mjs";
import { affine, affineBack, mlpBackward, mlpForward } from "../compute/mlp.mjs";
import { quickGelu, relu, silu } from "../kit/activations.mjs";

export const WIDTH = 8;
export const HIDDEN = 16;
const INPUTS = 2;
const CLASSES = 2;
const EPS = 1e-5;

/** Each activation: its value at z, and its slope there, where its value is a.
 * @type {Record<string, Kit.Activation>} */
export const BENDS = { relu, gelu: quickGelu, silu };

/** Where a block has its norms, and whether its input is added.
 * @type {Record<string, { adds: boolean; norm: "pre" | "post" | null }>} */
export const WIRINGS = {
  plain: { adds: false, norm: null },
  residual: { adds: true, norm: null },
  "pre-norm": { adds: true, norm: "pre" },
  "post-norm": { adds: true, norm: "post" },
};

/**
 * The parameters in their order: name, rows, columns, and how they begin, each at a random place
 * within ±`bound` or at `value`.
 * @type {(depth: number, wiring: string) => TrainStack.Shape[]}
 */
export function shapesOf(depth, wiring) {
  /** @type {(name: string, rows: number, columns: number) => TrainStack.Shape[]} */
  const linear = (name, rows, columns) => [
    { name: `${name}.weight`, rows, columns, bound: 1 / Math.sqrt(columns) },
    { name: `${name}.bias`, rows, columns: 1, bound: 1 / Math.sqrt(columns) },
  ];
  /** @type {(name: string) => TrainStack.Shape[]} */
  const norm = (name) => [
    { name: `${name}.weight`, rows: WIDTH, columns: 1, value: 1 },
    { name: `${name}.bias`, rows: WIDTH, columns: 1, value: 0 },
  ];
  /** @type {(name: string) => TrainStack.Shape[]} */
  const block = (name) => [
    ...(WIRINGS[wiring].norm ? norm(`${name}.norm`) : []),
    ...linear(`${name}.mlp.fc1`, HIDDEN, WIDTH),
    ...linear(`${name}.mlp.fc2`, WIDTH, HIDDEN),
  ];
  return [
    ...linear("first", WIDTH, INPUTS),
    ...times(depth, (l) => block(`blocks.${l}`)).flat(),
    ...(WIRINGS[wiring].norm === "pre" ? norm("norm") : []),
    ...linear("last", CLASSES, WIDTH),
  ];
}

/** Views into a list of parameters: `views["blocks.3.fc1"].weight` is a part of it.
 * @type {(list: Float64Array, shapes: TrainStack.Shape[]) => TrainStack.Views} */
function viewsOf(list, shapes) {
  /** @type {TrainStack.Views} */
  const views = {};
  let from = 0;
  for (const { name, rows, columns } of shapes) {
    const dot = name.lastIndexOf(".");
    const [layer, kind] = [name.slice(0, dot), /** @type {keyof Compute.Layer} */ (name.slice(dot + 1))];
    views[layer] = { ...views[layer], [kind]: list.subarray(from, from + rows * columns) };
    from += rows * columns;
  }
  return views;
}

/** Layer norm of every row: `unit` has mean 0 and size 1, `scale` is what it was divided by.
 * @type {(y: Float64Array, kept: TrainStack.Normed, x: Float64Array, part: Compute.Layer, rows: number) => void} */
function normalise(y, { unit, scale }, x, { weight, bias }, rows) {
  for (let r = 0; r < rows; r += 1) {
    const from = r * WIDTH;
    let [mean, variance] = [0, 0];
    for (let c = 0; c < WIDTH; c += 1) mean += x[from + c] / WIDTH;
    for (let c = 0; c < WIDTH; c += 1) variance += (x[from + c] - mean) ** 2 / WIDTH;
    scale[r] = Math.sqrt(variance + EPS);
    for (let c = 0; c < WIDTH; c += 1) {
      const u = (x[from + c] - mean) / scale[r];
      unit[from + c] = u;
      y[from + c] = weight[c] * u + bias[c];
    }
  }
}

/** The same backwards; what x gets is added to dx, or is dx where that is dy itself.
 * @type {(dx: Float64Array, dy: Float64Array, kept: TrainStack.Normed, part: Compute.Layer, grad: Compute.Layer, rows: number) => void} */
function normaliseBack(dx, dy, { unit, scale }, { weight }, grad, rows) {
  for (let r = 0; r < rows; r += 1) {
    const from = r * WIDTH;
    let [mean, along] = [0, 0];
    for (let c = 0; c < WIDTH; c += 1) {
      const d = dy[from + c];
      grad.weight[c] += d * unit[from + c];
      grad.bias[c] += d;
      mean += (d * weight[c]) / WIDTH;
      along += (d * weight[c] * unit[from + c]) / WIDTH;
    }
    for (let c = 0; c < WIDTH; c += 1) {
      const d = (dy[from + c] * weight[c] - mean - unit[from + c] * along) / scale[r];
      dx[from + c] = dx === dy ? d : dx[from + c] + d;
    }
  }
}

/** The mean cross-entropy of the logits; writes its gradient into `d`.
 * @type {(d: Float64Array, logits: Float64Array, answers: Uint8Array, rows: number) => number} */
function crossEntropy(d, logits, answers, rows) {
  let loss = 0;
  for (let r = 0; r < rows; r += 1) {
    const [a, b] = [logits[2 * r], logits[2 * r + 1]];
    const top = Math.max(a, b);
    const total = Math.exp(a - top) + Math.exp(b - top);
    loss += (top + Math.log(total) - (answers[r] ? b : a)) / rows;
    d[2 * r] = (Math.exp(a - top) / total - (answers[r] ? 0 : 1)) / rows;
    d[2 * r + 1] = (Math.exp(b - top) / total - (answers[r] ? 1 : 0)) / rows;
  }
  return loss;
}

/**
 * The stack of a setting with these weights, for up to `most` rows at once. `weights` and `slope` are
 * the lists of its parameters and of their gradient; `states[l]` is what enters block l, and the last what leaves.
 * One that does not learn has no gradient, and its blocks share their memory.
 * @param {Pick<TrainStack.Setting, "depth" | "wiring" | "activation">} setting
 * @param {Float64Array} weights
 * @param {number} most
 */
export function stack({ depth, wiring, activation }, weights, most, learns = true) {
  const shapes = shapesOf(depth, wiring);
  const slope = new Float64Array(learns ? weights.length : 0);
  /** @type {(channels: number) => Float64Array} */
  const rowsOf = (channels) => new Float64Array(most * channels);
  const normed = () => ({ unit: rowsOf(WIDTH), scale: rowsOf(1) });
  /** As many of them as the blocks need, or the same few again and again.
   * @type {<T>(count: number, few: number, make: () => T) => T[]} */
  function each(count, few, make) {
    const own = times(learns ? count : few, make);
    return times(count, (l) => own[l % own.length]);
  }
  const [parts, grads] = [viewsOf(weights, shapes), viewsOf(slope, learns ? shapes : [])];
  const [mlps, mlpGrads] = [parts, grads].map((views) =>
    times(depth, (l) => ({ fc1: views[`blocks.${l}.mlp.fc1`], fc2: views[`blocks.${l}.mlp.fc2`] })),
  );
  return {
    depth,
    ...WIRINGS[wiring],
    bend: BENDS[activation],
    shapes,
    weights,
    slope,
    ...{ parts, grads, mlps, mlpGrads },
    states: each(depth + 1, 2, () => rowsOf(WIDTH)),
    caches: each(depth, 1, () => ({
      read: rowsOf(WIDTH),
      z: rowsOf(HIDDEN),
      a: rowsOf(HIDDEN),
      sum: rowsOf(WIDTH),
      ...normed(),
    })),
    end: { read: rowsOf(WIDTH), ...normed() },
    logits: rowsOf(CLASSES),
    back: { logits: rowsOf(CLASSES), state: rowsOf(WIDTH), read: rowsOf(WIDTH), hidden: rowsOf(HIDDEN) },
  };
}

/** @type {(net: TrainStack.Net, l: number, rows: number) => void} */
function blockForward(net, l, rows) {
  const { adds, norm } = net;
  const [x, y, cache, part] = [net.states[l], net.states[l + 1], net.caches[l], net.parts[`blocks.${l}.norm`]];
  const read = norm === "pre" ? cache.read : x;
  if (norm === "pre") normalise(read, cache, x, part, rows);
  const sum = norm === "post" ? cache.sum : y;
  mlpForward(sum, read, net.mlps[l], cache, net.bend, rows);
  if (adds) for (let i = 0; i < rows * WIDTH; i += 1) sum[i] += x[i];
  if (norm === "post") normalise(y, cache, sum, part, rows);
}

/** Takes back.state from what leaves block l to what enters it.
 * @type {(net: TrainStack.Net, l: number, rows: number) => void} */
function blockBackward(net, l, rows) {
  const { adds, norm, back, bend } = net;
  const cache = net.caches[l];
  const [part, grad] = [net.parts, net.grads].map((views) => views[`blocks.${l}.norm`]);
  const d = back.state;
  if (norm === "post") normaliseBack(d, d, cache, part, grad, rows);
  const into = adds ? back.read : d;
  const x = norm === "pre" ? cache.read : net.states[l];
  mlpBackward(into, d, x, net.mlps[l], net.mlpGrads[l], cache, back.hidden, bend, rows);
  if (norm === "pre") {
    normaliseBack(d, into, cache, part, grad, rows);
  } else if (adds) {
    for (let i = 0; i < rows * WIDTH; i += 1) d[i] += into[i];
  }
}

/** The logits of the first `rows` points, into `net.logits`, with a pause after each block.
 * @type {(net: TrainStack.Net, points: Float64Array, rows: number) => Generator<void, Float64Array>} */
function* forwardInParts(net, points, rows) {
  const { depth, parts, states, logits } = net;
  affine(states[0], points, parts.first, rows);
  for (let l = 0; l < depth; l += 1) {
    blockForward(net, l, rows);
    yield;
  }
  const end = parts.norm ? net.end.read : states[depth];
  if (parts.norm) normalise(end, net.end, states[depth], parts.norm, rows);
  affine(logits, end, parts.last, rows);
  return logits;
}

/** The loss of a batch, with a pause after each block; its gradient is written into `net.slope`.
 * @type {(net: TrainStack.Net, batch: TrainStack.Batch) => Generator<void, number>} */
export function* lossInParts(net, { points, answers, rows }) {
  const { depth, parts, grads, states, back } = net;
  const loss = crossEntropy(back.logits, yield* forwardInParts(net, points, rows), answers, rows);
  net.slope.fill(0);
  const end = parts.norm ? net.end.read : states[depth];
  affineBack(back.state, back.logits, end, parts.last, grads.last, rows);
  if (parts.norm) normaliseBack(back.state, back.state, net.end, parts.norm, grads.norm, rows);
  for (let l = depth - 1; l >= 0; l -= 1) {
    blockBackward(net, l, rows);
    yield;
  }
  affineBack(null, back.state, points, parts.first, grads.first, rows);
  return loss;
}

/** What comes of work in parts, in one go.
 * @type {<T>(parts: Generator<void, T>) => T} */
export function wholeOf(parts) {
  for (;;) {
    const { done, value } = parts.next();
    if (done) return value;
  }
}

/** @type {(net: TrainStack.Net, points: Float64Array, rows: number) => Float64Array} */
export const forward = (net, points, rows) => wholeOf(forwardInParts(net, points, rows));
/** @type {(net: TrainStack.Net, batch: TrainStack.Batch) => number} */
export const lossAndGradient = (net, batch) => wholeOf(lossInParts(net, batch));
