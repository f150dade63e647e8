// What TrainStack has to say, the settings that it knows, and its links; no page is touched here.

import { clamp } from "../kit/geometry.mjs";
import { LOOKED_BACK, MAX_STEPS, TASKS } from "./course.mjs";
import { BENDS, WIRINGS } from "./net.mjs";
import { rateText, significant } from "../kit/parts/picture.mjs";

export const TASK_NAMES = Object.entries({ short: "Short spirals", long: "Long spirals" });
export const WIRING_NAMES = Object.entries({
  plain: "Plain",
  residual: "Residual",
  "pre-norm": "Pre-norm",
  "post-norm": "Post-norm",
});
export const BEND_NAMES = Object.entries({ relu: "ReLU", gelu: "GELU", silu: "SiLU" });
export const MAX_DEPTH = 40;
export const MAX_SEED = 99;
export const GAINS = [0.5, 0.7, 0.85, 1, 1.2, 1.4, 1.7, 2, 2.4, 2.8, 3.3, 4];
export const RATES = [-4, -3, -2, -1]
  .flatMap((power) => [1, 1.5, 2, 3, 5, 7].map((digit) => Number(`${digit}e${power}`)))
  .concat(1);
/** @type {TrainStack.Setting} */
export const DEFAULT = { wiring: "residual", depth: 20, activation: "relu", gain: 1, rate: 0.003, seed: 0 };
const LINK = "#stack=";
const GUESSING = Math.LN2;
const BY_HEART = 0.1; // loss

/** @type {(low: number, high: number) => TrainStack.Fits} */
const isWhole = (low, high) => (value) => Number.isInteger(value) && Number(value) >= low && Number(value) <= high;
/** @type {(high: number) => TrainStack.Fits} */
const isAbove0 = (high) => (value) => Number.isFinite(value) && Number(value) > 0 && Number(value) <= high;
/** @type {Record<keyof TrainStack.Setting, [fits: TrainStack.Fits, what: string]>} */
const RULES = {
  wiring: [(value) => Object.hasOwn(WIRINGS, String(value)), `one of ${Object.keys(WIRINGS).join(", ")}`],
  depth: [isWhole(1, MAX_DEPTH), `a whole number from 1 to ${MAX_DEPTH}`],
  activation: [(value) => Object.hasOwn(BENDS, String(value)), `one of ${Object.keys(BENDS).join(", ")}`],
  gain: [isAbove0(10), "above 0 and at most 10"],
  rate: [isAbove0(10), "above 0 and at most 10"],
  seed: [isWhole(0, MAX_SEED), `a whole number from 0 to ${MAX_SEED}`],
};

const NAMES = /** @type {(keyof TrainStack.Setting)[]} */ (Object.keys(RULES));

/** A setting as the traits have it; what no page can use is as in the default.
 * @type {(given: object) => TrainStack.Setting} */
export function settingOf(given) {
  const found = new Map(Object.entries(given ?? {}));
  const chosen = NAMES.map((name) => [name, RULES[name][0](found.get(name)) ? found.get(name) : DEFAULT[name]]);
  return Object.fromEntries(chosen);
}

/** The address of a task and one setting or two: `#stack=short;plain,20,relu,1,0.003,0`.
 * @type {(task: string, settings: TrainStack.Setting[]) => string} */
export function linkOf(task, settings) {
  const lists = settings.map((one) => NAMES.map((name) => one[name]).join(","));
  return LINK + [task, ...lists].join(";");
}

/** @type {(text: string) => TrainStack.Setting} */
function settingIn(text) {
  const given = text.split(",");
  if (given.length !== NAMES.length) {
    throw new Error(`a setting has ${NAMES.length} parts (${NAMES.join(", ")}), not ${given.length}`);
  }
  const values = NAMES.map((name, i) => {
    const value = ["wiring", "activation"].includes(name) ? given[i] : Number(given[i] || NaN);
    const [fits, what] = RULES[name];
    if (!fits(value)) throw new Error(`its ${name} must be ${what}, not “${given[i].slice(0, 20)}”`);
    return [name, value];
  });
  return Object.fromEntries(values);
}

/** What an address's hash asks for; undefined for another hash. Throws where there is no such thing.
 * @type {(hash: string) => { task: string; settings: TrainStack.Setting[] } | undefined} */
export function linkedSettings(hash) {
  if (!hash.startsWith(LINK)) return undefined;
  const [task, ...lists] = hash.slice(LINK.length).split(";");
  if (!Object.hasOwn(TASKS, task)) {
    throw new Error(`its task must be one of ${Object.keys(TASKS).join(", ")}, not “${task.slice(0, 20)}”`);
  }
  if (lists.length < 1 || lists.length > 2) throw new Error("it must have one setting or two");
  return { task, settings: lists.map(settingIn) };
}

const SIDES = ["Left", "Right"];
/** @type {(names: [string, string][], key: string) => string} */
const nameOf = (names, key) => names.find(([one]) => one === key)?.[1] ?? key;
/** @type {(depth: number) => string} */
const blocks = (depth) => `${depth} block${depth === 1 ? "" : "s"}`;
/** @type {(gain: number) => string} */
export const gainText = (gain) => String(Number(gain.toPrecision(4)));

/** The name of a side, where there are two.
 * @type {(state: { sides: unknown[] }, i: number) => string} */
export const sideName = ({ sides }, i) => (sides.length > 1 ? `${SIDES[i]} stack` : "Stack");

/** A stack in a few words.
 * @type {(setting: TrainStack.Setting) => string} */
export const stackText = ({ wiring, depth }) => `${nameOf(WIRING_NAMES, wiring)}, ${blocks(depth)}`;

/** @type {[keyof TrainStack.Setting, (setting: TrainStack.Setting) => string][]} */
const FOLDED = [
  ["activation", ({ activation }) => nameOf(BEND_NAMES, activation)],
  ["gain", ({ gain }) => `gain\u00a0×\u00a0${gainText(gain)}`],
  ["rate", ({ rate }) => `rate\u00a0${rateText(rate)}`],
  ["seed", ({ seed }) => `seed\u00a0${seed}`],
];

/** The title of a stack: its wiring, its blocks, and all that is unusual in it or not as in the other.
 * @type {(sides: { setting: TrainStack.Setting }[], i: number) => string} */
export function titleText(sides, i) {
  const { setting } = sides[i];
  const told = FOLDED.filter(([name]) =>
    [DEFAULT, ...sides.map((side) => side.setting)].some((other) => other[name] !== setting[name]),
  );
  const text = [stackText(setting), ...told.map(([, say]) => say(setting))].join(", ");
  return sides.length > 1 ? `${SIDES[i]}: ${text}` : text;
}

/** The whole setting, for paper and for listeners.
 * @type {(state: { task: string; sides: { setting: TrainStack.Setting }[] }) => string} */
export function settingText({ task, sides }) {
  /** @type {(side: { setting: TrainStack.Setting }, i: number) => string} */
  const one = ({ setting }, i) =>
    `${sides.length > 1 ? `${SIDES[i]}: ` : ""}${stackText(setting)}, ${nameOf(
      BEND_NAMES,
      setting.activation,
    )}, gain ${gainText(setting.gain)}, learning rate ${rateText(setting.rate)}, seed ${setting.seed}.`;
  return [`${nameOf(TASK_NAMES, task)}.`, ...sides.map(one)].join(" ");
}

/** @type {Record<string, string>} */
const SAID = { depth: "blocks", rate: "learning rate" };

/** In what two settings differ.
 * @type {(sides: { setting: TrainStack.Setting }[]) => string} */
export function differenceText(sides) {
  if (sides.length < 2) return "";
  const [a, b] = sides.map(({ setting }) => setting);
  const differing = NAMES.filter((name) => a[name] !== b[name]);
  const names = differing.map((name) => SAID[name] ?? name);
  if (!names.length) return "The two stacks are the same.";
  const last = names.pop();
  const all = names.length ? `${names.join(", ")} and ${last}` : last;
  return `The two stacks differ ${names.length ? "" : "only "}in ${all}.`;
}

/** @type {(loss: number) => string} */
export const lossText = (loss) => (!Number.isFinite(loss) ? "too large" : significant(loss));
/** @type {(share: number) => string} */
export const shareText = (share) => `${Math.round(100 * share)} %`;

/** What has become of a stack.
 * @type {(look: TrainStack.Look) => string} */
export function verdict({ step, lost, sizes, right, recent }) {
  if (lost && !step) {
    return "The loss is too large before the first step. Try a smaller gain.";
  }
  if (lost) {
    return `Diverged at step ${step}: the loss is too large. Try a smaller learning rate.`;
  }
  if (!step) {
    const [first] = sizes.gradient;
    return `No step yet. Gradient of block 1: ${significant(first)}.`;
  }
  if (step < LOOKED_BACK) return "";
  if (right < 0.75 && recent < BY_HEART) return "It knows its own points by heart, and not the spirals.";
  if (recent > 2 * GUESSING) return "The loss is far above that of guessing.";
  if (right < 0.6) return recent > 0.67 ? "No better than guessing." : "";
  if (right < 0.75) return "A little better than guessing.";
  return right >= 0.95 ? "It has learned the spirals." : "It has learned part of the spirals.";
}

/** @type {(state: { sides: unknown[] }, look: TrainStack.Look, i: number) => string} */
const statusOf = (state, look, i) =>
  `${sideName(state, i)}: loss ${lossText(look.loss)}, ${shareText(look.right)} of new points right. ${verdict(look)}`;

/** What is shown of every stack; none as long as one of them has not been looked at.
 * @type {(state: { sides: { seen: TrainStack.Look | null }[] }) => TrainStack.Look[]} */
export function looksAt({ sides }) {
  const looks = sides.flatMap(({ seen }) => seen ?? []);
  return looks.length < sides.length ? [] : looks;
}

/** The step that is shown.
 * @type {(state: { sides: { seen: TrainStack.Look | null }[]; done: number }) => number} */
export function shownStep(state) {
  const looks = looksAt(state);
  return looks.length ? Math.max(...looks.map(({ step }) => step)) : state.done;
}

/** Where the training stands, for listeners.
 * @type {(state: { sides: { seen: TrainStack.Look | null }[]; done: number }) => string} */
export function sentenceOf(state) {
  const looks = looksAt(state);
  return [`Step ${shownStep(state)}.`, ...looks.map((look, i) => statusOf(state, look, i))].join(" ");
}

/** What two axes span: steps up to a round number.
 * @type {(done: number) => number} */
export function lastStep(done) {
  return [50, 100, 200, 500, 1000, 2000, MAX_STEPS].find((end) => end >= done) ?? MAX_STEPS;
}

/** The powers of ten of some sizes; NaN for what has none.
 * @type {(list: number[]) => number[]} */
export const powersOf = (list) => list.map((one) => (one > 0 && Number.isFinite(one) ? Math.log10(one) : NaN));

/** Whole powers of ten around some lists of powers, at least two apart.
 * @type {(lists: number[][]) => Kit.Pair} */
export function powerSpan(lists) {
  const found = lists.flat().filter((one) => !Number.isNaN(one));
  if (!found.length) return [-1, 1];
  const low = Math.floor(Math.min(...found));
  return [low, Math.max(Math.ceil(Math.max(...found)), low + 2)];
}

/** @type {(value: number) => number} */
export const stepsOf = (value) => clamp(Math.round(value) || 0, 0, MAX_STEPS);
