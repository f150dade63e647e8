// A training: the first weights, batches, the timetable of the learning rate, the held-out loss, and what the model
// writes. No page and no worker is touched here.

import { mulberry32 } from "../kit/numbers.mjs";
import { adamStep, logitsOf, lossOf, makeNetwork, numbersOf } from "./network.mjs";

const STD = 0.02; // of the first weights, as GPT-2's
const STEP = { decay: 0.1, clip: 1, betas: /** @type {Kit.Pair} */ ([0.9, 0.99]), eps: 1e-8 };
const WARMUP = 100; // steps, and at most a tenth of a run
const PIECES = 256; // of the held-out text that are read at most
const TEMPERATURE = 0.5;

/** A number drawn from the normal distribution (Box and Muller 1958).
 * @type {(draw: () => number) => number} */
const normal = (draw) => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());

/** Draws the first weights as mygpt.gpt.initialise does, from this generator.
 * @type {(network: Engine.Network, draw: () => number) => void} */
function initialise(network, draw) {
  const { config, parts } = network.plan;
  for (const [name, { shape }] of parts) {
    const numbers = numbersOf(network, name);
    const writes = /mha\.W_O|mlp\.fc2/.test(name);
    const std = writes ? STD / Math.sqrt(2 * config.layers) : STD;
    if (shape.length === 1) {
      numbers.fill(/ln\w+\.weight/.test(name) ? 1 : 0);
      continue;
    }
    for (let i = 0; i < numbers.length; i += 1) numbers[i] = std * normal(draw);
  }
}

/** A training, before its first step or where another was left: with `kept`, its weights, moments and steps.
 * @param {Engine.Given} given */
export function beginSession({ config, batch, length, seed, learn, held, kept, plain }) {
  const network = makeNetwork(config, batch, length, plain);
  initialise(network, mulberry32(seed));
  if (kept) restore(network, kept);
  return { network, learn, held, draw: mulberry32(seed + 1000 + network.steps), batch, length };
}

/** @type {(network: Engine.Network, kept: Engine.Snapshot) => void} */
function restore(network, { step, weights, first, second }) {
  for (const name of network.plan.parts.keys()) {
    const [from, to] = [weights.get(name), numbersOf(network, name)];
    if (from?.length !== to.length) {
      throw new RangeError(`expected ${to.length} numbers of ${name}, got ${from?.length}`);
    }
    to.set(from);
    numbersOf(network, name, "first").set(first?.get(name) ?? []);
    numbersOf(network, name, "second").set(second?.get(name) ?? []);
  }
  network.steps = step;
}

/** A copy of all that a training has learnt.
 * @type {(session: Engine.Session) => Engine.Snapshot} */
export function snapshot({ network }) {
  /** @type {(of?: "first" | "second") => Map<string, Float32Array>} */
  const all = (of) =>
    new Map([...network.plan.parts.keys()].map((name) => [name, numbersOf(network, name, of).slice()]));
  return { step: network.steps, weights: all(), first: all("first"), second: all("second") };
}

/** The learning rate of a step, counted from 0, of so many: it rises in a straight line, then falls along half a wave
 * of the cosine to a tenth (mygpt.training.TrainingConfig.scale).
 * @type {(step: number, steps: number, peak: number) => number} */
export function rateAt(step, steps, peak) {
  const warmup = Math.min(WARMUP, steps / 10);
  if (step < warmup) return (peak * (step + 1)) / warmup;
  const done = Math.min(1, (step - warmup) / Math.max(1, steps - warmup));
  return peak * (1 - 0.9 * ((1 - Math.cos(Math.PI * done)) / 2));
}

/** The loss on the pieces of a text that begin at some places.
 * @type {(network: Engine.Network, ids: Int32Array, starts: number[], length: number, gradients?: boolean) => number} */
function lossAt(network, ids, starts, length, gradients = false) {
  const [rows, targets] = [0, 1].map((from) =>
    starts.map((start) => ids.subarray(start + from, start + from + length)),
  );
  return lossOf(network, rows, targets, gradients);
}

/** One step on a batch of pieces from random places; returns the loss before it. A loss or a gradient that is no
 * finite number changes no weight.
 * @type {(session: Engine.Session, settings: { steps: number; rate: number }) => number} */
export function trainStep({ network, learn, draw, batch, length }, { steps, rate }) {
  const starts = Array.from({ length: batch }, () => Math.floor(draw() * (learn.length - length)));
  const loss = lossAt(network, learn, starts, length, true);
  if (!Number.isFinite(loss)) return loss;
  const size = adamStep(network, { rate: rateAt(network.steps, steps, rate), ...STEP });
  return Number.isFinite(size) ? loss : size;
}

/** The mean loss on the held-out text, in pieces; of a long one, pieces at equal distances; of one that is shorter than a
 * piece, all of it.
 * @type {(session: Engine.Session) => number} */
export function heldLoss({ network, held, batch, length: longest }) {
  const length = Math.min(longest, held.length - 1);
  const whole = Math.floor((held.length - 1) / length);
  const count = Math.min(whole, PIECES);
  const starts = Array.from({ length: count }, (_, i) => length * Math.floor((i * whole) / count));
  let sum = 0;
  for (let i = 0; i < count; i += batch) {
    const some = starts.slice(i, i + batch);
    sum += lossAt(network, held, some, length) * some.length;
  }
  return sum / count;
}

/** The ids that the model writes after some ids, each drawn from its probabilities at a temperature of 0.5. When it has
 * read as many as it can, it keeps the newer half (mygpt.sampling.generate). The same weights write the same from a seed.
 * @type {(session: Engine.Session, start: number[], count: number, seed?: number) => number[]} */
export function write({ network, length }, start, count, seed = 1) {
  const draw = mulberry32(seed);
  const written = [];
  let read = start.slice(-length);
  for (let i = 0; i < count; i += 1) {
    if (read.length === length) read = read.slice(-Math.floor(length / 2));
    const logits = logitsOf(network, read)[read.length - 1];
    const most = logits.reduce((a, b) => Math.max(a, b));
    const powers = logits.map((one) => Math.exp((one - most) / TEMPERATURE));
    let left = draw() * powers.reduce((a, b) => a + b);
    const drawn = powers.findIndex((one) => (left -= one) <= 0);
    const id = drawn < 0 ? powers.indexOf(Math.max(...powers)) : drawn;
    written.push(id);
    read.push(id);
  }
  return written;
}
