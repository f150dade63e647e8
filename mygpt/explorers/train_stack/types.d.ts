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
  interface Layer {
    weight: Float64Array;
    bias: Float64Array;
  }
  type Views = Record<string, Layer>;
  type Affine = (
    y: Float64Array,
    x: Float64Array,
    part: Layer,
    rows: number,
    ins: number,
    outs: number,
  ) => Float64Array;
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
  interface Now {
    setting: Setting & { task: string };
    learnt: Points;
    unseen: Points;
    mean: Float64Array;
    square: Float64Array;
    net: Net;
    /** Looks at points, with the same weights. */
    viewer: Net;
    batch: Batch;
    losses: number[];
    draw(): number;
    readonly done: number;
    readonly loss: number;
    readonly lost: boolean;
  }
  interface Sizes {
    signal: number[];
    gradient: number[];
  }
  /** A stack that is to be trained. */
  interface Asked {
    setting: Setting;
  }
  /** A stack's training, and what the pictures show of it. */
  interface Side extends Asked {
    now: Now;
    plane: Float64Array;
    judged: number;
    found: number;
    looked: number;
    from: number;
    /** The last whole look, and the one that is shown. */
    look: Look | null;
    seen: Look | null;
  }
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
  /** Stacks that are asked for, how far they are made, and all once they are. */
  interface Making {
    task: string;
    asked: Asked[];
    making: Generator<void, Side[]> | null;
    sides: Side[];
  }
  interface Steps {
    sides: Side[];
    done: number;
  }
  interface Run {
    state: State;
    draw(): void;
    rest(): void;
    still: MediaQueryList;
    channel: MessageChannel;
    awake: boolean;
    busy: boolean;
    running: boolean;
    walking: boolean;
    looking: boolean;
    held: boolean;
    timer: number;
    target: number;
    goal: number;
    frame: number;
    begun: number;
    next: number;
    saved: number;
  }
  interface Runner extends Run {
    over(): boolean;
    goes(): boolean;
    due(): number;
    reach(target: number): void;
    toggle(): void;
    walk(): void;
    giveWay(): void;
    drop(): void;
    pause(): void;
    leave(): void;
    stop(): void;
  }
  interface Curves {
    node: HTMLElement;
    lay(width: number, height: number): void;
    draw(): void;
  }
  /** A picture of two curves whose axes are drawn anew only when they change. */
  interface Steady {
    plot: Kit.Picture;
    node: HTMLElement;
    lines: SVGElement[];
    lay(width: number, height: number): void;
    frame(x: Kit.Axis, y: Kit.Axis): Kit.Axes;
    steady(looks: Look[]): boolean;
  }
}
