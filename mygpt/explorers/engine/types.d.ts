declare namespace Engine {
  /** The shape of a mygpt.gpt.GPT; `hidden` is the width of its feed-forward networks. */
  interface Config {
    vocab: number;
    positions: number;
    width: number;
    heads: number;
    layers: number;
    hidden: number;
    activation: string;
    bias: boolean;
    attentionOnly: number[];
  }

  /** The functions of kernels.ts, and the memory that they work on. */
  type Kernels = ReturnType<typeof import("./plain.mjs").plainKernels>;

  interface Part {
    shape: number[];
    count: number;
    at: number;
  }

  /** What a block's pass keeps for its way back: the stream before it, its norms' outputs and statistics, queries with
   * keys and values, attention's weights, what was read, the stream after the heads, and of the network the
   * activations and their slopes. */
  type Kept = Record<
    "stream" | "norm1" | "kept1" | "qkv" | "weights" | "read" | "middle" | "norm2" | "kept2" | "slopes" | "active",
    number
  >;

  type Plan = ReturnType<typeof import("./plan.mjs").planOf>;
  type Network = ReturnType<typeof import("./network.mjs").makeNetwork>;

  /** A step of AdamW: its learning rate, weight decay, largest norm of the gradient, betas and eps. */
  interface Step {
    rate: number;
    decay: number;
    clip: number;
    betas: [number, number];
    eps: number;
  }

  /** All that a training has learnt: the steps done, and by name the weights and AdamW's moments. */
  interface Snapshot {
    step: number;
    weights: Map<string, Float32Array>;
    first?: Map<string, Float32Array>;
    second?: Map<string, Float32Array>;
  }

  /** What a training begins with: ids to learn from and ids that are held out. */
  interface Given {
    config: Config;
    batch: number;
    length: number;
    seed: number;
    learn: Int32Array;
    held: Int32Array;
    kept?: Snapshot;
    plain?: boolean;
  }

  type Session = ReturnType<typeof import("./session.mjs").beginSession>;

  /** Of a run: its steps, its highest learning rate, and how a sample begins and how long it is. */
  interface Settings {
    steps: number;
    rate: number;
    start: number[];
    count: number;
  }

  /** A run in the worker: until which step, whether it goes, when the page was last given what was learnt. */
  interface Run {
    tell(news: News): void;
    later(call: () => void): void;
    session: Session | null;
    settings: Settings;
    until: number;
    goes: boolean;
    kept: number;
  }

  type Asked =
    | { kind: "begin"; given: Given; settings: Settings }
    | { kind: "run"; until: number; settings: Settings }
    | { kind: "stop" }
    | { kind: "write"; given: Given; start: number[]; count: number; seed: number };

  interface Progress {
    kind: "progress";
    step: number;
    losses: number[];
    took: number;
    held?: number;
    text?: number[];
  }
  type News =
    | Progress
    | { kind: "ready"; simd: boolean; bytes: number }
    | { kind: "kept"; kept: Snapshot }
    | { kind: "wrote"; step: number; text: number[] }
    | { kind: "ended"; step: number }
    | { kind: "diverged"; step: number }
    | { kind: "failed"; message: string };
}
