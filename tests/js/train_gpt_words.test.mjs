// What TrainGPT says of a run, and what it puts aside.

import assert from "node:assert/strict";
import { test } from "node:test";
import { beginAnew, bringBack, goBack, goPast, takeUp } from "../../mygpt/explorers/train_gpt/past.mjs";
import { sizeOf, takeBest } from "../../mygpt/explorers/train_gpt/state.mjs";
import { nothingYet, rateWarning, risenInWords, stepLine, verdict } from "../../mygpt/explorers/train_gpt/words.mjs";

const prepared = { guessing: 4, bigram: 2 };
const kept = (step) => ({ step, weights: new Map() });
const falling = Array.from({ length: 400 }, (_, i) => 3 - i / 200);

test("a run that goes on from another says how many steps it has", () => {
  const at = { step: 1488, from: 0, until: 2000, phase: "stopped", perStep: 10 };
  assert.equal(stepLine(at), "step 1,488 of 2,000");
  assert.equal(stepLine({ ...at, from: 1488, until: 3488 }), "step 1,488 of 3,488 (this run: 2,000)");
  assert.equal(stepLine({ ...at, phase: "running" }), "step 1,488 of 2,000, about 5 s left");
  assert.equal(stepLine({ ...at, phase: "stopping" }), "step 1,488 of 2,000");
});

test("each state says in a true sentence why there is no text yet", () => {
  const said = (phase, ready = prepared) => nothingYet({ phase, prepared: ready });
  assert.equal(said("new"), "Nothing yet. Press Train.");
  assert.equal(said("stopped"), "Nothing yet. Press Train on.");
  assert.equal(said("running"), "Nothing yet. The first text comes in a moment.");
  assert.equal(said("stopping"), said("running"));
  assert.equal(said("new", null), "Nothing yet. It needs a text to learn from.");
});

test("a rate that is far too high is warned of, and the usual ones are not", () => {
  assert.equal(rateWarning(1), "A learning rate of 1 is far too high: try 0.006.");
  assert.deepEqual([0.0005, 0.006, 0.02].map(rateWarning), ["", "", ""]);
});

test("a held-out loss that rises while the training loss falls is named, with the step at which it was lowest", () => {
  const state = {
    prepared,
    step: 400,
    losses: falling,
    best: { kept: kept(100), loss: 1.5 },
    held: [
      [100, 1.5],
      [400, 1.9],
    ],
  };
  const lowest = "It was lowest, 1.50, at step 100";
  const heart = "; since then the model has been learning its text by heart. The model of the end is kept.";
  assert.equal(verdict(state), "Held-out loss 1.90: below the bigram model’s 2.00.");
  assert.equal(risenInWords(state), lowest + heart);
  assert.equal(risenInWords({ ...state, losses: falling.toReversed() }), `${lowest}.`);
  assert.equal(risenInWords({ ...state, held: [[400, 1.51]] }), ""); // noise
  const spoiled = { ...state, held: [[400, 9]] };
  assert.equal(risenInWords(spoiled), ""); // the verdict says enough
  assert.match(verdict(spoiled), /too high: go back, and choose a lower one/);
  assert.match(verdict({ ...spoiled, best: null }), /too high: press Reset, and choose a lower one/);
});

/** A state with the traits as they are at first. */
function begun(fields = {}) {
  const traits = { source: "own", pieces: "characters", size: "small", seed: 0, steps: 100 };
  return {
    ...{ phase: "stopped", before: [], after: [], own: "", from: 0, until: 100, note: "", lost: false },
    ...{ samples: [], held: [], losses: [], best: null, kept: null, step: 0, prepared },
    ...fields,
    get: (name) => traits[name],
    write: (changes) => Object.assign(traits, changes),
  };
}
const trained = (step) => ({ step, kept: kept(step), losses: falling.slice(0, step), until: step });

test("what was trained is brought back with its text and its choices, until another is trained past it", () => {
  const state = begun({ ...trained(100), own: "a text", samples: [{ step: 100, text: "a" }] });
  beginAnew(state);
  assert.deepEqual([state.step, state.losses.length, state.phase], [0, 0, "new"]);
  assert.equal(state.note, "Undo brings back the model of step 100.");
  state.write({ size: "large" });
  Object.assign(state, trained(40), { own: "another", phase: "running" });
  goPast(state);
  bringBack(state);
  assert.deepEqual([state.step, state.losses.length, state.own, state.get("size")], [100, 100, "a text", "small"]);
  assert.deepEqual([state.samples.length, state.lost, state.before.length], [1, true, 0]);
  bringBack(state, "after");
  assert.deepEqual([state.step, state.own, state.get("size"), state.phase], [40, "another", "large", "stopped"]);
  assert.equal(state.before.length, 1);
  state.step = 101;
  goPast(state);
  assert.equal(state.before.length, 0);
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
  takeBest(state);
  Object.assign(state, { ...trained(90), held: [...state.held, [90, 7]], phase: "diverged" });
  takeBest(state);
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
  assert.equal(sizeOf({ layers: 2, width: 64, heads: 4 }), "small");
  assert.equal(sizeOf({ layers: 4, width: 128, heads: 4 }), "large");
  assert.equal(sizeOf({ layers: 3, width: 64, heads: 4 }), undefined);
});
