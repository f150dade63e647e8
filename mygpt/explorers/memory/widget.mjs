import { html, speaker, svg } from "../kit/elements.mjs";
import { barBox, clamp, extent, fixed, floats, linearScale } from "../kit/geometry.mjs";
import { mount, store, allViews } from "../kit/mounting.mjs";
import { textWidth, themed, visibleText } from "../kit/heat.mjs";
import { neuronList, neuronMap, pairTable, rankSteps, ranking, tokenSelect, unpackPairs } from "../kit/neurons.mjs";

const DECIMALS = 3;
const STRONGEST = 10;

/** @type {(value: number) => string} */
const text = (value) => fixed(value, DECIMALS);
/** @type {(value: number) => number} */
const lengthOf = (value) => text(value).length;

/** @param {Kit.Model<Memory.Traits & Kit.Described>} model */
export function memoryState(model) {
  const neurons = model.get("neurons");
  const texts = model.get("texts").map(visibleText);
  /** @type {(trait: "trigger_data" | "promoted_data") => Kit.TextAndNumber[][]} */
  const pairs = (trait) => unpackPairs(floats(model.get(trait)), neurons, texts);
  const activations = floats(model.get("data"));
  const [lowest, highest] = extent([activations]) ?? [0, 0];
  const state = store(model, {
    tokens: model.get("tokens").map(visibleText),
    neurons,
    activations,
    triggers: pairs("trigger_data"),
    promoted: pairs("promoted_data"),
    lowest,
    highest,
    limit: Math.max(-lowest, highest) || 1,
    longest: Math.max(lengthOf(lowest), lengthOf(highest)), // of the numbers, in letters
    ranked: /** @type {number[]} */ ([]),
    hovered: /** @type {Kit.Cell | null} */ (null),
    width: 640,
    tall: 300,
    side: 100,
    gutter: 60,
    numberWidth: 40,
  });
  /** @type {(token: number, neuron: number) => number} */
  const valueAt = (token, neuron) => activations[token * neurons + neuron];
  const rank = () => {
    const start = state.get("token") * neurons;
    state.ranked = ranking(activations.subarray(start, start + neurons));
  };
  return Object.assign(state, { valueAt, rank });
}

/** Sizes that follow from the width.
 * @type {(state: Memory.State) => void} */
function layOut(state) {
  const narrow = state.width < 420;
  state.numberWidth = 8.4 * state.longest + 4;
  const bars = narrow ? Math.max(state.numberWidth + 6, 64) : state.numberWidth + 96; // a phone has none
  state.side = Math.round(bars);
  state.gutter = clamp(Math.max(...state.tokens.map(textWidth)) + 12, 36, narrow ? 64 : 110);
  state.tall = Math.round(clamp(24 * state.tokens.length, 60, 420));
}

/** @type {(state: Memory.State) => string} */
function sentenceOf({ get, tokens, neurons, ranked, promoted, valueAt }) {
  const [neuron, token] = [get("neuron"), get("token")];
  const first = promoted[neuron][0];
  return `Neuron ${neuron} at token ${token}, “${tokens[token]}”: activation ${text(
    valueAt(token, neuron),
  )}, number ${ranked.indexOf(neuron) + 1} of ${neurons} by size.${
    first ? ` First promoted word: “${first.text}”.` : ""
  }`;
}

/** The chosen neuron's activation at every token, as a bar and a number.
 * @type {(state: Memory.State) => { node: SVGElement; lay(): void; drawToken(free: boolean[]): void; drawNeuron(): void }} */
function stripView(state) {
  const { tokens, valueAt } = state;
  const bars = tokens.map(() => svg("rect", { class: "mygpt-bar" }));
  const values = tokens.map(() => svg("text", { "text-anchor": "end", dy: "0.35em" }));
  const zero = svg("path", { class: "mygpt-axis" });
  const node = svg("svg", { class: "mygpt-strip", role: "img" }, ...bars, zero, ...values);
  let toX = linearScale([0, 1], [0, 1]);

  function lay() {
    const { side, tall, numberWidth, lowest, highest } = state;
    node.setAttribute("viewBox", `0 0 ${side} ${tall}`);
    toX = linearScale([Math.min(lowest, 0), Math.max(highest, 0) || 1e-9], [12, side - numberWidth - 6]);
    zero.setAttribute("d", `M${toX(0)} 0V${tall}`);
    const band = tall / tokens.length;
    const thick = clamp(0.66 * band, 2, 14);
    tokens.forEach((_, place) => {
      const middle = (place + 0.5) * band;
      bars[place].setAttribute("y", middle - thick / 2);
      bars[place].setAttribute("height", thick);
      values[place].setAttribute("x", side);
      values[place].setAttribute("y", middle);
    });
  }
  /** @type {(free: boolean[]) => void} */
  function drawToken(free) {
    values.forEach((value, place) => {
      value.classList.toggle("mygpt-chosen", place === state.get("token"));
      value.style.display = free[place] ? "" : "none";
    });
  }
  function drawNeuron() {
    const neuron = state.get("neuron");
    const numbers = tokens.map((_, place) => valueAt(place, neuron));
    numbers.forEach((value, place) => {
      const { start, size } = barBox(value, toX);
      bars[place].setAttribute("x", start.toFixed(1));
      bars[place].setAttribute("width", size.toFixed(1));
      bars[place].classList.toggle("mygpt-negative", value < 0);
      values[place].textContent = text(value);
    });
    node.setAttribute(
      "aria-label",
      `Activation of neuron ${neuron} at every token: ${numbers
        .map((value, place) => `${tokens[place]} ${text(value)}`)
        .join(", ")}.`,
    );
  }
  return { node, lay, drawToken, drawNeuron };
}

/** The heatmap of all activations with the strip at its right.
 * @type {(state: Memory.State) => Omit<Kit.NeuronMap, "lay" | "paint" | "drawToken" | "drawNeuron"> & { head: HTMLElement; lay(): void; paint(): void; drawToken(): void; drawNeuron(): void }} */
function mapView(state) {
  const strip = stripView(state);
  const stripHead = html("span", { class: "mygpt-strip-head", "aria-hidden": "true" }, "activation");
  /** @type {Kit.TextAt} */
  const textAt = (row, neuron) => text(state.valueAt(row, neuron));
  const map = neuronMap(state, { textAt, beside: [strip.node], over: [stripHead] });
  map.fill();
  const out = html("span");
  const head = html(
    "div",
    { class: "mygpt-head" },
    html("p", { class: "mygpt-at mygpt-number" }, out),
    map.heat.legend,
  );
  const paint = () => map.paint(state.activations, state.limit, DECIMALS);
  function lay() {
    map.lay(state);
    strip.lay();
    paint();
  }
  const drawToken = () => strip.drawToken(map.drawToken(state.get("token")));
  function drawNeuron() {
    const [neuron, token] = [state.get("neuron"), state.get("token")];
    map.drawNeuron(neuron, textAt(token, neuron));
    out.textContent = `Neuron ${neuron}`;
    strip.drawNeuron();
    map.heat.canvas.setAttribute("aria-label", `${state.get("description")} ${sentenceOf(state)}`);
  }
  return { ...map, head, lay, paint, drawToken, drawNeuron };
}

/** What triggers the chosen neuron, and what it promotes.
 * @type {(state: Memory.State) => Kit.View} */
function neuronView(state) {
  const { triggers, promoted } = state;
  /** @type {(lists: Kit.TextAndNumber[][]) => number} */
  const count = (lists) => Math.max(1, ...lists.map((pairs) => pairs.length));
  const triggerTable = pairTable(
    "Texts that trigger the neuron, and its activation there",
    "Triggers",
    "activation",
    count(triggers),
    DECIMALS,
  );
  const promotedTable = pairTable(
    "Words that the neuron promotes, and their scores",
    "Promoted words",
    "score",
    count(promoted),
    DECIMALS,
  );
  const node = html("div", { class: "mygpt-part" }, triggerTable.node, promotedTable.node);
  const draw = () => {
    triggerTable.show(triggers[state.get("neuron")]);
    promotedTable.show(promoted[state.get("neuron")]);
  };
  return { node, draw };
}

/** The chosen token and its strongest neurons.
 * @type {(state: Memory.State) => { node: HTMLElement; select: HTMLElement; drawToken(): void; drawNeuron(): void }} */
function tokenView(state) {
  const select = tokenSelect(state);
  select.fill();
  const list = neuronList(state, {
    count: Math.min(STRONGEST, state.neurons),
    parts: ["neuron", "activation", "word"],
    neuronAt: (i) => state.ranked[i],
    attributes: { "aria-label": "Strongest neurons at the token" },
  });
  const rankOut = html("span", { class: "mygpt-number mygpt-rank" });
  const steps = rankSteps(state);
  const heads = ["Strongest", "activation", "promotes"].map((name) => html("span", {}, name));
  const node = html(
    "div",
    { class: "mygpt-part" },
    select.node,
    html("p", { class: "mygpt-strong-head" }, ...heads),
    list.node,
    html("p", { class: "mygpt-steps" }, rankOut, ...steps.nodes),
  );
  function drawToken() {
    const token = state.get("token");
    select.draw(token);
    list.draw((neuron) => [
      `Neuron ${neuron}`,
      text(state.valueAt(token, neuron)),
      state.promoted[neuron][0]?.text ?? "–",
    ]);
  }
  function drawNeuron() {
    const neuron = state.get("neuron");
    list.press();
    steps.draw();
    rankOut.textContent = `Neuron ${neuron} is number ${
      state.ranked.indexOf(neuron) + 1
    } of ${state.neurons} at this token.`;
  }
  return { node, select: select.select, drawToken, drawNeuron };
}

/** @type {(state: Memory.State) => Kit.View} */
function settingView(state) {
  const node = html("p", { class: "mygpt-setting" });
  const draw = () => {
    const token = state.get("token");
    node.textContent = `Neuron ${state.get("neuron")} and token ${token}, “${state.tokens[token]}”.`;
  };
  return { node, draw };
}

/** @type {(given: Kit.Given<Memory.Traits>) => () => void} */
function render({ model, el }) {
  const state = memoryState(model);
  const [map, neuron, token, setting] = allViews(state, mapView, neuronView, tokenView, settingView);
  const below = html("div", { class: "mygpt-below" }, neuron.node, token.node);
  const numbers = [state.triggers, state.promoted].flat(2).map((pair) => lengthOf(pair.number));
  below.style.setProperty("--digits", String(Math.max(state.longest, ...numbers)));
  const voice = speaker();
  const root = html(
    "div",
    { class: "mygpt-explorer mygpt-memory", role: "group", "aria-label": "Explorer of memories" },
    map.head,
    map.node,
    below,
    setting.node,
    voice.node,
  );

  function drawNeuron() {
    for (const part of [map, token]) part.drawNeuron();
    for (const part of [neuron, setting]) part.draw();
  }
  function drawToken() {
    state.rank();
    for (const part of [map, token]) part.drawToken();
    drawNeuron();
  }
  /** @type {(update: () => void) => () => void} */
  const speaking = (update) => () => {
    update();
    voice.say(sentenceOf(state));
  };
  return mount({
    model,
    el,
    root,
    undo: [map.follow(token.select), themed(map.paint), voice.stop],
    listeners: { token: speaking(drawToken), neuron: speaking(drawNeuron) },
    layout: (width) => {
      state.width = width;
      layOut(state);
      map.lay();
      drawToken();
      map.drawHint();
    },
  });
}

export default { render };
