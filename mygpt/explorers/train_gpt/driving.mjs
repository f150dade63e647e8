// What drives a run, and where it stands.

import { exact } from "../kit/amounts.mjs";
import { button } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";
import { goes } from "./state.mjs";
import { rateWarning, stepBack, stepLine, verdict } from "./words.mjs";

const QUICK = 600; // ms after Stop, or after the end of a run; until then a press is meant for Stop

/** Train, Stop or Train on, which says at once that it stops.
 * @type {(state: TrainGPT.State, toggle: () => void) => Kit.View} */
function runButton(state, toggle) {
  const resting = { pressed: 0, ended: 0 };
  /** @type {TrainGPT.Phase} */
  let shown = "new";
  const rest = (/** @type {keyof typeof resting} */ why) => {
    resting[why] += 1;
    setTimeout(() => {
      resting[why] -= 1;
      draw();
    }, QUICK);
  };
  const run = button(
    "Train",
    () => {
      if (shown === "running" && state.phase !== "running") return; // it has just ended, and still reads Stop
      if (state.phase === "running") rest("pressed");
      toggle();
    },
    { class: "mygpt-button mygpt-run" },
  );
  function draw() {
    const { phase } = state;
    const stopped = phase === "stopped";
    if (shown === "running" && stopped && !state.lost) rest("ended");
    shown = phase;
    const stopping = phase === "stopping" || (stopped && resting.pressed > 0);
    const rests = stopping || (stopped && resting.ended > 0);
    const name = phase === "running" ? "Stop" : phase === "new" ? "Train" : "Train on";
    run.node.textContent = stopping ? "Stopping …" : name;
    run.able(phase === "running" || (!rests && Boolean(state.prepared) && phase !== "diverged"));
  }
  return { node: run.node, draw };
}

/** The button that runs and stops; Reset, Undo and Redo; where the run stands; and what has become of it.
 * @type {(state: TrainGPT.State, acts: TrainGPT.Acts) => Kit.View & { run: HTMLElement }} */
export function drivingView(state, { toggle, reset, undo, redo, back }) {
  const run = runButton(state, toggle);
  const [again, undone, redone] = [button("Reset", reset), button("Undo", undo), button("Redo", redo)];
  const backward = button("", back);
  const where = html("span.number");
  const said = html("p.verdict.bold");
  const note = html("p.note.bold", { role: "status" });
  const buttons = [again, undone, redone].map((one) => one.node);
  const node = html("div.driving.flow", run, buttons, where, said, note, backward);
  const draw = () => {
    run.draw();
    again.able(state.phase !== "new");
    undone.node.hidden = !state.before.length;
    redone.node.hidden = !state.after.length;
    where.textContent = stepLine(state);
    said.textContent = verdict(state);
    const warns = !goes(state) && state.phase !== "diverged" && rateWarning(state.rate);
    note.textContent = [state.note, warns].filter(Boolean).join(" ");
    const step = stepBack(state);
    backward.node.hidden = step === undefined;
    if (step !== undefined) backward.node.textContent = `Back to the model of step ${exact(step)}`;
  };
  return { node, draw, run: run.node };
}
