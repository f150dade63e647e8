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
import { Runner } from "../compute/runner.mjs";
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

/** What the pictures show of a training before its first step: how far it has been looked at, from a step on, the last
 * whole look, and the one that is shown.
 * @param {TrainStack.Setting} setting
 * @param {TrainStack.Now} now */
function sideWith(setting, now) {
  const none = /** @type {TrainStack.Look | null} */ (null);
  const plane = new Float64Array(GRID * GRID);
  return { setting, now, plane, judged: 0, found: 0, looked: 0, from: -1, look: none, seen: none };
}

/** A side before its first step.
 * @param {TrainStack.Setting} setting
 * @param {string} task */
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

/**
 * Drives the stacks of `state.asked`: makes those that `state.begin()` asks for, and takes one step of each in turn.
 * Where motion is not wanted, a run is drawn at its end.
 */
export const StackRunner = class extends Runner {
  awake = false; // a task has been asked for
  looking = false; // no step is taken before all stacks have been looked at
  begun = 0; // when that look began
  next = 0; // when another may begin
  timer = 0; // of the next step of a walk
  channel = new MessageChannel();

  /** @param {TrainStack.State} state
   * @param {Compute.Calls} calls */
  constructor(state, calls) {
    super(state, calls);
    this.state = state;
    this.channel.port1.onmessage = () => this.work();
    state.changing = () => this.goOn();
  }
  /** Whether steps are due. */
  get busy() {
    return this.target > this.state.done;
  }
  get over() {
    return isOver(this.state);
  }
  /** Whether steps are taken, or have been that are not shown yet. */
  get goes() {
    return this.busy || this.mode === "walk" || shownStep(this.state) !== this.state.done;
  }
  frame() {
    this.draw();
    if (!this.busy && !this.looking && this.mode !== "walk" && this.state.sides.length) this.rest();
  }
  /** Asks for a task, unless one has been asked for. */
  wake() {
    if (!this.awake) this.channel.port2.postMessage(0);
    this.awake = true;
  }
  /** Shows the stacks as they are, before another step is taken. */
  lookSoon() {
    Object.assign(this, { looking: true, begun: performance.now() });
  }
  /** Goes on looking until a moment. What is seen of all stacks is shown at once.
   * @type {(until: number) => void} */
  look(until) {
    const { sides } = this.state;
    if (!sides.every((side) => lookAround(side, until))) return;
    for (const side of sides) side.seen = side.look;
    const now = performance.now();
    Object.assign(this, { looking: false, next: now + Math.max(LOOKED_EVERY, 3 * (now - this.begun)) });
    this.frames.soon();
  }
  /** Takes steps until a moment, and sees whether it is time for a look.
   * @type {(until: number) => void} */
  advance(until) {
    if (advanceAll(this.state, this.target, until)) {
      this.move("arrive");
      this.end();
      return;
    }
    const now = performance.now();
    if (!this.still.matches && now > this.next) this.lookSoon();
    if (this.running && now - this.saved > SAVED_EVERY) this.save(this.state.done);
  }
  /** One task: a part of what is to be made or looked at, or some steps; and the next task if there is more to do. */
  work() {
    const { state } = this;
    const until = performance.now() + SLICE;
    this.awake = false;
    if (!state.sides.length) {
      makeSome(state, until);
      if (!this.busy || !this.still.matches) this.lookSoon();
    } else if (this.looking) this.look(until);
    else if (this.busy) this.advance(until);
    if (this.looking || this.busy || !state.sides.length) this.wake();
  }
  /** The steps that were asked for are done, or no more are wanted. */
  end() {
    this.aim(this.state.done);
    this.save(this.state.done);
    this.lookSoon();
    this.wake();
  }
  /** Sees to it that so many steps are done, soon, and shows them when they are.
   * @type {(target: number) => void} */
  reach(target) {
    if (target < this.state.done) this.state.begin();
    if (!this.running) this.aim(target);
    if (!this.busy) this.lookSoon();
    this.wake();
    this.frames.soon();
  }
  /** Begins a run to a step, which keeps its end when the settings change.
   * @type {(goal: number) => void} */
  start(goal) {
    this.move("start");
    this.aim(goal);
    this.saved = performance.now();
  }
  toggle() {
    if (this.goes) {
      this.halt("halt");
      return;
    }
    const goal = nextStop(this.state.done);
    if (!this.still.matches) this.start(goal);
    this.reach(goal);
  }
  /** @type {(event: Compute.Event) => void} */
  halt(event) {
    this.move(event);
    clearTimeout(this.timer);
    this.end();
  }
  /** Stops what moves by itself: a run, or a walk. */
  pause() {
    if (["run", "walk"].includes(this.mode)) this.halt("halt");
  }
  /** It is no longer seen: a walk goes on when it is. */
  leave() {
    if (["run", "walk"].includes(this.mode)) this.halt("leave");
  }
  /** Takes no more steps, so that other settings are shown before their first step. */
  drop() {
    this.move("halt");
    clearTimeout(this.timer);
    this.aim(this.state.done);
  }
  /** A walk gives way to what is asked for: the trait keeps the steps that it has been given. */
  giveWay() {
    if (this.mode === "walk") this.drop();
  }
  /** The settings are about to change: what trains then goes on from step 0, to where it would have ended. */
  goOn() {
    const walks = this.mode === "walk";
    if (!walks && !this.busy) return;
    clearTimeout(this.timer);
    this.start(walks ? nextStop(0) : this.target);
  }
  /** The first steps one by one, slowly enough to be watched. */
  walk() {
    const { state } = this;
    this.move("walk");
    if (state.done >= WALK || this.over) {
      this.halt("halt");
      return;
    }
    if (!this.busy && !this.looking && state.sides.length) this.reach(state.done + 1);
    this.timer = setTimeout(() => this.walk(), PACE);
  }
  stop() {
    this.drop();
    this.channel.port1.close();
    super.stop();
  }
};
