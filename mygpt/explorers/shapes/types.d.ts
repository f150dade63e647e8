declare namespace Shapes {
  interface Traits {
    shape: Shape;
    length: number;
    compare: string;
    bars: string;
    part?: string;
  }
  type State = ReturnType<typeof import("./widget.mjs").shapesState>;
  type Name = "vocab_size" | "max_seq_len" | "embed_dim" | "num_heads" | "num_layers";
  type Shape = Record<Name, number>;
  /** What stands in the fields. */
  type Texts = Partial<Record<Name, string>>;
  type Saying = (shape: Shape, length: number) => string;
  /** What the bars show of a shape. */
  interface Count {
    name: string;
    title(length: number): string;
    shorter(length: number): string;
    partsOf(shape: Shape, length: number): Record<string, number>;
    keys: [mark: string, key: string | null][];
  }
  /** Where a part is drawn. */
  interface Place {
    mark: string;
    start: number;
    size: number;
  }
}
