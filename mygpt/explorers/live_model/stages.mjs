// A layer as a drawn block: what each of its stages adds to the answer, and who in it adds most.

import { blockDrawing } from "../kit/block.mjs";
import { button } from "../kit/controls.mjs";
import { drawAll, flag, html } from "../kit/elements.mjs";
import { descending, fixed, times } from "../kit/geometry.mjs";
import { allViews } from "../kit/mounting.mjs";
import { neuronList } from "../kit/parts/neurons.mjs";
import { barLine, quoted } from "./prompt.mjs";
import { STRONGEST, addEdit, hiddenAt, offNeurons, scaleNeuron, scaleOf, strongest } from "./state.mjs";
import { signed } from "./words.mjs";
import { addedBy, readOut } from "./writing.mjs";

/** @type {{ place: string; name: string }[]} */
const STAGES = [
  { place: "input", name: "Stream" },
  { place: "attention", name: "Heads" },
  { place: "middle", name: "Stream" },
  { place: "network", name: "Network" },
  { place: "output", name: "Stream" },
];
const [HEADS, NETWORK] = [1, 3];

/** What each stage of the layer adds to the likeliest word's score: the stream holds what was added to it.
 * @type {(state: LiveModel.State) => number[]} */
export function stageAmounts({ gpt, now, places, get }) {
  const std = now.pass.stds[now.pass.stds.length - 1];
  const word = places.get(now.best) ?? -1;
  const [input, middle, output] = now.pass.steps[get("layer")].map((row) => addedBy(gpt, row, word, std));
  return [input, middle - input, middle, output - middle, output];
}

/** A list of names, each with a bar and a number; `draw` fills as many lines as it is given.
 * @param {number} count */
function barList(count) {
  const lines = times(count, () => barLine());
  const node = html("ol.strongest.heads.list", lines);
  /** @type {(rows: { name: string; amount: number; text: string }[], most: number) => void} */
  const draw = (rows, most) =>
    lines.forEach((line, i) => {
      line.node.hidden = i >= rows.length;
      if (line.node.hidden) return;
      const { name, amount, text } = rows[i];
      line.name.textContent = name;
      flag(line.bar, "against", amount < 0);
      line.bar.style.width = `${(100 * Math.abs(amount)) / most}%`;
      line.amount.textContent = text;
    });
  return { node, draw };
}

/** The heads of the layer, those that add most to the likeliest word first.
 * @type {(state: LiveModel.State) => Kit.View} */
function headsView(state) {
  const list = barList(Math.min(STRONGEST, state.gpt.heads));
  const names = ["Heads", "", "adds"].map((text) => html("span", text));
  const head = html("p.strong-head", names);
  function draw() {
    const { headAmounts } = state;
    const rows = descending(headAmounts).map((one) => {
      return { name: `Head ${one}`, amount: headAmounts[one], text: signed(headAmounts[one], 2) };
    });
    list.draw(rows.slice(0, STRONGEST), Math.max(...headAmounts.map(Math.abs)) || 1);
  }
  return { node: html("div.part", head, list), draw };
}

/** The words that the stream at a stage says, if it went to the last norm as it is.
 * @type {(state: LiveModel.State) => Kit.View} */
function readOutView(state) {
  const list = barList(Math.min(STRONGEST, state.words.length));
  const head = html("p.strong-head", html("span", "The stream read here says"));
  function draw() {
    if (state.stage % 2) return; // it is no stream
    const row = state.now.pass.steps[state.layer][state.stage / 2];
    const shares = readOut(state.gpt, row);
    const rows = descending(shares, STRONGEST).map((place) => {
      return { name: state.words[place], amount: shares[place], text: fixed(shares[place], 3) };
    });
    list.draw(rows, 1);
  }
  return { node: html("div.part", head, list), draw };
}

/** The neurons of the layer that add most to the likeliest word.
 * @type {(state: LiveModel.State) => Kit.View & { press(): void }} */
function addersView(state) {
  const list = neuronList(state, {
    count: Math.min(STRONGEST, state.neurons),
    parts: ["neuron", "activation", "added"],
    neuronAt: (i) => state.adding[i],
  });
  const names = ["Neurons", "coefficient", "adds"].map((text) => html("span", text));
  const head = html("p.strong-head", names);
  function draw() {
    const off = offNeurons(state);
    list.draw((neuron) => [
      `Neuron ${neuron}${off.includes(neuron) ? ", off" : ""}`,
      fixed(hiddenAt(state, state.tokens.length - 1, neuron), 3),
      signed(state.amounts[neuron], 2),
    ]);
    for (const one of list.node.querySelectorAll("button")) {
      const [name, coefficient, adds] = Array.from(one.children, (cell) => cell.textContent);
      one.ariaLabel = `${name}: coefficient ${coefficient}, adds ${adds}`;
    }
    list.press();
  }
  return { node: html("div.part.adders", head, list), draw, press: list.press };
}

/** A button that switches off the neurons that add most, together.
 * @type {(state: LiveModel.State) => Kit.View} */
function silencer(state) {
  const { node } = button("", () =>
    addEdit(state, { kind: "scale", layer: state.layer, neuron: strongest(state), factor: 0 }),
  );
  function draw() {
    const count = strongest(state).length;
    node.textContent = `Switch off the ${count} that add most to “${state.now.best}”`;
    node.hidden = count < 2;
  }
  return { node, draw };
}

/** What the last press on the chosen neuron did to the answer, as "tide: 0.798 → 0.765".
 * @type {(state: LiveModel.State) => Kit.View} */
export function neuronEffect(state) {
  const node = html("span.effect.number.clipped");
  const draw = () => {
    const { get, now, answer } = state;
    const edits = get("edits");
    const last = edits[edits.length - 1];
    const own = last?.kind === "scale" && last.layer === get("layer") && last.neuron === get("neuron");
    const before = own ? answer(get("prompt"), edits.slice(0, -1)) : null;
    const shares = before ? [before.share, now.shares[before.order[0]]].map((one) => fixed(one, 3)) : [];
    node.replaceChildren(...(before ? [quoted(before.best), `: ${shares.join(" → ")}`] : []));
  };
  return { node, draw };
}

/** A button that switches the chosen neuron off or on, where it is chosen.
 * @type {(state: LiveModel.State) => Kit.View} */
export function neuronSwitch(state) {
  const isOff = () => scaleOf(state) === 0;
  const { node } = button("", () => scaleNeuron(state, isOff() ? 1 : 0));
  const draw = () => {
    node.textContent = `Switch ${isOff() ? "on" : "off"} neuron ${state.neuron}`;
  };
  return { node, draw };
}

/** What a stage is, in a sentence.
 * @type {(state: LiveModel.State) => string} */
function stageInWords({ stage, neurons, gpt, pieces, get }) {
  const [layer, { noun }] = [get("layer"), pieces];
  const before = `read the ${noun}s before, and add to the stream`;
  if (stage === HEADS) return `The ${gpt.heads} heads of layer ${layer} ${before}.`;
  if (stage === NETWORK) return `Each of the ${neurons} neurons adds its coefficient times what it writes.`;
  const where = ["before the layer", "", "after the heads", "", "after the layer"][stage];
  const divisor = "what is switched off changes that norm’s divisor, and so this score too";
  return `The stream ${where}, as the last norm and the ${noun}s would read it; ${divisor}.`;
}

/** The drawn block, and under it the list of the chosen stage.
 * @param {LiveModel.State} state */
export function stagesView(state) {
  const [heads, read, adders, silence] = [headsView(state), readOutView(state), addersView(state), silencer(state)];
  const title = html("p.title");
  const block = blockDrawing("Stage of the layer", STAGES, (stage) => {
    state.stage = stage;
    drawStage();
  });
  const words = html("p.aside-text.muted");
  const [one, effect] = allViews(state, neuronSwitch, neuronEffect);
  const press = html("div.pressed", one, effect);
  const beside = html("div.part", press, words, silence);
  const four = html("div.four.writers", adders, heads, read, beside);
  const node = html("div.stages", title, block, four);

  function drawStage() {
    const { stage } = state;
    block.show(stage);
    adders.node.hidden = stage !== NETWORK;
    press.hidden = stage !== NETWORK;
    flag(silence.node, "away", stage !== NETWORK);
    heads.node.hidden = stage !== HEADS;
    read.node.hidden = stage % 2 === 1;
    words.textContent = stageInWords(state);
    read.draw();
  }
  function draw() {
    const { layer } = state;
    const amounts = stageAmounts(state);
    const direct = layer < state.gpt.layers.length - 1 ? "directly " : "";
    title.replaceChildren(`What layer ${layer} ${direct}adds to the score of `, quoted(state.now.best));
    drawAll([heads, adders, silence]);
    const texts = amounts.map((amount, i) => (i % 2 ? signed(amount, 2) : fixed(amount, 2)));
    block.fill(
      amounts.map((amount, i) => ({ amount: Math.max(0, amount), text: texts[i] })),
      `Layer ${layer} at the last token. Score of “${state.now.best}”: ${texts[0]} in the stream before it; its heads add ${
        texts[1]
      }, its network ${texts[3]}; ${texts[4]} in the stream after it.`,
    );
    drawStage();
  }
  function drawNeuron() {
    drawAll([one, effect]);
    adders.press();
  }
  return { node, draw, drawNeuron, lay: () => block.lay(state.width) };
}
