import assert from "node:assert/strict";
import { mock, test } from "node:test";

import {
  DATA,
  DEVICES,
  MODELS,
  PUBLISHED,
  bounds,
  deviceGrid,
  leastDevices,
  limitOf,
  lostTo,
  mostDevices,
  nameOf,
  predictedOf,
  sequencesOf,
  stepTime,
  trainingTime,
} from "../../mygpt/explorers/scale/count.mjs";
import { rested } from "../../mygpt/explorers/kit/fields.mjs";
import { timeCurves } from "../../mygpt/explorers/scale/plot.mjs";
import {
  FIELDS,
  PARTS,
  answerText,
  batchProblem,
  bytesText,
  countedRows,
  devicesProblem,
  duration,
  fieldProblem,
  figures,
  leastText,
  limitParted,
  limitText,
  memoryLabel,
  memoryTitle,
  partFormula,
  publishedRow,
  range,
  rounded,
  settingText,
  shownNumber,
  splitText,
  stillText,
  typedNumber,
} from "../../mygpt/explorers/scale/words.mjs";
import { run } from "./scale_run.mjs";

const field = (name) => FIELDS.find((one) => one.name === name);

test("with full overlap the longer of the two counts, without any their sum", () => {
  assert.deepEqual(bounds({ arithmetic: 3, talking: 5 }), [5, 8]);
  assert.deepEqual(lostTo({ arithmetic: 3, talking: 5 }), [2 / 5, 5 / 8]);
  assert.deepEqual(lostTo({ arithmetic: 3, talking: 1 }), [0, 1 / 4]);
  const step = stepTime(run());
  assert.equal(trainingTime(run()).arithmetic, step.arithmetic * Math.ceil(3e11 / (1536 * 2048)));
});

test("a preset is known by all of its numbers", () => {
  assert.equal(nameOf(MODELS, { ...MODELS["GPT-2 XL"] }), "GPT-2 XL");
  assert.equal(nameOf(DEVICES, { ...DEVICES.H100, between: 5 }), undefined);
});

test("limits are named, with what to do", () => {
  const far = run({ device: { ...DEVICES.A100, between: 12.5e6 } });
  assert.equal(limitText(run()), "The arithmetic limits this run: twice the devices take 66.7 % of the time.");
  assert.equal(
    limitText(run({ devices: 1536 })),
    "The batch limits this run: its 1,536 sequences are too few for twice the devices.",
  );
  assert.match(
    limitText(far),
    /^The network limits this run: communication takes [\d,]+ times as long as the arithmetic, even if both go on at once\.$/,
  );
  assert.equal(limitOf(far), "network");
  assert.equal(
    limitText(run({ devices: 8 })),
    "Memory limits this run: a device needs 363 GB and has 80.0 GB. From 42 devices on, it fits.",
  );
  assert.equal(
    limitText(run({ spread: "copies" })),
    "Memory limits this run: a device needs 2.81 TB and has 80.0 GB. Sharded, it fits from 42 devices on.",
  );
  assert.equal(
    limitText(run({ spread: "copies", kept: "everything", at_once: 3 })),
    "Memory limits this run: a device needs 3.63 TB and has 80.0 GB. It fits from 42 devices on with: sharded, "
      + "one sequence at once, only the layers’ inputs kept.",
  );
  assert.match(limitText(run({ device: { ...DEVICES.A100, memory: 1e9 } })), /would have to be split too/);
});

test("of a limit the numbers in the middle are folded, and no text is lost", () => {
  const short = (changes) => {
    const text = limitText(run(changes));
    const [head, detail, rest] = limitParted(text);
    assert.equal(head + detail + rest, text);
    return head + rest;
  };
  assert.equal(short(), "The arithmetic limits this run.");
  assert.equal(short({ devices: 1536 }), "The batch limits this run.");
  assert.equal(short({ devices: 8 }), "Memory limits this run. From 42 devices on, it fits.");
  assert.equal(short({ device: { ...DEVICES.A100, between: 12.5e6 } }), "The network limits this run.");
  assert.equal(
    short({ spread: "copies", kept: "everything", at_once: 3 }),
    "Memory limits this run. It fits from 42 devices on with: sharded, one sequence at once, only the layers’ inputs kept.",
  );
});

test("the fewest devices that are enough are told, or that none are", () => {
  assert.equal(leastDevices(run()), 42);
  const letters = " N parameters, L layers, C channels, H heads, T tokens in a sequence, n devices.";
  assert.equal(leastText(run()), `It fits from 42 devices on, spread as it is.${letters}`);
  assert.match(leastText(run({ spread: "copies" })), /^It fits on no number of devices up to 1,536, spread as it is\./);
  const small = run({ model: MODELS["GPT-2 small"], ...DATA["GPT-2 small"] });
  assert.match(leastText(small), /^It fits from 1 device on, spread as it is\./);
});

test("a number of devices is whole, and no more than the batch has sequences", () => {
  for (const text of ["0", "", "  ", "many", "1.5", "-3", "100001", "1e309"]) {
    assert.equal(devicesProblem(run(), text), "Devices: expected a whole number from 1 to 100,000.", text);
  }
  assert.equal(
    devicesProblem(run(), "1537"),
    "A batch of 1,536 sequences cannot be split over 1,537 devices: take fewer devices or a larger batch.",
  );
  assert.equal(devicesProblem(run(), "1536"), "");
  assert.equal(
    devicesProblem(run({ batch_tokens: 2048 }), "2"),
    "A batch of 1 sequence cannot be split over 2 devices: take fewer devices or a larger batch.",
  );
});

test("a field expects a number above 0, a whole one or a share", () => {
  for (const { name } of FIELDS) {
    for (const text of ["0", "", "word", "-1", "1e400"]) assert.notEqual(fieldProblem(field(name), text), "", name);
    assert.equal(fieldProblem(field(name), "1"), "", name);
  }
  assert.equal(fieldProblem(field("num_layers"), "2.5"), "Layers: expected a whole number from 1 to 10,000.");
  assert.equal(fieldProblem(field("share"), "101"), "Reached of the peak: expected a share above 0 and up to 100 %.");
  assert.equal(fieldProblem(field("share"), "100"), "");
  assert.equal(fieldProblem(field("parameters"), "0.124439808"), "");
  assert.equal(fieldProblem(field("parameters"), "100001"), "Parameters: expected a number above 0, up to 100,000.");
  assert.equal(fieldProblem(field("between"), "0.0125"), "");
  assert.equal(batchProblem(run({ batch_tokens: 2047 })), "A batch of 2,047 tokens has no whole sequence of 2,048.");
  assert.equal(batchProblem(run()), "");
});

test("a field shows its own unit, and what is typed is the trait's", () => {
  const known = [
    ["parameters", 124_439_808, 0.124439808],
    ["share", 0.4, 40],
    ["share", 0.07, 7],
    ["between", 12.5e6, 0.0125],
    ["peak", 312e12, 312],
    ["num_layers", 96, 96],
    ["tokens", 3e11, 300],
  ];
  for (const [name, number, shown] of known) {
    assert.equal(shownNumber(field(name), number), shown, name);
    assert.equal(typedNumber(field(name), String(shown)), number, name);
  }
  assert.equal(shownNumber(field("share"), 144 / 312), 46.1538461538);
  assert.equal(typedNumber(field("parameters"), "0.0000000014"), 1);
});

test("what is split is said", () => {
  assert.equal(splitText(run()), "64 machines; of the 1,536 sequences in a batch, 3 sequences for each device.");
  assert.equal(
    splitText(run({ devices: 1000 })),
    "125 machines; of the 1,536 sequences in a batch, up to 2 sequences for each device.",
  );
  assert.equal(
    splitText(run({ devices: 1536 })),
    "192 machines; of the 1,536 sequences in a batch, 1 sequence for each device.",
  );
  assert.match(splitText(run({ devices: 3 })), /^1 machine;/);
});

test("times are in the largest unit of which they have enough", () => {
  const known = [
    [0, "0 µs"],
    [2e-7, "0.200 µs"],
    [0.0123, "12.3 ms"],
    [1, "1.00 s"],
    [119, "119 s"],
    [120, "2.00 minutes"],
    [7199, "120 minutes"],
    [7200, "2.00 hours"],
    [172_799, "48.0 hours"],
    [172_800, "2.00 days"],
    [9 * 31_557_600, "3,290 days"],
    [10 * 31_557_600, "10.0 years"],
    [31_557_600e7, "10.0 million years"],
  ];
  for (const [seconds, text] of known) assert.equal(duration(seconds), text);
});

test("numbers have three digits", () => {
  const known = [
    [0, "0"],
    [1e-4, "less than 0.001"],
    [0.0123, "0.0123"],
    [9.999, "10.0"],
    [76, "76.0"],
    [99.96, "100"],
    [12_345, "12,300"],
    [999_999, "1,000,000"],
    [30.84e6, "30.8 million"],
    [1e20, "1.00 × 10²⁰"],
  ];
  for (const [number, text] of known) assert.equal(rounded(number), text);
  assert.equal(bytesText(80e9), "80.0 GB");
  assert.equal(bytesText(512.4), "512 B");
  assert.equal(bytesText(3e20), "3.00 × 10⁵ PB");
});

test("a range says its unit once, and one number where both read the same", () => {
  const of = (...texts) => range([0, 1], (i) => texts[i]);
  assert.equal(of("1 days", "2 days"), "1 to 2 days");
  assert.equal(of("60 s", "2.00 hours"), "60 s to 2.00 hours");
  assert.equal(of("7 million hours", "7 million hours"), "7 million hours");
  assert.equal(of("1 million hours", "2 million hours"), "1 to 2 million hours");
  assert.equal(of("1", "2"), "1 to 2");
});

test("the answer says whether it fits and how long it takes", () => {
  assert.equal(answerText(run()), "It fits, and takes 78.2 to 95.5 days.");
  assert.equal(answerText(run({ devices: 8 })), "It does not fit.");
  assert.equal(stillText(run()), "The answer is still for 512 devices.");
  assert.equal(stillText(run({ devices: 1 })), "The answer is still for 1 device.");
});

test("what is typed is taken once, after a pause or when it is settled", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const done = [];
  const { typed, settle, stop } = rested(
    () => done.push("wait"),
    () => done.push("take"),
  );
  settle(); // nothing is typed
  typed();
  mock.timers.tick(399);
  typed();
  mock.timers.tick(399);
  assert.deepEqual(done, ["wait", "wait"]);
  mock.timers.tick(1);
  assert.deepEqual(done, ["wait", "wait", "take"]);
  typed();
  settle();
  settle();
  mock.timers.tick(1000);
  assert.deepEqual(done.slice(3), ["wait", "take"]);
  typed();
  stop();
  mock.timers.tick(1000);
  assert.deepEqual(done.slice(5), ["wait"]);
  mock.timers.reset();
});

test("the figures", () => {
  assert.deepEqual(figures(run({ devices: 1536, share: 144 / 312, kept: "inputs" })), [
    ["Whole run", "22.6 to 28.4 days"],
    ["One step", "20.5 to 25.7 s"],
    ["Time lost to communication", "0.0 to 20.4 %"],
    ["Device-hours", "0.833 to 1.05 million"],
    ["Interruptions", "16.4 to 20.6"],
  ]);
  assert.deepEqual(figures(run({ devices: 1, spread: "copies" }))[2], ["Time lost to communication", "0.0 %"]);
});

test("the memory is told with its verdict, part by part", () => {
  assert.deepEqual(memoryTitle(run()), ["18.4 GB", "of 80.0 GB: it fits"]);
  assert.equal(memoryTitle(run({ devices: 41 }))[1], "of 80.0 GB: it does not fit");
  assert.equal(memoryTitle(run({ devices: 42 }))[1], "of 80.0 GB: it fits");
  assert.equal(
    memoryLabel(run()),
    "Memory of one device, 18.4 GB of 80.0 GB: it fits: weights 684 MB, gradients 684 MB, "
      + "optimizer 4.10 GB, one layer, whole 7.29 GB, activations 5.69 GB.",
  );
});

test("the formulas are those of how the run is spread", () => {
  const formulas = (changes) => PARTS.map((part) => partFormula(run(changes), part));
  assert.deepEqual(formulas(), ["2N / n", "2N / n", "12N / n", "4N / L", "2LTC + 34TC"]);
  const two = formulas({ spread: "optimizer", at_once: 2, kept: "no scores" });
  assert.deepEqual(two, ["2N", "2N", "12N / n", "–", "2 × 34LTC"]);
  assert.deepEqual(formulas({ spread: "copies", kept: "everything" }), ["2N", "2N", "12N", "–", "LTC(34 + 5HT/C)"]);
});

test("what is counted has its formula and its source", () => {
  const rows = (changes) => Object.fromEntries(countedRows(run(changes)).map(([name, ...rest]) => [name, rest]));
  assert.deepEqual(rows()["FLOPs of a token"], ["1.44 × 10¹²", "8N + 16LCT", "Narayanan et al. 2021, eq. 3"]);
  assert.equal(rows({ kept: "everything" })["FLOPs of a token"][1], "6N + 12LCT");
  assert.deepEqual(rows()["Sent by a device"], ["3.14 TB", "3 × 3(n − 1)/n × 2N", "ZeRO 2020, section 7"]);
  const copied = rows({ spread: "copies" })["Sent by a device"];
  assert.deepEqual(copied, ["699 GB", "2(n − 1)/n × 2N", "Patarasuk and Yuan 2009"]);
  assert.equal(rows({ devices: 1536 })["Sent by a device"][1], "3(n − 1)/n × 2N");
  assert.equal(rows()["Bandwidth of the ring"][0], "200 GB/s");
  assert.equal(rows().Steps[0], "95,368");
});

test("published runs stand beside what the calculator says", () => {
  assert.deepEqual(
    PUBLISHED.map((one) => publishedRow(one)),
    [
      { said: "28.1 million hours", reported: "30.8 million hours", miss: "−9 %" },
      { said: "45.1 to 50.8 days", reported: "74 days", miss: "−39 to −31 %" },
      { said: "22.5 to 28.3 days", reported: "74 days", miss: "−70 to −62 %" },
      { said: "76.2 GB", reported: "more than 80.0 GB", miss: "−5 %" },
      { said: "74.4 GB", reported: "at most 80.0 GB", miss: "none" },
    ],
  );
  assert.equal(predictedOf(PUBLISHED[0])[0], predictedOf(PUBLISHED[0])[1]);
  const low = predictedOf(PUBLISHED[0])[0] / 1.2;
  assert.equal(publishedRow({ ...PUBLISHED[0], reported: [low, low] }).miss, "+20 %");
});

test("all settings in words", () => {
  assert.equal(
    settingText(run()),
    "GPT-3 175B on 512 × A100; weights, gradients and optimizer are split over the devices; "
      + "300 billion tokens, 3,145,728 in a batch; 40.0 % of the peak.",
  );
  const own = run({ model: { ...MODELS["GPT-2 XL"], parameters: 7e9 }, device: { ...DEVICES.H100, peak: 5e12 } });
  assert.match(settingText(own), /^N = 7\.00 billion on 512 × devices of 5\.00 TFLOP\/s;/);
});

test("the curves have a point for each number of devices, and none for talking alone", () => {
  const { x, lists } = timeCurves(run());
  const [arithmetic, talking] = lists;
  assert.equal(x.length, deviceGrid(run()).length);
  assert.equal(x[0], 0);
  assert.ok(Math.abs(10 ** x.at(-1) - 1536) < 1e-9);
  assert.ok(Number.isNaN(talking[0]) && !Number.isNaN(talking[1]));
  assert.ok(arithmetic.every((one, i) => i === 0 || one <= arithmetic[i - 1]));
  const single = timeCurves(run({ batch_tokens: 2048 }));
  assert.deepEqual(single.x, [0]);
});

test("a curve's numbers of devices have one less beside each at which a device has a sequence less", () => {
  const one = run();
  const [all, most, grid] = [sequencesOf(one), mostDevices(one), new Set(deviceGrid(one))];
  for (let each = 1; each <= 40; each += 1) {
    const edge = Math.ceil(all / each);
    if (edge > 1 && edge <= most) assert.ok(grid.has(edge) && grid.has(edge - 1), `${edge}`);
  }
});
