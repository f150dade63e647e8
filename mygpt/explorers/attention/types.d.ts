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
  interface Sizes {
    width: number;
    gutter: number;
    named: number;
    room: number;
    top: number;
    height: number;
    slanted: boolean;
    free: boolean[];
    stacked: boolean;
    fan: number;
    numbered: boolean;
  }
  interface MapView {
    node: HTMLElement;
    legend: HTMLElement;
    colours: Kit.Heatmap["colours"];
    lay(): void;
    paint(): void;
    drawWeights(): void;
    drawRow(): void;
    follow(handle: HTMLElement): () => void;
  }
}
