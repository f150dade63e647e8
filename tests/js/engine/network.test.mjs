import { adamStep, logitsOf, lossOf, makeNetwork, numbersOf } from "../../../mygpt/explorers/engine/network.mjs";
import { simdKernels } from "../../../mygpt/explorers/engine/simd.mjs";
import { mulberry32 } from "../../../mygpt/explorers/kit/numbers.mjs";
import { assert, near, test } from "../common.mjs";
import { relaxed, withoutRelaxed } from "./relaxed.mjs";

const CONFIG = {
  ...{ vocab: 11, positions: 9, width: 16, heads: 2, layers: 2, hidden: 24 },
  ...{ activation: "gelu_tanh", bias: true, attentionOnly: [1] },
};
const STEP = { rate: 0.01, decay: 0.5, clip: 1, betas: [0.9, 0.99], eps: 1e-8 };
const IDS = [
  [3, 1, 4, 1, 5],
  [9, 2, 6, 5, 3],
];
const NEXT = [
  [1, 4, 1, 5, 9],
  [2, 6, 5, 3, 5],
];

function network(changes = {}, batch = 2, length = 5, plain = false) {
  const made = makeNetwork({ ...CONFIG, ...changes }, batch, length, plain);
  const random = mulberry32(3);
  for (const name of made.plan.parts.keys()) {
    const numbers = numbersOf(made, name);
    for (let i = 0; i < numbers.length; i += 1) numbers[i] = random() - 0.5;
  }
  return made;
}

test("the parameters have the names and shapes of Python's, matrices first", () => {
  const { parts, parameters } = network().plan;
  assert.deepEqual(
    [...parts].map(([name, { shape }]) => `${name} ${shape.join(" × ")}`),
    [
      ...["token.embedding.weight 11 × 16", "position.weight 9 × 16"],
      ...["Q", "K", "V", "O"].map((one) => `blocks.0.mha.W_${one}.weight 16 × 16`),
      ...["blocks.0.mlp.fc1.weight 24 × 16", "blocks.0.mlp.fc2.weight 16 × 24"],
      ...["Q", "K", "V", "O"].map((one) => `blocks.1.mha.W_${one}.weight 16 × 16`),
      ...["blocks.0.ln1.weight 16", "blocks.0.ln1.bias 16", "blocks.0.ln2.weight 16", "blocks.0.ln2.bias 16"],
      ...["Q", "K", "V", "O"].map((one) => `blocks.0.mha.W_${one}.bias 16`),
      ...["blocks.0.mlp.fc1.bias 24", "blocks.0.mlp.fc2.bias 16"],
      ...["blocks.1.ln1.weight 16", "blocks.1.ln1.bias 16"],
      ...["Q", "K", "V", "O"].map((one) => `blocks.1.mha.W_${one}.bias 16`),
      ...["ln_f.weight 16", "ln_f.bias 16"],
    ],
  );
  assert.ok(parameters.decayed < parameters.count);
});

for (const plain of [false, true]) {
  const kind = plain ? "plain JavaScript" : "WebAssembly";

  test(`in ${kind}, later ids change nothing before them, in another row neither`, () => {
    const made = network({}, 2, 5, plain);
    assert.equal(made.simd, !plain);
    const whole = logitsOf(made, IDS[0]);
    for (let count = 1; count <= 5; count += 1) {
      const part = logitsOf(made, IDS[0].slice(0, count));
      assert.deepEqual(part, whole.slice(0, count));
    }
    const alone = IDS.map((_, i) => lossOf(made, [IDS[i]], [NEXT[i]]));
    near(lossOf(made, IDS, NEXT), (alone[0] + alone[1]) / 2, 1e-5);
    near(lossOf(made, IDS, [NEXT[0], [-1, -100, -1, -1, -1]]), alone[0], 1e-5);
  });
}

test("matrices decay and vectors do not; gradients are clipped; moments begin at 0", () => {
  const made = network();
  const old = new Map([...made.plan.parts.keys()].map((name) => [name, numbersOf(made, name).slice()]));
  assert.equal(adamStep(made, STEP), 0);
  for (const [name, { shape }] of made.plan.parts) {
    const keep = shape.length > 1 ? 1 - STEP.rate * STEP.decay : 1;
    numbersOf(made, name).forEach((one, i) => near(one, keep * old.get(name)[i], 1e-6));
  }
  numbersOf(made, "ln_f.bias", "gradients").set([3, -4]);
  const before = numbersOf(made, "ln_f.bias").slice();
  near(adamStep(made, STEP), 5, 1e-5);
  near(numbersOf(made, "ln_f.bias", "first")[0], 0.1 * (3 / 5), 1e-6);
  near(numbersOf(made, "ln_f.bias", "second")[1], 0.01 * (4 / 5) ** 2, 1e-6);
  const moved = (0.01 * 0.1) / (1 - 0.9 ** 2) / Math.sqrt(0.01 / (1 - 0.99 ** 2)); // at the second step
  near(numbersOf(made, "ln_f.bias")[0], before[0] - moved, 1e-6);
  near(numbersOf(made, "ln_f.bias")[1], before[1] + moved, 1e-6);
});

test("a run that diverges has a loss that is not a number", () => {
  for (const plain of [false, true]) {
    const made = network({}, 2, 5, plain);
    numbersOf(made, "blocks.0.mha.W_Q.weight")[0] = NaN;
    assert.ok(Number.isNaN(lossOf(made, IDS, NEXT, true)));
  }
});

test("without WebAssembly, or where a policy forbids it, the kernels are plain", (context) => {
  const { WebAssembly: whole } = globalThis;
  context.after(() => Object.assign(globalThis, { WebAssembly: whole }));
  const refusing = function Module() {
    throw new whole.CompileError("Refused to compile or instantiate WebAssembly module");
  };
  for (const one of [undefined, { ...whole, Module: refusing }]) {
    globalThis.WebAssembly = one;
    assert.equal(simdKernels(1), null);
    assert.equal(makeNetwork(CONFIG, 1, 1).simd, false);
  }
});

test("without relaxed SIMD a loss is rounded otherwise, and the same but for that", { skip: !relaxed }, () => {
  const [fused, twice] = [network(), withoutRelaxed(() => network())].map((made) => lossOf(made, IDS, NEXT));
  assert.notEqual(fused, twice);
  near(fused, twice, 1e-5);
});

test("no memory is a RangeError", () => {
  assert.throws(() => simdKernels(2 ** 40), RangeError);
});

test("a shape that cannot be is refused: what was expected, what came", () => {
  for (const [changes, batch, length, message] of [
    [{ width: 20, heads: 2 }, 1, 1, /heads of 8, 16, … channels, got 20 \/ 2/],
    [{ width: 24, heads: 5 }, 1, 1, /heads of 8, 16, … channels, got 24 \/ 5/],
    [{ hidden: 20 }, 1, 1, /hidden width of 8, 16, …, got 20/],
    [{ activation: "swish" }, 1, 1, /activation of gelu_tanh, gelu, relu, silu, got swish/],
    [{}, 0, 1, /1 row or more, got 0/],
    [{}, 1, 10, /1 to 9 positions, got 10/],
    [{}, 1, 0, /1 to 9 positions, got 0/],
  ]) {
    assert.throws(() => makeNetwork({ ...CONFIG, ...changes }, batch, length), { name: "RangeError", message });
  }
  assert.throws(() => numbersOf(network(), "wte.weight"), /expected a parameter, got wte.weight/);
});

test("rows of ids that do not fit are refused", () => {
  const made = network();
  const [one, after] = [IDS[0], NEXT[0]];
  for (const [rows, targets, gradients, message] of [
    [[...IDS, one], [...NEXT, after], false, /1 to 2 rows, got 3/],
    [[], [], false, /1 to 2 rows, got 0/],
    [[one], [after], true, /expected 2 rows, got 1/],
    [IDS, [after], false, /2 rows of targets, got 1/],
    [[[...one, 1]], [[...after, 1]], false, /1 to 5 ids, got 6/],
    [[[]], [[]], false, /1 to 5 ids, got 0/],
    [[one], [after.slice(1)], false, /5 targets in a row, got 4/],
    [[[11]], [[0]], false, /ids from 0 to 10, got 11/],
    [[[-1]], [[0]], false, /ids from 0 to 10, got -1/],
    [[[0]], [[11]], false, /ids from 0 to 10, got 11/],
    [[[NaN]], [[0]], false, /ids from 0 to 10, got NaN/],
    [[[0]], [[-1]], false, /a target that is not negative, got none/],
  ]) {
    assert.throws(() => lossOf(made, rows, targets, gradients), { name: "RangeError", message });
  }
  assert.throws(() => logitsOf(made, [...one, 1]), /1 to 5 ids, got 6/);
});
