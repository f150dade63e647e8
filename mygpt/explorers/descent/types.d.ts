declare namespace Descent {
  interface Traits {
    view: string;
    rule: string;
    rate: number;
    start: number[];
    width: number;
    activation: string;
    seed: number;
    steps: number;
  }
  type State = ReturnType<typeof import("./widget.mjs").descentState>;
  type Problem = (weights: Float64Array, slope: Float64Array) => number;
  /** A descent as a rule of it sees it. */
  interface Moving {
    slope: Float64Array;
    mean: Float64Array;
    square: Float64Array;
    done: number;
  }
  /** A descent where it stands. One or two weights have left a trail, of weights and of slopes. */
  interface Now extends Moving {
    weights: Float64Array;
    rule: string;
    rate: number;
    problem: Problem;
    losses: number[];
    trail: number[][];
    slopes: number[][];
    readonly done: number;
    readonly loss: number;
    readonly lost: boolean;
    refused?: boolean;
  }
  /** What is said of a descent follows from this. */
  interface Said {
    view: string;
    now: Now;
  }
  interface Begun extends Said {
    rule: string;
    rate: number;
    activation: string;
    neurons: number;
    seed: number;
    start: number[];
  }
  interface Picture {
    node: HTMLElement;
    about: string;
    lay(width: number): void;
    draw(): void;
    stop: (() => void)[];
  }
  /** A picture whose axes have been drawn. */
  interface Drawn extends Kit.Picture {
    axes: Kit.Axes;
  }
  interface LossSpan {
    end: number;
    bottom: number;
    top: number;
  }
  interface Run {
    state: State;
    draw(): void;
    rest(): void;
    still: MediaQueryList;
    running: boolean;
    target: number;
    frame: number;
    before: number;
    due: number;
    saved: number;
  }
  interface Runner extends Run {
    leapOf(): number;
    reach(target: number): void;
    leap(count: number): void;
    toggle(): void;
    pause(): void;
    stop(): void;
  }
}
