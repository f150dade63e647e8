declare namespace Depth {
  interface Traits {
    kinds: string[];
    gains: number[];
    widths: number[];
    biases: boolean[];
    depths: number[];
    data: DataView;
    gain: number;
    width: number;
    bias: boolean;
    depth: number;
    quantity: Quantity;
    layer: number;
    visible: string[];
  }
  type State = ReturnType<typeof import("./widget.mjs").depthState>;
  type Quantity = "activations" | "gradients";
  /** How many kinds and settings the data have, and the depths. */
  interface Counts {
    kinds: number;
    gains: number;
    widths: number;
    biases: number;
    depths: number[];
  }
}
