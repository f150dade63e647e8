// What the texts, tokenizers and checkpoints of TrainGPT hand each other.

declare namespace TrainGPT {
  type Kind = "characters" | "words";

  interface Tokenizer {
    kind: Kind;
    tokens: string[];
    encode(text: string): number[];
    decode(ids: Iterable<number>): string;
  }

  /** A file with its path: `step-00000500/model.safetensors`. */
  interface NamedFile {
    name: string;
    bytes: Uint8Array;
  }

  interface Tensor {
    shape: number[];
    numbers: Float32Array;
  }

  /** `tensors`: the parameters by their names in the state dict. */
  interface Checkpoint {
    config: Engine.Config;
    tokenizer: Tokenizer;
    tensors: Map<string, Float32Array>;
    step: number;
  }

  /** The content of a checkpoint.json. */
  interface Content {
    format: number;
    model: string;
    config: Record<string, unknown>;
    tokenizer: boolean;
    state: Record<string, unknown>;
    files: Record<string, unknown>;
  }

  type Entry = ReturnType<typeof import("./zip.mjs").entryAt>["entry"];
}
