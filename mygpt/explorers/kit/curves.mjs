// What the explorers of curves share. Their state has the `names` of the curves, those `shown` as
// [index, numbers], the numbers `x` of their points, the cursor's index `at`, `moveTo(index)`, the
// `hovered` index and the `width`; `quantity` and `visible` are traits.

import { times } from "./geometry.mjs";
import { tick } from "./controls.mjs";
import { flag, html, svg, tooltip, trace } from "./elements.mjs";
import { dragging, hovering, keeping } from "./pointers.mjs";
import { linePath, markerPath, picture, readings, sample } from "./parts/picture.mjs";

/** The places of the curves that the reader has ticked, and their numbers.
 * @type {<L>(lists: L[], state: { names: string[]; get(trait: "visible"): string[] }) => [number, L][]} */
export function shownAmong(lists, { names, get }) {
  return [...lists.entries()].filter(([i]) => get("visible").includes(names[i]));
}

const RIM = 3; // px of a marker that are seen around the next one on it

/** The radii of markers at these heights, drawn in this order: one that lies under others is larger, so that its rim is
 * seen around them.
 * @type {(heights: number[], radius: number) => number[]} */
export const radiiOf = (heights, radius) =>
  heights.map((y, i) => radius + RIM * heights.slice(i + 1).filter((other) => Math.abs(other - y) < radius).length);

/** A picture of curves, each [its mark, its numbers], with a cursor, a trait, that a held pointer moves.
 * @param {Kit.CurveState} state
 * @param {string} trait
 * @param {(x: number) => number} indexOf
 * @param {number} radius
 * @param {HTMLElement} handle */
export function cursorPlot(state, trait, indexOf, radius, handle) {
  const plot = /** @type {Kit.Drawn} */ (picture());
  flag(plot.root, "swept");
  /** @type {(event: MouseEvent) => number} */
  const under = (event) => indexOf(plot.axes.scaleX.invert(plot.pointerX(event)));
  /** @type {(curves: [string | number, Kit.Numbers][], frame: Kit.Frame, jump?: number) => void} */
  const draw = (curves, frame, jump) => {
    plot.axes = plot.frame(frame);
    plot.curves.replaceChildren(
      ...curves.map(([mark, list]) =>
        svg(`path.curve.curve-${mark}`, { d: linePath(state.x, list, plot.axes.scaleX, plot.axes.scaleY, jump) }),
      ),
    );
  };
  /** @type {(curves: [string | number, Kit.Numbers][]) => void} */
  const drawCursor = (curves) => {
    const { scaleX, scaleY, top, bottom } = plot.axes;
    const x = scaleX(state.x[state.at]);
    const seen = curves.filter(([, list]) => !Number.isNaN(list[state.at]));
    const heights = seen.map(([, list]) => scaleY(list[state.at]));
    const radii = radiiOf(heights, radius);
    plot.cursor.replaceChildren(
      svg("path.crosshair", { d: `M${x} ${top}V${bottom}` }),
      ...seen.map(([mark], i) =>
        svg(`path.marker.curve-${mark}`, { d: markerPath(Number(mark) || 0, x, heights[i], radii[i]) }),
      ),
    );
  };
  const stop = dragging(plot.root, (event) => state.moveTo(under(event)), keeping(state, trait), handle);
  return Object.assign(plot, { under, draw, drawCursor, stop });
}

/** What the curves say at the index under a mouse; the cursor stays.
 * @type {(state: Kit.CurveState, plot: Kit.CursorPlot, title: (at: number) => string, text: (value: number) => string) => { draw(): void; hide(): void }} */
export function curveHint(state, plot, title, text) {
  const hint = tooltip();
  const whisker = svg("path.whisker");
  plot.root.insertBefore(whisker, plot.cursor);
  plot.node.append(hint.node);
  const draw = () => {
    const { x, shown, hovered } = state;
    if (hovered === null || !shown.length) {
      hint.hide();
      trace(whisker, "");
      return;
    }
    const at = Math.min(hovered, x.length - 1);
    const { scaleX, scaleY, top, bottom } = plot.axes;
    const count = Math.min(100, x.length);
    const points = shown.flatMap(([, list]) =>
      times(count, (n) => {
        const one = Math.floor((n * x.length) / count);
        return /** @type {Kit.Pair} */ ([scaleX(x[one]), scaleY(list[one])]);
      }),
    );
    trace(whisker, `M${scaleX(x[at])} ${top}V${bottom}`);
    hint.show(scaleX(x[at]), plot.axes, state.width, points, [
      html("strong", title(at)),
      ...shown.map(([i, list]) => html("span", sample(i), html("bdi", state.names[i]), html("b", text(list[at])))),
    ]);
  };
  /** @type {(at: number | null) => void} */
  const hover = (at) => {
    state.hovered = at;
    draw();
  };
  const forget = hovering(plot.root, plot.under, hover);
  const hide = () => {
    forget();
    hover(null);
  };
  return { draw, hide };
}

/** The numbers of every curve at the cursor, `text(key, index)`, each curve with its tick.
 * @type {<K extends string>(state: Kit.CurveState, table: Kit.CurveTable<K>) => Kit.CursorView} */
export function curveTable(state, { caption, heading, columns, text }) {
  const { names } = state;
  /** @type {(name: string) => boolean} */
  const isShown = (name) => state.get("visible").includes(name);
  const ticks = names.map((name, i) =>
    tick([sample(i), html("bdi", name)], (checked) =>
      state.write({ visible: names.filter((other) => (other === name ? checked : isShown(other))) }),
    ),
  );
  const keys = /** @type {(keyof typeof columns)[]} */ (Object.keys(columns));
  const rows = ticks.map(({ node }) => node);
  const { node, cells, body, mark } = readings(caption, heading, columns, rows);
  const draw = () => {
    mark(state.get("quantity"));
    names.forEach((name, i) => {
      ticks[i].show(isShown(name));
      flag(body[i], "off", !isShown(name));
    });
  };
  const drawCursor = () =>
    cells.forEach((row, i) => {
      for (const key of keys) row[key].textContent = text(key, i);
    });
  return { node, draw, drawCursor };
}
