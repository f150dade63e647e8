// The time of a step by the number of devices.

import { exact } from "../kit/amounts.mjs";
import { html, svg } from "../kit/elements.mjs";
import { extent } from "../kit/geometry.mjs";
import { linePath, logTicks, markerPath, padded, picture, sample } from "../kit/picture.mjs";
import { deviceGrid, leastDevices, mostDevices, stepTime } from "./count.mjs";
import { duration } from "./words.mjs";

/** @type {("arithmetic" | "talking")[]} */
const KINDS = ["arithmetic", "talking"];
/** @type {(value: number) => number} */
const logOf = (value) => (value > 0 ? Math.log10(value) : NaN);

/** Ticks with 1,000 to 100,000 written out, as the text beside them has them.
 * @type {(ticks: Kit.Tick[]) => Kit.Tick[]} */
const writtenOut = (ticks) =>
  ticks.map(({ at, label }) => ({ at, label: [3, 4, 5].includes(at) ? exact(10 ** at) : label }));

/** Of each number of devices its log, and the logs of the seconds of arithmetic and talking.
 * @type {(run: Scale.Run) => { x: number[]; lists: number[][] }} */
export function timeCurves(run) {
  const counts = deviceGrid(run);
  const times = counts.map((devices) => stepTime({ ...run, devices }));
  return { x: counts.map(logOf), lists: KINDS.map((kind) => times.map((one) => logOf(one[kind]))) };
}

/** The two curves with the reader's devices and, as a dashed line, the fewest that are enough.
 * @type {(state: { width: number }) => Scale.View} */
export function timePlot(state) {
  const plot = picture();
  const legend = html("p", { class: "mygpt-legend" }, ...KINDS.map((kind, i) => html("span", {}, sample(i), kind)));
  const node = html(
    "div",
    { class: "mygpt-times" },
    html("p", { class: "mygpt-panel-name" }, "Seconds of one step"),
    plot.node,
    legend,
  );
  /** @type {(run: Scale.Run) => void} */
  const draw = (run) => {
    const { x, lists } = timeCurves(run);
    const narrow = state.width < 420;
    const height = narrow ? 230 : 270;
    const here = stepTime(run);
    const now = KINDS.map((kind) => logOf(here[kind]));
    const [low, high] = padded(
      extent([...lists, now].map((list) => list.filter((one) => !Number.isNaN(one)))) ?? [0, 1],
    );
    const end = Math.max(x[x.length - 1], 0.3);
    const axes = plot.frame({
      width: state.width,
      height,
      margin: { left: 54, right: 18, top: 14, bottom: 44 },
      x: { domain: [0, end], ticks: writtenOut(logTicks(0, end, narrow ? 4 : 6)), label: "devices" },
      y: { domain: [low, high], ticks: writtenOut(logTicks(low, high, 5)) },
    });
    const { scaleX, scaleY, top, bottom } = axes;
    plot.curves.replaceChildren(
      ...lists.map((list, i) =>
        svg("path", { class: `mygpt-curve mygpt-curve-${i}`, d: linePath(x, list, scaleX, scaleY) }),
      ),
    );
    const at = scaleX(logOf(run.devices));
    const least = leastDevices(run);
    const fits = least === null || least === 1 ? [] : fitLine(scaleX(logOf(least)), least, axes);
    plot.cursor.replaceChildren(
      ...fits,
      svg("path", { class: "mygpt-crosshair", d: `M${at} ${top}V${bottom}` }),
      ...now.flatMap((value, i) =>
        Number.isNaN(value)
          ? []
          : [svg("path", { class: `mygpt-marker mygpt-curve-${i}`, d: markerPath(i, at, scaleY(value), 5) })],
      ),
    );
    plot.root.setAttribute(
      "aria-label",
      `Seconds of a step on 1 to ${exact(mostDevices(run))} devices; on `
        + `${exact(run.devices)}, ${KINDS.map((kind) => `${kind} ${duration(here[kind])}`).join(" and ")}.`,
    );
  };
  return { node, draw };
}

/** @type {(x: number, least: number, axes: Kit.Box) => SVGElement[]} */
function fitLine(x, least, { left, right, top, bottom }) {
  const after = x < (left + right) / 2;
  return [
    svg("path", { class: "mygpt-whisker", d: `M${x} ${top}V${bottom}` }),
    svg(
      "text",
      { x: x + (after ? 6 : -6), y: bottom - 8, "text-anchor": after ? "start" : "end" },
      `fits from ${exact(least)}`,
    ),
  ];
}
