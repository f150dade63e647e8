// Taking steps one by one, in a run, or many at once; in frames, so that the page stays at hand.

import { clamp } from "../kit/geometry.mjs";
import { MAX_STEPS, settled, takeStep } from "./steps.mjs";

/** @type {Record<string, number>} */
const PACE = { one: 6, two: 20, network: 240 }; // steps a second
/** @type {Record<string, number>} */
const LEAPS = { one: 20, two: 100, network: 500 }; // taken at once where motion is not wanted
const BUDGET = 5; // ms of a frame
const SAVED_EVERY = 200; // ms

/** Takes steps up to a number of them, or until a time; whether there are no more to take.
 * @type {(now: Descent.Now, target: number, until?: number) => boolean} */
export function advance(now, target, until = Infinity) {
  while (now.done < target && !now.lost && !now.refused) {
    takeStep(now);
    if (performance.now() > until) break;
  }
  return now.done >= target || now.lost || Boolean(now.refused);
}

/** Whether a run has nothing more to show.
 * @type {(now: Descent.Now) => boolean} */
export function ended(now) {
  return now.lost || Boolean(now.refused) || now.done >= MAX_STEPS || settled(now);
}

/** How many steps a press of “Run” takes at once, or 0 where it starts a run.
 * @type {(run: Descent.Run) => number} */
const leapOf = ({ still, state }) => (still.matches ? LEAPS[state.view] : 0);

/** Asks for the steps that have come due since the last frame.
 * @type {(run: Descent.Run, time: number) => void} */
function ask(run, time) {
  run.due += (clamp(time - run.before, 0, 100) * PACE[run.state.view]) / 1000;
  run.target = Math.min(run.target + Math.floor(run.due), MAX_STEPS);
  run.due %= 1;
}

/** @type {(run: Descent.Run) => void} */
function save(run) {
  if (run.state.now.lost) run.target = run.state.now.done;
  run.saved = performance.now();
  run.state.write({ steps: run.target });
}

/** @type {(run: Descent.Run) => void} */
function arrived(run) {
  run.draw();
  if (!run.running) run.rest();
}

/** @type {(run: Descent.Run) => boolean} */
function inTime(run) {
  return advance(run.state.now, run.target, performance.now() + BUDGET);
}

/** @type {(run: Descent.Run) => void} */
function nextFrame(run) {
  run.frame ||= requestAnimationFrame((time) => {
    run.frame = 0;
    frameOf(run, time);
  });
}

/** @type {(run: Descent.Run, time: number) => void} */
function frameOf(run, time) {
  const { done } = run.state.now;
  if (run.running && done >= run.target) ask(run, time);
  run.before = time;
  const there = inTime(run);
  if (there && run.running && ended(run.state.now)) return pause(run);
  if (there && !run.running) return arrived(run);
  if (run.running && run.state.now.done !== done) run.draw();
  if (there && time - run.saved > SAVED_EVERY) save(run);
  return nextFrame(run);
}

/** Sees to it that so many steps are done, soon.
 * @type {(run: Descent.Run, target: number) => void} */
function reach(run, target) {
  run.target = target;
  if (target < run.state.now.done) run.state.begin();
  if (inTime(run)) arrived(run);
  else nextFrame(run);
}

/** @type {(run: Descent.Run, count: number) => void} */
function leap(run, count) {
  const { done, lost } = run.state.now;
  run.target = Math.min((lost ? done : run.target) + count, MAX_STEPS);
  run.state.write({ steps: run.target });
  reach(run, run.target);
}

/** @type {(run: Descent.Run) => void} */
function pause(run) {
  if (!run.running) return;
  run.running = false;
  save(run);
  arrived(run);
}

/** @type {(run: Descent.Run) => void} */
function toggle(run) {
  if (run.running) {
    pause(run);
  } else if (leapOf(run)) {
    leap(run, leapOf(run));
  } else {
    Object.assign(run, { running: true, before: performance.now(), due: 1 });
    run.draw();
    nextFrame(run);
  }
}

/**
 * Drives `state.now`, which `state.begin()` makes anew. `draw` is called when there is something
 * new to see, and `rest` when no more comes by itself. What `reach` asks for is not drawn before it
 * is there; a run is drawn as it goes. The trait `steps` follows a run from time to time.
 * @type {(state: Descent.State, calls: { draw(): void; rest(): void }) => Descent.Runner}
 */
export function runner(state, { draw, rest }) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const run = { state, draw, rest, still, running: false, target: 0, frame: 0, before: 0, due: 0, saved: 0 };
  still.addEventListener("change", draw);
  return Object.assign(run, {
    leapOf: () => leapOf(run),
    reach: (/** @type {number} */ target) => reach(run, target),
    leap: (/** @type {number} */ count) => leap(run, count),
    toggle: () => toggle(run),
    pause: () => pause(run),
    stop: () => {
      run.running = false;
      cancelAnimationFrame(run.frame);
      still.removeEventListener("change", draw);
    },
  });
}
