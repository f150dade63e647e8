import { thinnedLosses } from "../../mygpt/explorers/compute/losses.mjs";
import { nearestStop } from "../../mygpt/explorers/kit/geometry.mjs";
import { rateText } from "../../mygpt/explorers/kit/parts/picture.mjs";
import { MAX_STEPS, recentLoss } from "../../mygpt/explorers/train_stack/course.mjs";
import { looksOf, planeColours } from "../../mygpt/explorers/train_stack/pictures.mjs";
import { advanceAll, nextStop, sideOf } from "../../mygpt/explorers/train_stack/run.mjs";
import * as words from "../../mygpt/explorers/train_stack/words.mjs";
import { assert, gives, near, says, test, times } from "./common.mjs";

const setting = (changes = {}) => ({ ...words.DEFAULT, depth: 3, ...changes });
const side = (changes) => ({ setting: setting(changes) });
const state = (...settings) => ({ sides: settings.map((one) => sideOf(setting(one), "short")), done: 0 });
const LOST = { depth: 40, gain: 10 };

// What is seen of a stack after some steps.
const ended = (step, loss, right, { lost = false, recent = loss } = {}) => ({
  ...{ step, loss, lost, right, recent },
  sizes: { gradient: [0.25, 7] },
});

test("a link brings back the task and the settings", () => {
  const plain = setting({ wiring: "plain", activation: "silu", gain: 1.7, rate: 1e-7, seed: 99 });
  const norm = setting({ wiring: "pre-norm", depth: 40, gain: 0.1 + 0.2, rate: 10 });
  for (const task of ["short", "long"]) {
    for (const settings of [[plain], [plain, norm], [norm, norm]]) {
      assert.deepEqual(words.linkedSettings(words.linkOf(task, settings)), { task, settings });
    }
  }
  const two = [setting(), setting({ wiring: "plain", rate: 0.01 })];
  says(words.linkOf("short", two), "#stack=short;residual,3,relu,1,0.003,0;plain,3,relu,1,0.01,0");
});

test("another hash is no link", () => {
  for (const hash of ["", "#", "#section", "#live=e30x", "#stack"]) {
    assert.equal(words.linkedSettings(hash), undefined);
  }
});

test("a bad link is refused with what is wrong in it", () => {
  const good = "residual,20,relu,1,0.003,0";
  const known = "one of plain, residual, pre-norm, post-norm";
  const bad = {
    [`circle;${good}`]: "its task must be one of short, long, not “circle”",
    "": "its task must be one of short, long, not “”",
    [`toString;${good}`]: "its task must be one of short, long, not “toString”",
    short: "it must have one setting or two",
    [`short;${good};${good};${good}`]: "it must have one setting or two",
    "short;residual,20,relu,1,0.003": "a setting has 6 parts (wiring, depth, activation, gain, rate, seed), not 5",
    [`short;${good},1`]: "a setting has 6 parts (wiring, depth, activation, gain, rate, seed), not 7",
    "short;": "a setting has 6 parts (wiring, depth, activation, gain, rate, seed), not 1",
    "short;foo,20,relu,1,0.003,0": `its wiring must be ${known}, not “foo”`,
    "short;constructor,20,relu,1,0.003,0": `its wiring must be ${known}, not “constructor”`,
    [`short;${"x".repeat(30)},20,relu,1,0.003,0`]: `its wiring must be ${known}, not “${"x".repeat(20)}”`,
    "short;plain,0,relu,1,0.003,0": "its depth must be a whole number from 1 to 40, not “0”",
    "short;plain,41,relu,1,0.003,0": "its depth must be a whole number from 1 to 40, not “41”",
    "short;plain,2.5,relu,1,0.003,0": "its depth must be a whole number from 1 to 40, not “2.5”",
    "short;plain,,relu,1,0.003,0": "its depth must be a whole number from 1 to 40, not “”",
    "short;plain,20,tanh,1,0.003,0": "its activation must be one of relu, gelu, silu, not “tanh”",
    "short;plain,20,relu,0,0.003,0": "its gain must be above 0 and at most 10, not “0”",
    "short;plain,20,relu,Infinity,0.003,0": "its gain must be above 0 and at most 10, not “Infinity”",
    "short;plain,20,relu,1,10.5,0": "its rate must be above 0 and at most 10, not “10.5”",
    "short;plain,20,relu,1,fast,0": "its rate must be above 0 and at most 10, not “fast”",
    "short;plain,20,relu,1,0.003,": "its seed must be a whole number from 0 to 99, not “”",
    "short;plain,20,relu,1,0.003,100": "its seed must be a whole number from 0 to 99, not “100”",
    "short;plain,20,relu,1,0.003,-1": "its seed must be a whole number from 0 to 99, not “-1”",
  };
  for (const [link, message] of Object.entries(bad)) {
    assert.throws(() => words.linkedSettings(`#stack=${link}`), { message }, link);
  }
  assert.throws(() => words.linkedSettings(`#stack=long;${good};plain,20,relu,1,0.003,1.5`), { message: /its seed/ });
});

test("what no page can use is as in the default, and the rest is kept", () => {
  for (const nothing of [undefined, null, {}, 7]) assert.deepEqual(words.settingOf(nothing), words.DEFAULT);
  const odd = { wiring: "hasOwnProperty", depth: 7.5, activation: "tanh", gain: "2", rate: Infinity, seed: -1 };
  assert.deepEqual(words.settingOf({ ...odd, task: "long" }), words.DEFAULT);
  const good = setting({ wiring: "plain", depth: 1, gain: 10, rate: 1e-9, seed: 99 });
  for (const [name, value] of Object.entries(odd)) {
    assert.deepEqual(words.settingOf({ ...good, [name]: value }), { ...good, [name]: words.DEFAULT[name] });
  }
});

test("the sliders hold values that a setting may have, the usual ones among them", () => {
  for (const [name, values] of Object.entries({ gain: words.GAINS, rate: words.RATES })) {
    assert.ok(values.includes(words.DEFAULT[name]));
    assert.ok(values.every((one, i) => !i || one > values[i - 1]));
    for (const one of values) assert.equal(words.settingOf({ [name]: one })[name], one);
  }
  assert.deepEqual([words.RATES[0], words.RATES.at(-1), words.RATES.length], [1e-4, 1, 25]);
  for (const [name, names] of Object.entries({ wiring: words.WIRING_NAMES, activation: words.BEND_NAMES })) {
    for (const [one] of names) assert.equal(words.settingOf({ [name]: one })[name], one);
  }
  for (const [task] of words.TASK_NAMES) {
    assert.equal(words.linkedSettings(words.linkOf(task, [words.DEFAULT])).task, task);
  }
});

test("the nearest value is so by ratio", () => {
  gives((value) => nearestStop([1, 10, 100], value), [3, 4, 1e9], [0, 1, 2]);
  assert.equal(nearestStop(words.RATES, 1e-9), 0);
  words.RATES.forEach((rate, i) => assert.equal(nearestStop(words.RATES, rate), i));
  for (const none of [NaN, -1]) assert.equal(nearestStop(words.GAINS, none), 0);
});

test("the setting is put in words", () => {
  const other = { wiring: "post-norm", activation: "gelu", rate: 1e-5, seed: 7 };
  const sides = [side({ depth: 1, gain: 1.7 }), side(other)];
  const [left, right] = [
    "Residual, 1 block, ReLU, gain 1.7, learning rate 0.003, seed 0.",
    "Post-norm, 3 blocks, GELU, gain 1, learning rate 1.00 × 10⁻⁵, seed 7.",
  ];
  says(words.settingText({ task: "short", sides: sides.slice(0, 1) }), `Short spirals. ${left}`);
  says(words.settingText({ task: "long", sides }), `Long spirals. Left: ${left} Right: ${right}`);
  assert.equal(words.stackText(setting({ wiring: "pre-norm", depth: 40 })), "Pre-norm, 40 blocks");
  const rates = ["0.003", "1.00 × 10⁻⁴", "0.0015", "10", "0.1235"];
  assert.deepEqual([0.003, 0.0001, 0.0015, 10, 0.123456].map(rateText), rates);
  assert.equal(words.sideName({ sides: [1] }, 0), "Stack");
  assert.equal(words.sideName({ sides: [1, 1] }, 0), "Left stack");
  assert.equal(words.sideName({ sides: [1, 1] }, 1), "Right stack");
});

test("it is said in what two stacks differ", () => {
  const other = { wiring: "plain", depth: 7, activation: "silu", gain: 2, rate: 0.01, seed: 1 };
  const text = (...names) =>
    words.differenceText([side(), side(Object.fromEntries(names.map((one) => [one, other[one]])))]);
  assert.equal(text(), "The two stacks are the same.");
  assert.equal(text("wiring"), "The two stacks differ only in wiring.");
  assert.equal(text("depth"), "The two stacks differ only in blocks.");
  assert.equal(text("rate", "gain"), "The two stacks differ in gain and learning rate.");
  const all = "The two stacks differ in wiring, blocks, activation, gain, learning rate and seed.";
  says(text(...Object.keys(other)), all);
  assert.equal(words.differenceText([side()]), "");
});

test("a title tells what is unusual in a stack, and in what it differs from the other", () => {
  const title = (i, ...changes) => words.titleText(changes.map(side), i).replaceAll("\u00a0", " ");
  assert.equal(title(0, {}), "Residual, 3 blocks");
  assert.equal(title(0, { gain: 2, rate: 0.01 }), "Residual, 3 blocks, gain × 2, rate 0.01");
  const two = [{ wiring: "plain" }, { wiring: "plain", gain: 2 }];
  assert.equal(title(0, ...two), "Left: Plain, 3 blocks, gain × 1");
  assert.equal(title(1, ...two), "Right: Plain, 3 blocks, gain × 2");
  assert.equal(title(1, {}, { activation: "gelu", seed: 7 }), "Right: Residual, 3 blocks, GELU, seed 7");
  assert.equal(title(0, {}, { wiring: "plain", depth: 1 }), "Left: Residual, 3 blocks");
});

test("nothing is shown before all stacks have been looked at", () => {
  const [one, two] = [ended(7, 0.6, 0.5), ended(4, NaN, 0.5, { lost: true })];
  const sides = (...looks) => looks.map((seen) => ({ seen }));
  assert.deepEqual(words.looksAt({ sides: sides(one, null) }), []);
  assert.deepEqual(words.looksAt({ sides: sides(one, two) }), [one, two]);
  assert.equal(words.shownStep({ done: 9, sides: sides(one, two) }), 7);
  assert.equal(words.shownStep({ done: 9, sides: sides(one, null) }), 9);
});

test("numbers are put in words", () => {
  const losses = ["0.693", "0", "12.3", "2.00 × 10⁻⁷", "3.70 × 10²⁰", "too large", "too large"];
  assert.deepEqual([0.6931, 0, 12.345, 2e-7, 3.7e20, NaN, Infinity].map(words.lossText), losses);
  assert.deepEqual([0, 0.494, 1].map(words.shareText), ["0 %", "49 %", "100 %"]);
  const steps = [0, -3, 2.6, 5000, 1e9, Infinity, NaN, undefined, "12", "x"].map(words.stepsOf);
  assert.deepEqual(steps, [0, 0, 3, 5000, 5000, 5000, 0, 0, 12, 0]);
});

test("the recent loss is the median of the last twenty, whatever one of them is", () => {
  gives((losses) => recentLoss({ losses }), [[0.5], [0.5, 1.5], [9, 1, 30, 2]], [0.5, 1, 5.5]);
  const losses = [...Array(30).fill(7), ...Array(10).fill(0.5), ...Array(10).fill(0.25)];
  assert.equal(recentLoss({ losses }), 0.375);
  assert.equal(recentLoss({ losses: [...losses.slice(0, -1), 1e9] }), 0.5);
  assert.equal(losses.at(-1), 0.25, "the losses keep their order");
});

test("it is said what has become of a stack", () => {
  const now = (...given) => words.verdict(ended(...given));
  const lost = (step, loss) => now(step, loss, 0.5, { lost: true });
  says(now(0, 0.7, 0.5), "No step yet. Gradient of block 1: 0.250.");
  says(lost(0, 1e12), "The loss is too large before the first step. Try a smaller gain.");
  says(lost(2, NaN), "Diverged at step 2: the loss is too large. Try a smaller learning rate.");
  says(now(19, 0.1, 1), "");
  const far = [now(20, 1.4, 1), now(20, 0.3, 1, { recent: 1.4 })];
  assert.deepEqual(far, Array(2).fill("The loss is far above that of guessing."));
  const [part, little] = ["It has learned part of the spirals.", "A little better than guessing."];
  says(now(20, 0.66, 0.599), "");
  gives((right) => now(20, 0.69, right), [0.599, 0.6], ["No better than guessing.", little]);
  gives((right) => now(20, 0.4, right), [0.749, 0.75], [little, part]);
  gives((right) => now(20, 0.1, right), [0.949, 0.95], [part, "It has learned the spirals."]);
});

test("a stack that knows its own points alone is told so", () => {
  for (const right of [0.5, 0.749]) {
    assert.equal(words.verdict(ended(60, 0.0087, right)), "It knows its own points by heart, and not the spirals.");
  }
  assert.equal(words.verdict(ended(60, 0.0087, 0.75)), "It has learned part of the spirals.");
});

test("listeners hear the step, and of each stack its loss, its share and its verdict", () => {
  const [one, two] = [ended(21, 0.6931, 0.5), ended(21, 0.0123, 0.961)];
  const [first, second] = [
    "loss 0.693, 50 % of new points right. No better than guessing.",
    "loss 0.0123, 96 % of new points right. It has learned the spirals.",
  ];
  const said = (...looks) => words.sentenceOf({ done: 30, sides: looks.map((seen) => ({ seen })) });
  says(said(one), `Step 21. Stack: ${first}`);
  says(said(one, two), `Step 21. Left stack: ${first} Right stack: ${second}`);
});

test("a run ends at the next of three steps", () => {
  assert.deepEqual([0, 299, 300, 1499, 1500, 4999, 5000].map(nextStop), [300, 300, 1500, 1500, 5000, 5000, 5000]);
});

test("the axis of the losses ends at a round number of steps that holds them all", () => {
  assert.deepEqual([0, 50, 51, 200, 999, 2001, 5000].map(words.lastStep), [50, 50, 100, 200, 1000, 5000, 5000]);
  for (let done = 0; done <= MAX_STEPS; done += 37) assert.ok(words.lastStep(done) >= done);
});

test("of many losses the means of stretches are drawn", () => {
  assert.deepEqual(thinnedLosses([0.5]), { steps: [0], means: [0.5] });
  const few = times(250, (i) => i / 7);
  assert.deepEqual(thinnedLosses(few), { steps: few.map((_, i) => i), means: few });
  assert.deepEqual(thinnedLosses([1, 3, 5, 6, 10], 2), { steps: [1, 3.5], means: [3, 8] });
  const most = thinnedLosses(Array(5001).fill(0.25));
  const even = few.map((_, i) => 2 * i);
  const line = thinnedLosses(even, 100);
  assert.ok(most.steps.length <= 250 && most.means.every((one) => one === 0.25));
  line.steps.forEach((step, i) => assert.equal(line.means[i], 2 * step));
});

test("a stretch with a loss that is no number is a gap", () => {
  assert.deepEqual(thinnedLosses([1, Infinity, 2, NaN, 3], 5).means, [1, NaN, 2, NaN, 3]);
  assert.deepEqual(thinnedLosses([1, 1, 3, Infinity], 2).means, [1, NaN]);
});

test("a size that has no power of ten is a gap", () => {
  near(words.powersOf([1, 1000, 1e-7]), [0, 3, -7]);
  assert.deepEqual(words.powersOf([0, NaN, Infinity, -1, 10]), [NaN, NaN, NaN, NaN, 1]);
});

test("an axis of powers spans whole ones, at least two", () => {
  assert.deepEqual(words.powerSpan([[-2.5, 0.2, NaN], [1.1]]), [-3, 2]);
  assert.deepEqual(words.powerSpan([[0.3, 0.4]]), [0, 2]);
  assert.deepEqual(words.powerSpan([[-4], []]), [-4, -2]);
  assert.deepEqual(words.powerSpan([[NaN, NaN], []]), [-1, 1]);
});

test("a place of the plane has its spiral's colour, the stronger the surer", () => {
  const first = [10, 20, 30];
  const second = [40, 50, 60];
  const bytes = [...planeColours([-50, 50, 1, -1, 0, NaN], [first, second])];
  const cells = times(6, (i) => bytes.slice(4 * i, 4 * i + 4));
  const most = Math.round(255 * 0.62);
  assert.deepEqual(cells[0], [...first, most]);
  assert.deepEqual(cells[1], [...second, most]);
  const part = Math.round(255 * 0.62 * Math.tanh(0.5));
  assert.deepEqual(cells[2], [...second, part]);
  assert.deepEqual(cells[3], [...first, part]);
  assert.equal(cells[4][3], 0);
  assert.deepEqual(cells[5], [0, 0, 0, 0]);
});

test("curves have the looks of their wirings, and two of a wiring differ", () => {
  const looks = (...wirings) => looksOf(wirings.map((wiring) => side({ wiring })));
  assert.deepEqual(looks("plain"), [0]);
  assert.deepEqual(looks("post-norm", "residual"), [3, 1]);
  assert.deepEqual(looks("pre-norm", "pre-norm"), [2, 4]);
});

test("steps are taken of all stacks, up to a number or until a moment", () => {
  const both = state({}, { wiring: "plain" });
  assert.ok(advanceAll(both, 7));
  assert.deepEqual([both.done, ...both.sides.map(({ now }) => now.done)], [7, 7, 7]);
  assert.ok(!advanceAll(both, 99, 0));
  assert.equal(both.done, 8);
  assert.ok(advanceAll(both, 8, 0));
  assert.equal(both.done, 8);
});

test("a stack that is lost stands still, and the other goes on", () => {
  const both = state({}, LOST);
  const [{ now }, { now: lost }] = both.sides;
  assert.ok(advanceAll(both, 5));
  assert.deepEqual([both.done, now.done, lost.done, now.lost, lost.lost], [5, 5, 0, false, true]);
  const none = state(LOST, LOST);
  assert.ok(advanceAll(none, 5));
  assert.equal(none.done, 0);
});
