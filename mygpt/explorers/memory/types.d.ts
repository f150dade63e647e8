declare namespace Memory {
  type Order = "adds" | "fires" | "number";
  interface Traits {
    tokens: string[];
    neurons: number;
    texts: string[];
    data: DataView;
    trigger_data: DataView;
    promoted_data: DataView;
    words: string[];
    value_data: DataView;
    vector_data: DataView;
    norms: number[];
    word: string;
    order: Order;
    neuron: number;
    token: number;
  }
  type State = ReturnType<typeof import("./state.mjs").memoryState>;
  type Writing = NonNullable<ReturnType<typeof import("./state.mjs").writingOf>>;
  interface Columns {
    choose(neuron: number): void;
    hint(row: number, column: number): Kit.Child[];
  }
  /** The cells of a map: numbers [row, column], and what a full colour stands for. */
  interface Cells {
    rows: string[];
    numbers: number[][];
    limit: number;
    row: number;
    column: number;
    label: string;
  }
}
