// What is made of a pasted or dropped text before training: the text, its ids, and two losses to compare with.

import { exact, inBytes } from "../kit/amounts.mjs";
import { piecesOf, shownPiece, trainTokenizer } from "./tokenizers.mjs";

export const LEAST_CHARACTERS = 2000;
export const MOST_BYTES = 2e6;
const HELD_SHARE = 0.1;
const SMOOTHING = [1, 0.01]; // what chapter 2 adds to each count: much, and little
const LINE_END = 10;

/** Whole lines of at most that many bytes; of one line that is longer, whole characters.
 * @type {(bytes: Uint8Array, most: number) => Uint8Array} */
function cutAtLine(bytes, most) {
  if (bytes.length <= most) return bytes;
  let end = bytes.lastIndexOf(LINE_END, most - 1) + 1;
  if (!end) {
    end = most;
    while ((bytes[end] & 0xc0) === 0x80) end -= 1; // within a character
  }
  return bytes.subarray(0, end);
}

/** The text in some bytes; where they are not UTF-8, an Error with the place.
 * @type {(bytes: Uint8Array) => string} */
function decodedText(bytes) {
  const nul = bytes.indexOf(0);
  if (nul >= 0) {
    throw new Error(`expected text in UTF-8, got a NUL at byte ${exact(nul)}, as in files that are no text`);
  }
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const again = new TextEncoder().encode(text);
  const wrong = again.findIndex((byte, i) => byte !== bytes[i]);
  if (wrong >= 0) {
    const hex = wrong < bytes.length ? bytes[wrong].toString(16).toUpperCase().padStart(2, "0") : "the end";
    throw new Error(`expected text in UTF-8, got ${hex} at byte ${exact(wrong)}`);
  }
  return text.replace(/^\uFEFF/, ""); // a mark of the byte order
}

/** The text to train on, as mygpt.data.load_corpus reads it: line ends become \n, a byte order mark goes. `size`: of the
 * whole file, where `given` is its first `MOST_BYTES` and some. What cannot be used is an Error of one sentence.
 * @type {(given: string | Uint8Array, size?: number) => { text: string; note: string }} */
export function readText(given, size) {
  const half = typeof given === "string" ? given.search(/\p{Surrogate}/u) : -1;
  if (half >= 0) throw new Error(`expected whole characters, got half of one at index ${exact(half)}`);
  const bytes = typeof given === "string" ? new TextEncoder().encode(given) : given;
  const used = cutAtLine(bytes, MOST_BYTES);
  const text = decodedText(used).replace(/\r\n?/g, "\n");
  const count = piecesOf("characters", text).length;
  if (count < LEAST_CHARACTERS) {
    throw new Error(`expected a text of at least ${exact(LEAST_CHARACTERS)} characters, got ${exact(count)}`);
  }
  if (!text.trim()) throw new Error("expected a text, got white space alone");
  const whole = Math.max(size ?? 0, bytes.length);
  const note = used.length < whole ? `The text has ${inBytes(whole)}; its first ${inBytes(used.length)} are used.` : "";
  return { text, note };
}

/** The ids to train on, and the last tenth, as mygpt.data.split has them.
 * @type {(ids: number[]) => [number[], number[]]} */
export function splitIds(ids) {
  const cut = Math.trunc(ids.length * (1 - HELD_SHARE));
  return [ids.slice(0, cut), ids.slice(cut)];
}

/** The mean loss, in nats, of a bigram model on held-out ids: it knows how often each token came after each other in
 * training, and adds `amount` to every count.
 * @type {(training: number[], held: number[], vocab: number, amount: number) => number} */
export function bigramLoss(training, held, vocab, amount) {
  const [pairs, rows] = [new Map(), new Float64Array(vocab)];
  for (let i = 1; i < training.length; i += 1) {
    const pair = training[i - 1] * vocab + training[i];
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
    rows[training[i - 1]] += 1;
  }
  let sum = 0;
  for (let i = 1; i < held.length; i += 1) {
    const count = pairs.get(held[i - 1] * vocab + held[i]) ?? 0;
    sum -= Math.log((count + amount) / (rows[held[i - 1]] + amount * vocab));
  }
  return sum / (held.length - 1);
}

/** A text as ids, with the losses of two models that need no training: one that guesses all tokens alike, and the better
 * of the bigram models of chapter 2. `length`: positions that the GPT reads. `known`: a tokenizer
 * that has been trained before.
 * @param {TrainGPT.Kind} kind
 * @param {string} text
 * @param {number} length
 * @param {TrainGPT.Tokenizer} [known] */
export function materialOf(kind, text, length, known) {
  const tokenizer = known ?? trainTokenizer(kind, text);
  const vocab = tokenizer.tokens.length;
  if (vocab < 2) {
    throw new Error(`expected at least two different ${kind}, got ${shownPiece(tokenizer.tokens[0])} alone`);
  }
  const [training, held] = splitIds(tokenizer.encode(text));
  if (training.length <= length) {
    throw new Error(`expected at least ${exact(length + 1)} ${kind} to train on, got ${exact(training.length)}`);
  }
  const losses = SMOOTHING.map((amount) => bigramLoss(training, held, vocab, amount));
  return { tokenizer, training, held, uniform: Math.log(vocab), bigram: Math.min(...losses) };
}
