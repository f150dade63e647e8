// How a loss is brought down step by step; no page is touched here. A problem is a function that
// gives the loss of some weights and writes its slope for each of them. All numbers are float64.

import { adamMove, adamScales } from "../compute/adam.mjs";

export const MAX_STEPS = 2000;
export const TOO_LARGE = 1e9; // a loss above this is followed no further
export const EXAMPLE = { x: 2, y: 6 };
/** @type {Kit.Pair[]} */
export const EXAMPLES = [
  [1, 4],
  [2, 7],
];
const STILL = 1e-6;
const KEPT = 0.9; // by momentum

/** The squared error of w · x for one example.
 * @type {Descent.Problem} */
export function oneWeight(weights, slope) {
  const error = weights[0] * EXAMPLE.x - EXAMPLE.y;
  slope[0] = 2 * error * EXAMPLE.x;
  return error * error;
}

/** The mean squared error of the line w₁ · x + w₂ for two examples.
 * @type {Descent.Problem} */
export function twoWeights(weights, slope) {
  let loss = 0;
  slope.fill(0);
  for (const [x, y] of EXAMPLES) {
    const error = weights[0] * x + weights[1] - y;
    loss += (error * error) / EXAMPLES.length;
    slope[0] += (2 * error * x) / EXAMPLES.length;
    slope[1] += (2 * error) / EXAMPLES.length;
  }
  return loss;
}

/** What each rule makes of the slope of weight i; the rate times that is taken from the weight.
 * @type {Record<string, (now: Descent.Moving, i: number) => number>} */
export const RULES = {
  plain: ({ slope }, i) => slope[i],
  momentum: ({ slope, mean }, i) => {
    mean[i] = KEPT * mean[i] + slope[i];
    return mean[i];
  },
  adam: (now, i) => adamMove(now, i, ...adamScales(now.done + 1, 1)),
};

/** A descent before its first step. One or two weights leave a trail, of weights and of slopes.
 * @param {Descent.Problem} problem
 * @param {Iterable<number>} start
 * @param {{ rule: string; rate: number }} rule */
export function descent(problem, start, { rule, rate }) {
  const weights = Float64Array.from(start);
  const [slope, mean, square] = [1, 2, 3].map(() => new Float64Array(weights.length));
  const now = {
    weights,
    slope,
    mean,
    square,
    rule,
    rate,
    problem,
    refused: false, // by the page: its rate takes no weight down
    losses: /** @type {number[]} */ ([]),
    trail: /** @type {number[][]} */ ([]),
    slopes: /** @type {number[][]} */ ([]),
    get done() {
      return this.losses.length - 1;
    },
    get loss() {
      return this.losses[this.done];
    },
    get lost() {
      return !(this.loss <= TOO_LARGE);
    },
  };
  look(now);
  return now;
}

/** @type {(now: Descent.Now) => void} */
function look(now) {
  now.losses.push(now.problem(now.weights, now.slope));
  if (now.weights.length > 2) return;
  now.trail.push([...now.weights]);
  now.slopes.push([...now.slope]);
}

/** Takes a step, unless the loss is already too large.
 * @type {(now: Descent.Now) => void} */
export function takeStep(now) {
  if (now.lost) return;
  const { weights, rate } = now;
  const move = RULES[now.rule];
  for (let i = 0; i < weights.length; i += 1) weights[i] -= rate * move(now, i);
  look(now);
}

/** What the rule would make of the slope of the first weight at the next step.
 * @type {(now: Descent.Now) => { move: number; before: number }} */
export function nextMove(now) {
  const copy = { ...now, mean: now.mean.slice(), square: now.square.slice(), done: now.done };
  return { move: RULES[now.rule](copy, 0), before: now.mean[0] };
}

/** Whether further steps would show nothing new: flat ground, and standing still on it.
 * @type {(now: Descent.Now) => boolean} */
export function settled({ done, slope, trail }) {
  if (!trail.length || !done) return false;
  const [last, before] = [trail[done], trail[done - 1]];
  return slope.every((one) => Math.abs(one) < STILL) && last.every((one, i) => Math.abs(one - before[i]) < STILL);
}

/** Half-axes and their directions, of the ellipse on which the loss of two weights is `loss`.
 * @type {(loss: number) => { across: Kit.Pair; along: Kit.Pair }} */
export function valley(loss) {
  /** @type {(of: (x: number) => number) => number} */
  const sum = (of) => EXAMPLES.reduce((total, [x]) => total + of(x), 0) / EXAMPLES.length;
  const [a, b, c] = [sum((x) => 2 * x * x), sum((x) => 2 * x), 2];
  const root = Math.sqrt(((a - c) / 2) ** 2 + b * b);
  const [steep, flat] = [(a + c) / 2 + root, (a + c) / 2 - root];
  const size = Math.hypot(b, steep - a);
  const across = [b / size, (steep - a) / size];
  return {
    across: [across[0] * Math.sqrt((2 * loss) / steep), across[1] * Math.sqrt((2 * loss) / steep)],
    along: [-across[1] * Math.sqrt((2 * loss) / flat), across[0] * Math.sqrt((2 * loss) / flat)],
  };
}
