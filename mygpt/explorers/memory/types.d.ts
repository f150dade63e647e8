declare namespace Memory {
  interface Traits {
    tokens: string[];
    neurons: number;
    texts: string[];
    data: DataView;
    trigger_data: DataView;
    promoted_data: DataView;
    neuron: number;
    token: number;
  }
  type State = ReturnType<typeof import("./widget.mjs").memoryState>;
}
