// A network of two layers that learns a curve of 32 points; no page is touched here. Its weights
// are one list: those into each neuron, their biases, those out of each neuron, and the last bias.

import { gelu, relu } from "../kit/activations.mjs";
import { mulberry32 } from "../kit/numbers.mjs";

export const MAX_WIDTH = 32;
const POINTS = 32;
export const REACH = 2; // x goes from −2 to 2

/** Each activation, and its slope at z, where its value is a.
 * @type {Record<string, Kit.Activation>} */
export const NEURONS = { none: [(z) => z, () => 1], relu, tanh: [Math.tanh, (z, a) => 1 - a * a], gelu };

const INPUTS = Float64Array.from({ length: POINTS }, (_, i) => (2 * REACH * i) / (POINTS - 1) - REACH);

/** The curve to be learnt. */
export const CURVE = { x: INPUTS, y: INPUTS.map((x) => Math.sin(2 * x)) };

/** Random weights, as nn.Linear has them: within ±1/√(inputs of the layer), all equally likely.
 * @type {(width: number, seed: number) => Float64Array} */
export function initialWeights(width, seed) {
  const next = mulberry32(seed);
  const out = 1 / Math.sqrt(width);
  return Float64Array.from({ length: 3 * width + 1 }, (_, i) => (2 * next() - 1) * (i < 2 * width ? 1 : out));
}

/** The network's outputs for a list of inputs.
 * @type {(weights: Float64Array, activation: string, xs: Float64Array) => Float64Array} */
export function outputs(weights, activation, xs) {
  const width = (weights.length - 1) / 3;
  const [value] = NEURONS[activation];
  return xs.map((x) => {
    let y = weights[3 * width];
    for (let j = 0; j < width; j += 1) {
      y += weights[2 * width + j] * value(weights[j] * x + weights[width + j]);
    }
    return y;
  });
}

/** The mean squared error on a curve, as a problem: its loss, and its slope for every weight.
 * @type {(width: number, activation: string, curve?: { x: Float64Array; y: Float64Array }) => Descent.Problem} */
export function network(width, activation, { x, y } = CURVE) {
  const [value, slopeAt] = NEURONS[activation];
  const [z, a] = [new Float64Array(width), new Float64Array(width)];
  const [bias, out, last] = [width, 2 * width, 3 * width]; // where each kind of weight begins

  /** @type {(weights: Float64Array, input: number) => number} */
  function forward(weights, input) {
    let sum = weights[last];
    for (let j = 0; j < width; j += 1) {
      z[j] = weights[j] * input + weights[bias + j];
      a[j] = value(z[j]);
      sum += weights[out + j] * a[j];
    }
    return sum;
  }

  /** @type {(weights: Float64Array, slope: Float64Array, input: number, share: number) => void} */
  function backward(weights, slope, input, share) {
    slope[last] += share;
    for (let j = 0; j < width; j += 1) {
      slope[out + j] += share * a[j];
      const inner = share * weights[out + j] * slopeAt(z[j], a[j]);
      slope[j] += inner * input;
      slope[bias + j] += inner;
    }
  }

  return (weights, slope) => {
    let loss = 0;
    slope.fill(0);
    for (let i = 0; i < x.length; i += 1) {
      const error = forward(weights, x[i]) - y[i];
      loss += (error * error) / x.length;
      backward(weights, slope, x[i], (2 * error) / x.length);
    }
    return loss;
  };
}
