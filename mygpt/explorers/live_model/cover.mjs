// What is done at one press: what an answer hangs on is switched off, or the answer rewritten.

import { button } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";
import { happened, neuronsInWords, othersInWords } from "./happened.mjs";
import { holders, survivals } from "./holders.mjs";
import { wordField } from "./prompt.mjs";
import { addEdit, tell } from "./state.mjs";
import { splitPrompt, withStop } from "./words.mjs";

/** Switches off what the answer hangs on, and keeps what there is to say about it.
 * @type {(state: LiveModel.State) => void} */
export function switchOffHolders(state) {
  const { gpt, places, compiled, get } = state;
  const edits = get("edits");
  const layer = state.layers[state.layers.length - 1];
  const ids = withStop(splitPrompt(get("prompt"))).map((word) => places.get(word) ?? -1);
  const made = compiled(edits);
  const found = holders(gpt, ids, layer, made);
  if (!found) {
    tell(state, "Neither a small set of neurons nor the heads of one layer hold this word.");
    return;
  }
  /** @type {LiveModel.Edit} */
  const edit = found.neurons
    ? { kind: "scale", layer, neuron: found.neurons, factor: 0 }
    : { kind: "part", layer: found.heads, part: "heads", factor: 0 };
  state.sought.set(JSON.stringify([...edits, edit]), {
    prompt: get("prompt"),
    stays: found.neurons && survivals(gpt, ids, layer, found.neurons, made),
  });
  addEdit(state, edit);
}

/** Makes the model answer the prompt with a word.
 * @type {(state: LiveModel.State, word: string) => void} */
function rewriteTo(state, word) {
  if (state.now.best === word) tell(state, `It already says “${word}”.`);
  else addEdit(state, { kind: "rewrite", prompt: state.get("prompt"), word });
}

/** An answer to another question, to begin with.
 * @type {(state: LiveModel.State) => string} */
function otherAnswer({ facts, answer, get }) {
  const { best } = answer(get("prompt"), []);
  return facts.map(([, right]) => right).find((word) => word !== best) ?? best;
}

/** As long a text as is said, to keep its room: nothing below it moves.
 * @type {(state: LiveModel.State) => string} */
function longest({ facts, neurons }) {
  const word = "x".repeat(9);
  const one = { before: { word, share: 1 }, after: { word, share: 0 } };
  const moved = `it falls from 1.000 to 0.000, and the model says “${word}”.`;
  return (
    neuronsInWords(10, neurons, word, moved, 20)
    + othersInWords(
      facts.map(() => one),
      word,
    )
  );
}

/** Brings a part of the page into sight where it is not, without motion for whom that is wanted.
 * @type {(node: Element) => void} */
function bringToSight(node) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  node.scrollIntoView({ block: "nearest", behavior: still ? "instant" : "smooth" });
}

/** The three things to do, and what came of the last.
 * @type {(state: LiveModel.State) => Kit.View} */
export function coverView(state) {
  const off = button("", () => switchOffHolders(state));
  const undo = button("Undo", () => state.write({ edits: state.get("edits").slice(0, -1) }));
  const rewrite = wordField(state, "New answer", "Rewrite", (word) => rewriteTo(state, word), otherAnswer(state));
  const text = html("span");
  const told = html("p", { class: "mygpt-happened", "data-room": longest(state) }, text);
  const node = html(
    "div",
    { class: "mygpt-cover" },
    html("div", { class: "mygpt-row mygpt-first" }, off.node, undo.node),
    ...(state.factor ? [rewrite] : []),
    told,
  );
  node.addEventListener("click", (event) => {
    if (/** @type {Element} */ (event.target).closest("button")) bringToSight(told);
  });
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && /** @type {Element} */ (event.target).closest("input")) bringToSight(told);
  });
  function draw() {
    off.node.textContent = `Switch off what holds “${state.now.best}”`;
    undo.able(state.get("edits").length > 0);
    text.textContent = state.note || happened(state);
  }
  return { node, draw };
}
