// The pictures of the network: what it makes of the curve, and its loss by step.

import { steadyAxes } from "../compute/losses.mjs";
import { drawAll, html, svg, trace } from "../kit/elements.mjs";
import { extent, linearTicks } from "../kit/geometry.mjs";
import { CURVE, REACH, outputs } from "./network.mjs";
import { MAX_STEPS } from "./steps.mjs";
import { numberText, sentenceOf } from "./words.mjs";
import {
  axesWindow,
  dotsAt,
  emptyPath,
  linePath,
  logTicks,
  panel,
  panelWidths,
  picture,
} from "../kit/parts/picture.mjs";

const TALLEST = 1.7; // of the fit
const LOWEST_POWER = -12;
const ENDS = [20, 50, 100, 200, 500, 1000, MAX_STEPS];
const MOST_POINTS = 300;
const GRID = Float64Array.from({ length: 121 }, (_, i) => (2 * REACH * i) / 120 - REACH);

/** @type {(loss: number) => number} */
const powerOf = (loss) => (loss > 0 ? Math.max(Math.log10(loss), LOWEST_POWER) : LOWEST_POWER);

/** What the axes of the losses span: steps up to a round number, and whole powers of ten.
 * @param {number[]} losses */
export function lossSpan(losses) {
  const [low, high] = extent([losses.filter(Number.isFinite).map(powerOf)]) ?? [0, 0];
  const bottom = Math.min(Math.floor(low), -1);
  return {
    end: ENDS.find((end) => end >= losses.length - 1) ?? MAX_STEPS,
    bottom,
    top: Math.max(Math.ceil(high), bottom + 1),
  };
}

/** At most some of the places in a list of that length, evenly spaced, and the last.
 * @type {(length: number, most?: number) => number[]} */
export function sampled(length, most = MOST_POINTS) {
  const stride = Math.ceil(length / most);
  const places = [];
  for (let i = 0; i < length - 1; i += stride) places.push(i);
  return [...places, length - 1];
}

/** The points and the network's curve.
 * @type {(state: Descent.State) => { node: HTMLElement; lay(width: number, height: number): void; draw(): void }} */
function fitPanel(state) {
  const plot = picture();
  const [points, curve] = ["mygpt-points", "mygpt-curve mygpt-fit"].map(emptyPath);
  const view = axesWindow(plot, curve, points);
  let axes = /** @type {Kit.Axes | null} */ (null);
  /** @type {(width: number, height: number) => void} */
  function lay(width, height) {
    axes = plot.frame({
      width,
      height,
      margin: { left: 40, right: 10, top: 6, bottom: 40 },
      x: { domain: [-REACH - 0.1, REACH + 0.1], ticks: linearTicks(-REACH, REACH, 4), label: "x" },
      y: { domain: [-TALLEST, TALLEST], ticks: linearTicks(-1.5, 1.5, 6), strong: 0 },
    });
    view.lay(axes);
    const { scaleX, scaleY } = axes;
    const places = [...CURVE.x].map((x, i) => /** @type {Kit.Pair} */ ([scaleX(x), scaleY(CURVE.y[i])]));
    trace(points, dotsAt(places, 2.6));
  }
  function draw() {
    if (!axes) return;
    const { scaleX, scaleY, left, right } = axes;
    const ys = outputs(state.now.weights, state.activation, GRID).map((y) =>
      Number.isFinite(y) ? Math.max(-9, Math.min(y, 9)) : NaN,
    );
    trace(curve, linePath(GRID, ys, scaleX, scaleY));
    const place = { x: (left + right) / 2, y: scaleY(-1.25), dy: "0.34em", "text-anchor": "middle" };
    plot.front.replaceChildren(
      ...(state.now.lost ? [svg("text", place, "The network’s curve is too large to draw.")] : []),
    );
    plot.root.ariaLabel = `The ${CURVE.x.length} points of sin 2x, and the network's curve. ${sentenceOf(state)}`;
  }
  return { node: panel("sin 2x, and the network’s curve", plot), lay, draw };
}

/** The loss at every step, on a log scale.
 * @type {(state: Descent.State) => { node: HTMLElement; lay(width: number, height: number): void; draw(): void }} */
function lossPanel(state) {
  const plot = picture();
  const [curve, last] = ["mygpt-curve mygpt-losses", "mygpt-last"].map(emptyPath);
  plot.curves.replaceChildren(curve, last);
  const { lay, frame } = steadyAxes(plot, { left: 15, right: 14 });
  function draw() {
    const { losses, done, lost, loss } = state.now;
    const { end, bottom, top } = lossSpan(losses);
    const { scaleX, scaleY } = frame(
      { domain: [0, end], ticks: linearTicks(0, end, 4, 1), label: "step" },
      { domain: [bottom, top], ticks: logTicks(bottom, top, 6) },
    );
    const places = sampled(losses.length);
    const powers = places.map((i) => (Number.isFinite(losses[i]) ? powerOf(losses[i]) : NaN));
    trace(curve, linePath(places, powers, scaleX, scaleY));
    trace(last, Number.isFinite(loss) ? dotsAt([[scaleX(done), scaleY(powerOf(loss))]], 4.5) : "");
    plot.root.ariaLabel = `The loss at each of ${done} steps, from ${numberText(
      losses[0],
    )} to ${numberText(loss)}${lost ? ", where it is too large" : ""}.`;
  }
  return { node: panel("Loss by step", plot), lay, draw };
}

/** A network: its fit and its loss, side by side where there is room.
 * @type {(state: Descent.State) => Descent.Picture} */
export function networkView(state) {
  const panels = [fitPanel(state), lossPanel(state)];
  const node = html("div.panels", panels);
  /** @type {(width: number) => void} */
  const lay = (width) => {
    const widths = panelWidths(width);
    panels.forEach((one, i) => one.lay(widths[i], widths[i] < width ? 280 : 190));
  };
  const draw = () => drawAll(panels);
  const about = "The loss is the mean squared miss of a network of two layers at the points.";
  return { node, about, lay, draw, stop: [] };
}
