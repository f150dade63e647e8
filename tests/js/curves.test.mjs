import assert from "node:assert/strict";
import { test } from "node:test";

import { shownAmong } from "../../mygpt/explorers/kit/curves.mjs";

test("the curves that are shown keep the indices that their colours go by", () => {
  const names = ["a", "b", "c"];
  const lists = [[1], [2], [3]];
  const shown = (visible) => shownAmong(lists, { names, get: () => visible });
  assert.deepEqual(shown(["a", "c"]), [
    [0, [1]],
    [2, [3]],
  ]);
  assert.deepEqual(shown([]), []);
});
