// What the pictures of descent share: the steps taken, and the start in the reader's hand.

import { axisHandle } from "../kit/controls.mjs";
import { svg, trace } from "../kit/elements.mjs";
import { clamp, fixed } from "../kit/geometry.mjs";
import { dotsAt, emptyPath } from "../kit/parts/picture.mjs";
import { LIMITS } from "./words.mjs";

export const STRIDE = 0.05; // of the start
const FAR = 4000; // px, beyond which nothing is drawn
const REST = 2000; // px drawn of a step that ends there
const ARROW = 9; // px
const LETTER = 8.2; // px, at most about
const LINE = 17; // px

/** The nearest start that a hand can choose.
 * @type {(value: number, limits: Kit.Pair) => number} */
export function snapped(value, [low, high]) {
  return Number(clamp(Math.round(value / STRIDE) * STRIDE, low, high).toFixed(2)) || 0;
}

/** @type {(point: Kit.Pair) => boolean} */
export const isFar = ([x, y]) => !(Math.abs(x) < FAR && Math.abs(y) < FAR);

/** @type {(point: Kit.Pair, box: Kit.Box) => boolean} */
const isWithin = ([x, y], { left, right, top, bottom }) => x >= left && x <= right && y >= top && y <= bottom;

/**
 * The points to be drawn: none after the first that follows the last one within the picture, which comes
 * nearer where it is far away, and none that is as good as on the one before.
 * @type {(points: Kit.Pair[], frame: Kit.Box, least?: number) => Kit.Pair[]}
 */
export function thinned(points, frame, least = 3) {
  const end = points.findLastIndex((point) => isWithin(point, frame)) + 2;
  /** @type {Kit.Pair[]} */
  const kept = [];
  for (const [i, point] of points.slice(0, end).entries()) {
    const [a, b] = kept.at(-1) ?? [Infinity, Infinity];
    if (isFar(point)) {
      const part = REST / Math.hypot(point[0] - a, point[1] - b);
      if (part > 0) kept.push([a + part * (point[0] - a), b + part * (point[1] - b)]);
      break;
    }
    if (Math.hypot(point[0] - a, point[1] - b) >= least || i === points.length - 1) kept.push(point);
  }
  return kept;
}

/** @type {(points: Kit.Pair[]) => string} */
export const pathThrough = (points) =>
  points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** Where the steps leave the picture for good, and in which direction; null where they end within.
 * @type {(points: Kit.Pair[], frame: Kit.Box) => { at: Kit.Pair; way: Kit.Pair } | null} */
export function wayOut(points, frame) {
  const last = points.findLastIndex((point) => isWithin(point, frame));
  if (last < 0 || last === points.length - 1) return null;
  const [[a, b], [c, d]] = points.slice(last, last + 2);
  const size = Math.hypot(c - a, d - b);
  if (!(size < Infinity)) return null;
  /** @type {Kit.Pair} */
  const way = [(c - a) / size, (d - b) / size];
  const edges = [(way[0] > 0 ? frame.right : frame.left) - a, (way[1] > 0 ? frame.bottom : frame.top) - b];
  const far = Math.min(...edges.map((edge, i) => (way[i] ? edge / way[i] : Infinity)));
  return { at: [a + far * way[0], b + far * way[1]], way };
}

/** A text of parts, in one line where there is room for it, else in a line for each part.
 * @type {(text: string, room: number) => string[]} */
export const linesOf = (text, room) => (LETTER * text.length <= room ? [text] : text.split(/(?<=[:,]) /));

/** An arrow at the edge of the picture, with what is beyond it in words.
 * @type {(out: ReturnType<typeof wayOut>, frame: Kit.Box, text: string) => SVGElement[]} */
function outMarks(out, { left, right, top, bottom }, text) {
  if (!out) return [];
  const [[x, y], [across, down]] = [out.at, out.way];
  /** @type {(back: number, aside: number) => Kit.Pair} */
  const corner = (back, aside) => [x - back * across - aside * down, y - back * down + aside * across];
  const arrow = [corner(0, 0), corner(ARROW, ARROW / 2), corner(ARROW, -ARROW / 2)];
  const lines = linesOf(text, right - left - 16);
  const wide = LETTER * Math.max(...lines.map((line) => line.length));
  const from = clamp(x > (left + right) / 2 ? x - 14 - wide : x + 14, left + 8, Math.max(right - 8 - wide, left + 8));
  const first = clamp(y + 16, top + 16, bottom - 34 - LINE * (lines.length - 1));
  const said = svg("text.out-name.bold.plate", { x: from, y: first });
  said.append(...lines.map((line, i) => svg("tspan", { x: from, dy: i ? LINE : 0 }, line)));
  return [svg("path.out", { d: `${pathThrough(arrow)}Z` }), said];
}

/** The marks of the steps taken; `draw(places, axes, beyond)` puts them on the picture, and at its edge what is
 * beyond it.
 * @type {() => { nodes: SVGElement[]; draw(places: Kit.Pair[], axes: Kit.Axes, beyond: string): void }} */
export function stepMarks() {
  const out = svg("g");
  const names = ["mygpt-way", "mygpt-steps-taken", "mygpt-first", "mygpt-last"];
  const [line, steps, first, last] = names.map(emptyPath);
  /** @type {(places: Kit.Pair[], axes: Kit.Axes, beyond: string) => void} */
  const draw = (places, axes, beyond) => {
    const points = places.map(([x, y]) => /** @type {Kit.Pair} */ ([axes.scaleX(x), axes.scaleY(y)]));
    const few = thinned(points, axes);
    trace(line, pathThrough(few));
    out.replaceChildren(...outMarks(wayOut(points, axes), axes, beyond));
    trace(steps, dotsAt(few.slice(1, -1), 2.4));
    trace(first, dotsAt(points.slice(0, 1), 6));
    trace(
      last,
      dotsAt(
        points.slice(-1).filter((point) => isWithin(point, axes)),
        6,
      ),
    );
  };
  return { nodes: [line, steps, first, last, out], draw };
}

/** The handle of the first weight of the start, on the x axis.
 * @param {Descent.State} state
 * @param {string} name */
export function startHandle(state, name) {
  const [[low, high]] = LIMITS;
  const handle = axisHandle(`Start ${name}`, (i) => state.moveTo(low + i * STRIDE));
  const show = () => {
    const [start] = state.start;
    handle.show(Math.round((start - low) / STRIDE), Math.round((high - low) / STRIDE), `${name} = ${fixed(start, 2)}`);
  };
  return { ...handle, show };
}

/** The name of a handle, which is moved with it.
 * @type {(name: string) => { node: SVGElement; show(x: number, y: number, anchor?: string): void }} */
export function gripName(name) {
  const node = svg("text.grip-name.plate", name);
  const show = (/** @type {number} */ x, /** @type {number} */ y, anchor = "middle") => {
    for (const [key, value] of Object.entries({ x, y, "text-anchor": anchor })) node.setAttribute(key, String(value));
  };
  return { node, show };
}

/** The name of the handle on the x axis, over it and within the picture.
 * @type {(grip: ReturnType<typeof gripName>, axes: Kit.Axes, value: number) => void} */
export function showGrip(grip, { scaleX, left, right, bottom }, value) {
  grip.show(clamp(scaleX(value), left + 32, right - 28), bottom - 17);
}

/** The name of the upward axis.
 * @type {(x: number, y: number, text: string) => SVGElement} */
export const axisName = (x, y, text) => svg("text.axis-name", { x, y }, text);
