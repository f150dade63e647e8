// Prompts, words and edits as texts. No page is touched here.

import { fixed } from "../kit/geometry.mjs";

export const STOP = ".";
const COMPLETIONS = 8;
/** @type {Record<string, (layer: number) => string>} */
const PART = { heads: (layer) => `Heads of layer ${layer}`, network: (layer) => `Network ${layer}` };
/** @type {Record<number, string>} */
const DONE = { 0: "switched off", 1: "back at its own strength", 2: "doubled" };

/** Words in quotation marks, the last after `last`: “a”, “b” or “c”.
 * @type {(words: string[], last?: string) => string} */
export function listed(words, last = "or") {
  const [end, ...rest] = words.map((word) => `“${word}”`).reverse();
  return rest.length ? `${rest.reverse().join(", ")} ${last} ${end}` : end;
}

/** The words of a prompt, in lower case; a full stop is a word of its own.
 * @type {(text: string) => string[]} */
export function splitPrompt(text) {
  return text.toLowerCase().replaceAll(STOP, ` ${STOP} `).split(/\s+/).filter(Boolean);
}

/** The words as the model reads them: after a full stop.
 * @type {(words: string[]) => string[]} */
export function withStop(words) {
  return words[0] === STOP ? words : [STOP, ...words];
}

/** The last words of a text, of `most` letters together, after an ellipsis where some are left out.
 * @type {(text: string, most: number) => string} */
export function tailOf(text, most) {
  if (text.length <= most) return text;
  const from = text.length - most;
  const blank = text.indexOf(" ", from);
  return `… ${text.slice(blank < 0 ? from : blank + 1)}`;
}

/** Where the word under the caret starts and ends in a text.
 * @type {(text: string, caret: number) => { start: number; end: number }} */
export function spanAt(text, caret) {
  const start = text.slice(0, caret).search(/[^\s.]*$/);
  return { start, end: caret + text.slice(caret).search(/[\s.]|$/) };
}

/** The words, other than the prefix itself, that begin with it; the first `most`, those in its own case before others.
 * @type {(words: string[], prefix: string, most?: number) => string[]} */
export function completions(words, prefix, most = COMPLETIONS) {
  const start = prefix.toLowerCase();
  const longer = words.filter((word) => word.toLowerCase().startsWith(start) && word !== start && word !== prefix);
  const own = longer.filter((word) => word.startsWith(prefix));
  return [...own, ...longer.filter((word) => !own.includes(word))].slice(0, most);
}

/** A number with its sign, plus included.
 * @type {(value: number, decimals: number) => string} */
export function signed(value, decimals) {
  const text = fixed(value, decimals);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** A whole part of the model.
 * @type {(part: LiveModel.Part) => string} */
export function partInWords({ layer, part }) {
  return PART[part](layer);
}

/** Whether a part is on after the edits.
 * @type {(edits: LiveModel.Edit[], layer: number, part: string) => boolean} */
export function isOn(edits, layer, part) {
  const last = edits
    .filter((edit) => edit.kind === "part")
    .findLast((edit) => edit.layer === layer && edit.part === part);
  return last ? last.factor === 1 : true;
}

/** An edit as the start of a sentence.
 * @type {(edit: LiveModel.Edit) => string} */
export function editInWords(edit) {
  if (edit.kind === "rewrite") return `“${edit.prompt}” rewritten to “${edit.word}”`;
  if (edit.kind === "write") {
    const [[subject, relation, answer], ...more] = edit.facts;
    return more.length ? `${more.length + 1} facts written` : `“${subject} ${relation}” written as “${answer}”`;
  }
  if (edit.kind === "part") return `${partInWords(edit)} switched ${edit.factor ? "on" : "off"}`;
  const neurons = [edit.neuron].flat();
  const several = neurons.length > 1;
  const who = `${several ? "Neurons" : "Neuron"} ${neurons.join(", ")} of layer ${edit.layer}`;
  if (edit.kind === "value") return `${who} pointed at “${edit.word}”`;
  const done = DONE[edit.factor];
  return `${who} ${several ? done.replace("its", "their") : done}`;
}
