// What is done at one press: what an answer hangs on is switched off, or the answer rewritten.

import { button } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";
import { neuronsInWords, othersInWords } from "./happened.mjs";
import { holders, survivals } from "./holders.mjs";
import { otherAnswer } from "./known.mjs";
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
    word: state.now.best,
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

/** The answer to this prompt, if the last edit switched off what holds it.
 * @type {(state: Pick<LiveModel.State, "sought" | "get">) => string | undefined} */
export function justOff({ sought, get }) {
  const made = sought.get(JSON.stringify(get("edits")));
  return made?.prompt === get("prompt") ? made.word : undefined;
}

/** As long a text as is said, to keep its room: nothing below it moves.
 * @type {(state: LiveModel.State) => string} */
function longest({ facts, neurons }) {
  const word = "x".repeat(9);
  const moved = `it falls from 1.000 to 0.000, and the model says “${word}”.`;
  const names = facts.map(([prompt]) => prompt).sort((a, b) => b.length - a.length);
  const others = names.slice(1).map((prompt, i) => {
    return { prompt, before: { word, share: 1 }, after: { word: i ? word : "", share: 1 } };
  });
  return `${neuronsInWords(10, neurons, word, moved, 20)}\n${othersInWords(others)}`;
}

/** Brings a part of the page into sight where it is not, without motion for whom that is wanted.
 * @type {(node: Element) => void} */
function bringToSight(node) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  node.scrollIntoView({ block: "nearest", behavior: still ? "instant" : "smooth" });
}

/** The three things to do, and what came of the last.
 * @type {(state: LiveModel.State) => Kit.View & { drawPrompt(): void }} */
export function coverView(state) {
  const goBack = () => state.write({ edits: state.get("edits").slice(0, -1) });
  const off = button("", () => (justOff(state) === undefined ? switchOffHolders(state) : goBack()));
  const undo = button("Undo", goBack);
  const rewrite = wordField(
    state,
    "New answer",
    "Rewrite",
    (word) => rewriteTo(state, word),
    () => otherAnswer(state),
  );
  const text = html("span");
  // the second press of a double click would take back what the first did
  off.node.addEventListener("click", (event) => event.detail > 1 && event.stopImmediatePropagation(), {
    capture: true,
  });
  const told = html("p", { class: "mygpt-happened", "data-room": longest(state) }, text);
  const node = html(
    "div",
    { class: "mygpt-cover" },
    html("div", { class: "mygpt-row mygpt-first" }, off.node, undo.node),
    ...(state.factor ? [rewrite.node] : []),
    told,
  );
  node.addEventListener("click", (event) => {
    if (/** @type {Element} */ (event.target).closest("button")) bringToSight(told);
  });
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && /** @type {Element} */ (event.target).closest("input")) bringToSight(told);
  });
  function draw() {
    const edits = state.get("edits");
    const held = justOff(state);
    off.node.textContent =
      held === undefined ? `Switch off what holds “${state.now.best}”` : `Switch on what holds “${held}”`;
    undo.able(edits.length > 0);
    const [answer, others] = state.happened;
    const said = state.note && !edits.length ? state.note : [state.note, answer].filter(Boolean).join(" ");
    text.replaceChildren(said, ...(others ? ["\n", html("b", {}, others)] : []));
  }
  return { node, draw, drawPrompt: rewrite.suggest };
}
