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
    form: "whole" | "small" | "cover";
    prompt: string;
    layer: number;
    neuron: number;
    token: number;
    edits: Edit[];
    unfolded: string[];
  }
  type State = ReturnType<typeof import("./state.mjs").liveState>;
  /** A prompt, and its right answer. */
  type Fact = [prompt: string, right: string];
  interface Rewriting {
    step: number;
    enough: number;
    steps: number;
  }
  /** A model as it is sent. */
  interface Packed {
    layout: [name: string, shape: number[]][];
    bytes: DataView;
    /** "float16", if nothing else is said, or "float32". */
    dtype?: string;
    heads: number;
    activation: string;
    rewriting: Rewriting;
  }
  interface Linear {
    outs: number;
    ins: number;
    weight: Float64Array;
    bias: Float64Array;
  }
  interface Norm {
    weight: Float64Array;
    bias: Float64Array;
  }
  interface Mlp {
    fc1: Linear;
    fc2: Linear;
    values: Float64Array;
    ln: Norm;
  }
  interface Layer {
    ln: Norm;
    q: Linear;
    k: Linear;
    v: Linear;
    o: Linear;
    mlp: Mlp | null;
  }
  interface Gpt {
    vocab: number;
    width: number;
    heads: number;
    layers: Layer[];
    rewriting: Rewriting;
    activation(z: number): number;
    neurons: number;
    positions: number;
    embedding: Float64Array;
    position: Float64Array;
    lnF: Norm;
    directions?: Float64Array;
  }
  interface Addition {
    u: Float64Array;
    v: Float64Array;
  }
  /** The edits of a layer, as `forward` takes them. */
  interface Compiled {
    scale: Float64Array | null;
    values: Map<number, Float64Array>;
    additions: Addition[];
    heads: number;
    network: number;
  }
  type Edits = (Compiled | null)[] | null;
  /** What a pass keeps, a list for each layer. */
  interface KeptOfLayers {
    hidden: (Float64Array | null)[];
    own: (Float64Array | null)[];
    keys: Float64Array[];
    values: Float64Array[];
    reads: Float64Array[];
    inputs: Float64Array[];
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
  /** An edit, which names words as they are written. */
  type Edit =
    | { kind: "scale"; layer: number; neuron: number | number[]; factor: number; prompt?: undefined }
    | { kind: "value"; layer: number; neuron: number; word: string; prompt?: undefined }
    | { kind: "rewrite"; prompt: string; word: string }
    | { kind: "part"; layer: number; part: "heads" | "network"; factor: number; prompt?: undefined };
  /** The same with words by their ids. */
  type NumberedEdit =
    | { kind: "scale"; layer: number; neuron: number | number[]; factor: number }
    | { kind: "value"; layer: number; neuron: number; word: number }
    | { kind: "rewrite"; ids: number[]; word: number }
    | { kind: "part"; layer: number; part: "heads" | "network"; factor: number };
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
  interface ToFact {
    word: string;
    share: number;
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
  type Tensors = Map<string, Float32Array> | Record<string, Float32Array>;
  /** A GPT that was trained in the page; `kind` is "characters" or "words". */
  interface Trained {
    config: Engine.Config;
    /** By the names in GPT's state dict. */
    tensors: Tensors;
    tokenizer: { kind: string; tokens: string[] };
  }
  /** Of the neurons of some layers the texts that trigger them, as the traits have them. */
  interface Triggers {
    layers: number[];
    texts: string[];
    data: Int32Array;
  }
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
  /** The model, and all that is said of it. */
  interface Unpacked {
    pieces: Pieces;
    words: string[];
    places: Map<string, number>;
    gpt: Gpt;
    neurons: number;
    blocks: number[];
    layers: number[];
    several: boolean;
    factor: Float64Array | null;
    longest: number;
    triggerLayers: number[];
    triggers: Kit.TextAndNumber[][];
    facts: Fact[];
  }
  interface Asking {
    compiled(edits: Edit[]): Edits;
    answer(prompt: string, edits: Edit[]): Answer;
    answers(edits: Edit[]): ToFact[];
  }
  /** What a text in the field is: a good prompt, or what is wrong with it. */
  interface Reading {
    prompt: string;
    good: boolean;
    wrong: boolean;
    long: boolean;
    message: string;
  }
  interface Linked {
    of?: number;
    prompt: string;
    layer: number;
    neuron: number;
    token: number;
    edits: Edit[];
  }
  interface Known {
    words: { has(word: string): boolean };
    longest: number;
    blocks: number[];
    layers: number[];
    neurons: number;
    rewrites: boolean;
  }
  /** A view that also shows the note. */
  interface NotedView extends Kit.View {
    drawNote(): void;
  }
  /** Up to so many lines, each a name with a bar and what stands behind it. */
  interface BarList {
    node: HTMLElement;
    draw(rows: { name: string; amount: number; text: string }[], most: number): void;
  }
  interface StagesView extends Kit.View {
    drawNeuron(): void;
    lay(): void;
  }
  /** How the tiles of the neurons stand: `shown` of them, in so many rows; `whole` if that is all. */
  interface Tiling extends Kit.Cells {
    side: number;
    shown: number;
    whole: boolean;
  }
  interface TileView extends Kit.View {
    canvas: HTMLCanvasElement;
    legend: HTMLElement;
    more: HTMLElement;
    paint(): void;
    drawNeuron(): void;
    follow(): () => void;
  }
  interface NeuronsView {
    node: HTMLElement;
    off: HTMLElement;
    drawToken(): void;
    drawNeuron(): void;
    describe(text: string): void;
    paint(): void;
    follow(): () => void;
  }
  type Views = ReturnType<typeof import("./widget.mjs").liveViews>;
}
