// Axes, curves and their read-outs: geometry first (tested under node), then the page's parts.

import { UNHEARD, flag, html, setAll, svg, table } from "../elements.mjs";
import { clamp, fixed, linearScale, niceStep } from "../geometry.mjs";
import { shareAt } from "../pointers.mjs";

const MARKERS = ["circle", "square", "diamond", "triangle", "cross", "bar"];
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** 10 to a whole power, written with superscripts.
 * @type {(exponent: number) => string} */
export function powerOfTen(exponent) {
  const digits = [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[Number(digit)]).join("");
  return `10${exponent < 0 ? "⁻" : ""}${digits}`;
}

/** Three significant digits; below a thousandth and from ten thousand on as a power of ten.
 * @type {(value: number) => string} */
export function significant(value) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const [mantissa, power] = Math.abs(value).toExponential(2).split("e");
  const exponent = Number(power);
  const sign = value < 0 ? "−" : "";
  if (exponent < -3 || exponent > 3) return `${sign}${mantissa} × ${powerOfTen(exponent)}`;
  return sign + Number(`${mantissa}e${power}`).toFixed(Math.max(0, 2 - exponent));
}

/** A learning rate: up to four digits; below a thousandth as `significant` has it.
 * @type {(rate: number) => string} */
export const rateText = (rate) => (rate >= 0.001 ? String(Number(rate.toPrecision(4))) : significant(rate));

/**
 * Ticks of a log axis between 10^low and 10^high; `at` is the power. Under two decades they stand
 * at 1, 2 and 5, above that at powers of ten, as many of them as `count` allows.
 * @type {(low: number, high: number, count: number) => Kit.Tick[]}
 */
export function logTicks(low, high, count) {
  const ticks = [];
  if (high - low < 2) {
    for (let power = Math.floor(low); power <= high; power += 1) {
      for (const factor of [1, 2, 5]) {
        const at = power + Math.log10(factor);
        if (at < low - 1e-9 || at > high + 1e-9) continue;
        const plain = power >= -4 && power < 4;
        const times = factor === 1 ? "" : `${factor} × `;
        const label = plain ? fixed(factor * 10 ** power, Math.max(0, -power)) : times + powerOfTen(power);
        ticks.push({ at, label });
      }
    }
    return ticks;
  }
  const step = Math.max(1, Math.round(niceStep(high - low, count)));
  for (let power = Math.ceil(low / step - 1e-9) * step; power <= high + 1e-9; power += step) {
    ticks.push({ at: power || 0, label: Math.abs(power) < 3 ? String(10 ** power) : powerOfTen(power) });
  }
  return ticks;
}

/** A domain widened on both sides by a share of its span, and never empty.
 * @type {(span: Kit.Pair, share?: number) => Kit.Pair} */
export function padded([low, high], share = 0.06) {
  const span = high - low || Math.abs(high) || 1;
  return [low - span * share, high + span * share];
}

/** Path data through the points; it breaks at gaps (NaN) and where y jumps by more than `jump`.
 * @type {(xs: Kit.Numbers, ys: Kit.Numbers, scaleX: Kit.Scale, scaleY: Kit.Scale, jump?: number) => string} */
export function linePath(xs, ys, scaleX, scaleY, jump = Infinity) {
  const parts = [];
  let previous = NaN;
  for (let i = 0; i < xs.length; i += 1) {
    if (!Number.isNaN(ys[i])) {
      const joined = Math.abs(ys[i] - previous) <= jump;
      parts.push(`${joined ? "L" : "M"}${scaleX(xs[i]).toFixed(1)} ${scaleY(ys[i]).toFixed(1)}`);
    }
    previous = ys[i];
  }
  return parts.join("");
}

/** Index of the nearest of `count` points that start at `start` and stand `step` apart.
 * @type {(value: number, start: number, step: number, count: number) => number} */
export function nearestIndex(value, start, step, count) {
  return clamp(Math.round((value - start) / step), 0, count - 1);
}

/**
 * Moves labels apart until neighbours are at least `gap` from each other and all lie between
 * `low` and `high`, each as near to where it wanted to be as the order allows.
 * @type {(wanted: number[], gap: number, low: number, high: number) => number[]}
 */
export function spread(wanted, gap, low, high) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b] || a - b);
  const placed = new Array(wanted.length);
  let floor = low;
  for (const i of order) {
    placed[i] = Math.max(wanted[i], floor);
    floor = placed[i] + gap;
  }
  let ceiling = high;
  for (const i of order.reverse()) {
    placed[i] = Math.min(placed[i], ceiling);
    ceiling = placed[i] - gap;
  }
  return placed;
}

/** The corners of the markers that are not round, x, y, x, y and so on, in radii.
 * @type {Record<string, number[]>} */
const CORNERS = {
  square: [-1, -1, 1, -1, 1, 1, -1, 1],
  diamond: [0, -1.35, 1.35, 0, 0, 1.35, -1.35, 0],
  triangle: [0, -1.3, 1.25, 0.95, -1.25, 0.95],
  cross: [
    -1.2, -0.4, -0.4, -0.4, -0.4, -1.2, 0.4, -1.2, 0.4, -0.4, 1.2, -0.4, 1.2, 0.4, 0.4, 0.4, 0.4, 1.2, -0.4, 1.2, -0.4,
    0.4, -1.2, 0.4,
  ],
  bar: [-0.5, -1.4, 0.5, -1.4, 0.5, 1.4, -0.5, 1.4],
};

/** Path data of the marker that belongs to the curve with this index.
 * @type {(index: number, x: number, y: number, r: number) => string} */
export function markerPath(index, x, y, r) {
  const corners = CORNERS[MARKERS[index % MARKERS.length]];
  if (!corners) return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  const at = corners.map((corner, i) => (i % 2 ? ` ${y + corner * r}` : `${i ? "L" : "M"}${x + corner * r}`));
  return `${at.join("")}Z`;
}

/** Path data of dots at these places.
 * @type {(points: Kit.Pair[], r: number) => string} */
export const dotsAt = (points, r) => points.map(([x, y]) => markerPath(0, x, y, r)).join("");

/** @type {(name: string) => SVGPathElement} */
export const emptyPath = (name) => svg("path", { class: name });

/** A short sample of a curve's line with its marker, for legends and tables.
 * @type {(index: number) => SVGElement} */
export function sample(index) {
  return svg(
    "svg.sample",
    UNHEARD,
    { viewBox: "0 0 44 14", width: 44, height: 14 },
    svg(`path.curve.curve-${index}`, { d: "M22 7H2M22 7H42" }),
    svg(`path.marker.curve-${index}`, { d: markerPath(index, 22, 7, 4.2) }),
  );
}

/**
 * Axes, curves and a cursor in one picture. `frame(…)` draws the axes for a size and returns the
 * two scales; the caller fills `curves` and `cursor`. Sizes are in CSS pixels.
 */
export function picture() {
  const [grid, curves, cursor, front] = ["grid", "curves", "cursor", "front"].map((name) => svg(`g.${name}`));
  const root = svg("svg.picture", { role: "img" }, grid, curves, cursor, front);
  const node = html("div.plot", root);
  let size = { width: 1, height: 1 };

  /** @type {(frame: Kit.Frame) => Kit.Axes} */
  function frame({ width, height, margin, x, y }) {
    size = { width, height };
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [left, right] = [margin.left, width - margin.right];
    const [top, bottom] = [margin.top, height - margin.bottom];
    const scaleX = linearScale(x.domain, [left, right]);
    const scaleY = linearScale(y.domain, [bottom, top]);
    /** @type {(strong: boolean, d: string) => SVGElement} */
    const line = (strong, d) => svg("path", { class: strong ? "mygpt-line mygpt-strong" : "mygpt-line", d });
    const lines = [];
    for (const { at, label } of y.ticks) {
      const py = scaleY(at).toFixed(1);
      lines.push(line(at === y.strong, `M${left} ${py}H${right}`));
      lines.push(svg("text", { x: left - (y.drop ?? 8), y: py, dy: "0.34em", "text-anchor": "end" }, label));
    }
    for (const { at, label } of x.ticks) {
      const px = scaleX(at).toFixed(1);
      lines.push(line(at === x.strong, `M${px} ${top}V${bottom}`));
      lines.push(svg("text", { x: px, y: bottom + (x.drop ?? 18), "text-anchor": "middle" }, label));
    }
    lines.push(svg("path.axis", { d: `M${left} ${bottom}H${right}` }));
    if (x.label) {
      const under = { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" };
      lines.push(svg("text.axis-name", { ...under }, x.label));
    }
    if (y.label) lines.push(svg("text", { x: 0, y: top - 12 }, y.label));
    grid.replaceChildren(...lines);
    return { scaleX, scaleY, left, right, top, bottom };
  }

  /** Where on the picture's own axes a pointer is, however the page has scaled the picture.
   * @type {(event: MouseEvent) => number} */
  const pointerX = (event) => shareAt(root, event).x * size.width;
  /** @type {(event: MouseEvent) => number} */
  const pointerY = (event) => shareAt(root, event).y * size.height;

  return { node, root, curves, cursor, front, frame, pointerX, pointerY };
}

/** A picture with its title.
 * @type {(title: string, plot: Kit.Picture) => HTMLElement} */
export function panel(title, plot) {
  return html("div", html("p.panel-name", title), plot);
}

/** The widths of two panels, beside each other where there is room.
 * @type {(width: number, share?: number) => Kit.Pair} */
export function panelWidths(width, share = 0.5) {
  if (width < 542) return [width, width];
  const first = Math.floor((width - 22) * share);
  return [first, width - 22 - first];
}

/** In place of a picture's curves a window onto its axes: what lies outside them is not seen.
 * @type {(plot: Kit.Picture, ...parts: SVGElement[]) => { node: SVGElement; lay(axes: Kit.Box): void }} */
export function axesWindow(plot, ...parts) {
  const node = svg("svg", parts);
  plot.curves.replaceWith(node);
  /** @type {(axes: Kit.Box) => void} */
  const lay = ({ left, right, top, bottom }) => {
    const [width, height] = [right - left, bottom - top];
    setAll(node, { x: left, y: top, width, height, viewBox: `${left} ${top} ${width} ${height}` });
  };
  return { node, lay };
}

/**
 * A focusable part of a picture that carries one number: arrow keys, Page, Home and End move it.
 * `show(value, text)` says where it stands.
 * @type {(node: HTMLElement, settings: Kit.ValueSlider) => { node: HTMLElement; show(value: number, text: string): void }}
 */
export function valueSlider(node, { label, low, high, step, choose }) {
  setAll(node, { role: "slider", tabindex: 0, "aria-label": label, "data-lm-suppress-shortcuts": "true" });
  setAll(node, { "aria-valuemin": low, "aria-valuemax": high });
  let now = low;
  /** @type {Record<string, number>} */
  const moves = {
    ArrowUp: step,
    ArrowRight: step,
    ArrowDown: -step,
    ArrowLeft: -step,
    PageUp: 10 * step,
    PageDown: -10 * step,
    Home: low - high,
    End: high - low,
  };
  node.addEventListener("keydown", (event) => {
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(clamp(now + moves[event.key], low, high));
  });
  /** @type {(value: number, text: string) => void} */
  const show = (value, text) => {
    now = value;
    setAll(node, { "aria-valuenow": value, "aria-valuetext": text });
  };
  return { node, show };
}

/** A table of read-outs: `columns` are the headings by key, `rows` are row headings (nodes).
 * @type {<K extends string>(caption: string, heading: string, columns: Record<K, string>, rows: Node[]) => Kit.Readings<K>} */
export function readings(caption, heading, columns, rows) {
  const keyed = (/** @type {(text: string) => HTMLTableCellElement} */ cell) =>
    /** @type {Record<string, HTMLTableCellElement>} */ (
      Object.fromEntries(Object.entries(columns).map(([key, text]) => [key, cell(String(text))]))
    );
  const cells = rows.map(() => keyed(() => html("td")));
  const heads = keyed((text) => html("th", { scope: "col" }, text));
  const corner = html("th", { scope: "col" }, heading);
  const body = rows.map((row, i) => html("tr", html("th", { scope: "row" }, row), Object.values(cells[i])));
  const node = table("mygpt-readings", caption, [html("thead", html("tr", corner, Object.values(heads)))], body);
  /** Marks the column that the picture shows.
   * @type {(key: string) => void} */
  const mark = (key) => {
    for (const [name, head] of Object.entries(heads)) {
      for (const cell of [head, ...cells.map((row) => row[name])]) {
        flag(cell, "marked", name === key);
      }
    }
  };
  return { node, cells, mark, body };
}
