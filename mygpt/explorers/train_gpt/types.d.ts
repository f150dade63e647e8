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

  /** A run so far. `held` are steps with the held-out loss; `kept` is what the worker gave last, `lost` whether it must
   * begin from there, `wrote` the text after the reader's prompt; `best` what it gave with the lowest held-out loss. */
  interface Trained {
    step: number;
    losses: number[];
    held: [step: number, loss: number][];
    samples: Sample[];
    kept: Engine.Snapshot | null;
    best: { kept: Engine.Snapshot; loss: number } | null;
    perStep: number;
    phase: Phase;
    note: string;
    lost: boolean;
    wrote: Sample | null;
  }

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

  /** A model with what its views need. */
  interface Apart {
    config: Engine.Config;
    tokenizer: Tokenizer;
    tensors: Map<string, Float32Array>;
    prompt: string;
    text: string;
    step: number;
  }

  interface Driver {
    ask(asked: Engine.Asked): void;
    watch(): void;
    stop(): void;
  }

  interface Acts {
    toggle(): void;
    reset(): void;
    undo(): void;
    redo(): void;
    back(): void;
    settle(changes: Partial<Traits>): void;
    take(given: string | Uint8Array, name?: string): void;
    open(checkpoint: Checkpoint): void;
    compose(prompt: string): void;
  }
}
