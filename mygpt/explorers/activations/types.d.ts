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
}
