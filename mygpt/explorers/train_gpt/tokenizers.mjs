// Characters and words as tokens, with the ids of mygpt.tokenizers.

import { BETWEEN_WORDS } from "../live_model/pieces.mjs";

const KIND_NAMES = /** @type {Record<TrainGPT.Kind, string>} */ ({ characters: "character", words: "word" });

/** The pieces of a text: its code points, or what stands between white space.
 * @type {(kind: TrainGPT.Kind, text: string) => string[]} */
export function piecesOf(kind, text) {
  return kind === "characters" ? Array.from(text) : text.split(BETWEEN_WORDS).filter(Boolean);
}

/** Before or after, by code points; JavaScript's own order is that of UTF-16, where 😀 comes before U+FFFD.
 * @type {(a: string, b: string) => number} */
export function compareCodePoints(a, b) {
  for (let i = 0; i < Math.min(a.length, b.length); i += 1) {
    const [x, y] = [a, b].map((text) => Number(text.codePointAt(i)));
    if (x !== y) return x - y;
  }
  return a.length - b.length;
}

/** A piece in quotation marks, as Python shows it.
 * @type {(piece: string) => string} */
export function shownPiece(piece) {
  const inside = JSON.stringify(piece).slice(1, -1).replaceAll('\\"', '"');
  return inside.includes("'") && !inside.includes('"') ? `"${inside}"` : `'${inside.replaceAll("'", "\\'")}'`;
}

/** The tokenizer of these tokens; a list with anything else than single tokens, each once, is an Error.
 * @type {(kind: TrainGPT.Kind, tokens: unknown) => TrainGPT.Tokenizer} */
export function tokenizerOf(kind, tokens) {
  const single = (/** @type {unknown} */ one) => typeof one === "string" && piecesOf(kind, one)[0] === one;
  const name = KIND_NAMES[kind];
  if (!Array.isArray(tokens) || !tokens.every(single)) {
    throw new Error(`expected tokens, a list of ${name}s`);
  }
  const ids = new Map(tokens.map((token, id) => [token, id]));
  if (ids.size !== tokens.length) throw new Error(`expected every ${name} once, got one of them twice`);
  return {
    kind,
    tokens,
    encode: (text) =>
      piecesOf(kind, text).map((piece, place) => {
        const id = ids.get(piece);
        if (id !== undefined) return id;
        const known = `the tokenizer knows ${ids.size} ${name}s`;
        throw new Error(`unknown ${name} ${shownPiece(piece)} at index ${place} of the text; ${known}`);
      }),
    decode: (given) =>
      Array.from(given, (id) => {
        if (id in tokens && Number.isInteger(id)) return tokens[id];
        throw new RangeError(`expected ids from 0 to ${tokens.length - 1}, got ${id}`);
      }).join(kind === "words" ? " " : ""),
  };
}

/** Learns the tokens of a text, in the order of their code points.
 * @type {(kind: TrainGPT.Kind, text: string) => TrainGPT.Tokenizer} */
export function trainTokenizer(kind, text) {
  const tokens = [...new Set(piecesOf(kind, text))].sort(compareCodePoints);
  if (!tokens.length) throw new Error(`expected a text with at least one ${KIND_NAMES[kind]}`);
  return tokenizerOf(kind, tokens);
}
