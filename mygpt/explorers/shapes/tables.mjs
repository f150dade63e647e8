// The tables of Shapes: every part, and the memory.

import { total } from "../kit/geometry.mjs";
import { exact, inBytes, inWords, percent } from "../kit/amounts.mjs";
import { swatch } from "../kit/parts/bars.mjs";
import { flag, html } from "../kit/elements.mjs";
import { readings } from "../kit/parts/picture.mjs";
import { flopsPerToken, memoryOf, parametersByPart } from "./count.mjs";
import { PARTS } from "./words.mjs";

const ROOMY = 720; // px: from it on numbers of any length in the tables
const LONG = 13; // signs of the others

/** A whole number, in words where there is no room for it.
 * @type {(number: number, width: number) => string} */
function cellText(number, width) {
  const text = exact(number);
  return width >= ROOMY || text.length <= LONG ? text : inWords(number);
}

/** @type {(state: Shapes.State) => Kit.View} */
export function partsView(state) {
  const names = PARTS.map(([mark, name]) => html("span.named-part.inline", swatch(mark), html("span", name)));
  const table = readings(
    "Parameters and FLOPs of every part",
    "Part",
    { parameters: "parameters", held: "share", flops: "FLOPs of a token", work: "share" },
    [...names, html("b", "all")],
  );
  const draw = () => {
    const { shape } = state;
    const [held, work] = [parametersByPart(shape), flopsPerToken(shape, state.length)];
    /** @type {(cells: Record<string, HTMLElement>, parts: Record<string, number>, key: string | null, names: [string, string]) => void} */
    const write = (cells, parts, key, [amount, share]) => {
      const value = key ? parts[key] : total(parts);
      cells[amount].textContent = key === null ? "–" : cellText(value, state.width);
      cells[share].textContent = key === null ? "–" : percent(value / total(parts));
    };
    [...PARTS, ["", "all", "", ""]].forEach(([, , one, other], i) => {
      write(table.cells[i], held, one, ["parameters", "held"]);
      write(table.cells[i], work, other, ["flops", "work"]);
    });
  };
  return { node: table.node, draw };
}

/** @type {(state: Shapes.State) => Kit.View} */
export function memoryView(state) {
  const names = [
    "weights, float32",
    "weights, 2 bytes each",
    "training with AdamW",
    "key-value cache, float32",
    "key-value cache, 2 bytes each",
  ].map((name) => html("span", name));
  const table = readings("Memory in bytes", "Memory", { bytes: "bytes", words: "that is" }, names);
  flag(table.node, "bytes");
  const draw = () => {
    const [four, two] = [4, 2].map((each) => memoryOf(state.shape, state.length, each));
    const training = four.weights + four.gradients + four["AdamW's averages"];
    const all = [four.weights, two.weights, training, four["key-value cache"], two["key-value cache"]];
    all.forEach((bytes, i) => {
      table.cells[i].bytes.textContent = exact(bytes);
      table.cells[i].words.textContent = inBytes(bytes);
    });
    const long = all.some((bytes) => exact(bytes).length > LONG + 1);
    flag(table.node, "long", long);
  };
  return { node: table.node, draw };
}
