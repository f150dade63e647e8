// The state of TrainGPT: the text, the model that is trained on it, and what the worker has told. No page is touched.

import { exact } from "../kit/amounts.mjs";
import { floats } from "../kit/geometry.mjs";
import { store } from "../kit/mounting.mjs";
import { materialOf, readText } from "./text.mjs";
import { piecesOf, shownPiece } from "./tokenizers.mjs";
import { LENGTH, SIZES } from "./words.mjs";

const SAMPLE = { characters: 160, words: 36 }; // tokens
const START = { characters: 10, words: 2 };
const MOST_DIFFERENT = 12_000; // tokens; each has a row in the embedding
const SMOOTH = 0.2; // of the newest time a step

/** A run so far. `held` are steps with the held-out loss; `kept` is what the worker gave last, `lost` whether it must
 * begin from there, `wrote` the text after the reader's prompt; `best` what it gave with the lowest held-out loss. */
export const untrained = () => ({
  step: 0,
  losses: /** @type {number[]} */ ([]),
  held: /** @type {[step: number, loss: number][]} */ ([]),
  samples: /** @type {TrainGPT.Sample[]} */ ([]),
  kept: /** @type {Engine.Snapshot | null} */ (null),
  best: /** @type {{ kept: Engine.Snapshot; loss: number } | null} */ (null),
  perStep: 0,
  phase: /** @type {TrainGPT.Phase} */ ("new"),
  note: "",
  lost: false,
  wrote: /** @type {TrainGPT.Sample | null} */ (null),
});

/** @param {Kit.Model<TrainGPT.Traits>} model */
export function trainState(model) {
  return store(model, {
    width: 0,
    /** @type {string | Uint8Array} */
    own: "",
    name: "",
    /** @type {TrainGPT.Checkpoint | null} */
    opened: null,
    /** @type {TrainGPT.Prepared | null} */
    prepared: null,
    refusal: "",
    from: 0, // the step at which the run began
    until: model.get("steps"),
    simd: true,
    filed: "",
    /** @type {Engine.Snapshot | null} */
    saved: null, // or opened
    presses: 0, // of Write
    /** @type {TrainGPT.Past[]} */
    before: [],
    /** @type {TrainGPT.Past[]} */
    after: [],
    ...untrained(),
  });
}

/** Whether steps are taken.
 * @type {(state: Pick<TrainGPT.Trained, "phase">) => boolean} */
export const goes = ({ phase }) => phase === "running" || phase === "stopping";

/** Whether another text may be given: before the first step, and to a model that was opened while it rests.
 * @type {(state: Pick<TrainGPT.State, "phase" | "opened">) => boolean} */
export const takesText = ({ phase, opened }) => phase === "new" || (phase === "stopped" && Boolean(opened));

/** Forgets what was trained.
 * @type {(state: TrainGPT.State) => void} */
export function forget(state) {
  Object.assign(state, untrained(), { opened: null, from: 0, until: state.steps, filed: "" });
}

/** Makes ready the text that is chosen, or says why it cannot be learnt from.
 * @type {(state: TrainGPT.State) => void} */
export function prepare(state) {
  const given = state.source === "given" ? state.text : state.own;
  Object.assign(state, { prepared: null, refusal: "" });
  if (given === "") return;
  try {
    const { text, note } = readText(given);
    const known = state.opened?.tokenizer;
    const kind = known?.kind ?? state.pieces;
    if (known) refuseStrange(known, text);
    const { tokenizer, training, held, uniform, bigram } = materialOf(kind, text, LENGTH, known);
    const [learn, rest] = [training, held].map((ids) => Int32Array.from(ids));
    const most = MOST_DIFFERENT;
    if (tokenizer.tokens.length > most) {
      throw new Error(`expected at most ${exact(most)} different words, got ${exact(tokenizer.tokens.length)}`);
    }
    state.prepared = { tokenizer, learn, held: rest, guessing: uniform, bigram, note };
  } catch (error) {
    state.refusal = refusalText(error);
  }
}

/** Whether leaving the page loses a model that was trained or changed here, or a text that was pasted.
 * @type {(state: Pick<TrainGPT.State, "kept" | "saved" | "own">) => boolean} */
export const unsaved = ({ kept, saved, own }) =>
  Boolean(kept?.step && kept !== saved) || (typeof own === "string" && own !== "");

/** An Error where a text has a piece that a model does not know.
 * @type {(known: TrainGPT.Tokenizer, text: string, what?: string) => void} */
function refuseStrange({ kind, tokens }, text, what = "text") {
  const [pieces, all] = [piecesOf(kind, text), new Set(tokens)];
  const at = pieces.findIndex((one) => !all.has(one));
  if (at < 0) return;
  const piece = shownPiece(pieces[at]);
  throw new Error(`this ${what} has a ${kind.slice(0, -1)} that the model does not know: ${piece}, at index ${at}`);
}

/** An error as a sentence for the page.
 * @type {(error: unknown) => string} */
export function refusalText(error) {
  const text = error instanceof Error ? error.message : String(error);
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/** The shape of the model that is trained: that of the settings, or of the checkpoint that was opened.
 * @type {(state: TrainGPT.State) => Engine.Config | null} */
export function shapeOf({ opened, prepared, size }) {
  if (opened) return opened.config;
  if (!prepared) return null;
  const { layers, width, heads } = SIZES[size];
  const shape = { vocab: prepared.tokenizer.tokens.length, positions: LENGTH, width, heads, layers, hidden: 4 * width };
  return { ...shape, activation: "gelu_tanh", bias: true, attentionOnly: [] };
}

/** What was trained: the shape and the tokenizer of the model that was kept, or null.
 * @type {(state: TrainGPT.State) => { config: Engine.Config; tokenizer: TrainGPT.Tokenizer; kept: Engine.Snapshot } | null} */
export function trainedOf(state) {
  const { prepared, opened, kept } = state;
  const [config, tokenizer] = [shapeOf(state), opened?.tokenizer ?? prepared?.tokenizer];
  return config && tokenizer && kept ? { config, tokenizer, kept } : null;
}

/** How a sample begins: with the first tokens of the held-out text after a space.
 * @type {(prepared: TrainGPT.Prepared) => number[]} */
export function startOf({ held, tokenizer }) {
  const count = START[tokenizer.kind];
  const space = tokenizer.kind === "characters" ? tokenizer.tokens.indexOf(" ") : -1;
  const from = space < 0 ? 0 : held.indexOf(space) + 1;
  return [...held.subarray(from, from + count)];
}

/** @type {(state: TrainGPT.State, prepared: TrainGPT.Prepared) => Engine.Settings} */
export function settingsOf(state, prepared) {
  const count = SAMPLE[prepared.tokenizer.kind];
  return { steps: state.until, rate: state.rate, start: startOf(prepared), count };
}

/** What the worker is asked for a text after a prompt, or after nothing the beginning of the samples, by the model that was
 * kept; null without one. A prompt that the model cannot read is an Error.
 * @type {(state: TrainGPT.State, prompt: string) => Extract<Engine.Asked, { kind: "write" }> | null} */
export function writingOf(state, prompt) {
  const { prepared } = state;
  const trained = trainedOf(state);
  if (!trained) return null;
  const { config, tokenizer, kept } = trained;
  refuseStrange(tokenizer, prompt, "prompt");
  const typed = tokenizer.encode(prompt);
  const [start, count] = [prepared ? startOf(prepared) : [0], SAMPLE[tokenizer.kind]];
  const none = new Int32Array(0);
  const length = Math.min(LENGTH, config.positions);
  const given = { config, batch: 1, length, seed: 0, learn: none, held: none, kept };
  return { kind: "write", given, start: typed.length ? typed : start, count, seed: (state.presses += 1) };
}

/** What a worker begins with: a new model, the one that Python gave, or the one that was kept.
 * @type {(state: TrainGPT.State, prepared: TrainGPT.Prepared, config: Engine.Config) => Engine.Given} */
export function givenOf(state, { learn, held }, config) {
  const { batch } = SIZES[state.size];
  const length = Math.min(LENGTH, config.positions);
  const kept = state.kept ?? givenWeights(state);
  return { config, batch, length, seed: state.seed, learn, held, ...(kept && { kept }) };
}

/** The size that a model has; undefined, if it is none of those to choose from.
 * @type {(config: Engine.Config) => TrainGPT.Size | undefined} */
export function sizeOf({ layers, width, heads }) {
  const alike = Object.entries(SIZES).find(
    ([, one]) => one.layers === layers && one.width === width && one.heads === heads,
  );
  return /** @type {TrainGPT.Size | undefined} */ (alike?.[0]);
}

/** Takes a checkpoint in the place of the model, with its size and its kind of tokens: it can be trained on, and taken
 * apart.
 * @type {(state: TrainGPT.State, checkpoint: TrainGPT.Checkpoint) => void} */
export function takeCheckpoint(state, checkpoint) {
  const { step, tensors, config, tokenizer } = checkpoint;
  state.write({ pieces: tokenizer.kind, size: sizeOf(config) ?? state.size });
  forget(state);
  const until = step + state.steps;
  Object.assign(state, { opened: checkpoint, phase: "stopped", lost: true, step, from: step, until });
  state.kept = { step, weights: tensors };
  state.saved = state.kept;
  prepare(state);
  if (state.refusal && state.source === "given") state.write({ source: "own" }); // which is asked for
  if (state.refusal) prepare(state);
  state.refusal = ""; // of a text that was chosen for another model
  const shape = `${config.layers} blocks × ${config.width}`;
  state.filed = `Opened a model of step ${exact(step)}: ${shape}, ${exact(config.vocab)} ${tokenizer.kind}.`;
  if (state.prepared) state.filed += " It trains on with the text chosen above.";
}

/** The weights of the trait, if it has any.
 * @type {(state: TrainGPT.State) => Engine.Snapshot | null} */
function givenWeights(state) {
  const { shapes } = state;
  if (!shapes.length || state.source !== "given") return null;
  const numbers = floats(state.weights);
  let at = 0;
  /** @type {Map<string, Float32Array>} */
  const weights = new Map();
  for (const [name, shape] of shapes) {
    const count = shape.reduce((product, one) => product * one, 1);
    weights.set(name, numbers.subarray(at, at + count));
    at += count;
  }
  return { step: 0, weights };
}

/** Takes in what the worker tells of its steps.
 * @type {(state: TrainGPT.State, news: Engine.Progress) => void} */
export function takeProgress(state, { step, losses, took, held, text }) {
  if (losses.length) {
    const now = took / losses.length;
    state.perStep = state.perStep ? (1 - SMOOTH) * state.perStep + SMOOTH * now : now;
  }
  state.step = step;
  for (const loss of losses) state.losses.push(loss);
  if (held !== undefined) state.held = [...state.held.filter(([at]) => at !== step), [step, held]];
  takeBest(state);
  if (text && state.prepared) {
    const words = state.prepared.tokenizer.decode([...startOf(state.prepared), ...text]);
    state.samples = [...state.samples.filter((one) => one.step !== step), { step, text: words }];
  }
}

/** Keeps the model that the page has as the best, if its held-out loss is known and the lowest.
 * @type {(state: TrainGPT.State) => void} */
export function takeBest(state) {
  const { kept, held, best } = state;
  const loss = held.find(([at]) => at === kept?.step)?.[1] ?? NaN;
  if (kept && loss < (best?.loss ?? Infinity)) state.best = { kept, loss };
}
