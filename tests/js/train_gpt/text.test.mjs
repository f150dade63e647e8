import { MOST_BYTES, materialOf, readText } from "../../../mygpt/explorers/train_gpt/text.mjs";
import { assert, test } from "../common.mjs";

const encoded = (text) => new TextEncoder().encode(text);
const LINES = "one line of a text\n".repeat(200);

/** @type {(bytes: number[]) => Uint8Array} Bytes between enough text. */
const around = (...bytes) => Uint8Array.from([...encoded(LINES), ...bytes, ...encoded(LINES)]);

test("a text comes through, with the line ends of Unix and no byte order mark", () => {
  const text = `${LINES}שלום 😀 é\n`;
  const marked = `\ufeff${text}`;
  for (const given of [
    text,
    marked,
    encoded(marked),
    marked.replaceAll("\n", "\r\n"),
    encoded(text.replaceAll("\n", "\r")),
  ]) {
    assert.deepEqual(readText(given), { text, note: "" });
  }
});

test("characters are counted, not bytes or halves of them", () => {
  assert.throws(() => readText("😀".repeat(1999)), /at least 2,000 characters, got 1,999$/);
  assert.equal(readText("😀".repeat(2000)).text.length, 4000);
  assert.throws(() => readText(""), /at least 2,000 characters, got 0$/);
  assert.throws(() => readText(" \n".repeat(2000)), /got white space alone$/);
});

test("what is no text is refused with its place", () => {
  const at = LINES.length;
  const place = `at byte ${at.toLocaleString("en")}$`;
  assert.throws(() => readText(around(0)), /^Error: expected text in UTF-8, got a NUL at byte 3,800, /);
  assert.throws(() => readText(around(0xff)), new RegExp(`got FF ${place}`));
  assert.throws(() => readText(around(0xe9, 0x20)), new RegExp(`got E9 ${place}`));
  assert.throws(() => readText(around(0xed, 0xa0, 0x80)), new RegExp(`got ED ${place}`));
  assert.throws(() => readText(encoded(`${LINES}é`).subarray(0, -1)), new RegExp(`got C3 ${place}`));
  assert.throws(() => readText(encoded(`${LINES}\ufffd`).subarray(0, -1)), /got the end at byte 3,802$/);
  assert.throws(() => readText(`${LINES}\ud83d`), /got half of one at index 3,800$/);
  assert.deepEqual(readText(around(0xef, 0xbf, 0xbd)).text, `${LINES}\ufffd${LINES}`);
});

test("a long text is cut at the end of a line, and that is said", () => {
  const long = "ä line\n".repeat(10e6 / 8);
  const { text, note } = readText(long);
  assert.equal(text, "ä line\n".repeat(MOST_BYTES / 8));
  assert.equal(note, "The text has 10.0 MB; its first 2.00 MB are used.");
  const uneven = readText(`x${long}`).text;
  assert.equal(uneven, `x${"ä line\n".repeat(MOST_BYTES / 8 - 1)}`);
  const exactly = encoded(long).subarray(0, MOST_BYTES);
  assert.equal(readText(exactly).note, "");
  assert.equal(readText(exactly, 5e9).note, "The text has 5.00 GB; its first 2.00 MB are used.");
});

test("one long line is cut between two characters", () => {
  const { text } = readText(`x${"😀".repeat(1e6)}`);
  assert.equal(text, `x${"😀".repeat(MOST_BYTES / 4 - 1)}`);
});

test("a text of one token, or too few, is refused", () => {
  assert.throws(
    () => materialOf("characters", "a".repeat(3000), 64),
    /at least two different characters, got 'a' alone$/,
  );
  assert.throws(() => materialOf("words", "ha ".repeat(3000), 64), /at least two different words, got 'ha' alone$/);
  assert.throws(() => materialOf("words", `${"a".repeat(3000)} b`, 64), /at least 65 words to train on, got 1$/);
  assert.throws(() => materialOf("words", "a b ".repeat(36), 64), /at least 65 words to train on, got 64$/);
  assert.equal(materialOf("words", "a b ".repeat(37), 64).training.length, 66);
});
