import { shiftToSee } from "../../../mygpt/explorers/kit/mounting.mjs";
import { assert, gives, test } from "../common.mjs";

const port = { top: 50, bottom: 850 };
const box = (top, height) => ({ top, bottom: top + height });

test("an explorer that fits scrolls into view by the shortest way, or not at all", () => {
  const control = box(100, 20);
  const boxes = [box(50, 800), box(60, 700), box(300, 700), box(-10, 700)];
  gives((one) => shiftToSee(one, control, port), boxes, [0, 0, 150, -60]);
});

test("of an explorer that is too tall its top is shown, or as much as there is above the control", () => {
  assert.equal(shiftToSee(box(700, 1000), box(720, 20), port), 650);
  assert.equal(shiftToSee(box(700, 1000), box(1600, 20), port), 770);
  assert.equal(shiftToSee(box(-200, 1000), box(-150, 20), port), -250);
  assert.equal(shiftToSee(box(-200, 1200), box(400, 20), port), 0); // it fills the screen
  assert.equal(shiftToSee(box(-200, 1200), box(900, 20), port), 70);
});
