// What the explorer says: beside the picture, under it, and to screen readers.

import { significant } from "../kit/parts/picture.mjs";
import { fateOf } from "./stored.mjs";

const NAMES = { activations: "standard deviation of the activations", gradients: "length of the gradient" };

/** A value of a curve, which is its power of ten.
 * @type {(power: number) => string} */
export const numberText = (power) => significant(10 ** power);

/** @type {(layer: number) => string} */
export const layerText = (layer) => (layer === 0 ? "Input" : `Layer ${layer}`);

/** Where the cursor stands.
 * @type {(state: Depth.State) => string} */
export const placeText = ({ at, depth }) => (at === 0 ? "the input" : `layer ${at} of ${depth}`);

/** The sliders and the tick, in a sentence.
 * @type {(state: Depth.State) => string} */
export function settingText({ get, depth }) {
  const biases = get("bias") ? "with biases" : "without biases";
  return `Gain ${get("gain")}, width ${get("width")}, ${depth} layers, ${biases}.`;
}

/** What becomes of every curve that is shown.
 * @type {(state: Depth.State) => string} */
export function fateText({ names, shown, get }) {
  if (!shown.length) return "";
  const quantity = get("quantity");
  const told = shown.map(([i, list]) => `${names[i]} ${fateOf(list, quantity)}`);
  return `${quantity === "gradients" ? "Gradient" : "Signal"}: ${told.join("; ")}.`;
}

/** What every curve reads at the cursor, in a sentence.
 * @type {(state: Depth.State) => string} */
export function sentenceOf(state) {
  const { names, shown, at } = state;
  const read = shown.map(([i, list]) => `${names[i]} ${numberText(list[at])}`).join(", ");
  return `${NAMES[state.quantity]} at ${placeText(state)}: ${read || "no stack shown"}.`;
}
