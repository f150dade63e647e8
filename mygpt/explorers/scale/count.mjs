// What a training run costs on many devices, as mygpt/distributed/cost.py counts it; no page is touched here.
// A run is { model, device, tokens, batch_tokens, at_once, share, devices, spread, kept }.

import { times, total } from "../kit/geometry.mjs";
import STORED from "../../distributed/training_runs.json" with { type: "json" };

/** @type {Record<string, number>} */
export const LIMITS = STORED.limits;
export const MOST = 1e21; // bytes, FLOPs a second, bytes a second

/** @type {Record<string, Scale.Model>} */
export const MODELS = STORED.models;
/** @type {Record<string, Scale.Data>} */
export const DATA = STORED.data;
/** @type {Record<string, Scale.Device>} */
export const DEVICES = STORED.devices;
const PER_PARAMETER = { weight: 2, gradient: 2, optimizer: 12 }; // for each parameter
const INTERRUPTIONS = 419 / (54 * 24 * 16_384); // unexpected, in a device-hour

/** @type {(a: object, b: object) => boolean} */
const same = (a, b) => {
  const numbers = new Map(Object.entries(a));
  return Object.entries(b).every(([name, value]) => numbers.get(name) === value);
};

/** The name of the preset whose numbers these are, if there is one.
 * @type {<P extends object>(presets: Record<string, P>, numbers: P) => string | undefined} */
export const nameOf = (presets, numbers) => Object.keys(presets).find((name) => same(presets[name], numbers));

const SHARE = 0.4; // of the peak, where a run is given by its name
/** The value of a trait that may be given by the name of a preset.
 * @type {(trait: string, value: any) => any} */
export function unnamed(trait, value) {
  if (typeof value !== "string") return value;
  if (trait === "model") return MODELS[value] ?? {};
  if (trait === "device") return DEVICES[value] ?? {};
  if (trait !== "training") return value;
  const { kept, ...data } = DATA[value] ?? {};
  return { ...data, share: SHARE };
}

/** @type {(run: Scale.Batch) => number} */
export const sequencesOf = ({ batch_tokens, model }) => Math.floor(batch_tokens / model.length);
/** @type {(run: Scale.Run) => number} */
export const stepsOf = (run) => Math.ceil(run.tokens / (sequencesOf(run) * run.model.length));
/** Sequences of the device that has most of a batch.
 * @type {(run: Scale.Run) => number} */
export const mostSequences = (run) => Math.ceil(sequencesOf(run) / run.devices);
/** As many devices as a batch can be split over.
 * @type {(run: Scale.Batch) => number} */
export const mostDevices = (run) => Math.min(sequencesOf(run), LIMITS.devices);

/** FLOPs of training for one token.
 * @type {(model: Scale.Model, kept: string) => number} */
export function flopsPerToken({ parameters, num_layers, embed_dim, length }, kept) {
  const passes = kept === "inputs" ? 4 : 3;
  return passes * (2 * parameters + 4 * (num_layers * embed_dim * length));
}

/** Bytes kept for the backward pass of so many sequences.
 * @type {(model: Scale.Model, sequences: number, kept: string) => number} */
export function activationsOf({ num_layers: L, embed_dim: C, num_heads: H, length: T }, sequences, kept) {
  const [rest, scores] = [34 * T * C, 5 * H * T * T];
  if (kept === "inputs") return sequences * (L * 2 * T * C + rest);
  return sequences * L * (rest + (kept === "everything" ? scores : 0));
}

/** Bytes of one device, by what they are for.
 * @type {(run: Scale.Run) => Record<string, number>} */
export function memoryOf(run) {
  const { devices: n, spread } = run;
  const { parameters: N, num_layers: L } = run.model;
  const states = spread === "sharded" ? n : 1;
  return {
    weights: (PER_PARAMETER.weight * N) / states,
    gradients: (PER_PARAMETER.gradient * N) / states,
    optimizer: (PER_PARAMETER.optimizer * N) / (spread === "copies" ? 1 : n),
    "one layer, whole": states > 1 ? ((PER_PARAMETER.weight + PER_PARAMETER.gradient) * N) / L : 0,
    activations: activationsOf(run.model, Math.min(run.at_once, mostSequences(run)), run.kept),
  };
}

/** @type {(run: Scale.Run) => boolean} */
export const fitsOn = (run) => total(memoryOf(run)) <= run.device.memory;

/** The fewest devices that the run fits on, spread as it is, or null; more never need more memory.
 * @type {(run: Scale.Run) => number | null} */
export function leastDevices(run) {
  let [low, high] = [1, mostDevices(run) + 1];
  const end = high;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (fitsOn({ ...run, devices: middle })) high = middle;
    else low = middle + 1;
  }
  return low < end ? low : null;
}

/** How often a device passes all weights, or as many gradients, on to the next in the ring.
 * @type {(run: Scale.Run) => number} */
export function passesOf(run) {
  return run.spread === "sharded" ? 3 * Math.ceil(mostSequences(run) / run.at_once) : 2;
}

/** Bytes that one device sends in a step.
 * @type {(run: Scale.Run) => number} */
export const trafficOf = (run) =>
  (passesOf(run) * PER_PARAMETER.gradient * run.model.parameters * (run.devices - 1)) / run.devices;

/** Bytes a second around the ring.
 * @type {(run: Scale.Run) => number} */
export function bandwidthOf({ device, devices }) {
  return devices <= device.per_machine ? device.within : Math.min(device.within, device.between);
}

/** Seconds of arithmetic and of talking in one step.
 * @param {Scale.Run} run */
export function stepTime(run) {
  const tokens = mostSequences(run) * run.model.length;
  return {
    arithmetic: (tokens * flopsPerToken(run.model, run.kept)) / (run.device.peak * run.share),
    talking: trafficOf(run) / bandwidthOf(run),
  };
}

/** Seconds of all steps.
 * @type {(run: Scale.Run) => Scale.Times} */
export function trainingTime(run) {
  const { arithmetic, talking } = stepTime(run);
  const steps = stepsOf(run);
  return { arithmetic: steps * arithmetic, talking: steps * talking };
}

/** The least and the most: both at once all the time, and one after the other.
 * @type {(times: Scale.Times) => Kit.Pair} */
export const bounds = ({ arithmetic, talking }) => [Math.max(arithmetic, talking), arithmetic + talking];

/** @type {(span: Kit.Pair, change: (one: number) => number) => Kit.Pair} */
const both = ([least, most], change) => [change(least), change(most)];

/** The shares of the time in which a device talks and does not compute, least and most.
 * @type {(times: Scale.Times) => Kit.Pair} */
export const lostTo = (took) => both(bounds(took), (all) => (all - took.arithmetic) / all);

/** @type {(run: Scale.Run) => Kit.Pair} */
export const deviceHours = (run) => both(bounds(trainingTime(run)), (one) => (run.devices / 3600) * one);
/** @type {(run: Scale.Run) => Kit.Pair} */
export const interruptionsOf = (run) => both(deviceHours(run), (hours) => hours * INTERRUPTIONS);

/** What limits a run.
 * @type {(run: Scale.Run) => "memory" | "network" | "batch" | "arithmetic"} */
export function limitOf(run) {
  if (!fitsOn(run)) return "memory";
  const { arithmetic, talking } = stepTime(run);
  if (talking > arithmetic) return "network";
  return 2 * run.devices > sequencesOf(run) ? "batch" : "arithmetic";
}

/** What limits the run on 1, 2, … devices: each limit from where it begins up to the next.
 * @type {(run: Scale.Run) => Scale.Zone[]} */
export function limitZones(run) {
  const [most, least] = [mostDevices(run), leastDevices(run) ?? Infinity];
  /** @type {Scale.Zone[]} */
  const zones = [];
  const one = { ...run };
  for (let n = 1; n <= most; n += 1) {
    one.devices = n;
    const { arithmetic, talking } = stepTime(one);
    const rest = 2 * n > sequencesOf(run) ? "batch" : "arithmetic";
    const limit = n < least ? "memory" : talking > arithmetic ? "network" : rest;
    if (zones.at(-1)?.limit !== limit) zones.push({ limit, from: n });
  }
  return zones;
}

/** Of each limit where it begins first, and whether it gives way to an earlier one again.
 * @type {(zones: Scale.Zone[]) => (Scale.Zone & { once: boolean })[]} */
export function limitStarts(zones) {
  const kinds = zones.map(({ limit }) => limit);
  return zones
    .filter(({ limit }, i) => kinds.indexOf(limit) === i)
    .map((zone) => ({ ...zone, once: kinds.lastIndexOf(zone.limit) === kinds.indexOf(zone.limit) }));
}

/** Published runs; a bound that was not reported is infinite.
 * @type {Scale.Published[]} */
export const PUBLISHED = STORED.published.map(({ name, quantity, reported, model, device, plan }) => {
  const [low, high] = reported.map((one) => one ?? Infinity);
  /** @type {Record<string, Scale.Model>} */
  const models = STORED.published_models;
  return { name, quantity, reported: [low, high], run: { model: models[model], device: DEVICES[device], ...plan } };
});

/** The least and the most that the calculator says of a published run.
 * @type {(published: Scale.Published) => Kit.Pair} */
export function predictedOf({ run, quantity }) {
  const time = trainingTime(run);
  if (quantity === "days") return both(bounds(time), (one) => one / 86_400);
  const one = quantity === "bytes" ? total(memoryOf(run)) : (run.devices * time.arithmetic) / 3600;
  return [one, one];
}

/** By which shares the least and the most lie outside what was reported.
 * @type {(published: Scale.Published) => Kit.Pair} */
export function missOf(published) {
  const [low, high] = published.reported;
  return both(predictedOf(published), (one) => one / Math.min(Math.max(one, low), high) - 1);
}

/**
 * Numbers of devices for a curve up to the most, in order and each once: about `count` of them, even on
 * a log axis, and where the device that has most of a batch has one sequence less than just before.
 * @type {(run: Scale.Run, count?: number) => number[]}
 */
export function deviceGrid(run, count = 120) {
  const [all, most] = [sequencesOf(run), mostDevices(run)];
  const even = times(count, (i) => Math.round(most ** (i / (count - 1))));
  const steps = times(40, (i) => Math.ceil(all / (i + 1))).flatMap((n) => [n - 1, n]);
  const inside = [...even, ...steps].filter((n) => n >= 1 && n <= most);
  return [...new Set(inside)].sort((a, b) => a - b);
}

/** On how many devices a run is first limited by the network, or null.
 * @type {(run: Scale.Run) => number | null} */
export function networkFrom(run) {
  const talks = (/** @type {number} */ devices) => limitOf({ ...run, devices }) === "network";
  const grid = deviceGrid(run);
  const place = grid.findIndex(talks);
  if (place < 0) return null;
  let first = place ? grid[place - 1] + 1 : 1;
  while (!talks(first)) first += 1;
  return first;
}
