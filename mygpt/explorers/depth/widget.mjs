import { choice, named, tick, traitSlider } from "../kit/controls.mjs";
import { curveTable, shownAmong } from "../kit/curves.mjs";
import { drawAll, explorerRoot, flag, html, paragraph } from "../kit/elements.mjs";
import { floats, times } from "../kit/geometry.mjs";
import { allViews, mount, store } from "../kit/mounting.mjs";
import { curvesView } from "./picture.mjs";
import { curvesAt } from "./stored.mjs";
import { fateText, layerText, numberText, sentenceOf, settingText } from "./words.mjs";

const FEW = 4; // values that are buttons
const QUANTITIES = /** @type {[Depth.Quantity, string][]} */ (
  Object.entries({ activations: "Std of activations", gradients: "Length of gradient" })
);

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
  state.x = times(get("depth") + 1, (layer) => layer);
}

/** A slider over the values of a trait, or buttons where there are few.
 * @type {(state: Depth.State, trait: "gain" | "width" | "depth", label: string, values: number[], format: (value: number) => string) => Kit.View} */
function settingOf(state, trait, label, values, format) {
  if (values.length > FEW) return traitSlider(state, trait, label, values, format);
  /** @type {[number, string][]} */
  const options = values.map((value) => [value, format(value)]);
  const part = named(label, options, (value) => state.write({ [trait]: value }));
  return { node: part.node, draw: () => part.show(state.get(trait)) };
}

/** The controls of those settings that have several values.
 * @type {(state: Depth.State) => Kit.View} */
function settingsView(state) {
  const { gains, widths, biases, depths } = state.scales;
  const bias = tick(["Biases"], (on) => state.write({ bias: on }));
  const parts = [
    { values: gains, ...settingOf(state, "gain", "Gain", gains, (value) => `× ${value}`) },
    { values: widths, ...settingOf(state, "width", "Width", widths, String) },
    { values: depths, ...settingOf(state, "depth", "Layers", depths, String) },
    { values: biases, node: bias.node, draw: () => bias.show(state.bias) },
  ].filter(({ values }) => values.length > 1);
  const node = html("div.controls", parts);
  return { node, draw: () => drawAll(parts) };
}

/** The switch of the quantity, and under all controls what becomes of it.
 * @type {(state: Depth.State) => Kit.View & { switcher: HTMLElement }} */
function headView(state) {
  const switcher = choice("What the curves show", QUANTITIES, (quantity) => state.write({ quantity }));
  const said = html("p.said.bold");
  const draw = () => {
    switcher.show(state.quantity);
    said.textContent = fateText(state);
  };
  return { node: said, switcher: switcher.node, draw };
}

/** The numbers at the cursor's layer.
 * @type {(state: Depth.State) => Kit.CursorView} */
function tableView(state) {
  const table = curveTable(state, {
    caption: "Standard deviation and gradient of every stack at the layer",
    heading: "Stack",
    columns: { activations: "std of activations", gradients: "length of gradient" },
    text: (key, i) => numberText(state[key][i][state.at]),
  });
  const corner = /** @type {Element} */ (table.node.querySelector("th"));
  flag(corner, "at");
  const drawCursor = () => {
    const { at, depth } = state;
    corner.textContent = `${layerText(at)}${at === 0 ? "" : ` of ${depth}`}`;
    table.drawCursor();
  };
  return { ...table, drawCursor };
}

/** @type {(given: Kit.Given<Depth.Traits>) => () => void} */
function render({ model, el }) {
  const state = depthState(model);
  const views = allViews(state, settingsView, headView, curvesView, tableView);
  const [settings, head, curves, table] = views;
  flag(head.node, "few", state.names.length < 3);
  const setting = paragraph("mygpt-setting", () => settingText(state));
  const explorer = explorerRoot(
    "depth",
    "Explorer of depth",
    html("div.switches.flow", settings, head.switcher),
    head,
    curves,
    html("div.below", table),
    setting,
  );

  const drawCursor = () => [curves, table].forEach((view) => view.drawCursor());
  const draw = () => {
    choose(state);
    drawAll(views);
    setting.draw();
    drawCursor();
  };
  const said = () => sentenceOf(state);
  const all = () => `${said()} ${fateText(state)} ${settingText(state)}`;
  return mount({ model, el }, explorer, state, {
    undo: [curves.stop],
    listeners: { "gain width depth bias quantity visible": [draw, all], layer: [drawCursor, said] },
    layout: draw,
  });
}

export default { render };
