// Taking steps one by one, in a run, or many at once; in frames, so that the page stays at hand.

import { Runner } from "../compute/runner.mjs";
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

/** Drives `state.now`, which `state.begin()` makes anew. What `reach` asks for is not drawn before it is there; a run is
 * drawn as it goes. */
export const DescentRunner = class extends Runner {
  before = 0; // the time of the last frame
  due = 0; // the part of a step that has come due

  /** @param {Descent.State} state
   * @param {Compute.Calls} calls */
  constructor(state, calls) {
    super(state, calls);
    this.state = state;
  }
  /** How many steps a press of “Run” takes at once, or 0 where it starts a run. */
  get leapOf() {
    return this.still.matches ? LEAPS[this.state.view] : 0;
  }
  arrived() {
    this.draw();
    if (!this.running) this.rest();
  }
  inTime() {
    return advance(this.state.now, this.target, performance.now() + BUDGET);
  }
  /** Asks for the steps that have come due since the last frame.
   * @type {(time: number) => void} */
  ask(time) {
    this.due += (clamp(time - this.before, 0, 100) * PACE[this.state.view]) / 1000;
    this.aim(Math.min(this.target + Math.floor(this.due), MAX_STEPS));
    this.due %= 1;
  }
  /** @type {(time: number) => void} */
  frame(time) {
    const { now } = this.state;
    const { done } = now;
    if (this.running && done >= this.target) this.ask(time);
    this.before = time;
    const there = this.inTime();
    if (there && (!this.running || ended(now))) {
      this.end();
      return;
    }
    if (this.running && now.done !== done) this.draw();
    if (there && time - this.saved > SAVED_EVERY) this.keep();
    this.frames.soon();
  }
  keep() {
    const { now } = this.state;
    if (now.lost) this.aim(now.done);
    this.save(this.target);
  }
  /** The steps are done, or no more are wanted. */
  end() {
    const { running } = this;
    this.move("halt");
    if (running) this.keep();
    this.arrived();
  }
  /** Sees to it that so many steps are done, soon.
   * @type {(target: number) => void} */
  reach(target) {
    this.aim(target);
    if (target < this.state.now.done) this.state.begin();
    if (this.inTime()) this.arrived();
    else this.frames.soon();
  }
  /** @type {(count: number) => void} */
  leap(count) {
    const { done, lost } = this.state.now;
    const target = Math.min((lost ? done : this.target) + count, MAX_STEPS);
    this.aim(target);
    this.write(target);
    this.reach(target);
  }
  pause() {
    if (this.running) this.end();
  }
  toggle() {
    if (this.running) {
      this.end();
    } else if (this.leapOf) {
      this.leap(this.leapOf);
    } else {
      this.move("start");
      Object.assign(this, { before: performance.now(), due: 1 });
      this.draw();
      this.frames.soon();
    }
  }
};
