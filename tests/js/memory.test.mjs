import assert from "node:assert/strict";
import { test } from "node:test";

import { ranking, unpackPairs } from "../../mygpt/explorers/neurons.mjs";

test("every neuron gets its own pairs, and no more than it has", () => {
  const texts = ["a", "b", "c", "d", "e"];
  const packed = Float32Array.from([
    4, 0.5, 1, -2, 0, 7,
    2, 3, -1, -1, -1, -1,
    -1, -1, -1, -1, -1, -1,
    3, 0.25, 3, 0.125, -1, -1,
    0, 1, -1, -1, -1, -1,
  ]);
  assert.deepEqual(unpackPairs(packed, 5, texts), [
    [{ text: "e", number: 0.5 }, { text: "b", number: -2 }, { text: "a", number: 7 }],
    [{ text: "c", number: 3 }],
    [],
    [{ text: "d", number: 0.25 }, { text: "d", number: 0.125 }],
    [{ text: "a", number: 1 }],
  ]);
  assert.deepEqual(unpackPairs(new Float32Array(0), 3, []), [[], [], []]);
});

test("the strongest comes first whatever its sign, and of equals the first", () => {
  assert.deepEqual(ranking(Float32Array.from([1, -3, 0, 3, 2, -2, 0])), [1, 3, 4, 5, 0, 2, 6]);
});
