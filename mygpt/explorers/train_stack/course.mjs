// What a stack learns, and how: two tasks, its first weights, its steps; no page is touched here.

import { forward, lossAndGradient, lossInParts, shapesOf, stack, wholeOf, WIDTH } from "./net.mjs";
import { adamMove, adamScales } from "../compute/adam.mjs";
import { mulberry32 } from "../kit/numbers.mjs";

/** Points on two spirals; with `batch` a step reads so many of them, drawn at random.
 * @type {Record<string, { points: number; winding: number; batch: number | null }>} */
export const TASKS = { short: { points: 128, winding: 2, batch: null }, long: { points: 512, winding: 3, batch: 64 } };
export const NEW_POINTS = 256;
export const MAX_STEPS = 5000;
export const VIEWED = 64; // points that are looked at in one go
const TOO_LARGE = 1e9; // a loss above this is followed no further
const NOISE = 0.03;
export const LOOKED_BACK = 20; // steps

/** `count` points, one after the other on the one spiral and on the other, as chapter 7 draws them.
 * @type {(next: () => number, count: number, winding: number) => TrainStack.Points} */
function spirals(next, count, winding) {
  const points = new Float64Array(2 * count);
  const answers = new Uint8Array(count);
  for (let i = 0; i < count; i += 1) {
    const [radius, arm] = [3 * next(), i % 2];
    const angle = winding * radius + Math.PI * arm;
    const [far, way] = [NOISE * Math.sqrt(-2 * Math.log(1 - next())), 2 * Math.PI * next()];
    points[2 * i] = (Math.cos(angle) * radius) / 1.5 + far * Math.cos(way);
    points[2 * i + 1] = (Math.sin(angle) * radius) / 1.5 + far * Math.sin(way);
    answers[i] = arm;
  }
  return { points, answers };
}

/** The points of a task that are learnt, and new ones.
 * @type {(task: string, seed: number) => { learnt: TrainStack.Points; unseen: TrainStack.Points }} */
export function pointsOf(task, seed) {
  const { points, winding } = TASKS[task];
  const next = mulberry32(seed + 1000);
  return { learnt: spirals(next, points, winding), unseen: spirals(next, NEW_POINTS, winding) };
}

/** The first weights, as nn.Linear draws them; those of the blocks, not their biases, times `gain`.
 * @type {(setting: TrainStack.Setting) => Float64Array} */
export function firstWeights({ depth, wiring, gain, seed }) {
  const next = mulberry32(seed);
  const shapes = shapesOf(depth, wiring);
  const weights = new Float64Array(shapes.reduce((sum, { rows, columns }) => sum + rows * columns, 0));
  let at = 0;
  for (const { name, rows, columns, bound, value = 0 } of shapes) {
    const times = /fc\d\.weight$/.test(name) ? gain : 1;
    for (const end = at + rows * columns; at < end; at += 1) {
      weights[at] = bound === undefined ? value : (2 * next() - 1) * bound * times;
    }
  }
  return weights;
}

/** A training before its first step, made in parts; `viewer` looks at points, with the same weights.
 * @param {TrainStack.Setting & { task: string }} setting */
export function* beginInParts(setting) {
  const { learnt, unseen } = pointsOf(setting.task, setting.seed);
  const rows = TASKS[setting.task].batch ?? learnt.answers.length;
  const weights = firstWeights(setting);
  yield;
  const net = stack(setting, weights, rows);
  yield;
  const viewer = stack(setting, weights, VIEWED, false);
  const batch = { rows, points: new Float64Array(2 * rows), answers: new Uint8Array(rows) };
  const [mean, square] = [1, 2].map(() => new Float64Array(weights.length));
  const losses = /** @type {number[]} */ ([]);
  const now = {
    ...{ setting, learnt, unseen, mean, square, net, viewer, batch, losses },
    draw: mulberry32(setting.seed + 2000),
    get done() {
      return losses.length - 1;
    },
    get loss() {
      return losses[losses.length - 1];
    },
    get lost() {
      return !(losses[losses.length - 1] <= TOO_LARGE);
    },
  };
  fillBatch(now);
  losses.push(yield* lossInParts(net, batch));
  return now;
}

/** A training before its first step.
 * @param {TrainStack.Setting & { task: string }} setting */
export const begin = (setting) => wholeOf(beginInParts(setting));

/** Fills the batch of the next step: all points, or some of them drawn at random.
 * @type {(now: { batch: TrainStack.Batch; learnt: TrainStack.Points; setting: { task: string }; draw(): number }) => void} */
function fillBatch({ batch, learnt, setting, draw }) {
  const count = learnt.answers.length;
  for (let r = 0; r < batch.rows; r += 1) {
    const i = TASKS[setting.task].batch ? Math.floor(draw() * count) : r;
    batch.points[2 * r] = learnt.points[2 * i];
    batch.points[2 * r + 1] = learnt.points[2 * i + 1];
    batch.answers[r] = learnt.answers[i];
  }
}

/** Loss and gradient where the training stands, on the next batch.
 * @type {(now: TrainStack.Now) => void} */
function look(now) {
  fillBatch(now);
  now.losses.push(lossAndGradient(now.net, now.batch));
}

/** One step of Adam; nothing, once the loss is too large to follow.
 * @type {(now: TrainStack.Now) => void} */
export function takeStep(now) {
  if (now.lost) return;
  const { weights, slope } = now.net;
  const [first, second] = adamScales(now.done + 1, now.setting.rate);
  const moments = { slope, mean: now.mean, square: now.square };
  for (let i = 0; i < weights.length; i += 1) weights[i] -= adamMove(moments, i, first, second);
  look(now);
}

/** The median of the last losses: a batch that is off by itself does not count.
 * @type {(now: { losses: number[] }) => number} */
export function recentLoss({ losses }) {
  const last = losses.slice(-LOOKED_BACK).sort((a, b) => a - b);
  return (last[(last.length - 1) >> 1] + last[last.length >> 1]) / 2;
}

/** @type {(list: Float64Array) => number} */
const lengthOf = (list) => Math.sqrt(list.reduce((sum, one) => sum + one * one, 0));

/** Standard deviation of a list's first `count` numbers, with count - 1 as torch.std has it.
 * @type {(list: Float64Array, count: number) => number} */
function deviation(list, count) {
  let [mean, squares] = [0, 0];
  for (let i = 0; i < count; i += 1) mean += list[i] / count;
  for (let i = 0; i < count; i += 1) squares += (list[i] - mean) ** 2;
  return Math.sqrt(squares / (count - 1));
}

/**
 * Of the batch where the training stands: the standard deviation of what enters the first block and
 * of what leaves each, and the length of the gradient of each block's first matrix.
 * @type {(now: TrainStack.Now) => TrainStack.Sizes}
 */
export function sizes({ net, batch }) {
  return {
    signal: net.states.map((state) => deviation(state, batch.rows * WIDTH)),
    gradient: net.caches.map((_, l) => lengthOf(net.grads[`blocks.${l}.mlp.fc1`].weight)),
  };
}

/** For each of up to VIEWED points, how much the second spiral's logit is above the first's.
 * @type {(now: TrainStack.Now, points: Float64Array) => Float64Array} */
export function leanings({ viewer }, points) {
  const count = points.length / 2;
  const logits = forward(viewer, points, count);
  return Float64Array.from({ length: count }, (_, r) => logits[2 * r + 1] - logits[2 * r]);
}

/** How many of the next new points, up to VIEWED, the stack puts on their spiral.
 * @type {(now: TrainStack.Now, from: number) => number} */
export function countRight(now, from) {
  const { points, answers } = now.unseen;
  const found = leanings(now, points.subarray(2 * from, 2 * (from + VIEWED)));
  return found.reduce((right, one, r) => right + ((one > 0 ? 1 : 0) === answers[from + r] ? 1 : 0), 0);
}

/** The share of the new points that the stack puts on their spiral.
 * @type {(now: TrainStack.Now) => number} */
export function shareRight(now) {
  let right = 0;
  for (let from = 0; from < NEW_POINTS; from += VIEWED) right += countRight(now, from);
  return right / NEW_POINTS;
}
