// What Sampling has to say; no page is touched here.

import { fixed } from "../kit/geometry.mjs";
import { entropy } from "./distribution.mjs";

export const DECIMALS = 3;
/** @type {Record<string, string>} */
const SIGNS = { " ": "·", "\n": "↵", "\r": "␍", "\t": "⇥" };

/** The text with a visible sign for each space and control: a common one's own, or its code.
 * @type {(text: string) => string} */
export function shown(text) {
  return text.replace(
    /[\p{Z}\p{Cc}]/gu,
    (sign) => SIGNS[sign] ?? `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`,
  );
}

/** What falls, and what becomes of the rest.
 * @type {(state: Sampling.State) => ["b" | "", string][]} */
export function outcomeOf({ tokens, found, get }) {
  const left = found.kept.filter(Boolean).length;
  /** @type {["b" | "", string][]} */
  const bits = [
    ["", " Entropy "],
    ["b", fixed(entropy(found.probabilities), 2)],
    ["", " bits."],
  ];
  if (left === tokens.length) return [["b", String(left)], ["", ` of ${left} tokens left: none is cut.`], ...bits];
  return [
    ["b", String(left)],
    ["", ` of ${tokens.length} tokens left. They had `],
    ["b", fixed(found.share, DECIMALS)],
    ["", ` of the probability${reachedBy(found, get("top_p"), get("top_k"))}, and now share all of it: × `],
    ["b", fixed(1 / found.share, 2)],
    ["", "."],
    ...bits,
  ];
}

/** What top-p counted, where it cuts: shares of what top-k leaves.
 * @type {(found: Sampling.Distribution, topP: number, topK: number | null) => string} */
function reachedBy({ counted, kept }, topP, topK) {
  if (topP === 1) return "";
  const share = counted.reduce((sum, one, id) => sum + (kept[id] ? one : 0), 0);
  const among = topK === null ? "so" : `${fixed(share, DECIMALS)} of what top-k left, so`;
  return ` (${among} top-p ${fixed(topP, 2)} is reached)`;
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
export function drawnOf({ get, tokens, last }) {
  return get("draws")
    ? `“${shown(tokens[last])}” is draw ${get("draws")} of seed ${get("seed")}.`
    : "Nothing is drawn.";
}
