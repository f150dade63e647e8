// What Scale has to say; no page is touched here.

import { total } from "../kit/geometry.mjs";
import { exact, inBytes, inWords, percent } from "../kit/amounts.mjs";
import { significant } from "../kit/parts/picture.mjs";
import {
  DEVICES,
  LIMITS,
  MODELS,
  MOST,
  bandwidthOf,
  bounds,
  deviceHours,
  fitsOn,
  flopsPerToken,
  interruptionsOf,
  leastDevices,
  limitOf,
  lostTo,
  memoryOf,
  missOf,
  mostDevices,
  mostSequences,
  nameOf,
  passesOf,
  predictedOf,
  sequencesOf,
  stepTime,
  stepsOf,
  trafficOf,
  trainingTime,
} from "./count.mjs";

/** @type {["model" | "training" | "device", string, string, string, number][]} */
const FIELD_ROWS = [
  ["model", "parameters", "Parameters, billions", "N", 1e9],
  ["model", "num_layers", "Layers", "L", 1],
  ["model", "embed_dim", "Channels", "C", 1],
  ["model", "num_heads", "Heads", "H", 1],
  ["model", "length", "Tokens in a sequence", "T", 1],
  ["training", "tokens", "Training tokens, billions", "", 1e9],
  ["training", "batch_tokens", "Tokens in a batch", "", 1],
  ["training", "at_once", "Sequences at once", "", 1],
  ["device", "memory", "Memory, GB", "", 1e9],
  ["device", "peak", "Peak, TFLOP/s", "", 1e12],
  ["training", "share", "Reached of the peak, %", "", 0.01],
  ["device", "within", "Within a machine, GB/s", "", 1e9],
  ["device", "between", "Out of a machine, GB/s", "", 1e9],
  ["device", "per_machine", "Devices in a machine", "", 1],
];
/** Of each field the trait that holds it, its name, its label, its letter, and how many of the number are one of the
 * field's. */
export const FIELDS = FIELD_ROWS.map(([trait, name, label, letter, unit]) => ({ trait, name, label, letter, unit }));
/** Of each part of the memory its mark, its name and its bytes, N being split or not.
 * @type {[mark: string, name: string, formula: string][]} */
export const PARTS = [
  ["weights", "weights", "2N"],
  ["gradients", "gradients", "2N"],
  ["optimizer", "optimizer", "12N"],
  ["layer", "one layer, whole", "4N / L"],
  ["activations", "activations", ""],
];
/** @type {Record<string, string>} */
const KEPT_FORMULAS = { everything: "LTC(34 + 5HT/C)", "no scores": "34LTC", inputs: "2LTC + 34TC" };
const LETTERS = "N parameters, L layers, C channels, H heads, T tokens in a sequence, n devices.";
/** @type {Record<string, string>} */
const SPREAD_WORDS = {
  copies: "every device holds everything",
  optimizer: "the optimizer is split over the devices",
  sharded: "weights, gradients and optimizer are split over the devices",
};
/** @type {[size: number, unit: string, least: number][]} */
const UNITS = [
  [1e-6, "µs", 1],
  [1e-3, "ms", 1],
  [1, "s", 1],
  [60, "minutes", 2],
  [3600, "hours", 2],
  [86_400, "days", 2],
  [31_557_600, "years", 10],
];

/** Three significant digits without a power of ten, with separators.
 * @type {(number: number) => string} */
export function rounded(number) {
  if (number >= 1e6) return number < 1e18 ? inWords(Math.round(number)) : significant(number);
  if (number === 0) return "0";
  if (number < 1e-3) return "less than 0.001";
  const digits = number.toPrecision(3);
  return Number(digits) >= 100 ? exact(Number(digits)) : digits;
}

/** A time in the largest unit of which it has enough.
 * @type {(seconds: number) => string} */
export function duration(seconds) {
  const [size, unit] = UNITS.findLast(([one, , least]) => seconds >= least * one) ?? UNITS[0];
  return `${rounded(seconds / size)} ${unit}`;
}

/** Millions from a tenth of one on.
 * @type {(hours: number) => string} */
const hoursText = (hours) => (hours >= 1e5 && hours < 1e6 ? `${(hours / 1e6).toPrecision(3)} million` : rounded(hours));

/** @type {(bytes: number) => string} */
export const bytesText = (bytes) => (bytes < 1e17 ? inBytes(Math.round(bytes)) : `${significant(bytes / 1e15)} PB`);

/** From the least to the most, once where both read the same.
 * @type {(span: Kit.Pair, text: (number: number) => string) => string} */
export function range([least, most], text) {
  const [low, high] = [text(least), text(most)];
  if (low === high) return low;
  const [[number, ...unit], [, ...other]] = [low, high].map((one) => one.split(" "));
  return `${unit.join() === other.join() ? number : low} to ${high}`;
}

/** @type {(number: number, noun: string) => string} */
export const many = (number, noun) => `${exact(number)} ${noun}${number === 1 ? "" : "s"}`;

/** The number that a field shows of a trait's, and the trait's of what is typed.
 * @type {(field: Pick<Scale.Field, "unit">, number: number) => number} */
export const shownNumber = ({ unit }, number) => Number((number / unit).toPrecision(12));
/** @type {(field: Pick<Scale.Field, "name" | "unit">, text: string) => number} */
export function typedNumber({ name, unit }, text) {
  const value = unit < 1 ? Number(text) / Math.round(1 / unit) : Number(text) * unit;
  return name in LIMITS && unit > 1 ? Math.round(value) : value;
}

/** What is wrong with a field's text, if anything is.
 * @type {(field: Pick<Scale.Field, "name" | "label" | "unit">, text: string) => string} */
export function fieldProblem(field, text) {
  const { name, label, unit } = field;
  const value = typedNumber(field, text);
  const asked = label.split(",")[0];
  const whole = LIMITS[name];
  if (name === "share") {
    return text !== "" && value > 0 && value <= 1 ? "" : `${asked}: expected a share above 0 and up to 100 %.`;
  }
  if (whole && unit === 1) {
    const good = Number.isInteger(value) && value >= 1 && value <= whole;
    return good ? "" : `${asked}: expected a whole number from 1 to ${exact(whole)}.`;
  }
  const most = whole ?? MOST;
  return value >= 1 && value <= most ? "" : `${asked}: expected a number above 0, up to ${rounded(most / unit)}.`;
}

/** What is wrong with a number of devices, if anything is.
 * @type {(run: Scale.Run, text: string) => string} */
export function devicesProblem(run, text) {
  const problem = fieldProblem({ name: "devices", label: "Devices", unit: 1 }, text);
  const count = sequencesOf(run);
  if (problem || Number(text) <= count) return problem;
  return (
    `A batch of ${many(count, "sequence")} cannot be split over ${exact(Number(text))} devices: `
    + "take fewer devices or a larger batch."
  );
}

/** What is wrong with a run that is set from elsewhere, as if it were typed.
 * @type {(run: Scale.Run) => string} */
export function runProblem(run) {
  const groups = { model: run.model, training: run, device: run.device };
  for (const field of FIELDS) {
    const value = new Map(Object.entries(groups[field.trait])).get(field.name);
    const text = typeof value === "number" ? String(shownNumber(field, value)) : "";
    const wrong = fieldProblem(field, text);
    if (wrong) return wrong;
  }
  if (!(run.spread in SPREAD_WORDS)) return `A run is held as ${Object.keys(SPREAD_WORDS).join(", ")}.`;
  if (!(run.kept in KEPT_FORMULAS)) return `What is kept is one of ${Object.keys(KEPT_FORMULAS).join(", ")}.`;
  return batchProblem(run) || devicesProblem(run, String(run.devices));
}

/** What is wrong with the batch of a run that may have none, if anything is.
 * @type {(run: Scale.Batch) => string} */
export function batchProblem({ model, batch_tokens }) {
  if (batch_tokens >= model.length) return "";
  return `A batch of ${exact(batch_tokens)} tokens has no whole sequence of ${exact(model.length)}.`;
}

/** What is said when another choice has changed the number of devices.
 * @type {(now: number, wanted: number) => string} */
export const changedText = (now, wanted) =>
  now < wanted
    ? `${many(now, "device")}, not ${exact(wanted)}: a batch has no more sequences.`
    : `${many(now, "device")} again.`;

/** What follows from a good number of devices.
 * @type {(run: Scale.Run) => string} */
export function splitText(run) {
  const [all, most] = [sequencesOf(run), mostSequences(run)];
  const machines = Math.ceil(run.devices / run.device.per_machine);
  const each = all % run.devices ? `up to ${many(most, "sequence")}` : many(most, "sequence");
  return `${many(machines, "machine")}; of the ${many(all, "sequence")} in a batch, ${each} for each device.`;
}

/** @type {(run: Scale.Run) => string} */
function memoryLimit(run) {
  const [need, has] = [total(memoryOf(run)), run.device.memory];
  const least = leastDevices(run);
  const other = run.spread === "sharded" ? null : leastDevices({ ...run, spread: "sharded" });
  const start = `Memory limits this run: a device needs ${bytesText(need)} and has ${bytesText(has)}.`;
  if (least !== null) return `${start} From ${many(least, "device")} on, it fits.`;
  if (other !== null) return `${start} Sharded, it fits from ${many(other, "device")} on.`;
  const thrifty = leastDevices({ ...run, spread: "sharded", kept: "inputs", at_once: 1 });
  if (thrifty === null) return `${start} The model would have to be split too, which is not counted here.`;
  const steps = [
    run.spread === "sharded" ? "" : "sharded",
    run.at_once === 1 ? "" : "one sequence at once",
    run.kept === "inputs" ? "" : "only the layers’ inputs kept",
  ]
    .filter(Boolean)
    .join(", ");
  return `${start} It fits from ${many(thrifty, "device")} on with: ${steps}.`;
}

/** What limits the run, in one sentence or two.
 * @type {(run: Scale.Run) => string} */
export function limitText(run) {
  const limit = limitOf(run);
  if (limit === "memory") return memoryLimit(run);
  const { arithmetic, talking } = stepTime(run);
  if (limit === "network") {
    return `The network limits this run: communication takes ${rounded(talking / arithmetic)} times as long as the arithmetic, even if both go on at once.`;
  }
  if (limit === "batch") {
    return `The batch limits this run: its ${many(sequencesOf(run), "sequence")} are too few for twice the devices.`;
  }
  const twice = bounds(stepTime({ ...run, devices: 2 * run.devices }))[0] / Math.max(arithmetic, talking);
  return `The arithmetic limits this run: twice the devices take ${percent(twice)} of the time.`;
}

/** A sentence on the limit in three parts: what limits, by how much, which the page folds, and what helps.
 * @type {(text: string) => [head: string, detail: string, rest: string]} */
export function limitParted(text) {
  const [, head, detail, rest] = /** @type {RegExpMatchArray} */ (text.match(/^([^:]*)(: .*?)(\.(?: [A-Z].*)?)$/));
  return [head, detail, rest];
}

/** Whether the run fits, and how long it takes, with and without overlap.
 * @type {(run: Scale.Run) => string} */
export function answerText(run) {
  if (!fitsOn(run)) return "It does not fit.";
  return `It fits, and takes ${range(bounds(trainingTime(run)), duration)}.`;
}

/** What is said where the answer shown is not to what is typed.
 * @type {(run: Scale.Run) => string} */
export const stillText = (run) => `The answer is still for ${many(run.devices, "device")}.`;

/** Of a limit from where on it is the first.
 * @type {(start: Scale.Zone & { once: boolean }) => string} */
export function limitLabel({ limit, from, once }) {
  if (from === 1) return limit;
  return `${limit} ${once ? "from" : "first at"} ${exact(from)}`;
}

/** @type {(starts: (Scale.Zone & { once: boolean })[]) => string} */
export function zonesText(starts) {
  const [first, ...rest] = starts.map((start) => limitLabel(start));
  return rest.length ? `Limited by ${first}, then ${rest.join(", ")} devices` : `Always limited by ${first}`;
}

/** The figures: a name and a text each.
 * @type {(run: Scale.Run) => [string, string][]} */
export const figures = (run) => [
  ["Whole run", range(bounds(trainingTime(run)), duration)],
  ["One step", range(bounds(stepTime(run)), duration)],
  ["Time lost to communication", range(lostTo(stepTime(run)), percent)],
  ["Device-hours", range(deviceHours(run), hoursText)],
  ["Interruptions", range(interruptionsOf(run), rounded)],
];

/** @type {(run: Scale.Run) => [string, string]} */
export function memoryTitle(run) {
  const need = total(memoryOf(run));
  const verdict = need <= run.device.memory ? "fits" : "does not fit";
  return [`${bytesText(need)}`, `of ${bytesText(run.device.memory)}: it ${verdict}`];
}

/** The fewest devices that are enough.
 * @type {(run: Scale.Run) => string} */
export function leastText(run) {
  const least = leastDevices(run);
  const most = mostDevices(run);
  const fit =
    least === null
      ? `It fits on no number of devices up to ${exact(most)}, spread as it is.`
      : `It fits from ${many(least, "device")} on, spread as it is.`;
  return `${fit} ${LETTERS}`;
}

/** The formula of a part of the memory, as the run is spread.
 * @type {(run: Scale.Run, part: [mark: string, name: string, formula: string]) => string} */
export function partFormula(run, [mark, , formula]) {
  if (mark === "activations") {
    const count = Math.min(run.at_once, mostSequences(run));
    return `${count === 1 ? "" : `${exact(count)} × `}${KEPT_FORMULAS[run.kept]}`;
  }
  if (mark === "layer") return run.spread === "sharded" && run.devices > 1 ? formula : "–";
  const split = run.spread === "sharded" || (run.spread === "optimizer" && mark === "optimizer");
  return split ? `${formula} / n` : formula;
}

/** How each figure is counted: its name, its value, its formula and where that is from.
 * @type {(run: Scale.Run) => [string, string, string, string][]} */
export function countedRows(run) {
  const { arithmetic, talking } = stepTime(run);
  const [passes, again] = [run.kept === "inputs" ? 8 : 6, passesOf(run) / 3];
  const times = run.spread === "sharded" ? `${again === 1 ? "" : `${exact(again)} × `}3(n − 1)/n` : "2(n − 1)/n";
  return [
    [
      "FLOPs of a token",
      significant(flopsPerToken(run.model, run.kept)),
      `${passes}N + ${2 * passes}LCT`,
      run.kept === "inputs" ? "Narayanan et al. 2021, eq. 3" : "Kaplan et al. 2020; PaLM 2022, app. B",
    ],
    ["Arithmetic of a step", duration(arithmetic), "tokens of a device × FLOPs / (peak × share)", "PaLM 2022, app. B"],
    [
      "Sent by a device",
      bytesText(trafficOf(run)),
      `${times} × 2N`,
      run.spread === "copies" ? "Patarasuk and Yuan 2009" : "ZeRO 2020, section 7",
    ],
    ["Bandwidth of the ring", `${bytesText(bandwidthOf(run))}/s`, "its slowest part", "NCCL tests, PERFORMANCE.md"],
    ["Communication of a step", duration(talking), "sent / bandwidth", "NCCL tests, PERFORMANCE.md"],
    ["Steps", exact(stepsOf(run)), "tokens / tokens of a batch", ""],
    [
      "Interruptions",
      range(interruptionsOf(run), rounded),
      "419 in 54 days on 16,384 devices",
      "Llama 3 2024, section 3.3.4",
    ],
  ];
}

/** @type {Record<string, (number: number) => string>} */
const QUANTITIES = {
  "device-hours": (number) => `${rounded(number)} hours`,
  days: (number) => `${Number.isInteger(number) ? exact(number) : rounded(number)} days`,
  bytes: bytesText,
};

/** A published run: what the calculator says, what was reported, and the miss.
 * @type {(published: Scale.Published) => { said: string; reported: string; miss: string }} */
export function publishedRow(published) {
  const text = QUANTITIES[published.quantity];
  const [low, high] = published.reported;
  const reported = low === high ? text(low) : `${low > 0 ? "more than" : "at most"} ${text(low > 0 ? low : high)}`;
  const misses = missOf(published);
  /** @type {(one: number) => string} */
  const signed = (one) => `${one < 0 ? "−" : "+"}${Math.round(Math.abs(100 * one))} %`;
  return {
    said: range(predictedOf(published), text),
    reported,
    miss: misses.every((one) => Math.abs(one) < 0.005) ? "none" : range(misses, signed),
  };
}

/** All settings in words.
 * @type {(run: Scale.Run) => string} */
export function settingText(run) {
  const { model, device } = run;
  const name = nameOf(MODELS, model) ?? `N = ${rounded(model.parameters)}`;
  const what = nameOf(DEVICES, device) ?? `devices of ${rounded(device.peak / 1e12)} TFLOP/s`;
  return (
    `${name} on ${exact(run.devices)} × ${what}; ${SPREAD_WORDS[run.spread]}; ${rounded(run.tokens)} tokens, `
    + `${exact(run.batch_tokens)} in a batch; ${percent(run.share)} of the peak.`
  );
}

/** The memory in words, for those who do not see the bar.
 * @type {(run: Scale.Run) => string} */
export function memoryLabel(run) {
  const parts = memoryOf(run);
  const each = PARTS.map(([, name]) => `${name} ${bytesText(parts[name])}`).join(", ");
  return `Memory of one device, ${memoryTitle(run).join(" ")}: ${each}.`;
}
