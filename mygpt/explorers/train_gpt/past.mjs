// The models that Undo and Redo bring back.

import { exact } from "../kit/amounts.mjs";
import { forget, prepare, takesText, untrained } from "./state.mjs";

const MOST = 3; // of them
/** @type {(keyof TrainGPT.Choices)[]} */
const CHOICES = ["source", "pieces", "size", "seed"];
const BESIDE = ["opened", "own", "name", "from", "until", "prepared", "refusal"];

/** What is trained now, with the text and the choices that it was trained with.
 * @type {(state: any) => TrainGPT.Past} */
function present(state) {
  const trained = state.kept ? state : untrained();
  const fields = [
    ...Object.keys(untrained()).map((field) => [field, trained[field]]),
    ...BESIDE.map((field) => [field, state[field]]),
  ];
  const choices = CHOICES.map((one) => [one, state.get(one)]);
  return { fields: Object.fromEntries(fields), choices: Object.fromEntries(choices) };
}

/** Puts aside what is trained now, if the page has any of it; `text`: or the text alone.
 * @type {(state: TrainGPT.State, to?: "before" | "after", text?: boolean) => void} */
export function putAside(state, to = "before", text = false) {
  if (state.kept || text) state[to] = [...state[to], present(state)].slice(-MOST);
}

/** Makes ready for another text: what an opened model learnt from the last one is put aside, the model stays.
 * @type {(state: TrainGPT.State) => void} */
export function freeText(state) {
  const { kept, losses } = state;
  if (!takesText(state) || !kept) return;
  if (losses.length) putAside(state);
  const { step } = kept;
  const note = losses.length ? "Undo brings back its curves on the last text." : "";
  const until = step + state.steps;
  Object.assign(state, untrained(), { kept, step, note, from: step, until, phase: "stopped", lost: true, filed: "" });
}

/** Takes the model that was kept, and leaves what came after it.
 * @type {(state: TrainGPT.State, kept: Engine.Snapshot | null) => void} */
export function takeUp(state, kept) {
  const step = kept?.step ?? 0;
  const { losses, held, samples, from } = state;
  Object.assign(state, {
    kept,
    step,
    phase: "stopped",
    lost: true,
    wrote: null,
    losses: losses.slice(0, losses.length - state.step + step),
    held: held.filter(([at]) => at <= step),
    samples: samples.filter((one) => one.step <= step),
    ...(from > step && { from: step, until: step + state.steps }),
  });
}

/** Begins anew; what was trained is put aside.
 * @type {(state: TrainGPT.State) => void} */
export function beginAnew(state) {
  state.before = [...state.before, ...state.after];
  state.after = [];
  putAside(state);
  forget(state);
  prepare(state);
  const last = state.before.at(-1)?.fields;
  if (last?.kept) state.note = `Undo brings back the model of step ${exact(last.kept.step)}.`;
}

/** Brings back the model that was put aside last, or with `from` as "after" the one that Undo put aside. The reader's
 * own text stays in its field; one that gives way to that of the model is put aside, too.
 * @type {(state: TrainGPT.State, from?: "before" | "after") => void} */
export function bringBack(state, from = "before") {
  const past = state[from].at(-1);
  if (!past) return;
  const { own, name, kept } = state;
  const { fields, choices } = past;
  const ofOwn = choices.source === "own" && Boolean(fields.own?.length);
  const givesWay = ofOwn && own.length > 0 && own !== fields.own;
  const free = Boolean(fields.opened && !fields.losses?.length && !ofOwn && own.length); // of any text
  const source = free ? state.source : choices.source;
  putAside(state, from === "before" ? "after" : "before", givesWay);
  state[from] = state[from].slice(0, -1);
  state.write({ ...choices, source });
  Object.assign(state, fields, ofOwn ? {} : { own, name });
  if (free) prepare(state);
  if (state.phase === "diverged") return;
  if (!state.kept) {
    state.note = "Your text is back.";
    return;
  }
  takeUp(state, state.kept);
  const newer = givesWay && !kept ? ` ${from === "before" ? "Redo" : "Undo"} brings back your newer text.` : "";
  state.note = `The model of step ${exact(state.step)} is back.${newer}`;
}

/** Goes back to the best model of this training; of one that did not diverge, the last is put aside.
 * @type {(state: TrainGPT.State) => void} */
export function goBack(state) {
  if (!state.best) return;
  if (state.phase !== "diverged") putAside(state);
  takeUp(state, state.best.kept);
  state.note = `Back at the model of step ${exact(state.step)}.`;
}
