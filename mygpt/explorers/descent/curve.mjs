// One weight: its loss as a curve, with its slope where the weight stands.

import { trace } from "../kit/elements.mjs";
import { clamp, linearTicks, times } from "../kit/geometry.mjs";
import { dragging, keeping } from "../kit/pointers.mjs";
import { axisName, gripName, isFar, showGrip, startHandle, stepMarks } from "./marks.mjs";
import { EXAMPLE, oneWeight } from "./steps.mjs";
import { LIMITS, outsideText, sentenceOf } from "./words.mjs";
import { axesWindow, emptyPath, linePath, picture } from "../kit/parts/picture.mjs";

const HIGHEST = 66; // loss
const TANGENT = 80; // px on either side
const [LOW, HIGH] = LIMITS[0];
const WEIGHTS = times(161, (i) => LOW + ((HIGH - LOW) * i) / 160);

/** A line through a point with the slope that it has in pixels, of a set length.
 * @type {(x: number, y: number, slope: number) => string} */
export function tangentPath(x, y, slope) {
  const reach = TANGENT / Math.hypot(1, slope);
  /** @type {(sign: number) => string} */
  const at = (sign) => `${(x + sign * reach).toFixed(1)} ${(y + sign * reach * slope).toFixed(1)}`;
  return `M${at(-1)}L${at(1)}`;
}

/** @type {(state: Descent.State) => Descent.Picture} */
export function curveView(state) {
  const plot = /** @type {Kit.Drawn} */ (picture());
  const [curve, tangent] = ["mygpt-curve mygpt-loss", "mygpt-tangent mygpt-curve mygpt-curve-0"].map(emptyPath);
  const marks = stepMarks();
  const grip = gripName("start w");
  const view = axesWindow(plot, curve, tangent, ...marks.nodes, grip.node);
  const handle = startHandle(state, "w");
  plot.node.append(handle.node);

  /** @type {(width: number) => void} */
  function lay(width) {
    plot.axes = plot.frame({
      width,
      height: Math.round(clamp(width * 0.5, 280, 360)),
      margin: { left: 38, right: 14, top: 14, bottom: 50 },
      x: { domain: [LOW, HIGH], ticks: linearTicks(LOW, HIGH, width / 60), label: "w", drop: 26 },
      y: { domain: [-3, HIGHEST], ticks: linearTicks(0, 60, 6), strong: 0 },
    });
    const { scaleX, scaleY } = plot.axes;
    view.lay(plot.axes);
    plot.front.replaceChildren(axisName(4, 14, "loss"));
    trace(
      curve,
      linePath(
        WEIGHTS,
        WEIGHTS.map((w) => oneWeight(Float64Array.of(w), new Float64Array(1))),
        scaleX,
        scaleY,
      ),
    );
    handle.place(plot.axes);
  }
  function draw() {
    const { weights, loss, losses, slope, trail } = state.now;
    const { scaleX, scaleY } = plot.axes;
    marks.draw(
      trail.map(([w], i) => [w, losses[i]]),
      plot.axes,
      outsideText(state.now),
    );
    showGrip(grip, plot.axes, state.start[0]);
    const [x, y] = [scaleX(weights[0]), scaleY(loss)];
    const pixels = (scaleY(1) - scaleY(0)) / (scaleX(1) - scaleX(0));
    trace(tangent, isFar([x, y]) ? "" : tangentPath(x, y, slope[0] * pixels));
    handle.show();
    plot.root.ariaLabel = `The loss of one weight as a curve. ${sentenceOf(state)}`;
  }
  /** @type {(event: PointerEvent) => void} */
  const aim = (event) => state.moveTo(plot.axes.scaleX.invert(plot.pointerX(event)));
  const { x, y } = EXAMPLE;
  return {
    node: plot.node,
    about: `One example, x = ${x} and y = ${y}: the loss is (${x}w − ${y})². Drag the start; arrow keys move its dot on the axis.`,
    lay,
    draw,
    stop: [dragging(plot.root, aim, keeping(state, "start"), handle.node)],
  };
}
