// What the live model knows: its words, its answers to the prompt with and without the edits, and
// what follows from the traits. No page is touched here.

import { descending, fixed, floats, integers } from "../kit/geometry.mjs";
import { store } from "../kit/mounting.mjs";
import { ranking, unpackPairs } from "../kit/parts/neurons.mjs";
import { forward, loadModel, probabilities } from "./gpt.mjs";
import { happenedTo } from "./happened.mjs";
import { WORLD, promptPieces } from "./pieces.mjs";
import { STOP, completions, isOn, listed, signed } from "./words.mjs";
import { cholesky, compileEdits, contributions, headContributions } from "./writing.mjs";

export const LIKELIEST = 6;
export const STRONGEST = 5;
export const MAX_EDITS = 64;
const COMPILED = 64;
/** @type {Record<string, string>} */
export const CHANGES = { rewrite: "rewrite a fact", write: "write facts" }; // of the last network's weights
const ANSWERS = 6; // that are kept with all that the model computed for them
const STRANGE = 4; // of the pieces that the model does not have

/** All of a symmetric matrix, of which only the lower triangle was sent, row by row.
 * @type {(lower: ArrayLike<number>, size: number) => Float64Array} */
export function symmetric(lower, size) {
  const matrix = new Float64Array(size * size);
  for (let i = 0, at = 0; i < size; i += 1) {
    for (let j = 0; j <= i; j += 1, at += 1) {
      matrix[i * size + j] = lower[at];
      matrix[j * size + i] = lower[at];
    }
  }
  return matrix;
}

/** The model and all that is said of it, unpacked.
 * @param {Kit.Model<LiveModel.Traits>} model */
export function unpacked(model) {
  const pieces = promptPieces(model.get("pieces"), model.get("words"));
  const words = pieces.names(model.get("words"));
  const gpt = loadModel({
    layout: model.get("shapes"),
    bytes: model.get("weights"),
    dtype: model.get("dtype"),
    heads: model.get("heads"),
    activation: model.get("activation"),
    rewriting: model.get("rewriting"),
  });
  const { neurons } = gpt;
  const blocks = gpt.layers.map((_, layer) => layer);
  const layers = blocks.filter((layer) => gpt.layers[layer].mlp);
  const lower = floats(model.get("moment_data"));
  const triggerLayers = model.get("trigger_layers");
  const centre = floats(model.get("centre_data"));
  return {
    pieces,
    words,
    places: new Map(words.map((word, place) => [word, place])),
    gpt,
    neurons,
    blocks,
    layers,
    several: layers.length > 1,
    factor: lower.length ? cholesky(symmetric(lower, neurons), neurons) : null,
    longest: pieces.longest(gpt.positions),
    triggerLayers,
    triggers: unpackPairs(integers(model.get("trigger_data")), neurons * triggerLayers.length, model.get("texts")),
    facts: model.get("facts"),
    templates: model.get("templates"),
    writing: centre.length ? { ...model.get("writing"), centre } : null,
  };
}

/** The names of the tokens that the model reads for a prompt.
 * @type {(pieces: LiveModel.Pieces, prompt: string) => string[]} */
export const namesOf = (pieces, prompt) => pieces.begun(pieces.split(prompt));

/** The prompts that ask for a fact.
 * @type {(state: Pick<LiveModel.Unpacked, "templates">, fact: LiveModel.NewFact) => string[]} */
export const asksFor = ({ templates }, [subject, relation]) =>
  templates[relation].map((one) => one.replace("{}", subject));

/** What puts ids in the place of an edit's words and prompts.
 * @type {(idOf: (word: string) => number, ids: (prompt: string) => number[], templates: LiveModel.Traits["templates"]) => (edit: LiveModel.Edit) => LiveModel.NumberedEdit} */
const numbering = (idOf, ids, templates) => (edit) => {
  if (edit.kind === "rewrite") return { kind: edit.kind, ids: ids(edit.prompt), word: idOf(edit.word) };
  if (edit.kind !== "write") return edit.kind === "value" ? { ...edit, word: idOf(edit.word) } : edit;
  const facts = edit.facts.map((fact) => ({
    name: `${fact[0]} ${fact[1]}`,
    prompts: asksFor({ templates }, fact).map(ids),
    word: idOf(fact[2]),
  }));
  return { kind: edit.kind, facts };
};

/** The functions that ask the model. Compiled edits are kept, as Undo comes back to them, and the last answers, from
 * which those to prompts that begin alike go on.
 * @param {LiveModel.Unpacked} parts */
function asking({ gpt, pieces, words, places, factor, facts, templates, writing }) {
  const idOf = (/** @type {string} */ word) => places.get(word) ?? -1;
  /** @type {(prompt: string) => number[]} */
  const ids = (prompt) => namesOf(pieces, prompt).map(idOf);
  /** @type {Map<string, (LiveModel.Compiled | null)[]>} */
  const kept = new Map();

  const numbered = numbering(idOf, ids, templates);
  /** @type {(edits: LiveModel.Edit[]) => LiveModel.Edits} */
  function compiled(edits) {
    if (!edits.length) return null;
    const key = JSON.stringify(edits);
    if (!kept.has(key)) {
      if (kept.size > COMPILED) kept.clear();
      kept.set(key, compileEdits(gpt, edits.map(numbered), factor, writing));
    }
    return kept.get(key) ?? null;
  }
  /** @type {(prompt: string, edits: LiveModel.Edit[], after?: LiveModel.Pass, from?: number) => LiveModel.Answer} */
  function asked(prompt, edits, after, from) {
    const pass = forward(gpt, ids(prompt), { edits: compiled(edits), after, from });
    const shares = probabilities(pass.logits);
    const order = descending(shares, LIKELIEST);
    return { pass, shares, order, best: words[order[0]], share: shares[order[0]] };
  }
  /** @type {Map<string, { answer: LiveModel.Answer; edits: string }>} */
  const answered = new Map();
  /** @type {(prompt: string, edits: LiveModel.Edit[]) => LiveModel.Answer} */
  function answer(prompt, edits) {
    const made = JSON.stringify(edits);
    const key = JSON.stringify([prompt, made]);
    const last = [...answered.values()].findLast((one) => one.edits === made);
    const lowest = compiled(edits)?.findIndex(Boolean) ?? 0;
    const found = answered.get(key) ?? {
      // the layers below the edits say what they say without any
      answer:
        lowest > 0 ? asked(prompt, edits, answer(prompt, []).pass, lowest) : asked(prompt, edits, last?.answer.pass),
      edits: made,
    };
    answered.delete(key);
    answered.set(key, found);
    for (const old of [...answered.keys()].slice(0, -ANSWERS)) answered.delete(old);
    return found.answer;
  }
  /** @type {(edits: LiveModel.Edit[]) => { word: string; share: number }[]} */
  const answers = (edits) =>
    facts.map(([prompt]) => {
      const { best, share } = asked(prompt, edits);
      return { word: best, share };
    });
  return { compiled, asked, answer, answers };
}

/**
 * The state of a live model. `say` speaks a sentence; the functions of `redraw` draw the field and
 * the note, which are no traits.
 * @param {Kit.Model<LiveModel.Traits & Kit.Described>} model
 * @param {(sentence: string) => void} say
 */
export function liveState(model, say) {
  const parts = unpacked(model);
  const asked = asking(parts);
  const first = asked.answer(model.get("prompt"), []);
  return store(model, {
    ...parts,
    ...asked,
    say,
    id: `mygpt-live-${Math.random().toString(36).slice(2)}`,
    redraw: { draft() {}, note() {} },
    /** @type {Map<string, { prompt: string; word: string; stays?: number | false }>} */
    sought: new Map(), // for edits as JSON the prompt whose answer they switched off, the answer, and the trials
    trained: asked.answers([]),
    width: 640,
    hovered: /** @type {Kit.Cell | null} */ (null), // among the tiles of the neurons
    draft: "", // what stands in the field
    reading: /** @type {LiveModel.Reading | null} */ (null), // what is said of it
    note: "",
    copied: "", // what became of a link
    stage: 3, // of the drawn block, at first its network
    now: first, // the answer to the prompt, with the edits
    untouched: first, // and without them
    tokens: /** @type {string[]} */ ([]),
    amounts: /** @type {Float64Array} */ (new Float64Array(0)), // what each neuron of the layer adds to the likeliest word's score
    adding: /** @type {number[]} */ ([]), // the neurons by that
    headAmounts: /** @type {Float64Array} */ (new Float64Array(0)), // what each head of the layer adds
    ranked: /** @type {number[]} */ ([]), // and by their coefficients at the token
    said: /** @type {{ word: string; share: number; good: boolean; changed: boolean }[]} */ ([]), // what is answered to each fact
    happened: /** @type {[string, string]} */ (["", ""]), // what the last edit did to the answer, and to others
    effect: "", // the same as one text
  });
}

/** Up to four different pieces in quotation marks, and how many more there are.
 * @type {(pieces: string[]) => string} */
function fewOf(pieces) {
  const different = [...new Set(pieces)];
  const more = different.length - STRANGE;
  return more > 0
    ? `${different
        .slice(0, STRANGE)
        .map((one) => `“${one}”`)
        .join(", ")} and ${more} more`
    : listed(different, "and");
}

/** What a text in the field is: a `good` prompt, or else what is wrong with it.
 * @param {string} text
 * @param {number} caret
 * @param {Pick<LiveModel.Unpacked, "words" | "places" | "longest"> & { pieces?: LiveModel.Pieces; get(trait: "prompt"): string }} state */
export function readDraft(text, caret, { pieces = WORLD, words, places, longest, get }) {
  const { noun, least, suggests, span, fold } = pieces;
  const given = pieces.split(text);
  const strange = given.filter((word) => !places.has(word));
  const { start, end } = span(text, caret);
  const begun = fold(text.slice(start, end));
  const unfinished = suggests && strange.length === 1 && strange[0] === begun && completions(words, begun).length > 0;
  const wrong = strange.length > 0 && !unfinished;
  const long = given.length > longest;
  const still = `The prediction is for “${get("prompt") || STOP}”.`;
  let message = `It knows ${words.length} ${noun}s; ${pieces.note}`;
  if (unfinished) message = `“${begun}…” is not a whole word yet.`;
  else if (wrong) {
    const are = new Set(strange).size > 1 ? "are" : "is";
    message = `${fewOf(strange)} ${are} not among the ${words.length} ${noun}s. ${still}`;
  } else if (long) message = `A prompt has at most ${longest} ${noun}s. ${still}`;
  else if (given.length < least) message = `A prompt has at least one ${noun}. ${still}`;
  const good = !strange.length && !long && given.length >= least;
  return { prompt: pieces.join(given), good, wrong, long, message };
}

/** Puts a text into the field; when its pieces are all known it is the prompt.
 * @type {(state: LiveModel.State, text: string, caret?: number) => void} */
export function typePrompt(state, text, caret = text.length) {
  const reading = readDraft(text, caret, state);
  Object.assign(state, { draft: text, reading });
  state.redraw.draft();
  if (reading.wrong) state.say(reading.message);
  if (!reading.good || reading.prompt === state.prompt) return;
  state.write({ prompt: reading.prompt, token: namesOf(state.pieces, text).length - 1 });
  state.say(predictionOf(state));
}

/** Says what came of something that the reader did, on the page and aloud.
 * @type {(state: LiveModel.State, text: string) => void} */
export function tell(state, text) {
  state.note = text;
  state.redraw.note();
  state.say(text);
}

/** @type {(state: LiveModel.State, edit: LiveModel.Edit) => void} */
export function addEdit(state, edit) {
  const { edits } = state;
  const last = state.blocks[state.blocks.length - 1];
  if (edits.length >= MAX_EDITS) tell(state, `At most ${MAX_EDITS} edits.`);
  else if (CHANGES[edit.kind] && !isOn(edits, last, "network")) {
    tell(state, `Network ${last} is off: switch it on to ${CHANGES[edit.kind]} in it.`);
  } else state.write({ edits: [...edits, edit] });
}

/**
 * Switches a part on or off. Earlier switchings of it no longer count, unless a fact was rewritten or written
 * meanwhile.
 * @type {(state: LiveModel.State, part: LiveModel.Part, on: boolean) => void}
 */
export function switchPart(state, { layer, part }, on) {
  const { edits } = state;
  /** @type {(edit: LiveModel.Edit) => boolean} */
  const same = (edit) => edit.kind === "part" && edit.layer === layer && edit.part === part;
  const rewritten = edits.some(({ kind }) => CHANGES[kind]);
  const kept = rewritten ? edits : edits.filter((edit) => !same(edit));
  if (isOn(kept, layer, part) === on) state.write({ edits: kept });
  else if (kept.length >= MAX_EDITS) tell(state, `At most ${MAX_EDITS} edits.`);
  else state.write({ edits: [...kept, { kind: "part", layer, part, factor: on ? 1 : 0 }] });
}

/** Multiplies the chosen neuron's activations.
 * @type {(state: LiveModel.State, factor: number) => void} */
export function scaleNeuron(state, factor) {
  addEdit(state, { kind: "scale", layer: state.layer, neuron: state.neuron, factor });
}

/** @type {(state: LiveModel.State) => number} */
export function scaleOf({ get, compiled }) {
  return compiled(get("edits"))?.[get("layer")]?.scale?.[get("neuron")] ?? 1;
}

/** The parts of the model that are switched on or off as a whole.
 * @type {(state: Pick<LiveModel.State, "blocks" | "layers">) => LiveModel.Part[]} */
export const partsOf = ({ blocks, layers }) =>
  blocks.flatMap((layer) => [
    { layer, part: "heads" },
    ...(layers.includes(layer) ? [/** @type {LiveModel.Part} */ ({ layer, part: "network" })] : []),
  ]);

/** The neurons of a layer, if no other is named of the chosen one, that are switched off.
 * @type {(state: Pick<LiveModel.State, "get" | "compiled">, layer?: number) => number[]} */
export function offNeurons({ get, compiled }, layer = get("layer")) {
  const scale = compiled(get("edits"))?.[layer]?.scale ?? [];
  return Array.from(scale, (factor, neuron) => (factor === 0 ? neuron : -1)).filter((neuron) => neuron >= 0);
}

/** The chosen token; it may lie behind the end of a prompt that has become shorter.
 * @type {(state: LiveModel.State) => number} */
export function tokenOf({ get, tokens }) {
  return Math.min(get("token"), tokens.length - 1);
}

/** A coefficient of the chosen layer, as `kept` has it: "hidden", or "own" before the edits.
 * @type {(state: LiveModel.State, row: number, neuron: number, kept?: "hidden" | "own") => number} */
export function hiddenAt({ get, now, neurons }, row, neuron, kept = "hidden") {
  return now.pass[kept][get("layer")]?.[row * neurons + neuron] ?? NaN;
}

/** The neurons that add most to the likeliest word, as long as they add something.
 * @type {(state: LiveModel.State) => number[]} */
export function strongest({ adding, amounts }) {
  return adding.slice(0, STRONGEST).filter((neuron) => amounts[neuron] > 0);
}

/** What follows from the prompt and the edits.
 * @type {(state: LiveModel.State) => void} */
export function readAnswer(state) {
  const { prompt, edits } = state;
  state.now = state.answer(prompt, edits);
  state.untouched = edits.length ? state.answer(prompt, []) : state.now;
  const tokens = namesOf(state.pieces, prompt);
  if (tokens.join(" ") !== state.tokens.join(" ")) state.tokens = tokens;
}

/** What follows from the layer.
 * @type {(state: LiveModel.State) => void} */
export function readLayer(state) {
  const { gpt, now, places, compiled, get } = state;
  const [layer, word] = [get("layer"), places.get(now.best) ?? -1];
  state.amounts = contributions(gpt, now.pass, layer, word, compiled(get("edits")));
  state.headAmounts = headContributions(gpt, now.pass, layer, word);
  state.adding = descending(state.amounts);
}

/** What follows from the token. A neuron that is switched off keeps its place.
 * @type {(state: LiveModel.State) => void} */
export function readToken(state) {
  const start = tokenOf(state) * state.neurons;
  const own = state.now.pass.own[state.layer] ?? new Float64Array(0);
  state.ranked = ranking(own.subarray(start, start + state.neurons));
}

/** What is answered to the facts.
 * @type {(state: LiveModel.State) => void} */
export function readFacts(state) {
  const { edits } = state;
  const { facts, trained } = state;
  const said = edits.length ? state.answers(edits) : trained;
  state.said = said.map((one, i) => ({
    ...one,
    good: one.word === facts[i][1],
    changed: one.word !== trained[i].word,
  }));
}

/** What the last edit did, in sentences.
 * @type {(state: LiveModel.State) => void} */
export function readEffect(state) {
  state.happened = happenedTo(state);
  state.effect = state.happened.filter(Boolean).join(" ");
}

/** @type {(state: LiveModel.State) => string} */
export function predictionOf({ get, now, pieces }) {
  return `After “${get("prompt") || STOP}” the likeliest ${pieces.noun} is “${now.best}”, ${fixed(now.share, 3)}.`;
}

/** @type {(state: LiveModel.State) => string} */
export function chosenOf(state) {
  const { get, now, tokens, amounts, adding, neurons } = state;
  const [neuron, row] = [get("neuron"), tokenOf(state)];
  return `Neuron ${neuron} of layer ${get("layer")} at token ${row}, “${tokens[row]}”: coefficient ${fixed(
    hiddenAt(state, row, neuron),
    3,
  )}; it adds ${signed(amounts[neuron], 2)} to the score of “${
    now.best
  }”, rank ${adding.indexOf(neuron) + 1} of ${neurons}.`;
}

/** @type {(state: LiveModel.State) => string} */
export function describe(state) {
  return `${predictionOf(state)} ${chosenOf(state)} ${state.effect}`;
}
