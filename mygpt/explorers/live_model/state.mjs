// What the live model knows: its words, its answers to the prompt with and without the edits, and
// what follows from the traits. No page is touched here.

import { fixed, floats, store } from "../kit/drawing.mjs";
import {
  cholesky, compileEdits, contributions, forward, largestFirst, loadModel, probabilities,
} from "./gpt.mjs";
import { ranking, unpackPairs } from "../kit/neurons.mjs";

export const STOP = ".";
export const LIKELIEST = 6;
export const STRONGEST = 5;
export const MAX_EDITS = 64;
const MAX_PROMPT = 31;
const COMPLETIONS = 8;
const COMPILED = 64;
const PART = { heads: (layer) => `Heads of layer ${layer}`, network: (layer) => `Network ${layer}` };
const DONE = { 0: "switched off", 1: "back at its own strength", 2: "doubled" };

/** Words in quotation marks, the last after `last`: “a”, “b” or “c”. */
export function listed(words, last = "or") {
  const [end, ...rest] = words.map((word) => `“${word}”`).reverse();
  return rest.length ? `${rest.reverse().join(", ")} ${last} ${end}` : end;
}

/** The words of a prompt, in lower case; a full stop is a word of its own. */
export function splitPrompt(text) {
  return text.toLowerCase().replaceAll(STOP, ` ${STOP} `).split(/\s+/).filter(Boolean);
}

/** The words as the model reads them: after a full stop. */
export function withStop(words) {
  return words[0] === STOP ? words : [STOP, ...words];
}

/** The last words of a text, of `most` letters together, after an ellipsis where some are left out. */
export function tailOf(text, most) {
  if (text.length <= most) return text;
  const from = text.length - most;
  const blank = text.indexOf(" ", from);
  return `… ${text.slice(blank < 0 ? from : blank + 1)}`;
}

/** Where the word under the caret starts and ends in a text. */
export function spanAt(text, caret) {
  const start = text.slice(0, caret).search(/[^\s.]*$/);
  return { start, end: caret + text.slice(caret).search(/[\s.]|$/) };
}

/** The words, other than the prefix itself, that begin with it; the first `most`. */
export function completions(words, prefix, most = COMPLETIONS) {
  const start = prefix.toLowerCase();
  return words.filter((word) => word.startsWith(start) && word !== start).slice(0, most);
}

/** A number with its sign, plus included. */
export function signed(value, decimals) {
  const text = fixed(value, decimals);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** All of a symmetric matrix, of which only the lower triangle was sent, row by row. */
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

/** A whole part of the model. */
export function partInWords({ layer, part }) {
  return PART[part](layer);
}

/** Whether a part is on after the edits. */
export function isOn(edits, layer, part) {
  const last = edits.findLast((edit) =>
    edit.kind === "part" && edit.layer === layer && edit.part === part);
  return last ? last.factor === 1 : true;
}

/** An edit as the start of a sentence. */
export function editInWords(edit) {
  if (edit.kind === "rewrite") return `“${edit.prompt}” rewritten to “${edit.word}”`;
  if (edit.kind === "part") return `${partInWords(edit)} switched ${edit.factor ? "on" : "off"}`;
  const neurons = [edit.neuron].flat();
  const who = `${neurons.length > 1 ? "Neurons" : "Neuron"} ${neurons.join(", ")} of layer ${edit.layer}`;
  if (edit.kind === "value") return `${who} pointed at “${edit.word}”`;
  return `${who} ${neurons.length > 1 ? DONE[edit.factor].replace("its", "their") : DONE[edit.factor]}`;
}

/** The model and all that is said of it, unpacked. */
function unpacked(model) {
  const words = model.get("words");
  const gpt = loadModel({
    layout: model.get("shapes"), bytes: model.get("weights"), heads: model.get("heads"),
    activation: model.get("activation"), rewriting: model.get("rewriting"),
  });
  const { neurons } = gpt;
  const blocks = gpt.layers.map((_, layer) => layer);
  const layers = blocks.filter((layer) => gpt.layers[layer].mlp);
  const lower = floats(model.get("moment_data"));
  const triggerLayers = model.get("trigger_layers");
  return {
    words,
    places: new Map(words.map((word, place) => [word, place])),
    gpt,
    neurons,
    blocks,
    layers,
    several: layers.length > 1,
    factor: lower.length ? cholesky(symmetric(lower, neurons), neurons) : null,
    longest: Math.min(MAX_PROMPT, gpt.positions - 1),
    triggerLayers,
    triggers: unpackPairs(
      floats(model.get("trigger_data")), neurons * triggerLayers.length, model.get("texts")),
    facts: model.get("facts"),
  };
}

/** The functions that ask the model. Compiled edits are kept, as Undo comes back to them. */
function asking({ gpt, words, places, factor, facts }) {
  const ids = (prompt) => withStop(splitPrompt(prompt)).map((word) => places.get(word));
  const kept = new Map();

  function compiled(edits) {
    if (!edits.length) return null;
    const key = JSON.stringify(edits);
    if (!kept.has(key)) {
      if (kept.size > COMPILED) kept.clear();
      kept.set(key, compileEdits(gpt, edits.map((edit) => ({
        ...edit,
        word: places.get(edit.word),
        ids: edit.kind === "rewrite" ? ids(edit.prompt) : null,
      })), factor));
    }
    return kept.get(key);
  }
  function answer(prompt, edits) {
    const pass = forward(gpt, ids(prompt), { edits: compiled(edits) });
    const shares = probabilities(pass.logits);
    const order = largestFirst(shares, LIKELIEST);
    return { pass, shares, order, best: words[order[0]], share: shares[order[0]] };
  }
  const answers = (edits) => facts.map(([prompt]) => {
    const { best, share } = answer(prompt, edits);
    return { word: best, share };
  });
  return { compiled, answer, answers };
}

/**
 * The state of a live model. `say` speaks a sentence; the functions of `redraw` draw the field and
 * the note, which are no traits.
 */
export function liveState(model, say) {
  const parts = unpacked(model);
  const asked = asking(parts);
  return store(model, {
    ...parts,
    ...asked,
    say,
    id: `mygpt-live-${Math.random().toString(36).slice(2)}`,
    redraw: { draft() {}, note() {} },
    sought: new Map(), // for edits as JSON the prompt whose answer they switched off, and the trials
    trained: asked.answers([]),
    width: 640,
    hovered: null,
    draft: "", // what stands in the field
    reading: null, // what is said of it
    note: "",
    now: null, // the answer to the prompt, with the edits
    untouched: null, // and without them
    tokens: [],
    amounts: [], // what each neuron of the layer adds to the likeliest word's score
    adding: [], // the neurons by that
    ranked: [], // and by their coefficients at the token
    said: [], // what is answered to each fact
    effect: "",
  });
}

/** What a text in the field is: a `good` prompt, or else what is wrong with it. */
export function readDraft(text, caret, { words, places, longest, get }) {
  const given = splitPrompt(text);
  const strange = given.filter((word) => !places.has(word));
  const { start, end } = spanAt(text, caret);
  const begun = text.slice(start, end).toLowerCase();
  const unfinished = strange.length === 1 && strange[0] === begun
    && completions(words, begun).length > 0;
  const wrong = strange.length > 0 && !unfinished;
  const long = given.length > longest;
  const still = `The prediction is for “${get("prompt") || STOP}”.`;
  let message = `${words.length} words are known; ↓ lists the likeliest next.`;
  if (unfinished) message = `“${begun}…” is not a whole word yet.`;
  else if (wrong) {
    message = `${listed(strange, "and")} ${strange.length > 1 ? "are" : "is"} not among the ${words.length} words. ${still}`;
  } else if (long) message = `A prompt has at most ${longest} words. ${still}`;
  return { prompt: given.join(" "), good: !strange.length && !long, wrong, long, message };
}

/** Puts a text into the field; when its words are all known it is the prompt. */
export function typePrompt(state, text, caret = text.length) {
  const reading = readDraft(text, caret, state);
  Object.assign(state, { draft: text, reading });
  state.redraw.draft();
  if (reading.wrong) state.say(reading.message);
  if (!reading.good || reading.prompt === state.get("prompt")) return;
  state.write({ prompt: reading.prompt, token: withStop(splitPrompt(text)).length - 1 });
  state.say(predictionOf(state));
}

/** Says what came of something that the reader did, on the page and aloud. */
export function tell(state, text) {
  state.note = text;
  state.redraw.note();
  state.say(text);
}

export function addEdit(state, edit) {
  const edits = state.get("edits");
  const last = state.blocks.at(-1);
  if (edits.length >= MAX_EDITS) tell(state, `At most ${MAX_EDITS} edits.`);
  else if (edit.kind === "rewrite" && !isOn(edits, last, "network")) {
    tell(state, `Network ${last} is off: switch it on to rewrite a fact in it.`);
  } else state.write({ edits: [...edits, edit] });
}

/**
 * Switches a part on or off. Earlier switchings of it no longer count, unless a fact was rewritten
 * meanwhile.
 */
export function switchPart(state, { layer, part }, on) {
  const edits = state.get("edits");
  const same = (edit) => edit.kind === "part" && edit.layer === layer && edit.part === part;
  const rewritten = edits.some(({ kind }) => kind === "rewrite");
  const kept = rewritten ? edits : edits.filter((edit) => !same(edit));
  if (isOn(kept, layer, part) === on) state.write({ edits: kept });
  else if (kept.length >= MAX_EDITS) tell(state, `At most ${MAX_EDITS} edits.`);
  else state.write({ edits: [...kept, { kind: "part", layer, part, factor: on ? 1 : 0 }] });
}

/** Multiplies the chosen neuron's activations. */
export function scaleNeuron(state, factor) {
  addEdit(state, { kind: "scale", layer: state.get("layer"), neuron: state.get("neuron"), factor });
}

export function scaleOf({ get, compiled }) {
  return compiled(get("edits"))?.[get("layer")]?.scale?.[get("neuron")] ?? 1;
}

/** The chosen token; it may lie behind the end of a prompt that has become shorter. */
export function tokenOf({ get, tokens }) {
  return Math.min(get("token"), tokens.length - 1);
}

/** A coefficient of the chosen layer, as `kept` has it: "hidden", or "own" before the edits. */
export function hiddenAt({ get, now, neurons }, row, neuron, kept = "hidden") {
  return now.pass[kept][get("layer")][row * neurons + neuron];
}

/** The neurons that add most to the likeliest word, as long as they add something. */
export function strongest({ adding, amounts }) {
  return adding.slice(0, STRONGEST).filter((neuron) => amounts[neuron] > 0);
}

/** What follows from the prompt and the edits. */
export function readAnswer(state) {
  const [prompt, edits] = [state.get("prompt"), state.get("edits")];
  state.now = state.answer(prompt, edits);
  state.untouched = edits.length ? state.answer(prompt, []) : state.now;
  const tokens = withStop(splitPrompt(prompt));
  if (tokens.join(" ") !== state.tokens.join(" ")) state.tokens = tokens;
}

/** What follows from the layer. */
export function readLayer(state) {
  const { gpt, now, places, compiled, get } = state;
  state.amounts = contributions(
    gpt, now.pass, get("layer"), places.get(now.best), compiled(get("edits")));
  state.adding = largestFirst(state.amounts);
}

/** What follows from the token. */
export function readToken(state) {
  const start = tokenOf(state) * state.neurons;
  const hidden = state.now.pass.hidden[state.get("layer")];
  state.ranked = ranking(hidden.subarray(start, start + state.neurons));
}

/** What is answered to the facts. */
export function readFacts(state) {
  const edits = state.get("edits");
  const { facts, trained } = state;
  const said = edits.length ? state.answers(edits) : trained;
  state.said = said.map((one, i) => (
    { ...one, good: one.word === facts[i][1], changed: one.word !== trained[i].word }));
}

/** What the last edit did to the prompt's likeliest word and to the facts, in a sentence. */
export function readEffect(state) {
  const { now, facts, places, said } = state;
  const edits = state.get("edits");
  if (!edits.length) {
    state.effect = "No edits: this is the model as it was trained.";
    return;
  }
  const earlier = state.answer(state.get("prompt"), edits.slice(0, -1));
  const share = fixed(now.shares[places.get(earlier.best)], 3);
  const moved = earlier.best === now.best
    ? `“${now.best}” goes from ${fixed(earlier.share, 3)} to ${share}`
    : `“${now.best}” ${fixed(now.share, 3)} takes the place of “${earlier.best}”, now ${share}`;
  const others = said.filter((_, i) => facts[i][0] !== state.get("prompt"));
  const changed = others.filter((one) => one.changed).length;
  const beside = others.length ? `; ${changed} of ${others.length} other answers changed` : "";
  state.effect = `${editInWords(edits.at(-1))}: ${moved}${beside}.`;
}

export function predictionOf({ get, now }) {
  return `After “${get("prompt") || STOP}” the likeliest word is “${now.best}”, ${fixed(now.share, 3)}.`;
}

export function chosenOf(state) {
  const { get, now, tokens, amounts, adding, neurons } = state;
  const [neuron, row] = [get("neuron"), tokenOf(state)];
  return `Neuron ${neuron} of layer ${get("layer")} at token ${row}, “${tokens[row]}”: coefficient ${
    fixed(hiddenAt(state, row, neuron), 3)}; it adds ${signed(amounts[neuron], 2)} to the score of “${
    now.best}”, rank ${adding.indexOf(neuron) + 1} of ${neurons}.`;
}

export function describe(state) {
  return `${predictionOf(state)} ${chosenOf(state)} ${state.effect}`;
}
