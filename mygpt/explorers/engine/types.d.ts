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
  interface Kernels {
    buffer: ArrayBuffer;
    pack(b: number, down: number, across: number, terms: number, columns: number, to: number): void;
    product(
      a: number,
      down: number,
      across: number,
      packed: number,
      start: number,
      startStep: number,
      c: number,
      step: number,
      rows: number,
      terms: number,
      columns: number,
      part: number,
    ): void;
    add(x: number, y: number, count: number): void;
    multiply(x: number, y: number, count: number): void;
    sumRows(x: number, step: number, rows: number, columns: number, to: number): void;
    squares(x: number, count: number): number;
    norm(
      x: number,
      weight: number,
      bias: number,
      to: number,
      kept: number,
      rows: number,
      width: number,
      eps: number,
    ): void;
    normBackward(
      gradient: number,
      x: number,
      kept: number,
      weight: number,
      toX: number,
      toWeight: number,
      toBias: number,
      rows: number,
      width: number,
    ): void;
    activate(kind: number, x: number, to: number, count: number): void;
    weigh(scores: number, length: number, scale: number): void;
    weighBackward(gradient: number, weights: number, length: number, scale: number): void;
    crossEntropy(logits: number, step: number, targets: number, rows: number, classes: number, among: number): number;
    adamw(
      weights: number,
      gradients: number,
      first: number,
      second: number,
      count: number,
      rate: number,
      even: number,
      keep: number,
      shrink: number,
      beta1: number,
      beta2: number,
      eps: number,
    ): void;
    embed(ids: number, tokens: number, places: number, to: number, rows: number, length: number, width: number): void;
    embedBackward(
      ids: number,
      gradient: number,
      toTokens: number,
      toPlaces: number,
      rows: number,
      length: number,
      width: number,
    ): void;
  }

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

  interface Plan {
    config: Config;
    batch: number;
    length: number;
    stride: number;
    rows: number;
    classes: number;
    size: number;
    parts: Map<string, Part>;
    parameters: { at: number; count: number; decayed: number };
    gradients: number;
    first: number;
    second: number;
    ids: number;
    targets: number;
    blocks: Kept[];
    stream: number;
    normF: number;
    keptF: number;
    logits: number;
    zeros: number;
    toStream: number;
    toNorm: number;
    toQkv: number;
    toHidden: number;
    toWeights: number;
    packed: number;
    bytes: number;
  }

  interface Network {
    plan: Plan;
    kernels: Kernels;
    numbers: Float32Array;
    whole: Int32Array;
    kind: number;
    steps: number;
    simd: boolean;
  }

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

  interface Session {
    network: Network;
    learn: Int32Array;
    held: Int32Array;
    draw: () => number;
    batch: number;
    length: number;
  }

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
