// mygpt.gpt.GPT on the engine: its loss, its gradients, a step of AdamW, and what it says of a text.

import { plainKernels } from "./plain.mjs";
import { CHUNK, planOf } from "./plan.mjs";
import { simdKernels } from "./simd.mjs";

const LAYER_NORM_EPS = 1e-5;
const KINDS = ["gelu_tanh", "gelu", "relu", "silu"];
const [BELOW, UP_TO, FROM] = [1, 2, 3]; // parts of a product that a causal mask leaves, as in kernels.ts

/** A model with room for `batch` rows of `length` tokens; its weights are 0. `plain`: without WebAssembly.
 * @param {Engine.Config} config
 * @param {number} batch
 * @param {number} length */
export function makeNetwork(config, batch, length, plain = false) {
  const plan = planOf(config, batch, length);
  const kind = KINDS.indexOf(config.activation);
  if (kind < 0) throw new RangeError(`expected an activation of ${KINDS.join(", ")}, got ${config.activation}`);
  const simd = plain ? null : simdKernels(plan.bytes);
  const kernels = simd ?? plainKernels(plan.bytes);
  const [numbers, whole] = [new Float32Array(kernels.buffer), new Int32Array(kernels.buffer)];
  return { plan, kernels, numbers, whole, kind, steps: 0, simd: Boolean(simd) };
}

/** The numbers of a parameter, or of its gradient (`gradients`) or moments (`first`, `second`).
 * @type {(network: Engine.Network, name: string, of?: "gradients" | "first" | "second") => Float32Array} */
export function numbersOf({ plan, numbers }, name, of) {
  const part = plan.parts.get(name);
  if (!part) throw new Error(`expected a parameter, got ${name}`);
  const at = (of ? plan[of] - plan.parameters.at + part.at : part.at) >> 2;
  return numbers.subarray(at, at + part.count);
}

/** The addresses of a parameter and of its gradient; of a bias that the model lacks, zeros and null.
 * @type {(network: Engine.Network, name: string) => { at: number; to: number | null }} */
function placeOf({ plan }, name) {
  const at = plan.parts.get(name)?.at;
  return at === undefined ? { at: plan.zeros, to: null } : { at, to: at + plan.gradients - plan.parameters.at };
}

/** to = x Wᵀ + b, from `ins` channels to `outs`.
 * @type {(network: Engine.Network, name: string, x: number, ins: number, to: number, outs: number, rows: number) => void} */
function linear(network, name, x, ins, to, outs, rows) {
  const { kernels, plan } = network;
  const bias = name.endsWith("embedding") ? plan.zeros : placeOf(network, `${name}.bias`).at;
  kernels.pack(placeOf(network, `${name}.weight`).at, 4, 4 * ins, ins, outs, plan.packed);
  kernels.product(x, 4 * ins, 4, plan.packed, bias, 0, to, 4 * outs, rows, ins, outs, 0);
}

/** From the gradient of a linear layer's output, those of its weight, its bias and (to `toX`) its input.
 * @type {(network: Engine.Network, name: string, gradient: number, outs: number, x: number, ins: number, toX: number) => void} */
function linearBackward(network, name, gradient, outs, x, ins, toX) {
  const { kernels, plan } = network;
  const { packed, rows, zeros } = plan;
  const weight = placeOf(network, `${name}.weight`);
  const bias = placeOf(network, `${name}.bias`);
  if (bias.to !== null) kernels.sumRows(gradient, 4 * outs, rows, outs, bias.to);
  for (let i = 0; i < ins; i += CHUNK) {
    const [columns, to] = [Math.min(CHUNK, ins - i), Number(weight.to) + 4 * i];
    kernels.pack(x + 4 * i, 4 * ins, 4, rows, columns, packed);
    kernels.product(gradient, 4, 4 * outs, packed, zeros, 0, to, 4 * ins, outs, rows, columns, 0);
  }
  kernels.pack(weight.at, 4 * ins, 4, outs, ins, packed);
  kernels.product(gradient, 4 * outs, 4, packed, zeros, 0, toX, 4 * ins, rows, outs, ins, 0);
}

/** Calls with the addresses of each row and head: how far its queries stand behind the first in `qkv`, what it reads
 * behind the first in `read`, and its weights behind the first.
 * @type {(plan: Engine.Plan, batch: number, call: (inQkv: number, inRead: number, inWeights: number) => void) => void} */
function eachHead({ config, stride, size }, batch, call) {
  const { width, heads } = config;
  for (let row = 0; row < batch; row += 1) {
    for (let head = 0; head < heads; head += 1) {
      const [start, channel] = [row * stride, head * size];
      call(
        4 * (start * 3 * width + channel),
        4 * (start * width + channel),
        4 * (row * heads + head) * stride * stride,
      );
    }
  }
}

/** What all heads read, from the queries, keys and values of a block.
 * @type {(network: Engine.Network, block: Engine.Kept, batch: number) => void} */
function attend({ kernels, plan }, { qkv, weights, read }, batch) {
  const { stride, size, packed, zeros } = plan;
  const [one, line] = [4 * plan.config.width, 4 * stride];
  eachHead(plan, batch, (inQkv, inRead, inWeights) => {
    const [q, w] = [qkv + inQkv, weights + inWeights];
    kernels.pack(q + one, 4, 3 * one, size, stride, packed); // keys
    kernels.product(q, 3 * one, 4, packed, zeros, 0, w, line, stride, size, stride, BELOW);
    kernels.weigh(w, stride, 1 / Math.sqrt(size));
    kernels.pack(q + 2 * one, 3 * one, 4, stride, size, packed); // values
    kernels.product(w, line, 4, packed, zeros, 0, read + inRead, one, stride, stride, size, UP_TO);
  });
}

/** From the gradient of what all heads read (in toNorm), those of queries, keys and values (to toQkv).
 * @type {(network: Engine.Network, block: Engine.Kept) => void} */
function attendBackward({ kernels, plan }, { qkv, weights }) {
  const { stride, size, packed, zeros, toWeights: scores } = plan;
  const [one, line] = [4 * plan.config.width, 4 * stride];
  eachHead(plan, plan.batch, (inQkv, inRead, inWeights) => {
    const [q, toQ, w, gradient] = [qkv + inQkv, plan.toQkv + inQkv, weights + inWeights, plan.toNorm + inRead];
    kernels.pack(gradient, one, 4, stride, size, packed);
    kernels.product(w, 4, line, packed, zeros, 0, toQ + 2 * one, 3 * one, stride, stride, size, FROM); // values
    kernels.pack(q + 2 * one, 4, 3 * one, size, stride, packed);
    kernels.product(gradient, one, 4, packed, zeros, 0, scores, line, stride, size, stride, BELOW);
    kernels.weighBackward(scores, w, stride, 1 / Math.sqrt(size));
    kernels.pack(q + one, 3 * one, 4, stride, size, packed);
    kernels.product(scores, line, 4, packed, zeros, 0, toQ, 3 * one, stride, stride, size, UP_TO); // queries
    kernels.pack(q, 3 * one, 4, stride, size, packed);
    kernels.product(scores, 4, line, packed, zeros, 0, toQ + one, 3 * one, stride, stride, size, FROM); // keys
  });
}

/** @type {(network: Engine.Network, name: string, x: number, to: number, kept: number, rows: number) => void} */
function norm(network, name, x, to, kept, rows) {
  const [weight, bias] = ["weight", "bias"].map((one) => placeOf(network, `${name}.${one}`).at);
  network.kernels.norm(x, weight, bias, to, kept, rows, network.plan.config.width, LAYER_NORM_EPS);
}

/** Adds the gradient of a norm's input to that of the stream.
 * @type {(network: Engine.Network, name: string, x: number, kept: number) => void} */
function normBackward(network, name, x, kept) {
  const { kernels, plan } = network;
  const [weight, bias] = ["weight", "bias"].map((one) => placeOf(network, `${name}.${one}`));
  const to = [plan.toStream, Number(weight.to), Number(bias.to)];
  kernels.normBackward(plan.toNorm, x, kept, weight.at, to[0], to[1], to[2], plan.rows, plan.config.width);
}

/** The logits of the ids that stand in memory, for the first `batch` rows.
 * @type {(network: Engine.Network, batch: number) => void} */
function pass(network, batch) {
  const { kernels, plan, kind } = network;
  const { config, blocks, stride, classes } = plan;
  const { width, hidden } = config;
  const rows = batch * stride;
  const [tokens, places] = ["token.embedding.weight", "position.weight"].map((name) => placeOf(network, name).at);
  kernels.embed(plan.ids, tokens, places, blocks.length ? blocks[0].stream : plan.stream, rows, stride, width);
  blocks.forEach((block, i) => {
    const [name, next] = [`blocks.${i}`, blocks[i + 1]?.stream ?? plan.stream];
    const networked = !config.attentionOnly.includes(i);
    norm(network, `${name}.ln1`, block.stream, block.norm1, block.kept1, rows);
    queriesKeysValues(network, i, rows);
    attend(network, block, batch);
    const middle = networked ? block.middle : next;
    linear(network, `${name}.mha.W_O`, block.read, width, middle, width, rows);
    kernels.add(middle, block.stream, rows * width);
    if (!networked) return;
    norm(network, `${name}.ln2`, middle, block.norm2, block.kept2, rows);
    linear(network, `${name}.mlp.fc1`, block.norm2, width, block.slopes, hidden, rows);
    kernels.activate(kind, block.slopes, block.active, rows * hidden);
    linear(network, `${name}.mlp.fc2`, block.active, hidden, next, width, rows);
    kernels.add(next, middle, rows * width);
  });
  norm(network, "ln_f", plan.stream, plan.normF, plan.keptF, rows);
  linear(network, "token.embedding", plan.normF, width, plan.logits, classes, rows);
}

/** Queries, keys and values in one product: their weights stand together.
 * @type {(network: Engine.Network, layer: number, rows: number) => void} */
function queriesKeysValues(network, layer, rows) {
  const { width } = network.plan.config;
  const { norm1, qkv } = network.plan.blocks[layer];
  linear(network, `blocks.${layer}.mha.W_Q`, norm1, width, qkv, 3 * width, rows);
}

/** All gradients, from that of the logits.
 * @type {(network: Engine.Network) => void} */
function backward(network) {
  const { kernels, plan } = network;
  const { config, rows, classes, toStream, toNorm, toHidden, toQkv } = plan;
  const { width, hidden } = config;
  network.numbers.fill(0, toStream >> 2, (toStream >> 2) + rows * width);
  linearBackward(network, "token.embedding", plan.logits, classes, plan.normF, width, toNorm);
  normBackward(network, "ln_f", plan.stream, plan.keptF);
  for (let i = plan.blocks.length - 1; i >= 0; i -= 1) {
    const [name, block] = [`blocks.${i}`, plan.blocks[i]];
    if (!config.attentionOnly.includes(i)) {
      linearBackward(network, `${name}.mlp.fc2`, toStream, width, block.active, hidden, toHidden);
      kernels.multiply(toHidden, block.slopes, rows * hidden);
      linearBackward(network, `${name}.mlp.fc1`, toHidden, hidden, block.norm2, width, toNorm);
      normBackward(network, `${name}.ln2`, block.middle, block.kept2);
    }
    linearBackward(network, `${name}.mha.W_O`, toStream, width, block.read, width, toNorm);
    attendBackward(network, block);
    linearBackward(network, `${name}.mha.W_Q`, toQkv, 3 * width, block.norm1, width, toNorm);
    normBackward(network, `${name}.ln1`, block.stream, block.kept1);
  }
  const [tokens, places] = ["token.embedding.weight", "position.weight"].map((one) => Number(placeOf(network, one).to));
  kernels.embedBackward(plan.ids, toStream, tokens, places, rows, plan.stride, width);
}

/** Puts rows of ids into memory; `targets`, where given, beside them. Returns how many targets there are.
 * @type {(network: Engine.Network, rows: ArrayLike<number>[], targets?: ArrayLike<number>[]) => number} */
function place({ plan, whole }, rows, targets) {
  const { batch, length, stride, config } = plan;
  if (rows.length < 1 || rows.length > batch) throw new RangeError(`expected 1 to ${batch} rows, got ${rows.length}`);
  if (targets && targets.length !== rows.length) {
    throw new RangeError(`expected ${rows.length} rows of targets, got ${targets.length}`);
  }
  let count = 0;
  rows.forEach((row, b) => {
    if (row.length < 1 || row.length > length) {
      throw new RangeError(`expected rows of 1 to ${length} ids, got ${row.length}`);
    }
    if (targets && targets[b].length !== row.length) {
      throw new RangeError(`expected ${row.length} targets in a row, got ${targets[b].length}`);
    }
    for (let i = 0; i < stride; i += 1) {
      const there = i < row.length;
      const [id, target] = [there ? row[i] : 0, there && targets ? targets[b][i] : -1];
      for (const one of [id, Math.max(target, 0)]) {
        if (!(one >= 0 && one < config.vocab)) {
          throw new RangeError(`expected ids from 0 to ${config.vocab - 1}, got ${one}`);
        }
      }
      whole[(plan.ids >> 2) + b * stride + i] = id;
      whole[(plan.targets >> 2) + b * stride + i] = target;
      count += Number(target >= 0);
    }
  });
  return count;
}

/** The mean cross-entropy, in nats, of rows of ids and the ids that follow each; with `gradients`, every parameter's.
 * A negative target counts for nothing. For gradients as many rows are needed as the model has room for.
 * @type {(network: Engine.Network, rows: ArrayLike<number>[], targets: ArrayLike<number>[], gradients?: boolean) => number} */
export function lossOf(network, rows, targets, gradients = false) {
  const { kernels, plan, numbers } = network;
  if (gradients && rows.length !== plan.batch) throw new RangeError(`expected ${plan.batch} rows, got ${rows.length}`);
  const count = place(network, rows, targets);
  if (!count) throw new RangeError("expected a target that is not negative, got none");
  pass(network, rows.length);
  const among = rows.length * plan.stride;
  const sum = kernels.crossEntropy(plan.logits, 4 * plan.classes, plan.targets, among, plan.config.vocab, count);
  if (gradients) {
    const { config, classes, stride, parameters } = plan;
    const start = plan.gradients >> 2; // embeddings and vectors are added up from 0, the other matrices written whole
    numbers.fill(0, start, start + (classes + Math.max(config.positions, stride)) * config.width);
    numbers.fill(0, start + parameters.decayed, start + parameters.count);
    backward(network);
  }
  return sum / count;
}

/** One row of logits for each id.
 * @type {(network: Engine.Network, ids: ArrayLike<number>) => Float32Array[]} */
export function logitsOf(network, ids) {
  const { plan, numbers } = network;
  place(network, [ids]);
  pass(network, 1);
  const start = plan.logits >> 2;
  return Array.from({ length: ids.length }, (_, i) =>
    numbers.slice(start + i * plan.classes, start + i * plan.classes + plan.config.vocab),
  );
}

/** One step of AdamW on the gradients, with their norm brought down to `clip`; returns the norm that they had. Matrices
 * alone decay. A norm that is no finite number changes nothing.
 * @type {(network: Engine.Network, settings: Engine.Step) => number} */
export function adamStep(network, { rate, decay, clip, betas, eps }) {
  const { kernels, plan } = network;
  const { at, count, decayed } = plan.parameters;
  const size = Math.sqrt(kernels.squares(plan.gradients, count));
  if (!Number.isFinite(size)) return size;
  network.steps += 1;
  const shrink = Math.min(1, clip / (size + 1e-6));
  const [first, second] = betas.map((beta) => 1 - beta ** network.steps);
  const step = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ keep) => {
    const behind = [at, plan.gradients, plan.first, plan.second].map((one) => one + 4 * from);
    const [w, g, m, v] = behind;
    const even = 1 / Math.sqrt(second);
    kernels.adamw(w, g, m, v, to - from, rate / first, even, keep, shrink, betas[0], betas[1], eps);
  };
  step(0, decayed, 1 - rate * decay);
  step(decayed, count, 1);
  return size;
}
