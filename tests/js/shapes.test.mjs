import assert from "node:assert/strict";
import { test } from "node:test";

import { total } from "../../mygpt/explorers/kit/amounts.mjs";
import { cutsOf, namesIn, partAt } from "../../mygpt/explorers/shapes/areas.mjs";
import {
  LIMITS,
  SIZES,
  blockParts,
  divisible,
  parametersByPart,
  problemOf,
  sameShape,
  shapeOf,
  sizeOf,
} from "../../mygpt/explorers/shapes/count.mjs";
import { nextStop, stopsOf } from "../../mygpt/explorers/shapes/shape.mjs";
import {
  PARTS,
  answerText,
  areaText,
  barText,
  comparedTo,
  crossingText,
  derivedText,
  fractionText,
  heldText,
  layersText,
  markOf,
  memoryText,
  problemText,
  segmentText,
  sentenceOf,
  settingText,
  shapeName,
  trainingText,
} from "../../mygpt/explorers/shapes/words.mjs";

const SMALL = Object.fromEntries(Object.entries(SIZES.small).map(([name, value]) => [name, String(value)]));

test("a good shape has no problem, and is what is typed", () => {
  assert.deepEqual(problemOf(SMALL), []);
  assert.deepEqual(shapeOf(SMALL), SIZES.small);
  assert.deepEqual(problemOf({ ...SMALL, num_layers: " 1e2 " }), []);
});

test("zero, nothing, a word, a fraction and too much are problems of their field", () => {
  for (const name of Object.keys(LIMITS)) {
    for (const text of ["0", "", "  ", "twelve", "1.5", "-3", "1e309", String(LIMITS[name] + 1)]) {
      assert.deepEqual(problemOf({ ...SMALL, [name]: text }), [name], text);
    }
  }
  assert.deepEqual(problemOf({ ...SMALL, embed_dim: "0", num_heads: "0" }), ["embed_dim"]);
});

test("channels that the heads do not divide are a problem of both", () => {
  const texts = { ...SMALL, num_heads: "13" };
  assert.deepEqual(problemOf(texts), ["embed_dim", "num_heads"]);
  assert.equal(
    problemText(problemOf(texts), texts),
    "Channels C: expected a multiple of the 13 heads, such as 767 or 780.",
  );
  assert.deepEqual(divisible(768, 1000), [1000]);
  assert.deepEqual(divisible(99_999, 1000), [99_000, 100_000]);
  assert.deepEqual(divisible(100_000, 3), [99_999]);
});

test("a problem says what is expected", () => {
  assert.equal(problemText(["vocab_size"], SMALL), "Vocabulary V: expected a whole number from 1 to 2,000,000.");
  assert.equal(problemText(["num_layers"], SMALL), "Layers L: expected a whole number from 1 to 1,000.");
});

test("a shape is known by all of its numbers", () => {
  assert.equal(sizeOf({ ...SIZES.large }), "large");
  for (const name of Object.keys(LIMITS)) {
    const other = { ...SIZES.xl, [name]: SIZES.xl[name] + 1 };
    assert.equal(sameShape(other, SIZES.xl), false);
    assert.equal(sizeOf(other), undefined);
  }
  assert.equal(shapeName(SIZES.xl), "GPT-2 XL");
  assert.equal(shapeName({ ...SIZES.xl, num_heads: 5 }), "your shape");
});

test("a shape is compared with a size, and not with itself", () => {
  assert.deepEqual(comparedTo(SIZES.xl, "small"), [SIZES.small]);
  assert.deepEqual(comparedTo({ ...SIZES.small }, "small"), []);
  assert.deepEqual(comparedTo(SIZES.xl, ""), []);
});

test("a segment says what it has room for", () => {
  assert.equal(segmentText("attention's matrices", 0.199, 300), "attention's matrices 19.9 %");
  assert.equal(segmentText("attention's matrices", 0.199, 150), "matrices 19.9 %");
  assert.equal(segmentText("attention's matrices", 0.199, 60), "19.9 %");
  assert.equal(segmentText("norms", 0.01, 20), "");
});

test("the sentence says what a part holds of the model and of each block, and what it does", () => {
  assert.equal(
    sentenceOf(SIZES.small, 1024, "network"),
    "The feed-forward networks have 56,669,184 parameters: 45.5 % of the model and two thirds (66.6 %) of each block. "
      + "They do 39.8 % of the work for one token.",
  );
  assert.equal(
    sentenceOf(SIZES.small, 1024, "token"),
    "The token embedding has 38,597,376 parameters: 31.0 % of the model, in no block. "
      + "The head, the same table, does 27.1 % of the work for one token.",
  );
  assert.match(heldText(SIZES.small, "attention"), /28,348,416 .* a third \(33\.3 %\) of each block\.$/);
  assert.match(sentenceOf(SIZES.small, 1024, "scores"), /^Scores and sums of values have no parameters\. They do 13/);
  assert.match(sentenceOf(SIZES.small, 1024, "norms"), /^The norms have 38,400 .* of each block\.$/);
  for (const shape of Object.values(SIZES)) {
    const [parts, block] = [parametersByPart(shape), blockParts(shape)];
    const layers = parts.attention + parts["feed-forward"] + parts.norms - 2 * shape.embed_dim;
    assert.equal(shape.num_layers * total(block), layers);
  }
  assert.deepEqual([0.5, 0.504, 0.51].map(fractionText), ["half (50.0 %)", "half (50.4 %)", "51.0 %"]);
  assert.deepEqual(["attention", "norms", undefined].map(markOf), ["attention", "norms", "network"]);
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
  assert.equal(nextStop("num_heads", SIZES.small, 1), 16);
  assert.equal(nextStop("num_heads", SIZES.small, -1), 8);
  assert.equal(nextStop("embed_dim", SIZES.small, 1), 960);
  assert.equal(nextStop("num_layers", { ...SIZES.small, num_layers: 1 }, -1), undefined);
  assert.equal(nextStop("num_layers", { ...SIZES.small, num_layers: 1000 }, 1), undefined);
});

test("the notes give the crossing, the rule of thumb and what memory leaves out", () => {
  assert.equal(
    crossingText(SIZES.small),
    "Scores and values overtake the matrices of the blocks beyond "
      + "6C = 4,608 positions, longer than any text of this model.",
  );
  assert.match(crossingText({ ...SIZES.small, max_seq_len: 4609 }), /4,608 positions\.$/);
  assert.match(crossingText({ ...SIZES.small, max_seq_len: 4608 }), /any text of this model\.$/);
  assert.match(trainingText(SIZES.small, 1024), /854,438,400 FLOPs\..* 6N = 746,638,848, 12\.6 % less\.$/);
  assert.match(trainingText({ ...SIZES.small, max_seq_len: 100_000 }, 1), /% more\.$/);
  assert.match(memoryText(SIZES.small, 7), /16 bytes .* not counted\. .* one text of 7 tokens\.$/);
  assert.match(derivedText(SIZES.xl), /D = C \/ H = 64 .* F = 4C = 6,400 neurons/);
  assert.equal(settingText(SIZES.xl, 5), "V = 50,257, T = 1,024, C = 1,600, H = 25, L = 48; a text of 5.");
});

test("a bar is told in words, part by part", () => {
  assert.equal(barText("GPT-2 small", { head: 1, norms: 3 }), "GPT-2 small, 4: head 25.0 %, norms 75.0 %.");
  assert.equal(total({ a: 1, b: 2 }), 3);
  const held = PARTS.flatMap(([, , one]) => one ?? []);
  assert.deepEqual(held, ["token embedding", "positions", "attention", "feed-forward", "norms"]);
});

test("the answer names the shape and its parameters, and an old one as old", () => {
  assert.equal(answerText(SIZES.small, false), "GPT-2 small: 124 million parameters");
  assert.equal(answerText({ ...SIZES.small, num_layers: 1 }, false), "Your shape: 46.5 million parameters");
  assert.equal(answerText({ ...SIZES.small, num_layers: 1 }, true), "Still your shape: 46.5 million");
});

test("every number of every slider makes a shape", () => {
  const shapes = [...Object.values(SIZES), { ...SIZES.small, embed_dim: 99_999, num_heads: 3 }];
  for (const shape of shapes) {
    for (const name of Object.keys(LIMITS)) {
      const stops = stopsOf(name, shape);
      assert.ok(stops.every((stop, i) => !i || stop > stops[i - 1]));
      assert.ok(stops.length > 1);
      for (const stop of stops) assert.deepEqual(problemOf({ ...shape, [name]: stop }), [], `${name} ${stop}`);
    }
  }
  for (const shape of Object.values(SIZES)) {
    for (const name of ["vocab_size", "max_seq_len", "embed_dim", "num_heads", "num_layers"]) {
      const near = stopsOf(name, shape).some((stop) => Math.abs(Math.log(stop / shape[name])) < 0.2);
      assert.ok(near, `${name} ${shape[name]}`);
    }
  }
});

test("layers are cut as long as each has pixels", () => {
  assert.deepEqual(cutsOf(4, 100), [25, 50, 75]);
  assert.deepEqual(cutsOf(1, 100), []);
  assert.equal(cutsOf(24, 132).length, 23);
  assert.deepEqual(cutsOf(48, 132), []);
  assert.deepEqual(cutsOf(1000, 132), []);
  assert.deepEqual([layersText(1), layersText(1000)], ["1 layer", "1,000 layers"]);
});

test("a part of the areas is named where its lines have room", () => {
  assert.deepEqual(areaText("attention's matrices", "19.9 %", 300), ["attention's matrices", "19.9 %"]);
  assert.deepEqual(areaText("attention's matrices", "19.9 %", 70), ["matrices", "19.9 %"]);
  assert.deepEqual(areaText("attention's matrices", "19.9 %", 52), ["19.9 %"]);
  assert.deepEqual(areaText("norms", "0.0 %", 20), []);
  assert.deepEqual(areaText("feed-forward", "45.5 %", 120, "56,669,184"), ["feed-forward", "56,669,184", "45.5 %"]);
  assert.deepEqual(areaText("token embedding", "31.0 %", 104, "38,597,376"), ["tokens", "38,597,376", "31.0 %"]);
  assert.deepEqual(areaText("attention", "22.8 %", 78, "28,348,416"), ["attention", "22.8 %"]);
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
