// The shape of a GPT in a checkpoint, and in the engine's terms.

const ACTIVATION_NAMES = ["gelu_tanh", "gelu", "relu", "silu"];
const NEEDED = ["vocab_size", "max_seq_len", "embed_dim", "num_heads", "num_layers"];
const DEFAULTS = { dropout: 0, activation: "gelu_tanh", expansion: 4, bias: true, attention_only: [] };

/** The fields of mygpt.gpt.GPTConfig; dropout keeps its default, 0.
 * @type {(config: Engine.Config) => Record<string, unknown>} */
export function storedConfig({ vocab, positions, width, heads, layers, hidden, activation, bias, attentionOnly }) {
  if (hidden % width) throw new Error(`expected hidden divisible by width, got ${hidden} and ${width}`);
  return {
    vocab_size: vocab,
    max_seq_len: positions,
    embed_dim: width,
    num_heads: heads,
    num_layers: layers,
    activation,
    expansion: hidden / width,
    bias,
    attention_only: attentionOnly,
  };
}

/** The engine's config for the fields of a GPTConfig, which are checked as Python checks them. Dropout is left out: the
 * engine has none.
 * @type {(stored: Record<string, any>) => Engine.Config} */
export function configOf(stored) {
  const fail = (/** @type {string} */ expected, /** @type {unknown} */ got) => {
    throw new Error(`config: ${expected}, got ${JSON.stringify(got) ?? "none"}`);
  };
  const unknown = Object.keys(stored).find((name) => !NEEDED.includes(name) && !(name in DEFAULTS));
  if (unknown !== undefined) fail("expected the fields of a GPTConfig", unknown);
  const given = /** @type {Record<string, any>} */ ({ ...DEFAULTS, ...stored });
  for (const name of [...NEEDED, "expansion"]) {
    if (!Number.isSafeInteger(given[name]) || given[name] < 1) {
      fail(`${name} must be a whole number of at least 1`, given[name]);
    }
  }
  const { embed_dim: width, num_heads: heads, num_layers: layers, dropout, attention_only: attentionOnly } = given;
  if (width % heads) fail("expected embed_dim divisible by num_heads", [width, heads]);
  if (typeof dropout !== "number" || !(dropout >= 0 && dropout < 1)) {
    fail("dropout must be at least 0 and below 1", dropout);
  }
  if (!ACTIVATION_NAMES.includes(given.activation)) {
    fail(`activation must be one of ${ACTIVATION_NAMES.join(", ")}`, given.activation);
  }
  if (typeof given.bias !== "boolean") fail("bias must be true or false", given.bias);
  const inOrder = (/** @type {number} */ layer, /** @type {number} */ i) =>
    Number.isSafeInteger(layer) && layer < layers && layer > (i ? attentionOnly[i - 1] : -1);
  if (!Array.isArray(attentionOnly) || !attentionOnly.every(inOrder)) {
    fail(`attention_only must be increasing block numbers from 0 to ${layers - 1}`, attentionOnly);
  }
  const { vocab_size: vocab, max_seq_len: positions, activation, expansion, bias } = given;
  return { vocab, positions, width, heads, layers, hidden: expansion * width, activation, bias, attentionOnly };
}
