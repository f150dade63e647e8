// What the neurons of a GPT write, and edits of it: values that point at words, rewritten facts. No
// page is touched here.

import { adamMove, adamScales } from "../compute/adam.mjs";
import { descending, largestAt } from "../kit/geometry.mjs";
import { cardsOf } from "./cards.mjs";
import { scoreDirections } from "./directions.mjs";
import { dotAt, forward, headOf, networkOf, probabilities } from "./gpt.mjs";

const POINT_STEPS = 1000;

/** The activations of a layer that has a network.
 * @type {(pass: LiveModel.Pass, layer: number) => Float64Array} */
export const hiddenOf = (pass, layer) => pass.hidden[layer] ?? new Float64Array(0);

/** Neuron j's value, column j of fc2 as the edits leave it.
 * @type {(model: LiveModel.Gpt, layer: number, neuron: number, edits?: LiveModel.Edits) => Float64Array} */
export function valueOf(model, layer, neuron, edits = null) {
  const { width } = model;
  const edit = edits?.[layer];
  const own = networkOf(model, layer).values.subarray(neuron * width, (neuron + 1) * width);
  const value = Float64Array.from(edit?.values.get(neuron) ?? own);
  for (const { u, v } of edit?.additions ?? []) {
    for (let i = 0; i < width; i += 1) value[i] += u[i] * v[neuron];
  }
  return value;
}

/**
 * What a vector in the stream does to every word's score: centred over the channels, times the
 * last norm's weight, times the embeddings. The norm's division by the standard deviation, one
 * factor for all words that depends on the rest of the stream, is left out.
 * @type {(model: LiveModel.Gpt, vector: Float64Array) => Float64Array}
 */
export function promotion(model, vector) {
  const directions = scoreDirections(model);
  return Float64Array.from({ length: model.vocab }, (_, word) =>
    dotAt(directions, word * model.width, vector, 0, model.width),
  );
}

/** `promotion` of a neuron's value: the scores of every word.
 * @type {(model: LiveModel.Gpt, layer: number, neuron: number, edits?: LiveModel.Edits) => Float64Array} */
export const promoted = (model, layer, neuron, edits) => promotion(model, valueOf(model, layer, neuron, edits));

/**
 * What each neuron of a layer adds to a word's score at the last position of a pass, given the
 * standard deviation that the last norm has there: exact for the last layer; for another it is
 * the direct part, without what later layers make of it.
 * @type {(model: LiveModel.Gpt, pass: LiveModel.Pass, layer: number, word: number, edits?: LiveModel.Edits) => Float64Array}
 */
export function contributions(model, pass, layer, word, edits = null) {
  const { width } = model;
  const last = pass.stds.length - 1;
  const neurons = networkOf(model, layer).fc2.ins;
  if (edits?.[layer]?.network === 0) return new Float64Array(neurons);
  const hidden = hiddenOf(pass, layer).subarray(last * neurons);
  const directions = scoreDirections(model);
  return Float64Array.from(hidden, (amount, neuron) => {
    const value = valueOf(model, layer, neuron, edits);
    return (amount * dotAt(directions, word * width, value, 0, width)) / pass.stds[last];
  });
}

/**
 * What each head of a layer adds to a word's score at the last position of a pass, as `contributions`
 * has it for neurons. The bias of the output matrix belongs to no head.
 * @type {(model: LiveModel.Gpt, pass: LiveModel.Pass, layer: number, word: number) => Float64Array}
 */
export function headContributions(model, pass, layer, word) {
  const { width, heads } = model;
  const last = pass.stds.length - 1;
  const { weight } = model.layers[layer].o;
  const direction = scoreDirections(model).subarray(word * width, (word + 1) * width);
  const size = width / heads;
  const amounts = new Float64Array(heads);
  for (let from = 0; from < width; from += 1) {
    let added = 0;
    for (let i = 0; i < width; i += 1) added += direction[i] * weight[i * width + from];
    amounts[Math.floor(from / size)] += (added * pass.reads[layer][last * width + from]) / pass.stds[last];
  }
  return amounts;
}

/** What a row of the stream adds to a word's score, given what the last norm divides by.
 * @type {(model: LiveModel.Gpt, row: Float64Array, word: number, std: number) => number} */
export function addedBy(model, row, word, std) {
  return dotAt(scoreDirections(model), word * model.width, row, 0, model.width) / std;
}

/** The probabilities of all words if a row of the stream went to the last norm as it is.
 * @type {(model: LiveModel.Gpt, row: Float64Array) => Float64Array} */
export const readOut = (model, row) => probabilities(headOf(model, row).logits);

/** The neurons of a layer whose values point most nearly where a neuron's own does, the nearest first.
 * @type {(model: LiveModel.Gpt, layer: number, neuron: number, count: number, edits?: LiveModel.Edits) => number[]} */
export function nearest(model, layer, neuron, count, edits = null) {
  const { width, neurons } = model;
  const own = valueOf(model, layer, neuron, edits);
  const likeness = Float64Array.from({ length: neurons }, (_, other) => {
    if (other === neuron) return -Infinity;
    const value = valueOf(model, layer, other, edits);
    return dotAt(own, 0, value, 0, width) / Math.sqrt(dotAt(value, 0, value, 0, width) || 1);
  });
  return descending(likeness, Math.min(count, neurons - 1));
}

/**
 * A value of length `length` that promotes a word above all others. It starts in the word's own
 * direction; while some other word has a higher score, it turns from that one's direction.
 * @type {(model: LiveModel.Gpt, word: number, length: number) => Float64Array}
 */
export function pointedAt(model, word, length) {
  const { width } = model;
  const directions = scoreDirections(model);
  const own = directions.subarray(word * width, (word + 1) * width);
  const value = Float64Array.from(own);
  for (let step = 0; step < POINT_STEPS; step += 1) {
    const first = largestAt(promotion(model, value));
    if (first === word) break;
    for (let i = 0; i < width; i += 1) value[i] += own[i] - directions[first * width + i];
  }
  const size = Math.sqrt(dotAt(value, 0, value, 0, width)) || 1;
  return value.map((one) => (one * length) / size);
}

/** The lower factor L of a positive definite matrix L Lᵀ, both [size, size] row by row.
 * @type {(matrix: ArrayLike<number>, size: number) => Float64Array} */
export function cholesky(matrix, size) {
  const factor = new Float64Array(size * size);
  for (let i = 0; i < size; i += 1) {
    for (let j = 0; j <= i; j += 1) {
      const rest = matrix[i * size + j] - dotAt(factor, i * size, factor, j * size, j);
      if (i === j && !(rest > 0)) throw new Error(`not positive definite at row ${i}`);
      factor[i * size + j] = i === j ? Math.sqrt(rest) : rest / factor[j * size + j];
    }
  }
  return factor;
}

/** x with L Lᵀ x = b, for the factor that `cholesky` gives.
 * @type {(factor: Float64Array, b: Float64Array) => Float64Array} */
export function solveCholesky(factor, b) {
  const size = b.length;
  const x = Float64Array.from(b);
  for (let i = 0; i < size; i += 1) {
    x[i] = (x[i] - dotAt(factor, i * size, x, 0, i)) / factor[i * size + i];
  }
  for (let i = size - 1; i >= 0; i -= 1) {
    x[i] /= factor[i * size + i];
    for (let j = 0; j < i; j += 1) x[j] -= factor[i * size + j] * x[i];
  }
  return x;
}

/** p(target) of a stream vector at the last norm, and the gradient of −log p by that vector.
 * @type {(model: LiveModel.Gpt, stream: Float64Array, target: number) => { probability: number; gradient: Float64Array }} */
export function lossGradient(model, stream, target) {
  const { width, vocab, embedding, lnF } = model;
  const { logits, stds } = headOf(model, stream);
  const [std] = stds;
  const shares = probabilities(logits);
  const slope = new Float64Array(width); // by what the norm gives, then by the unit vector in it
  for (let word = 0; word < vocab; word += 1) {
    const error = shares[word] - (word === target ? 1 : 0);
    for (let i = 0; i < width; i += 1) slope[i] += error * embedding[word * width + i];
  }
  let mean = 0;
  for (const one of stream) mean += one / width;
  let [slopes, along] = [0, 0];
  for (let i = 0; i < width; i += 1) {
    slope[i] *= lnF.weight[i];
    slopes += slope[i] / width;
    along += (slope[i] * (stream[i] - mean)) / std / width;
  }
  const gradient = slope.map((one, i) => (one - slopes - (along * (stream[i] - mean)) / std) / std);
  return { probability: shares[target], gradient };
}

/**
 * The rank-one edit of ROME (Meng et al. 2022) of the last layer, at the last of the ids: with
 * fc2 + u vᵀ the layer's output there changes by u, which makes `target` the likely next word, and
 * for other inputs as little as the second moment of the activations allows. `factor` is that
 * moment's Cholesky factor. Also returns the `probability` reached and the `steps` that it took.
 * @type {(model: LiveModel.Gpt, ids: number[], target: number, factor: Float64Array, edits?: LiveModel.Edits) => LiveModel.Addition & { probability: number; steps: number }}
 */
export function rewrite(model, ids, target, factor, edits = null) {
  const { width, rewriting } = model;
  const layer = model.layers.length - 1;
  const mlp = networkOf(model, layer);
  const pass = forward(model, ids, { edits });
  const key = hiddenOf(pass, layer).subarray((ids.length - 1) * mlp.fc2.ins);
  const stream = pass.stream.slice((ids.length - 1) * width);
  const output = stream.map((one, i) => one - pass.steps[layer][1][i]);
  const size = rewriting.step * Math.sqrt(dotAt(output, 0, output, 0, width) / width);
  const [u, mean, square] = [0, 0, 0].map(() => new Float64Array(width));
  let steps = 0;
  let { probability, gradient } = lossGradient(model, stream, target);
  while (probability < rewriting.enough && steps < rewriting.steps) {
    steps += 1;
    const [first, second] = adamScales(steps, size);
    for (let i = 0; i < width; i += 1) {
      const move = adamMove({ slope: gradient, mean, square }, i, first, second);
      u[i] -= move;
      stream[i] -= move;
    }
    ({ probability, gradient } = lossGradient(model, stream, target));
  }
  const solved = solveCholesky(factor, key);
  const scale = dotAt(key, 0, solved, 0, key.length);
  return { u, v: solved.map((one) => one / scale), probability, steps };
}

/** The edits of a layer that change nothing.
 * @type {() => LiveModel.Compiled} */
export const unchanged = () => ({ scale: null, values: new Map(), additions: [], cards: [], heads: 1, network: 1 });

/**
 * Edits in words, one after the other, as `forward` takes them: a factor for neurons or for a whole
 * part (the last one counts), a value that points at a word (of the old value's length), a
 * rewritten fact, facts written in neurons of their own. `edits` name words by their ids: { kind, layer, neuron,
 * factor | word }, { kind, layer, part, factor }, { kind, ids, word } or { kind, facts }. Facts that the network
 * cannot tell apart are an error.
 * @type {(model: LiveModel.Gpt, edits: LiveModel.NumberedEdit[], factor?: Float64Array | null, writing?: LiveModel.Writing | null) => (LiveModel.Compiled | null)[]}
 */
export function compileEdits(model, edits, factor = null, writing = null) {
  /** @type {(LiveModel.Compiled | null)[]} */
  const compiled = model.layers.map(() => null);
  const { width } = model;
  for (const edit of edits) {
    const layer = "layer" in edit ? edit.layer : model.layers.length - 1;
    const changes = (compiled[layer] ??= unchanged());
    if (edit.kind === "part") {
      changes[edit.part] = edit.factor;
    } else if (edit.kind === "scale") {
      changes.scale ??= new Float64Array(networkOf(model, layer).fc2.ins).fill(1);
      for (const neuron of [edit.neuron].flat()) changes.scale[neuron] = edit.factor;
    } else if (edit.kind === "value") {
      const { neuron, word } = edit;
      const { values } = networkOf(model, layer);
      const own = neuron * width;
      const length = Math.sqrt(dotAt(values, own, values, own, width));
      const value = pointedAt(model, word, length);
      for (const { u, v } of changes.additions) {
        // the column as a whole is what points
        for (let i = 0; i < width; i += 1) value[i] -= u[i] * v[neuron];
      }
      changes.values.set(neuron, value);
    } else if (edit.kind === "write") {
      if (writing) changes.cards.push(...cardsOf(model, edit.facts, writing, compiled));
    } else if (factor) {
      changes.additions.push(rewrite(model, edit.ids, edit.word, factor, compiled));
    }
  }
  return compiled;
}
