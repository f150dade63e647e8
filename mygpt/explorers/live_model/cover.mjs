// What is done at one press: what an answer hangs on is switched off, or the answer rewritten.

import { button, folded } from "../kit/controls.mjs";
import { flag, html } from "../kit/elements.mjs";
import { largestAt } from "../kit/geometry.mjs";
import { forward } from "./gpt.mjs";
import { neuronsInWords, testedInWords } from "./happened.mjs";
import { holders, survivals } from "./holders.mjs";
import { otherAnswer } from "./known.mjs";
import { wordField } from "./prompt.mjs";
import { addEdit, namesOf, switchPart, tell } from "./state.mjs";
import { isOn } from "./words.mjs";

/** Switches off what the answer hangs on, and keeps what there is to say about it.
 * @type {(state: LiveModel.State) => void} */
export function switchOffHolders(state) {
  const { gpt, pieces, places, compiled, get } = state;
  const edits = get("edits");
  const layer = state.layers[state.layers.length - 1];
  const ids = namesOf(pieces, get("prompt")).map((name) => places.get(name) ?? -1);
  const made = compiled(edits);
  const bare = made?.map((one) => one && { ...one, cards: [] });
  if (bare && largestAt(forward(gpt, ids, { edits: bare }).logits) !== state.now.order[0]) {
    tell(state, `A neuron that was written holds “${state.now.best}”. It is listed under “Write facts”.`);
    return;
  }
  const found = holders(gpt, ids, layer, made);
  if (!found) {
    tell(state, `Neither a small set of neurons nor the heads of one layer hold this ${pieces.noun}.`);
    return;
  }
  /** @type {LiveModel.Edit} */
  const edit = found.neurons
    ? { kind: "scale", layer, neuron: found.neurons, factor: 0 }
    : { kind: "part", layer: found.heads, part: "heads", factor: 0 };
  state.sought.set(JSON.stringify([...edits, edit]), {
    prompt: get("prompt"),
    word: state.now.best,
    stays: found.neurons && survivals(gpt, ids, layer, found.neurons, made),
  });
  addEdit(state, edit);
}

/** Makes the model answer the prompt with a word.
 * @type {(state: LiveModel.State, word: string) => void} */
function rewriteTo(state, word) {
  if (state.now.best === word) tell(state, `It already says “${word}”.`);
  else addEdit(state, { kind: "rewrite", prompt: state.prompt, word });
}

/** What was switched off last and still is: the answer that it holds, and the place of its edit.
 * @type {(state: Pick<LiveModel.State, "sought" | "compiled" | "get">) => { word: string; at: number } | undefined} */
export function switchedOff({ sought, compiled, get }) {
  const edits = get("edits");
  /** @type {(edit: LiveModel.Edit) => boolean} */
  const still = (edit) => {
    if (edit.kind === "part") return !isOn(edits, edit.layer, edit.part);
    const scale = edit.kind === "scale" ? compiled(edits)?.[edit.layer]?.scale : null;
    return edit.kind === "scale" && [edit.neuron].flat().every((neuron) => scale?.[neuron] === 0);
  };
  for (let at = edits.length - 1; at >= 0; at -= 1) {
    const made = sought.get(JSON.stringify(edits.slice(0, at + 1)));
    if (made && still(edits[at])) return { word: made.word, at };
  }
  return undefined;
}

/** Switches on again what an edit switched off; later edits stay.
 * @type {(state: LiveModel.State, at: number) => void} */
function switchOn(state, at) {
  const { edits } = state;
  const edit = edits[at];
  if (edit.kind === "part") switchPart(state, edit, true);
  else if (at === edits.length - 1) state.write({ edits: edits.slice(0, at) });
  else if (edit.kind === "scale") addEdit(state, { ...edit, factor: 1 });
}

/** As long a text as is said, to keep its room: nothing below it moves.
 * @type {(state: LiveModel.State) => string} */
function longest({ facts, neurons }) {
  const word = "x".repeat(9);
  const moved = `it falls from 1.000 to 0.000, and the model says “${word}”.`;
  const [name] = facts.map(([prompt]) => `“${prompt}”`).sort((a, b) => b.length - a.length);
  const tested = testedInWords({ names: ["this one", name], count: facts.length, besides: false, less: 0 });
  return `${neuronsInWords(10, neurons, word, moved, 20)}\n${facts.length ? tested : ""}`;
}

/** Brings a part of the page into sight where it is not, without motion for whom that is wanted.
 * @type {(node: Element) => void} */
function bringToSight(node) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  node.scrollIntoView({ block: "nearest", behavior: still ? "instant" : "smooth" });
}

/** An answer to begin with; without facts, the one that is second at first.
 * @type {(state: LiveModel.State) => string} */
function offered(state) {
  return state.facts.length ? otherAnswer(state) : state.words[state.untouched.order[1]];
}

/** One press that makes the model give another answer than it was trained to.
 * @type {(state: LiveModel.State) => Kit.View & { drawPrompt(): void }} */
function makeView(state) {
  let word = "";
  const make = button("", () => rewriteTo(state, word));
  flag(make.node, "make");
  const draw = () => make.able(word !== state.now.best);
  const drawPrompt = () => {
    word = otherAnswer({ ...state, now: state.untouched });
    make.node.textContent = `Make it say “${word}”`;
  };
  drawPrompt();
  return { node: make.node, draw, drawPrompt };
}

/** The three things to do, and what came of the last. On the cover an answer of the reader's own is folded.
 * @type {(state: LiveModel.State) => Kit.View & { drawPrompt(): void }} */
export function coverView(state) {
  const goBack = () => state.write({ edits: state.edits.slice(0, -1) });
  const off = button("", () => {
    const made = switchedOff(state);
    if (made) switchOn(state, made.at);
    else switchOffHolders(state);
  });
  const undo = button("Undo", goBack);
  const rewrite = wordField(
    state,
    "New answer",
    "Rewrite",
    (word) => rewriteTo(state, word),
    (chosen) => (chosen && chosen !== state.untouched.best ? chosen : offered(state)),
  );
  const text = html("span");
  // the second press of a double click would take back what the first did
  off.node.addEventListener("click", (event) => event.detail > 1 && event.stopImmediatePropagation(), {
    capture: true,
  });
  const brief = state.form === "cover" && state.factor;
  const make = brief ? makeView(state) : null;
  const own = folded("Type another answer", rewrite);
  const told = html("p.happened", { "data-room": longest(state) }, text);
  const node = html(
    "div.cover",
    html("div.row.first.flow", off, make && make, undo),
    state.factor && !make && rewrite,
    told,
    make && own,
  );
  node.addEventListener("click", (event) => {
    if (/** @type {Element} */ (event.target).closest("button")) bringToSight(told);
  });
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && /** @type {Element} */ (event.target).closest("input")) bringToSight(told);
  });
  function draw() {
    const { edits } = state;
    const made = switchedOff(state);
    off.node.textContent = `Switch ${made ? "on" : "off"} what holds “${made?.word ?? state.now.best}”`;
    make?.draw();
    undo.able(edits.length > 0);
    const [answer, others] = state.happened;
    const said = state.note && !edits.length ? state.note : [state.note, answer].filter(Boolean).join(" ");
    text.replaceChildren(said, ...(others ? ["\n", html("b", others)] : []));
  }
  const drawPrompt = () => [rewrite.suggest, make?.drawPrompt].forEach((one) => one?.());
  return { node, draw, drawPrompt };
}
