// What the explorer says of its buttons and axes, and of what the last act did.

import { fixed, meanOf } from "../kit/geometry.mjs";

const SAME = 5e-4; // of two results that agree in three decimals

/** Which channel or setting has moved between two states, "all" when several have.
 * @type {(old: LayerNorm.Act, now: LayerNorm.Act) => string} */
export function actOf(old, now) {
  const [before, after] = [old, now].map(({ values, settings }) => [...values, ...settings]);
  const moves = [...after.keys()].filter((i) => before[i] !== after[i]);
  return moves.length > 1 ? "all" : moves.join("");
}

/** Why a button rests.
 * @type {(text: string, limit: number) => string} */
export const whyText = (text, limit) => `${text} would pass ±${limit}, where the numbers end.`;

/** What a norm has forgotten where its result has stayed: whether the numbers were shifted, scaled or both.
 * @type {(old: number[], now: number[]) => string} */
function forgotten(old, now) {
  const spread = (/** @type {number[]} */ numbers) => Math.max(...numbers) - Math.min(...numbers);
  const moved = Math.abs(meanOf(now) - meanOf(old)) > 1e-6;
  const sized = Math.abs(spread(now) - spread(old)) > 1e-6;
  if (sized) {
    const scaled = old.every((one, i) => Math.abs(one * spread(now) - now[i] * spread(old)) < 1e-6 * spread(old));
    return moved && !scaled ? "the mean and the size" : "the size";
  }
  return moved ? "the mean" : "";
}

/** What the last act did to the result, in one sentence.
 * @type {(old: LayerNorm.Act, now: LayerNorm.Act) => string} */
export function answerText(old, now) {
  if (old === now || (!changed(old.values, now.values) && !changed(old.settings, now.settings))) {
    return "Move a bar or press a button: this line says what it does to the result.";
  }
  if (now.values.every((one) => one === now.values[0])) {
    return "All channels are equal: no deviation is left, and the result is β.";
  }
  const moves = now.result.map((one, i) => Math.abs(one - old.result[i]));
  const most = Math.max(...moves);
  if (most < SAME) {
    const lost = changed(old.values, now.values) ? forgotten(old.values, now.values) : "";
    const same = most < 1e-9 ? "has not changed" : "has not changed in three decimals";
    return `The result ${same}${lost ? `: the norm forgets ${lost}` : ""}.`;
  }
  if (now.result.every((one, i) => Math.abs(one + old.result[i]) < SAME)) {
    return "The result has flipped its signs, and kept its sizes.";
  }
  const channel = moves.indexOf(most);
  const [from, to] = [old.result[channel], now.result[channel]].map((one) => fixed(one, 2));
  return `Channel ${channel} of the result changed most, from ${from} to ${to}.`;
}

/** @type {(old: number[], now: number[]) => boolean} */
const changed = (old, now) => now.some((one, i) => one !== old[i]);

/** Where an axis ends, and by how much it is magnified beside one to ±other.
 * @type {(limit: number, other: number) => string} */
export function axisText(limit, other) {
  const times = other / limit;
  const by = Number((times > 1 ? times : 1 / times).toPrecision(2));
  const scale = times === 1 ? "" : `, ${times > 1 ? "magnified" : "reduced"} ${by} ×`;
  return `axis to ±${limit}${scale}`;
}
