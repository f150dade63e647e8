// The forward pass of mygpt.gpt.GPT, edits of its feed-forward layers, and what they write. No
// page is touched here. Weights come as float16; all sums are in float64, JavaScript's own.

import { erf } from "../kit/numbers.mjs";

export const NORM_EPS = 1e-5;
const POINT_STEPS = 1000;
const HALF_STEPS = Float64Array.from({ length: 32 }, (_, power) => 2 ** (Math.max(power, 1) - 25));

/** The numbers of little-endian float16 bytes (a DataView), as Float64Array. */
export function halfFloats(bytes) {
  const numbers = new Float64Array(bytes.byteLength >> 1);
  for (let i = 0; i < numbers.length; i += 1) {
    const bits = bytes.getUint16(2 * i, true);
    const [power, fraction] = [(bits >> 10) & 31, bits & 1023];
    let size = (power ? 1024 + fraction : fraction) * HALF_STEPS[power];
    if (power === 31) size = fraction ? NaN : Infinity;
    numbers[i] = bits >> 15 ? -size : size;
  }
  return numbers;
}

/** The activations of mygpt.feed_forward.MLP, by its names. */
export const ACTIVATIONS = {
  gelu: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x))),
  relu: (x) => (x > 0 ? x : 0),
  silu: (x) => x / (1 + Math.exp(-x)),
};

function transposed(matrix, rows, columns) {
  const out = new Float64Array(matrix.length);
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < columns; j += 1) out[j * rows + i] = matrix[i * columns + j];
  }
  return out;
}

/**
 * A model to run: `layout` is a list of [name, shape] in the order in which `bytes`, a DataView of
 * float16, holds them; the names are those of GPT's state dict. A linear layer may lack a bias.
 * `layers[i].mlp` is null where a block has attention alone; else `values` holds neuron j's value,
 * column j of fc2, as row j. `rewriting` holds the constants of `rewrite`: Adam's step, in root mean
 * squares of the layer's output, the probability that is enough, and the most steps.
 */
export function loadModel({ layout, bytes, heads, activation, rewriting }) {
  const numbers = halfFloats(bytes);
  const parts = new Map();
  let start = 0;
  for (const [name, shape] of layout) {
    const size = shape.reduce((product, length) => product * length, 1);
    parts.set(name, { shape, data: numbers.subarray(start, start + size) });
    start += size;
  }
  if (start !== numbers.length) {
    throw new Error(`expected ${start} weights, got ${numbers.length}`);
  }
  const linear = (name) => {
    const { shape: [outs, ins], data } = parts.get(`${name}.weight`);
    return { outs, ins, weight: data, bias: parts.get(`${name}.bias`)?.data ?? new Float64Array(outs) };
  };
  const norm = (name) => ({
    weight: parts.get(`${name}.weight`).data, bias: parts.get(`${name}.bias`).data,
  });
  const layers = [];
  for (let i = 0; parts.has(`blocks.${i}.ln1.weight`); i += 1) {
    const [q, k, v, o] = ["Q", "K", "V", "O"].map((one) => linear(`blocks.${i}.mha.W_${one}`));
    let mlp = null;
    if (parts.has(`blocks.${i}.mlp.fc1.weight`)) {
      const [fc1, fc2] = ["fc1", "fc2"].map((one) => linear(`blocks.${i}.mlp.${one}`));
      mlp = { fc1, fc2, values: transposed(fc2.weight, fc2.outs, fc2.ins), ln: norm(`blocks.${i}.ln2`) };
    }
    layers.push({ ln: norm(`blocks.${i}.ln1`), q, k, v, o, mlp });
  }
  const [vocab, width] = parts.get("token.embedding.weight").shape;
  return {
    vocab,
    width,
    heads,
    layers,
    rewriting,
    activation: ACTIVATIONS[activation],
    neurons: layers.find(({ mlp }) => mlp)?.mlp.fc1.outs ?? 0,
    positions: parts.get("position.weight").shape[0],
    embedding: parts.get("token.embedding.weight").data,
    position: parts.get("position.weight").data,
    lnF: norm("ln_f"),
  };
}

/** `x` of `rows` rows through a linear layer, four rows at a time so that a weight is read once. */
function linearInto({ outs, ins, weight, bias }, x, rows, out) {
  let row = 0;
  for (; row + 4 <= rows; row += 4) {
    const [a, b, c, d] = [row * ins, (row + 1) * ins, (row + 2) * ins, (row + 3) * ins];
    for (let o = 0; o < outs; o += 1) {
      const w = o * ins;
      let [p, q, r, s] = [bias[o], bias[o], bias[o], bias[o]];
      for (let i = 0; i < ins; i += 1) {
        const one = weight[w + i];
        p += one * x[a + i];
        q += one * x[b + i];
        r += one * x[c + i];
        s += one * x[d + i];
      }
      const at = row * outs + o;
      out[at] = p;
      out[at + outs] = q;
      out[at + 2 * outs] = r;
      out[at + 3 * outs] = s;
    }
  }
  for (; row < rows; row += 1) {
    for (let o = 0; o < outs; o += 1) {
      out[row * outs + o] = bias[o] + dotAt(weight, o * ins, x, row * ins, ins);
    }
  }
  return out;
}

function dotAt(a, fromA, b, fromB, count) {
  let sum = 0;
  for (let i = 0; i < count; i += 1) sum += a[fromA + i] * b[fromB + i];
  return sum;
}

/** Each row's layer norm into `out`; returns each row's √(variance + eps). */
function normInto({ weight, bias }, x, rows, out) {
  const width = weight.length;
  const stds = new Float64Array(rows);
  for (let row = 0; row < rows; row += 1) {
    const start = row * width;
    let mean = 0;
    for (let i = 0; i < width; i += 1) mean += x[start + i];
    mean /= width;
    let variance = 0;
    for (let i = 0; i < width; i += 1) variance += (x[start + i] - mean) ** 2;
    stds[row] = Math.sqrt(variance / width + NORM_EPS);
    for (let i = 0; i < width; i += 1) {
      out[start + i] = ((x[start + i] - mean) / stds[row]) * weight[i] + bias[i];
    }
  }
  return stds;
}

/** Causal attention of all heads: the weighted values, before the output matrix. */
function attend(q, k, v, rows, width, heads) {
  const size = width / heads;
  const scale = 1 / Math.sqrt(size);
  const out = new Float64Array(rows * width);
  const weights = new Float64Array(rows);
  for (let head = 0; head < heads; head += 1) {
    for (let row = 0; row < rows; row += 1) {
      const at = row * width + head * size;
      let largest = -Infinity;
      for (let past = 0; past <= row; past += 1) {
        weights[past] = dotAt(q, at, k, past * width + head * size, size) * scale;
        if (weights[past] > largest) largest = weights[past];
      }
      let total = 0;
      for (let past = 0; past <= row; past += 1) {
        weights[past] = Math.exp(weights[past] - largest);
        total += weights[past];
      }
      for (let past = 0; past <= row; past += 1) {
        const share = weights[past] / total;
        const from = past * width + head * size;
        for (let i = 0; i < size; i += 1) out[at + i] += share * v[from + i];
      }
    }
  }
  return out;
}

/**
 * Adds to `out`, one row of a layer's output, what edits change: `values` (a Map from a neuron to
 * its new value) in the place of the old ones, and `additions` u vᵀ to fc2.
 */
function addEdits({ values, additions }, mlp, hidden, from, out, to) {
  const { outs: width, ins: neurons } = mlp.fc2;
  for (const [neuron, value] of values) {
    const amount = hidden[from + neuron];
    for (let i = 0; i < width; i += 1) {
      out[to + i] += amount * (value[i] - mlp.values[neuron * width + i]);
    }
  }
  for (const { u, v } of additions) {
    const amount = dotAt(v, 0, hidden, from, neurons);
    for (let i = 0; i < width; i += 1) out[to + i] += amount * u[i];
  }
}

/**
 * One pass over the ids. `edits` is null or one per layer: null, or
 * { scale, values, additions, heads, network }, where scale (null or one number a neuron)
 * multiplies the activations before fc2, and `heads` and `network` are 1, or 0 where all heads or
 * the whole network are switched off. Returns
 *   logits: of the last position, with `all` of every position, one row each;
 *   hidden: for each layer the activations [positions, neurons] that fc2 reads, or null;
 *   own:    the same before the scale of the edits;
 *   stream: the residual stream before the last norm [positions, width];
 *   stds:   what the last norm divides each position by.
 */
export function forward(model, ids, { edits = null, all = false } = {}) {
  const { width, vocab, embedding, position } = model;
  const rows = ids.length;
  if (rows < 1 || rows > model.positions) {
    throw new Error(`expected 1 to ${model.positions} ids, got ${rows}`);
  }
  const stream = new Float64Array(rows * width);
  ids.forEach((id, row) => {
    if (!(id >= 0 && id < vocab)) throw new Error(`expected ids from 0 to ${vocab - 1}, got ${id}`);
    for (let i = 0; i < width; i += 1) {
      stream[row * width + i] = embedding[id * width + i] + position[row * width + i];
    }
  });
  const normed = new Float64Array(rows * width);
  const [q, k, v, out] = Array.from({ length: 4 }, () => new Float64Array(rows * width));
  const [hidden, own] = [[], []];
  model.layers.forEach((layer, index) => {
    normInto(layer.ln, stream, rows, normed);
    [[layer.q, q], [layer.k, k], [layer.v, v]].forEach(([part, into]) =>
      linearInto(part, normed, rows, into));
    const edit = edits?.[index];
    const read = edit?.heads === 0 ? new Float64Array(rows * width)
      : attend(q, k, v, rows, width, model.heads);
    linearInto(layer.o, read, rows, out);
    for (let i = 0; i < out.length; i += 1) stream[i] += out[i];
    hidden.push(null);
    own.push(null);
    if (!layer.mlp) return;
    const { ln, fc1, fc2 } = layer.mlp;
    normInto(ln, stream, rows, normed);
    const active = linearInto(fc1, normed, rows, new Float64Array(rows * fc1.outs));
    for (let i = 0; i < active.length; i += 1) active[i] = model.activation(active[i]);
    own[index] = active;
    hidden[index] = edit?.scale ? active.map((one, i) => one * edit.scale[i % fc1.outs]) : active;
    if (edit?.network === 0) return;
    linearInto(fc2, hidden[index], rows, out);
    for (let row = 0; edit && row < rows; row += 1) {
      addEdits(edit, layer.mlp, hidden[index], row * fc2.ins, out, row * width);
    }
    for (let i = 0; i < out.length; i += 1) stream[i] += out[i];
  });
  const stds = normInto(model.lnF, stream, rows, normed);
  const head = { outs: vocab, ins: width, weight: embedding, bias: new Float64Array(vocab) };
  const logits = all
    ? linearInto(head, normed, rows, new Float64Array(rows * vocab))
    : linearInto(head, normed.subarray((rows - 1) * width), 1, new Float64Array(vocab));
  return { logits, hidden, own, stream, stds };
}

/** Softmax of one row of logits. */
export function probabilities(logits) {
  let largest = -Infinity;
  for (const one of logits) if (one > largest) largest = one;
  const powers = logits.map((one) => Math.exp(one - largest));
  let total = 0;
  for (const one of powers) total += one;
  return powers.map((one) => one / total);
}

/** The places of the `count` largest numbers, the largest first and of equals the first place. */
export function largestFirst(numbers, count = numbers.length) {
  return Array.from(numbers, (_, i) => i)
    .sort((a, b) => numbers[b] - numbers[a] || a - b)
    .slice(0, count);
}

/** Neuron j's value, column j of fc2 as the edits leave it. */
export function valueOf(model, layer, neuron, edits = null) {
  const { width } = model;
  const edit = edits?.[layer];
  const own = model.layers[layer].mlp.values.subarray(neuron * width, (neuron + 1) * width);
  const value = Float64Array.from(edit?.values.get(neuron) ?? own);
  for (const { u, v } of edit?.additions ?? []) {
    for (let i = 0; i < width; i += 1) value[i] += u[i] * v[neuron];
  }
  return value;
}

/**
 * For each word the direction in the stream that raises its score most: its embedding times the
 * last norm's weight, centred over the channels. One row a word; kept with the model.
 */
export function scoreDirections(model) {
  if (model.directions) return model.directions;
  const { vocab, width, embedding, lnF } = model;
  const directions = new Float64Array(vocab * width);
  for (let word = 0; word < vocab; word += 1) {
    let mean = 0;
    for (let i = word * width; i < (word + 1) * width; i += 1) {
      directions[i] = embedding[i] * lnF.weight[i - word * width];
      mean += directions[i] / width;
    }
    for (let i = word * width; i < (word + 1) * width; i += 1) directions[i] -= mean;
  }
  model.directions = directions;
  return directions;
}

/**
 * What a vector in the stream does to every word's score: centred over the channels, times the
 * last norm's weight, times the embeddings. The norm's division by the standard deviation, one
 * factor for all words that depends on the rest of the stream, is left out.
 */
export function promotion(model, vector) {
  const directions = scoreDirections(model);
  return Float64Array.from({ length: model.vocab }, (_, word) =>
    dotAt(directions, word * model.width, vector, 0, model.width));
}

/** `promotion` of a neuron's value: the scores of every word. */
export function promoted(model, layer, neuron, edits = null) {
  return promotion(model, valueOf(model, layer, neuron, edits));
}

/**
 * What each neuron of a layer adds to a word's score at the last position of a pass, given the
 * standard deviation that the last norm has there: exact for the last layer; for another it is
 * the direct part, without what later layers make of it.
 */
export function contributions(model, pass, layer, word, edits = null) {
  const { width } = model;
  const last = pass.stds.length - 1;
  const { fc2: { ins: neurons } } = model.layers[layer].mlp;
  if (edits?.[layer]?.network === 0) return new Float64Array(neurons);
  const hidden = pass.hidden[layer].subarray(last * neurons);
  const directions = scoreDirections(model);
  return Float64Array.from(hidden, (amount, neuron) => {
    const value = valueOf(model, layer, neuron, edits);
    return (amount * dotAt(directions, word * width, value, 0, width)) / pass.stds[last];
  });
}

/** One neuron's part of `contributions`. */
export function contribution(model, pass, layer, neuron, word, edits = null) {
  return contributions(model, pass, layer, word, edits)[neuron];
}

/**
 * A value of length `length` that promotes a word above all others. It starts in the word's own
 * direction; while some other word has a higher score, it turns from that one's direction.
 */
export function pointedAt(model, word, length) {
  const { width } = model;
  const directions = scoreDirections(model);
  const own = directions.subarray(word * width, (word + 1) * width);
  const value = Float64Array.from(own);
  for (let step = 0; step < POINT_STEPS; step += 1) {
    const [first] = largestFirst(promotion(model, value), 1);
    if (first === word) break;
    for (let i = 0; i < width; i += 1) value[i] += own[i] - directions[first * width + i];
  }
  const size = Math.sqrt(dotAt(value, 0, value, 0, width)) || 1;
  return value.map((one) => (one * length) / size);
}

/** The lower factor L of a positive definite matrix L Lᵀ, both [size, size] row by row. */
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

/** x with L Lᵀ x = b, for the factor that `cholesky` gives. */
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

/** p(target) of a stream vector at the last norm, and the gradient of −log p by that vector. */
export function lossGradient(model, stream, target) {
  const { width, vocab, embedding, lnF } = model;
  const normed = new Float64Array(width);
  const [std] = normInto(lnF, stream, 1, normed);
  const logits = new Float64Array(vocab);
  for (let word = 0; word < vocab; word += 1) {
    logits[word] = dotAt(embedding, word * width, normed, 0, width);
  }
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
 */
export function rewrite(model, ids, target, factor, edits = null) {
  const { width, rewriting } = model;
  const layer = model.layers.length - 1;
  const { mlp } = model.layers[layer];
  const pass = forward(model, ids, { edits });
  const key = pass.hidden[layer].subarray((ids.length - 1) * mlp.fc2.ins);
  const stream = pass.stream.slice((ids.length - 1) * width);
  const output = linearInto(mlp.fc2, key, 1, new Float64Array(width));
  if (edits?.[layer]) addEdits(edits[layer], mlp, key, 0, output, 0);
  const size = rewriting.step * Math.sqrt(dotAt(output, 0, output, 0, width) / width);
  const [u, mean, square] = [0, 0, 0].map(() => new Float64Array(width));
  let steps = 0;
  let { probability, gradient } = lossGradient(model, stream, target);
  while (probability < rewriting.enough && steps < rewriting.steps) {
    steps += 1;
    for (let i = 0; i < width; i += 1) {
      mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
      square[i] = 0.999 * square[i] + 0.001 * gradient[i] ** 2;
      const rms = Math.sqrt(square[i] / (1 - 0.999 ** steps)) + 1e-8;
      const move = (size * mean[i]) / (1 - 0.9 ** steps) / rms;
      u[i] -= move;
      stream[i] -= move;
    }
    ({ probability, gradient } = lossGradient(model, stream, target));
  }
  const solved = solveCholesky(factor, key);
  const scale = dotAt(key, 0, solved, 0, key.length);
  return { u, v: solved.map((one) => one / scale), probability, steps };
}

/**
 * Edits in words, one after the other, as `forward` takes them: a factor for neurons or for a whole
 * part (the last one counts), a value that points at a word (of the old value's length), a
 * rewritten fact. `edits` name words by their ids: { kind, layer, neuron, factor | word },
 * { kind, layer, part, factor } or { kind, ids, word }.
 */
export function compileEdits(model, edits, factor = null) {
  const compiled = model.layers.map(() => null);
  const { width } = model;
  for (const edit of edits) {
    const layer = edit.kind === "rewrite" ? model.layers.length - 1 : edit.layer;
    compiled[layer] ??= { scale: null, values: new Map(), additions: [], heads: 1, network: 1 };
    const changes = compiled[layer];
    const { mlp } = model.layers[layer];
    if (edit.kind === "part") {
      changes[edit.part] = edit.factor;
    } else if (edit.kind === "scale") {
      changes.scale ??= new Float64Array(mlp.fc2.ins).fill(1);
      for (const neuron of [edit.neuron].flat()) changes.scale[neuron] = edit.factor;
    } else if (edit.kind === "value") {
      const { neuron, word } = edit;
      const own = neuron * width;
      const length = Math.sqrt(dotAt(mlp.values, own, mlp.values, own, width));
      const value = pointedAt(model, word, length);
      for (const { u, v } of changes.additions) { // the column as a whole is what points
        for (let i = 0; i < width; i += 1) value[i] -= u[i] * v[neuron];
      }
      changes.values.set(neuron, value);
    } else {
      changes.additions.push(rewrite(model, edit.ids, edit.word, factor, compiled));
    }
  }
  return compiled;
}
