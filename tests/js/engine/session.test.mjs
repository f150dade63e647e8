// A training in the engine, and the worker's answers to a page.

import {
  beginSession,
  heldLoss,
  rateAt,
  snapshot,
  trainStep,
  write,
} from "../../../mygpt/explorers/engine/session.mjs";
import { lossOf, numbersOf } from "../../../mygpt/explorers/engine/network.mjs";
import { answering, writesAt } from "../../../mygpt/explorers/engine/worker.mjs";
import { assert, near, range, test } from "../common.mjs";

const SHAPE = { vocab: 5, positions: 16, width: 16, heads: 2, layers: 1, hidden: 64 };
const CONFIG = { ...SHAPE, activation: "gelu_tanh", bias: true, attentionOnly: [] };
const IDS = Int32Array.from({ length: 900 }, (_, i) => [0, 1, 2, 3, 4, 3, 2, 1][i % 8]);
const GIVEN = { config: CONFIG, batch: 4, length: 16, seed: 3, learn: IDS.subarray(0, 800), held: IDS.subarray(800) };
const SETTINGS = { steps: 100, rate: 0.01, start: [0, 1], count: 12 };

/** A training after so many steps. */
function trained(steps, given = GIVEN) {
  const session = beginSession(given);
  for (let i = 0; i < steps; i += 1) trainStep(session, SETTINGS);
  return session;
}

const weights = (session) => [...snapshot(session).weights].map(([name, one]) => [name, [...one]]);

test("the learning rate rises in a straight line and falls along a cosine to a tenth", () => {
  // TrainingConfig(steps=1000, warmup_steps=100).scale, and of a short run a tenth of the steps
  near(rateAt(0, 1000, 2), 0.02);
  near(rateAt(99, 1000, 2), 2);
  near(rateAt(550, 1000, 2), 1.1);
  near(rateAt(1000, 1000, 2), 0.2);
  near(rateAt(9, 100, 2), 2);
});

test("a text that repeats is learnt, and the held-out loss falls below that of guessing", () => {
  const session = beginSession(GIVEN);
  const first = heldLoss(session);
  near(first, Math.log(5), 0.3);
  for (let i = 0; i < 300; i += 1) trainStep(session, { ...SETTINGS, steps: 300 });
  assert.equal(session.network.steps, 300);
  assert.ok(heldLoss(session) < 0.3, heldLoss(session));
  const ids = write(session, [0, 1, 2], 5);
  assert.deepEqual(ids, [3, 4, 3, 2, 1]);
  assert.deepEqual(write(session, [0, 1, 2], 40).length, 40); // past what it can read
});

test("a held-out text that is shorter than a piece is read whole", () => {
  const { network } = beginSession(GIVEN);
  const held = IDS.subarray(800, 810);
  const loss = heldLoss({ ...beginSession({ ...GIVEN, held }) });
  near(loss, lossOf(network, [held.subarray(0, 9)], [held.subarray(1)]), 1e-6);
});

test("the same seed draws the same model and batches, and another seed others", () => {
  assert.deepEqual(weights(trained(5)), weights(trained(5)));
  assert.notDeepEqual(weights(trained(0)), weights(trained(0, { ...GIVEN, seed: 4 })));
});

test("the first weights are GPT-2's: 0.02, less where a block writes, norms 1 and biases 0", () => {
  const wide = { ...CONFIG, width: 64, hidden: 256, layers: 2 };
  const { network } = beginSession({ ...GIVEN, config: wide });
  const std = (name) => Math.hypot(...numbersOf(network, name)) / Math.sqrt(numbersOf(network, name).length);
  near(std("blocks.0.mlp.fc1.weight"), 0.02, 0.001);
  near(std("blocks.1.mlp.fc2.weight"), 0.01, 0.0005);
  near(std("blocks.1.mha.W_O.weight"), 0.01, 0.0005);
  assert.ok(numbersOf(network, "ln_f.weight").every((one) => one === 1));
  assert.ok(numbersOf(network, "blocks.0.mlp.fc1.bias").every((one) => one === 0));
});

test("a training goes on from a snapshot with its weights, moments and steps", () => {
  const kept = snapshot(trained(10));
  const session = beginSession({ ...GIVEN, kept });
  assert.deepEqual(snapshot(session), kept);
  assert.equal(session.network.steps, 10);
  kept.weights.set("ln_f.bias", new Float32Array(3));
  assert.throws(() => beginSession({ ...GIVEN, kept }), /expected 16 numbers of ln_f.bias, got 3/);
});

test("a loss that is no number changes no weight", () => {
  const session = trained(1);
  numbersOf(session.network, "ln_f.bias")[0] = NaN;
  const before = weights(session);
  assert.ok(Number.isNaN(trainStep(session, SETTINGS)));
  assert.deepEqual(weights(session), before);
  assert.equal(session.network.steps, 1);
});

test("the model writes at 0, 10, 20, 50, 100 …", () => {
  const found = range(1001).filter(writesAt);
  assert.deepEqual(found, [0, 10, 20, 50, 100, 200, 500, 1000]);
});

/** A page without a worker: what is told, and what waits for its turn. */
function page() {
  const told = [];
  const waiting = [];
  const wait = (call) => waiting.push(call);
  const ask = answering((news) => told.push(news), wait);
  const turn = () => waiting.shift()?.();
  return { ask, told, turn, waiting };
}

test("the worker tells of its steps, stops when it is asked, and goes on", () => {
  const { ask, told, turn, waiting } = page();
  ask({ kind: "begin", given: GIVEN, settings: SETTINGS });
  assert.equal(told.map(({ kind }) => kind).join(), "ready,progress");
  assert.equal(told[1].text.length, 12);
  ask({ kind: "run", until: 100, settings: SETTINGS });
  turn();
  ask({ kind: "stop" });
  const stopped = told.at(-1);
  assert.equal(stopped.kind, "ended");
  assert.equal(told.at(-2).kept.step, stopped.step);
  const last = told.at(-3); // the text and the loss of the step at which it stopped
  assert.deepEqual([last.step, last.text.length, last.held > 0], [stopped.step, 12, true]);
  ask({ kind: "stop" });
  turn();
  assert.equal(told.at(-1), stopped); // no step is taken after that
  ask({ kind: "run", until: 100, settings: SETTINGS });
  while (waiting.length) turn();
  assert.deepEqual([told.at(-1).kind, told.at(-1).step], ["ended", 100]);
  const steps = told.filter(({ kind }) => kind === "progress");
  assert.equal(steps.flatMap(({ losses }) => losses).length, 100);
  const written = steps.filter(({ text }) => text).map(({ step }) => step);
  const wanted = [0, 10, 20, 50, 100, stopped.step].sort((a, b) => a - b);
  assert.deepEqual(written, wanted);
  assert.ok(steps.filter(({ held }) => held !== undefined).length >= 20);
});

test("the page is given the model whenever its held-out loss is taken, and knows that of one that was stopped", () => {
  const { ask, told, turn, waiting } = page();
  ask({ kind: "begin", given: GIVEN, settings: SETTINGS });
  ask({ kind: "run", until: 100, settings: SETTINGS });
  while (!told.some(({ step }) => step === 20)) turn();
  ask({ kind: "stop" });
  while (waiting.length) turn();
  const judged = told.filter(({ held, step }) => held !== undefined && step).map(({ step }) => step);
  const kept = new Set(told.filter(({ kind }) => kind === "kept").map(({ kept: one }) => one.step));
  assert.ok(judged.length >= 4);
  for (const step of judged) assert.ok(kept.has(step), step);
  const before = told.length;
  const stopped = told[before - 1].step;
  ask({ kind: "run", until: 100, settings: SETTINGS });
  turn();
  assert.ok(
    judged.includes(stopped) || (told[before].step === stopped && told[before].held !== undefined),
    JSON.stringify(told[before]),
  );
});

test("a training that diverges or fails says so", () => {
  const { ask, told, turn, waiting } = page();
  ask({ kind: "begin", given: { ...GIVEN, length: 99 }, settings: SETTINGS });
  assert.match(told.at(-1).message, /expected 1 to 16 positions, got 99/);
  ask({ kind: "begin", given: GIVEN, settings: SETTINGS });
  ask({ kind: "run", until: 100, settings: { ...SETTINGS, rate: 1e30 } });
  while (waiting.length) turn();
  assert.equal(told.at(-1).kind, "diverged");
});

test("a model that was kept writes after a prompt, beside the training", () => {
  const { ask, told } = page();
  const kept = snapshot(trained(40));
  const none = new Int32Array(0);
  const given = { ...GIVEN, batch: 1, learn: none, held: none, kept };
  const prompt = (start, seed) => {
    ask({ kind: "write", given, start, count: 12, seed });
    return told.at(-1);
  };
  const { kind, step, text } = prompt([2, 1], 1);
  assert.deepEqual([kind, step, text.length, text.slice(0, 2)], ["wrote", 40, 14, [2, 1]]);
  assert.notDeepEqual(prompt([2, 1], 2).text, text);
  assert.deepEqual(prompt([2, 1], 1).text, text);
});
