import assert from "node:assert/strict";
import { test } from "node:test";

import {
  axisEnd, descending, distribution, drawCounts, entropy, grouped, shown,
} from "../../mygpt/explorers/sampling.mjs";

const range = (count) => Array.from({ length: count }, (_, i) => i);
const near = (found, wanted) => found.forEach((one, i) =>
  assert.ok(Math.abs(one - wanted[i]) < 1e-12, `${found} is not ${wanted}`));
const logs = (...weights) => weights.map(Math.log);
const open = { temperature: 1, topK: null, topP: 1 };

test("ids go from the largest number down, of equal ones the earlier first", () => {
  assert.deepEqual(descending([2, 7, 2, -Infinity, 7, 3, -Infinity]), [1, 4, 5, 0, 2, 3, 6]);
});

test("the temperature takes the ratio of two probabilities to a power", () => {
  near(distribution(logs(1, 3), { ...open, temperature: 0.5 }).probabilities, [0.1, 0.9]);
  near(distribution(logs(1, 81), { ...open, temperature: 2 }).probabilities, [0.1, 0.9]);
});

test("top-k keeps ties with the k-th and gives the share of those kept", () => {
  const found = distribution(logs(2, 3, 2, 5, 1), { ...open, topK: 3 });
  assert.deepEqual(found.kept, [true, true, true, true, false]);
  near(found.probabilities, [2 / 12, 3 / 12, 2 / 12, 5 / 12, 0]);
  near([found.share], [12 / 13]);
  near(found.before, [2 / 13, 3 / 13, 2 / 13, 5 / 13, 1 / 13]);
});

test("top-p keeps the fewest that reach p, of equal ones the earlier", () => {
  const kept = (topP) => distribution([1, 1, 1, 1], { ...open, topP }).kept.map(Number);
  assert.deepEqual(kept(0.05), [1, 0, 0, 0]);
  assert.deepEqual(kept(0.5), [1, 1, 0, 0]);
  assert.deepEqual(kept(0.55), [1, 1, 1, 0]);
  assert.deepEqual(kept(1), [1, 1, 1, 1]);
});

test("top-p reads the probabilities that top-k leaves", () => {
  const logits = logs(8, 5, 4, 3);
  const left = ({ kept }) => kept.filter(Boolean).length;
  assert.equal(left(distribution(logits, { ...open, topP: 0.6 })), 2);
  assert.equal(left(distribution(logits, { ...open, topP: 0.6, topK: 2 })), 1);
});

test("the entropy of n equal shares is log2 n, of a certain token 0", () => {
  near([entropy(new Array(32).fill(1 / 32)), entropy([0, 1, 0])], [5, 0]);
  assert.ok(!Object.is(entropy([0, 1, 0]), -0));
});

test("a number draws the token in whose part of the whole it falls", () => {
  const found = drawCounts([0.25, 0, 0.5, 0.25], [0, 0.2499, 0.25, 0.7499, 0.75, 0.5, 0.3]);
  assert.deepEqual(found, { counts: [2, 0, 4, 1], last: 2 });
  assert.equal(drawCounts([0.5, 0.5 - 1e-9, 0], [1 - 1e-12]).last, 1);
  assert.deepEqual(drawCounts([1, 0], []), { counts: [0, 0], last: -1 });
});

test("the axis ends at a round share", () => {
  assert.deepEqual([0.03, 0.1, 0.11, 0.5, 0.51, 1].map(axisEnd), [0.1, 0.1, 0.2, 0.5, 1, 1]);
});

test("tokens from the thirteenth on share a row", () => {
  assert.deepEqual(grouped(range(12)).length, 12);
  assert.deepEqual(grouped(range(13)).at(-1), [12]);
  assert.deepEqual(grouped(range(17), 3), [[0], [1], [2], range(17).slice(3)]);
});

test("spaces and control characters are shown", () => {
  assert.equal(shown(" a\n\u00a0\u0007é"), "·a↵U+00A0U+0007é");
});
