// What is in the fold "Look inside": a layer's heads and neurons, and their switches.

import { choice, folded } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";
import { allViews } from "../kit/mounting.mjs";
import { partsView } from "./edits.mjs";
import { neuronView } from "./neurons.mjs";
import { answerLine } from "./prompt.mjs";
import { stagesView } from "./stages.mjs";
import { describe, offNeurons } from "./state.mjs";
import { neuronsView } from "./tiles.mjs";

/** The fold, in which the answer stays in sight; `drawToken`, `drawNeuron` and so on draw what depends on that trait.
 * @param {LiveModel.State} state
 */
export function insideView(state) {
  const [answer, parts, stages] = allViews(state, answerLine, partsView, stagesView);
  const [neurons, neuron] = allViews(state, neuronsView, neuronView);
  const layers = choice(
    "Layer",
    state.layers.map((layer) => [layer, `Layer ${layer}`]),
    (layer) => state.write({ layer }),
  );
  const head = html("div.inside-head.flow", state.several && layers, parts, neurons.off);
  const each = folded("Neurons one by one", neurons, neuron);
  const more = html("p.muted");
  const node = folded("Look inside", answer, head, stages, more, each);

  function drawNeuron() {
    for (const part of [neurons, stages]) part.drawNeuron();
    neuron.draw();
    const off = offNeurons(state);
    const which = off.length ? ` Off in this layer: ${off.join(", ")}.` : "";
    neurons.describe(`${state.description} ${describe(state)}${which}`);
  }
  function drawToken() {
    neurons.drawToken();
    drawNeuron();
  }
  function drawLayer() {
    layers.show(state.layer);
    answer.draw();
    stages.draw();
    const written = state.compiled(state.edits)?.[state.layer]?.cards.length;
    more.textContent = written ? `The network has ${written} written neurons more; they are under “Write facts”.` : "";
    drawToken();
  }
  const open = (/** @type {boolean} */ one) => {
    node.open = true;
    each.open ||= one;
  };
  const { paint, follow } = neurons;
  return {
    node,
    each,
    open,
    paint,
    follow,
    lay: stages.lay,
    drawParts: parts.draw,
    drawLayer,
    drawToken,
    drawNeuron,
    drawNote: answer.draw,
  };
}
