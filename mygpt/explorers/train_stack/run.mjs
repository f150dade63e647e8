// Training in slices of time, so that the page stays at hand: steps in short tasks, one after the
// other, and the drawing in frames between them.

import { MAX_STEPS, VIEWED, begin, leanings, recentLoss, shareRight, sizes, takeStep } from "./course.mjs";

export const GRID = 44; // places along each side of the picture of the plane
export const REACH = 2.3; // which goes from −2.3 to 2.3
const SLICE = 10; // ms of training in a task
const DRAWN_EVERY = 60; // ms
const LOOKING = 2; // ms of a frame
const SAVED_EVERY = 400; // ms
const STOPS = [300, 1500, MAX_STEPS]; // where a run ends by itself

const CELLS = Float64Array.from({ length: 2 * GRID * GRID }, (_, i) => {
  const cell = i >> 1;
  const along = i % 2 ? GRID - 1 - Math.floor(cell / GRID) : cell % GRID; // y goes up, rows go down
  return (2 * REACH * (along + 0.5)) / GRID - REACH;
});

/** A side before its first step: its training, and what the pictures show of it.
 * @type {(setting: TrainStack.Setting, task: string) => TrainStack.Side} */
export function sideOf(setting, task) {
  const now = begin({ ...setting, task });
  const side = { setting, now, plane: new Float64Array(GRID * GRID).fill(NaN), looked: 0, at: -1, from: 0 };
  return Object.assign(side, { sizes: sizes(now), right: null, recent: now.loss, seen: null });
}

/**
 * Looks at the new points and then at the plane, a part of it at a time, until a moment; whether all
 * has been seen as it is now. A sweep that is under way goes on while the stack learns.
 * @type {(side: TrainStack.Side, until?: number) => boolean}
 */
export function lookAround(side, until = Infinity) {
  const { now } = side;
  if (side.at === now.done) return true;
  if (side.looked === 0) {
    Object.assign(side, { from: now.done, right: shareRight(now), recent: recentLoss(now) });
  }
  const most = GRID * GRID;
  while (side.looked < most) {
    const next = Math.min(side.looked + VIEWED, most);
    side.plane.set(leanings(now, CELLS.subarray(2 * side.looked, 2 * next)), side.looked);
    side.looked = next;
    if (performance.now() > until) return false;
  }
  side.looked = 0;
  side.seen = Float64Array.from(side.plane);
  side.at = side.from;
  return side.at === now.done;
}

/** @type {(state: { sides: TrainStack.Side[] }) => boolean} */
const isOver = ({ sides }) => sides.every(({ now }) => now.lost || now.done >= MAX_STEPS);

/** The step at which a run that begins here ends.
 * @type {(done: number) => number} */
export const nextStop = (done) => STOPS.find((stop) => stop > done) ?? MAX_STEPS;

/** One step of every stack that is not lost; the steps done are those of the one that has most.
 * @type {(state: TrainStack.Steps) => void} */
function stepAll(state) {
  for (const { now } of state.sides) takeStep(now);
  state.done += 1;
}

/** Steps up to a number of them, or until a moment; whether there are no more to take.
 * @type {(state: TrainStack.Steps, target: number, until?: number) => boolean} */
export function advanceAll(state, target, until = Infinity) {
  while (state.done < target && !isOver(state)) {
    stepAll(state);
    if (performance.now() > until) break;
  }
  return state.done >= target || isOver(state);
}

/** @type {(run: TrainStack.Run) => void} */
function save(run) {
  run.saved = performance.now();
  run.state.write({ steps: run.state.done });
}

/** Asks for a frame, unless one has been asked for.
 * @type {(run: TrainStack.Run) => void} */
function drawSoon(run) {
  run.frame ||= requestAnimationFrame(() => {
    run.frame = 0;
    run.drawn = performance.now();
    const { sides } = run.state;
    const seen = sides.map((side) => {
      side.sizes = sizes(side.now);
      return lookAround(side, performance.now() + LOOKING / sides.length);
    });
    run.draw();
    if (run.busy) return;
    if (seen.every(Boolean)) run.rest();
    else drawSoon(run);
  });
}

/** One task: some steps, and the next task if there are more to take.
 * @type {(run: TrainStack.Run) => void} */
function work(run) {
  if (!run.busy) return;
  const { state } = run;
  const there = advanceAll(state, run.target, performance.now() + SLICE);
  if (there) {
    end(run);
    return;
  }
  const now = performance.now();
  if (run.running && now - run.drawn > DRAWN_EVERY) drawSoon(run);
  if (run.running && now - run.saved > SAVED_EVERY) save(run);
  run.channel.port2.postMessage(0);
}

/** @type {(run: TrainStack.Run) => void} */
function start(run) {
  if (run.busy) return;
  run.busy = true;
  run.channel.port2.postMessage(0);
}

/** @type {(run: TrainStack.Run) => void} */
function end(run) {
  Object.assign(run, { busy: false, running: false, target: run.state.done });
  save(run);
  drawSoon(run);
}

/** Sees to it that so many steps are done, soon, and shows them when they are.
 * @type {(run: TrainStack.Run, target: number) => void} */
function reach(run, target) {
  if (target < run.state.done) run.state.begin();
  run.target = run.running ? nextStop(run.state.done) : target;
  if (run.target > run.state.done) start(run);
  drawSoon(run);
}

/** @type {(run: TrainStack.Run) => void} */
function toggle(run) {
  if (run.busy) return end(run);
  Object.assign(run, { running: !run.still.matches, drawn: 0, saved: performance.now() });
  return reach(run, nextStop(run.state.done));
}

/**
 * Drives the stacks of `state.sides`, which `state.begin()` makes anew, one step of each in turn.
 * `draw` is called when there is something new to see, and `rest` when no more comes by itself; where
 * motion is not wanted, a run is drawn at its end. The trait `steps` follows a run from time to time.
 * @type {(state: TrainStack.State, calls: { draw(): void; rest(): void }) => TrainStack.Runner}
 */
export function stackRunner(state, { draw, rest }) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const channel = new MessageChannel();
  const run = {
    state,
    draw,
    rest,
    still,
    channel,
    busy: false,
    running: false,
    target: 0,
    frame: 0,
    drawn: 0,
    saved: 0,
  };
  channel.port1.onmessage = () => work(run);
  still.addEventListener("change", draw);
  return Object.assign(run, {
    over: () => isOver(state),
    reach: (/** @type {number} */ target) => reach(run, target),
    toggle: () => toggle(run),
    pause: () => {
      if (run.running) end(run);
    },
    stop: () => {
      run.busy = false;
      channel.port1.close();
      cancelAnimationFrame(run.frame);
      still.removeEventListener("change", draw);
    },
  });
}
