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
  type Moving = Pick<Now, "slope" | "mean" | "square" | "done">;
  type Now = ReturnType<typeof import("./steps.mjs").descent>;
  type Said = Pick<State, "view" | "now">;
  type Begun = ReturnType<typeof import("./widget.mjs").begun>;
  interface Picture {
    node: HTMLElement;
    about: string;
    lay(width: number): void;
    draw(): void;
    stop: (() => void)[];
  }
  type Runner = InstanceType<typeof import("./run.mjs").DescentRunner>;
}
