import { cursorPlot, curveHint, curveTable, shownAmong } from "../kit/curves.mjs";
import {
  axisHandle, choice, clamp, extent, floats, html, linearTicks, mount, slider, speaker, store, svg,
  tick,
} from "../kit/drawing.mjs";
import { logTicks, nearestIndex, padded, significant, spread } from "../kit/picture.mjs";

const QUANTITIES = [["activations", "Std of activations"], ["gradients", "Length of gradient"]];
const NAMES = {
  activations: "standard deviation of the activations",
  gradients: "length of the gradient",
};
const NARROW = 520; // px: under it no names at the ends of the curves

/**
 * The curves of one setting, as log10, one list per kind. On the wire each stack has one number
 * for the input and one for each of its own layers, in the order kind, gain, width, bias, depth.
 */
export function curvesAt(numbers, { kinds, gains, widths, biases, depths }, at) {
  const block = depths.reduce((total, depth) => total + depth + 1, 0);
  const before = depths.slice(0, at.depth).reduce((total, depth) => total + depth + 1, 0);
  return Array.from({ length: kinds }, (_, kind) => {
    const row = ((kind * gains + at.gain) * widths + at.width) * biases + at.bias;
    const start = row * block + before;
    return numbers.subarray(start, start + depths[at.depth] + 1);
  });
}

/** The span of the log axis: the curves in view with some room, and never less than half a decade. */
export function logDomain(lists) {
  const [low, high] = extent(lists) ?? [-1, 1];
  const [from, to] = padded([low, high], 0.05);
  const missing = Math.max(0, 0.5 - (to - from)) / 2;
  return [from - missing, to + missing];
}

/** In words: where a curve of log10 begins, where it ends, and whether it rises between them. */
export function trend(curve) {
  const first = curve.findIndex((value) => !Number.isNaN(value));
  const last = curve.length - 1;
  const change = curve[last] - curve[first];
  const way = Math.abs(change) < 0.02 ? "hardly changes," : change > 0 ? "rises" : "falls";
  const at = (layer) => `${significant(10 ** curve[layer])} at ${layer ? `layer ${layer}` : "the input"}`;
  return `${way} from ${at(first)} to ${at(last)}`;
}

/** The traits are gain, width, depth, bias, quantity, visible and layer. */
function depthState(model) {
  const scales = Object.fromEntries(
    ["gains", "widths", "biases", "depths"].map((name) => [name, model.get(name)]));
  const names = model.get("kinds");
  const numbers = floats(model.get("data"));
  const half = numbers.length / 2;
  return store(model, {
    names,
    scales,
    data: { activations: numbers.subarray(0, half), gradients: numbers.subarray(half) },
    activations: null, // the curves of the setting, and the layers of their points
    gradients: null,
    x: [],
    hovered: null,
    width: 640,
    get depth() { return this.x.length - 1; },
    get at() { return Math.min(this.get("layer"), this.depth); },
    get shown() { return shownAmong(this[this.get("quantity")], this); },
    moveTo(layer) { this.write({ layer }); },
  });
}

/** Takes the curves of the setting from the data. */
function choose(state) {
  const { scales, names, data, get } = state;
  const { gains, widths, biases, depths } = scales;
  const counts = {
    kinds: names.length, gains: gains.length, widths: widths.length, biases: biases.length, depths,
  };
  const at = Object.fromEntries([["gain", gains], ["width", widths], ["depth", depths],
    ["bias", biases]].map(([trait, values]) => [trait, values.indexOf(get(trait))]));
  for (const [key] of QUANTITIES) state[key] = curvesAt(data[key], counts, at);
  state.x = Array.from({ length: get("depth") + 1 }, (_, layer) => layer);
}

const numberText = (power) => significant(10 ** power);
const layerText = (layer) => (layer === 0 ? "Input" : `Layer ${layer}`);
const placeText = ({ at, depth }) => (at === 0 ? "the input" : `layer ${at} of ${depth}`);

function settingText({ get, depth }) {
  const biases = get("bias") ? "with biases" : "without biases";
  return `Gain ${get("gain")}, width ${get("width")}, ${depth} layers, ${biases}.`;
}

function sentenceOf(state) {
  const { names, shown, at } = state;
  const read = shown.map(([i, list]) => `${names[i]} ${numberText(list[at])}`).join(", ");
  return `${NAMES[state.get("quantity")]} at ${placeText(state)}: ${read || "no stack shown"}.`;
}

/** The sliders of those settings that have several values. */
function settingsView({ scales, get, write }) {
  const parts = [
    ["gain", "Gain", scales.gains, (value) => `× ${value}`],
    ["width", "Width", scales.widths, String],
    ["depth", "Layers", scales.depths, String],
  ].filter(([, , values]) => values.length > 1).map(([trait, label, values, format]) =>
    [trait, slider(label, values, format, (value) => write({ [trait]: value }))]);
  if (scales.biases.length > 1) {
    parts.push(["bias", tick(["Biases"], (bias) => write({ bias }))]);
  }
  const node = html("div", { class: "mygpt-controls" }, ...parts.map(([, part]) => part.node));
  return { node, draw: () => parts.forEach(([trait, part]) => part.show(get(trait))) };
}

/** The switch of the quantity, and the cursor's layer. */
function headView(state) {
  const switcher = choice("What the curves show", QUANTITIES, (quantity) => state.write({ quantity }));
  const out = html("span", { class: "mygpt-number" });
  const node = html("div", { class: "mygpt-head" },
    switcher.node, html("p", { class: "mygpt-at" }, out));
  const drawCursor = () => {
    const { at, depth } = state;
    out.textContent = `${layerText(at)}${at === 0 ? "" : ` of ${depth}`}`;
  };
  return { node, draw: () => switcher.show(state.get("quantity")), drawCursor };
}

/** The axes for the curves that are shown; a wide picture has their names at the right. */
function frameOf({ shown, width, depth }) {
  const height = Math.round(clamp(width * 0.5, 260, 350));
  const domain = logDomain(shown.map(([, list]) => list));
  const ticks = logTicks(...domain, height / 40);
  const longest = Math.max(...ticks.map(({ label }) => label.length));
  return {
    width,
    height,
    margin: { left: 15 + 7 * longest, right: width < NARROW ? 16 : 88, top: 8, bottom: 52 },
    x: { domain: [0, depth], ticks: linearTicks(0, depth, width / 60, 1), label: "layer", drop: 27 },
    y: { domain, ticks, strong: 0 },
  };
}

/** The names at the ends of the curves, or what to do when there is no curve. */
function endTexts({ names, shown, width, depth }, { scaleY, left, right, top, bottom }) {
  if (!shown.length) {
    const place = { x: (left + right) / 2, y: top + 34, "text-anchor": "middle" };
    return [svg("text", place, "No stack is shown. Tick one below.")];
  }
  if (width < NARROW) return [];
  const ends = spread(shown.map(([, list]) => scaleY(list[depth])), 17, top, bottom - 4);
  return shown.map(([i], n) => svg("text", {
    class: `mygpt-end mygpt-curve-${i}`, x: right + 10, y: ends[n], dy: "0.34em",
  }, names[i]));
}

function curvesView(state) {
  const toLayer = (x) => nearestIndex(x, 0, 1, state.x.length);
  const handle = axisHandle("Layer", (layer) => state.moveTo(layer));
  const plot = cursorPlot(state, toLayer, 5, handle.node);
  plot.node.append(handle.node);
  const hint = curveHint(state, plot, layerText, numberText);
  const draw = () => {
    plot.draw(state.shown, frameOf(state));
    plot.front.replaceChildren(...endTexts(state, plot.axes));
    handle.place(plot.axes);
    hint.draw();
  };
  const drawCursor = () => {
    const { names, shown, at, depth } = state;
    plot.drawCursor(shown);
    handle.show(at, depth, placeText(state));
    const trends = shown.map(([i, list]) => ` ${names[i]} ${trend(list)}.`).join("");
    plot.root.setAttribute("aria-label",
      `${state.get("description")} ${sentenceOf(state)}${trends} ${settingText(state)}`);
  };
  return { node: plot.node, draw, drawCursor, stop: plot.stop };
}

const tableView = (state) => curveTable(state, {
  caption: "Standard deviation and gradient of every stack at the layer",
  heading: "Stack",
  columns: [["activations", "std of activations"], ["gradients", "length of gradient"]],
  text: (key, i) => numberText(state[key][i][state.at]),
});

function render({ model, el }) {
  const state = depthState(model);
  const views = [settingsView, headView, curvesView, tableView].map((view) => view(state));
  const [settings, head, curves, table] = views;
  const setting = html("p", { class: "mygpt-setting" });
  const voice = speaker();
  const root = html(
    "div", { class: "mygpt-explorer mygpt-depth", role: "group", "aria-label": "Explorer of depth" },
    settings.node, head.node, curves.node, html("div", { class: "mygpt-below" }, table.node), setting,
    voice.node);

  const drawCursor = () => [head, curves, table].forEach((view) => view.drawCursor());
  const draw = () => {
    choose(state);
    views.forEach((view) => view.draw());
    setting.textContent = settingText(state);
    drawCursor();
  };
  const speaking = (update, more = () => "") => () => {
    update();
    voice.say(`${sentenceOf(state)} ${more()}`.trim());
  };
  const drawn = ["gain", "width", "depth", "bias", "quantity", "visible"];
  return mount({
    model, el, root,
    undo: [curves.stop, voice.stop],
    listeners: {
      ...Object.fromEntries(drawn.map((trait) => [trait, speaking(draw, () => settingText(state))])),
      layer: speaking(drawCursor),
    },
    layout: (width) => {
      state.width = width;
      draw();
    },
  });
}

export default { render };
