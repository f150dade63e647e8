// What a descent has to say, in words and numbers; no page is touched here.

import { fixed } from "../kit/geometry.mjs";
import { rateText, significant } from "../kit/parts/picture.mjs";
import { nextMove, valley } from "./steps.mjs";

export const RULE_NAMES = Object.entries({ plain: "Plain", momentum: "Momentum", adam: "Adam" });
/** @type {Kit.Pair[]} */
export const LIMITS = [
  [-1, 7],
  [-3, 5],
]; // of the two weights
const NEARLY = 1e-9;
const LOOKED_BACK = 20; // steps
const HARDLY = 0.01; // of the loss, within those steps

/** Four decimals, or three digits and a power of ten where those would say little.
 * @type {(value: number) => string} */
export function numberText(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "too large";
  return value && !(size >= 0.001 && size < 1e3) ? significant(value) : fixed(value, 4);
}

/** @type {(value: number) => string} */
const bracketed = (value) => (value < 0 ? `(${numberText(value)})` : numberText(value));

/** What stands over the picture: names and numbers.
 * @type {(state: Descent.Said) => [string, string][]} */
export function numbersOf({ view, now }) {
  const [step, loss, slope] = [String(now.done), numberText(now.loss), numberText(now.slope[0])];
  const [w1, w2] = [...now.weights].map(numberText);
  const all = { network: { step, loss }, two: { step, "w₁": w1, "w₂": w2, loss }, one: { step, w: w1, loss, slope } };
  return Object.entries(all[/** @type {keyof typeof all} */ (view)] ?? all.one);
}

/** @type {(now: Descent.Now) => number} */
function change({ losses, done }) {
  const ratio = losses[done] / losses[done - 1] - 1;
  return Math.abs(ratio) < NEARLY ? 0 : Math.sign(ratio);
}

/** Whether the last step went across the lowest place, to where the slope points the other way.
 * @type {(now: Descent.Now) => boolean} */
function crossed({ slopes, done }) {
  return slopes[done].reduce((sum, one, i) => sum + one * slopes[done - 1][i], 0) < 0;
}

/** @type {(state: Descent.Said) => string} */
function firstWords({ view, now }) {
  if (view === "network") return "No step yet: the weights are random.";
  if (view === "two") {
    return now.rule === "adam"
      ? "No step yet. Adam’s first step moves each weight by the learning rate."
      : "No step yet. The first goes straight down, at a right angle to the line of equal loss.";
  }
  const way = now.slope[0] < 0 ? "larger" : "smaller";
  return now.slope[0] === 0
    ? "The slope is 0: no step would move w."
    : `No step yet. The slope is ${numberText(now.slope[0])}, so the loss falls towards ${way} w.`;
}

/** @type {(now: Descent.Now) => string} */
const flatText = ({ rule }) => `The ground is nearly flat here${rule === "plain" ? ", so steps are tiny" : ""}.`;

/** @type {(now: Descent.Now) => string} */
function oneInWords(now) {
  const rose = change(now);
  if (Math.abs(now.slope[0]) < 1e-3) return flatText(now);
  if (!crossed(now)) {
    return rose > 0
      ? "The last step went uphill, carried on by the steps before it."
      : "The last step went downhill and stayed on its side of the minimum.";
  }
  if (rose > 0) return "The last step overshot the minimum and landed higher than it began.";
  return rose < 0
    ? "The last step overshot the minimum, but landed lower than it began."
    : "The last step overshot the minimum and landed as high as it began.";
}

/** @type {(now: Descent.Now) => string} */
function twoInWords(now) {
  const [last, before] = [now.trail[now.done], now.trail[now.done - 1]];
  const moved = last.map((one, i) => one - before[i]);
  /** @type {(axis: Kit.Pair) => number} */
  const part = (axis) => Math.abs((axis[0] * moved[0] + axis[1] * moved[1]) / Math.hypot(...axis));
  const { across, along } = valley(1);
  const rose = change(now);
  if (Math.hypot(...now.slope) < 1e-3) return flatText(now);
  if (crossed(now)) {
    return rose < 0
      ? "The last step crossed the valley and landed lower on its other side."
      : `The last step overshot: it crossed the valley and landed ${rose ? "higher" : "as high"}.`;
  }
  if (rose > 0) return "The last step went uphill, carried on by the steps before it.";
  return part(along) > 2 * part(across)
    ? "The last step went along the valley, where the slope is small."
    : "The last step went down towards the floor of the valley.";
}

/** @type {(now: Descent.Now) => string} */
function networkInWords({ losses, done, rule }) {
  const from = Math.max(0, done - LOOKED_BACK);
  const rises = losses.slice(from + 1).filter((loss, i) => loss > losses[from + i]).length;
  const overshot = rises && rule === "plain" ? ", which overshot" : "";
  const span = `from ${numberText(losses[from])} to ${numberText(losses[done])}`;
  const ratio = losses[done] / losses[from] - 1;
  if (done === 1) return `The loss ${rises ? "rose" : "fell"} at the first step${overshot}, ${span}.`;
  const last = `the last ${done - from} steps`;
  if (Math.abs(ratio) < HARDLY) {
    const still = Math.max(...losses.slice(from)) / losses[from] - 1 < HARDLY;
    if (still) return `The loss hardly moves: ${span} in ${last}.`;
  }
  if (!rises) return `The loss fell at each of ${last}, ${span}.`;
  const way = Math.abs(ratio) < HARDLY ? "went up and down," : ratio < 0 ? "fell" : "rose";
  return `The loss ${way} ${span} in ${last}: it rose at ${rises} of them${overshot}.`;
}

/** What the last step did.
 * @type {(state: Descent.Said) => string} */
export function verdict({ view, now }) {
  if (now.refused) return `A learning rate of ${now.rate} moves no weight down. It must be above 0.`;
  if (now.lost) {
    return `Diverged at step ${now.done}: the loss is too large to follow. A smaller learning rate helps.`;
  }
  if (!now.done) return firstWords({ view, now });
  if (view === "network") return networkInWords(now);
  return view === "two" ? twoInWords(now) : oneInWords(now);
}

/** Where the descent stands, for the edge of a picture that does not hold it.
 * @type {(now: Descent.Now) => string} */
export function outsideText({ done, weights }) {
  const names = weights.length > 1 ? ["w₁", "w₂"] : ["w"];
  return `step ${done}: ${names.map((name, i) => `${name} = ${significant(weights[i])}`).join(", ")}`;
}

/** The arithmetic of the next step of one weight, in lines.
 * @type {(state: Descent.Said) => string[]} */
export function nextLines({ view, now }) {
  if (view !== "one" || now.lost || now.refused) return [];
  const [w] = now.weights;
  const { move, before } = nextMove(now);
  const velocity = `velocity = 0.9 × ${bracketed(before)} + ${bracketed(now.slope[0])} = ${numberText(move)}`;
  const direction = `direction = mean slope / root of the mean square = ${numberText(move)}`;
  /** @type {Record<string, [name: string, first: string[]]>} */
  const rules = { plain: ["slope", []], momentum: ["velocity", [velocity]], adam: ["direction", [direction]] };
  const [name, first] = rules[now.rule];
  const [head, ...tail] = [
    ...first,
    `w − rate × ${name} = ${numberText(w)} − ${rateText(now.rate)} × ${bracketed(
      move,
    )} = ${numberText(w - now.rate * move)}`,
  ];
  return [`Next: ${head}`, ...tail];
}

/** The setting, for paper and for listeners.
 * @type {(state: Descent.Begun) => string} */
export function settingText({ view, now, start, neurons, activation, seed }) {
  const name = RULE_NAMES.find(([rule]) => rule === now.rule)?.[1];
  const [w1, w2] = start.map((one) => fixed(one, 2));
  const from = {
    one: `from w = ${w1}`,
    two: `from w₁ = ${w1}, w₂ = ${w2}`,
    network: `of a network with ${neurons} neurons, activation ${activation}, seed ${seed}`,
  }[view];
  return `${name} steps at rate ${rateText(now.rate)}, ${from}.`;
}

/** @type {(state: Descent.Said) => string} */
export function sentenceOf(state) {
  const numbers = numbersOf(state)
    .map((pair) => pair.join(" "))
    .join(", ");
  return `${numbers}. ${verdict(state)}`;
}
