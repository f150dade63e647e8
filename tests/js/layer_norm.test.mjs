import * as norm from "../../mygpt/explorers/layer_norm/widget.mjs";
import { actOf, answerText, axisText, whyText } from "../../mygpt/explorers/layer_norm/words.mjs";
import { assert, gives, says, test, times } from "./common.mjs";

test("an axis has a round limit that holds every number", () => {
  assert.deepEqual([[1, -2], [2.1], [1, -5], [11], [33]].map(norm.roundLimit), [2, 4, 6, 16, 34]);
});

test("a vector is moved as a whole, or not at all", () => {
  const by = (factor) => (x) => factor * x;
  assert.deepEqual(norm.moved([1, -2.5], by(2), 10), [2, -5]);
  assert.equal(norm.moved([1, 6], by(2), 10), null);
  assert.deepEqual(norm.moved([0.04, -0.04], by(1), 1), [0, 0]);
});

test("the note says by what the deviations are divided, or that there are none", () => {
  assert.equal(
    norm.noteText(3, 0),
    "Variance 3.0000; the deviations are divided by √(variance + ε) = 2.0000. "
      + "Before γ and β the result has the standard deviation 0.8660.",
  );
  assert.match(norm.noteText(0, -5), /^All channels are equal/);
});

test("a change is told by its channel, or by how many channels moved", () => {
  assert.equal(norm.changeText([1, 2, 3], [1, -2.5, 3]), "Channel 1 is −2.5.");
  assert.equal(norm.changeText([1, 2, 3], [2, 3, 3]), "2 channels moved.");
  assert.equal(norm.changeText([1, 2], [1, 2]), "");
});

test("it is said why a button rests, and how much taller an axis is drawn", () => {
  assert.equal(whyText("Double", 1000), "Double would pass ±1000, where the numbers end.");
  const texts = ["axis to ±10", "axis to ±4, magnified 2.5 ×", "axis to ±16, reduced 1.6 ×"];
  gives((end) => axisText(end, 10), [10, 4, 16], texts);
});

test("the others spread out while the last bar of the gallery's figure is pulled down to 2", () => {
  const others = [0.5, -0.5, 1, 0, -1];
  const spread = (last) => {
    const { result } = norm.layerNorm([...others, last], { gamma: 1, beta: 0, eps: 1e-5 });
    return Math.max(...result.slice(0, 5)) - Math.min(...result.slice(0, 5));
  };
  const spreads = times(13, (i) => spread(8 - i / 2));
  spreads.slice(1).forEach((one, i) => assert.ok(one > spreads[i]));
});

test("the axis goes on where the numbers do", () => {
  const ends = [[9.4], [-10.1], [20.1, 3], [400], [999]].map((numbers) => norm.axisFor(numbers, 10));
  assert.deepEqual(ends, [10, 20, 50, 500, 1000]);
  assert.equal(norm.axisFor([700], 600), 1000);
});

/** @type {(values: number[], settings?: number[]) => LayerNorm.Act} */
const act = (values, settings = [1, 0, -5]) => {
  const [gamma, beta, power] = settings;
  return { values, settings, result: norm.layerNorm(values, { gamma, beta, eps: 10 ** power }).result };
};

test("an act is the channel or setting that it moved, or all", () => {
  const after = [act([1, 2]), act([1, 3]), act([1, 2], [2, 0, -5]), act([2, 3])];
  gives((one) => actOf(act([1, 2]), one), after, ["", "1", "2", "all"]);
});

test("one sentence says what the last act did to the result", () => {
  const start = act([1, 2, 3, 4]);
  const said = (...now) => answerText(start, act(...now));
  says(said([1, 2, 3, 4]), /^Move a bar/);
  says(said([2, 3, 4, 5]), "The result has not changed: the norm forgets the mean.");
  says(said([2, 4, 6, 8]), /^The result has not changed in three decimals: the norm forgets the size\.$/);
  says(said([3, 5, 7, 9]), /forgets the mean and the size\.$/);
  says(said([-1, -2, -3, -4]), /flipped its signs/);
  says(said([2.5, 2.5, 2.5, 2.5]), /^All channels are equal/);
  says(said([1, 2, 3, 4], [2, 0, -5]), "Channel 0 of the result changed most, from −1.34 to −2.68.");
  says(said([1, 2, 3, 8]), /^Channel \d of the result changed most/);
});
