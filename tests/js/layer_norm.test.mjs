import assert from "node:assert/strict";
import { test } from "node:test";

import { changeText, moved, noteText, roundLimit } from "../../mygpt/explorers/layer_norm/widget.mjs";

test("an axis has a round limit that holds every number", () => {
  assert.deepEqual([[1, -2], [2.1], [1, -5], [11], [33]].map(roundLimit), [2, 4, 6, 16, 34]);
});

test("a vector is moved as a whole, or not at all", () => {
  assert.deepEqual(
    moved([1, -2.5], (x) => 2 * x, 10),
    [2, -5],
  );
  assert.equal(
    moved([1, 6], (x) => 2 * x, 10),
    null,
  );
  assert.deepEqual(
    moved([0.04, -0.04], (x) => x, 1),
    [0, 0],
  );
});

test("the note says by what the deviations are divided, or that there are none", () => {
  assert.equal(
    noteText(3, 0),
    "Variance 3.0000; the deviations are divided by √(variance + ε) = 2.0000. "
      + "Before γ and β the result has the standard deviation 0.8660.",
  );
  assert.match(noteText(0, -5), /^All channels are equal/);
});

test("a change is told by its channel, or by how many channels moved", () => {
  assert.equal(changeText([1, 2, 3], [1, -2.5, 3]), "Channel 1 is −2.5.");
  assert.equal(changeText([1, 2, 3], [2, 3, 3]), "2 channels moved.");
  assert.equal(changeText([1, 2], [1, 2]), "");
});
