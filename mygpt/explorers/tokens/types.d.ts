declare namespace Tokens {
  interface Traits {
    vocab_size: number;
    data: DataView;
    text: string;
    piece: number;
    merges_done: number | null;
  }
  type State = ReturnType<typeof import("./widget.mjs").tokensState>;
  interface Encoder {
    byteIds: Uint16Array;
    joined: Map<number, { rank: number; id: number }>;
  }
  /** A piece after all its merges. */
  interface Merged {
    bytes: Uint8Array;
    ids: number[];
    ends: number[];
    steps: { rank: number; at: number }[];
  }
  /** A readable part of some bytes, of one of these kinds. */
  interface Spelled {
    text?: string;
    hex?: string;
    code?: string;
  }
  interface Label {
    node: HTMLElement;
    radio: HTMLInputElement;
  }
}
