// What the explorers' modules hand each other. Checked by `make javascript`; no page has this file.

declare namespace Kit {
  type Pair = [number, number];
  /** Numbers in a row: a list, or typed. */
  type Numbers = ArrayLike<number> & Iterable<number>;
  type Child = Node | string;
  type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;
  /** What an element is made of; see kit/elements.mjs. */
  type Content = Child | Attributes | { node: Node } | Content[] | false | null | undefined;

  /** A widget's model, as anywidget and kit/model.mjs have it, of which T are the traits. */
  interface Model<T> {
    get<K extends keyof T>(name: K): T[K];
    set<K extends keyof T>(name: K, value: T[K]): void;
    set(changes: Partial<T>): void;
    on(events: string, call: Listener): void;
    off(event?: string | null, call?: Listener): void;
    save_changes(): void;
    send(content?: unknown): void;
    /** Where there is a kernel, or was one. */
    widget_manager?: unknown;
  }
  type Listener = (...args: any[]) => void;
  type AnyModel = Model<Record<string, unknown>>;
  /** A state that was saved: of what is sent as base64, the path in the state. */
  interface Saved {
    state: Record<string, unknown>;
    buffers: { path: (string | number)[]; data: string }[];
  }
  type TraitsOf<M> = M extends Model<infer T> ? T : never;
  /** What anywidget hands `render`, of traits T. */
  interface Given<T> {
    model: Model<T & Described>;
    el: HTMLElement;
  }
  /** The trait of every explorer. */
  interface Described {
    description: string;
  }
  /** What `store` adds to an explorer's fields. */
  interface Store<T> {
    get<K extends keyof T>(trait: K): T[K];
    write(changes: Partial<T>): void;
  }
  type State<T, F> = F & Store<T> & Readonly<Omit<T, keyof F>>;
  type Explorer = {
    render(given: { model: Model<any>; el: HTMLElement }): unknown;
    initialize?(given: { model: Model<any> }): unknown;
  };

  /** `listeners` are what the change of some traits calls; with a second function, what is said after it. */
  interface Mounted {
    layout(width: number): void;
    listeners: Record<string, (() => void) | [update: () => void, sentence: () => string]>;
    undo?: (() => void)[];
  }

  /** A piece of an explorer: its node, and what draws it anew from the state. */
  interface View {
    node: HTMLElement;
    draw(): void;
  }
  /** A view of which only the cursor moves, as long as the rest stays. */
  interface CursorView extends View {
    drawCursor(): void;
  }
  interface Stopped {
    stop(): void;
  }

  interface Size {
    width: number;
    height: number;
  }
  interface Edges {
    top: number;
    bottom: number;
  }
  interface Box extends Edges {
    left: number;
    right: number;
  }
  type Scale = ReturnType<typeof import("./geometry.mjs").linearScale>;
  interface Tick {
    at: number;
    label: string;
  }
  /** A picture's axis: what it spans, its ticks, and of which value the line is stronger. */
  interface Axis {
    domain: Pair;
    ticks: Tick[];
    strong?: number;
    label?: string;
    drop?: number;
  }
  interface Frame extends Size {
    margin: Box;
    x: Axis;
    y: Axis;
  }
  interface Axes extends Box {
    scaleX: Scale;
    scaleY: Scale;
  }
  type Band = ReturnType<typeof import("./geometry.mjs").bandScale>;
  /** A picture whose axes have been drawn. */
  type Drawn = Picture & { axes: Axes };
  type Picture = ReturnType<typeof import("./parts/picture.mjs").picture>;
  interface Cell {
    row: number;
    column: number;
  }
  interface Heat extends Cells {
    numbers: Numbers;
    height: number;
    limit: number;
    signed?: boolean;
    decimals?: number;
    shade?: (share: number) => number;
  }
  interface Cells {
    rows: number;
    columns: number;
  }

  /** A control of the value that a trait has. */
  interface Control<V> {
    node: HTMLElement;
    show(value: V): void;
  }
  interface Stepper {
    node: HTMLElement;
    show(index: number, last: number, text: string): void;
  }
  /** What a field does with what is typed; see kit/parts/fields.mjs. */
  type Entry = ReturnType<typeof import("./parts/fields.mjs").rested>;
  type Field = ReturnType<typeof import("./parts/fields.mjs").numberField>;
  /** A stage of a drawn block: see kit/block.mjs. */
  interface BlockStage {
    place: string;
    name: string;
  }
  /** Where a stage stands: a box, or words beside a dot on the stream. */
  interface BlockSpot extends Size {
    place: string;
    left: number;
    top: number;
    dot?: Pair;
    align?: string;
  }
  /** What a stage hands on; a plain wire has no arrow. */
  interface BlockWire {
    place: string;
    points: Pair[];
    plain?: boolean;
  }
  interface BlockGround extends Size {
    name: string;
    left: number;
    top: number;
  }
  interface BlockLayout {
    height: number;
    tall: boolean;
    spots: BlockSpot[];
    wires: BlockWire[];
    grounds: BlockGround[];
  }
  /** The boxes of a branch: their edges, the height of their wires, and where the first is entered. */
  interface BlockBoxes extends Box {
    spots: BlockSpot[];
    middle: number;
    enter: number;
  }
  /** What is lit with a stage. */
  interface BlockMark {
    place: string;
    node: SVGElement;
  }
  /** The settings of a combobox; see kit/parts/combobox.mjs. */
  interface Combobox {
    id: string;
    span(text: string, caret: number): { start: number; end: number };
    suggest(prefix: string): string[];
    whole(prefix: string): boolean;
    typed(text: string, caret: number): void;
    enter?(): void;
    left?(): void;
    after?: string;
    opens?: string;
  }
  interface ValueSlider {
    label: string;
    low: number;
    high: number;
    step: number;
    choose(value: number): void;
  }
  /** A table of read-outs whose columns have the keys K. */
  interface Readings<K extends string> {
    node: HTMLTableElement;
    cells: Record<K, HTMLTableCellElement>[];
    body: HTMLTableRowElement[];
    mark(key: string): void;
  }
  type Button = ReturnType<typeof import("./controls.mjs").button>;

  /** A text with a number, and a neuron's list of them. */
  interface TextAndNumber {
    text: string;
    number: number;
  }
  /** The state of an explorer of curves; see kit/curves.mjs. */
  interface CurveState {
    names: string[];
    x: Numbers;
    readonly at: number;
    readonly shown: [number, Numbers][];
    hovered: number | null;
    width: number;
    moveTo(at: number): void;
    get(trait: "visible"): string[];
    get(trait: "quantity"): string;
    write(changes: { visible: string[] }): void;
  }
  type CursorPlot = ReturnType<typeof import("./curves.mjs").cursorPlot>;
  /** The state of an explorer of memories; see kit/parts/neurons.mjs. */
  interface NeuronState {
    tokens: string[];
    neurons: number;
    ranked: number[];
    hovered: Cell | null;
    width: number;
    get(trait: "token" | "neuron"): number;
    write(changes: { token?: number; neuron?: number }): void;
  }
  type TextAt = (row: number, neuron: number) => string;
  interface NeuronList {
    count: number;
    parts: string[];
    neuronAt(i: number): number;
    attributes?: Attributes;
  }
  interface CurveTable<K extends string> {
    caption: string;
    heading: string;
    columns: Record<K, string>;
    text(key: K, i: number): string;
  }
  /** The value of an activation at z, and its slope there, where its value is a. */
  type Activation = [value: (z: number) => number, slope: (z: number, a: number) => number];
  /** A part of a stacked bar; `text` is what so many pixels have room for. */
  interface Part {
    mark: string;
    amount: number;
    text(pixels: number): string;
  }
}

/** The host of the site's pages, and the explorers that their scripts have brought. */
interface Window {
  bookHost?: { models: Map<string, Kit.AnyModel> };
  bookExplorers?: Record<string, Kit.Explorer>;
}

/** A page makes text of what an attribute is set to. */
interface Element {
  setAttribute(name: string, value: string | number | boolean): void;
}
