// The curves over the layers, with the cursor that the reader moves.

import { axisHandle } from "../kit/controls.mjs";
import { cursorPlot, curveHint } from "../kit/curves.mjs";
import { svg } from "../kit/elements.mjs";
import { clamp, linearTicks } from "../kit/geometry.mjs";
import { logTicks, nearestIndex, spread } from "../kit/parts/picture.mjs";
import { fates, spanOf, trend } from "./stored.mjs";
import { fateText, layerText, numberText, placeText, sentenceOf, settingText } from "./words.mjs";

const NARROW = 520; // px: under it no names at the ends of the curves
const MARGIN = { top: 8, bottom: 52 };
const KNOB = 18; // px over the axis that are the handle's

/** The axes for the curves that are shown; a wide picture has their names at the right.
 * @type {(state: Depth.State) => Kit.Frame} */
function frameOf({ shown, width, depth, quantity }) {
  const height = Math.round(clamp(width * 0.5, 240, 350));
  const lists = shown.map(([, list]) => list);
  const [low, high] = spanOf(lists, quantity);
  const ticks = logTicks(low, high, height / 40);
  const below = ((high - low) * KNOB) / (height - MARGIN.top - MARGIN.bottom - KNOB);
  const longest = Math.max(...ticks.map(({ label }) => label.length));
  return {
    width,
    height,
    margin: { ...MARGIN, left: 15 + 7 * longest, right: width < NARROW ? 16 : 88 },
    x: { domain: [0, depth], ticks: linearTicks(0, depth, width / 60, 1), label: "layer", drop: 27 },
    y: { domain: [low - below, high], ticks, strong: 0 },
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
  return shown.map(([i], n) => svg(`text.end.curve-${i}`, { x: right + 10, y: ends[n], dy: "0.34em" }, names[i]));
}

/** The bands where a signal has died or exploded, and their names.
 * @type {(state: Depth.State, axes: Kit.Axes) => { bands: SVGElement[]; texts: SVGElement[] }} */
function fateMarks({ shown, quantity }, { scaleY, left, right, bottom }) {
  const lists = shown.map(([, list]) => list);
  const back = quantity === "gradients";
  const [, top] = spanOf(lists, quantity);
  const found = fates(lists, quantity, [scaleY.invert(bottom), top]);
  const bands = found.map(({ low, high }) =>
    svg("rect.fate", { x: left, width: right - left, y: scaleY(high), height: scaleY(low) - scaleY(high) }),
  );
  const texts = found
    .filter(({ low, high }) => scaleY(low) - scaleY(high) > 20)
    .map(({ text, high }) => {
      const y = text.startsWith("died") ? bottom - 16 : scaleY(high) + 15;
      const place = back ? { x: right - 8, "text-anchor": "end" } : { x: left + 8 }; // where the curves begin
      return svg("text.fate-name.fine.plate", { ...place, y }, text);
    });
  return { bands, texts };
}

/** The picture: all of it anew, or the cursor alone.
 * @type {(state: Depth.State) => Kit.CursorView & Kit.Stopped} */
export function curvesView(state) {
  /** @type {(x: number) => number} */
  const toLayer = (x) => nearestIndex(x, 0, 1, state.x.length);
  const handle = axisHandle("Layer", (layer) => state.moveTo(layer));
  const plot = cursorPlot(state, "layer", toLayer, 5, handle.node);
  plot.node.append(handle.node);
  const hint = curveHint(state, plot, layerText, numberText);
  const draw = () => {
    plot.draw(state.shown, frameOf(state));
    const { bands, texts } = fateMarks(state, plot.axes);
    plot.curves.prepend(...bands);
    plot.front.replaceChildren(...texts, ...endTexts(state, plot.axes));
    handle.place(plot.axes);
    hint.draw();
  };
  const drawCursor = () => {
    const { names, shown, at, depth } = state;
    plot.drawCursor(shown);
    handle.show(at, depth, placeText(state));
    const trends = shown.map(([i, list]) => ` ${names[i]} ${trend(list)}.`).join("");
    plot.root.ariaLabel = `${state.description} ${sentenceOf(state)}${trends} ${fateText(state)} ${settingText(state)}`;
  };
  return { node: plot.node, draw, drawCursor, stop: plot.stop };
}
