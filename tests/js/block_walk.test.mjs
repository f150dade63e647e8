import assert from "node:assert/strict";
import { test } from "node:test";

import { domainOf, momentsOf, normOf, stripPath, vectorAt } from "../../mygpt/explorers/block_walk.mjs";

test("a vector is found by stage and position among widths that differ", () => {
  const numbers = Float32Array.from({ length: 5 * (3 + 7 + 2) }, (_, i) => i);
  const shape = { widths: [3, 7, 2], positions: 5 };
  assert.deepEqual([...vectorAt(numbers, shape, 0, 4)], [12, 13, 14]);
  assert.deepEqual([...vectorAt(numbers, shape, 1, 2)], [29, 30, 31, 32, 33, 34, 35]);
  assert.deepEqual([...vectorAt(numbers, shape, 2, 4)], [58, 59]);
});

test("norm, mean and standard deviation", () => {
  assert.equal(normOf([3, -4, 12]), 13);
  assert.deepEqual(momentsOf([1, 5]), { mean: 3, std: 2 });
});

test("a strip has one bar for each number, up and down from the middle, by sign", () => {
  assert.equal(stripPath([2, -1], 2, 30), "M5.00 0.00h40.00v15.00h-40.00Z");
  assert.equal(stripPath([2, -1], 2, 30, true), "M55.00 15.00h40.00v7.50h-40.00Z");
});

test("stages of one width share one scale, whichever of them is shown", () => {
  const vectors = [[1, -6], [0.5, 0.25], [9, 9, 9]];
  const state = { widths: [2, 2, 3], vector: (stage) => vectors[stage] };
  assert.deepEqual(domainOf(state, 0), domainOf(state, 1));
  assert.ok(domainOf(state, 1)[0] <= -6);
  assert.ok(domainOf(state, 2)[1] >= 9 && domainOf(state, 2)[0] > -6);
});
