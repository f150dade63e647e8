import { outline, suggestions } from "../../mygpt/explorers/memory/controls.mjs";
import { barOf, cellOf, rowHeight } from "../../mygpt/explorers/memory/maps.mjs";
import { descending } from "../../mygpt/explorers/kit/geometry.mjs";
import * as memory from "../../mygpt/explorers/memory/state.mjs";
import { assert, gives, near, test } from "./common.mjs";

const VALUES = Float64Array.of(1, 0, 0, 1, 2, 2, -1, 0); // four neurons, two channels

test("rows are sent as 12-bit multiples of their unit, the lower four bits last", () => {
  const units = new Uint8Array(Float32Array.of(0.5, 2).buffer);
  const upper = [127, -128, 0, 0, -1, 1];
  const lower = [0x1f, 0x32, 0x0f];
  const all = Uint8Array.of(9, ...units, ...upper, ...lower); // a view need not begin where its buffer does
  assert.deepEqual([...memory.packedRows(new DataView(all.buffer, 1), 2)], [2047 / 2, -2047 / 2, 1, 6, -2, 32]);
});

test("a row is multiplied with each row of a matrix", () => {
  assert.deepEqual(memory.products(VALUES, [3, 5]), [3, 5, 16, -3]);
});

test("the largest comes first, and of equals the first", () => {
  assert.deepEqual(descending([1, 3, -2, 3]), [1, 3, 0, 2]);
});

test("the nearest neurons are those of the largest cosine, whatever their size", () => {
  const found = memory.nearest(VALUES, 2, 0, 2);
  const neurons = found.map(([n]) => n);
  assert.deepEqual(neurons, [2, 1]);
  near(found[0][1], Math.SQRT1_2);
  assert.equal(memory.nearest(Float64Array.of(0, 0, 1, 1), 2, 0, 5)[0][1], 0); // a value of zeros has no direction
});

test("the last page is full, and a neuron is on the page of its rank", () => {
  gives((page) => memory.firstOf(page, 20, 256), [0, 1, 12], [0, 19, 236]); // the last of the first page once more
  assert.equal(memory.firstOf(0, 20, 7), 0);
  gives((rank) => memory.pageOf(rank, 20), [19, 38, 39], [0, 1, 2]);
});

test("the map of values has the chosen word first, then those that get most", () => {
  assert.deepEqual(memory.rowsOf([5, 1, 9, 7], 1), [1, 2, 3, 0]);
  assert.deepEqual(memory.rowsOf([1, 2, 3, 4, 5, 6, 7, 8], 7), [7, 6, 5, 4, 3, 2]);
});

test("a cell has its number unless its colour is faint, and letters that can be read", () => {
  assert.deepEqual(cellOf(1, 2), { share: 0.5, classes: "", text: "1.0" });
  assert.deepEqual(cellOf(0.5, 2), { share: 0.25, classes: "", text: "" });
  assert.deepEqual(cellOf(-2, 2), { share: 1, classes: "mygpt-negative mygpt-deep mygpt-full", text: "−2.0" });
  assert.equal(cellOf(3, 2).share, 1);
  assert.equal(cellOf(0.01, 0.02).text, ""); // of 0.0 nothing is learnt
});

test("rows are thinner where there are many", () => {
  gives(rowHeight, [6, 10, 64], [27, 17, 8]);
});

test("a field suggests what begins so, and else what is added to most", () => {
  const words = ["paris", "part", "rome"];
  assert.deepEqual(suggestions(words, [1, 2, 3], "PA"), ["paris", "part"]);
  assert.deepEqual(suggestions(words, [1, 2, 3], ""), ["rome", "part", "paris"]);
  assert.deepEqual(suggestions(words, [1, 2, 3], "paris"), ["rome", "part", "paris"]);
  assert.deepEqual(suggestions(words, [1, 2, 3], "x"), []);
});

test("the bars of all neurons stand on the line of zero", () => {
  gives(outline, [[2, -2], [0]], ["M0 13.0V0.0H128.00V26.0H256.00V13.0Z", "M0 0.0V0.0H256.00V0.0Z"]);
});

test("what is added has its sign, and nothing has none", () => {
  assert.deepEqual([2, -2, 0.001, 0].map(memory.signedScore), ["+2.00", "−2.00", "0.00", "0.00"]);
  gives(memory.limitOf, [[[1, -3]], [[0]]], [3, 1]);
});

const bytes = (numbers) => new DataView(numbers.buffer);

/** Rows of whole numbers whose unit is 1. */
function packed(rows, numbers) {
  const lower = new Uint8Array(Math.ceil(numbers.length / 2));
  numbers.forEach((one, i) => (lower[i >> 1] |= (one & 15) << (4 * (i & 1))));
  const units = new Uint8Array(new Float32Array(rows).fill(1).buffer);
  return bytes(Uint8Array.of(...units, ...numbers.map((one) => one >> 4), ...lower));
}

/** A model of four neurons at two tokens that may write three words. */
function model(changes = {}) {
  const traits = {
    tokens: ["a", "b"],
    neurons: 4,
    texts: ["t"],
    data: bytes(Int32Array.of(1, 0, 0, 0, 2, 1, -1, 3).map((one) => 1000 * one)),
    trigger_data: bytes(new Int32Array(8)),
    promoted_data: bytes(new Int32Array(8)),
    words: ["x", "y", "z"],
    value_data: packed(4, [...VALUES]),
    vector_data: packed(3, [1, 0, 0, 1, 1, 1]),
    norms: [1, 0.5],
    word: "y",
    order: "adds",
    neuron: 1,
    token: 1,
    description: "",
    ...changes,
  };
  return { get: (name) => traits[name], set: (name, value) => (traits[name] = value), save_changes: () => {} };
}

test("a neuron promotes the words given, or else those that it writes most on", () => {
  assert.deepEqual(memory.promotedBy(memory.memoryState(model()), 0), [{ text: "t", number: 0 }]);
  const found = memory.promotedBy(memory.memoryState(model({ promoted_data: bytes(new Int32Array()) })), 1);
  const texts = found.map(({ text, number }) => `${text} ${number}`);
  assert.deepEqual(texts, ["y 1", "z 1", "x 0"]);
});

test("neurons are sorted by what they add, by how they fire, or by number", () => {
  const state = memory.memoryState(model());
  memory.compute(state);
  assert.deepEqual(state.totals, [-6, -2, -8]); // (m · V · u) / norm
  assert.deepEqual(state.added[0], [0, 2, -4, 0]);
  assert.deepEqual(state.ranked, [1, 0, 3, 2]);
  assert.match(memory.sentenceOf(state), /^Neuron 1 fires 1.00 at “b” and adds \+2.00 to “y”: number 1 of 4\.$/);
  state.write({ order: "fires" });
  memory.compute(state);
  assert.deepEqual(state.ranked, [3, 0, 1, 2]);
  state.write({ order: "number" });
  memory.compute(state);
  assert.deepEqual(state.ranked, [0, 1, 2, 3]);
});

test("each number of what a neuron adds has its name", () => {
  const state = memory.memoryState(model());
  memory.compute(state);
  assert.deepEqual(memory.partsOf(state), [
    ["", "1.00", "it fires at “b”"],
    ["×", "1.00", "it writes on “y”"],
    ["÷", "0.50", "the last norm divides by"],
    ["=", "+2.00", "it adds to “y”"],
  ]);
  assert.deepEqual(memory.partsOf(memory.memoryState(model({ words: [] }))), []);
});

test("it is said which neurons are in view, and what these and all of them add", () => {
  const state = memory.memoryState(model());
  memory.compute(state);
  Object.assign(state, { count: 2, page: 0 });
  assert.equal(memory.rangeOf(state), "1–2 of 4 add +2.00, all −2.00");
  state.page = 1;
  assert.equal(memory.rangeOf(state), "2–3 of 4 add 0.00, all −2.00");
  const plain = memory.memoryState(model({ words: [], order: "fires" }));
  assert.equal(memory.rangeOf(plain), "1–4 of 4 by firing");
});

test("a bar stands on the line of zero, or hangs from it", () => {
  assert.deepEqual(barOf(3, -1, 3), { top: 0, size: 0.75 });
  assert.deepEqual(barOf(-1, -1, 3), { top: 0.75, size: 0.25 });
  assert.deepEqual(barOf(0, 0, 0), { top: 0, size: 0 });
});

test("a neuron that is not among the first has the last column, and the page follows one that is chosen", () => {
  const state = memory.memoryState(model());
  memory.compute(state);
  state.count = 3;
  assert.deepEqual(memory.inView(state), [1, 0, 3]);
  assert.ok(!memory.isApart(state));
  state.write({ neuron: 2 });
  assert.ok(memory.isApart(state));
  assert.deepEqual(memory.inView(state), [1, 0, 2]);
  assert.equal(memory.rangeOf(state), "1–2 of 4 add +2.00, all −2.00"); // without the one apart
  memory.reveal(state);
  assert.equal(state.page, 1);
  assert.deepEqual(memory.inView(state), [0, 3, 2]);
  state.write({ neuron: 3 });
  memory.reveal(state);
  assert.equal(state.page, 1); // it is in view
});

test("without words there are activations alone", () => {
  const state = memory.memoryState(model({ words: [], order: "fires", word: "" }));
  memory.compute(state);
  assert.equal(state.writing, null);
  assert.equal(memory.sentenceOf(state), "Neuron 1 fires 1.00 at “b”: number 3 of 4 by size.");
});
