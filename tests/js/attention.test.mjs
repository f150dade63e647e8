import { fanLine, fanWidth, labelled } from "../../mygpt/explorers/attention/fan.mjs";
import { answerText, shadeOf, sizesOf, staircase } from "../../mygpt/explorers/attention/widget.mjs";
import { contrast, roomForNumbers, wantsBlack } from "../../mygpt/explorers/kit/parts/cells.mjs";
import { heatColours } from "../../mygpt/explorers/kit/parts/heat.mjs";
import { assert, gives, near, test, times } from "./common.mjs";

test("the mask is a staircase over the diagonal", () => {
  assert.equal(staircase(2), "50% 0%, 50% 50%, 100% 50%, 100% 100%, 100% 0%");
});

test("what a row reads most is said in one sentence", () => {
  const rows = [
    [1, 0, 0],
    [0.25, 0.75, 0],
    [0.2, 0.7, 0.1],
  ];
  const state = { words: ["a", "b", "a"], rowWeights: (row) => rows[row], readable: (row) => row + 1 };
  assert.equal(answerText(state, 0), "“a” can read only itself.");
  assert.equal(answerText(state, 1), "“b” reads itself most: 0.750.");
  assert.equal(answerText(state, 2), "“a” reads “b” most: 0.700.");
  assert.equal(answerText({ ...state, rowWeights: () => [0.6, 0.4, 0] }, 1), "“b” reads “a” at 0 most: 0.600.");
});

test("where words have no room by the lines, those with the largest weights have it", () => {
  assert.deepEqual(labelled([0.1, 0.2, 0.7], 60), [true, true, true]);
  assert.deepEqual(labelled([0.1, 0.2, 0.7], 30), [true, false, true]);
  assert.deepEqual(labelled([0.1, 0.7, 0.2], 30), [false, true, false]);
});

test("a line goes from the word that reads to the one that is read", () => {
  assert.equal(fanLine(1, 0, 20, 100), "M0 30.0C50 30.0 50 10.0 96 10.0");
});

test("words over the columns slant where a column is narrower than a word", () => {
  const [wide, narrow] = [640, 300].map((width) => sizesOf(["attend", "is", "all", "you", "need"], width));
  assert.equal(wide.slanted, false);
  assert.equal(narrow.slanted, true);
  assert.ok(narrow.top > wide.top);
  assert.equal(narrow.gutter + narrow.room, 300); // the lines stand below
  assert.equal(wide.gutter + wide.room + fanWidth + wide.named, 640);
  for (const { free } of [wide, narrow]) {
    assert.deepEqual(free, [true, true, true, true, true]);
  }
  const { free } = sizesOf(Array(97).fill("word"), 640);
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
  const weights = times(1001, (i) => i / 1000);
  for (const theme of THEMES) {
    for (const cell of shades(weights, theme)) {
      assert.ok(contrast(cell, wantsBlack(cell) ? [0, 0, 0] : [255, 255, 255]) >= 4.5);
    }
  }
  near(contrast([0, 0, 0], [255, 255, 255]), 21, 1e-9);
});

test("cells have numbers where there is room for them", () => {
  assert.deepEqual([roomForNumbers(34, 20), roomForNumbers(33, 40), roomForNumbers(80, 19)], [true, false, false]);
  /** @type {(count: number, width: number) => boolean} */
  const numbered = (count, width) => {
    return sizesOf(Array(count).fill("word"), width).numbered;
  };
  gives((count) => numbered(count, 640), [3, 8, 15, 20], [true, true, false, false]);
  gives((count) => numbered(count, 340), [3, 7, 15], [true, true, false]);
});
