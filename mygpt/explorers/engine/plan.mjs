// Where everything stands in the engine's memory: the parameters with their gradients and AdamW's moments, what a pass
// keeps for its way back, and room to work in. Addresses are in bytes.

export const FREE = 65536; // below it nothing is placed: compiled kernels may keep constants there
export const CHUNK = 128; // columns of a matrix with a row for each token that are packed at once
const up8 = (/** @type {number} */ count) => (count + 7) & ~7;

/** The parameters of mygpt.gpt.GPT by their names in its state dict. Matrices come first, for they alone decay; the
 * weights of queries, keys and values stand together, as do their biases, so that one product makes all three.
 * @type {(config: Engine.Config) => [string, number[]][]} */
function parameterShapes({ vocab, positions, width, layers, hidden, bias, attentionOnly }) {
  /** @type {[string, number[]][]} */
  const matrices = [
    ["token.embedding.weight", [vocab, width]],
    ["position.weight", [positions, width]],
  ];
  /** @type {[string, number[]][]} */
  const vectors = [];
  const norm = (/** @type {string} */ name) => {
    for (const part of ["weight", "bias"]) vectors.push([`${name}.${part}`, [width]]);
  };
  for (let i = 0; i < layers; i += 1) {
    /** @type {[string, number, number][]} */
    const linear = ["Q", "K", "V", "O"].map((one) => [`mha.W_${one}`, width, width]);
    norm(`blocks.${i}.ln1`);
    if (!attentionOnly.includes(i)) {
      norm(`blocks.${i}.ln2`);
      linear.push(["mlp.fc1", hidden, width], ["mlp.fc2", width, hidden]);
    }
    for (const [name, outs, ins] of linear) {
      matrices.push([`blocks.${i}.${name}.weight`, [outs, ins]]);
      if (bias) vectors.push([`blocks.${i}.${name}.bias`, [outs]]);
    }
  }
  norm("ln_f");
  return [...matrices, ...vectors];
}

/** The room of one block's pass.
 * @type {(take: (count: number) => number, sizes: { rows: number; square: number; width: number; hidden: number }) => Engine.Kept} */
const keptOf = (take, { rows, square, width, hidden }) => ({
  stream: take(rows * width),
  norm1: take(rows * width),
  kept1: take(2 * rows),
  qkv: take(3 * rows * width),
  weights: take(square),
  read: take(rows * width),
  middle: take(rows * width),
  norm2: take(rows * width),
  kept2: take(2 * rows),
  slopes: take(rows * hidden),
  active: take(rows * hidden),
});

/** Room for the largest matrix that is packed: a layer's weights, a chunk of what it read, or a head's keys or values.
 * @type {(config: Engine.Config, sizes: { classes: number; rows: number; stride: number }) => number} */
function packedRoom({ width, heads, hidden }, { classes, rows, stride }) {
  const widest = Math.max(3 * width, hidden, classes);
  return Math.max(widest * width, rows * Math.min(CHUNK, Math.max(width, hidden)), (stride * width) / heads);
}

/** The plan of a model that reads `batch` rows of at most `length` tokens. `stride` is the length of a row in memory;
 * what a row has too many is padding that nothing reads.
 * @param {Engine.Config} config
 * @param {number} batch
 * @param {number} length */
export function planOf(config, batch, length) {
  const { vocab, positions, width, heads, layers, hidden } = config;
  const size = width / heads;
  if (width % heads || size % 8) throw new RangeError(`expected heads of 8, 16, … channels, got ${width} / ${heads}`);
  if (hidden % 8) throw new RangeError(`expected a hidden width of 8, 16, …, got ${hidden}`);
  if (!(batch >= 1)) throw new RangeError(`expected 1 row or more, got ${batch}`);
  if (length < 1 || length > positions) throw new RangeError(`expected 1 to ${positions} positions, got ${length}`);
  let top = FREE;
  const take = (/** @type {number} */ count) => {
    const at = top;
    top += 4 * up8(count);
    return at;
  };
  const [stride, classes] = [up8(length), up8(vocab)];
  const rows = batch * stride;
  /** @type {Map<string, Engine.Part>} */
  const parts = new Map();
  const places = Math.max(positions, stride);
  let decayed = 0;
  for (const [name, shape] of parameterShapes(config)) {
    const count = shape.reduce((product, one) => product * one, 1);
    const room =
      name === "token.embedding.weight" ? classes * width : name === "position.weight" ? places * width : count;
    parts.set(name, { shape, count, at: take(room) });
    if (shape.length > 1) decayed = top - FREE;
  }
  const bytes = top - FREE;
  const [gradients, first, second] = [0, 1, 2].map(() => take(bytes / 4));
  const square = batch * heads * stride * stride;
  const sizes = { rows, square, width, hidden };
  return {
    config,
    batch,
    length,
    stride,
    rows,
    classes,
    size,
    parts,
    parameters: { at: FREE, count: bytes / 4, decayed: decayed / 4 },
    gradients,
    first,
    second,
    ids: take(rows),
    targets: take(rows),
    blocks: Array.from({ length: layers }, () => keptOf(take, sizes)),
    stream: take(rows * width),
    normF: take(rows * width),
    keptF: take(2 * rows),
    logits: take(rows * classes),
    zeros: take(Math.max(classes, 3 * width, hidden, stride)),
    toStream: take(rows * width),
    toNorm: take(rows * width),
    toQkv: take(3 * rows * width),
    toHidden: take(rows * hidden),
    toWeights: take(stride * stride),
    packed: take(packedRoom(config, { classes, rows, stride })),
    bytes: top,
  };
}
