declare namespace Scale {
  interface Traits {
    model: Model;
    device: Device;
    training: Training;
    devices: number;
    spread: string;
    kept: string;
  }
  type State = ReturnType<typeof import("./widget.mjs").scaleState>;
  interface Model {
    parameters: number;
    num_layers: number;
    embed_dim: number;
    num_heads: number;
    length: number;
  }
  interface Device {
    memory: number;
    peak: number;
    within: number;
    between: number;
    per_machine: number;
  }
  interface Training {
    tokens: number;
    batch_tokens: number;
    at_once: number;
    share: number;
  }
  interface Data extends Omit<Training, "share"> {
    kept: string;
  }
  /** Of a run what says how many sequences a batch has. */
  interface Batch {
    model: Model;
    batch_tokens: number;
  }
  interface Run extends Batch, Training {
    device: Device;
    devices: number;
    spread: string;
    kept: string;
  }
  type Times = ReturnType<typeof import("./count.mjs").stepTime>;
  type Limit = ReturnType<typeof import("./count.mjs").limitOf>;
  interface Zone {
    limit: Limit;
    from: number;
  }
  interface Published {
    name: string;
    run: Run;
    quantity: string;
    reported: Kit.Pair;
  }
  type Field = (typeof import("./words.mjs").FIELDS)[number];
  interface View {
    node: HTMLElement;
    draw(run: Run): void;
  }
  /** A view with fields, whose note says what is wrong with what is typed. */
  interface Asked extends View, Kit.Stopped {
    drawNote(run: Run): void;
    reset(): void;
  }
}
