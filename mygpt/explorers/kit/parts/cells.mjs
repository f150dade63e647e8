// Numbers in the cells of a heatmap, and the legend of its shades.

import { UNHEARD, flag, html } from "../elements.mjs";
import { fixed, times } from "../geometry.mjs";

const CELL_ROOM = { width: 34, height: 20 }; // px that a number with two decimals needs
const CELL_DECIMALS = 2;

/** How bright a colour of three channels is, from 0 to 1 (WCAG 2.2).
 * @type {(colour: ArrayLike<number>) => number} */
export function luminance(colour) {
  const [red, green, blue] = Array.from(colour, (channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours, from 1 to 21.
 * @type {(a: ArrayLike<number>, b: ArrayLike<number>) => number} */
export function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((one, other) => one - other);
  return (high + 0.05) / (low + 0.05);
}

/** Whether black is read more easily on a colour than white; the better one has a contrast of at least 4.5.
 * @type {(colour: ArrayLike<number>) => boolean} */
export const wantsBlack = (colour) => contrast(colour, [0, 0, 0]) >= contrast(colour, [255, 255, 255]);

/** Whether cells of that size have room for numbers.
 * @type {(width: number, height: number) => boolean} */
export const roomForNumbers = (width, height) => width >= CELL_ROOM.width && height >= CELL_ROOM.height;

/** @type {(node: HTMLElement, text: string, colour: ArrayLike<number>) => void} */
function writeOn(node, text, colour) {
  node.textContent = text;
  flag(node, "on-dark", !wantsBlack(colour));
}

/** The channels of the cell at `place` among a heatmap's bytes.
 * @type {(bytes: Uint8ClampedArray, place: number) => Uint8ClampedArray} */
const cellColour = (bytes, place) => bytes.subarray(4 * place, 4 * place + 3);

/**
 * Numbers over a heatmap's cells, for its node. `draw` writes them on the colours that the heatmap's
 * own `draw` returned; where `shown` is false of a cell, or there is no room, none is written.
 * @type {() => { node: HTMLElement; draw(numbers: Kit.Numbers, bytes: Uint8ClampedArray, cells: Kit.Cells, room: boolean, shown: (row: number, column: number) => boolean): void }}
 */
export function cellNumbers() {
  const node = html("div.cell-numbers.number", UNHEARD);
  return {
    node,
    draw: (numbers, bytes, { rows, columns }, room, shown) => {
      node.hidden = !room;
      if (!room) return;
      const missing = rows * columns - node.children.length;
      if (missing) node.replaceChildren(...times(rows * columns, () => html("span")));
      node.style.gridTemplate = `repeat(${rows}, minmax(0, 1fr)) / repeat(${columns}, minmax(0, 1fr))`;
      const spans = /** @type {HTMLElement[]} */ ([...node.children]);
      spans.forEach((span, i) => {
        const text = shown(Math.floor(i / columns), i % columns) ? fixed(numbers[i], CELL_DECIMALS) : "";
        writeOn(span, text, cellColour(bytes, i));
      });
    },
  };
}

/** Cells in the shades of a few numbers, with `last` after them; `draw` takes their colours.
 * @type {(numbers: number[], last: Kit.Child[]) => { node: HTMLElement; draw(bytes: Uint8ClampedArray): void }} */
export function shadeLegend(numbers, last) {
  const cells = numbers.map(() => html("span.shade"));
  const node = html("p.shades.number.inline.muted.fine", UNHEARD, cells, last);
  /** @type {(bytes: Uint8ClampedArray) => void} */
  const draw = (bytes) =>
    cells.forEach((cell, i) => {
      const colour = cellColour(bytes, i);
      writeOn(cell, fixed(numbers[i], CELL_DECIMALS), colour);
      cell.style.backgroundColor = `rgb(${[...colour].join(" ")})`;
    });
  return { node, draw };
}
