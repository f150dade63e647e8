// What TrainGPT has to say; no page is touched here.

import { fixed } from "../kit/geometry.mjs";

/** @type {[TrainGPT.Size, string][]} */
export const SIZE_NAMES = [
  ["small", "2 blocks × 64"],
  ["large", "4 blocks × 128"],
];
/** @type {[TrainGPT.Kind, string][]} */
export const PIECE_NAMES = [
  ["characters", "Characters"],
  ["words", "Words"],
];
/** @type {[TrainGPT.Source, string][]} */
export const SOURCE_NAMES = [
  ["given", "Harbour stories"],
  ["own", "Your own text"],
];
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

/** @type {(count: number) => string} */
export const grouped = (count) => count.toLocaleString("en");

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
  const count = grouped(learn.length + held.length);
  const piece = tokenizer.kind;
  const parts = `${count} ${piece}, ${grouped(tokenizer.tokens.length)} different; the last tenth is held out.`;
  return [note, parts].filter(Boolean).join(" ");
}

/** Where a run stands.
 * @type {(state: Pick<TrainGPT.State, "step" | "until" | "phase" | "perStep">) => string} */
export function stepLine({ step, until, phase, perStep }) {
  const left = phase === "running" && perStep ? `, ${about((until - step) * perStep)} left` : "";
  return `step ${grouped(step)} of ${grouped(until)}${left}`;
}

/** What the held-out loss says of the model.
 * @type {(state: Pick<TrainGPT.State, "held" | "prepared" | "step">) => string} */
export function verdict({ held, prepared, step }) {
  const last = held[held.length - 1];
  if (!last || !prepared) return "";
  const [, loss] = last;
  const { guessing, bigram } = prepared;
  const now = `Held-out loss ${fixed(loss, 2)}`;
  if (!step) return `${now}: before its first step it guesses, and ln V is ${fixed(guessing, 2)}.`;
  if (loss >= guessing) {
    const advice = "The learning rate is too high: press Reset, and choose a lower one.";
    return `${now} at step ${grouped(last[0])}: no better than guessing, ${fixed(guessing, 2)}. ${advice}`;
  }
  const was = held.some(([, one]) => one < bigram);
  const than = loss < bigram ? "below" : was ? "above again" : "not yet below";
  return `${now}: ${than} the bigram model’s ${fixed(bigram, 2)}.`;
}

/** Means of a long list of losses, and the steps after which they stand.
 * @type {(losses: number[], first: number, most?: number) => { steps: number[]; means: number[] }} */
export function thinned(losses, first, most = 150) {
  const size = Math.max(1, Math.ceil(losses.length / most));
  /** @type {{ steps: number[]; means: number[] }} */
  const found = { steps: [], means: [] };
  for (let i = 0; i < losses.length; i += size) {
    const some = losses.slice(i, i + size);
    found.steps.push(first + i + some.length / 2);
    found.means.push(some.reduce((sum, one) => sum + one, 0) / some.length);
  }
  return found;
}

/** The setting in words, for paper.
 * @type {(state: Pick<TrainGPT.State, "get" | "step">) => string} */
export function settingText({ get, step }) {
  const named = (/** @type {[string, string][]} */ names, /** @type {string} */ one) => new Map(names).get(one);
  const text = named(SOURCE_NAMES, get("source"));
  const size = named(SIZE_NAMES, get("size"));
  return `${text}, ${get("pieces")}; ${size} channels; learning rate ${get("rate")}, step ${grouped(step)}.`;
}
