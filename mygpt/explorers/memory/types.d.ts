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
  /** What the neurons write: `values` has a row of `channels` numbers a neuron, `vectors` one a word. */
  interface Writing {
    words: string[];
    values: Float64Array;
    vectors: Float64Array;
    channels: number;
    norms: number[];
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
  interface CellMap {
    node: HTMLElement;
    lay(columns: number): void;
    draw(cells: Cells): void;
    follow(keyboard: HTMLElement): () => void;
  }
  /** A part of the picture whose columns are the neurons in view. */
  interface Part {
    node: HTMLElement;
    lay(columns: number): void;
    draw(): void;
    follow(keyboard: HTMLElement): () => void;
  }
}
