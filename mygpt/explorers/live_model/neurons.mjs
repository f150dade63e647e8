// The memories: the map of all, the chosen neuron, and the neurons that add most.

import { button, choice } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";
import { clamp, extent, fixed } from "../kit/geometry.mjs";
import { textWidth } from "../kit/heat.mjs";
import { neuronList, neuronMap, pairTable, rankSteps, tokenSelect } from "../kit/neurons.mjs";
import { largestFirst } from "./gpt.mjs";
import { quoted, wordField } from "./prompt.mjs";
import { STRONGEST, addEdit, hiddenAt, scaleNeuron, scaleOf, strongest, tokenOf } from "./state.mjs";
import { signed } from "./words.mjs";
import { hiddenOf, promoted } from "./writing.mjs";

const PROMOTED = 6;

/** The map of the layer's memories; the head above it chooses the layer, the foot the token.
 * @type {(state: LiveModel.State) => LiveModel.MapView} */
export function mapView(state) {
  /** @type {Kit.TextAt} */
  const textAt = (row, neuron) => fixed(hiddenAt(state, row, neuron), 3);
  const map = neuronMap(state, { textAt });
  const title = html("p", { class: "mygpt-title" });
  const layers = choice(
    "Layer",
    state.layers.map((layer) => [layer, `Layer ${layer}`]),
    (layer) => state.write({ layer }),
  );
  const head = html("div", { class: "mygpt-head" }, title, ...(state.several ? [layers.node] : []), map.heat.legend);
  const select = tokenSelect(state);
  const steps = rankSteps(state);
  const foot = html("div", { class: "mygpt-row mygpt-foot" }, select.node, ...steps.nodes);
  /** @type {string[] | null} */
  let filled = null;

  function paint() {
    const numbers = hiddenOf(state.now.pass, state.get("layer"));
    const [low, high] = extent([numbers]) ?? [0, 0];
    map.paint(numbers, Math.max(-low, high) || 1);
  }
  function draw() {
    if (filled !== state.tokens) {
      filled = state.tokens;
      map.fill();
      select.fill();
    }
    const widest = Math.max(...filled.map(textWidth));
    map.lay({
      gutter: clamp(widest + 12, 36, state.width < 420 ? 72 : 110),
      tall: Math.round(clamp(22 * filled.length, 44, 420)),
    });
    paint();
  }
  function drawToken() {
    const [layer, row] = [state.get("layer"), tokenOf(state)];
    layers.show(layer);
    title.textContent = state.several ? "Memory coefficients" : `Memory coefficients of layer ${layer}`;
    map.drawToken(row);
    select.draw(row);
  }
  function drawNeuron() {
    const neuron = state.get("neuron");
    map.drawNeuron(neuron, textAt(tokenOf(state), neuron));
    steps.draw();
  }
  /** @type {(text: string) => void} */
  const describe = (text) => map.heat.canvas.setAttribute("aria-label", text);
  const { node, drawHint } = map;
  const follow = () => map.follow(select.select);
  return { head, node, foot, paint, draw, drawToken, drawNeuron, drawHint, describe, follow };
}

/** What the chosen neuron says at the token, and what it adds at the last one.
 * @type {(state: LiveModel.State) => { nodes: HTMLElement[]; draw(): void }} */
function readOuts(state) {
  const title = html("p", { class: "mygpt-title mygpt-number" });
  const coefficient = html("p", { class: "mygpt-number" });
  const added = html("p", { class: "mygpt-number" });
  function draw() {
    const { now, neurons, amounts, adding, several } = state;
    const [layer, neuron, row] = [state.get("layer"), state.get("neuron"), tokenOf(state)];
    const [here, own] = [hiddenAt(state, row, neuron), hiddenAt(state, row, neuron, "own")];
    title.textContent = `Neuron ${neuron}${several ? ` of layer ${layer}` : ""}`;
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

/** The chosen neuron, and what can be done to it.
 * @type {(state: LiveModel.State) => { node: HTMLElement; tables: HTMLElement[]; draw(): void }} */
export function neuronView(state) {
  const { words, triggers, triggerLayers, neurons } = state;
  const outs = readOuts(state);
  const triggerTable = pairTable(
    "Texts that trigger the neuron, and its coefficient there",
    "Triggers",
    "coefficient",
    Math.max(1, ...triggers.map((pairs) => pairs.length)),
    3,
  );
  const promotedTable = pairTable(
    "Words that the neuron promotes, and their scores",
    "Promoted words",
    "score",
    Math.min(PROMOTED, words.length),
    3,
  );
  const toggle = button("Switch off", () => scaleNeuron(state, scaleOf(state) === 0 ? 1 : 0)).node;
  const double = button("Double", () => scaleNeuron(state, scaleOf(state) === 2 ? 1 : 2)).node;
  const point = wordField(state, "Point its value at", "Point", (word) =>
    addEdit(state, { kind: "value", layer: state.get("layer"), neuron: state.get("neuron"), word }),
  );
  const node = html(
    "div",
    { class: "mygpt-part" },
    ...outs.nodes,
    html("div", { class: "mygpt-row" }, toggle, double),
    point,
  );

  function draw() {
    const [layer, neuron] = [state.get("layer"), state.get("neuron")];
    outs.draw();
    const block = triggerLayers.indexOf(layer);
    triggerTable.node.hidden = block < 0;
    if (block >= 0) triggerTable.show(triggers[block * neurons + neuron]);
    const scores = promoted(state.gpt, layer, neuron, state.compiled(state.get("edits")));
    promotedTable.show(largestFirst(scores, PROMOTED).map((place) => ({ text: words[place], number: scores[place] })));
    toggle.textContent = scaleOf(state) === 0 ? "Switch on" : "Switch off";
    double.textContent = scaleOf(state) === 2 ? "Undo doubling" : "Double";
  }
  const tables = [...(triggers.length ? [triggerTable.node] : []), promotedTable.node];
  return { node, tables, draw };
}

/** The neurons that add most to the likeliest word, and what can be done to the fact.
 * @type {(state: LiveModel.State) => { node: HTMLElement; draw(): void; drawNeuron(): void }} */
export function addersView(state) {
  const list = neuronList(state, {
    count: Math.min(STRONGEST, state.neurons),
    parts: ["neuron", "activation", "added"],
    neuronAt: (i) => state.adding[i],
  });
  const title = html("span");
  const silence = button("", () =>
    addEdit(state, { kind: "scale", layer: state.get("layer"), neuron: strongest(state), factor: 0 }),
  ).node;
  const rewriteTo = wordField(state, "Rewrite this fact to", "Rewrite", (word) =>
    addEdit(state, { kind: "rewrite", prompt: state.get("prompt"), word }),
  );
  const node = html(
    "div",
    { class: "mygpt-part mygpt-adders" },
    html("p", { class: "mygpt-strong-head" }, title, html("span", {}, "coefficient"), html("span", {}, "adds")),
    list.node,
    html("div", { class: "mygpt-row" }, silence),
    ...(state.factor ? [rewriteTo] : []),
  );

  function draw() {
    const { best } = state.now;
    title.replaceChildren("Adds most to ", quoted(best));
    list.draw((neuron) => [
      `Neuron ${neuron}`,
      fixed(hiddenAt(state, state.tokens.length - 1, neuron), 3),
      signed(state.amounts[neuron], 2),
    ]);
    const count = strongest(state).length;
    silence.textContent = `Switch off the ${count} that add most to “${best}”`;
    silence.hidden = count < 2;
  }
  return { node, draw, drawNeuron: list.press };
}
