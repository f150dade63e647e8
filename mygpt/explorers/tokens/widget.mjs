import { control, stepper } from "../kit/controls.mjs";
import { drawAll, explorerRoot, flag, html, paragraph, table } from "../kit/elements.mjs";
import { clamp } from "../kit/geometry.mjs";
import { mount, store, allViews } from "../kit/mounting.mjs";
import {
  LONGEST,
  MAX_TEXT,
  common,
  livelyPiece,
  makeEncoder,
  plain,
  remembering,
  rowsOf,
  spell,
  split,
  tidy,
} from "./merges.mjs";

const MOST_CHIPS = 60; // of one piece; more than these are counted

/** @type {(number: number, noun: string) => string} */
const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** @type {(bytes: Uint8Array, className: string) => HTMLElement} */
function spelled(bytes, className) {
  const parts = spell(bytes);
  return html(
    "bdi",
    { class: className },
    parts.map(({ text, hex, code }) => (text === undefined ? html("span.code", hex ?? code ?? "") : text)),
  );
}

/** @param {Kit.Model<Tokens.Traits & Kit.Described>} model */
export function tokensState(model) {
  return store(model, {
    read: remembering(makeEncoder(model.get("data"))),
    text: "",
    pieces: /** @type {string[]} */ ([]),
    found: /** @type {Tokens.Merged[]} */ ([]), // what became of each piece
    at: -1, // the chosen piece, -1 in an empty text
    picked: "", // the piece that the reader chose
    last: 0, // how many merges it has
    done: 0, // and how many are shown
    chosen: /** @type {Tokens.Merged | undefined} */ (undefined),
    steps: /** @type {number[][]} */ ([]), // where its parts end, at first and after each merge
  });
}

/** What follows from the text.
 * @type {(state: Tokens.State) => void} */
function readText(state) {
  state.text = tidy(state.get("text"));
  state.pieces = split(state.text);
  state.found = state.pieces.map(state.read);
}

/** What follows from the chosen piece.
 * @type {(state: Tokens.State) => void} */
function readPiece(state) {
  state.at = Math.min(state.piece, state.found.length - 1);
  const chosen = state.found[state.at];
  if (chosen !== state.chosen) {
    state.chosen = chosen;
    state.steps = chosen && chosen.bytes.length <= LONGEST ? rowsOf(chosen) : [];
  }
  state.last = chosen ? chosen.steps.length : 0;
  // One merge has no slider: it is shown.
  state.done = state.last < 2 ? state.last : clamp(state.merges_done ?? state.last, 0, state.last);
}

/** @type {(state: Tokens.State) => string} */
function countsOf({ text, found }) {
  /** @type {(part: "bytes" | "ids") => number} */
  const sum = (part) => found.reduce((total, one) => total + one[part].length, 0);
  const counts = [plural(Array.from(text).length, "character"), plural(sum("bytes"), "byte")];
  return [...counts, plural(sum("ids"), "token")].join(", ");
}

/** The step in words: what was merged, and what the parts are now.
 * @type {(state: Tokens.State, number: number) => string} */
function stepInWords({ chosen, steps }, number) {
  const ends = steps[number];
  if (!ends || !chosen) return "";
  /** @type {(list: number[], i: number) => string} */
  const name = (list, i) => plain(spell(partOf(chosen, list, i)));
  const step = chosen.steps[number - 1];
  const merged = (/** @type {number} */ i) => name(steps[number - 1], i);
  const how = step ? `, ${merged(step.at)} and ${merged(step.at + 1)} merged, rank ${step.rank}` : "";
  return `${how}: ${ends.map((_, i) => name(ends, i)).join(" | ")}`;
}

/** @type {(state: Tokens.State) => string} */
function sentenceOf(state) {
  const { at, found, chosen, done, last } = state;
  if (!chosen) return "The text is empty.";
  return (
    `Piece ${at + 1} of ${found.length}, ${plain(spell(chosen.bytes))}. `
    + `${done} of ${plural(last, "merge")} done${stepInWords(state, done)}.`
  );
}

/** @type {(merged: Pick<Tokens.Merged, "bytes">, ends: number[], i: number) => Uint8Array} */
const partOf = ({ bytes }, ends, i) => bytes.subarray(ends[i - 1] ?? 0, ends[i]);

/** The field, how much stands in it, and what is shown of it.
 * @type {(state: Tokens.State) => { nodes: HTMLElement[]; draw(): void }} */
function textView(state) {
  const field = control("textarea", {
    rows: 2,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    dir: "auto",
  });
  const label = html("label.typed.muted.label", html("span", `Text, up to ${MAX_TEXT} characters`), field);
  const counts = html("p.counts.number");
  const hint = html(
    "p.hint.muted.small",
    `Vocabulary of ${state.vocab_size.toLocaleString("en")} (GPT-2’s: 50,257). `,
    html("b", "·"),
    " is a space. Choose a piece to see its merges.",
  );
  let written = ""; // what stands in the field
  /** @type {(text: string) => void} */
  const put = (text) => {
    if (text === written) return;
    written = text;
    field.value = text;
  };
  field.addEventListener("input", () => {
    const caret = field.selectionStart;
    written = field.value;
    const text = tidy(written);
    if (text !== written) {
      put(text);
      field.setSelectionRange(caret, caret);
    }
    const pieces = split(text);
    const piece = livelyPiece(pieces.map(state.read), state.piece, (at) => pieces[at] === state.picked);
    state.write({ text, piece });
  });
  // JupyterLab listens here after every key, and forbids line breaks.
  field.addEventListener("beforeinput", (event) => {
    if (event.inputType === "insertLineBreak") event.stopImmediatePropagation();
  });
  const draw = () => {
    put(state.text);
    counts.textContent = countsOf(state);
  };
  return { nodes: [label, counts, hint], draw };
}

/** @type {(bytes: Uint8Array, id: number) => HTMLElement} */
function chip(bytes, id) {
  const name = plain(spell(bytes));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return html(
    "span.chip",
    { title: `${name}, id ${id}, bytes ${hex}` },
    spelled(bytes, "mygpt-chip-text mygpt-clipped"),
    html("span.chip-id.number", String(id)),
  );
}

/** A piece of the text with its tokens, as a radio button.
 * @param {Tokens.Merged} one
 * @param {string} group
 * @param {() => void} choose */
export function pieceLabel(one, group, choose) {
  const { bytes, ids, ends } = one;
  const few = ids.slice(0, MOST_CHIPS);
  const more = ids.length > few.length ? `and ${ids.length - few.length} more` : "";
  const name = plain(spell(bytes.subarray(0, ends[few.length - 1])));
  const radio = control("input.over", {
    type: "radio",
    name: group,
    onchange: choose,
    "aria-label": `${name}: ${ids.length === 1 ? "id" : "ids"} ${few.join(", ")} ${more}`.trim(),
  });
  const chips = few.map((id, i) => chip(partOf(one, ends, i), id));
  if (more) chips.push(html("span.more.muted", more));
  const node = html("label.word", radio, html("span.chips", chips));
  return { node, radio };
}

/** The pieces of the text; of a changed text those that stayed are kept.
 * @type {(state: Tokens.State) => { node: HTMLElement; drawText(): void; draw(): void }} */
function piecesView(state) {
  // Not counted: Jupyter runs this module anew for every widget.
  const group = `mygpt-tokens-${Math.random().toString(36).slice(2)}`;
  const node = html("div.words", { role: "radiogroup" });
  /** @type {Tokens.Label[]} */
  const labels = [];
  /** @type {string[]} */
  let pieces = [];

  /** @type {(one: Tokens.Merged) => Tokens.Label} */
  const labelOf = (one) => {
    const label = pieceLabel(one, group, () => {
      const piece = labels.indexOf(label);
      state.picked = state.pieces[piece];
      state.write({ piece, merges_done: 0 });
    });
    return label;
  };
  function drawText() {
    const { start, end } = common(pieces, state.pieces);
    const fresh = state.found.slice(start, state.pieces.length - end).map(labelOf);
    const next = labels[labels.length - end]?.node ?? null;
    for (const old of labels.splice(start, labels.length - end - start, ...fresh)) old.node.remove();
    for (const label of fresh) node.insertBefore(label.node, next);
    pieces = state.pieces;
    let total = 0;
    state.found.forEach(({ ids }, i) => {
      flag(labels[i].node, "odd", total % 2 === 1);
      total += ids.length;
    });
  }
  function draw() {
    if (state.at >= 0) labels[state.at].radio.checked = true;
    node.ariaLabel = `${state.description} ${countsOf(state)}. Pieces of the text; choose one to see its merges`;
  }
  return { node, drawText, draw };
}

/** The parts of the chosen piece after one of its merges, and the pair that was merged.
 * @type {(chosen: Tokens.Merged, steps: number[][], number: number) => HTMLElement} */
function ladderRow(chosen, steps, number) {
  const [before, ends] = [steps[number - 1], steps[number]];
  const step = chosen.steps[number - 1];
  /** @type {(list: number[], i: number) => HTMLElement} */
  const part = (list, i) => spelled(partOf(chosen, list, i), "");
  const parts = ends.map((_, i) =>
    html("span", { class: step?.at === i ? "mygpt-part mygpt-joined" : "mygpt-part" }, part(ends, i)),
  );
  /** @type {(text: string) => HTMLElement} */
  const rank = (text) => html("span.rank.muted", text);
  const pair = step
    ? [html("span.pair", part(before, step.at), " + ", part(before, step.at + 1)), " ", rank(`rank ${step.rank}`)]
    : [rank("bytes")];
  return html(
    "tr",
    html("th", { scope: "row" }, html("span.unseen", `After ${plural(number, "merge")}`)),
    html("td", html("span.parts", parts)),
    html("td", html("span.how", pair)),
  );
}

/** The merges of the chosen piece, one to a row.
 * @type {(state: Tokens.State) => Kit.View} */
function ladderView(state) {
  const caption = "The parts of the chosen piece after each merge; the rank is the place in the list of merges, from 0";
  const node = table("mygpt-ladder", caption, [], []);
  const body = node.tBodies[0];
  /** @type {HTMLElement[]} */
  let rows = [];
  /** @type {number[][] | null} */
  let drawn = null;
  function draw() {
    if (state.steps !== drawn) {
      drawn = state.steps;
      const { chosen } = state;
      rows = chosen ? drawn.map((_, number) => ladderRow(chosen, state.steps, number)) : [];
      body.replaceChildren(...rows);
      node.hidden = !rows.length;
    }
    rows.forEach((row, number) => flag(row, "to-come", number > state.done));
  }
  return { node, draw };
}

/** The chosen piece, with its merges where they are not too many.
 * @type {(state: Tokens.State) => Kit.View} */
function mergesView(state) {
  const slide = stepper("Merges done", (index) => state.write({ merges_done: index }));
  const out = html("span");
  const ladder = ladderView(state);
  const tooLong = html("p.chosen.muted", `The merges are shown for pieces of up to ${LONGEST} bytes.`);
  const node = html("div.merges", html("p.chosen.muted", out), slide, ladder, tooLong);
  /** @type {Tokens.Merged | null} */
  let drawn = null;

  function draw() {
    const { chosen, steps, done, last } = state;
    node.hidden = !chosen;
    if (!chosen) return;
    ladder.draw();
    slide.node.hidden = steps.length < 3;
    tooLong.hidden = steps.length > 0;
    slide.show(done, last, `${done} of ${last}`);
    if (chosen === drawn) return;
    drawn = chosen;
    out.replaceChildren(
      "Chosen: ",
      html("b", spelled(chosen.bytes, "mygpt-chosen-text")),
      ` – ${plural(chosen.bytes.length, "byte")}, ${plural(last, "merge")}, ` + plural(chosen.ids.length, "token"),
    );
  }
  return { node, draw };
}

/** The setting in words, for paper.
 * @type {(state: Tokens.State) => Kit.View} */
const settingView = (state) =>
  paragraph("mygpt-setting", () => (state.chosen ? `${state.done} of ${plural(state.last, "merge")} shown.` : ""));

/** @type {(given: Kit.Given<Tokens.Traits>) => () => void} */
function render({ model, el }) {
  const state = tokensState(model);
  const [text, pieces, merges, setting] = allViews(state, textView, piecesView, mergesView, settingView);
  const nodes = [...text.nodes, pieces.node, merges.node, setting.node];

  function drawPiece() {
    readPiece(state);
    drawAll([pieces, merges, setting]);
  }
  function draw() {
    readText(state);
    text.draw();
    pieces.drawText();
    drawPiece();
  }
  const said = () => sentenceOf(state);
  return mount({ model, el }, explorerRoot("tokens", "Explorer of tokens", nodes), state, {
    listeners: { text: [draw, () => countsOf(state)], "piece merges_done": [drawPiece, said] },
    layout: draw,
  });
}

export default { render };
