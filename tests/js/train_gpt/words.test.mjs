// What TrainGPT says of a run, and what it puts aside.

import { beginAnew, bringBack, freeText, goBack, putAside, takeUp } from "../../../mygpt/explorers/train_gpt/past.mjs";
import * as training from "../../../mygpt/explorers/train_gpt/state.mjs";
import { nothingYet, rateWarning, stepBack, stepLine, verdict } from "../../../mygpt/explorers/train_gpt/words.mjs";
import { assert, gives, says, stateOf, tells, test, times } from "../common.mjs";

const prepared = { guessing: 4, bigram: 2 };
const kept = (step) => ({ step, weights: new Map() });
const falling = times(400, (i) => 3 - i / 200);

test("a run that goes on from another says how many steps it has", () => {
  const at = { step: 1488, from: 0, until: 2000, phase: "stopped", perStep: 10 };
  assert.equal(stepLine(at), "step 1,488 of 2,000");
  assert.equal(stepLine({ ...at, from: 1488, until: 3488 }), "step 1,488 of 3,488 (this run: 2,000)");
  const texts = ["step 1,488 of 2,000, about 5 s left", "step 1,488 of 2,000"];
  gives((phase) => stepLine({ ...at, phase }), ["running", "stopping"], texts);
});

test("each state says in a true sentence why there is no text yet", () => {
  const soon = "Nothing yet. The first text comes in a moment.";
  const texts = { new: "Nothing yet. Press Train.", stopped: "Nothing yet. Press Train on." };
  tells((phase) => nothingYet({ phase, prepared }), { ...texts, running: soon, stopping: soon });
  says(nothingYet({ phase: "new", prepared: null }), "Nothing yet. It needs a text to learn from.");
  assert.equal(nothingYet({ phase: "stopped", prepared: null, opened: {} }), "Nothing yet.");
});

test("a rate that is far too high is warned of, and the usual ones are not", () => {
  assert.equal(rateWarning(1), "A learning rate of 1 is far too high: try 0.006.");
  assert.deepEqual([0.0005, 0.006, 0.02].map(rateWarning), ["", "", ""]);
});

// A run of 400 steps, or the fields given: what its held-out loss says beside its loss in training.
const run = (losses, fields = {}) => {
  const held = Object.entries(losses).map(([at, loss]) => [Number(at), loss]);
  const later = held.filter(([at]) => at).map(([at, loss]) => ({ kept: kept(at), loss }));
  const [best] = later.sort((a, b) => a.loss - b.loss);
  return { prepared, step: 400, losses: falling, phase: "stopped", held, best, ...fields };
};
const line = (from, to, steps = 400) => times(steps, (i) => from + ((to - from) * i) / steps);
const BEGUN = { step: 7, losses: line(4, 3.9, 7), phase: "running" };
const OTHER = { guessing: 4.03, bigram: 2 };
const VERDICTS = [
  [run({ 100: 1.5, 400: 1.51 }), "Held-out loss 1.51: below the bigram model’s 2.00."], // noise
  [run({ 100: 2.5, 400: 1.9 }), "Held-out loss 1.90: below the bigram model’s 2.00."],
  [run({ 200: 2.4 }, { step: 230 }), "Held-out loss 2.40 at step 200: not yet below the bigram model’s 2.00."],
  // a text of the reader's own that is too short, while it is trained, and then
  [
    run({ 0: 4, 100: 2.13, 400: 3.86 }, { losses: line(4, 0.15) }),
    /^Held-out loss 3.86, rising since step 100, where it was 2.13; the loss in training is 0.40. .* by heart: go back, or take a longer text\.$/,
  ],
  [
    run({ 0: 4, 100: 2.13, 300: 2.7 }, { losses: line(4, 0.15), phase: "running" }),
    /by heart: press Stop and go back, or take/,
  ],
  [run({ 100: 1.5, 400: 9 }), /^Held-out loss 9.00, rising since step 100, .* by heart: go back/],
  [
    run({ 0: 4, 100: 4.4, 400: 6 }, { losses: line(4, 0.5), best: null }),
    /since step 0, .* by heart: take a longer text\.$/,
  ],
  [
    run({ 200: 2.14, 400: 2.13 }, { losses: line(4, 0.15) }),
    /2.13; the loss in training is 0.40. .* by heart; a longer text helps\.$/,
  ],
  // a rate that is too high
  [
    run({ 100: 1.5, 400: 1.9 }, { losses: line(1, 3) }),
    "Held-out loss 1.90: below the bigram model’s 2.00. It was lowest, 1.50, at step 100.",
  ],
  [run({ 100: 1.5, 400: 9 }, { losses: line(1, 9) }), /too high: go back, and choose a lower one/],
  [
    run({ 100: 9, 400: 9 }, { losses: line(4, 9) }),
    /^Held-out loss 9.00: no better .* too high: press Reset, and choose a lower one/,
  ],
  // before it has learnt
  [
    run({ 0: 4.04 }, { ...BEGUN, prepared: OTHER }),
    "Held-out loss 4.04 at step 0: before its first step it guesses, and ln V is 4.03.",
  ],
  [
    run({ 0: 4.04 }, { ...BEGUN, step: 0, losses: [] }),
    "Held-out loss 4.04: before its first step it guesses, and ln V is 4.00.",
  ],
  [run({ 0: 1.4 }, { ...BEGUN, step: 0, losses: [] }), "Held-out loss 1.40: below the bigram model’s 2.00."], // of Python
  [
    run({ 0: 4, 10: 4.01 }, { step: 12, losses: line(4, 4, 12) }),
    "Held-out loss 4.01 at step 10: no better than guessing, 4.00, so far.",
  ],
  [
    run({ 60: 5.2 }, { step: 64, losses: line(5.2, 5, 4), opened: {} }),
    "Held-out loss 5.20 at step 60: no better than guessing, 4.00, so far.",
  ],
  [run({ 60: NaN }, { step: 60, losses: [], opened: {} }), ""],
];

test("the held-out loss is judged beside the loss in training, at the step at which it was taken", () => {
  for (const [state, said] of VERDICTS) says(verdict(state), said);
});

test("the way back leads to a model that is better than guessing, or was opened", () => {
  const state = run({ 100: 9 }, { step: 100, losses: [4, 9] });
  const opened = { ...state, opened: {} }; // at its first step: there is nothing to go back to
  assert.equal(stepBack(opened), undefined);
  assert.match(verdict(opened), /press Reset, and/);
  const diverged = { ...opened, phase: "diverged" };
  assert.equal(stepBack(diverged), 100);
  assert.match(verdict(diverged), /go back, and/);
  assert.match(verdict({ ...diverged, phase: "running" }), /press Reset, and/);
});

/** A state with the traits as they are at first. */
function begun(fields = {}) {
  const traits = { source: "own", pieces: "characters", size: "small", seed: 0, steps: 100 };
  return stateOf(traits, {
    ...{ phase: "stopped", before: [], after: [], own: "", from: 0, until: 100, note: "", lost: false },
    ...{ samples: [], held: [], losses: [], best: null, kept: null, step: 0, prepared },
    ...fields,
  });
}
const trained = (step) => ({ step, kept: kept(step), losses: falling.slice(0, step), until: step });

test("what was trained is brought back with its text and its choices, also past its step", () => {
  const state = begun({ ...trained(100), own: "a text", samples: [{ step: 100, text: "a" }] });
  beginAnew(state);
  assert.deepEqual([state.step, state.losses.length, state.phase], [0, 0, "new"]);
  assert.equal(state.note, "Undo brings back the model of step 100.");
  state.write({ size: "large" });
  Object.assign(state, trained(140), { own: "another", phase: "running" });
  bringBack(state);
  assert.deepEqual([state.step, state.losses.length, state.own, state.get("size")], [100, 100, "a text", "small"]);
  assert.deepEqual([state.samples.length, state.lost, state.before.length], [1, true, 0]);
  bringBack(state, "after");
  assert.deepEqual([state.step, state.own, state.get("size"), state.phase], [140, "another", "large", "stopped"]);
  assert.equal(state.before.length, 1);
});

test("a text that was pasted is not lost by Undo", () => {
  const state = begun({ ...trained(100), own: "a text" });
  beginAnew(state);
  state.own = "a newer text";
  bringBack(state);
  assert.deepEqual([state.step, state.own], [100, "a text"]);
  assert.equal(state.note, "The model of step 100 is back. Redo brings back your newer text.");
  bringBack(state, "after");
  assert.deepEqual([state.step, state.own, state.phase, state.kept], [0, "a newer text", "new", null]);
  assert.equal(state.note, "Your text is back.");
  const other = begun({ ...trained(100) });
  other.write({ source: "given", text: "" });
  beginAnew(other);
  other.write({ source: "own" });
  other.own = "pasted";
  bringBack(other);
  assert.deepEqual([other.own, other.get("source"), other.before, other.after], ["pasted", "given", [], []]);
});

const tokens = ["a", "b", " "];
const tokenizer = { kind: "characters", tokens, encode: (text) => Array.from(text, (one) => tokens.indexOf(one)) };

test("an opened model comes back onto the text that was pasted meanwhile", () => {
  const state = begun({ ...trained(7), losses: [], opened: { tokenizer }, refusal: "This text has a …" });
  state.write({ source: "given", text: "" });
  beginAnew(state);
  state.write({ source: "own" });
  state.own = "ab ".repeat(1000);
  bringBack(state);
  assert.deepEqual([state.step, state.get("source"), state.refusal], [7, "own", ""]);
  assert.equal(state.prepared.learn.length, 2700);
  state.own = `${state.own}x`;
  training.prepare(state);
  assert.equal(state.refusal, "This text has a character that the model does not know: 'x', at index 3000.");
});

test("an opened model that is given another text stays, and what it learnt from the last is put aside", () => {
  const state = begun({ ...trained(60), held: [[60, 2]], opened: {} });
  freeText(state);
  assert.deepEqual([state.kept.step, state.step, state.from, state.until], [60, 60, 60, 160]);
  assert.deepEqual([state.losses, state.held, state.lost, state.before.length], [[], [], true, 1]);
  freeText(state);
  assert.equal(state.before.length, 1);
  const own = begun(trained(60));
  freeText(own); // of a model that was trained here the text stays
  assert.equal(own.losses.length, 60);
});

test("Reset after Undo loses neither model", () => {
  const state = begun(trained(100));
  putAside(state);
  Object.assign(state, trained(40));
  bringBack(state);
  beginAnew(state);
  const steps = state.before.map((one) => one.fields.kept.step);
  assert.deepEqual(steps, [40, 100]);
});

test("a second Reset loses neither model", () => {
  const state = begun(trained(100));
  beginAnew(state);
  Object.assign(state, trained(40));
  beginAnew(state);
  bringBack(state);
  assert.equal(state.step, 40);
  bringBack(state);
  assert.equal(state.step, 100);
});

test("a model that was not yet kept is not put aside", () => {
  const state = begun({ step: 3, phase: "running" });
  beginAnew(state);
  assert.deepEqual([state.before, state.note], [[], ""]);
});

test("the way back leads to the model with the lowest held-out loss, and leaves what came after it", () => {
  const state = begun({ ...trained(60), held: [[60, 2]] });
  training.takeBest(state);
  Object.assign(state, { ...trained(90), held: [...state.held, [90, 7]], phase: "diverged" });
  training.takeBest(state);
  goBack(state);
  assert.deepEqual([state.step, state.losses.length, state.phase, state.lost], [60, 60, "stopped", true]);
  assert.deepEqual([state.held, state.kept.step, state.before], [[[60, 2]], 60, []]);
  assert.equal(state.note, "Back at the model of step 60.");
});

test("a run behind whose beginning a model is taken up begins there", () => {
  const state = begun({ ...trained(120), from: 100, until: 200 });
  takeUp(state, kept(60));
  assert.deepEqual([state.from, state.until, state.losses.length], [60, 160, 60]);
  takeUp(state, null);
  assert.deepEqual([state.step, state.losses.length], [0, 0]);
});

test("the size of a model is one of those to choose from, or none", () => {
  assert.equal(training.sizeOf({ layers: 2, width: 64, heads: 4 }), "small");
  assert.equal(training.sizeOf({ layers: 4, width: 128, heads: 4 }), "large");
  assert.equal(training.sizeOf({ layers: 3, width: 64, heads: 4 }), undefined);
});

const config = { vocab: 3, positions: 8, width: 64, heads: 4, layers: 2 };

test("leaving is asked about as long as something is not saved", () => {
  const [model, first] = [kept(7), kept(0)];
  const asked = (fields) => training.unsaved({ kept: null, saved: null, own: "", ...fields });
  const [another, own] = [{ kept: model, saved: kept(7) }, { own: "pasted" }];
  gives(asked, [{ kept: model }, another, own], [true, true, true]);
  const nothing = [{}, { kept: model, saved: model }, { kept: first }, { own: new Uint8Array(5) }];
  gives(asked, nothing, Array(4).fill(false));
});

test("a checkpoint is opened without a word about the text of the model before it", () => {
  for (const [own, source] of Object.entries({ "": "given", xyz: "own", "ab ": "given" })) {
    const state = begun({ own: own.repeat(900) }); // "ab " it can read
    state.write({ source, text: "0123456789".repeat(300) });
    training.takeCheckpoint(state, { step: 7, tensors: new Map(), config, tokenizer });
    assert.deepEqual([state.refusal, state.get("source"), training.unsaved({ ...state, own: "" })], ["", "own", false]);
    assert.equal(Boolean(state.prepared), own === "ab ");
    training.prepare(state);
    assert.equal(state.refusal !== "", own === "xyz"); // once the reader gives it
  }
});

test("an empty file is refused in words, and no text at all is none", () => {
  const [file, none] = [new Uint8Array(0), ""].map((own) => begun({ own, opened: null }));
  [file, none].forEach(training.prepare);
  assert.equal(file.refusal, "Expected a text of at least 2,000 characters, got 0.");
  assert.equal(none.refusal, "");
});

test("the model that was kept is asked to write after a prompt that it can read", () => {
  const opened = { config, tokenizer };
  const state = begun({ ...trained(7), opened, prepared: null, presses: 0 });
  const asked = training.writingOf(state, "ab a");
  assert.deepEqual([asked.start, asked.count, asked.seed, asked.given.kept.step], [[0, 1, 2, 0], 160, 1, 7]);
  assert.deepEqual([asked.given.length, training.writingOf(state, "").start], [8, [0]]);
  assert.throws(
    () => training.writingOf(state, "abc"),
    /^Error: this prompt has a character that the model does not know: 'c'/,
  );
  assert.equal(training.writingOf({ ...state, kept: null }, "ab"), null);
});
