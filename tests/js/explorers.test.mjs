import { dipOf, differenceText, jumpOf, unpackActivations } from "../../mygpt/explorers/activations/widget.mjs";
import { curvesAt, fateOf, fates, logDomain, spanOf, trend } from "../../mygpt/explorers/depth/stored.mjs";
import { fateText } from "../../mygpt/explorers/depth/words.mjs";
import { assert, gives, range, test } from "./common.mjs";

const view = (numbers) => new DataView(Float32Array.from(numbers).buffer);

test("the rows of activations are x, values, slopes, phi and difference", () => {
  const shape = { names: ["a", "b", "c"], points: 5, hasPhi: true, compare: ["a", "b"] };
  const data = unpackActivations(view(range(9 * 5)), shape);
  assert.deepEqual([...data.x], [0, 1, 2, 3, 4]);
  const first = (rows) => rows.map((row) => row[0]);
  assert.deepEqual(first(data.value), [5, 10, 15]);
  assert.deepEqual(first(data.slope), [20, 25, 30]);
  assert.equal(data.phi[0], 35);
  assert.deepEqual([...data.difference], [40, 41, 42, 43, 44]);
});

test("phi and difference may be missing", () => {
  const shape = { names: ["a", "b"], points: 7, hasPhi: false, compare: [] };
  const data = unpackActivations(view(range(5 * 7)), shape);
  assert.equal(data.phi, null);
  assert.equal(data.difference, null);
  assert.equal(data.slope[1][6], 34);
});

test("a difference has a power of ten for its unit, or four decimals", () => {
  assert.deepEqual([differenceText(-4.731, -4), differenceText(1.6, -11)], ["−4.73 × 10⁻⁴", "1.60 × 10⁻¹¹"]);
  assert.equal(differenceText(-0.25, 0), "−0.2500");
});

test("the step of ReLU's slope is a jump, its neighbours on a curve are not", () => {
  assert.ok(1 > jumpOf([-0.13, 1.13]));
  assert.ok(0.02 < jumpOf([-0.13, 1.13]));
});

test("the curves of a setting are found among all stacks", () => {
  const counts = { kinds: 2, gains: 3, widths: 5, biases: 2, depths: [7, 2, 11] };
  const block = 8 + 3 + 12;
  const numbers = Float32Array.from(range(2 * 3 * 5 * 2 * block));
  const curves = curvesAt(numbers, counts, { gain: 2, width: 3, bias: 1, depth: 1 });
  const row = (kind) => ((kind * 3 + 2) * 5 + 3) * 2 + 1;
  const wanted = [0, 1].map((kind) => Float32Array.from([0, 1, 2], (layer) => row(kind) * block + 8 + layer));
  assert.deepEqual(curves, wanted);
  const last = curvesAt(numbers, counts, { gain: 2, width: 4, bias: 1, depth: 2 });
  assert.equal(last[1][11], numbers.length - 1);
});

test("a trend goes from the first number of a curve to its last", () => {
  assert.equal(trend([0, -3, -7.77]), "falls from 1.00 at the input to 1.70 × 10⁻⁸ at layer 2");
  assert.equal(trend([NaN, -1, 9, 0]), "rises from 0.100 at layer 1 to 1.00 at layer 3");
  assert.equal(trend([0, 0.3, 0.001]), "hardly changes, from 1.00 at the input to 1.00 at layer 2");
});

test("the log axis covers the curves and is never narrower than half a decade", () => {
  const [low, high] = logDomain([[NaN, -20, 1], [0.5]]);
  assert.ok(low < -20 && high > 1);
  const [from, to] = logDomain([[0.1, 0.1]]);
  assert.ok(to - from >= 0.5 - 1e-12 && from < 0.1 && to > 0.1);
  assert.ok(logDomain([]).every(Number.isFinite));
});

test("a quarter of what an axis spans is a jump", () => {
  assert.equal(jumpOf([-1, 3]), 1);
});

test("a signal has died or exploded a thousand times away from where it begins, a gradient at the end", () => {
  const curve = Float32Array.of(0, -1, -2);
  assert.deepEqual(fates([], "activations", [-9, 9]), []);
  assert.deepEqual(fates([curve], "activations", [-2, 2]), []);
  assert.deepEqual(fates([curve], "activations", [-9, 4]), [
    { text: "died: under a thousandth of the input", low: -9, high: -3 },
    { text: "exploded: over 1,000 × the input", low: 3, high: 4 },
  ]);
  assert.deepEqual(fates([curve], "gradients", [-9, 1]), [
    { text: "died: under a thousandth of that at the last layer", low: -9, high: -5 },
  ]);
});

test("it is said what dies, explodes or lives, and since which layer", () => {
  const of = (...numbers) => Float32Array.from(numbers);
  assert.equal(fateOf(of(0, -2, -4, -2.9, -3.1, -5), "activations"), "dies at layer 4");
  assert.equal(fateOf(of(0, 1, 3.5, 9), "activations"), "explodes at layer 2");
  assert.equal(fateOf(of(0, -5, 1), "activations"), "lives");
  assert.equal(fateOf(of(0, -1, Math.log10(0.00104)), "activations"), "only just lives, with 0.00104 at the end");
  const gradients = [of(NaN, -9, -4, -2, 0), of(NaN, -0.5, 0, 0), of(NaN, 14, 14)];
  gives((curve) => fateOf(curve, "gradients"), gradients, ["dies at layer 2", "lives", "keeps its size, 1.00 × 10¹⁴"]);
  const state = { names: ["plain", "residual"], shown: [[1, of(0, 1)]], get: () => "activations" };
  gives(fateText, [state, { ...state, shown: [] }], ["Signal: residual lives.", ""]);
});

test("an axis holds the shown curves and the edges of both bands, where curves begin together", () => {
  const [flat, far] = [Float32Array.of(0, 0.1), Float32Array.of(0, 30)];
  const [low, high] = spanOf([flat], "activations");
  assert.ok(low < -3.5 && low > -5 && high > 3.5 && high < 5);
  assert.ok(spanOf([flat, far], "activations")[1] > 30);
  const apart = [Float32Array.of(NaN, 0, 0), Float32Array.of(NaN, 14, 14)];
  assert.ok(spanOf(apart, "gradients")[0] > -1.5);
  assert.deepEqual(fates(apart, "gradients", [-9, 99]), []);
  assert.ok(spanOf([], "gradients").every(Number.isFinite));
});

test("a curve that dips once has its lowest place, one that only rises, is flat, falls or has a peak has none", () => {
  const of = (f) => Float32Array.from({ length: 81 }, (_, i) => f((i - 40) / 10));
  assert.equal(dipOf(of((x) => x / (1 + Math.exp(-x)))), 27); // SiLU, at −1.3
  for (const f of [Math.tanh, (x) => -x, (x) => Math.max(x, 0), () => 0]) assert.equal(dipOf(of(f)), null);
  const logistic = (x) => 1 / (1 + Math.exp(-x));
  const peaks = [(x) => 1 - Math.tanh(x) ** 2, (x) => logistic(x) * (1 - logistic(x))];
  for (const f of peaks) assert.equal(dipOf(of(f)), null); // lowest at both ends
  assert.equal(dipOf(of((x) => Math.cos(x * Math.PI))), null); // lowest in several places
});
