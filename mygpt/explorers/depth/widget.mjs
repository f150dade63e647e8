import { axisHandle, choice, tick, traitSlider } from "../kit/controls.mjs";
import { cursorPlot, curveHint, curveTable, shownAmong } from "../kit/curves.mjs";
import { clamp, extent, floats, html, linearTicks, mount, speaker, store, svg, allViews } from "../kit/drawing.mjs";
import { logTicks, nearestIndex, padded, significant, spread } from "../kit/picture.mjs";

/** @type {[Depth.Quantity, string][]} */
const QUANTITIES = [
  ["activations", "Std of activations"],
  ["gradients", "Length of gradient"],
];
const NAMES = { activations: "standard deviation of the activations", gradients: "length of the gradient" };
const NARROW = 520; // px: under it no names at the ends of the curves

/**
 * The curves of one setting, as log10, one list per kind. On the wire each stack has one number
 * for the input and one for each of its own layers, in the order kind, gain, width, bias, depth.
 * @type {(numbers: Float32Array, counts: Depth.Counts, at: Record<"gain" | "width" | "bias" | "depth", number>) => Float32Array[]}
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

/** The span of the log axis: the curves in view with some room, and never less than half a decade.
 * @type {(lists: Iterable<Iterable<number>>) => Kit.Pair} */
export function logDomain(lists) {
  const [low, high] = extent(lists) ?? [-1, 1];
  const [from, to] = padded([low, high], 0.05);
  const missing = Math.max(0, 0.5 - (to - from)) / 2;
  return [from - missing, to + missing];
}

/** In words: where a curve of log10 begins, where it ends, and whether it rises between them.
 * @type {(curve: Float32Array) => string} */
export function trend(curve) {
  const first = curve.findIndex((value) => !Number.isNaN(value));
  const last = curve.length - 1;
  const change = curve[last] - curve[first];
  const way = Math.abs(change) < 0.02 ? "hardly changes," : change > 0 ? "rises" : "falls";
  /** @type {(layer: number) => string} */
  const at = (layer) => `${significant(10 ** curve[layer])} at ${layer ? `layer ${layer}` : "the input"}`;
  return `${way} from ${at(first)} to ${at(last)}`;
}

/** The traits are gain, width, depth, bias, quantity, visible and layer.
 * @param {Kit.Model<Depth.Traits & Kit.Described>} model */
export function depthState(model) {
  const scales = {
    gains: model.get("gains"),
    widths: model.get("widths"),
    biases: model.get("biases"),
    depths: model.get("depths"),
  };
  const names = model.get("kinds");
  const numbers = floats(model.get("data"));
  const half = numbers.length / 2;
  return store(model, {
    names,
    scales,
    data: { activations: numbers.subarray(0, half), gradients: numbers.subarray(half) },
    activations: /** @type {Float32Array[]} */ ([]), // the curves of the setting, and the layers of their points
    gradients: /** @type {Float32Array[]} */ ([]),
    x: /** @type {number[]} */ ([]),
    hovered: /** @type {number | null} */ (null),
    width: 640,
    get depth() {
      return this.x.length - 1;
    },
    get at() {
      return Math.min(this.get("layer"), this.depth);
    },
    get shown() {
      return shownAmong(this[this.get("quantity")], this);
    },
    moveTo(/** @type {number} */ layer) {
      this.write({ layer });
    },
  });
}

/** Takes the curves of the setting from the data.
 * @type {(state: Depth.State) => void} */
function choose(state) {
  const { scales, names, data, get } = state;
  const { gains, widths, biases, depths } = scales;
  const counts = { kinds: names.length, gains: gains.length, widths: widths.length, biases: biases.length, depths };
  const at = {
    gain: gains.indexOf(get("gain")),
    width: widths.indexOf(get("width")),
    depth: depths.indexOf(get("depth")),
    bias: biases.indexOf(get("bias")),
  };
  for (const [key] of QUANTITIES) state[key] = curvesAt(data[key], counts, at);
  state.x = Array.from({ length: get("depth") + 1 }, (_, layer) => layer);
}

/** @type {(power: number) => string} */
const numberText = (power) => significant(10 ** power);
/** @type {(layer: number) => string} */
const layerText = (layer) => (layer === 0 ? "Input" : `Layer ${layer}`);
/** @type {(state: Depth.State) => string} */
const placeText = ({ at, depth }) => (at === 0 ? "the input" : `layer ${at} of ${depth}`);

/** @type {(state: Depth.State) => string} */
function settingText({ get, depth }) {
  const biases = get("bias") ? "with biases" : "without biases";
  return `Gain ${get("gain")}, width ${get("width")}, ${depth} layers, ${biases}.`;
}

/** @type {(state: Depth.State) => string} */
function sentenceOf(state) {
  const { names, shown, at } = state;
  const read = shown.map(([i, list]) => `${names[i]} ${numberText(list[at])}`).join(", ");
  return `${NAMES[state.get("quantity")]} at ${placeText(state)}: ${read || "no stack shown"}.`;
}

/** The sliders of those settings that have several values.
 * @type {(state: Depth.State) => { node: HTMLElement; draw(): void }} */
function settingsView(state) {
  const { gains, widths, biases, depths } = state.scales;
  const bias = tick(["Biases"], (on) => state.write({ bias: on }));
  const parts = [
    { values: gains, ...traitSlider(state, "gain", "Gain", gains, (value) => `× ${value}`) },
    { values: widths, ...traitSlider(state, "width", "Width", widths, String) },
    { values: depths, ...traitSlider(state, "depth", "Layers", depths, String) },
    { values: biases, node: bias.node, draw: () => bias.show(state.get("bias")) },
  ].filter(({ values }) => values.length > 1);
  const node = html("div", { class: "mygpt-controls" }, ...parts.map((part) => part.node));
  return { node, draw: () => parts.forEach((part) => part.draw()) };
}

/** The switch of the quantity, and the cursor's layer.
 * @type {(state: Depth.State) => { node: HTMLElement; draw(): void; drawCursor(): void }} */
function headView(state) {
  const switcher = choice("What the curves show", QUANTITIES, (quantity) => state.write({ quantity }));
  const out = html("span", { class: "mygpt-number" });
  const node = html("div", { class: "mygpt-head" }, switcher.node, html("p", { class: "mygpt-at" }, out));
  const drawCursor = () => {
    const { at, depth } = state;
    out.textContent = `${layerText(at)}${at === 0 ? "" : ` of ${depth}`}`;
  };
  return { node, draw: () => switcher.show(state.get("quantity")), drawCursor };
}

/** The axes for the curves that are shown; a wide picture has their names at the right.
 * @type {(state: Depth.State) => Kit.Frame} */
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

/** The names at the ends of the curves, or what to do when there is no curve.
 * @type {(state: Depth.State, axes: Kit.Axes) => SVGElement[]} */
function endTexts({ names, shown, width, depth }, { scaleY, left, right, top, bottom }) {
  if (!shown.length) {
    const place = { x: (left + right) / 2, y: top + 34, "text-anchor": "middle" };
    return [svg("text", place, "No stack is shown. Tick one below.")];
  }
  if (width < NARROW) return [];
  const ends = spread(
    shown.map(([, list]) => scaleY(list[depth])),
    17,
    top,
    bottom - 4,
  );
  return shown.map(([i], n) =>
    svg("text", { class: `mygpt-end mygpt-curve-${i}`, x: right + 10, y: ends[n], dy: "0.34em" }, names[i]),
  );
}

/** @type {(state: Depth.State) => { node: HTMLElement; draw(): void; drawCursor(): void; stop(): void }} */
function curvesView(state) {
  /** @type {(x: number) => number} */
  const toLayer = (x) => nearestIndex(x, 0, 1, state.x.length);
  const handle = axisHandle("Layer", (layer) => state.moveTo(layer));
  const plot = cursorPlot(state, "layer", toLayer, 5, handle.node);
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
    plot.root.setAttribute(
      "aria-label",
      `${state.get("description")} ${sentenceOf(state)}${trends} ${settingText(state)}`,
    );
  };
  return { node: plot.node, draw, drawCursor, stop: plot.stop };
}

/** @type {(state: Depth.State) => { node: HTMLElement; draw(): void; drawCursor(): void }} */
const tableView = (state) =>
  curveTable(state, {
    caption: "Standard deviation and gradient of every stack at the layer",
    heading: "Stack",
    columns: [
      ["activations", "std of activations"],
      ["gradients", "length of gradient"],
    ],
    text: (key, i) => numberText(state[key][i][state.at]),
  });

/** @type {(given: Kit.Given<Depth.Traits>) => () => void} */
function render({ model, el }) {
  const state = depthState(model);
  const views = allViews(state, settingsView, headView, curvesView, tableView);
  const [settings, head, curves, table] = views;
  const setting = html("p", { class: "mygpt-setting" });
  const voice = speaker();
  const root = html(
    "div",
    { class: "mygpt-explorer mygpt-depth", role: "group", "aria-label": "Explorer of depth" },
    settings.node,
    head.node,
    curves.node,
    html("div", { class: "mygpt-below" }, table.node),
    setting,
    voice.node,
  );

  const drawCursor = () => [head, curves, table].forEach((view) => view.drawCursor());
  const draw = () => {
    choose(state);
    views.forEach((view) => view.draw());
    setting.textContent = settingText(state);
    drawCursor();
  };
  /** @type {(update: () => void, more?: () => string) => () => void} */
  const speaking =
    (update, more = () => "") =>
    () => {
      update();
      voice.say(`${sentenceOf(state)} ${more()}`.trim());
    };
  const drawn = ["gain", "width", "depth", "bias", "quantity", "visible"];
  return mount({
    model,
    el,
    root,
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
