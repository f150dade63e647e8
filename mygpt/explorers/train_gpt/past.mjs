// The models that Undo and Redo bring back.

import { forget, prepare, untrained } from "./state.mjs";
import { grouped } from "./words.mjs";

const MOST = 3; // of them
/** @type {(keyof TrainGPT.Choices)[]} */
const CHOICES = ["source", "pieces", "size", "seed"];
const BESIDE = ["opened", "own", "name", "from", "until", "prepared", "refusal"];

/** What is trained now, with the text and the choices that it was trained with.
 * @type {(state: any) => TrainGPT.Past} */
function present(state) {
  const fields = [...Object.keys(untrained()), ...BESIDE].map((field) => [field, state[field]]);
  const choices = CHOICES.map((one) => [one, state.get(one)]);
  return { step: state.kept.step, fields: Object.fromEntries(fields), choices: Object.fromEntries(choices) };
}

/** Puts aside what is trained now, if the page has any of it.
 * @type {(state: TrainGPT.State, to?: "before" | "after") => void} */
export function putAside(state, to = "before") {
  if (state.kept) state[to] = [...state[to], present(state)].slice(-MOST);
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
    losses: losses.slice(0, losses.length - state.step + step),
    held: held.filter(([at]) => at <= step),
    samples: samples.filter((one) => one.step <= step),
    ...(from > step && { from: step, until: step + state.get("steps") }),
  });
}

/** Begins anew; what was trained is put aside.
 * @type {(state: TrainGPT.State) => void} */
export function beginAnew(state) {
  putAside(state);
  state.after = [];
  forget(state);
  prepare(state);
  const last = state.before.at(-1);
  if (last) state.note = `Undo brings back the model of step ${grouped(last.step)}.`;
}

/** Brings back the model that was put aside last, or with `from` as "after" the one that Undo put aside.
 * @type {(state: TrainGPT.State, from?: "before" | "after") => void} */
export function bringBack(state, from = "before") {
  const past = state[from].at(-1);
  if (!past) return;
  putAside(state, from === "before" ? "after" : "before");
  state[from] = state[from].slice(0, -1);
  state.write(past.choices);
  Object.assign(state, past.fields);
  if (state.phase === "diverged") return;
  takeUp(state, state.kept);
  state.note = `The model of step ${grouped(state.step)} is back.`;
}

/** Goes back to the best model of this training; of one that did not diverge, the last is put aside.
 * @type {(state: TrainGPT.State) => void} */
export function goBack(state) {
  if (!state.best) return;
  if (state.phase !== "diverged") putAside(state);
  takeUp(state, state.best.kept);
  state.note = `Back at the model of step ${grouped(state.step)}.`;
}

/** Forgets the models that a training has gone past.
 * @type {(state: TrainGPT.State) => void} */
export function goPast(state) {
  const [before, after] = [state.before, state.after].map((all) => all.filter(({ step }) => step >= state.step));
  Object.assign(state, { before, after });
}
