declare namespace Tokens {
  interface Traits {
    vocab_size: number;
    data: DataView;
    text: string;
    piece: number;
    merges_done: number | null;
  }
  type State = ReturnType<typeof import("./widget.mjs").tokensState>;
  type Encoder = ReturnType<typeof import("./merges.mjs").makeEncoder>;
  type Merged = ReturnType<typeof import("./merges.mjs").merge>;
  /** A readable part of some bytes, of one of these kinds. */
  interface Spelled {
    text?: string;
    hex?: string;
    code?: string;
  }
  type Label = ReturnType<typeof import("./widget.mjs").pieceLabel>;
}
