declare namespace Activations {
  interface Traits {
    names: string[];
    compare: string[];
    points: number;
    places: number;
    has_phi: boolean;
    exponent: number;
    data: DataView;
    position: number;
    quantity: Quantity;
    visible: string[];
  }
  type State = ReturnType<typeof import("./widget.mjs").activationsState>;
  type Quantity = "value" | "slope";
  /** The rows of the explorer's data, by role. */
  interface Rows {
    x: Float32Array;
    value: Float32Array[];
    slope: Float32Array[];
    phi: Float32Array | null;
    difference: Float32Array | null;
  }
}
