// The edits, and what they do to the facts.

import { button, control, folded, tick } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";
import { fixed } from "../kit/geometry.mjs";
import { partsOf, switchPart, typePrompt } from "./state.mjs";
import { editInWords, isOn, partInWords } from "./words.mjs";

/** Switches for whole parts of the model.
 * @type {(state: LiveModel.State) => Kit.View} */
export function partsView(state) {
  const parts = partsOf(state);
  const ticks = parts.map((one) => tick([partInWords(one)], (on) => switchPart(state, one, on)));
  const node = html(
    "div",
    { class: "mygpt-parts", role: "group", "aria-label": "Parts switched on" },
    html("span", { class: "mygpt-title", "aria-hidden": "true" }, "Switched on"),
    ...ticks.map((one) => one.node),
  );
  const draw = () => parts.forEach(({ layer, part }, i) => ticks[i].show(isOn(state.get("edits"), layer, part)));
  return { node, draw };
}

/** A fold with what there is to say of its parts beside its title.
 * @type {(title: string, news: Node, ...parts: Node[]) => HTMLDetailsElement} */
function foldWith(title, news, ...parts) {
  const fold = folded(title, ...parts);
  fold.firstElementChild?.append(" ", news);
  return fold;
}

/** The edits in a fold, with `copy` a button that copies a link to them.
 * @type {(state: LiveModel.State, copy?: () => void) => LiveModel.NotedView} */
export function editsView(state, copy) {
  const reset = button("Reset", () => state.write({ edits: [] }));
  const buttons = [reset, ...(copy ? [button("Copy link", copy)] : [])];
  const list = html("ol", { class: "mygpt-edits" });
  const note = html("p", { class: "mygpt-note" });
  const news = html("span", { class: "mygpt-sum" });
  const row = html("div", { class: "mygpt-row" }, ...buttons.map((one) => one.node));
  const node = foldWith("Edits", news, list, row, note);
  const drawNote = () => {
    note.textContent = [state.note, state.copied].filter(Boolean).join(" ");
  };
  function draw() {
    const edits = state.get("edits");
    news.textContent = edits.length ? String(edits.length) : "none";
    list.replaceChildren(...edits.map((one) => html("li", {}, editInWords(one), ".")));
    list.hidden = edits.length === 0;
    reset.able(edits.length > 0);
    drawNote();
  }
  return { node, draw, drawNote };
}

/** A fact: its prompt and right answer, what the model says, and a sign.
 * @type {(state: LiveModel.State, fact: LiveModel.Fact, i: number) => { node: HTMLElement; draw(): void; drawPrompt(): void }} */
function factRow(state, [text, right], i) {
  const [word, share, sign] = [html("bdi"), html("span", { class: "mygpt-number" }), html("span")];
  const node = control(
    "button",
    { type: "button", class: "mygpt-fact" },
    html("bdi", { class: "mygpt-asked" }, text),
    html("span", { class: "mygpt-right" }, html("span", { class: "mygpt-aside" }, "right: "), html("bdi", {}, right)),
    html("span", { class: "mygpt-said" }, html("span", { class: "mygpt-unseen" }, "the model says: "), word, share),
    html("span", { class: "mygpt-sign" }, sign),
  );
  node.addEventListener("click", () => typePrompt(state, text));
  const drawPrompt = () => node.setAttribute("aria-current", text === state.get("prompt"));
  function draw() {
    const said = state.said[i];
    word.textContent = said.word;
    share.textContent = fixed(said.share, 3);
    const mark = said.changed ? "changed" : said.good ? "right" : "wrong";
    sign.textContent = `${said.good ? "✓" : "✗"} ${mark}`;
    node.setAttribute(
      "aria-label",
      `${text}. Right: ${right}. The model says: ${said.word} ${share.textContent}, ${mark}.`,
    );
    node.classList.toggle("mygpt-changed", said.changed);
    node.classList.toggle("mygpt-good", said.good);
  }
  return { node, draw, drawPrompt };
}

/** The facts: in the whole form in a fold.
 * @type {(state: LiveModel.State) => { node: HTMLElement; draw(): void; drawPrompt(): void }} */
export function factsView(state) {
  const rows = state.facts.map((fact, i) => factRow(state, fact, i));
  const form = state.get("form");
  const sum = html("span", { class: "mygpt-number mygpt-sum" });
  const heads = ["Prompt", "Right", "The model says", ""].map((text) => html("span", {}, text));
  const table = [
    html("p", { class: "mygpt-fact-head", "aria-hidden": "true" }, ...heads),
    html("ul", { class: "mygpt-fact-list" }, ...rows.map((row) => html("li", {}, row.node))),
  ];
  const title = html("p", { class: "mygpt-title" }, form === "cover" ? "Ask something else" : "Also asked");
  const node =
    form === "whole"
      ? foldWith("All facts", sum, ...table)
      : html("div", { class: "mygpt-facts" }, html("div", { class: "mygpt-head" }, title, sum), ...table);
  const drawPrompt = () => rows.forEach((row) => row.drawPrompt());
  function draw() {
    rows.forEach((row) => row.draw());
    const right = state.said.filter((one) => one.good).length;
    const changed = state.said.filter((one) => one.changed).length;
    const told = form === "small" && state.get("edits").length > 0; // elsewhere a sentence says it
    sum.textContent = `${right} of ${rows.length} right${told ? `, ${changed} changed by the edits` : ""}`;
  }
  return { node, draw, drawPrompt };
}
