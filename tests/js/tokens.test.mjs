import assert from "node:assert/strict";
import { test } from "node:test";

import {
  common, encode, makeEncoder, merge, plain, remembering, rowsOf, spell, split, tidy,
} from "../../mygpt/explorers/tokens_merges.mjs";

const bytes = (text) => new TextEncoder().encode(text);

/** Byte b has the id 3 b; a merge of x and y gives the next id from 1000 on. */
function encoder(...pairs) {
  const ids = Array.from({ length: 256 }, (_, byte) => 3 * byte);
  const numbers = [...ids, ...pairs.flatMap(([a, b], i) => [a, b, 1000 + i])];
  return makeEncoder(new DataView(Uint16Array.from(numbers).buffer));
}

const [a, b, c] = [..."abc"].map((letter) => 3 * letter.charCodeAt(0));

test("contractions, words, numbers, signs and spaces are pieces; a space belongs to a word", () => {
  assert.deepEqual(split("It's 3 cats,  we'll\n see!  "),
    ["It", "'s", " 3", " cats", ",", " ", " we", "'ll", "\n", " see", "!", "  "]);
  assert.deepEqual(split(""), []);
});

test("white space is Unicode's: U+0085 is one, U+FEFF and U+001C are none", () => {
  assert.deepEqual(split("a\u0085\u0085b"), ["a", "\u0085", "\u0085", "b"]);
  assert.deepEqual(split("a\ufeff\ufeffb"), ["a", "\ufeff\ufeff", "b"]);
  assert.deepEqual(split("a\u001c b"), ["a", "\u001c", " b"]);
});

test("the lowest rank is merged first, of equal ones the leftmost", () => {
  const found = merge(bytes("abcab"), encoder([b, c], [a, b], [a, 1000]));
  assert.deepEqual(found.steps, [{ rank: 0, at: 1 }, { rank: 1, at: 2 }, { rank: 2, at: 0 }]);
  assert.deepEqual(found.ids, [1002, 1001]);
  assert.deepEqual(found.ends, [3, 5]);
  assert.deepEqual(rowsOf(found), [[1, 2, 3, 4, 5], [1, 3, 4, 5], [1, 3, 5], [3, 5]]);
});

test("of three equal bytes the first two are merged", () => {
  assert.deepEqual(merge(bytes("aaa"), encoder([a, a])).ends, [2, 3]);
  assert.deepEqual(merge(bytes("aaaaa"), encoder([a, a], [1000, 1000])).ends, [4, 5]);
});

test("a pair listed twice keeps its first rank and id", () => {
  const found = merge(bytes("ab"), encoder([a, b], [b, c], [a, b]));
  assert.deepEqual([found.ids, found.steps[0].rank], [[1000], 0]);
});

test("an empty piece and a single byte have no merges", () => {
  assert.deepEqual(merge(bytes(""), encoder([a, b])).ids, []);
  assert.deepEqual(merge(bytes("b"), encoder([a, b])).ids, [b]);
});

test("no merge crosses the pieces of a text", () => {
  assert.deepEqual(encode("ab'sa b", encoder([a, b])), [1000, 3 * 39, 3 * 115, a, 96, b]);
});

test("a piece is merged once and then remembered", () => {
  const read = remembering(encoder([a, b]));
  assert.equal(read("ab"), read("ab"));
  assert.notEqual(read("ab"), read("ba"));
});

test("the data may start anywhere in their buffer", () => {
  const numbers = Uint16Array.from([7, 7, 7, ...Array(256).fill(5), 5, 5, 11]);
  const { byteIds, joined } = makeEncoder(new DataView(numbers.buffer, 6));
  assert.equal(byteIds.length, 256);
  assert.deepEqual([...joined.values()], [{ rank: 0, id: 11 }]);
});

test("halves of characters are replaced, and a text ends with a whole one", () => {
  assert.equal(tidy("a\ud83db\udc00"), "a\ufffdb\ufffd");
  assert.equal(tidy("🥐🥐🥐🥐🥐", 3), "🥐🥐🥐");
  assert.equal(tidy("🥐", 1), "🥐");
});

test("bytes are read as characters where these are whole", () => {
  assert.deepEqual(spell(bytes(" the\n")), [{ text: "·the↵" }]);
  const euro = bytes("a€b");
  assert.deepEqual(spell(euro.subarray(0, 3)), [{ text: "a" }, { hex: "E2" }, { hex: "82" }]);
  assert.deepEqual(spell(euro.subarray(2)), [{ hex: "82" }, { hex: "AC" }, { text: "b" }]);
  assert.deepEqual(spell(euro), [{ text: "a€b" }]);
  assert.deepEqual(spell(bytes("🥐").subarray(0, 3)), [{ hex: "F0" }, { hex: "9F" }, { hex: "A5" }]);
});

test("an invisible character is written as its code", () => {
  assert.deepEqual(spell(bytes("a\u202e\ufeff\u0007")),
    [{ text: "a" }, { code: "U+202E" }, { code: "U+FEFF" }, { code: "U+0007" }]);
  assert.deepEqual(spell(bytes("\u0301")), [{ text: "◌\u0301" }]);
  assert.deepEqual(spell(bytes("e\u0301")), [{ text: "e\u0301" }]);
  assert.equal(plain(spell(Uint8Array.of(32, 0xc3))), "· byte C3");
});

test("the shared start and end of two lists are found, and never overlap", () => {
  assert.deepEqual(common(["x", "y", "z"], ["x", "q", "r", "z"]), { start: 1, end: 1 });
  assert.deepEqual(common(["x", "x"], ["x", "x", "x"]), { start: 2, end: 0 });
  assert.deepEqual(common([], ["x"]), { start: 0, end: 0 });
  assert.deepEqual(common(["x", "y"], ["y"]), { start: 0, end: 1 });
});
