import assert from "node:assert/strict";
import { test } from "node:test";

import { total } from "../../mygpt/explorers/kit/amounts.mjs";
import { cutsOf } from "../../mygpt/explorers/shapes/areas.mjs";
import {
  LIMITS,
  SIZES,
  divisible,
  problemOf,
  sameShape,
  shapeOf,
  sizeOf,
} from "../../mygpt/explorers/shapes/count.mjs";
import { stopsOf } from "../../mygpt/explorers/shapes/shape.mjs";
import {
  PARTS,
  answerText,
  areaText,
  barText,
  comparedTo,
  crossingText,
  derivedText,
  layersText,
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

test("the sentence says what dominates parameters and work", () => {
  assert.equal(
    sentenceOf(SIZES.small, 1024),
    "The largest share of the parameters, 45.5 %, is in the feed-forward "
      + "networks; the largest share of the work for one token, 39.8 %, goes into them too.",
  );
  const long = { ...SIZES.small, max_seq_len: 100_000 };
  assert.match(sentenceOf(long, 100_000), /goes into scores and sums of values\.$/);
  const shallow = { ...SIZES.small, num_layers: 1 };
  assert.match(sentenceOf(shallow, 1), /is in the token embedding; .* goes into the head, the same table\.$/);
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
  assert.deepEqual(
    PARTS.flatMap(([, , held]) => held ?? []),
    ["token embedding", "positions", "attention", "feed-forward", "norms"],
  );
});

test("the answer names the shape and its parameters, and an old one as old", () => {
  assert.equal(answerText(SIZES.small, false), "GPT-2 small: 124 million parameters");
  assert.equal(answerText({ ...SIZES.small, num_layers: 1 }, false), "Your shape: 46.5 million parameters");
  assert.equal(answerText({ ...SIZES.small, num_layers: 1 }, true), "Still your shape: 46.5 million parameters");
});

test("every number of every slider makes a shape", () => {
  const shapes = [...Object.values(SIZES), { ...SIZES.small, embed_dim: 99_999, num_heads: 3 }];
  for (const shape of shapes) {
    for (const name of Object.keys(LIMITS)) {
      const stops = stopsOf(name, shape);
      assert.deepEqual(
        stops,
        [...new Set(stops)].sort((a, b) => a - b),
      );
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
  assert.equal(cutsOf(48, 132).length, 47);
  assert.deepEqual(cutsOf(1000, 132), []);
  assert.deepEqual([layersText(1), layersText(1000)], ["1 layer", "1,000 layers"]);
});

test("a part of the areas is named where its lines have room", () => {
  assert.deepEqual(areaText("attention's matrices", "19.9 %", 300), ["attention's matrices", "19.9 %"]);
  assert.deepEqual(areaText("attention's matrices", "19.9 %", 70), ["matrices", "19.9 %"]);
  assert.deepEqual(areaText("attention's matrices", "19.9 %", 52), ["19.9 %"]);
  assert.deepEqual(areaText("norms", "0.0 %", 20), []);
});
