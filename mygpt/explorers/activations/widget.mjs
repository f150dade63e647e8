import { axisHandle, choice } from "../kit/controls.mjs";
import { cursorPlot, curveHint, curveTable, shownAmong } from "../kit/curves.mjs";
import { drawAll, explorerRoot, html, svg } from "../kit/elements.mjs";
import { clamp, extent, fixed, floats, linearTicks } from "../kit/geometry.mjs";
import { mount, store, allViews } from "../kit/mounting.mjs";
import { nearestIndex, padded, powerOfTen } from "../kit/parts/picture.mjs";

const DECIMALS = 4;
const LEAST_DIP = 0.005;
const ROOM = 0.05; // of the height, under the curves: the handle covers none
const QUANTITIES = /** @type {[Activations.Quantity, string][]} */ (Object.entries({ value: "Value", slope: "Slope" }));

/** The rows of the explorer's data, by role.
 * @param {DataView} view
 * @param {{ names: string[]; points: number; hasPhi: boolean; compare: string[] }} parts */
export function unpackActivations(view, { names, points, hasPhi, compare }) {
  const numbers = floats(view);
  let next = 0;
  const row = () => numbers.subarray(next, (next += points));
  return {
    x: row(),
    value: names.map(row),
    slope: names.map(row),
    phi: hasPhi ? row() : null,
    difference: compare.length ? row() : null,
  };
}

/** The number with its unit, a power of ten; without one it has as many decimals as the curves.
 * @type {(number: number, exponent: number) => string} */
export function differenceText(number, exponent) {
  return exponent ? `${fixed(number, 2)} × ${powerOfTen(exponent)}` : fixed(number, DECIMALS);
}

/** Largest step between neighbours that still counts as a curve, not as a jump.
 * @type {(limits: Kit.Pair) => number} */
export function jumpOf([low, high]) {
  return 0.25 * (high - low);
}

/** Where a curve is lowest, if that is one dip: not at an end, as of a curve that falls off on both sides, nor on flat
 * ground beside it, nor in two places.
 * @type {(list: Float32Array) => number | null} */
export function dipOf(list) {
  const lowest = Math.min(...list);
  const [first, last] = [list.indexOf(lowest), list.lastIndexOf(lowest)];
  if (first === 0 || last === list.length - 1) return null;
  if (Math.max(...list.subarray(first, last + 1)) - lowest > LEAST_DIP) return null;
  const deep = Math.min(Math.max(...list.subarray(0, first)), Math.max(...list.subarray(last + 1))) - lowest;
  return deep > LEAST_DIP ? Math.round((first + last) / 2) : null; // of numbers that are rounded
}

/** The traits are position, quantity and visible; the data lie in the state by role.
 * @param {Kit.Model<Activations.Traits & Kit.Described>} model */
export function activationsState(model) {
  const [names, compare, points] = [model.get("names"), model.get("compare"), model.get("points")];
  const [places, exponent] = [model.get("places"), model.get("exponent")];
  const data = unpackActivations(model.get("data"), { names, points, compare, hasPhi: model.get("has_phi") });
  const { x } = data;
  const domain = /** @type {Kit.Pair} */ ([x[0], x[points - 1]]);
  /** @type {(value: number) => number} */
  const indexOf = (value) => nearestIndex(value, x[0], (domain[1] - x[0]) / (points - 1), points);
  const state = store(model, {
    ...data,
    names,
    compare,
    exponent,
    domain,
    indexOf,
    hovered: /** @type {number | null} */ (null),
    width: 640,
    /** @returns {number} */
    get at() {
      return indexOf(this.get("position"));
    },
    /** @returns {[number, Float32Array][]} */
    get shown() {
      return shownAmong(this[this.get("quantity")], this);
    },
  });
  const moveTo = (/** @type {number} */ at) => state.write({ position: Number(x[at].toFixed(places)) });
  const xText = (/** @type {number} */ at) => fixed(x[at], places);
  return Object.assign(state, { moveTo, xText });
}

/** @type {(state: Activations.State) => string} */
const drawnText = (state) => `The ${state.quantity}s are drawn.`;

/** The lowest places of the shown curves that have a dip.
 * @type {(state: Activations.State) => { mark: number; at: number; low: number; text: string }[]} */
function dipsOf({ names, shown, xText }) {
  return shown.flatMap(([mark, list]) => {
    const at = dipOf(list);
    if (at === null) return [];
    return [{ mark, at, low: list[at], text: `${names[mark]} is lowest at x = ${xText(at)}: ${fixed(list[at], 3)}.` }];
  });
}

/** @type {(state: Activations.State) => string} */
function sentenceOf({ names, value, slope, shown, at, xText }) {
  const seen = shown.map(
    ([i]) => `${names[i]}: value ${fixed(value[i][at], DECIMALS)}, slope ${fixed(slope[i][at], DECIMALS)}.`,
  );
  return [`At x = ${xText(at)}.`, ...seen].join(" ");
}

/** The switch of the quantity, and the cursor's x.
 * @type {(state: Activations.State) => Kit.CursorView} */
function headView(state) {
  const { phi } = state;
  const switcher = choice("What the curves show", QUANTITIES, (quantity) => state.write({ quantity }));
  const [xOut, phiOut] = [1, 2].map(() => html("span.number"));
  const node = html(
    "div.head",
    switcher,
    html("p.at", html("span", html("i", "x"), " = ", xOut), phi && html("span", "Φ(", html("i", "x"), ") = ", phiOut)),
  );
  const drawCursor = () => {
    xOut.textContent = state.xText(state.at);
    if (phi) phiOut.textContent = fixed(phi[state.at], DECIMALS);
  };
  return { node, draw: () => switcher.show(state.quantity), drawCursor };
}

/** @type {(state: Activations.State) => { node: HTMLElement; handle: HTMLElement; draw(): void; drawCursor(): void; stop(): void }} */
function curvesView(state) {
  const { domain, indexOf, xText } = state;
  const handle = axisHandle("Position x", state.moveTo);
  const lowest = html("p.lowest-said.muted");
  const plot = cursorPlot(state, "position", indexOf, 5, handle.node);
  plot.node.append(handle.node);
  const hint = curveHint(
    state,
    plot,
    (at) => `x = ${xText(at)}`,
    (value) => fixed(value, DECIMALS),
  );
  const draw = () => {
    const { width } = state;
    const limits = extent(state[state.quantity]) ?? [0, 1];
    const height = Math.round(clamp(width * 0.48, 240, 340));
    const [bottom, top] = padded(limits, 0.05);
    const y = /** @type {Kit.Pair} */ ([bottom - ROOM * (top - bottom), top]);
    plot.draw(
      state.shown,
      {
        width,
        height,
        margin: { left: 38, right: 14, top: 26, bottom: 50 },
        x: { domain, ticks: linearTicks(...domain, width / 56), strong: 0, label: "x", drop: 26 },
        y: { domain: y, ticks: linearTicks(...y, height / 46), strong: 0, label: state.quantity },
      },
      jumpOf(limits),
    );
    const { scaleX, scaleY } = plot.axes;
    const dips = dipsOf(state);
    plot.front.replaceChildren(
      ...dips.map(({ mark, at, low }) =>
        svg(`circle.dip.curve-${mark}`, { cx: scaleX(state.x[at]), cy: scaleY(low), r: 4 }),
      ),
    );
    lowest.textContent = dips.map(({ text }) => text).join(" ");
    lowest.hidden = !dips.length;
    handle.place(plot.axes);
    hint.hide();
  };
  const drawCursor = () => {
    plot.drawCursor(state.shown);
    handle.show(state.at, state.x.length - 1, `x = ${xText(state.at)}`);
    plot.root.ariaLabel = `${state.description} ${drawnText(state)} ${sentenceOf(state)}`;
  };
  return { node: html("div", plot, lowest), handle: handle.node, draw, drawCursor, stop: plot.stop };
}

/** @type {(state: Activations.State) => Kit.CursorView} */
const tableView = (state) =>
  curveTable(state, {
    caption: "Value and slope of every curve at x",
    heading: "Curve",
    columns: { value: "value", slope: "slope" },
    text: (key, i) => fixed(state[key][i][state.at], DECIMALS),
  });

/** The difference of two curves, magnified, with the cursor of the curves.
 * @type {(state: Activations.State, difference: Float32Array, handle: HTMLElement) => Kit.CursorView & Kit.Stopped} */
function differenceView(state, difference, handle) {
  const { compare, domain, exponent } = state;
  /** @type {[string, Kit.Numbers][]} */
  const curves = [["ink", difference]];
  const plot = cursorPlot(state, "position", state.indexOf, 4.5, handle);
  const out = html("span.number.difference.bold");
  const title = html("p.title.ends", html("span", html("bdi", compare[0]), " − ", html("bdi", compare[1])), out);
  const label = exponent ? `difference × ${powerOfTen(exponent)}` : "difference";
  const draw = () => {
    const width = plot.node.clientWidth || state.width;
    const y = padded(extent([difference]) ?? [0, 1], 0.12);
    plot.draw(curves, {
      width,
      height: 166,
      margin: { left: 38, right: 14, top: 26, bottom: 22 },
      x: { domain, ticks: linearTicks(...domain, width / 52), strong: 0 },
      y: { domain: y, ticks: linearTicks(...y, 5), strong: 0, label },
    });
  };
  const drawCursor = () => {
    const text = differenceText(difference[state.at], exponent);
    plot.drawCursor(curves);
    out.textContent = text;
    plot.root.ariaLabel = `${compare.join(" minus ")}: ${text} at x = ${state.xText(state.at)}.`;
  };
  const node = html("div.magnified", title, plot);
  return { node, draw, drawCursor, stop: plot.stop };
}

/** @type {(given: Kit.Given<Activations.Traits>) => () => void} */
function render({ model, el }) {
  const state = activationsState(model);
  const [head, curves, table] = allViews(state, headView, curvesView, tableView);
  const magnified = state.difference ? [differenceView(state, state.difference, curves.handle)] : [];
  const views = [head, curves, table, ...magnified];
  const below = html("div.below", table, magnified);
  const drawCursor = () => views.forEach((view) => view.drawCursor());
  const draw = () => {
    drawAll(views);
    drawCursor();
  };
  const said = () => sentenceOf(state);
  return mount({ model, el }, explorerRoot("activations", "Explorer of activations", head, curves, below), state, {
    undo: [curves.stop, ...magnified.map(({ stop }) => stop)],
    listeners: {
      position: [drawCursor, said],
      quantity: [draw, () => `${drawnText(state)} ${said()}`],
      visible: [draw, said],
    },
    layout: draw,
  });
}

export default { render };
