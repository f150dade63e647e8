declare namespace Attention {
  interface Traits {
    heads: number;
    tokens: string[];
    temperatures: number[];
    data: DataView;
    head: number;
    row: number;
    temperature: number;
    causal: boolean;
  }
  type State = ReturnType<typeof import("./widget.mjs").attentionState>;
  type MapView = ReturnType<typeof import("./widget.mjs").mapView>;
}
