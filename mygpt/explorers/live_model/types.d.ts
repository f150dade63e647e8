declare namespace LiveModel {
  interface Traits {
    words: string[];
    shapes: [name: string, shape: number[]][];
    weights: DataView;
    dtype: string;
    pieces: string;
    heads: number;
    activation: string;
    facts: Fact[];
    texts: string[];
    trigger_layers: number[];
    trigger_data: DataView;
    moment_data: DataView;
    rewriting: Rewriting;
    centre_data: DataView;
    templates: Record<string, string[]>;
    new_facts: NewFact[];
    writing: Omit<Writing, "centre">;
    form: "whole" | "small" | "cover";
    prompt: string;
    layer: number;
    neuron: number;
    token: number;
    edits: Edit[];
    unfolded: string[];
  }
  type State = ReturnType<typeof import("./state.mjs").liveState>;
  type NewFact = [subject: string, relation: string, answer: string];
  /** A fact to write: its name, the ids of its prompts, and the new word's. */
  interface AskedFact {
    name: string;
    prompts: number[][];
    word: number;
  }
  /** How facts are written: what the last network reads on the average, and the constants of computed.py. */
  interface Writing {
    centre: Float32Array;
    threshold: number;
    sharp: number;
    firm: number;
    like: number;
  }
  /** A neuron that was written. */
  interface Card {
    weight: Float64Array;
    bias: number;
    value: Float64Array;
  }
  /** A prompt, and its right answer. */
  type Fact = [prompt: string, right: string];
  interface Rewriting {
    step: number;
    enough: number;
    steps: number;
  }
  /** A model as it is sent; `dtype` is "float16", if nothing else is said, or "float32". */
  interface Packed extends Pick<Traits, "heads" | "activation" | "rewriting"> {
    layout: Traits["shapes"];
    bytes: DataView;
    dtype?: string;
  }
  interface Linear {
    outs: number;
    ins: number;
    weight: Float64Array;
    bias: Float64Array;
  }
  type Norm = Pick<Linear, "weight" | "bias">;
  interface Mlp extends Record<"fc1" | "fc2", Linear> {
    values: Float64Array;
    ln: Norm;
  }
  interface Layer extends Record<"q" | "k" | "v" | "o", Linear> {
    ln: Norm;
    mlp: Mlp | null;
  }
  type Gpt = ReturnType<typeof import("./gpt.mjs").loadModel>;
  interface Addition {
    u: Float64Array;
    v: Float64Array;
  }
  /** The edits of a layer, as `forward` takes them. */
  interface Compiled {
    scale: Float64Array | null;
    values: Map<number, Float64Array>;
    additions: Addition[];
    cards: Card[];
    heads: number;
    network: number;
  }
  type Edits = (Compiled | null)[] | null;
  /** What a pass keeps, a list for each layer. */
  interface KeptOfLayers
    extends
      Record<"hidden" | "own", (Float64Array | null)[]>,
      Record<"keys" | "values" | "reads" | "inputs", Float64Array[]> {
    steps: Float64Array[][];
  }
  interface Pass extends KeptOfLayers {
    ids: number[];
    logits: Float64Array;
    stream: Float64Array;
    stds: Float64Array;
  }
  interface Part {
    layer: number;
    part: "heads" | "network";
  }
  /** An edit whose words are W, whose prompt is P, and whose facts are N. */
  type EditOf<W, P, N> =
    | { kind: "scale"; layer: number; neuron: number | number[]; factor: number; prompt?: undefined }
    | { kind: "value"; layer: number; neuron: number; word: W; prompt?: undefined }
    | ({ kind: "rewrite"; word: W } & P)
    | { kind: "write"; facts: N[]; prompt?: undefined }
    | ({ kind: "part"; factor: number; prompt?: undefined } & Part);
  /** An edit, which names words as they are written, and the same with words by their ids. */
  type Edit = EditOf<string, { prompt: string }, NewFact>;
  type NumberedEdit = EditOf<number, { ids: number[] }, AskedFact>;
  type Held = { neurons: number[]; heads?: undefined } | { neurons?: undefined; heads: number };
  /** What is answered: a word, and its probability. */
  interface Said {
    best: string;
    share: number;
  }
  interface Answer extends Said {
    pass: Pass;
    shares: Float64Array;
    order: number[];
  }
  /** The answers that are tested: those that changed by name, how many there are, whether another one changed as
   * well, and of how many of the rest the model is less sure. */
  interface Tested {
    names: string[];
    count: number;
    besides: boolean;
    less: number;
  }
  /** What a prompt is made of. A token's name has no blank in it, and is its own alone. */
  interface Pieces {
    kind: string;
    noun: "word" | "character";
    /** What is said of them under the field. */
    note: string;
    /** The fewest that a prompt has. */
    least: number;
    /** Whether a list completes them. */
    suggests: boolean;
    names(tokens: string[]): string[];
    split(text: string): string[];
    /** The names that the model reads for those of a prompt. */
    begun(names: string[]): string[];
    join(names: string[]): string;
    /** Where the piece under the caret starts and ends. */
    span(text: string, caret: number): { start: number; end: number };
    /** A piece that was typed as a name. */
    fold(text: string): string;
    /** The most that a prompt has. */
    longest(positions: number): number;
    /** A sentence with words for signs. */
    spoken(text: string): string;
  }
  type Tensors = Map<string, Float32Array>;
  /** A GPT that was trained in the page; `kind` is "characters" or "words". */
  interface Trained {
    config: Engine.Config;
    /** By the names in GPT's state dict. */
    tensors: Tensors;
    tokenizer: { kind: string; tokens: string[] };
  }
  type Triggers = ReturnType<typeof import("./study.mjs").packedTriggers>;
  interface Made extends Trained {
    prompt: string;
    facts?: Fact[];
    moment?: Kit.Numbers;
    triggers?: Triggers;
  }
  interface Study extends Trained {
    text: string;
    rewriting?: boolean;
    signal?: AbortSignal;
  }
  type Unpacked = ReturnType<typeof import("./state.mjs").unpacked>;
  type Reading = ReturnType<typeof import("./state.mjs").readDraft>;
  type Linked = ReturnType<typeof import("./links.mjs").checkedState>;
  /** How the tiles of the neurons stand: `shown` of them, in so many rows; `whole` if that is all. */
  type Tiling = ReturnType<typeof import("./tiles.mjs").tiling>;
  type Views = ReturnType<typeof import("./widget.mjs").liveViews>;
}
