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
  /** A line of the list: a word, or what stands for several. */
  interface Line {
    place?: number;
    text: string;
    share: number;
    weight: string;
  }
  interface MapView {
    node: HTMLElement;
    legend: HTMLElement;
    lay(): void;
    paint(): void;
    drawWeights(): void;
    drawRow(): void;
    follow(handle: HTMLElement): () => void;
  }
}
