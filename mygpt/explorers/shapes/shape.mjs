// The numbers of a shape, each typed or stepped.

import { times } from "../kit/geometry.mjs";
import { doublings } from "../kit/amounts.mjs";
import { choice, control } from "../kit/controls.mjs";
import { drawAll, flag, html } from "../kit/elements.mjs";
import { numberField, rested } from "../kit/parts/fields.mjs";
import { LIMITS, SIZES, problemOf, shapeOf, sizeOf } from "./count.mjs";
import { FIELDS, derivedText, problemText } from "./words.mjs";

const SIZE_NAMES = Object.entries({ small: "Small", medium: "Medium", large: "Large", xl: "XL" });
const WIDTHS = [1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256]; // of a head
const MOST_HEADS = 128;
/** @type {Shapes.Name[]} */
const DIVIDED = ["embed_dim", "num_heads"];

/** The numbers that are stepped through for a part of a shape, so that the heads divide the channels.
 * @type {(name: Shapes.Name, shape: Shapes.Shape) => number[]} */
export function stopsOf(name, { embed_dim: C, num_heads: H }) {
  /** @type {Record<Shapes.Name, () => number[]>} */
  const stops = {
    vocab_size: () => [...doublings(2 ** 18), 50_257].filter((one) => one >= 64).sort((a, b) => a - b),
    max_seq_len: () => doublings(2 ** 17).filter((one) => one >= 16),
    embed_dim: () => WIDTHS.map((width) => width * H).filter((one) => one <= LIMITS.embed_dim),
    num_heads: () => times(MOST_HEADS, (i) => i + 1).filter((one) => C % one === 0),
    num_layers: () => doublings(128),
  };
  return stops[name]();
}

/** The next number that a shape can have for a part, up or down, if there is one.
 * @type {(name: Shapes.Name, shape: Shapes.Shape, way: number) => number | undefined} */
export function nextStop(name, shape, way) {
  const stops = stopsOf(name, shape);
  const now = shape[name];
  return way > 0 ? stops.find((one) => one > now) : stops.findLast((one) => one < now);
}

/** A field between two buttons, which go to the next number that makes a shape.
 * @type {(state: Shapes.State, field: Kit.Field, name: Shapes.Name, label: string, moved: () => void) => Kit.View} */
function steppedField(state, field, name, label, moved) {
  /** @type {(way: number) => void} */
  const step = (way) => {
    const next = nextStop(name, state.shape, way);
    if (next === undefined) return;
    state.take({ ...state.shape, [name]: next });
    moved();
  };
  const buttons = [-1, 1].map((way) => {
    const given = { type: "button", tabindex: -1, onclick: () => step(way) };
    const [sign, does] = way > 0 ? ["+", "more"] : ["−", "fewer"];
    return control("button.step.bare", { ...given, "aria-label": `${label}: ${does}` }, sign);
  });
  field.input.addEventListener("keydown", (event) => {
    const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!way || !DIVIDED.includes(name) || state.stale()) return;
    event.preventDefault(); // one more would be no shape
    step(way);
  });
  const draw = () => {
    const { shape } = state;
    field.show(shape[name]);
    buttons.forEach((one, i) => one.setAttribute("aria-disabled", nextStop(name, shape, [-1, 1][i]) === undefined));
  };
  return { node: html("div.size", field, buttons), draw };
}

/** GPT-2's sizes, the five numbers of a shape, and what is expected of them.
 * @param {Shapes.State} state
 * @param {() => void} wait
 * @param {() => void} tell */
export function shapeView(state, wait, tell) {
  const id = `mygpt-shapes-${Math.random().toString(36).slice(2)}`;
  const sizes = choice("Sizes of GPT-2", SIZE_NAMES, (size) => {
    state.take(SIZES[size]);
    draw();
  });
  const entry = rested(
    () => {
      state.typing = true;
      wait();
    },
    () => {
      state.typing = false;
      state.texts = Object.fromEntries(fields.map(([name, { input }]) => [name, input.value]));
      state.problem = problemOf(state.texts);
      if (!state.problem.length) state.take(shapeOf(state.texts));
      drawNote();
      tell();
    },
  );
  /** @type {[Shapes.Name, Kit.Field][]} */
  const fields = FIELDS.map(([name, label, letter]) => [
    name,
    numberField(label, letter, entry, { max: LIMITS[name], "aria-describedby": id }),
  ]);
  const parts = fields.map(([name, field], i) => steppedField(state, field, name, FIELDS[i][1], () => draw()));
  const note = html("p.expected", { id });
  const drawNote = () => {
    const { problem, texts, shape } = state;
    for (const [name, field] of fields) field.wrong(problem.includes(name));
    note.textContent = problem.length ? problemText(problem, texts) : derivedText(shape);
    flag(note, "wrong", problem.length > 0);
    wait();
  };
  const draw = () => {
    entry.stop();
    state.typing = false;
    state.problem = [];
    sizes.show(sizeOf(state.shape));
    drawAll(parts);
    drawNote();
  };
  return { sizes: sizes.node, fields: parts.map(({ node }) => node), note, draw, stop: entry.stop };
}
