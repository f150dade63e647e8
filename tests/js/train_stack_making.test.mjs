import { leanings, takeStep } from "../../mygpt/explorers/train_stack/course.mjs";
import { forward } from "../../mygpt/explorers/train_stack/net.mjs";
import { makeSome, sideOf } from "../../mygpt/explorers/train_stack/run.mjs";
import { DEFAULT, WIRING_NAMES } from "../../mygpt/explorers/train_stack/words.mjs";
import { assert, test, times } from "./common.mjs";

const setting = (changes) => ({ ...DEFAULT, depth: 4, ...changes });

test("stacks are made in parts, and are there once all are made", () => {
  const asked = [{}, { wiring: "pre-norm", depth: 5 }].map((changes) => ({ setting: setting(changes) }));
  const given = { task: "long", asked, making: null, sides: [] };
  let parts = 0;
  for (; !given.sides.length && parts < 99; parts += 1) makeSome(given, 0);
  assert.ok(parts > 2 * (4 + 5), "a part for each block, there and back");
  for (const [i, { now, ...made }] of given.sides.entries()) {
    const { now: wanted, ...side } = sideOf(asked[i].setting, "long");
    assert.deepEqual(made, side);
    assert.deepEqual([now.losses, now.learnt, now.net.slope], [wanted.losses, wanted.learnt, wanted.net.slope]);
  }
});

test("a stack that only looks says what the one says that learns", () => {
  for (const [wiring] of WIRING_NAMES) {
    const { now } = sideOf(setting({ wiring }), "short");
    takeStep(now);
    const { points } = now.learnt;
    const logits = forward(now.net, points, now.batch.rows);
    const wanted = times(now.batch.rows, (r) => logits[2 * r + 1] - logits[2 * r]);
    const found = [0, 1].flatMap((half) => [...leanings(now, points.subarray(128 * half, 128 * (half + 1)))]);
    assert.deepEqual(found, wanted);
  }
});
