// What TrainGPT has to say; no page is touched here.

import { exact } from "../kit/amounts.mjs";
import { fixed, meanOf } from "../kit/geometry.mjs";

export const SIZE_NAMES = /** @type {[TrainGPT.Size, string][]} */ (
  Object.entries({ small: "2 blocks × 64", large: "4 blocks × 128" })
);
export const PIECE_NAMES = /** @type {[TrainGPT.Kind, string][]} */ (
  Object.entries({ characters: "Characters", words: "Words" })
);
export const SOURCE_NAMES = /** @type {[TrainGPT.Source, string][]} */ (
  Object.entries({ given: "Harbour stories", own: "Your own text" })
);
/** Of each size: blocks, channels, heads, and rows of a batch.
 * @type {Record<TrainGPT.Size, { layers: number; width: number; heads: number; batch: number }>} */
export const SIZES = {
  small: { layers: 2, width: 64, heads: 4, batch: 8 },
  large: { layers: 4, width: 128, heads: 4, batch: 12 },
};
export const LENGTH = 64; // positions
export const RATES = [0.0005, 0.001, 0.002, 0.003, 0.006, 0.01, 0.02, 0.05, 0.1, 0.3, 1];
export const STEPS = [200, 500, 1000, 2000, 5000, 10000];
export const MAX_SEED = 99;
const [GOOD_RATE, TOO_HIGH] = [0.006, 0.05];
const [RISEN, NEARLY] = [0.03, 0.1]; // nats
const AROUND = 50; // steps of a mean

/** A duration: "about 20 s", "about 3 min".
 * @type {(ms: number) => string} */
export function about(ms) {
  const seconds = ms / 1000;
  if (seconds < 10) return `about ${Math.max(1, Math.round(seconds))} s`;
  return seconds < 95 ? `about ${5 * Math.round(seconds / 5)} s` : `about ${Math.round(seconds / 60)} min`;
}

/** What is said of a text that can be learnt from.
 * @type {(text: TrainGPT.Prepared) => string} */
export function textLine({ learn, held, tokenizer, note }) {
  const count = exact(learn.length + held.length);
  const piece = tokenizer.kind;
  const parts = `${count} ${piece}, ${exact(tokenizer.tokens.length)} different; the last tenth is held out.`;
  return [note, parts].filter(Boolean).join(" ");
}

/** Where a run stands; of one that did not begin at the first step, how many steps it has.
 * @type {(state: Pick<TrainGPT.State, "step" | "from" | "until" | "phase" | "perStep">) => string} */
export function stepLine({ step, from, until, phase, perStep }) {
  const left = phase === "running" && perStep ? `, ${about((until - step) * perStep)} left` : "";
  const run = from ? ` (this run: ${exact(until - from)})` : "";
  return `step ${exact(step)} of ${exact(until)}${run}${left}`;
}

/** A sentence on a rate with which no model of these sizes learns well.
 * @type {(rate: number) => string} */
export function rateWarning(rate) {
  return rate >= TOO_HIGH ? `A learning rate of ${rate} is far too high: try ${GOOD_RATE}.` : "";
}

/** Why there is no text of the model yet. That an opened model needs a text is said beside it.
 * @type {(state: Pick<TrainGPT.State, "phase" | "prepared" | "opened">) => string} */
export function nothingYet({ phase, prepared, opened }) {
  if (phase === "running" || phase === "stopping") return "Nothing yet. The first text comes in a moment.";
  if (opened && !prepared) return "Nothing yet.";
  if (!prepared) return "Nothing yet. It needs a text to learn from.";
  return `Nothing yet. Press ${phase === "new" ? "Train" : "Train on"}.`;
}

/** Where the held-out loss was lowest, if it has risen since.
 * @type {(held: TrainGPT.Trained["held"]) => { step: number; loss: number } | null} */
function risenSince(held) {
  const lowest = held.reduce((best, one) => (one[1] < best[1] ? one : best), [0, Infinity]);
  const [, loss] = held.at(-1) ?? lowest;
  return loss >= lowest[1] + RISEN ? { step: lowest[0], loss: lowest[1] } : null;
}

/** The model that Back leads to: after a run that diverged, or spoiled it, the best one, if it says more than guessing
 * does, or the reader brought it.
 * @type {(state: TrainGPT.Judged) => number | undefined} */
export function stepBack({ best, held, phase, opened, prepared }) {
  const spoiled = phase === "diverged" || (phase === "stopped" && risenSince(held));
  const worth = best && (opened || best.loss < (prepared?.guessing ?? 0));
  return spoiled && worth && best.kept.step ? best.kept.step : undefined;
}

/** What to do about a rate that is too high, by a button that is there.
 * @type {(state: TrainGPT.Judged) => string} */
export const lowerRate = (state) =>
  `The learning rate is too high: ${stepBack(state) ? "go back" : "press Reset"}, and choose a lower one.`;

/** That the loss in training, now `learnt`, has left the held-out loss behind, and what helps.
 * @type {(state: TrainGPT.Judged, learnt: number) => string} */
function byHeart(state, learnt) {
  const risen = risenSince(state.held);
  const back = stepBack(state) ? "go back" : stepBack({ ...state, phase: "stopped" }) ? "press Stop and go back" : "";
  const since = risen ? `, rising since step ${exact(risen.step)}, where it was ${fixed(risen.loss, 2)}` : "";
  const helps = risen ? `: ${[back, "take a longer text"].filter(Boolean).join(", or ")}` : "; a longer text helps";
  return `${since}; the loss in training is ${fixed(learnt, 2)}. The model is learning its text by heart${helps}.`;
}

/** What the held-out loss says of the model, beside the loss in training.
 * @type {(state: TrainGPT.Judged) => string} */
export function verdict(state) {
  const { held, losses, prepared, step } = state;
  const [at, loss] = held.at(-1) ?? [0, NaN];
  if (Number.isNaN(loss) || !prepared) return "";
  const { guessing, bigram } = prepared;
  const now = `Held-out loss ${fixed(loss, 2)}${at === step ? "" : ` at step ${exact(at)}`}`;
  if (!at && Math.abs(loss - guessing) < NEARLY) {
    return `${now}: before its first step it guesses, and ln V is ${fixed(guessing, 2)}.`;
  }
  const taken = losses.slice(0, Math.max(0, losses.length - (step - at))); // in training, until then
  const learnt = meanOf(taken.slice(-AROUND));
  const risen = risenSince(held);
  const upTo = risen ? taken.slice(0, Math.max(1, taken.length - (at - risen.step))) : taken.slice(0, 1);
  const falls = learnt < meanOf(upTo.slice(-AROUND));
  if (falls && (risen || learnt < loss / 2)) return now + byHeart(state, learnt);
  if (loss >= guessing) {
    const worse = learnt > taken[0] + NEARLY;
    return `${now}: no better than guessing, ${fixed(guessing, 2)}${worse ? `. ${lowerRate(state)}` : ", so far."}`;
  }
  const was = held.some(([, one]) => one < bigram);
  const than = loss < bigram ? "below" : was ? "again above" : "not yet below";
  const lowest = risen ? ` It was lowest, ${fixed(risen.loss, 2)}, at step ${exact(risen.step)}.` : "";
  return `${now}: ${than} the bigram model’s ${fixed(bigram, 2)}.${lowest}`;
}

/** The setting in words, for paper.
 * @type {(state: Pick<TrainGPT.State, "get" | "step">) => string} */
export function settingText({ get, step }) {
  const named = (/** @type {[string, string][]} */ names, /** @type {string} */ one) => new Map(names).get(one);
  const text = named(SOURCE_NAMES, get("source"));
  const size = named(SIZE_NAMES, get("size"));
  return `${text}, ${get("pieces")}; ${size} channels; learning rate ${get("rate")}, step ${exact(step)}.`;
}
