import assert from "node:assert/strict";
import { test } from "node:test";

import { changeText, layerNorm, moved, noteText, roundLimit } from "../../mygpt/explorers/layer_norm/widget.mjs";
import { axisText, whyText } from "../../mygpt/explorers/layer_norm/words.mjs";

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

test("it is said why buttons rest, and how much taller an axis is drawn", () => {
  assert.equal(whyText([], 10), "");
  assert.equal(whyText(["Double"], 10), "Double would pass ±10, where the axis ends.");
  assert.match(whyText(["Add 1", "Double"], 10), /^Add 1 or Double would pass/);
  assert.match(whyText(["Add 1", "Double", "X"], 6), /^Add 1, Double or X would pass ±6/);
  assert.equal(axisText(10, 10), "(to ±10)");
  assert.equal(axisText(4, 10), "(to ±4, 2.5 × as tall)");
  assert.equal(axisText(16, 10), "(to ±16, 1.6 × as small)");
});

test("the others spread out while the last bar of the gallery's figure is pulled down to 2", () => {
  const others = [0.5, -0.5, 1, 0, -1];
  const spread = (last) => {
    const { result } = layerNorm([...others, last], { gamma: 1, beta: 0, eps: 1e-5 });
    return Math.max(...result.slice(0, 5)) - Math.min(...result.slice(0, 5));
  };
  const spreads = Array.from({ length: 13 }, (_, i) => spread(8 - i / 2));
  spreads.slice(1).forEach((one, i) => assert.ok(one > spreads[i]));
});
