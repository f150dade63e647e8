// The vector channel by channel, and how numbers and sentences are written.

import { html } from "../kit/elements.mjs";
import { fixed, times } from "../kit/geometry.mjs";
import { readings } from "../kit/parts/picture.mjs";

const DECIMALS = 4;
export const MOVED = 1; // decimals of what the reader moves

/** @type {(value: number) => string} */
export const signed = (value) => fixed(value, MOVED);
/** @type {(value: number) => string} */
export const four = (value) => fixed(value, DECIMALS);

/** @type {(state: LayerNorm.State) => Kit.View} */
export function tableView(state) {
  const names = times(state.channels, (i) => html("span", String(i)));
  const { node, cells } = readings(
    "The vector, channel by channel",
    "Channel",
    { x: "x", deviation: "x − mean", normalised: "normalised", result: "result" },
    names,
  );
  const draw = () => {
    const { mean, normalised, result } = state.norm;
    state.values.forEach((number, i) => {
      cells[i].x.textContent = signed(number);
      cells[i].deviation.textContent = four(number - mean);
      cells[i].normalised.textContent = four(normalised[i]);
      cells[i].result.textContent = four(result[i]);
    });
  };
  return { node, draw };
}
