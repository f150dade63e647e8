declare namespace TrainGPT {
  type Size = "small" | "large";
  type Source = "given" | "own";
  /** Before its first step; while steps are taken; until they are no longer; between two runs; when the loss is no longer
   * a number. */
  type Phase = "new" | "running" | "stopping" | "stopped" | "diverged";

  interface Traits {
    text: string;
    source: Source;
    pieces: Kind;
    size: Size;
    rate: number;
    steps: number;
    seed: number;
    shapes: [name: string, shape: number[]][];
    weights: DataView;
  }

  /** A text that can be learnt from: its ids, what guessing and the bigram model lose on the held-out part, and what
   * has been done to it. `config` is that of a checkpoint that was opened. */
  interface Prepared {
    tokenizer: Tokenizer;
    learn: Int32Array;
    held: Int32Array;
    guessing: number;
    bigram: number;
    note: string;
  }

  interface Sample {
    step: number;
    text: string;
  }

  type Trained = ReturnType<typeof import("./state.mjs").untrained>;

  /** What the held-out loss is judged by. */
  type Judged = Pick<State, "held" | "best" | "losses" | "step" | "phase" | "prepared" | "opened">;

  type Choices = Pick<Traits, "source" | "pieces" | "size" | "seed">;

  /** A model, or a text alone, that was put aside: the fields of the state that belong to it, and what was chosen for
   * it. */
  interface Past {
    fields: Partial<State>;
    choices: Choices;
  }

  type State = ReturnType<typeof import("./state.mjs").trainState>;

  type Driver = ReturnType<typeof import("./driver.mjs").engineDriver>;
  type Acts = ReturnType<typeof import("./widget.mjs").acting>;
}
