// What the pictures of descent share: the steps taken, and the start in the reader's hand.

import { axisHandle } from "../kit/controls.mjs";
import { svg } from "../kit/elements.mjs";
import { clamp, fixed } from "../kit/geometry.mjs";
import { dotsAt, emptyPath } from "../kit/picture.mjs";
import { LIMITS } from "./words.mjs";

export const STRIDE = 0.05; // of the start
const FAR = 4000; // px, beyond which nothing is drawn

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
 * The points to be drawn: none after the first that follows the last one within the picture, and
 * none that is as good as on the one before.
 * @type {(points: Kit.Pair[], frame: Kit.Box, least?: number) => Kit.Pair[]}
 */
export function thinned(points, frame, least = 3) {
  const end = points.findLastIndex((point) => isWithin(point, frame)) + 2;
  /** @type {Kit.Pair[]} */
  const kept = [];
  for (const [i, point] of points.slice(0, end).entries()) {
    if (isFar(point)) break;
    const [a, b] = kept.at(-1) ?? [Infinity, Infinity];
    if (Math.hypot(point[0] - a, point[1] - b) >= least || i === points.length - 1) kept.push(point);
  }
  return kept;
}

/** @type {(points: Kit.Pair[]) => string} */
export const pathThrough = (points) =>
  points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** The marks of the steps taken; `draw(places, axes)` puts them on the picture.
 * @type {() => { nodes: SVGElement[]; draw(places: Kit.Pair[], axes: Kit.Axes): void }} */
export function stepMarks() {
  const names = ["mygpt-way", "mygpt-steps-taken", "mygpt-first", "mygpt-last"];
  const [line, steps, first, last] = names.map(emptyPath);
  /** @type {(places: Kit.Pair[], axes: Kit.Axes) => void} */
  const draw = (places, axes) => {
    const points = places.map(([x, y]) => /** @type {Kit.Pair} */ ([axes.scaleX(x), axes.scaleY(y)]));
    const few = thinned(points, axes);
    line.setAttribute("d", pathThrough(few));
    steps.setAttribute("d", dotsAt(few.slice(1, -1), 2.4));
    first.setAttribute("d", dotsAt(points.slice(0, 1), 6));
    last.setAttribute(
      "d",
      dotsAt(
        points.slice(-1).filter((point) => isWithin(point, axes)),
        6,
      ),
    );
  };
  return { nodes: [line, steps, first, last], draw };
}

/** The handle of the first weight of the start, on the x axis.
 * @type {(state: Descent.State, name: string) => Omit<Kit.Handle, "show"> & { show(): void }} */
export function startHandle(state, name) {
  const [[low, high]] = LIMITS;
  const handle = axisHandle(`Start ${name}`, (i) => state.moveTo(low + i * STRIDE));
  const show = () => {
    const [start] = state.start;
    handle.show(Math.round((start - low) / STRIDE), Math.round((high - low) / STRIDE), `${name} = ${fixed(start, 2)}`);
  };
  return { ...handle, show };
}

/** The name of the upward axis, inside the picture.
 * @type {(place: { left: number; top: number }, text: string) => SVGElement} */
export const axisName = ({ left, top }, text) =>
  svg("text", { class: "mygpt-axis-name", x: left + 8, y: top + 14 }, text);
