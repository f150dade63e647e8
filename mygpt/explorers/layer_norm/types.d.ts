declare namespace LayerNorm {
  interface Traits {
    start: number[];
    limit: number;
    values: number[];
    gamma: number;
    beta: number;
    log10_eps: number;
  }
  type State = ReturnType<typeof import("./widget.mjs").normState>;
  interface Moments {
    mean: number;
    variance: number;
    std: number;
  }
  interface Norm {
    mean: number;
    variance: number;
    normalised: number[];
    result: number[];
  }
  /** What an act may change, and the result. */
  interface Act {
    values: number[];
    settings: number[];
    result: number[];
  }
  /** The bars of a panel on their axes. */
  interface Marks {
    limit: number;
    size: number;
    frame: Kit.Axes;
    band: Kit.Band;
    show(numbers: number[], moments: { mean: number; std: number }): void;
  }
  interface Panel {
    node: HTMLElement;
    plot: Kit.Picture;
    marks: Marks | null;
    draw(): void;
  }
}
