import * as sampling from "../../mygpt/explorers/sampling/distribution.mjs";
import { cutAfter } from "../../mygpt/explorers/sampling/table.mjs";
import { outcomeOf, shown } from "../../mygpt/explorers/sampling/words.mjs";
import { assert, gives, near, range, test } from "./common.mjs";

test("the entropy of n equal shares is log2 n, of a certain token 0", () => {
  near([sampling.entropy(new Array(32).fill(1 / 32)), sampling.entropy([0, 1, 0])], [5, 0]);
  assert.ok(!Object.is(sampling.entropy([0, 1, 0]), -0));
});

test("a number draws the token in whose part of the whole it falls", () => {
  const found = sampling.drawCounts([0.25, 0, 0.5, 0.25], [0, 0.2499, 0.25, 0.7499, 0.75, 0.5, 0.3]);
  assert.deepEqual(found, { counts: [2, 0, 4, 1], last: 2 });
  assert.equal(sampling.drawCounts([0.5, 0.5 - 1e-9, 0], [1 - 1e-12]).last, 1);
  assert.deepEqual(sampling.drawCounts([1, 0], []), { counts: [0, 0], last: -1 });
});

test("tokens from the thirteenth on share a row", () => {
  assert.deepEqual([sampling.grouped(range(12)).length, sampling.grouped(range(13)).at(-1)], [12, [12]]);
  assert.deepEqual(sampling.grouped(range(17), 3), [[0], [1], [2], range(17).slice(3)]);
});

test("spaces and control characters are shown", () => {
  assert.equal(shown(" a\n\u00a0\u0007é"), "·a↵U+00A0U+0007é");
});

const LOGITS = [0.5, 0.3, 0.15, 0.05].map(Math.log);

/** What is said of a setting of four tokens. */
function said(top_k, top_p) {
  const found = sampling.distribution(LOGITS, { temperature: 1, topK: top_k, topP: top_p });
  const pieces = outcomeOf({ tokens: ["a", "b", "c", "d"], found, top_k, top_p });
  return pieces.map(([, text]) => text).join("");
}

test("what is kept is a share of the whole probability, and where both cut also of what top-k keeps", () => {
  assert.match(said(3, 0.84), /^2 of 4 tokens kept: 0\.800 of the probability \(0\.842 of what top-k keeps\), each/);
  assert.match(said(null, 0.79), /^2 of 4 tokens kept: 0\.800 of the probability, each/);
});

test("what is kept shares the whole probability anew, and where nothing is cut none is said to grow", () => {
  assert.match(said(2, 1), /: 0\.800 of the probability, each × 1\.25 now\. Entropy 0\.95 bits\.$/);
  assert.match(said(null, 1), /^4 of 4 tokens kept: none is cut\. Entropy/);
});

test("a dragged cut moves top-p where it cuts, and otherwise top-k", () => {
  const setting = { temperature: 1, topK: null, topP: 1 };
  const moved = (changes, count) => sampling.settingFor(LOGITS, { ...setting, ...changes }, count);
  assert.deepEqual(moved({}, 2), { ...setting, topK: 2 });
  assert.deepEqual(moved({ topK: 2 }, 4), setting);
  assert.deepEqual(moved({ topP: 0.5 }, 2), { ...setting, topP: 0.79 });
  assert.deepEqual(moved({ topP: 0.7 }, 2), { ...setting, topP: 0.7 }); // two are kept already
  assert.deepEqual(moved({ topP: 0.7 }, 4), setting);
  assert.deepEqual(moved({ topK: 2, topP: 0.9 }, 1), { ...setting, topK: 1, topP: 0.9 });
  assert.deepEqual(moved({ topK: 3, topP: 0.5 }, 2), { ...setting, topK: 3, topP: 0.84 });
  assert.deepEqual(moved({ topK: 2, topP: 1 }, 3), { ...setting, topK: 3 });
});

test("a cut keeps whole tokens, at least one, and a part of the row of several", () => {
  const rows = [{ ids: [0] }, { ids: [1] }, { ids: [2, 3, 4, 5] }];
  const kept = [-1, 0.3, 1.4, 1.6, 2.3, 2.5, 9].map((cut) => sampling.keptAbove(rows, cut));
  assert.deepEqual(kept, [1, 1, 1, 2, 3, 4, 6]);
});

test("the line of the cut is after the last row that is left, or within the row of several tokens", () => {
  const rows = [{ ids: [0] }, { ids: [1] }, { ids: [2, 3, 4, 5] }];
  const left = (...counts) => counts.map((count) => ({ left: count }));
  gives((counts) => cutAfter(rows, counts), [left(1, 0, 0), left(1, 1, 1), left(1, 1, 4)], [1, 2.25, 3]);
});
