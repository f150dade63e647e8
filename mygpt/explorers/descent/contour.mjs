// Two weights: lines of equal loss with the steps as seen from above, and the line that they make.

import { UNHEARD, flag, html, svg, trace } from "../kit/elements.mjs";
import { clamp, fixed, linearTicks, times } from "../kit/geometry.mjs";
import { dragging, keeping } from "../kit/pointers.mjs";
import { STRIDE, axisName, gripName, pathThrough, startHandle, stepMarks } from "./marks.mjs";
import { EXAMPLES, twoWeights, valley } from "./steps.mjs";
import { LIMITS, outsideText, sentenceOf } from "./words.mjs";
import { axesWindow, dotsAt, emptyPath, panel, panelWidths, picture, valueSlider } from "../kit/parts/picture.mjs";

const LEVELS = [0.1, 0.5, 2, 5, 10, 20, 40, 80];
const NAMED_LEVELS = [2, 20];
/** @type {Kit.Pair} */
const MINIMUM = [3, 1];
const MARGIN = { left: 50, right: 14, top: 8, bottom: 50 };
/** @type {Kit.Pair[]} */
const [ENDS_X, ENDS_Y] = [
  [0, 3],
  [-2, 12],
]; // of the line's picture

/** Points of the ellipse on which the loss of two weights is `loss`.
 * @type {(loss: number, count?: number) => Kit.Pair[]} */
export function levelLine(loss, count = 90) {
  const { across, along } = valley(loss);
  return times(count + 1, (i) => {
    const [c, s] = [Math.cos((2 * Math.PI * i) / count), Math.sin((2 * Math.PI * i) / count)];
    const place = (/** @type {0 | 1} */ axis) => MINIMUM[axis] + c * across[axis] + s * along[axis];
    return /** @type {Kit.Pair} */ ([place(0), place(1)]);
  });
}

/** Where the line of a loss is named, right of the minimum, and the line's own angle there, in degrees of the picture.
 * @type {(loss: number) => { at: Kit.Pair; angle: number }} */
export function levelName(loss) {
  const slope = new Float64Array(2);
  const bend = twoWeights(Float64Array.of(MINIMUM[0] + 1, MINIMUM[1]), slope); // the loss one unit of w₁ away
  const angle = (Math.atan(slope[0] / slope[1]) * 180) / Math.PI; // across the slope; the picture counts y downward
  return { at: [MINIMUM[0] + Math.sqrt(loss / bend), MINIMUM[1]], angle };
}

/** Lines of equal loss, filled so that the floor of the valley stands out; some are named.
 * @type {(axes: Kit.Axes) => SVGElement[]} */
function levelMarks({ scaleX, scaleY }) {
  /** @type {(points: Kit.Pair[]) => Kit.Pair[]} */
  const onPicture = (points) => points.map(([x, y]) => [scaleX(x), scaleY(y)]);
  const lines = LEVELS.map((level) => svg("path.level", { d: pathThrough(onPicture(levelLine(level))) }));
  const [[x, y]] = onPicture([MINIMUM]);
  const names = NAMED_LEVELS.map((level) => {
    const { at, angle } = levelName(level);
    const [across, down] = [scaleX(at[0]), scaleY(at[1])];
    const place = { transform: `translate(${across} ${down}) rotate(${angle})`, dy: "0.34em", "text-anchor": "middle" };
    return svg("text.level-name.plate", { ...place }, `loss ${level}`);
  });
  const cross = svg("path.lowest.hollow", { d: `M${x - 5} ${y}h10M${x} ${y - 5}v10` });
  return [...lines, ...names, cross];
}

/** The handle of the second weight of the start, on the y axis.
 * @type {(state: Descent.State, plot: Kit.Drawn) => { node: HTMLElement; show(): void; stop(): void }} */
function sideHandle(state, plot) {
  const node = html("div.side-handle", { "aria-orientation": "vertical" });
  /** @type {(w2: number) => void} */
  const choose = (w2) => state.moveTo(state.start[0], w2);
  const [low, high] = LIMITS[1];
  const part = valueSlider(node, { label: "Start w₂", low, high, step: STRIDE, choose });
  const aim = (/** @type {PointerEvent} */ event) => choose(plot.axes.scaleY.invert(plot.pointerY(event)));
  const stop = dragging(node, aim, keeping(state, "start"), node);
  const show = () => {
    const w2 = state.start[1];
    const { left, scaleY } = plot.axes;
    Object.assign(node.style, { left: `${left - 12}px`, top: `${scaleY(w2) - 12}px` });
    part.show(w2, `w₂ = ${fixed(w2, 2)}`);
  };
  return { node, show, stop };
}

/** The loss from above. Both weights have one scale, so that right angles look right.
 * @type {(state: Descent.State) => { node: HTMLElement; lay(width: number, height: number): void; draw(): void; stop: (() => void)[] }} */
function landscape(state) {
  const plot = /** @type {Kit.Drawn} */ (picture());
  const ground = svg("g");
  const marks = stepMarks();
  const grip = gripName("start");
  const guide = emptyPath("mygpt-guide"); // from the start to its dots on the axes
  const view = axesWindow(plot, ground, guide, ...marks.nodes, grip.node);
  const handle = startHandle(state, "w₁");
  const side = sideHandle(state, plot);
  const ring = html("div.ring", UNHEARD);
  plot.node.append(handle.node, side.node, ring);
  flag(plot.node, "map");

  /** @type {(width: number, height: number) => void} */
  function lay(width, height) {
    const [x, y] = LIMITS;
    plot.axes = plot.frame({
      width,
      height,
      margin: MARGIN,
      x: { domain: x, ticks: linearTicks(...x, 8), label: "w₁", drop: 26 },
      y: { domain: y, ticks: linearTicks(...y, 8), drop: 17 },
    });
    view.lay(plot.axes);
    ground.replaceChildren(...levelMarks(plot.axes));
    plot.front.replaceChildren(axisName(2, plot.axes.scaleY(1.5) + 5, "w₂"));
    handle.place(plot.axes);
  }
  function draw() {
    const { scaleX, scaleY } = plot.axes;
    marks.draw(/** @type {Kit.Pair[]} */ (state.now.trail), plot.axes, outsideText(state.now));
    handle.show();
    side.show();
    const [w1, w2] = state.start;
    const { left, right, bottom } = plot.axes;
    const [x, y] = [scaleX(w1), scaleY(w2)];
    grip.show(clamp(x, left + 20, right - 20), y + 24 < bottom - 8 ? y + 24 : y - 15);
    trace(guide, `M${left} ${y}H${x}V${bottom}`);
    Object.assign(ring.style, { left: `${x - 18}px`, top: `${y - 18}px` });
    plot.root.ariaLabel = `The loss of two weights from above, an elongated valley. ${sentenceOf(state)}`;
  }
  /** @type {(event: PointerEvent) => void} */
  const aim = (event) =>
    state.moveTo(plot.axes.scaleX.invert(plot.pointerX(event)), plot.axes.scaleY.invert(plot.pointerY(event)));
  const undo = [plot.root, ring].map((part) => dragging(part, aim, keeping(state, "start"), handle.node));
  return { node: panel("Loss by w₁ and w₂", plot), lay, draw, stop: [...undo, side.stop] };
}

/** The line of the two weights, its points, and how far it misses them.
 * @type {(state: Descent.State) => { node: HTMLElement; lay(width: number, height: number): void; draw(): void }} */
function linePicture(state) {
  const plot = /** @type {Kit.Drawn} */ (picture());
  const [misses, line, points] = ["mygpt-misses", "mygpt-curve mygpt-fit", "mygpt-points"].map(emptyPath);
  const view = axesWindow(plot, misses, line, points);
  /** @type {(width: number, height: number) => void} */
  function lay(width, height) {
    plot.axes = plot.frame({
      width,
      height,
      margin: { left: 34, right: 14, top: 8, bottom: 50 },
      x: { domain: ENDS_X, ticks: linearTicks(...ENDS_X, 3), label: "x", drop: 26 },
      y: { domain: ENDS_Y, ticks: linearTicks(...ENDS_Y, height / 40), strong: 0 },
    });
    const { scaleX, scaleY } = plot.axes;
    view.lay(plot.axes);
    trace(
      points,
      dotsAt(
        EXAMPLES.map(([x, y]) => [scaleX(x), scaleY(y)]),
        4,
      ),
    );
  }
  function draw() {
    const { scaleX, scaleY } = plot.axes;
    const height = (/** @type {number} */ x) => {
      const [w1, w2] = state.now.weights;
      return Math.max(-1e4, Math.min(scaleY(w1 * x + w2), 1e4));
    };
    trace(line, pathThrough(ENDS_X.map((x) => [scaleX(x), height(x)])));
    trace(misses, EXAMPLES.map(([x, y]) => `M${scaleX(x)} ${scaleY(y)}V${height(x)}`).join(""));
    plot.root.ariaLabel = `The line w₁x + w₂ and the ${EXAMPLES.length} points.`;
  }
  return { node: panel("The line and its misses", plot), lay, draw };
}

/** @type {(state: Descent.State) => Descent.Picture} */
export function contourView(state) {
  const [seen, line] = [landscape(state), linePicture(state)];
  const node = html("div.panels.uneven", seen, line);
  /** @type {(width: number) => void} */
  function lay(width) {
    const [first, second] = panelWidths(width, 0.58);
    const { left, right, top, bottom } = MARGIN;
    const height = first - left - right + top + bottom;
    seen.lay(first, height);
    line.lay(second, second < first ? height : 200);
  }
  function draw() {
    seen.draw();
    line.draw();
  }
  const points = EXAMPLES.map((pair) => `(${pair.join(", ")})`).join(" and ");
  const about = `The loss is the mean squared miss of the line w₁x + w₂ at ${points}. Drag the start; arrow keys move its dots on the axes.`;
  return { node, about, lay, draw, stop: seen.stop };
}
