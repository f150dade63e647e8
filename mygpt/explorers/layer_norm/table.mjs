// The vector channel by channel, and how numbers and sentences are written.

import { html } from "../kit/elements.mjs";
import { fixed } from "../kit/geometry.mjs";
import { readings } from "../kit/picture.mjs";

const DECIMALS = 4;
export const MOVED = 1; // decimals of what the reader moves

/** @type {(value: number) => string} */
export const signed = (value) => fixed(value, MOVED);
/** @type {(value: number) => string} */
export const four = (value) => fixed(value, DECIMALS);

/** @type {(state: LayerNorm.State) => Kit.View} */
export function tableView(state) {
  const names = Array.from({ length: state.channels }, (_, i) => html("span", {}, String(i)));
  const { node, cells } = readings(
    "The vector, channel by channel",
    "Channel",
    [
      ["x", "x"],
      ["deviation", "x − mean"],
      ["normalised", "normalised"],
      ["result", "result"],
    ],
    names,
  );
  const draw = () => {
    const { mean, normalised, result } = state.norm;
    state.get("values").forEach((number, i) => {
      cells[i].x.textContent = signed(number);
      cells[i].deviation.textContent = four(number - mean);
      cells[i].normalised.textContent = four(normalised[i]);
      cells[i].result.textContent = four(result[i]);
    });
  };
  return { node, draw };
}

/** A paragraph that says `text()`.
 * @type {(name: string, text: () => string) => Kit.View} */
export function textView(name, text) {
  const node = html("p", { class: name });
  return {
    node,
    draw: () => {
      node.textContent = text();
    },
  };
}
