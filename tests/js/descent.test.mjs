import { RATES, begun } from "../../mygpt/explorers/descent/widget.mjs";
import { levelLine, levelName } from "../../mygpt/explorers/descent/contour.mjs";
import { tangentPath } from "../../mygpt/explorers/descent/curve.mjs";
import { lossSpan, sampled } from "../../mygpt/explorers/descent/fit.mjs";
import { linesOf, snapped, thinned, wayOut } from "../../mygpt/explorers/descent/marks.mjs";
import { NEURONS, initialWeights, network } from "../../mygpt/explorers/descent/network.mjs";
import { advance, ended } from "../../mygpt/explorers/descent/run.mjs";
import * as moves from "../../mygpt/explorers/descent/steps.mjs";
import * as wording from "../../mygpt/explorers/descent/words.mjs";
import { nearestStop } from "../../mygpt/explorers/kit/geometry.mjs";
import { panelWidths, rateText } from "../../mygpt/explorers/kit/parts/picture.mjs";
import { assert, gives, near, range, says, test, times } from "./common.mjs";

function gone(steps, { problem = moves.oneWeight, start = [0], rule = "plain", rate = 0.1 } = {}) {
  const now = moves.descent(problem, start, { rule, rate });
  for (let i = 0; i < steps; i += 1) moves.takeStep(now);
  return now;
}

const words = (now, view = "one") => wording.verdict({ view, now });

test("the next move is told without taking it", () => {
  for (const rule of Object.keys(moves.RULES)) {
    const now = gone(3, { rule });
    const { move } = moves.nextMove(now);
    assert.deepEqual(moves.nextMove(now).move, move);
    const [w] = now.weights;
    moves.takeStep(now);
    near([now.weights[0]], [w - 0.1 * move]);
  }
});

test("a line of equal loss has one loss, and its long axis lies along the valley", () => {
  for (const level of [0.1, 20]) {
    for (const point of levelLine(level, 17)) near([moves.twoWeights(point, [0, 0])], [level], 1e-9);
  }
  const { across, along } = moves.valley(1);
  near([across[0] * along[0] + across[1] * along[1]], [0]);
  assert.ok(Math.hypot(...along) > 6 * Math.hypot(...across));
});

test("the name of a loss stands on its line and along it", () => {
  for (const level of [2, 20]) {
    const { at, angle } = levelName(level);
    const steep = -Math.tan((angle * Math.PI) / 180); // the picture counts downward
    near([moves.twoWeights([at[0] + 1e-4, at[1] + 1e-4 * steep], [0, 0])], [level], 1e-6);
  }
});

test("a descent ends where its loss is too large, and takes no step from there", () => {
  const now = gone(100, { rate: 0.3 });
  assert.ok(now.lost && now.done < 40 && now.loss > 1e9);
  assert.equal(now.losses.length, now.done + 1);
  moves.takeStep(now);
  assert.ok(now.losses.slice(0, -1).every((loss) => loss <= 1e9));
  assert.ok(gone(3, { start: [NaN] }).lost);
});

test("standing still on flat ground is settled, swinging through the lowest place is not", () => {
  assert.ok(moves.settled(gone(60)));
  assert.ok(!moves.settled(gone(0, { start: [3] })) && moves.settled(gone(1, { start: [3] })));
  const swinging = moves.descent(moves.oneWeight, [3], { rule: "momentum", rate: 0.1 });
  swinging.mean[0] = 5;
  moves.takeStep(swinging);
  assert.ok(!moves.settled(swinging));
  assert.ok(!moves.settled(gone(3, { problem: network(3, "tanh"), start: initialWeights(3, 0) })));
});

test("an activation and its slope at 0 and far out", () => {
  const at = (name, z) => {
    const [value, slope] = NEURONS[name];
    return [value(z), slope(z, value(z))];
  };
  assert.deepEqual(at("relu", 0), [0, 0]);
  assert.deepEqual(at("gelu", 0), [0, 0.5]);
  near(at("gelu", 40), [40, 1]);
  near(at("gelu", -40), [0, 0]);
  near(at("tanh", -40), [-1, 0]);
});

test("what each step did is said in words", () => {
  says(words(gone(0)), /slope is −24.0000, so the loss falls towards larger w/);
  says(words(gone(0, { start: [5] })), /towards smaller w/);
  says(words(gone(0, { start: [3] })), /slope is 0: no step/);
  says(words(gone(2)), /went downhill and stayed on its side/);
  says(words(gone(2, { rate: 0.2 })), /overshot the minimum, but landed lower/);
  says(words(gone(2, { rate: 0.25 })), /landed as high as it began/);
  says(words(gone(1, { rate: 0.26 })), /overshot the minimum and landed higher/);
  says(words(gone(9, { rate: 0.3 })), /landed higher than it began\.$/);
  says(words(gone(90, { rate: 0.3 })), /^Diverged at step 26: .* smaller learning rate helps/);
  says(words(gone(9)), /nearly flat here, so steps are tiny/);
  says(words(gone(3, { rule: "momentum" })), /went uphill, carried on by the steps before/);
});

test("in the valley a step crosses it, goes along it, or overshoots", () => {
  const two = (steps, more) => words(gone(steps, { problem: moves.twoWeights, start: [0, 4], ...more }), "two");
  says(two(0), /right angle/);
  says(two(0, { rule: "adam" }), /each weight by the learning rate/);
  near(gone(1, { problem: moves.twoWeights, start: [0, 4], rule: "adam" }).weights, [0.1, 4.1], 1e-8);
  says(two(2, { rate: 0.25 }), /crossed the valley and landed lower/);
  says(two(60), /went along the valley/);
  says(two(3, { rate: 0.3 }), /overshot: it crossed the valley and landed higher/);
  says(two(1000), /nearly flat/);
  says(two(1000, { rate: 0.3 }), /^Diverged/);
});

test("of a network the words count where the loss rose", () => {
  const trained = (steps, more) =>
    words(gone(steps, { problem: network(8, "tanh"), start: initialWeights(8, 0), ...more }), "network");
  says(trained(0), /random/);
  says(trained(1), /^The loss fell at the first step, from \d\.\d{4} to \d\.\d{4}\.$/);
  says(trained(7), /^The loss fell at each of the last 7 steps, from \d\.\d{4} to \d\.\d{4}\.$/);
  says(trained(90), /each of the last 20 steps, from/);
  says(trained(40, { rate: 0.5 }), /in the last 20 steps: it rose at \d+ of them, which overshot\.$/);
  says(trained(40, { rule: "adam", rate: 0.8 }), /in the last 20 steps: it rose at \d+ of them\.$/);
});

test("a loss that falls by next to nothing hardly moves, one that jumps about does", () => {
  const said = (losses) => words({ losses, done: losses.length - 1, loss: losses.at(-1), rule: "plain" }, "network");
  const stuck = times(30, (i) => 0.19 - i * 1e-7);
  assert.equal(said(stuck), "The loss hardly moves: from 0.1900 to 0.1900 in the last 20 steps.");
  const jumping = times(31, (i) => (i % 2 ? 0.5 : 0.19));
  const told = "in the last 20 steps: it rose at 10 of them, which overshot.";
  says(said(jumping), `The loss went up and down, from 0.1900 to 0.1900 ${told}`);
  const falling = times(30, (i) => 0.19 - i * 1e-3);
  assert.equal(said(falling), "The loss fell at each of the last 20 steps, from 0.1810 to 0.1610.");
});

test("a loss that fell on the whole is said to have fallen, whatever it did between", () => {
  const said = (losses) => words({ losses, done: losses.length - 1, loss: losses.at(-1), rule: "adam" }, "network");
  const ends = (first, last) => [first, ...times(19, (i) => (i % 2 ? 0.5 : 0.4)), last];
  const told = "The loss fell from 0.0013 to 9.77 × 10⁻⁵ in the last 20 steps: it rose at 10 of them.";
  says(said(ends(0.0013, 9.77e-5)), told);
  assert.match(said(ends(0.1, 0.2)), /^The loss rose from 0.1000 to 0.2000 in the last 20 steps/);
});

test("what is beyond the picture is told in lines where one would be cut", () => {
  const text = "step 12: w₁ = −3.46 × 10⁵, w₂ = 4.00";
  assert.deepEqual(linesOf(text, 400), [text]);
  assert.deepEqual(linesOf(text, 200), ["step 12:", "w₁ = −3.46 × 10⁵,", "w₂ = 4.00"]);
});

test("the next step is written out, with its velocity or its direction", () => {
  const lines = (rule, steps = 1) => wording.nextLines({ view: "one", now: gone(steps, { rule }) });
  assert.deepEqual(lines("plain"), ["Next: w − rate × slope = 2.4000 − 0.1 × (−4.8000) = 2.8800"]);
  assert.deepEqual(lines("momentum"), [
    "Next: velocity = 0.9 × (−24.0000) + (−4.8000) = −26.4000",
    "w − rate × velocity = 2.4000 − 0.1 × (−26.4000) = 5.0400",
  ]);
  assert.deepEqual(lines("adam"), [
    "Next: direction = mean slope / root of the mean square = −0.9990",
    "w − rate × direction = 0.1000 − 0.1 × (−0.9990) = 0.1999",
  ]);
  assert.deepEqual(wording.nextLines({ view: "two", now: gone(1) }), []);
  assert.deepEqual(wording.nextLines({ view: "one", now: gone(99, { rate: 1 }) }), []);
});

test("numbers have four decimals where those say enough", () => {
  const numbers = ["0.0000", "36.0000", "−24.0000", "0.0012", "999.5000"];
  gives(wording.numberText, [0, 36, -24, 0.00123, 999.5], numbers);
  const far = ["1.00 × 10⁻⁷", "−5.00 × 10⁻⁴", "1.23 × 10⁴", "−1.90 × 10⁹"];
  assert.deepEqual([1e-7, -0.0005, 12345, -1.9e9].map(wording.numberText), far);
  assert.deepEqual([0.1, 0.0012, 10, 1e-5, 0.123456].map(rateText), ["0.1", "0.0012", "10", "1.00 × 10⁻⁵", "0.1235"]);
  const shown = wording.numbersOf({ view: "one", now: gone(1) });
  assert.equal(shown.map(([name]) => name).join(), "step,w,loss,slope");
});

test("the slider has ten rates a decade, and stands at the nearest", () => {
  assert.equal(RATES.length, 41);
  assert.deepEqual([RATES[0], RATES[20], RATES[40]], [0.001, 0.1, 10]);
  assert.ok(RATES.every((rate, i) => !i || rate > RATES[i - 1]));
  assert.deepEqual(RATES.slice(20, 30), [0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8]);
  assert.equal(RATES[nearestStop(RATES, 0.26)], 0.25);
  assert.equal(RATES[nearestStop(RATES, 1e-9)], 0.001);
  for (const rate of [0, NaN, -1]) assert.ok(nearestStop(RATES, rate) >= 0);
});

test("a page without Python survives any setting, and says what a rate of zero does", () => {
  const traits = { view: "two", rule: "plain", rate: 0.1, start: [0, 4], width: 8, activation: "tanh", seed: 0 };
  const given = (changes) => begun((trait) => ({ ...traits, ...changes })[trait]);
  assert.equal(given({ view: "three" }).view, "one");
  assert.equal(given({ rule: "hop" }).now.rule, "plain");
  assert.deepEqual(given({ start: [NaN, 99] }).start, [0, 5]);
  assert.equal(given({ view: "network", width: 99 }).now.weights.length, 97);
  assert.equal(given({ view: "network", width: 0, activation: "?" }).now.weights.length, 4);
  for (const rate of [0, -1, NaN]) {
    const state = given({ rate });
    assert.match(wording.verdict(state), /moves no weight down\. It must be above 0/);
    assert.ok(advance(state.now, 5) && state.now.done === 0 && ended(state.now));
  }
});

test("steps are taken up to a number, or until a time is over", () => {
  const now = gone(0);
  assert.ok(advance(now, 7) && now.done === 7);
  assert.ok(!advance(now, 99, 0) && now.done === 8);
  const lost = gone(0, { rate: 1 });
  assert.ok(advance(lost, 2000) && lost.lost && ended(lost));
});

test("the setting is put in words", () => {
  const state = { start: [0, -4], neurons: 8, activation: "relu", seed: 3 };
  const text = (view, rule) => wording.settingText({ ...state, view, now: gone(0, { rule }) });
  assert.equal(text("one", "plain"), "Plain steps at rate 0.1, from w = 0.00.");
  assert.equal(text("two", "momentum"), "Momentum steps at rate 0.1, from w₁ = 0.00, w₂ = −4.00.");
  says(text("network", "adam"), "Adam steps at rate 0.1, of a network with 8 neurons, activation relu, seed 3.");
});

test("a start is chosen on a grid and stays within its limits", () => {
  const starts = [2.4449, -0.0001, -7, 9].map((one) => snapped(one, [-1, 7]));
  assert.deepEqual(starts, [2.45, 0, -1, 7]);
});

test("the steps drawn keep apart, and end where they leave the picture for good", () => {
  const frame = { left: 0, right: 100, top: 0, bottom: 100 };
  const drawn = (...places) =>
    thinned(
      places.map((x) => [x, 0]),
      frame,
    ).map(([x]) => x);
  assert.deepEqual(drawn(0, 1, 9, 10), [0, 9, 10]);
  assert.deepEqual(drawn(0, 200, 50, 300, 400), [0, 200, 50, 300]);
  assert.deepEqual(drawn(0, NaN), [0]);
  assert.deepEqual(drawn(0, 1e5, 50), [0, 2000]); // one that ends far away, as far as needed
});

test("a tangent has one length at every slope", () => {
  for (const slope of [0, -2, 50]) {
    const [a, b, c, d] = tangentPath(10, 20, slope)
      .match(/-?[\d.]+/g)
      .map(Number);
    near(Math.hypot(c - a, d - b), 160, 0.2);
    near([(a + c) / 2, (b + d) / 2], [10, 20], 0.06);
  }
});

test("the axes of the losses end at round numbers and hold every finite loss", () => {
  assert.deepEqual(lossSpan([0.53]), { end: 20, bottom: -1, top: 0 });
  assert.deepEqual(lossSpan([1.5, ...new Array(40).fill(0.004)]), { end: 50, bottom: -3, top: 1 });
  assert.deepEqual(lossSpan([2, 0, Infinity]), { end: 20, bottom: -12, top: 1 });
});

test("of many losses some are drawn, the last always", () => {
  gives(sampled, [1, 5], [[0], range(5)]);
  const few = sampled(2001);
  assert.ok(few.length <= 302 && few.at(-1) === 2000 && few[0] === 0);
});

test("two panels share a wide page, and each has a narrow one for itself", () => {
  assert.deepEqual(panelWidths(722), [350, 350]);
  assert.deepEqual(panelWidths(342), [342, 342]);
  const [left, right] = panelWidths(716, 0.58);
  assert.equal(left + right, 694);
});

test("flat ground in mid-swing is not the end: the weights must stand still too", () => {
  const at = (before, last, slope = [0]) => moves.settled({ done: 1, slope, trail: [before, last] });
  assert.deepEqual([at([1], [1]), at([1], [2]), at([1], [1], [0.5])], [true, false, false]);
});

test("a point as near as the one before, across and down, is left out", () => {
  const frame = { left: 0, right: 100, top: -100, bottom: 100 };
  const pairs = (text) => text.split(" ").map((pair) => pair.split(",").map(Number));
  const points = pairs("10,-50 10,-48 10,-47 12,-47 13,-47 50,50");
  assert.deepEqual(thinned(points, frame), pairs("10,-50 10,-47 13,-47 50,50"));
});

test("a hand can put the start from -1 to 7, and the second weight from -3 to 5", () => {
  assert.deepEqual(wording.LIMITS.flat(), [-1, 7, -3, 5]);
});

test("steps that end beyond the picture leave it at an edge, in a direction", () => {
  const frame = { left: 0, right: 100, top: 0, bottom: 50 };
  const within = [50, 25];
  const right = [250, 25];
  const up = [50, -1e9];
  assert.deepEqual(wayOut([within, right], frame), { at: [100, 25], way: [1, 0] });
  assert.deepEqual(wayOut([within, up, right], frame), { at: [50, 0], way: [0, -1] });
  const inside = [[within], [within, right, within], [right], [within, [NaN, 0]], [within, [Infinity, 0]]];
  gives((points) => wayOut(points, frame), inside, Array(5).fill(null));
  assert.equal(wording.outsideText(gone(26, { rate: 0.3 })), "step 26: w = −1.89 × 10⁴");
  assert.match(wording.outsideText(gone(1, { problem: moves.twoWeights, start: [0, 4] })), /^step 1: w₁ = .*, w₂ = /);
});
