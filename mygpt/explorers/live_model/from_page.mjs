// A live model of a GPT that was trained in the page, from the same float32 weights.

import { bytesOf, joinedBytes, largestAt, times } from "../kit/geometry.mjs";
import { makeModel } from "../kit/model.mjs";
import { forward, loadModel } from "./gpt.mjs";
import { promptPieces } from "./pieces.mjs";
import { contributions } from "./writing.mjs";

const REWRITING = { step: 0.2, enough: 0.997, steps: 200 }; // as in mygpt/inside/editing.py

/** Lists of numbers as the bytes of a trait.
 * @type {(...lists: ArrayBufferView[]) => DataView} */
const viewOf = (...lists) => new DataView(joinedBytes(lists.map(bytesOf)).buffer);

/** The tensors, by name, as traits: names and shapes, and all numbers one after another.
 * @type {(config: Engine.Config, tensors: LiveModel.Tensors) => { shapes: [string, number[]][]; weights: DataView }} */
function packedTensors({ width, hidden, vocab, positions }, tensors) {
  /** @type {Record<string, number>} */
  const known = { "token.embedding.weight": vocab * width, "position.weight": positions * width };
  /** @type {[string, number[]][]} */
  const shapes = Array.from(tensors, ([name, { length }]) => {
    const wanted = known[name] ?? length;
    if (length !== wanted) throw new Error(`expected ${wanted} numbers of ${name}, got ${length}`);
    const columns = name.endsWith("fc2.weight") ? hidden : width;
    const vector = name.endsWith("bias") || /(^|\.)ln\w*\.weight$/.test(name);
    return [name, vector ? [length] : [length / columns, columns]];
  });
  return { shapes, weights: viewOf(...tensors.values()) };
}

/** The lower triangle of a symmetric matrix, row by row.
 * @type {(matrix: Kit.Numbers, size: number) => Float32Array} */
function lowerTriangle(matrix, size) {
  if (matrix.length !== size * size) throw new Error(`expected a moment of ${size} × ${size}, got ${matrix.length}`);
  const lower = new Float32Array((size * (size + 1)) / 2);
  for (let i = 0, at = 0; i < size; i += 1) {
    for (let j = 0; j <= i; j += 1, at += 1) lower[at] = matrix[i * size + j];
  }
  return lower;
}

/** A text as a prompt of the model; one that it cannot read is an error.
 * @type {(text: string, pieces: LiveModel.Pieces, places: Map<string, number>, positions: number) => { prompt: string; ids: number[] }} */
function readPrompt(text, pieces, places, positions) {
  const names = pieces.split(text);
  const { noun } = pieces;
  const strange = names.find((name) => !places.has(name));
  if (strange !== undefined) throw new Error(`expected ${noun}s that the model knows, got “${strange}”`);
  const most = pieces.longest(positions);
  if (names.length < 1 || names.length > most) {
    throw new Error(`expected a prompt of 1 to ${most} ${noun}s, got ${names.length}`);
  }
  return { prompt: pieces.join(names), ids: pieces.begun(names).map((name) => places.get(name) ?? -1) };
}

/** The neuron of a layer that adds most to the likeliest token after the ids.
 * @type {(gpt: LiveModel.Gpt, ids: number[], layer: number) => number} */
function firstNeuron(gpt, ids, layer) {
  const pass = forward(gpt, ids);
  const likeliest = largestAt(pass.logits);
  return largestAt(contributions(gpt, pass, layer, likeliest));
}

/**
 * The model that `renderLive` of widget.mjs shows. `tensors` are those of GPT's state dict; `facts` are up to 10 pairs of
 * a prompt and its right answer; `moment` (F × F, as `studyText` gives it) allows rewriting, `triggers` are those of
 * `studyText`. A model without a feed-forward network, and a prompt that it cannot read, are errors.
 * @type {(made: LiveModel.Made) => Kit.AnyModel}
 */
export function liveModelOf({ config, tensors, tokenizer, prompt, facts = [], moment, triggers }) {
  const { vocab, width, heads, layers, hidden, positions, activation, attentionOnly } = config;
  const { kind, tokens } = tokenizer;
  if (tokens.length !== vocab) throw new Error(`expected ${vocab} tokens, got ${tokens.length}`);
  const layer = times(layers, (i) => i).findLast((i) => !attentionOnly.includes(i));
  if (layer === undefined) throw new Error("expected a model with a feed-forward network, got attention alone");
  const pieces = promptPieces(kind, tokens);
  const places = new Map(pieces.names(tokens).map((name, place) => [name, place]));
  const packed = packedTensors(config, tensors);
  const gpt = loadModel({
    layout: packed.shapes,
    bytes: packed.weights,
    dtype: "float32",
    heads,
    activation,
    rewriting: REWRITING,
  });
  const first = readPrompt(prompt, pieces, places, positions);
  const asked = facts.slice(0, 10).map(([question, right]) => {
    const [name] = pieces.names([right]);
    if (!places.has(name)) throw new Error(`expected a right answer that the model knows, got “${right}”`);
    return [readPrompt(question, pieces, places, positions).prompt, name];
  });
  const rewrites = moment && layer === layers - 1;
  return makeModel({
    state: {
      description: `A GPT of ${layers} layers, ${width} channels and ${vocab} ${pieces.noun}s, trained in this page.`,
      words: tokens,
      ...packed,
      dtype: "float32",
      pieces: kind,
      heads,
      activation,
      rewriting: REWRITING,
      moment_data: viewOf(...(rewrites ? [lowerTriangle(moment, hidden)] : [])),
      texts: triggers?.texts ?? [],
      trigger_layers: triggers?.layers ?? [],
      centre_data: viewOf(),
      templates: {},
      new_facts: [],
      writing: {},
      trigger_data: viewOf(...(triggers ? [triggers.data] : [])),
      facts: asked,
      form: "whole",
      prompt: first.prompt,
      layer,
      neuron: firstNeuron(gpt, first.ids, layer),
      token: first.ids.length - 1,
      edits: [],
      unfolded: ["inside"],
    },
    buffers: [],
  });
}
