// The form for the book's cover: what an answer hangs on is switched off, or the answer rewritten.

import { button, fixed, html } from "./drawing.mjs";
import { DRAWS, holders, survivals } from "./live_model_holders.mjs";
import { wordField } from "./live_model_prompt.mjs";
import { addEdit, splitPrompt, tell, withStop } from "./live_model_state.mjs";

const LESS_SURE = 0.1; // a fall of a probability that is worth a word
const START = "This is the model as it was trained. It runs here, in the page.";

/** What is said once the neurons or heads that an answer hung on are off. */
export function foundInWords({ neurons, heads }, { before, share, now, size, stays }) {
  const fallen = `off: it falls from ${fixed(share[0], 3)} to ${fixed(share[1], 3)}, and the model says “${now}”.`;
  if (!neurons) {
    return `No small set of neurons holds “${before}”: the model reads it from the prompt. Heads of layer ${heads} ${fallen}`;
  }
  const count = neurons.length;
  const [those, others] = count > 1
    ? [`The ${count} of ${size} neurons that add most to “${before}” are`, `${count} random others off instead`]
    : [`The one of ${size} neurons that adds most to “${before}” is`, "a random other one off instead"];
  return `${those} ${fallen} With ${others}, “${before}” stays on top in ${stays} of ${DRAWS} trials.`;
}

/** Switches off what the answer hangs on, and keeps what there is to say about it. */
export function switchOffHolders(state) {
  const { gpt, places, words, now, compiled, get } = state;
  const edits = get("edits");
  const layer = state.layers.at(-1);
  const ids = withStop(splitPrompt(get("prompt"))).map((word) => places.get(word));
  const made = compiled(edits);
  const found = holders(gpt, ids, layer, made);
  if (!found) {
    tell(state, "Neither a small set of neurons nor the heads of one layer hold this word.");
    return;
  }
  const edit = found.neurons ? { kind: "scale", layer, neuron: found.neurons, factor: 0 }
    : { kind: "part", layer: found.heads, part: "heads", factor: 0 };
  const after = state.answer(get("prompt"), [...edits, edit]);
  const word = now.order[0];
  state.found = {
    prompt: get("prompt"),
    edits: JSON.stringify([...edits, edit]),
    said: state.said,
    text: foundInWords(found, {
      before: words[word], share: [now.shares[word], after.shares[word]], now: after.best,
      size: gpt.neurons,
      stays: found.neurons && survivals(gpt, ids, layer, found.neurons, made),
    }),
  };
  addEdit(state, edit);
}

/** What just happened: to the answer, and to the others. */
export function happened(state) {
  const { found, facts, said, effect, get } = state;
  const edits = get("edits");
  if (!edits.length) return START;
  if (found?.prompt !== get("prompt") || found.edits !== JSON.stringify(edits)) return effect;
  const others = facts.map((_, i) => i).filter((i) => facts[i][0] !== found.prompt);
  if (!others.length) return found.text;
  const kept = others.filter((i) => said[i].word === found.said[i].word);
  const less = kept.filter((i) => said[i].share < found.said[i].share - LESS_SURE).length;
  const unsure = less ? `, ${less} of them less surely` : "";
  return `${found.text} Of ${others.length} other answers, ${kept.length} stay${unsure}.`;
}

/** An answer to another question, to begin with. */
function otherAnswer({ facts, answer, get }) {
  const { best } = answer(get("prompt"), []);
  return facts.map(([, right]) => right).find((word) => word !== best) ?? best;
}

/** The three things to do, and what came of the last. */
export function coverView(state) {
  const off = button("", () => switchOffHolders(state));
  const undo = button("Undo", () => state.write({ edits: state.get("edits").slice(0, -1) }));
  const rewrite = wordField(state, "New answer", "Rewrite", (word) =>
    addEdit(state, { kind: "rewrite", prompt: state.get("prompt"), word }), otherAnswer(state));
  const text = html("p", { class: "mygpt-happened" });
  const node = html("div", { class: "mygpt-cover" },
    html("div", { class: "mygpt-row mygpt-first" }, off.node, undo.node), ...(state.factor ? [rewrite] : []), text);
  function draw() {
    off.node.textContent = `Switch off what holds “${state.now.best}”`;
    undo.able(state.get("edits").length > 0);
    text.textContent = state.note || happened(state);
  }
  return { node, draw };
}
