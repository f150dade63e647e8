import assert from "node:assert/strict";
import { test } from "node:test";

import { listed, staircase, weightsOf } from "../../mygpt/explorers/attention.mjs";

const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

test("each row of the head is a softmax, and the mask leaves it the words before", () => {
  const [heads, length] = [3, 5];
  const scores = Float32Array.from({ length: heads * length * length }, (_, i) => Math.sin(7 * i));
  const head = 2;
  const row = scores.subarray((head * length + 3) * length).slice(0, length);
  const powers = Array.from(row, (score) => Math.exp(score / 0.5));
  const free = weightsOf(scores, length, head, 0.5, false);
  const causal = weightsOf(scores, length, head, 0.5, true);
  const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
  assert.equal(free.length, 25);
  for (let column = 0; column < length; column += 1) {
    close(free[15 + column], powers[column] / sum(powers));
    close(causal[15 + column], column > 3 ? 0 : powers[column] / sum(powers.slice(0, 4)));
  }
  assert.deepEqual([...causal.subarray(0, 5)], [1, 0, 0, 0, 0]);
});

test("large scores neither overflow nor lose every weight", () => {
  const weights = weightsOf(Float32Array.from([3e38, -3e38, 3e38, 3e38]), 2, 0, 0.25, false);
  assert.deepEqual([...weights], [1, 0, 0.5, 0.5]);
});

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
