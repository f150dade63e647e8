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
  /** What an act may change, and the result. */
  interface Act {
    values: number[];
    settings: number[];
    result: number[];
  }
  type Marks = ReturnType<typeof import("./widget.mjs").barMarks>;
  type Panel = ReturnType<typeof import("./widget.mjs").panelView>;
}
