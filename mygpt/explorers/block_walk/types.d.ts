declare namespace BlockWalk {
  interface Traits {
    names: string[];
    notes: string[];
    before: number[];
    widths: number[];
    parts: string[];
    tokens: string[];
    data: DataView;
    stage: number;
    position: number;
  }
  type State = ReturnType<typeof import("./widget.mjs").walkState>;
  type Frame = Kit.Axes & { band: Kit.Band };
}
