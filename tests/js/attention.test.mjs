import assert from "node:assert/strict";
import { test } from "node:test";

import { linesOf, listed, shadeOf, sizesOf, staircase } from "../../mygpt/explorers/attention/widget.mjs";
import { contrast, roomForNumbers, wantsBlack } from "../../mygpt/explorers/kit/cells.mjs";
import { heatColours } from "../../mygpt/explorers/kit/heat.mjs";

const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

test("a short text is listed whole, a longer one by its largest in order of position", () => {
  assert.deepEqual(listed([0.2, 0.8, 0], 2), { named: [0, 1, 2], others: 0, sum: 0, masked: 0 });
  const weights = [0.1, 0.3, 0.1, 0.2, 0.1, 0.2, 0];
  const { named, others, sum, masked } = listed(weights, 6, 5, 3);
  assert.deepEqual([named, others, masked], [[1, 3, 5], 3, 1]);
  close(sum, 0.3);
  const first = listed([1, 0, 0, 0, 0, 0, 0], 1, 5, 3);
  assert.deepEqual(first, { named: [0], others: 0, sum: 0, masked: 6 });
  assert.deepEqual(listed([0.25, 0.25, 0.25, 0.25], 4, 3, 2).named, [0, 1]);
});

test("the mask is a staircase over the diagonal", () => {
  assert.equal(staircase(2), "50% 0%, 50% 50%, 100% 50%, 100% 100%, 100% 0%");
});

test("a line of the list says a word's weight, or that it is masked", () => {
  assert.deepEqual(linesOf([0.25, 0.75, 0], 2, ["a", "b", "c"]), [
    { place: 0, text: "a", share: 0.25, weight: "0.250" },
    { place: 1, text: "b", share: 0.75, weight: "0.750" },
    { place: 2, text: "c", share: 0, weight: "masked" },
  ]);
});

test("of a long text the other words share a line, and so do the masked ones", () => {
  const words = Array.from({ length: 17 }, (_, i) => `word ${i}`);
  const weights = words.map((_, i) => (i < 13 ? (i + 1) / 91 : 0));
  const lines = linesOf(weights, 13, words);
  assert.deepEqual(
    lines.slice(0, 10).map(({ place }) => place),
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  );
  assert.deepEqual(
    lines.slice(10).map(({ text, weight }) => [text, weight]),
    [
      ["3 others", (6 / 91).toFixed(3)],
      ["4 words", "masked"],
    ],
  );
  const one = linesOf(weights.slice(0, 13), 12, words.slice(0, 13)).slice(10);
  assert.deepEqual(
    one.map(({ text }) => text),
    ["2 others", "1 word"],
  );
});

test("words over the columns slant where a column is narrower than a word", () => {
  const [wide, narrow] = [640, 300].map((width) => sizesOf(["attention", "is", "all", "you", "need"], width));
  assert.equal(wide.slanted, false);
  assert.equal(narrow.slanted, true);
  assert.ok(narrow.top > wide.top);
  for (const { width, gutter, room, free } of [wide, narrow]) {
    assert.equal(gutter + room, width);
    assert.deepEqual(free, [true, true, true, true, true]);
  }
  const { free } = sizesOf(
    Array.from({ length: 97 }, () => "word"),
    640,
  );
  assert.ok(free.includes(false) && free.includes(true));
});

/** The colours of a heatmap's zero and of its largest numbers, in the light theme and in the dark one. */
const THEMES = [
  { zero: [0xf4, 0xf5, 0xf7], low: [0, 0, 0], high: [0xa3, 0x43, 0] },
  { zero: [0x1b, 0x21, 0x29], low: [0, 0, 0], high: [0xff, 0xa4, 0x5c] },
];
const shades = (weights, theme) => {
  const bytes = heatColours(weights, 1, theme, shadeOf);
  return weights.map((_, i) => bytes.subarray(4 * i, 4 * i + 3));
};

test("a weight of 0.05 is told from none, and each next shade of the legend from the one before", () => {
  for (const theme of THEMES) {
    const cells = shades([0, 0.05, 0.2, 0.5, 1], theme);
    cells.slice(1).forEach((cell, i) => assert.ok(contrast(cell, cells[i]) > 1.35, `${i}`));
  }
});

test("numbers are read on every shade of both themes", () => {
  const weights = Array.from({ length: 1001 }, (_, i) => i / 1000);
  for (const theme of THEMES) {
    for (const cell of shades(weights, theme)) {
      assert.ok(contrast(cell, wantsBlack(cell) ? [0, 0, 0] : [255, 255, 255]) >= 4.5);
    }
  }
  assert.ok(Math.abs(contrast([0, 0, 0], [255, 255, 255]) - 21) < 1e-9);
});

test("cells have numbers where there is room for them", () => {
  assert.equal(roomForNumbers(34, 20), true);
  assert.equal(roomForNumbers(33, 40), false);
  assert.equal(roomForNumbers(80, 19), false);
  /** @type {(count: number, width: number) => boolean} */
  const numbered = (count, width) => {
    const { room, height } = sizesOf(
      Array.from({ length: count }, () => "word"),
      width,
    );
    return roomForNumbers(room / count, height / count);
  };
  assert.deepEqual(
    [3, 8, 15, 20].map((count) => numbered(count, 640)),
    [true, true, true, false],
  );
  assert.deepEqual(
    [3, 7, 15].map((count) => numbered(count, 340)),
    [true, true, false],
  );
});
