// GPT-2's byte pairs: how a text is cut, how a piece is merged, and how its bytes are written. No
// page is touched here.

import { BLANK_SIGNS, codeOf } from "../kit/geometry.mjs";

export const MAX_TEXT = 500;
export const LONGEST = 32; // bytes of a piece whose merges are still shown one by one
const LIVELY = 3; // merges of a piece that is worth a look
const CACHED = 5000;
// JavaScript's \s has U+FEFF and lacks U+0085; Python's is Unicode's White_Space.
const SPLIT = new RegExp(
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+"
    + "|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+",
  "gu",
);

/** The text as GPT-2's pattern cuts it.
 * @type {(text: string) => string[]} */
export function split(text) {
  return text.match(SPLIT) ?? [];
}

/** The text with U+FFFD for each half of a character, and no longer than the limit.
 * @type {(text: string, most?: number) => string} */
export function tidy(text, most = MAX_TEXT) {
  const whole = text.replace(/\p{Cs}/gu, "\ufffd");
  return whole.length <= most ? whole : Array.from(whole).slice(0, most).join("");
}

/** The ids of the 256 bytes, and of each pair the rank of its merge and the id of both.
 * @param {DataView} view */
export function makeEncoder(view) {
  const numbers = new Uint16Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  const joined = /** @type {Map<number, { rank: number; id: number }>} */ (new Map());
  for (let i = 256, rank = 0; i < numbers.length; i += 3, rank += 1) {
    const pair = numbers[i] * 65536 + numbers[i + 1];
    if (!joined.has(pair)) joined.set(pair, { rank, id: numbers[i + 2] });
  }
  return { byteIds: numbers.subarray(0, 256), joined };
}

/**
 * Merges the bytes of one piece, always the pair of the lowest rank, leftmost first. Gives the ids
 * and where their tokens end, and each merge as its rank and the place of its left part.
 * @param {Uint8Array} bytes
 * @param {Tokens.Encoder} encoder
 */
export function merge(bytes, { byteIds, joined }) {
  const ids = Array.from(bytes, (byte) => byteIds[byte]);
  const ends = Array.from(bytes, (_, i) => i + 1);
  /** @type {(i: number) => number} */
  const rankAt = (i) => joined.get(ids[i] * 65536 + ids[i + 1])?.rank ?? Infinity;
  const ranks = ids.map((_, i) => (i + 1 < ids.length ? rankAt(i) : Infinity));
  const steps = [];
  for (;;) {
    let at = 0;
    for (let i = 1; i < ranks.length; i += 1) if (ranks[i] < ranks[at]) at = i;
    if (!(ranks[at] < Infinity)) return { bytes, ids, ends, steps };
    steps.push({ rank: ranks[at], at });
    ids.splice(at, 2, joined.get(ids[at] * 65536 + ids[at + 1])?.id ?? 0);
    ends.splice(at, 1);
    ranks.splice(at, 1);
    ranks[at] = at + 1 < ids.length ? rankAt(at) : Infinity;
    if (at > 0) ranks[at - 1] = rankAt(at - 1);
  }
}

/** A function that gives a piece's merges, and remembers them.
 * @type {(encoder: Tokens.Encoder) => (piece: string) => Tokens.Merged} */
export function remembering(encoder) {
  const cache = new Map();
  const utf8 = new TextEncoder();
  return (piece) => {
    let found = cache.get(piece);
    if (!found) {
      if (cache.size >= CACHED) cache.clear();
      found = merge(utf8.encode(piece), encoder);
      cache.set(piece, found);
    }
    return found;
  };
}

/** Where the parts of a piece end, at first and after each of its merges.
 * @type {(merged: Tokens.Merged) => number[][]} */
export function rowsOf({ bytes, steps }) {
  let ends = Array.from(bytes, (_, i) => i + 1);
  const rows = [ends];
  for (const { at } of steps) {
    ends = ends.filter((_, i) => i !== at);
    rows.push(ends);
  }
  return rows;
}

/**
 * Some bytes of a text as readable parts, { text } or, of a character that is not whole,
 * { hex }. Spaces and controls get a sign or their code, a lone accent a circle to stand on.
 * @type {(bytes: Uint8Array) => Tokens.Spelled[]}
 */
export function spell(bytes) {
  /** @type {Tokens.Spelled[]} */
  const parts = [];
  /** @type {(kind: "text" | "hex" | "code", text: string) => void} */
  const put = (kind, text) => {
    const last = parts.at(-1);
    if (kind === "text" && last?.text !== undefined) last.text += text;
    else parts.push({ [kind]: text });
  };
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  for (let i = 0; i < bytes.length;) {
    const lead = bytes[i];
    const size = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size === 0 || i + size > bytes.length) {
      put("hex", lead.toString(16).toUpperCase().padStart(2, "0"));
      i += 1;
    } else {
      const sign = utf8.decode(bytes.subarray(i, i + size));
      if (BLANK_SIGNS[sign]) put("text", BLANK_SIGNS[sign]);
      else if (/[\p{Z}\p{C}]/u.test(sign)) put("code", codeOf(sign));
      else put("text", /\p{M}/u.test(sign) && parts.at(-1)?.text === undefined ? `◌${sign}` : sign);
      i += size;
    }
  }
  return parts;
}

/** The readable parts as one line of text.
 * @type {(parts: Tokens.Spelled[]) => string} */
export function plain(parts) {
  return parts.map(({ text, hex, code }) => text ?? code ?? `byte ${hex}`).join(" ");
}

/** Which of the old items stay when a list becomes another: so many at the start and at the end.
 * @type {<V>(before: V[], after: V[]) => { start: number; end: number }} */
export function common(before, after) {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return { start, end };
}

/** Which piece of a typed text to show: the one that is chosen, unless its merges are few and the
 * reader did not pick it; then the first that has more of them, if there is one.
 * @type {(found: Pick<Tokens.Merged, "bytes" | "steps">[], piece: number, picked: (at: number) => boolean) => number} */
export function livelyPiece(found, piece, picked) {
  const at = Math.min(piece, found.length - 1);
  const lively = found.map(({ bytes, steps }) => steps.length >= LIVELY && bytes.length <= LONGEST);
  return at < 0 || picked(at) || lively[at] || !lively.includes(true) ? piece : lively.indexOf(true);
}
