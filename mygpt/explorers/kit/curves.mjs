// What the explorers of curves share. Their state has the `names` of the curves, those `shown` as
// [index, numbers], the numbers `x` of their points, the cursor's index `at`, `moveTo(index)`, the
// `hovered` index and the `width`; `quantity` and `visible` are traits.

import { tick } from "./controls.mjs";
import { html, svg, tooltip } from "./elements.mjs";
import { dragging, hovering, keeping } from "./pointers.mjs";
import { linePath, markerPath, picture, readings, sample } from "./picture.mjs";

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
 * @type {(state: Kit.CurveState, trait: string, indexOf: (x: number) => number, radius: number, handle: HTMLElement) => Kit.CursorPlot} */
export function cursorPlot(state, trait, indexOf, radius, handle) {
  const plot = /** @type {Kit.CursorPlot} */ (picture());
  /** @type {Kit.CursorPlot["under"]} */
  const under = (event) => indexOf(plot.axes.scaleX.invert(plot.pointerX(event)));
  /** @type {Kit.CursorPlot["draw"]} */
  const draw = (curves, frame, jump) => {
    plot.axes = plot.frame(frame);
    plot.curves.replaceChildren(
      ...curves.map(([mark, list]) =>
        svg("path", {
          class: `mygpt-curve mygpt-curve-${mark}`,
          d: linePath(state.x, list, plot.axes.scaleX, plot.axes.scaleY, jump),
        }),
      ),
    );
  };
  /** @type {Kit.CursorPlot["drawCursor"]} */
  const drawCursor = (curves) => {
    const { scaleX, scaleY, top, bottom } = plot.axes;
    const x = scaleX(state.x[state.at]);
    const seen = curves.filter(([, list]) => !Number.isNaN(list[state.at]));
    const heights = seen.map(([, list]) => scaleY(list[state.at]));
    const radii = radiiOf(heights, radius);
    plot.cursor.replaceChildren(
      svg("path", { class: "mygpt-crosshair", d: `M${x} ${top}V${bottom}` }),
      ...seen.map(([mark], i) =>
        svg("path", {
          class: `mygpt-marker mygpt-curve-${mark}`,
          d: markerPath(Number(mark) || 0, x, heights[i], radii[i]),
        }),
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
  const whisker = svg("path", { class: "mygpt-whisker" });
  plot.root.insertBefore(whisker, plot.cursor);
  plot.node.append(hint.node);
  const draw = () => {
    const { x, shown, hovered } = state;
    if (hovered === null || !shown.length) {
      hint.hide();
      whisker.setAttribute("d", "");
      return;
    }
    const at = Math.min(hovered, x.length - 1);
    const { scaleX, scaleY, top, bottom } = plot.axes;
    const count = Math.min(100, x.length);
    const points = shown.flatMap(([, list]) =>
      Array.from({ length: count }, (_, n) => {
        const one = Math.floor((n * x.length) / count);
        return /** @type {Kit.Pair} */ ([scaleX(x[one]), scaleY(list[one])]);
      }),
    );
    whisker.setAttribute("d", `M${scaleX(x[at])} ${top}V${bottom}`);
    hint.show(scaleX(x[at]), plot.axes, state.width, points, [
      html("strong", {}, title(at)),
      ...shown.map(([i, list]) =>
        html("span", {}, sample(i), html("bdi", {}, state.names[i]), html("b", {}, text(list[at]))),
      ),
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
    tick([sample(i), html("bdi", {}, name)], (checked) =>
      state.write({ visible: names.filter((other) => (other === name ? checked : isShown(other))) }),
    ),
  );
  const table = readings(
    caption,
    heading,
    columns,
    ticks.map(({ node }) => node),
  );
  const draw = () => {
    table.mark(state.get("quantity"));
    names.forEach((name, i) => {
      ticks[i].show(isShown(name));
      table.body[i].classList.toggle("mygpt-off", !isShown(name));
    });
  };
  const drawCursor = () =>
    table.cells.forEach((row, i) => {
      for (const [key] of columns) row[key].textContent = text(key, i);
    });
  return { node: table.node, draw, drawCursor };
}
