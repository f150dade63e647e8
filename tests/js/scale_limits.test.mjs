import { makeModel } from "../../mygpt/explorers/kit/model.mjs";
import * as count from "../../mygpt/explorers/scale/count.mjs";
import { networkKept, rowOf } from "../../mygpt/explorers/scale/limits.mjs";
import { deviceStops, timeTicks } from "../../mygpt/explorers/scale/plot.mjs";
import { scaleState } from "../../mygpt/explorers/scale/widget.mjs";
import { limitLabel, runProblem, zonesText } from "../../mygpt/explorers/scale/words.mjs";
import { assert, says, test } from "./common.mjs";
import { run } from "./scale_run.mjs";

const kept = (changes = {}) => {
  const { model, device, devices, spread, kept: what, ...rest } = run(changes);
  return { model, device, devices, spread, kept: what, training: rest };
};

test("a run from elsewhere is checked as what is typed is", () => {
  assert.equal(runProblem(run()), "");
  for (const { run: one } of count.PUBLISHED) assert.equal(runProblem(one), "");
  const small = { model: count.MODELS["GPT-2 small"], ...count.DATA["GPT-2 small"] };
  const problem = (changes) => runProblem(run(changes));
  const few = "A batch of 512 sequences cannot be split over 1,000 devices: take fewer devices or a larger batch.";
  says(problem({ ...small, devices: 1000 }), few);
  says(problem({ devices: 0 }), /^Devices: expected a whole number/);
  says(problem({ model: {} }), /^Parameters: expected a number/);
  says(problem({ share: "0.4" }), /^Reached of the peak: expected a share/);
  says(problem({ spread: "thin" }), /copies, optimizer, sharded/);
  says(problem({ kept: "none" }), /everything, no scores, inputs/);
  says(problem({ batch_tokens: 7 }), /has no whole sequence/);
});

test("a run is given by names, too, and another choice that changes the devices is told", () => {
  const traits = kept();
  const model = makeModel({ state: { ...traits }, buffers: [] });
  model.set({ model: "GPT-2 small", training: "GPT-2 small", device: "H100" });
  const state = scaleState(model);
  assert.deepEqual(state.get("model"), count.MODELS["GPT-2 small"]);
  assert.deepEqual(state.get("device"), count.DEVICES.H100);
  assert.deepEqual(state.get("training"), { tokens: 1e10, batch_tokens: 2 ** 19, at_once: 16, share: 0.4 });
  assert.equal(runProblem(state.run()), "");
  model.set({ model: "GPT-9", training: "GPT-9", device: "abacus" });
  assert.notEqual(runProblem(state.run()), "");
  model.set({ ...traits, devices: 1536 });
  state.wanted = 1536;
  state.take({ model: count.MODELS["GPT-2 small"], training: { ...count.DATA["GPT-2 small"], share: 0.4 } });
  assert.equal(model.get("devices"), 512);
  assert.equal(state.changed, "512 devices, not 1,536: a batch has no more sequences.");
  state.take({ model: traits.model, training: traits.training });
  assert.equal(state.changed, "1,536 devices again.");
  state.take({ devices: 8 });
  assert.equal(state.changed, "");
});

test("every limit has the number of devices from which it is the first", () => {
  const slow = run({ device: { ...count.DEVICES.A100, between: 60e9 } });
  for (const one of [run(), slow, run({ spread: "copies" }), ...count.PUBLISHED.map((published) => published.run)]) {
    const zones = count.limitZones(one);
    for (let n = 1; n <= count.mostDevices(one); n += 1) {
      const zone = zones.findLast(({ from }) => from <= n);
      assert.equal(zone.limit, count.limitOf({ ...one, devices: n }), `${n}`);
    }
  }
  assert.deepEqual(count.limitStarts(count.limitZones(run())).map(limitLabel), [
    "memory",
    "arithmetic from 42",
    "batch from 769",
  ]);
  const zones = (changes) => zonesText(count.limitStarts(count.limitZones(run(changes))));
  says(zones(), "Limited by memory, then arithmetic from 42, batch from 769 devices");
  says(zones({ spread: "copies" }), "Always limited by memory");
  const twice = [1, 9, 12, 20].map((from, i) => ({ limit: i % 2 ? "network" : "arithmetic", from }));
  assert.deepEqual(count.limitStarts(twice).map(limitLabel), ["arithmetic", "network first at 9"]);
});

test("the names of the limits stand in a row without touching, and what has no room is left out", () => {
  const labels = [
    { text: "memory", at: 50 },
    { text: "arithmetic from 42", at: 110 },
    { text: "batch from 769", at: 280 },
  ];
  const row = rowOf(labels, { left: 50, right: 400 });
  assert.equal(row.map(({ text }) => text).join(), "memory,arithmetic from 42,batch from 769");
  row.forEach(({ text, x }, i) => {
    assert.ok(x >= 48 && x + 6.7 * text.length <= (row[i + 1]?.x ?? 400));
  });
  const short = rowOf(labels, { left: 50, right: 160 });
  assert.equal(short.map(({ text }) => text).join(), "batch from 769");
});

test("from where on the network limits is found as the strip has it", () => {
  for (const between of [count.DEVICES.A100.between, 1.25e9, 12.5e6]) {
    for (const spread of ["sharded", "copies"]) {
      for (const model of Object.keys(count.MODELS)) {
        const device = { ...count.DEVICES.A100, between };
        const one = run({ model: count.MODELS[model], ...count.DATA[model], spread, devices: 1, device });
        const zone = count.limitZones(one).find(({ limit }) => limit === "network");
        assert.equal(count.networkFrom(one), zone?.from ?? null, `${model} ${spread} ${between}`);
      }
    }
  }
});

test("a network that is never met is told beside arithmetic and batch alone", () => {
  const networkText = networkKept();
  assert.equal(networkText(run()), "The network never does; at 10 Gbit/s, from 42 devices on.");
  assert.equal(networkText(run({ devices: 1536 })), networkText(run()));
  assert.equal(networkText(run({ devices: 8 })), "");
  assert.equal(networkText(run({ device: { ...count.DEVICES.A100, between: 1.25e9 } })), "");
  assert.equal(networkText(run({ device: { ...count.DEVICES.A100, memory: 8e12, within: 1e20, between: 1 } })), "");
});

test("times have ticks in their units, and devices fine steps", () => {
  const labels = (low, high) => timeTicks(Math.log10(low), Math.log10(high), 6).map(({ label }) => label);
  assert.deepEqual(labels(5, 4e4), ["10 s", "1 min", "10 min", "1 h", "10 h"]);
  assert.deepEqual(labels(15, 45), ["20 s"]);
  assert.ok(labels(1e-6, 1e12).length <= 6);
  assert.deepEqual(deviceStops(20), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20]);
  assert.ok(deviceStops(1536).includes(512) && deviceStops(1536).includes(576));
  assert.deepEqual(deviceStops(1), [1]);
});
