// What a run of steps in the page is doing.

import { frames } from "./frames.mjs";

/** What each event makes of a mode; a mode without an entry for the event stays. A `run` is the reader's, a `walk` is slow
 * enough to be watched, and `held` while nobody sees it. At `rest` the steps that are asked for are taken all the same.
 * @type {Record<Compute.Mode, Partial<Record<Compute.Event, Compute.Mode>>>} */
const MODES = {
  rest: { start: "run", walk: "walk" },
  held: { start: "run", walk: "walk" },
  run: { arrive: "rest", halt: "rest", leave: "rest" },
  walk: { start: "run", halt: "rest", leave: "held" },
};

/** What the runners of the explorers share. `draw` is called when there is something new to see, and `rest` when no more
 * comes by itself; the trait `steps` follows a run from time to time. */
export const Runner = class {
  /** @type {Compute.Mode} */
  mode = "rest";
  target = 0; // steps that are to be done
  saved = 0; // when the trait was set last
  still = matchMedia("(prefers-reduced-motion: reduce)");
  frames = frames((time) => this.frame(time));

  /** @param {{ write(changes: { steps: number }): void }} state
   * @param {Compute.Calls} calls */
  constructor(state, { draw, rest }) {
    this.draw = draw;
    this.rest = rest;
    this.write = (/** @type {number} */ steps) => state.write({ steps });
    this.still.addEventListener("change", this.changed);
  }
  get running() {
    return this.mode === "run";
  }
  /** @type {(event: Compute.Event) => void} */
  move(event) {
    this.mode = MODES[this.mode][event] ?? this.mode;
  }
  /** @type {(target: number) => void} */
  aim(target) {
    this.target = target;
  }
  /** @type {(time: number) => void} */
  frame() {
    this.draw();
  }
  /** @type {(steps: number) => void} */
  save(steps) {
    this.saved = performance.now();
    this.write(steps);
  }
  changed = () => {
    if (this.mode === "walk") this.pause();
    this.draw();
  };
  pause() {
    this.move("halt");
  }
  stop() {
    this.move("halt");
    this.frames.stop();
    this.still.removeEventListener("change", this.changed);
  }
};
