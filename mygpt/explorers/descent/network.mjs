// A network of two layers that learns a curve of 32 points; no page is touched here. Its weights
// are one list: those into each neuron, their biases, those out of each neuron, and the last bias.

import { mlpBackward, mlpForward } from "../compute/mlp.mjs";
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

/** The two layers in a list of weights, or of their slopes.
 * @type {(list: Float64Array) => Compute.Mlp} */
function layersOf(list) {
  const width = (list.length - 1) / 3;
  const [into, bias, out, last] = [0, 1, 2, 3].map((part) => list.subarray(part * width, (part + 1) * width));
  return { fc1: { weight: into, bias }, fc2: { weight: out, bias: last } };
}

/** Room for the neurons on so many inputs.
 * @type {(width: number, inputs: number) => Compute.Neurons} */
const neuronsOf = (width, inputs) => ({ z: new Float64Array(width * inputs), a: new Float64Array(width * inputs) });

/** The network's outputs for a list of inputs.
 * @type {(weights: Float64Array, activation: string, xs: Float64Array) => Float64Array} */
export function outputs(weights, activation, xs) {
  const layers = layersOf(weights);
  const neurons = neuronsOf(layers.fc1.bias.length, xs.length);
  return mlpForward(new Float64Array(xs.length), xs, layers, neurons, NEURONS[activation], xs.length);
}

/** The mean squared error on a curve, as a problem: its loss, and its slope for every weight.
 * @type {(width: number, activation: string, curve?: { x: Float64Array; y: Float64Array }) => Descent.Problem} */
export function network(width, activation, { x, y } = CURVE) {
  const count = x.length;
  const neurons = neuronsOf(width, count);
  const [given, hidden] = [new Float64Array(count), new Float64Array(width * count)];
  return (weights, slope) => {
    const layers = layersOf(weights);
    mlpForward(given, x, layers, neurons, NEURONS[activation], count);
    const errors = given.map((one, i) => one - y[i]);
    const shares = errors.map((error) => (2 * error) / count);
    mlpBackward(null, shares, x, layers, layersOf(slope), neurons, hidden, NEURONS[activation], count);
    return errors.reduce((loss, error) => loss + (error * error) / count, 0);
  };
}
