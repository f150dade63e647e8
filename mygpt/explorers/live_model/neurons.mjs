// The chosen neuron: what it says, what it writes, and what can be done to it.

import { button, control } from "../kit/controls.mjs";
import { UNHEARD, drawAll, html } from "../kit/elements.mjs";
import { descending, fixed, times } from "../kit/geometry.mjs";
import { pairTable } from "../kit/parts/neurons.mjs";
import { quoted, wordField } from "./prompt.mjs";
import { neuronEffect } from "./stages.mjs";
import { addEdit, hiddenAt, scaleNeuron, scaleOf, tokenOf } from "./state.mjs";
import { signed } from "./words.mjs";
import { nearest, promoted } from "./writing.mjs";

const PROMOTED = 6;
const NEAREST = 4;

/** What the chosen neuron says at the token, and what it adds at the last one.
 * @type {(state: LiveModel.State) => { nodes: HTMLElement[]; draw(): void }} */
function readOuts(state) {
  const title = html("p.title.number");
  const coefficient = html("p.number");
  const added = html("p.number");
  function draw() {
    const { now, neurons, amounts, adding, several } = state;
    const [layer, neuron, row] = [state.layer, state.neuron, tokenOf(state)];
    const [here, own] = [hiddenAt(state, row, neuron), hiddenAt(state, row, neuron, "own")];
    title.textContent = `Neuron ${neuron}${several ? ` of layer ${layer}` : ""}${scaleOf(state) === 0 ? ", off" : ""}`;
    coefficient.replaceChildren(
      "Coefficient at ",
      quoted(state.tokens[row]),
      ` ${fixed(here, 3)}`,
      here === own ? "" : `, ${fixed(own, 3)} before the edit`,
    );
    const direct = layer < state.gpt.layers.length - 1 ? "directly " : "";
    added.replaceChildren(
      `At the last token it ${direct}adds ${signed(amounts[neuron], 2)} to the score of `,
      quoted(now.best),
      `: rank ${adding.indexOf(neuron) + 1} of ${neurons}`,
    );
  }
  return { nodes: [title, coefficient, added], draw };
}

/** The neurons that write nearly what the chosen one writes.
 * @type {(state: LiveModel.State) => Kit.View} */
function alikeView(state) {
  const count = Math.min(NEAREST, state.neurons - 1);
  /** @type {number[]} */
  let found = [];
  const buttons = times(count, (i) => {
    const onclick = () => state.write({ neuron: found[i] });
    return control("button.button.number", { type: "button", onclick });
  });
  const node = html(
    "div.row.alike.flow",
    { role: "group", "aria-label": "Nearest by what they write", hidden: !count },
    html("span", UNHEARD, "Nearest by what they write"),
    buttons,
  );
  function draw() {
    found = nearest(state.gpt, state.layer, state.neuron, count, state.compiled(state.edits));
    buttons.forEach((one, i) => {
      one.textContent = String(found[i]);
      one.ariaLabel = `Neuron ${found[i]}`;
    });
  }
  return { node, draw };
}

/** The chosen neuron, and what can be done to it.
 * @type {(state: LiveModel.State) => Kit.View} */
export function neuronView(state) {
  const { words, pieces, triggers, triggerLayers, neurons } = state;
  const { noun } = pieces;
  const outs = readOuts(state);
  const [alike, effect] = [alikeView(state), neuronEffect(state)];
  const triggerTable = pairTable(
    "Texts that trigger the neuron, and its coefficient there",
    "Triggers",
    "coefficient",
    Math.max(1, ...triggers.map((pairs) => pairs.length)),
    3,
  );
  const promotedTable = pairTable(
    `${noun === "word" ? "Words" : "Characters"} that the neuron promotes, and their scores`,
    `Promoted ${noun}s`,
    "score",
    Math.min(PROMOTED, words.length),
    3,
  );
  const toggle = button("Switch off", () => scaleNeuron(state, scaleOf(state) === 0 ? 1 : 0)).node;
  const double = button("Double", () => scaleNeuron(state, scaleOf(state) === 2 ? 1 : 2)).node;
  const point = wordField(state, "Point its value at", "Point", (word) =>
    addEdit(state, { kind: "value", layer: state.layer, neuron: state.neuron, word }),
  );
  const [title, ...more] = outs.nodes;
  const part = html(
    "div.part.chosen",
    title,
    html("div.row.flow", toggle, double, effect), // above what grows by an edit
    more,
  );

  function draw() {
    const { layer, neuron } = state;
    drawAll([outs, alike, effect]);
    const block = triggerLayers.indexOf(layer);
    triggerTable.node.hidden = block < 0;
    if (block >= 0) triggerTable.show(triggers[block * neurons + neuron]);
    const scores = promoted(state.gpt, layer, neuron, state.compiled(state.edits));
    promotedTable.show(descending(scores, PROMOTED).map((place) => ({ text: words[place], number: scores[place] })));
    toggle.textContent = scaleOf(state) === 0 ? "Switch on" : "Switch off";
    double.textContent = scaleOf(state) === 2 ? "Undo doubling" : "Double";
  }
  const tables = [...(triggers.length ? [triggerTable.node] : []), promotedTable.node];
  return { node: html("div.four", part, html("div", alike, point), tables), draw };
}
