// The forward pass of mygpt.gpt.GPT, as edits leave it. No page is touched here. Weights come as
// float16 or float32; all sums are in float64, JavaScript's own.

import { gelu, geluTanh, relu, silu } from "../kit/activations.mjs";
import { floats, softmax } from "../kit/geometry.mjs";

const LIVE_EPS = 1e-5; // of the norms
const HALF_STEPS = Float64Array.from({ length: 32 }, (_, power) => 2 ** (Math.max(power, 1) - 25));

/** The numbers of little-endian float16 bytes (a DataView), as Float64Array.
 * @type {(bytes: DataView) => Float64Array} */
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

/** The activations of mygpt.feed_forward.MLP, by its names.
 * @type {Record<string, (z: number) => number>} */
export const ACTIVATIONS = { gelu: gelu[0], gelu_tanh: geluTanh, relu: relu[0], silu: silu[0] };

/** @type {(matrix: Float64Array, rows: number, columns: number) => Float64Array} */
function transposed(matrix, rows, columns) {
  const out = new Float64Array(matrix.length);
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < columns; j += 1) out[j * rows + i] = matrix[i * columns + j];
  }
  return out;
}

/**
 * A model to run: `layout` is a list of [name, shape] in the order in which `bytes`, a DataView of
 * float16 unless `dtype` is "float32", holds them; the names are those of GPT's state dict. A linear layer may lack a bias.
 * `layers[i].mlp` is null where a block has attention alone; else `values` holds neuron j's value,
 * column j of fc2, as row j. `rewriting` holds the constants of `rewrite`: Adam's step, in root mean
 * squares of the layer's output, the probability that is enough, and the most steps.
 * @param {LiveModel.Packed} packed
 */
export function loadModel({ layout, bytes, dtype, heads, activation, rewriting }) {
  const numbers = dtype === "float32" ? Float64Array.from(floats(bytes)) : halfFloats(bytes);
  /** @type {Map<string, { shape: number[]; data: Float64Array }>} */
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
  const partOf = (/** @type {string} */ name) => {
    const part = parts.get(name);
    if (!part) throw new Error(`expected weights of ${name}`);
    return part;
  };
  /** @type {(name: string) => LiveModel.Linear} */
  const linear = (name) => {
    const { shape, data } = partOf(`${name}.weight`);
    const [outs, ins] = shape;
    return { outs, ins, weight: data, bias: parts.get(`${name}.bias`)?.data ?? new Float64Array(outs) };
  };
  /** @type {(name: string) => LiveModel.Norm} */
  const norm = (name) => ({ weight: partOf(`${name}.weight`).data, bias: partOf(`${name}.bias`).data });
  /** @type {LiveModel.Layer[]} */
  const layers = [];
  for (let i = 0; parts.has(`blocks.${i}.ln1.weight`); i += 1) {
    const [q, k, v, o] = ["Q", "K", "V", "O"].map((one) => linear(`blocks.${i}.mha.W_${one}`));
    /** @type {LiveModel.Mlp | null} */
    let mlp = null;
    if (parts.has(`blocks.${i}.mlp.fc1.weight`)) {
      const [fc1, fc2] = ["fc1", "fc2"].map((one) => linear(`blocks.${i}.mlp.${one}`));
      mlp = { fc1, fc2, values: transposed(fc2.weight, fc2.outs, fc2.ins), ln: norm(`blocks.${i}.ln2`) };
    }
    layers.push({ ln: norm(`blocks.${i}.ln1`), q, k, v, o, mlp });
  }
  const [vocab, width] = partOf("token.embedding.weight").shape;
  return {
    vocab,
    width,
    heads,
    layers,
    rewriting,
    activation: ACTIVATIONS[activation],
    neurons: layers.find(({ mlp }) => mlp)?.mlp?.fc1.outs ?? 0,
    positions: partOf("position.weight").shape[0],
    embedding: partOf("token.embedding.weight").data,
    position: partOf("position.weight").data,
    lnF: norm("ln_f"),
    directions: /** @type {Float64Array | undefined} */ (undefined), // of `scoreDirections`
  };
}

/** `x` of `rows` rows through a linear layer, four rows at a time so that a weight is read once.
 * @type {(layer: LiveModel.Linear, x: Float64Array, rows: number, out: Float64Array) => Float64Array} */
export function linearInto({ outs, ins, weight, bias }, x, rows, out) {
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

/** The inner product of `count` numbers of two lists, each from a place on.
 * @type {(a: ArrayLike<number>, fromA: number, b: ArrayLike<number>, fromB: number, count: number) => number} */
export function dotAt(a, fromA, b, fromB, count) {
  let sum = 0;
  for (let i = 0; i < count; i += 1) sum += a[fromA + i] * b[fromB + i];
  return sum;
}

/** Each row's layer norm into `out`; returns each row's √(variance + eps).
 * @type {(norm: LiveModel.Norm, x: Float64Array, rows: number, out: Float64Array) => Float64Array} */
export function normInto({ weight, bias }, x, rows, out) {
  const width = weight.length;
  const stds = new Float64Array(rows);
  for (let row = 0; row < rows; row += 1) {
    const start = row * width;
    let mean = 0;
    for (let i = 0; i < width; i += 1) mean += x[start + i];
    mean /= width;
    let variance = 0;
    for (let i = 0; i < width; i += 1) variance += (x[start + i] - mean) ** 2;
    stds[row] = Math.sqrt(variance / width + LIVE_EPS);
    for (let i = 0; i < width; i += 1) {
      out[start + i] = ((x[start + i] - mean) / stds[row]) * weight[i] + bias[i];
    }
  }
  return stds;
}

/** Causal attention of all heads, from row `first` on, into `out`: the weighted values, before the output matrix. `q`
 * and `out` begin with that row, `k` and `v` with the first of all.
 * @type {(q: Float64Array, k: Float64Array, v: Float64Array, first: number, width: number, heads: number, out: Float64Array) => void} */
function attendInto(q, k, v, first, width, heads, out) {
  const rows = k.length / width;
  const size = width / heads;
  const scale = 1 / Math.sqrt(size);
  const weights = new Float64Array(rows);
  for (let head = 0; head < heads; head += 1) {
    for (let row = first; row < rows; row += 1) {
      const at = (row - first) * width + head * size;
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
}

/**
 * Adds to `out`, one row of a layer's output, what edits change: `values` (a Map from a neuron to
 * its new value) in the place of the old ones, and `additions` u vᵀ to fc2.
 * @type {(edits: Pick<LiveModel.Compiled, "values" | "additions">, mlp: LiveModel.Mlp, hidden: Float64Array, from: number, out: Float64Array, to: number) => void}
 */
export function addEdits({ values, additions }, mlp, hidden, from, out, to) {
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

/** Adds to `out` what cards answer to one row of what a network reads.
 * @type {(cards: LiveModel.Card[], model: Pick<LiveModel.Gpt, "width" | "activation">, read: Float64Array, out: Float64Array, from: number) => void} */
function addCards(cards, { width, activation }, read, out, from) {
  for (const { weight, bias, value } of cards) {
    const amount = activation(bias + dotAt(weight, 0, read, from, width));
    for (let i = 0; i < width; i += 1) out[from + i] += amount * value[i];
  }
}

/** The stream before the first layer: each id's embedding and position.
 * @type {(model: LiveModel.Gpt, ids: number[]) => Float64Array} */
function embedded({ width, vocab, embedding, position, positions }, ids) {
  if (ids.length < 1 || ids.length > positions) {
    throw new Error(`expected 1 to ${positions} ids, got ${ids.length}`);
  }
  const stream = new Float64Array(ids.length * width);
  ids.forEach((id, row) => {
    if (!(id >= 0 && id < vocab)) throw new Error(`expected ids from 0 to ${vocab - 1}, got ${id}`);
    for (let i = 0; i < width; i += 1) {
      stream[row * width + i] = embedding[id * width + i] + position[row * width + i];
    }
  });
  return stream;
}

/** A layer's network on rows of the stream, to which it adds. Returns the activations that fc2 reads, and the same
 * before the scale of the edits.
 * @type {(model: LiveModel.Gpt, mlp: LiveModel.Mlp, edit: LiveModel.Compiled | null | undefined, stream: Float64Array, rows: number) => { fired: Float64Array; active: Float64Array }} */
function networkInto(model, mlp, edit, stream, rows) {
  const { ln, fc1, fc2 } = mlp;
  const [normed, out] = [0, 1].map(() => new Float64Array(stream.length));
  normInto(ln, stream, rows, normed);
  const active = linearInto(fc1, normed, rows, new Float64Array(rows * fc1.outs));
  for (let i = 0; i < active.length; i += 1) active[i] = model.activation(active[i]);
  const scale = edit?.scale;
  const fired = scale ? active.map((one, i) => one * scale[i % fc1.outs]) : active;
  if (edit?.network === 0) return { fired, active };
  linearInto(fc2, fired, rows, out);
  for (let row = 0; edit && row < rows; row += 1) {
    addEdits(edit, mlp, fired, row * fc2.ins, out, row * model.width);
    addCards(edit.cards, model, normed, out, row * model.width);
  }
  for (let i = 0; i < out.length; i += 1) stream[i] += out[i];
  return { fired, active };
}

/** The logits of each row of the stream, and what the last norm divides the rows by.
 * @type {(model: LiveModel.Gpt, stream: Float64Array, all?: boolean) => { logits: Float64Array; stds: Float64Array }} */
export function headOf({ width, vocab, embedding, lnF }, stream, all = false) {
  const rows = stream.length / width;
  const normed = new Float64Array(stream.length);
  const stds = normInto(lnF, stream, rows, normed);
  const head = { outs: vocab, ins: width, weight: embedding, bias: new Float64Array(vocab) };
  const logits = all
    ? linearInto(head, normed, rows, new Float64Array(rows * vocab))
    : linearInto(head, normed.subarray((rows - 1) * width), 1, new Float64Array(vocab));
  return { logits, stds };
}

/** So many numbers, of which the first `kept` are those of an earlier list.
 * @type {(earlier: Float64Array | null | undefined, kept: number, count: number) => Float64Array} */
function continued(earlier, kept, count) {
  const numbers = new Float64Array(count);
  if (earlier && kept) numbers.set(earlier.subarray(0, kept));
  return numbers;
}

/** How many ids, but not the last, begin another list as well.
 * @type {(ids: number[], earlier?: number[]) => number} */
function sharedStart(ids, earlier = []) {
  const differs = ids.findIndex((id, i) => id !== earlier[i]);
  return differs < 0 ? ids.length - 1 : Math.min(differs, ids.length - 1);
}

/** @type {("hidden" | "own" | "keys" | "values" | "reads" | "inputs")[]} */
const LISTS = ["hidden", "own", "keys", "values", "reads", "inputs"];

/** What an earlier pass keeps of the layers below one, or nothing: lists for those of another pass.
 * @type {(model: LiveModel.Gpt, earlier: LiveModel.Pass | null | undefined, layer: number) => LiveModel.KeptOfLayers} */
function keptBelow(model, earlier, layer) {
  const lists = LISTS.map((name) => [name, earlier?.[name].slice(0, layer) ?? []]);
  const steps = model.layers.map((_, i) => (earlier && i < layer ? earlier.steps[i] : []));
  return { ...Object.fromEntries(lists), steps };
}

/**
 * One pass over the ids. `edits` is null or one per layer: null, or
 * { scale, values, additions, cards, heads, network }, where scale (null or one number a neuron)
 * multiplies the activations before fc2, cards are more neurons, and `heads` and `network` are 1, or 0 where all heads or
 * the whole network are switched off. `after` is an earlier pass with the same edits: what it knows of
 * the ids with which both begin is not computed again; or one of the same ids, with edits that are the same
 * below layer `from`, from which on all is computed. Returns
 *   ids:    those;
 *   logits: of the last position, with `all` of every position, one row each;
 *   hidden: for each layer the activations [positions, neurons] that fc2 reads, or null;
 *   own:    the same before the scale of the edits;
 *   keys, values: for each layer those of all heads [positions, width];
 *   reads:  for each layer what its heads have read [positions, width], one head beside the other;
 *   steps:  for each layer the stream at the last position: before it, after its heads and, where it has one, after its network;
 *   inputs: for each layer the stream before it [positions, width];
 *   stream: the residual stream before the last norm [positions, width];
 *   stds:   what the last norm divides each position by.
 * @type {(model: LiveModel.Gpt, ids: number[], options?: { edits?: LiveModel.Edits; all?: boolean; after?: LiveModel.Pass; from?: number }) => LiveModel.Pass}
 */
export function forward(model, ids, { edits = null, all = false, after: earlier, from: lowest = 0 } = {}) {
  const { width } = model;
  const rows = ids.length;
  const below = lowest && earlier ? earlier.inputs[lowest] : null;
  const after = below ? undefined : earlier;
  const whole = below?.slice() ?? embedded(model, ids);
  const first = after ? sharedStart(ids, after.ids) : 0;
  const [fresh, from] = [rows - first, first * width];
  const stream = whole.subarray(from);
  const [normed, q, out] = [0, 1, 2].map(() => new Float64Array(fresh * width));
  const kept = keptBelow(model, below ? earlier : null, lowest);
  const keepLast = (/** @type {number} */ index) => kept.steps[index].push(stream.slice(-width));
  model.layers.forEach((layer, index) => {
    if (below && index < lowest) return;
    const input = continued(after?.inputs[index], from, rows * width);
    input.set(stream, from);
    kept.inputs.push(input);
    keepLast(index);
    normInto(layer.ln, stream, fresh, normed);
    linearInto(layer.q, normed, fresh, q);
    const [k, v, read] = [after?.keys, after?.values, after?.reads].map((one) =>
      continued(one?.[index], from, rows * width),
    );
    linearInto(layer.k, normed, fresh, k.subarray(from));
    linearInto(layer.v, normed, fresh, v.subarray(from));
    const edit = edits?.[index];
    const now = read.subarray(from);
    if (edit?.heads !== 0) attendInto(q, k, v, first, width, model.heads, now);
    linearInto(layer.o, now, fresh, out);
    for (let i = 0; i < out.length; i += 1) stream[i] += out[i];
    keepLast(index);
    kept.keys.push(k);
    kept.values.push(v);
    kept.reads.push(read);
    const made = layer.mlp && networkInto(model, layer.mlp, edit, stream, fresh);
    const before = first * model.neurons;
    /** @type {(part: Float64Array | undefined, old: Float64Array | null | undefined) => Float64Array | null} */
    const joined = (part, old) => {
      if (!part || !before) return part ?? null;
      const numbers = continued(old, before, before + part.length);
      numbers.set(part, before);
      return numbers;
    };
    kept.hidden.push(joined(made?.fired, after?.hidden[index]));
    kept.own.push(joined(made?.active, after?.own[index]));
    if (made) keepLast(index);
  });
  if (after) whole.set(after.stream.subarray(0, from));
  return { ids, ...kept, ...headOf(model, whole, all), stream: whole };
}

/** The logits at the last position, where the edits are as in a pass but for those of the last layer's network.
 * @type {(model: LiveModel.Gpt, pass: LiveModel.Pass, edits: LiveModel.Edits) => Float64Array} */
export function logitsAgain(model, pass, edits) {
  const last = model.layers.length - 1;
  const stream = pass.steps[last][1].slice();
  networkInto(model, networkOf(model, last), edits?.[last], stream, 1);
  return headOf(model, stream).logits;
}

/** The network of a layer that has one.
 * @type {(model: LiveModel.Gpt, layer: number) => LiveModel.Mlp} */
export function networkOf(model, layer) {
  const { mlp } = model.layers[layer];
  if (!mlp) throw new Error(`layer ${layer} has no network`);
  return mlp;
}

/** Softmax of one row of logits.
 * @type {(logits: Float64Array) => Float64Array} */
export const probabilities = (logits) => Float64Array.from(softmax(logits));
