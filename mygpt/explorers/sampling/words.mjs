// What Sampling has to say; no page is touched here.

import { BLANK_SIGNS, codeOf, fixed } from "../kit/geometry.mjs";
import { entropy } from "./distribution.mjs";

export const DECIMALS = 3;

/** The text with a visible sign for each space and control: a common one's own, or its code.
 * @type {(text: string) => string} */
export function shown(text) {
  return text.replace(/[\p{Z}\p{Cc}]/gu, (sign) => BLANK_SIGNS[sign] ?? codeOf(sign));
}

/** How many are kept and what they have; in a line of its own, what becomes of it.
 * @type {(state: Sampling.State) => ["b" | "br" | "", string][]} */
export function outcomeOf({ tokens, found, top_p, top_k }) {
  const left = found.kept.filter(Boolean).length;
  /** @type {["b" | "br" | "", string][]} */
  const bits = [
    ["", "Entropy "],
    ["b", fixed(entropy(found.probabilities), 2)],
    ["", " bits."],
  ];
  if (left === tokens.length) {
    return [["b", String(left)], ["", ` of ${left} tokens kept: none is cut. `], ["br", ""], ...bits];
  }
  const both = top_p < 1 && top_k !== null; // then top-p counts shares of what top-k keeps
  return [
    ["b", String(left)],
    ["", ` of ${tokens.length} tokens kept: `],
    ["b", fixed(found.share, DECIMALS)],
    ["", " of the probability"],
    ["", both ? ` (${fixed(found.share / found.limited, DECIMALS)} of what top-k keeps)` : ""],
    ["", ", "],
    ["br", ""],
    ["", "each × "],
    ["b", fixed(1 / found.share, 2)],
    ["", " now. "],
    ...bits,
  ];
}

/** @type {(state: Sampling.State) => string} */
export function settingOf({ get, tokens, last }) {
  const [temperature, topK, topP, draws] = [get("temperature"), get("top_k"), get("top_p"), get("draws")];
  const drawn = draws ? ` ${draws} drawn with seed ${get("seed")}, the last ${shown(tokens[last])}.` : "";
  return (
    `Temperature ${fixed(temperature, 1)}, top-k ${topK ?? "off"}, `
    + `top-p ${topP < 1 ? fixed(topP, 2) : "off"}.${drawn}`
  );
}

/** @type {(share: Sampling.Share) => string} */
export const nowText = ({ left, now }) => (left ? fixed(now, DECIMALS) : "cut");

/** @type {(state: Sampling.State) => string} */
export function sentenceOf(state) {
  const outcome = outcomeOf(state)
    .map(([, text]) => text)
    .join("");
  const likeliest = state.rows.slice(0, 3).map(({ name }, i) => `${name} ${nowText(state.shares[i])}`);
  return `${settingOf(state)} ${outcome} ${likeliest.join(", ")}.`;
}

/** @type {(state: Sampling.State) => string} */
export function drawnOf({ draws, seed, tokens, last }) {
  return draws ? `“${shown(tokens[last])}” is draw ${draws} of seed ${seed}.` : "Nothing is drawn.";
}
