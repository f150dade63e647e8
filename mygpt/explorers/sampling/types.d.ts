declare namespace Sampling {
  interface Traits {
    tokens: string[];
    prompt: string;
    data: DataView;
    temperature: number;
    top_k: number | null;
    top_p: number;
    seed: number;
    draws: number;
  }
  type State = ReturnType<typeof import("./widget.mjs").samplingState>;
  interface Setting {
    temperature: number;
    topK: number | null;
    topP: number;
  }
  type Row = ReturnType<typeof import("./widget.mjs").rowsOf>[number];
  /** What a row has of the distribution and of the draws, what all rows down to it have before the cut,
   * and how many of its tokens are kept. */
  interface Share {
    now: number;
    before: number;
    together: number;
    left: number;
    drawn: number;
  }
  type Marks = ReturnType<typeof import("./table.mjs").rowMarks>;
}
