// What a prompt is made of: words of the book's world, words between white space, or characters. No page is touched
// here. A token has a name without blanks that is its own alone; prompts are written on one line.

import { codeOf } from "../kit/geometry.mjs";
import { spanAt, splitPrompt, withStop } from "./words.mjs";

const MAX_PROMPT = 31; // words of the world
const SEPARATORS = String.fromCharCode(0x1c, 0x1d, 0x1e, 0x1f); // of files, groups, records and units
export const BETWEEN_WORDS = new RegExp(`[\\p{White_Space}${SEPARATORS}]+`, "u"); // what Python's str.split splits at
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
const MARK = /\p{M}/u;
/** A character that is not seen or not written on one line, its signs, and what it is called.
 * @type {[string, string[], string][]} */
const SIGNS = [
  [" ", ["␣", "␠"], "space"],
  ["\n", ["⏎", "␊"], "line break (Enter)"],
  ["\t", ["⇥", "␉"], "tab"],
  ["\r", ["␍"], "carriage return"],
];

/** Words of the book's world: in lower case, and after a full stop.
 * @type {LiveModel.Pieces} */
export const WORLD = {
  kind: "world",
  noun: "word",
  note: "↓ lists the likeliest.",
  least: 0,
  suggests: true,
  names: (tokens) => tokens,
  split: splitPrompt,
  begun: withStop,
  join: (names) => names.join(" "),
  span: spanAt,
  fold: (text) => text.toLowerCase(),
  longest: (positions) => Math.min(MAX_PROMPT, positions - 1),
  spoken: (text) => text,
};

/** Words between white space, as they are written.
 * @type {LiveModel.Pieces} */
const WORDS = {
  ...WORLD,
  kind: "words",
  least: 1,
  split: (text) => text.split(BETWEEN_WORDS).filter(Boolean),
  begun: (names) => names,
  span: (text, caret) => {
    const [before, behind] = [text.slice(0, caret), text.slice(caret)].map((part) => part.split(BETWEEN_WORDS));
    return { start: caret - (before.at(-1)?.length ?? 0), end: caret + behind[0].length };
  },
  fold: (text) => text,
  longest: (positions) => positions,
};

/** Characters; `tokens` says which signs are free to stand for others.
 * @type {(tokens: string[]) => LiveModel.Pieces} */
function characters(tokens) {
  const taken = new Set(tokens);
  const signed = SIGNS.map(([one, signs, name]) => ({ one, name, sign: signs.find((sign) => !taken.has(sign)) }));
  const nameOf = new Map(signed.map(({ one, sign }) => [one, sign ?? codeOf(one)]));
  const standing = new Map(signed.map(({ one, sign }) => [sign, one]));
  /** @type {(character: string) => string} */
  const named = (character) => {
    const one = standing.get(character) ?? character;
    return nameOf.get(one) ?? (UNSEEN.test(one) ? codeOf(one) : MARK.test(one) ? `◌${one}` : one);
  };
  /** @type {(name: string) => string} */
  const written = (name) => {
    if (/^U\+./u.test(name)) return String.fromCodePoint(parseInt(name.slice(2), 16));
    return name === nameOf.get(" ") ? " " : name.replace(/^◌(?=.)/u, "");
  };
  const used = signed.filter(({ one, sign }) => sign && taken.has(one));
  const legend = used.map(({ sign, name }, i) => `${sign}${i ? "" : " is"} a ${name}`);
  return {
    kind: "characters",
    noun: "character",
    note: legend.length ? `${legend.join(", ")}.` : "",
    least: 1,
    suggests: false,
    names: (given) => given.map(named),
    split: (text) => Array.from(text, named),
    begun: (names) => names,
    join: (names) => names.map(written).join(""),
    span: (_, caret) => ({ start: caret, end: caret }),
    fold: (text) => text,
    longest: (positions) => positions,
    spoken: (text) => used.reduce((said, { sign, name }) => said.replaceAll(String(sign), name.split(" (")[0]), text),
  };
}

/** What the prompts of a model are made of, by the trait `pieces`; `tokens` as the model's tokenizer has them.
 * @type {(kind: string, tokens: string[]) => LiveModel.Pieces} */
export function promptPieces(kind, tokens) {
  const made = { world: () => WORLD, words: () => WORDS, characters: () => characters(tokens) }[kind];
  if (!made) throw new Error(`expected pieces of a kind among world, words and characters, got ${kind}`);
  return made();
}
