import * as count from "../../mygpt/explorers/scale/count.mjs";
import { rested } from "../../mygpt/explorers/kit/parts/fields.mjs";
import { timeCurves } from "../../mygpt/explorers/scale/plot.mjs";
import * as words from "../../mygpt/explorers/scale/words.mjs";
import { assert, gives, mock, near, says, test } from "./common.mjs";
import { run } from "./scale_run.mjs";

const field = (name) => words.FIELDS.find((one) => one.name === name);

test("with full overlap the longer of the two counts, without any their sum", () => {
  assert.deepEqual(count.bounds({ arithmetic: 3, talking: 5 }), [5, 8]);
  assert.deepEqual(count.lostTo({ arithmetic: 3, talking: 5 }), [2 / 5, 5 / 8]);
  assert.deepEqual(count.lostTo({ arithmetic: 3, talking: 1 }), [0, 1 / 4]);
  const step = count.stepTime(run());
  assert.equal(count.trainingTime(run()).arithmetic, step.arithmetic * Math.ceil(3e11 / (1536 * 2048)));
});

test("a preset is known by all of its numbers", () => {
  assert.equal(count.nameOf(count.MODELS, { ...count.MODELS["GPT-2 XL"] }), "GPT-2 XL");
  assert.equal(count.nameOf(count.DEVICES, { ...count.DEVICES.H100, between: 5 }), undefined);
});

const ALL_AT_ONCE = { spread: "copies", kept: "everything", at_once: 3 };
const WITH = "It fits from 42 devices on with: sharded, one sequence at once, only the layers’ inputs kept.";
const HOME = { device: { ...count.DEVICES.A100, between: 12.5e6 } };

test("limits are named, with what to do", () => {
  const said = (changes) => words.limitText(run(changes));
  const memory = (needed) => `Memory limits this run: a device needs ${needed} and has 80.0 GB.`;
  says(said(), "The arithmetic limits this run: twice the devices take 66.7 % of the time.");
  says(said({ devices: 1536 }), "The batch limits this run: its 1,536 sequences are too few for twice the devices.");
  const long = "communication takes [\\d,]+ times as long as the arithmetic, even if both go on at once";
  says(said(HOME), new RegExp(`^The network limits this run: ${long}\\.$`));
  assert.equal(count.limitOf(run(HOME)), "network");
  says(said({ devices: 8 }), `${memory("363 GB")} From 42 devices on, it fits.`);
  says(said({ spread: "copies" }), `${memory("2.81 TB")} Sharded, it fits from 42 devices on.`);
  says(said(ALL_AT_ONCE), `${memory("3.63 TB")} ${WITH}`);
  says(said({ device: { ...count.DEVICES.A100, memory: 1e9 } }), /would have to be split too/);
});

test("of a limit the numbers in the middle are folded, and no text is lost", () => {
  const short = (changes) => {
    const text = words.limitText(run(changes));
    const [head, detail, rest] = words.limitParted(text);
    assert.equal(head + detail + rest, text);
    return head + rest;
  };
  says(short(), "The arithmetic limits this run.");
  says(short({ devices: 1536 }), "The batch limits this run.");
  says(short({ devices: 8 }), "Memory limits this run. From 42 devices on, it fits.");
  says(short(HOME), "The network limits this run.");
  says(short(ALL_AT_ONCE), `Memory limits this run. ${WITH}`);
});

test("the fewest devices that are enough are told, or that none are", () => {
  assert.equal(count.leastDevices(run()), 42);
  const letters = " N parameters, L layers, C channels, H heads, T tokens in a sequence, n devices.";
  const said = (changes) => words.leastText(run(changes));
  says(said(), `It fits from 42 devices on, spread as it is.${letters}`);
  says(said({ spread: "copies" }), /^It fits on no number of devices up to 1,536, spread as it is\./);
  const small = { model: count.MODELS["GPT-2 small"], ...count.DATA["GPT-2 small"] };
  says(said(small), /^It fits from 1 device on, spread as it is\./);
});

test("a number of devices is whole, and no more than the batch has sequences", () => {
  const problem = (text, changes) => words.devicesProblem(run(changes), text);
  const none = "Devices: expected a whole number from 1 to 100,000.";
  gives(problem, ["0", "", "  ", "many", "1.5", "-3", "100001", "1e309"], Array(8).fill(none));
  const few = "devices: take fewer devices or a larger batch.";
  says(problem("1537"), `A batch of 1,536 sequences cannot be split over 1,537 ${few}`);
  says(problem("1536"), "");
  says(problem("2", { batch_tokens: 2048 }), `A batch of 1 sequence cannot be split over 2 ${few}`);
});

test("a field expects a number above 0, a whole one or a share", () => {
  for (const { name } of words.FIELDS) {
    for (const text of ["0", "", "word", "-1", "1e400"]) {
      assert.notEqual(words.fieldProblem(field(name), text), "", name);
    }
    assert.equal(words.fieldProblem(field(name), "1"), "", name);
  }
  const problem = (name, text) => words.fieldProblem(field(name), text);
  says(problem("num_layers", "2.5"), "Layers: expected a whole number from 1 to 10,000.");
  says(problem("share", "101"), "Reached of the peak: expected a share above 0 and up to 100 %.");
  says(problem("parameters", "100001"), "Parameters: expected a number above 0, up to 100,000.");
  for (const good of ["share 100", "parameters 0.124439808", "between 0.0125"]) says(problem(...good.split(" ")), "");
  const batch = (changes) => words.batchProblem(run(changes));
  says(batch({ batch_tokens: 2047 }), "A batch of 2,047 tokens has no whole sequence of 2,048.");
  says(batch(), "");
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
    assert.equal(words.shownNumber(field(name), number), shown, name);
    assert.equal(words.typedNumber(field(name), String(shown)), number, name);
  }
  assert.equal(words.shownNumber(field("share"), 144 / 312), 46.1538461538);
  assert.equal(words.typedNumber(field("parameters"), "0.0000000014"), 1);
});

test("what is split is said", () => {
  const split = (devices) => words.splitText(run({ devices }));
  const batch = "machines; of the 1,536 sequences in a batch,";
  says(split(512), `64 ${batch} 3 sequences for each device.`);
  says(split(1000), `125 ${batch} up to 2 sequences for each device.`);
  says(split(1536), `192 ${batch} 1 sequence for each device.`);
  says(split(3), /^1 machine;/);
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
  for (const [seconds, text] of known) assert.equal(words.duration(seconds), text);
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
  for (const [number, text] of known) assert.equal(words.rounded(number), text);
  gives(words.bytesText, [80e9, 512.4, 3e20], ["80.0 GB", "512 B", "3.00 × 10⁵ PB"]);
});

test("a range says its unit once, and one number where both read the same", () => {
  const of = (...texts) => words.range([0, 1], (i) => texts[i]);
  assert.equal(of("1 days", "2 days"), "1 to 2 days");
  assert.equal(of("60 s", "2.00 hours"), "60 s to 2.00 hours");
  assert.equal(of("7 million hours", "7 million hours"), "7 million hours");
  assert.equal(of("1 million hours", "2 million hours"), "1 to 2 million hours");
  assert.equal(of("1", "2"), "1 to 2");
});

test("the answer says whether it fits and how long it takes", () => {
  gives(words.answerText, [run(), run({ devices: 8 })], ["It fits, and takes 78.2 to 95.5 days.", "It does not fit."]);
  const still = ["The answer is still for 512 devices.", "The answer is still for 1 device."];
  gives(words.stillText, [run(), run({ devices: 1 })], still);
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
  assert.deepEqual(words.figures(run({ devices: 1536, share: 144 / 312, kept: "inputs" })), [
    ["Whole run", "22.6 to 28.4 days"],
    ["One step", "20.5 to 25.7 s"],
    ["Time lost to communication", "0.0 to 20.4 %"],
    ["Device-hours", "0.833 to 1.05 million"],
    ["Interruptions", "16.4 to 20.6"],
  ]);
  assert.deepEqual(words.figures(run({ devices: 1, spread: "copies" }))[2], ["Time lost to communication", "0.0 %"]);
});

test("the memory is told with its verdict, part by part", () => {
  assert.deepEqual(words.memoryTitle(run()), ["18.4 GB", "of 80.0 GB: it fits"]);
  const verdicts = ["of 80.0 GB: it does not fit", "of 80.0 GB: it fits"];
  gives((devices) => words.memoryTitle(run({ devices }))[1], [41, 42], verdicts);
  assert.equal(
    words.memoryLabel(run()),
    "Memory of one device, 18.4 GB of 80.0 GB: it fits: weights 684 MB, gradients 684 MB, "
      + "optimizer 4.10 GB, one layer, whole 7.29 GB, activations 5.69 GB.",
  );
});

test("the formulas are those of how the run is spread", () => {
  const formulas = (changes) => words.PARTS.map((part) => words.partFormula(run(changes), part));
  assert.deepEqual(formulas(), ["2N / n", "2N / n", "12N / n", "4N / L", "2LTC + 34TC"]);
  const two = formulas({ spread: "optimizer", at_once: 2, kept: "no scores" });
  assert.deepEqual(two, ["2N", "2N", "12N / n", "–", "2 × 34LTC"]);
  assert.deepEqual(formulas({ spread: "copies", kept: "everything" }), ["2N", "2N", "12N", "–", "LTC(34 + 5HT/C)"]);
});

test("what is counted has its formula and its source", () => {
  const rows = (changes) => Object.fromEntries(words.countedRows(run(changes)).map(([name, ...rest]) => [name, rest]));
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
    count.PUBLISHED.map((one) => words.publishedRow(one)),
    [
      { said: "28.1 million hours", reported: "30.8 million hours", miss: "−9 %" },
      { said: "45.1 to 50.8 days", reported: "74 days", miss: "−39 to −31 %" },
      { said: "22.5 to 28.3 days", reported: "74 days", miss: "−70 to −62 %" },
      { said: "76.2 GB", reported: "more than 80.0 GB", miss: "−5 %" },
      { said: "74.4 GB", reported: "at most 80.0 GB", miss: "none" },
    ],
  );
  assert.equal(count.predictedOf(count.PUBLISHED[0])[0], count.predictedOf(count.PUBLISHED[0])[1]);
  const low = count.predictedOf(count.PUBLISHED[0])[0] / 1.2;
  assert.equal(words.publishedRow({ ...count.PUBLISHED[0], reported: [low, low] }).miss, "+20 %");
});

test("all settings in words", () => {
  assert.equal(
    words.settingText(run()),
    "GPT-3 175B on 512 × A100; weights, gradients and optimizer are split over the devices; "
      + "300 billion tokens, 3,145,728 in a batch; 40.0 % of the peak.",
  );
  const own = run({
    model: { ...count.MODELS["GPT-2 XL"], parameters: 7e9 },
    device: { ...count.DEVICES.H100, peak: 5e12 },
  });
  assert.match(words.settingText(own), /^N = 7\.00 billion on 512 × devices of 5\.00 TFLOP\/s;/);
});

test("the curves have a point for each number of devices, and none for talking alone", () => {
  const { x, lists } = timeCurves(run());
  const [arithmetic, talking] = lists;
  assert.equal(x.length, count.deviceGrid(run()).length);
  assert.equal(x[0], 0);
  near(10 ** x.at(-1), 1536, 1e-9);
  assert.ok(Number.isNaN(talking[0]) && !Number.isNaN(talking[1]));
  assert.ok(arithmetic.every((one, i) => i === 0 || one <= arithmetic[i - 1]));
  const single = timeCurves(run({ batch_tokens: 2048 }));
  assert.deepEqual(single.x, [0]);
});

test("a curve's numbers of devices have one less beside each at which a device has a sequence less", () => {
  const one = run();
  const [all, most, grid] = [count.sequencesOf(one), count.mostDevices(one), new Set(count.deviceGrid(one))];
  for (let each = 1; each <= 40; each += 1) {
    const edge = Math.ceil(all / each);
    if (edge > 1 && edge <= most) assert.ok(grid.has(edge) && grid.has(edge - 1), `${edge}`);
  }
});
