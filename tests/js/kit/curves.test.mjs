import { radiiOf, shownAmong } from "../../../mygpt/explorers/kit/curves.mjs";
import { assert, test } from "../common.mjs";

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

test("a marker under others is larger, so that each is seen", () => {
  assert.deepEqual(radiiOf([10, 50, 90], 5), [5, 5, 5]);
  const [under, middle, over] = radiiOf([10, 12, 9], 5);
  assert.ok(under > middle && middle > over);
  assert.equal(over, 5);
});
