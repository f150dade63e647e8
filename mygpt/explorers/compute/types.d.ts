declare namespace Compute {
  type Mode = "rest" | "held" | "run" | "walk";
  type Event = "start" | "walk" | "arrive" | "halt" | "leave";
  interface Layer {
    weight: Float64Array;
    bias: Float64Array;
  }
  interface Mlp {
    fc1: Layer;
    fc2: Layer;
  }
  interface Neurons {
    z: Float64Array;
    a: Float64Array;
  }
  interface Calls {
    draw(): void;
    rest(): void;
  }
}
