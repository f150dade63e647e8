// Amounts in words, in bars and on sliders; no page is touched here.

import { fixed } from "./geometry.mjs";

const SCALES = ["", " thousand", " million", " billion", " trillion", " quadrillion"];
const BYTES = [" B", " kB", " MB", " GB", " TB", " PB"];

/** @type {(number: number) => string} */
export const exact = (number) => number.toLocaleString("en");

/** @type {(share: number) => string} */
export function percent(share) {
  return share > 0 && share < 0.0005 ? "< 0.1 %" : `${fixed(100 * share, 1)} %`;
}

/** Three digits of a whole number and a word; below `from` the number itself.
 * @type {(number: number, words?: string[], from?: number) => string} */
export function inWords(number, words = SCALES, from = 1e6) {
  if (number < from) return exact(number) + words[0];
  const unit = 10 ** (String(number).length - 3);
  const rounded = Math.round(number / unit) * unit;
  const power = Math.floor((String(rounded).length - 1) / 3);
  const decimals = 2 - ((String(rounded).length - 1) % 3);
  return (rounded / 1000 ** power).toFixed(decimals) + words[power];
}

/** @type {(number: number) => string} */
export const inBytes = (number) => inWords(number, BYTES, 1000);

/** From where to where each amount goes in a bar of that width, on which `most` is the whole.
 * @type {(amounts: number[], most: number, width: number) => { start: number; size: number }[]} */
export function stacked(amounts, most, width) {
  let sum = 0;
  return amounts.map((amount) => {
    const start = (sum / most) * width;
    sum += amount;
    return { start, size: (amount / most) * width };
  });
}

/** Whole numbers from 1 up to `longest`: powers of two, what lies halfway between them, and the longest.
 * @type {(longest: number) => number[]} */
export function doublings(longest) {
  const stops = [];
  for (let power = 1; power < longest; power *= 2) {
    stops.push(power);
    if (power > 1 && power * 1.5 < longest) stops.push(power * 1.5);
  }
  return [...stops, longest];
}
