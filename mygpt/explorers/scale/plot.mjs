// The time of a step by the number of devices.

import { exact } from "../kit/amounts.mjs";
import { axisHandle } from "../kit/controls.mjs";
import { flag, html, svg } from "../kit/elements.mjs";
import { extent, nearestStop } from "../kit/geometry.mjs";
import { dragging, keeping } from "../kit/pointers.mjs";
import { linePath, logTicks, markerPath, padded, picture, sample } from "../kit/parts/picture.mjs";
import { deviceGrid, leastDevices, limitStarts, mostDevices, stepTime } from "./count.mjs";
import { limitParts, roomOf, zonesKept } from "./limits.mjs";
import { duration, many, zonesText } from "./words.mjs";

const HEIGHT = 261;
/** @type {("arithmetic" | "talking")[]} */
const KINDS = ["arithmetic", "talking"];
const NAMES = { arithmetic: "arithmetic", talking: "communication" };
/** @type {(value: number) => number} */
const logOf = (value) => (value > 0 ? Math.log10(value) : NaN);

/** Ticks with 1,000 to 100,000 written out, as the text beside them has them.
 * @type {(ticks: Kit.Tick[]) => Kit.Tick[]} */
const writtenOut = (ticks) =>
  ticks.map(({ at, label }) => ({ at, label: [3, 4, 5].includes(at) ? exact(10 ** at) : label }));

/** @type {[seconds: number, label: string][]} */
const TIMES = [
  [1e-6, "1 µs"],
  [1e-3, "1 ms"],
  [0.01, "10 ms"],
  [0.1, "0.1 s"],
  [1, "1 s"],
  [10, "10 s"],
  [60, "1 min"],
  [600, "10 min"],
  [3600, "1 h"],
  [36_000, "10 h"],
  [86_400, "1 d"],
  [864_000, "10 d"],
  [8_640_000, "100 d"],
  [315_576_000, "10 y"],
  [31_557_600_000, "1,000 y"],
];

/** Ticks of times, in the units that the text beside them has; seconds where no two of these lie on the axis.
 * @type {(low: number, high: number, count: number) => Kit.Tick[]} */
export function timeTicks(low, high, count) {
  const known = TIMES.map(([seconds, label]) => ({ at: Math.log10(seconds), label }));
  const inside = known.filter(({ at }) => at >= low && at <= high);
  if (inside.length > 1) return inside.filter((_, i) => i % Math.ceil(inside.length / count) === 0);
  return writtenOut(logTicks(low, high, count)).map(({ at, label }) => ({ at, label: `${label} s` }));
}

/** Numbers of devices that the handle goes through: eight for each doubling, and every one of the first sixteen.
 * @type {(most: number) => number[]} */
export function deviceStops(most) {
  const stops = [];
  for (let n = 1; n < most; n += 2 ** Math.max(0, Math.floor(Math.log2(n)) - 3)) stops.push(n);
  return [...stops, most];
}

/** Of each number of devices its log, and the logs of the seconds of arithmetic and talking.
 * @type {(run: Scale.Run) => { x: number[]; lists: number[][] }} */
export function timeCurves(run) {
  const counts = deviceGrid(run);
  const times = counts.map((devices) => stepTime({ ...run, devices }));
  return { x: counts.map(logOf), lists: KINDS.map((kind) => times.map((one) => logOf(one[kind]))) };
}

/** Over the picture its title, and the names of the two curves with their seconds now.
 * @type {() => { node: HTMLElement; draw(here: Scale.Times): void }} */
function legendOf() {
  const seconds = KINDS.map(() => html("b.number"));
  const names = KINDS.map((kind, i) => html("span", sample(i), html("span", NAMES[kind], " ", seconds[i])));
  const title = html("p.panel-name", "Time of a step");
  const node = html("div.head", title, html("p.legend", names));
  /** @type {(here: Scale.Times) => void} */
  const draw = (here) =>
    seconds.forEach((one, i) => {
      one.textContent = duration(here[KINDS[i]]);
    });
  return { node, draw };
}

/** The picture in words.
 * @type {(run: Scale.Run, zones: Scale.Zone[]) => string} */
function labelOf(run, zones) {
  const here = stepTime(run);
  const times = KINDS.map((kind) => `${NAMES[kind]} ${duration(here[kind])}`).join(" and ");
  return (
    `Time of a step on 1 to ${exact(mostDevices(run))} devices; on ${exact(run.devices)}, ${times}. `
    + `${zonesText(limitStarts(zones))}.`
  );
}

/** The two curves; the number of devices is moved on them. Shaded: where the memory is too small.
 * @param {Scale.State} state */
export function timePlot(state) {
  const plot = picture();
  flag(plot.root, "swept");
  let stops = [1];
  const zonesOf = zonesKept();
  /** @type {Kit.Axes} */
  let axes;
  /** @type {(place: number) => void} */
  const choose = (place) => {
    if (stops[place] !== state.devices) state.take({ devices: stops[place] });
  };
  const handle = axisHandle("Number of devices", choose);
  plot.node.prepend(handle.node);
  const under = (/** @type {PointerEvent} */ event) => 10 ** axes.scaleX.invert(plot.pointerX(event));
  const undo = dragging(
    plot.node,
    (event) => choose(nearestStop(stops, under(event))),
    keeping(state, "devices"),
    handle.node,
  );
  const legend = legendOf();
  const node = html("div.times", legend, plot);
  /** @type {(run: Scale.Run) => void} */
  const draw = (run) => {
    const { x, lists } = timeCurves(run);
    const narrow = state.width < 420;
    const here = stepTime(run);
    const now = KINDS.map((kind) => logOf(here[kind]));
    const [least, high] = padded(
      extent([...lists, now].map((list) => list.filter((one) => !Number.isNaN(one)))) ?? [0, 1],
    );
    const low = least - 0.07 * (high - least); // room for the knob under the marks
    const end = Math.max(x[x.length - 1], 0.3);
    axes = plot.frame({
      width: state.width,
      height: HEIGHT,
      margin: { left: 54, right: 18, top: roomOf(narrow), bottom: 40 },
      x: { domain: [0, end], ticks: writtenOut(logTicks(0, end, narrow ? 4 : 6)), drop: 33 },
      y: { domain: [low, high], ticks: timeTicks(low, high, 6) },
    });
    const { scaleX, scaleY } = axes;
    const zones = zonesOf(run);
    legend.draw(here);
    const fewest = leastDevices(run);
    plot.curves.replaceChildren(
      ...(fewest === 1 ? [] : tooSmall(fewest, axes)),
      ...limitParts(zones, run, axes, narrow),
      ...lists.map((list, i) => svg(`path.curve.curve-${i}`, { d: linePath(x, list, scaleX, scaleY) })),
    );
    plot.cursor.replaceChildren(...cursorParts(now, run.devices, axes));
    stops = deviceStops(mostDevices(run));
    handle.place(axes);
    handle.show(nearestStop(stops, run.devices), stops.length - 1, exact(run.devices));
    plot.root.ariaLabel = labelOf(run, zones);
  };
  return { node, draw, undo };
}

/** The part of the picture where the memory is too small; the strip over it says so in words.
 * @type {(least: number | null, axes: Kit.Axes) => SVGElement[]} */
function tooSmall(least, { scaleX, left, right, top, bottom }) {
  const x = least === null ? right : scaleX(logOf(least));
  const shade = svg("rect.too-small", { x: left, y: top, width: x - left, height: bottom - top });
  return least === null ? [shade] : [shade, svg("path.whisker", { d: `M${x} ${top}V${bottom}` })];
}

/** The reader's devices: a line with a mark on each curve, and the knob that is moved, with their number.
 * @type {(now: number[], devices: number, axes: Kit.Axes) => SVGElement[]} */
function cursorParts(now, devices, { scaleX, scaleY, left, right, top, bottom }) {
  const at = scaleX(logOf(devices));
  const text = `◂ ${many(devices, "device")} ▸`;
  const width = text.length * 7.6 + 8;
  const middle = Math.min(Math.max(at, left - 40 + width / 2), right + 16 - width / 2);
  return [
    svg("path.crosshair", { d: `M${at} ${top}V${bottom}` }),
    ...now.flatMap((value, i) =>
      Number.isNaN(value) ? [] : [svg(`path.marker.curve-${i}`, { d: markerPath(i, at, scaleY(value), 5) })],
    ),
    svg("rect.knob", { x: middle - width / 2, y: bottom - 11, width, height: 26, rx: 13 }),
    svg("text.knob-text", { x: middle, y: bottom + 2, dy: "0.36em", "text-anchor": "middle" }, text),
  ];
}
