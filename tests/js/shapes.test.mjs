import { total } from "../../mygpt/explorers/kit/geometry.mjs";
import { cutsOf, namesIn, partAt } from "../../mygpt/explorers/shapes/areas.mjs";
import * as count from "../../mygpt/explorers/shapes/count.mjs";
import { nextStop, stopsOf } from "../../mygpt/explorers/shapes/shape.mjs";
import * as words from "../../mygpt/explorers/shapes/words.mjs";
import { assert, gives, says, tells, test } from "./common.mjs";

const SMALL = Object.fromEntries(Object.entries(count.SIZES.small).map(([name, value]) => [name, String(value)]));

test("a good shape has no problem, and is what is typed", () => {
  assert.deepEqual(count.problemOf(SMALL), []);
  assert.deepEqual(count.shapeOf(SMALL), count.SIZES.small);
  assert.deepEqual(count.problemOf({ ...SMALL, num_layers: " 1e2 " }), []);
});

test("zero, nothing, a word, a fraction and too much are problems of their field", () => {
  for (const name of Object.keys(count.LIMITS)) {
    for (const text of ["0", "", "  ", "twelve", "1.5", "-3", "1e309", String(count.LIMITS[name] + 1)]) {
      assert.deepEqual(count.problemOf({ ...SMALL, [name]: text }), [name], text);
    }
  }
  assert.deepEqual(count.problemOf({ ...SMALL, embed_dim: "0", num_heads: "0" }), ["embed_dim"]);
});

test("channels that the heads do not divide are a problem of both", () => {
  const texts = { ...SMALL, num_heads: "13" };
  assert.deepEqual(count.problemOf(texts), ["embed_dim", "num_heads"]);
  const told = "Channels C: expected a multiple of the 13 heads, such as 767 or 780.";
  says(words.problemText(count.problemOf(texts), texts), told);
  assert.deepEqual(count.divisible(768, 1000), [1000]);
  assert.deepEqual(count.divisible(99_999, 1000), [99_000, 100_000]);
  assert.deepEqual(count.divisible(100_000, 3), [99_999]);
});

test("a problem says what is expected", () => {
  assert.equal(words.problemText(["vocab_size"], SMALL), "Vocabulary V: expected a whole number from 1 to 2,000,000.");
  assert.equal(words.problemText(["num_layers"], SMALL), "Layers L: expected a whole number from 1 to 1,000.");
});

test("a shape is known by all of its numbers", () => {
  assert.equal(count.sizeOf({ ...count.SIZES.large }), "large");
  for (const name of Object.keys(count.LIMITS)) {
    const other = { ...count.SIZES.xl, [name]: count.SIZES.xl[name] + 1 };
    assert.equal(count.sameShape(other, count.SIZES.xl), false);
    assert.equal(count.sizeOf(other), undefined);
  }
  assert.equal(words.shapeName(count.SIZES.xl), "GPT-2 XL");
  assert.equal(words.shapeName({ ...count.SIZES.xl, num_heads: 5 }), "your shape");
});

test("a shape is compared with a size, and not with itself", () => {
  gives((other) => words.comparedTo(count.SIZES.xl, other), ["small", ""], [[count.SIZES.small], []]);
  assert.deepEqual(words.comparedTo({ ...count.SIZES.small }, "small"), []);
});

test("a segment says what it has room for", () => {
  const texts = { 300: "attention's matrices 19.9 %", 150: "matrices 19.9 %", 60: "19.9 %" };
  tells((room) => words.segmentText("attention's matrices", 0.199, Number(room)), texts);
  assert.equal(words.segmentText("norms", 0.01, 20), "");
});

test("the sentence says what a part holds of the model and of each block, and what it does", () => {
  const [held, work] = ["45.5 % of the model and two thirds (66.6 %) of each block", "of the work for one token"];
  const head = `The head, the same table, does 27.1 % ${work}.`;
  tells((part) => words.sentenceOf(count.SIZES.small, 1024, part), {
    network: `The feed-forward networks have 56,669,184 parameters: ${held}. They do 39.8 % ${work}.`,
    token: `The token embedding has 38,597,376 parameters: 31.0 % of the model, in no block. ${head}`,
    scores: /^Scores and sums of values have no parameters\. They do 13/,
    norms: /^The norms have 38,400 .* of each block\.$/,
  });
  says(words.heldText(count.SIZES.small, "attention"), /28,348,416 .* a third \(33\.3 %\) of each block\.$/);
  for (const shape of Object.values(count.SIZES)) {
    const [parts, block] = [count.parametersByPart(shape), count.blockParts(shape)];
    const layers = parts.attention + parts["feed-forward"] + parts.norms - 2 * shape.embed_dim;
    assert.equal(shape.num_layers * total(block), layers);
  }
  assert.deepEqual([0.5, 0.504, 0.51].map(words.fractionText), ["half (50.0 %)", "half (50.4 %)", "51.0 %"]);
  assert.deepEqual(["attention", "norms", undefined].map(words.markOf), ["attention", "norms", "network"]);
});

test("a part is chosen where it is drawn, and a thin one close by", () => {
  const places = [
    { mark: "token", start: 0, size: 100 },
    { mark: "positions", start: 100, size: 2 },
    { mark: "network", start: 102, size: 200 },
  ];
  const found = [-1, 50, 97, 105, 107, 400].map((x) => partAt(places, x));
  assert.deepEqual(found, ["token", "token", "positions", "positions", "network", "network"]);
});

test("a number is stepped to the next that makes a shape", () => {
  assert.equal(nextStop("num_heads", count.SIZES.small, 1), 16);
  assert.equal(nextStop("num_heads", count.SIZES.small, -1), 8);
  assert.equal(nextStop("embed_dim", count.SIZES.small, 1), 960);
  assert.equal(nextStop("num_layers", { ...count.SIZES.small, num_layers: 1 }, -1), undefined);
  assert.equal(nextStop("num_layers", { ...count.SIZES.small, num_layers: 1000 }, 1), undefined);
});

test("the notes give the crossing, the rule of thumb and what memory leaves out", () => {
  const crossing = "Scores and values overtake the matrices of the blocks beyond 6C = 4,608 positions";
  tells((length) => words.crossingText({ ...count.SIZES.small, max_seq_len: Number(length) }), {
    1024: `${crossing}, longer than any text of this model.`,
    4609: /4,608 positions\.$/,
    4608: /any text of this model\.$/,
  });
  assert.match(words.trainingText(count.SIZES.small, 1024), /854,438,400 FLOPs\..* 6N = 746,638,848, 12\.6 % less\.$/);
  assert.match(words.trainingText({ ...count.SIZES.small, max_seq_len: 100_000 }, 1), /% more\.$/);
  assert.match(words.memoryText(count.SIZES.small, 7), /16 bytes .* not counted\. .* one text of 7 tokens\.$/);
  assert.match(words.derivedText(count.SIZES.xl), /D = C \/ H = 64 .* F = 4C = 6,400 neurons/);
  assert.equal(words.settingText(count.SIZES.xl, 5), "V = 50,257, T = 1,024, C = 1,600, H = 25, L = 48; a text of 5.");
});

test("a bar is told in words, part by part", () => {
  assert.equal(words.barText("GPT-2 small", { head: 1, norms: 3 }), "GPT-2 small, 4: head 25.0 %, norms 75.0 %.");
  assert.equal(total({ a: 1, b: 2 }), 3);
  const held = words.PARTS.flatMap(([, , one]) => one ?? []);
  assert.deepEqual(held, ["token embedding", "positions", "attention", "feed-forward", "norms"]);
});

test("the answer names the shape and its parameters, and an old one as old", () => {
  assert.equal(words.answerText(count.SIZES.small, false), "GPT-2 small: 124 million parameters");
  assert.equal(words.answerText({ ...count.SIZES.small, num_layers: 1 }, false), "Your shape: 46.5 million parameters");
  assert.equal(words.answerText({ ...count.SIZES.small, num_layers: 1 }, true), "Still your shape: 46.5 million");
});

test("every number of every slider makes a shape", () => {
  const shapes = [...Object.values(count.SIZES), { ...count.SIZES.small, embed_dim: 99_999, num_heads: 3 }];
  for (const shape of shapes) {
    for (const name of Object.keys(count.LIMITS)) {
      const stops = stopsOf(name, shape);
      assert.ok(stops.every((stop, i) => !i || stop > stops[i - 1]));
      assert.ok(stops.length > 1);
      for (const stop of stops) assert.deepEqual(count.problemOf({ ...shape, [name]: stop }), [], `${name} ${stop}`);
    }
  }
  for (const shape of Object.values(count.SIZES)) {
    for (const name of ["vocab_size", "max_seq_len", "embed_dim", "num_heads", "num_layers"]) {
      const near = stopsOf(name, shape).some((stop) => Math.abs(Math.log(stop / shape[name])) < 0.2);
      assert.ok(near, `${name} ${shape[name]}`);
    }
  }
});

test("layers are cut as long as each has pixels", () => {
  gives((layers) => cutsOf(layers, 100), [4, 1], [[25, 50, 75], []]);
  gives((layers) => cutsOf(layers, 132).length, [24, 48, 1000], [23, 0, 0]);
  assert.deepEqual([words.layersText(1), words.layersText(1000)], ["1 layer", "1,000 layers"]);
});

test("a part of the areas is named where its lines have room", () => {
  const texts = [["attention's matrices", "19.9 %"], ["matrices", "19.9 %"], ["19.9 %"]];
  gives((room) => words.areaText("attention's matrices", "19.9 %", room), [300, 70, 52], texts);
  assert.deepEqual(words.areaText("norms", "0.0 %", 20), []);
  assert.deepEqual(words.areaText("feed-forward", "45.5 %", 120, "56,669,184"), [
    "feed-forward",
    "56,669,184",
    "45.5 %",
  ]);
  assert.deepEqual(words.areaText("token embedding", "31.0 %", 104, "38,597,376"), ["tokens", "38,597,376", "31.0 %"]);
  assert.deepEqual(words.areaText("attention", "22.8 %", 78, "28,348,416"), ["attention", "22.8 %"]);
});

test("parts without room for words are named under the drawing, as long as there is room", () => {
  const token = { mark: "token", text: "head 4.9 %" };
  const names = [token, { mark: "scores", text: "scores 4.8 %" }];
  const [head, scores] = namesIn(names, 250);
  assert.equal(head.x, 0);
  assert.ok(scores.x > 14 + 6.9 * head.text.length);
  const [first, ...others] = namesIn(names, 120);
  assert.deepEqual([first.mark, others], ["token", []]);
});
