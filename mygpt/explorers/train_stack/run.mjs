// Training in slices of time, so that the page stays at hand: stacks are made, steps taken and stacks looked at
// in short tasks, one after the other. No step is taken during a look: all that is shown is of one step.

import {
  MAX_STEPS,
  NEW_POINTS,
  VIEWED,
  begin,
  beginInParts,
  countRight,
  leanings,
  recentLoss,
  sizes,
  takeStep,
} from "./course.mjs";
import { shownStep } from "./words.mjs";

export const GRID = 44; // places along each side of the picture of the plane
export const REACH = 2.3; // which goes from −2.3 to 2.3
const SLICE = 10; // ms of a task
const LOOKED_EVERY = 60; // ms at least, and at most a quarter of the time
const SAVED_EVERY = 400; // ms
const STOPS = [300, 1500, MAX_STEPS]; // where a run ends by itself
const WALK = 50; // steps of a run that is slow enough to be watched
const PACE = 100; // ms for each of them

const CELLS = Float64Array.from({ length: 2 * GRID * GRID }, (_, i) => {
  const cell = i >> 1;
  const along = i % 2 ? GRID - 1 - Math.floor(cell / GRID) : cell % GRID; // y goes up, rows go down
  return (2 * REACH * (along + 0.5)) / GRID - REACH;
});

/** What the pictures show of a training before its first step.
 * @type {(setting: TrainStack.Setting, now: TrainStack.Now) => TrainStack.Side} */
function sideWith(setting, now) {
  const plane = new Float64Array(GRID * GRID);
  return { setting, now, plane, judged: 0, found: 0, looked: 0, from: -1, look: null, seen: null };
}

/** A side before its first step.
 * @type {(setting: TrainStack.Setting, task: string) => TrainStack.Side} */
export const sideOf = (setting, task) => sideWith(setting, begin({ ...setting, task }));

/** The stacks that are asked for, made in parts.
 * @type {(state: TrainStack.Making) => Generator<void, TrainStack.Side[]>} */
function* makeAll({ asked, task }) {
  const sides = [];
  for (const { setting } of asked) sides.push(sideWith(setting, yield* beginInParts({ ...setting, task })));
  return sides;
}

/** Goes on making the stacks that are asked for, until a moment; they are the state's sides once all are made.
 * @type {(state: TrainStack.Making, until?: number) => void} */
export function makeSome(state, until = Infinity) {
  state.making ??= makeAll(state);
  while (!state.sides.length) {
    const { done, value } = state.making.next();
    if (done) state.sides = value;
    if (performance.now() > until) break;
  }
}

/**
 * Looks at the new points and then at the plane, a part of it at a time, until a moment; whether all has been
 * seen as it is now. Of a stack that has learned since, nothing that was seen is kept.
 * @type {(side: TrainStack.Side, until?: number) => boolean}
 */
export function lookAround(side, until = Infinity) {
  const { now } = side;
  if (side.look?.step === now.done) return true;
  if (side.from !== now.done) Object.assign(side, { from: now.done, judged: 0, found: 0, looked: 0 });
  while (side.judged < NEW_POINTS) {
    side.found += countRight(now, side.judged);
    side.judged += VIEWED;
    if (performance.now() > until) return false;
  }
  const most = GRID * GRID;
  while (side.looked < most) {
    const next = Math.min(side.looked + VIEWED, most);
    side.plane.set(leanings(now, CELLS.subarray(2 * side.looked, 2 * next)), side.looked);
    side.looked = next;
    if (performance.now() > until) return false;
  }
  const { done: step, loss, lost } = now;
  const right = side.found / NEW_POINTS;
  side.look = { step, loss, lost, right, recent: recentLoss(now), sizes: sizes(now), plane: side.plane.slice() };
  return true;
}

/** @type {(state: { sides: TrainStack.Side[] }) => boolean} */
const isOver = ({ sides }) => sides.length > 0 && sides.every(({ now }) => now.lost || now.done >= MAX_STEPS);

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

/** The step that has been asked for: two quick presses of a button ask for two steps.
 * @type {(run: TrainStack.Run) => number} */
const due = ({ busy, target, state }) => (busy ? target : state.done);

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
    run.draw();
    if (!run.busy && !run.looking && !run.walking && run.state.sides.length) run.rest();
  });
}

/** Asks for a task, unless one has been asked for.
 * @type {(run: TrainStack.Run) => void} */
function wake(run) {
  if (!run.awake) run.channel.port2.postMessage(0);
  run.awake = true;
}

/** The stacks are to be looked at as they are; no step is taken before they have been.
 * @type {(run: TrainStack.Run) => void} */
function lookSoon(run) {
  Object.assign(run, { looking: true, begun: performance.now() });
}

/** Goes on looking until a moment. What is seen of all stacks is shown at once.
 * @type {(run: TrainStack.Run, until: number) => void} */
function lookAtAll(run, until) {
  const { sides } = run.state;
  if (!sides.every((side) => lookAround(side, until))) return;
  for (const side of sides) side.seen = side.look;
  const now = performance.now();
  Object.assign(run, { looking: false, next: now + Math.max(LOOKED_EVERY, 3 * (now - run.begun)) });
  drawSoon(run);
}

/** Takes steps until a moment, and sees whether it is time for a look.
 * @type {(run: TrainStack.Run, until: number) => void} */
function advance(run, until) {
  if (advanceAll(run.state, run.target, until)) {
    end(run);
    return;
  }
  const now = performance.now();
  if (!run.still.matches && now > run.next) lookSoon(run);
  if (run.running && now - run.saved > SAVED_EVERY) save(run);
}

/** One task: a part of what is to be made or looked at, or some steps; and the next task if there is more to do.
 * @type {(run: TrainStack.Run) => void} */
function work(run) {
  const { state } = run;
  const until = performance.now() + SLICE;
  run.awake = false;
  if (!state.sides.length) {
    makeSome(state, until);
    if (!run.busy || !run.still.matches) lookSoon(run);
  } else if (run.looking) lookAtAll(run, until);
  else if (run.busy) advance(run, until);
  if (run.looking || run.busy || !state.sides.length) wake(run);
}

/** The steps that were asked for are done, or no more are wanted.
 * @type {(run: TrainStack.Run) => void} */
function end(run) {
  Object.assign(run, { busy: false, running: false, target: run.state.done });
  save(run);
  lookSoon(run);
  wake(run);
}

/** @type {(run: TrainStack.Run) => void} */
function halt(run) {
  run.walking = false;
  clearTimeout(run.timer);
  end(run);
}

/** Sees to it that so many steps are done, soon, and shows them when they are.
 * @type {(run: TrainStack.Run, target: number) => void} */
function reach(run, target) {
  const { state } = run;
  if (target < state.done) state.begin();
  run.target = run.running ? run.goal : target;
  run.busy ||= run.target > state.done;
  if (!run.busy) lookSoon(run);
  wake(run);
  drawSoon(run);
}

/** Whether steps are taken, or have been that are not shown yet.
 * @type {(run: TrainStack.Run) => boolean} */
const goes = ({ busy, walking, state }) => busy || walking || shownStep(state) !== state.done;

/** @type {(run: TrainStack.Run) => void} */
function toggle(run) {
  if (goes(run)) return halt(run);
  const goal = nextStop(run.state.done);
  Object.assign(run, { running: !run.still.matches, goal, saved: performance.now() });
  return reach(run, goal);
}

/** The first run gives way to what is asked for: the trait keeps the steps that it has been given.
 * @type {(run: TrainStack.Run) => void} */
function giveWay(run) {
  if (!run.walking) return;
  clearTimeout(run.timer);
  Object.assign(run, { walking: false, busy: false });
}

/** The settings are about to change: what trains then goes on from step 0, to where it would have ended.
 * @type {(run: TrainStack.Run) => void} */
function goOn(run) {
  const { busy, walking } = run;
  if (!busy && !walking) return;
  giveWay(run);
  Object.assign(run, { running: true, saved: performance.now(), goal: walking ? nextStop(0) : run.target });
}

/** Nothing is trained any more: other settings are to be seen before their first step.
 * @type {(run: TrainStack.Run) => void} */
function drop(run) {
  clearTimeout(run.timer);
  Object.assign(run, { busy: false, running: false, walking: false });
}

/** The first steps one by one, slowly enough to be watched.
 * @type {(run: TrainStack.Run) => void} */
function walk(run) {
  const { state } = run;
  run.held = false;
  run.walking = state.done < WALK && !isOver(state);
  if (!run.walking) {
    halt(run);
    return;
  }
  if (!run.busy && !run.looking && state.sides.length) reach(run, state.done + 1);
  run.timer = setTimeout(() => walk(run), PACE);
}

/**
 * Drives the stacks of `state.asked`: makes those that `state.begin()` asks for, and takes one step of
 * each in turn. `draw` is called when there is something new to see, and `rest` when no more comes by
 * itself; where motion is not wanted, a run is drawn at its end. The trait `steps` follows a run from time to time.
 * @type {(state: TrainStack.State, calls: { draw(): void; rest(): void }) => TrainStack.Runner}
 */
export function stackRunner(state, { draw, rest }) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const channel = new MessageChannel();
  const flags = { awake: false, busy: false, running: false, walking: false, looking: false, held: false };
  const run = {
    state,
    draw,
    rest,
    still,
    channel,
    ...flags,
    target: 0,
    goal: 0,
    timer: 0,
    frame: 0,
    begun: 0,
    next: 0,
    saved: 0,
  };
  const pause = () => {
    if (run.running || run.walking) halt(run);
  };
  /** It is no longer seen: the first run goes on when it is. */
  const leave = () => {
    const { walking } = run;
    pause();
    run.held ||= walking;
  };
  const changed = () => {
    if (run.walking) halt(run);
    draw();
  };
  channel.port1.onmessage = () => work(run);
  still.addEventListener("change", changed);
  state.changing = () => goOn(run);
  return Object.assign(run, {
    over: () => isOver(state),
    goes: () => goes(run),
    due: () => due(run),
    reach: (/** @type {number} */ target) => reach(run, target),
    toggle: () => toggle(run),
    walk: () => walk(run),
    giveWay: () => giveWay(run),
    drop: () => drop(run),
    pause,
    leave,
    stop: () => {
      drop(run);
      channel.port1.close();
      cancelAnimationFrame(run.frame);
      still.removeEventListener("change", changed);
    },
  });
}
