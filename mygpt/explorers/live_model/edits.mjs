// The edits, and what they do to the facts.

import { button, control, folded, tick } from "../kit/controls.mjs";
import { UNHEARD, drawAll, flag, html } from "../kit/elements.mjs";
import { fixed } from "../kit/geometry.mjs";
import { partsOf, switchPart, typePrompt } from "./state.mjs";
import { editInWords, isOn, partInWords } from "./words.mjs";

/** Switches for whole parts of the model.
 * @type {(state: LiveModel.State) => Kit.View} */
export function partsView(state) {
  const parts = partsOf(state);
  const ticks = parts.map((one) => tick([partInWords(one)], (on) => switchPart(state, one, on)));
  const node = html(
    "div.parts.flow",
    { role: "group", "aria-label": "Parts switched on" },
    html("span.title", UNHEARD, "Switched on"),
    ticks,
  );
  const draw = () => parts.forEach(({ layer, part }, i) => ticks[i].show(isOn(state.edits, layer, part)));
  return { node, draw };
}

/** The edits in a fold, with `copy` a button that copies a link to them.
 * @type {(state: LiveModel.State, copy?: () => void) => Kit.View & { drawNote(): void }} */
export function editsView(state, copy) {
  const reset = button("Reset", () => state.write({ edits: [] }));
  const buttons = [reset, ...(copy ? [button("Copy link", copy)] : [])];
  const list = html("ol.edits");
  const note = html("p.note.muted");
  const news = html("span.sum.muted");
  const row = html("div.row.flow", buttons);
  const node = folded(["Edits ", news], list, row, note);
  const drawNote = () => {
    note.textContent = [state.note, state.copied].filter(Boolean).join(" ");
  };
  function draw() {
    const { edits } = state;
    news.textContent = edits.length ? String(edits.length) : "none";
    list.replaceChildren(...edits.map((one) => html("li", editInWords(one), ".")));
    list.hidden = edits.length === 0;
    reset.able(edits.length > 0);
    drawNote();
  }
  return { node, draw, drawNote };
}

/** A fact: its prompt and right answer, what the model says, and a sign, or what else is told of it.
 * @type {(state: LiveModel.State, fact: LiveModel.Fact, saying: () => LiveModel.State["said"][number], told?: string) => { node: HTMLElement; draw(): void; drawPrompt(): void }} */
export function factRow(state, [text, right], saying, told) {
  const [word, share, sign] = [html("bdi"), html("span.number"), html("span")];
  const node = control(
    "button.fact.bare",
    { type: "button", onclick: () => typePrompt(state, text) },
    html("bdi.asked", text),
    html("span.right.muted", html("span.unseen-wide", told ? "new: " : "right: "), html("bdi", right)),
    html("span.said", html("span.unseen", "the model says: "), word, share),
    html("span.sign.muted", sign),
  );
  const drawPrompt = () => node.setAttribute("aria-current", text === state.prompt);
  function draw() {
    const said = saying();
    word.textContent = said.word;
    share.textContent = fixed(said.share, 3);
    const mark = told ?? (said.changed ? "changed" : said.good ? "right" : "wrong");
    sign.textContent = `${said.good ? "✓" : "✗"} ${mark}`;
    node.ariaLabel = `${text}. ${told ? "New" : "Right"}: ${right}. The model says: ${said.word} ${share.textContent}, ${mark}.`;
    flag(node, "changed", said.changed);
    flag(node, "good", said.good);
  }
  return { node, draw, drawPrompt };
}

/** The facts: in the whole form in a fold.
 * @type {(state: LiveModel.State) => { node: HTMLElement; draw(): void; drawPrompt(): void }} */
export function factsView(state) {
  const rows = state.facts.map((fact, i) => factRow(state, fact, () => state.said[i]));
  const { form } = state;
  const sum = html("span.number.sum.muted");
  const heads = ["Prompt", "Right", "The model says", ""].map((text) => html("span", text));
  const table = [
    html("p.fact-head.muted", UNHEARD, heads),
    html(
      "ul.fact-list.list",
      rows.map((row) => html("li", row)),
    ),
  ];
  const title = html("p.title", form === "cover" ? "Ask something else" : "Also asked");
  const node =
    form === "whole" ? folded(["All facts ", sum], table) : html("div.facts", html("div.head", title, sum), table);
  const drawPrompt = () => rows.forEach((row) => row.drawPrompt());
  function draw() {
    drawAll(rows);
    const right = state.said.filter((one) => one.good).length;
    const changed = state.said.filter((one) => one.changed).length;
    const told = form === "small" && state.edits.length > 0; // elsewhere a sentence says it
    sum.textContent = `${right} of ${rows.length} right${told ? `, ${changed} changed by the edits` : ""}`;
  }
  return { node, draw, drawPrompt };
}
