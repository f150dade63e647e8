import assert from "node:assert/strict";
import { test } from "node:test";

import { changeText, layerNorm, moved, noteText, roundLimit } from "../../mygpt/explorers/layer_norm.mjs";

test("four numbers by hand", () => {
  const { mean, variance, result } = layerNorm([1, 2, 3, 4], { gamma: 2, beta: 1, eps: 1e-5 });
  assert.equal(mean, 2.5);
  assert.equal(variance, 1.25);
  assert.deepEqual(result.map((y) => y.toFixed(4)), ["-1.6833", "0.1056", "1.8944", "3.6833"]);
});

test("a constant vector gives beta", () => {
  const { variance, result } = layerNorm([5, 5, 5], { gamma: 3, beta: 0.7, eps: 1e-5 });
  assert.equal(variance, 0);
  assert.deepEqual(result, [0.7, 0.7, 0.7]);
});

test("an axis has a round limit that holds every number", () => {
  assert.deepEqual([[1, -2], [2.1], [1, -5], [11], [33]].map(roundLimit), [2, 4, 6, 16, 34]);
});

test("a vector is moved as a whole, or not at all", () => {
  assert.deepEqual(moved([1, -2.5], (x) => 2 * x, 10), [2, -5]);
  assert.equal(moved([1, 6], (x) => 2 * x, 10), null);
  assert.deepEqual(moved([0.04, -0.04], (x) => x, 1), [0, 0]);
});

test("the note says by what the deviations are divided, or that there are none", () => {
  assert.equal(noteText(3, 0), "Variance 3.0000; the deviations are divided by √(variance + ε) = 2.0000. "
    + "Before γ and β the result has the standard deviation 0.8660.");
  assert.match(noteText(0, -5), /^All channels are equal/);
});

test("a change is told by its channel, or by how many channels moved", () => {
  assert.equal(changeText([1, 2, 3], [1, -2.5, 3]), "Channel 1 is −2.5.");
  assert.equal(changeText([1, 2, 3], [2, 3, 3]), "2 channels moved.");
  assert.equal(changeText([1, 2], [1, 2]), "");
});
