declare namespace TrainStack {
  interface Traits {
    task: string;
    left: Setting;
    right: Setting | Record<string, never>;
    steps: number;
    unfolded: string[];
  }
  type State = ReturnType<typeof import("./widget.mjs").stackState>;
  interface Setting {
    wiring: string;
    depth: number;
    activation: string;
    gain: number;
    rate: number;
    seed: number;
  }
  type Fits = (value: unknown) => boolean;
  /** A parameter, and how it begins. */
  interface Shape {
    name: string;
    rows: number;
    columns: number;
    bound?: number;
    value?: number;
  }
  type Views = Record<string, Compute.Layer>;
  interface Normed {
    unit: Float64Array;
    scale: Float64Array;
  }
  type Net = ReturnType<typeof import("./net.mjs").stack>;
  interface Points {
    points: Float64Array;
    answers: Uint8Array;
  }
  interface Batch extends Points {
    rows: number;
  }
  type Now = ReturnType<typeof import("./course.mjs").begin>;
  type Sizes = Record<"signal" | "gradient", number[]>;
  /** A stack that is to be trained. */
  interface Asked {
    setting: Setting;
  }
  /** A stack's training, and what the pictures show of it. */
  type Side = ReturnType<typeof import("./run.mjs").sideOf>;
  /** All that is to be seen of a stack after one of its steps. */
  interface Look {
    step: number;
    loss: number;
    lost: boolean;
    right: number;
    recent: number;
    sizes: Sizes;
    plane: Float64Array;
  }
  type Making = Pick<State, "task" | "asked" | "making" | "sides">;
  type Steps = Pick<State, "sides" | "done">;
  type Runner = InstanceType<typeof import("./run.mjs").StackRunner>;
}
