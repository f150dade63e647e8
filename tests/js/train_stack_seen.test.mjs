import { leanings, recentLoss, shareRight, sizes, takeStep } from "../../mygpt/explorers/train_stack/course.mjs";
import { GRID, REACH, lookAround, sideOf } from "../../mygpt/explorers/train_stack/run.mjs";
import { DEFAULT } from "../../mygpt/explorers/train_stack/words.mjs";
import { assert, near, test, times } from "./common.mjs";

const setting = (changes = {}) => ({ ...DEFAULT, depth: 3, ...changes });

// The picture of the plane, in one go.
function plane(now) {
  const along = times(GRID, (i) => (2 * REACH * (i + 0.5)) / GRID - REACH);
  return along
    .slice()
    .reverse()
    .flatMap((y) => [
      ...leanings(
        now,
        along.flatMap((x) => [x, y]),
      ),
    ]);
}

test("at rest all of the plane is seen, from the top left on", () => {
  const one = sideOf(setting(), "short");
  assert.ok(one.look === null && one.seen === null);
  assert.ok(lookAround(one));
  assert.equal(one.look.right, shareRight(one.now));
  near([...one.look.plane], plane(one.now), 1e-13);
  const { look } = one;
  assert.ok(lookAround(one, 0) && one.look === look, "what has not changed is not looked at again");
});

test("all that is seen of a stack is of one step", () => {
  const one = sideOf(setting({ rate: 0.1 }), "short");
  for (let parts = 0; parts < 9; parts += 1) assert.ok(!lookAround(one, 0));
  assert.ok(one.looked > 0 && one.looked < GRID * GRID);
  takeStep(one.now);
  assert.ok(!lookAround(one, 0));
  assert.ok(one.look === null && one.looked === 0, "of the step before nothing is kept");
  let parts = 0;
  while (!lookAround(one, 0)) parts += 1;
  assert.ok(parts > 20 && parts < 40);
  const { look, now } = one;
  assert.deepEqual([look.step, look.loss, look.lost], [1, now.losses[1], false]);
  assert.deepEqual([look.right, look.recent, look.sizes], [shareRight(now), recentLoss(now), sizes(now)]);
  near([...look.plane], plane(now), 1e-13);
  takeStep(now);
  near([...look.plane], [...one.plane], 0);
  assert.equal(look.loss, now.losses[1], "what has been seen stays as it was");
});
