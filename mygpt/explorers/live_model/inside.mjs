// What is in the fold "Look inside": a layer's heads and neurons, and their switches.

import { choice, folded } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";
import { allViews } from "../kit/mounting.mjs";
import { partsView } from "./edits.mjs";
import { neuronView } from "./neurons.mjs";
import { stagesView } from "./stages.mjs";
import { describe, offNeurons } from "./state.mjs";
import { neuronsView } from "./tiles.mjs";

/** The fold; `drawToken`, `drawNeuron` and so on draw what depends on that trait.
 * @param {LiveModel.State} state
 */
export function insideView(state) {
  const [parts, stages, neurons, neuron] = allViews(state, partsView, stagesView, neuronsView, neuronView);
  const layers = choice(
    "Layer",
    state.layers.map((layer) => [layer, `Layer ${layer}`]),
    (layer) => state.write({ layer }),
  );
  const head = html("div", { class: "mygpt-inside-head" }, ...(state.several ? [layers.node] : []), parts.node);
  const node = folded("Look inside", head, stages.node, neurons.node, neuron.node);

  function drawNeuron() {
    for (const part of [neurons, stages]) part.drawNeuron();
    neuron.draw();
    const off = offNeurons(state);
    const which = off.length ? ` Off in this layer: ${off.join(", ")}.` : "";
    neurons.describe(`${state.get("description")} ${describe(state)}${which}`);
  }
  function drawToken() {
    neurons.drawToken();
    drawNeuron();
  }
  function drawLayer() {
    layers.show(state.get("layer"));
    stages.draw();
    drawToken();
  }
  function drawNote() {
    stages.drawNote();
    neuron.drawNote();
  }
  const open = () => {
    node.open = true;
  };
  const { paint, follow } = neurons;
  return {
    node,
    open,
    paint,
    follow,
    lay: stages.lay,
    drawParts: parts.draw,
    drawLayer,
    drawToken,
    drawNeuron,
    drawNote,
  };
}
