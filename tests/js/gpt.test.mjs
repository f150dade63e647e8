import { forward, halfFloats, loadModel, probabilities } from "../../mygpt/explorers/live_model/gpt.mjs";
import { stageAmounts } from "../../mygpt/explorers/live_model/stages.mjs";
import { tiling } from "../../mygpt/explorers/live_model/tiles.mjs";
import * as writing from "../../mygpt/explorers/live_model/writing.mjs";
import { assert, near, test, total } from "./common.mjs";

const halves = (...bits) => {
  const view = new DataView(new ArrayBuffer(2 * bits.length));
  bits.forEach((one, i) => view.setUint16(2 * i, one, true));
  return view;
};

test("float16 in every form: normal, subnormal, zeros, infinities and NaN", () => {
  const found = halfFloats(
    halves(0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x83ff, 0x3555, 0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00),
  );
  assert.deepEqual(
    [...found],
    [1, -2, 65504, 2 ** -14, 2 ** -24, -1023 * 2 ** -24, 0.333251953125, 0, -0, Infinity, -Infinity, NaN],
  );
});

test("softmax survives large scores", () => {
  near(probabilities(Float64Array.from([1000, 1000 - Math.log(3), -1000])), [0.75, 0.25, 0], 1e-12);
});

test("a positive definite system is factored and solved; another is refused", () => {
  const matrix = [4, 2, 0, 2, 10, 3, 0, 3, 5];
  const factor = writing.cholesky(matrix, 3);
  near(factor, [2, 0, 0, 1, 3, 0, 0, 1, 2], 1e-15);
  near(writing.solveCholesky(factor, [8, 31, 21]), [1, 2, 3], 1e-14);
  assert.throws(() => writing.cholesky([1, 2, 2, 1], 2), /not positive definite at row 1/);
});

/** A model of 5 words, 3 positions, 2 channels and 3 neurons, its weights written out. */
function tiny(changes = {}, rewriting = {}) {
  const shapes = {
    "token.embedding.weight": [5, 2],
    "position.weight": [3, 2],
    "blocks.0.ln1.weight": [2],
    "blocks.0.ln1.bias": [2],
    ...Object.fromEntries(["Q", "K", "V", "O"].map((one) => [`blocks.0.mha.W_${one}.weight`, [2, 2]])),
    "blocks.0.ln2.weight": [2],
    "blocks.0.ln2.bias": [2],
    "blocks.0.mlp.fc1.weight": [3, 2],
    "blocks.0.mlp.fc2.weight": [2, 3],
    "ln_f.weight": [2],
    "ln_f.bias": [2],
  };
  const bits = { 0: 0, 1: 0x3c00, 2: 0x4000, "-1": 0xbc00 };
  const layout = Object.entries(shapes);
  const numbers = layout.flatMap(([name, shape]) => {
    const size = shape.reduce((a, b) => a * b);
    return (changes[name] ?? Array(size).fill(0)).map((one) => bits[one]);
  });
  return loadModel({ layout, bytes: halves(...numbers), heads: 1, activation: "relu", rewriting });
}

test("ids without a row in the model are refused", () => {
  const model = tiny();
  assert.throws(() => forward(model, [0, 0, 0, 0]), /1 to 3 ids, got 4/);
  assert.throws(() => forward(model, []), /1 to 3 ids, got 0/);
  assert.throws(() => forward(model, [5]), /ids from 0 to 4, got 5/);
});

test("weights that do not fill the layout are refused", () => {
  const layout = [["token.embedding.weight", [5, 2]]];
  assert.throws(
    () => loadModel({ layout, bytes: halves(0, 0, 0), heads: 1, activation: "gelu" }),
    /expected 10 weights, got 3/,
  );
});

test("a rewriting keeps to the constants that came with the model", () => {
  const steps = (enough, most) => {
    const model = tiny(
      { "token.embedding.weight": [1, 0, 0, 1, 1, 1, 2, -1, 0, 0] },
      { step: 0.2, enough, steps: most },
    );
    return writing.rewrite(model, [0], 1, writing.cholesky([1, 0, 0, 0, 1, 0, 0, 0, 1], 3)).steps;
  };
  assert.equal(steps(1, 3), 3);
  assert.equal(steps(0, 3), 0);
});

test("a network that is off adds nothing to any word", () => {
  const ids = [1, 2, 3];
  const model = { width: 2, layers: [{ mlp: { fc2: { ins: 3 } } }] };
  const off = [{ network: 0 }];
  const pass = { stds: ids, hidden: [Float64Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9])] };
  assert.deepEqual([...writing.contributions(model, pass, 0, 0, off)], [0, 0, 0]);
});

/** The tiny model with no weight's matrix empty. */
function mixed() {
  const parts = ["Q", "K", "V", "O"].map((name, i) => [`blocks.0.mha.W_${name}.weight`, [1, i - 1, 2, -1]]);
  return tiny({
    "token.embedding.weight": [1, 0, 0, 1, -1, 2, 2, 1, 0, -1],
    "position.weight": [0, 1, 1, 0, 1, -1],
    ...Object.fromEntries(parts),
    "blocks.0.ln1.weight": [1, 2],
    "blocks.0.ln2.weight": [2, 1],
    "blocks.0.mlp.fc1.weight": [1, -1, 2, 1, 0, 1],
    "blocks.0.mlp.fc2.weight": [1, 2, 0, -1, 1, 1],
    "ln_f.weight": [1, 2],
    "ln_f.bias": [0, 1],
  });
}

test("what the stages of a layer add is what its heads and neurons add, and ends in the scores", () => {
  const model = mixed();
  const pass = forward(model, [1, 3, 2]);
  const state = { gpt: model, now: { pass, best: "e" }, places: new Map([["e", 4]]), get: () => 0 };
  const [input, heads, middle, network, output] = stageAmounts(state);
  const sum = (numbers) => total(numbers);
  near(writing.headContributions(model, pass, 0, 4), [heads], 1e-12);
  near([sum(writing.contributions(model, pass, 0, 4))], [network], 1e-12);
  near([input + heads, middle + network], [middle, output], 1e-12);
  assert.ok([input, heads, network].every((one) => Math.abs(one) > 0.01));
  near([writing.addedBy(model, pass.steps[0][2], 4, pass.stds[2])], [output], 1e-12);
  near(writing.readOut(model, pass.steps[0][2]), probabilities(pass.logits), 1e-12);
  near(pass.steps[0][2], pass.stream.slice(-2), 0);
  const edits = [{ scale: null, values: new Map(), additions: [], cards: [], heads: 1, network: 0 }];
  const [, after, last] = forward(model, [1, 3, 2], { edits }).steps[0];
  near(last, after, 0); // a network that is off
});

test("neurons are near when they write in nearly the same direction", () => {
  const model = tiny({ "blocks.0.mlp.fc2.weight": [1, -1, 2, 1, 0, 1] }); // (1, 1), (−1, 0), (2, 1)
  assert.deepEqual(writing.nearest(model, 0, 0, 2), [2, 1]);
  assert.deepEqual(writing.nearest(model, 0, 1, 9), [0, 2]);
});

test("a tile is large enough for a mouse at the desk and for a finger on a phone", () => {
  assert.deepEqual(tiling(256, 652, false), { columns: 27, rows: 10, side: 652 / 27, shown: 256, whole: true });
  const phone = tiling(256, 342, false);
  assert.deepEqual([phone.columns, phone.rows, phone.shown, phone.whole], [12, 6, 72, false]);
  assert.ok(phone.side >= 28);
  assert.deepEqual(tiling(256, 342, true), { ...phone, rows: 22, shown: 256, whole: true });
  assert.deepEqual(tiling(23, 652, false), { columns: 23, rows: 1, side: 652 / 23, shown: 23, whole: true });
  assert.equal(tiling(1, 652, false).side, 40);
});
