import * as walk from "../../mygpt/explorers/block_walk/widget.mjs";
import { momentsOf } from "../../mygpt/explorers/kit/geometry.mjs";
import { assert, test } from "./common.mjs";

test("norm, mean and standard deviation", () => {
  assert.equal(walk.normOf([3, -4, 12]), 13);
  assert.deepEqual(momentsOf([1, 5]), { mean: 3, variance: 4, std: 2 });
});

test("a strip has one bar for each number, up and down from the middle, by sign", () => {
  assert.equal(walk.stripPath([2, -1], 2, 30), "M5.00 0.00h40.00v15.00h-40.00Z");
  assert.equal(walk.stripPath([2, -1], 2, 30, true), "M55.00 15.00h40.00v7.50h-40.00Z");
});

test("stages of one width share one scale, whichever of them is shown, at whichever word", () => {
  const vectors = [
    [
      [1, -2],
      [1, -6],
    ],
    [
      [0.5, 0.25],
      [0, 0],
    ],
    [
      [9, 9, 9],
      [0, 0, 0],
    ],
  ];
  const state = { widths: [2, 2, 3], everyVector: (stage) => vectors[stage] };
  assert.deepEqual(walk.domainOf(state, 0), walk.domainOf(state, 1));
  assert.ok(walk.domainOf(state, 1)[0] <= -6);
  assert.ok(walk.domainOf(state, 2)[1] >= 9 && walk.domainOf(state, 2)[0] > -6);
});

test("the longest of the vectors is said to be so", () => {
  const vectors = [Float32Array.of(1, 0), Float32Array.of(3, 4), Float32Array.of(0, 2)];
  const state = { names: ["a", "b", "c"], vector: (stage) => vectors[stage] };
  const texts = [0, 1, 2].map((stage) => walk.longestText(state, stage));
  assert.deepEqual(texts, ["", ", the longest of the 3", ""]);
});

test("of a sum that is shorter than what it started from it is said that this can be", () => {
  assert.equal(walk.beforeText("x", [1, 1], [3, 4]), "x; a sum can be shorter");
  assert.equal(walk.beforeText("x", [3, 5], [3, 4]), "x");
});
