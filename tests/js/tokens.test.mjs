import * as merges from "../../mygpt/explorers/tokens/merges.mjs";
import { assert, gives, test, times } from "./common.mjs";

const bytes = (text) => new TextEncoder().encode(text);

/** Byte b has the id 3 b; a merge of x and y gives the next id from 1000 on. */
function encoder(...pairs) {
  const ids = times(256, (byte) => 3 * byte);
  const numbers = [...ids, ...pairs.flatMap(([a, b], i) => [a, b, 1000 + i])];
  return merges.makeEncoder(new DataView(Uint16Array.from(numbers).buffer));
}

const [a, b] = [..."ab"].map((letter) => 3 * letter.charCodeAt(0));

test("of three equal bytes the first two are merged", () => {
  assert.deepEqual(merges.merge(bytes("aaa"), encoder([a, a])).ends, [2, 3]);
  assert.deepEqual(merges.merge(bytes("aaaaa"), encoder([a, a], [1000, 1000])).ends, [4, 5]);
});

test("a piece is merged once and then remembered", () => {
  const read = merges.remembering(encoder([a, b]));
  assert.equal(read("ab"), read("ab"));
  assert.notEqual(read("ab"), read("ba"));
});

test("the data may start anywhere in their buffer", () => {
  const numbers = Uint16Array.from([7, 7, 7, ...Array(256).fill(5), 5, 5, 11]);
  const { byteIds, joined } = merges.makeEncoder(new DataView(numbers.buffer, 6));
  assert.equal(byteIds.length, 256);
  assert.deepEqual([...joined.values()], [{ rank: 0, id: 11 }]);
});

test("halves of characters are replaced, and a text ends with a whole one", () => {
  assert.equal(merges.tidy("a\ud83db\udc00"), "a\ufffdb\ufffd");
  assert.equal(merges.tidy("🥐🥐🥐🥐🥐", 3), "🥐🥐🥐");
  assert.equal(merges.tidy("🥐", 1), "🥐");
});

test("bytes are read as characters where these are whole", () => {
  assert.deepEqual(merges.spell(bytes(" the\n")), [{ text: "·the↵" }]);
  const euro = bytes("a€b");
  assert.deepEqual(merges.spell(euro.subarray(0, 3)), [{ text: "a" }, { hex: "E2" }, { hex: "82" }]);
  assert.deepEqual(merges.spell(euro.subarray(2)), [{ hex: "82" }, { hex: "AC" }, { text: "b" }]);
  assert.deepEqual(merges.spell(euro), [{ text: "a€b" }]);
  assert.deepEqual(merges.spell(bytes("🥐").subarray(0, 3)), [{ hex: "F0" }, { hex: "9F" }, { hex: "A5" }]);
});

test("an invisible character is written as its code", () => {
  assert.deepEqual(merges.spell(bytes("a\u202e\ufeff\u0007")), [
    { text: "a" },
    { code: "U+202E" },
    { code: "U+FEFF" },
    { code: "U+0007" },
  ]);
  assert.deepEqual(merges.spell(bytes("\u0301")), [{ text: "◌\u0301" }]);
  assert.deepEqual(merges.spell(bytes("e\u0301")), [{ text: "e\u0301" }]);
  assert.equal(merges.plain(merges.spell(Uint8Array.of(32, 0xc3))), "· byte C3");
});

test("the shared start and end of two lists are found, and never overlap", () => {
  assert.deepEqual(merges.common(["x", "y", "z"], ["x", "q", "r", "z"]), { start: 1, end: 1 });
  assert.deepEqual(merges.common(["x", "x"], ["x", "x", "x"]), { start: 2, end: 0 });
  assert.deepEqual(merges.common([], ["x"]), { start: 0, end: 0 });
  assert.deepEqual(merges.common(["x", "y"], ["y"]), { start: 0, end: 1 });
});

test("of a typed text the first piece with three merges is shown, unless the reader chose another", () => {
  const found = [0, 1, 3, 4].map((steps) => ({ bytes: bytes("abcde"), steps: Array(steps).fill({}) }));
  const [none, own] = [() => false, () => true];
  gives((piece) => merges.livelyPiece(found, piece, none), [0, 3, 9], [2, 3, 9]); // of 9 the last
  assert.equal(merges.livelyPiece(found, 1, own), 1);
  assert.equal(merges.livelyPiece(found.slice(0, 2), 1, none), 1);
  assert.equal(merges.livelyPiece([], 4, none), 4);
  const long = { bytes: bytes("a".repeat(33)), steps: Array(9).fill({}) };
  assert.equal(merges.livelyPiece([found[0], long, found[2]], 0, none), 2);
});
