// A heatmap and the words beside it: colours first (tested under node), then the page's parts.

import { UNHEARD, flag, html, titled } from "../elements.mjs";
import { clamp, fixed, times } from "../geometry.mjs";
import { shareAt } from "../pointers.mjs";

/** @type {Record<string, string>} */
const BLANKS = { " ": "␣", "\n": "↵", "\r": "↵", "\t": "⇥" };

/** The red, green and blue of a CSS colour as the browser reports it, or of #rrggbb.
 * @type {(colour: string) => number[]} */
export function channels(colour) {
  const hex = colour.trim().match(/^#(..)(..)(..)$/);
  if (hex) return hex.slice(1).map((pair) => parseInt(pair, 16));
  return (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

/** The colour a share of the way from one to another, as three channels.
 * @type {(from: number[], to: number[], share: number) => number[]} */
export function mixed(from, to, share) {
  return from.map((channel, i) => Math.round(channel + (to[i] - channel) * share));
}

/**
 * The colours of a heatmap as RGBA bytes, one for each number: `zero` in the middle, towards `high`
 * for positive and `low` for negative numbers, full at `limit`. `shade` bends the share of the way.
 * @type {(numbers: Kit.Numbers, limit: number, colours: Record<"zero" | "low" | "high", number[]>, shade?: (share: number) => number) => Uint8ClampedArray<ArrayBuffer>}
 */
export function heatColours(numbers, limit, { zero, low, high }, shade = Number) {
  const bytes = new Uint8ClampedArray(4 * numbers.length);
  for (let i = 0; i < numbers.length; i += 1) {
    const share = shade(clamp(Math.abs(numbers[i]) / (limit || 1), 0, 1));
    bytes.set([...mixed(zero, numbers[i] < 0 ? low : high, share), 255], 4 * i);
  }
  return bytes;
}

/** Which of `count` labels have room when each needs `least` of `size` pixels; `chosen` always has.
 * @type {(count: number, size: number, least: number, chosen?: number) => boolean[]} */
export function roomFor(count, size, least, chosen = -Infinity) {
  const step = Math.max(1, Math.ceil((least * count) / size));
  return times(count, (i) => i === chosen || (i % step === 0 && Math.abs(i - chosen) >= step));
}

/** A text as it is written: blanks at its ends and line breaks are to be seen.
 * @type {(text: string) => string} */
export function visibleText(text) {
  if (text === "") return "(empty)";
  return text.replace(/^ +| +$|[\n\r\t]/g, (blank) => [...blank].map((one) => BLANKS[one]).join(""));
}

/** About how wide a text is in pixels, at 13 pixels a line.
 * @type {(text: string) => number} */
export function textWidth(text) {
  return [...text].reduce((sum, one) => sum + ((one.codePointAt(0) ?? 0) > 0x2e7f ? 13.5 : 8.2), 0);
}

/** Which cell of a box of cells is under a pointer.
 * @type {(box: HTMLElement, shape: Kit.Cells, event: MouseEvent) => Kit.Cell} */
export function cellUnder(box, { rows, columns }, event) {
  const { x, y } = shareAt(box, event);
  const at = (/** @type {number} */ share, /** @type {number} */ count) =>
    clamp(Math.floor(share * count), 0, count - 1);
  return { row: at(y, rows), column: at(x, columns) };
}

/** Calls `redraw` when the page's theme changes, or paper takes its place; returns an undo.
 * @type {(redraw: () => void) => () => void} */
export function themed(redraw) {
  const observer = new MutationObserver(redraw);
  for (const node of [document.documentElement, document.body]) {
    observer.observe(node, {
      attributes: true,
      attributeFilter: ["class", "theme", "data-theme", "data-jp-theme-light"],
    });
  }
  const queries = ["(prefers-color-scheme: dark)", "print"].map((query) => matchMedia(query));
  for (const query of queries) query.addEventListener("change", redraw);
  return () => {
    observer.disconnect();
    for (const query of queries) query.removeEventListener("change", redraw);
  };
}

/** From what to what the colours of a map go, after what they are of.
 * @type {(tag: "p" | "span", ...of: HTMLElement[]) => { node: HTMLElement; draw(least: string, most: Kit.Child[], signed: boolean): void }} */
export function rampLegend(tag, ...of) {
  const [least, ramp, most] = [html("span"), html("span.ramp"), html("span")];
  const look = "mygpt-legend mygpt-number mygpt-inline mygpt-muted mygpt-fine";
  const node = html(tag, UNHEARD, { class: look }, of, least, ramp, most);
  /** @type {(from: string, to: Kit.Child[], signed: boolean) => void} */
  const draw = (from, to, signed) => {
    flag(ramp, "signed", signed);
    least.textContent = from;
    most.replaceChildren(...to);
  };
  return { node, draw };
}

/**
 * A matrix of numbers as coloured cells on a canvas, with its legend. `draw({ numbers, rows,
 * columns, height, limit, signed })` paints it and returns its colours; `mark` frames a row, a column or a cell;
 * `under(event)` says which cell a pointer is over. The canvas is one pixel a cell, so that any
 * number of cells costs the same.
 * @param {(value: number, decimals: number) => string} format
 */
export function heatmap(format = fixed) {
  const canvas = html("canvas.heat", { role: "img" });
  const frame = html("span.heat-frame", { hidden: true });
  const cells = html("div.heat-cells", canvas, frame);
  const legend = rampLegend("p");
  let shape = { rows: 1, columns: 1 };

  /** The colours that the page has now for these numbers.
   * @type {(numbers: Kit.Numbers, limit: number, shade?: (share: number) => number) => Uint8ClampedArray<ArrayBuffer>} */
  function colours(numbers, limit, shade) {
    const style = getComputedStyle(cells);
    const [zero, high, low] = ["--heat-zero", "--heat-high", "--heat-low"].map((name) =>
      channels(style.getPropertyValue(name)),
    );
    return heatColours(numbers, limit, { zero, low, high }, shade);
  }

  /** @param {Kit.Heat} heat */
  function draw({ numbers, rows, columns, height, limit, signed = false, decimals = 2, shade }) {
    shape = { rows, columns };
    const bytes = colours(numbers, limit, shade);
    cells.style.height = `${height}px`;
    canvas.width = columns;
    canvas.height = rows;
    canvas.getContext("2d")?.putImageData(new ImageData(bytes, columns, rows), 0, 0);
    legend.draw(format(signed ? -limit : 0, decimals), [format(limit, decimals)], signed);
    return bytes;
  }

  /** Frames a row, a column, or with both a cell; null takes the frame away.
   * @type {(row: number | null, column: number | null) => void} */
  function mark(row, column) {
    frame.hidden = row === null && column === null;
    /** @type {(index: number | null, count: number) => Kit.Pair} */
    const part = (index, count) => (index === null ? [0, 100] : [(100 * index) / count, 100 / count]);
    const [top, tall] = part(row, shape.rows);
    const [left, wide] = part(column, shape.columns);
    Object.assign(frame.style, { top: `${top}%`, height: `${tall}%`, left: `${left}%`, width: `${wide}%` });
  }

  /** @type {(event: MouseEvent) => Kit.Cell} */
  function under(event) {
    return cellUnder(cells, shape, event);
  }

  return { node: cells, canvas, legend: legend.node, colours, draw, mark, under };
}

/**
 * The words left of a heatmap's rows. `draw` hides those that have no room where each needs `least`
 * of `height` pixels, marks the chosen one and says which have room; `fill` puts other words there.
 * @param {string[]} words
 */
export function rowLabels(words) {
  const node = html("div.rows.pressable", UNHEARD);
  /** @type {HTMLElement[]} */
  let labels = [];
  /** @type {(fresh: string[]) => void} */
  const fill = (fresh) => {
    labels = fresh.map((word, place) => {
      const label = html("span.muted.fine.clipped", titled(word));
      label.style.top = `${(100 * (place + 0.5)) / fresh.length}%`;
      return label;
    });
    node.replaceChildren(...labels);
  };
  /** @type {(room: { height: number; least?: number; chosen: number }) => boolean[]} */
  const draw = ({ height, least = 15.5, chosen }) => {
    const free = roomFor(labels.length, height, least, chosen);
    labels.forEach((label, place) => {
      label.hidden = !free[place];
      flag(label, "chosen", place === chosen);
    });
    return free;
  };
  fill(words);
  return { node, fill, draw };
}
