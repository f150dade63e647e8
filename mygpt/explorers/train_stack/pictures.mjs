// The pictures of TrainStack: what a stack says of the plane, the losses, and the sizes by block.

import { steadyAxes, thinnedLosses } from "../compute/losses.mjs";
import { UNHEARD, flag, html, svg, trace } from "../kit/elements.mjs";
import { fixed, linearTicks } from "../kit/geometry.mjs";
import { channels } from "../kit/parts/heat.mjs";
import {
  axesWindow,
  emptyPath,
  linePath,
  logTicks,
  markerPath,
  panel,
  picture,
  sample,
} from "../kit/parts/picture.mjs";
import { WIRINGS } from "./net.mjs";
import { GRID, REACH } from "./run.mjs";
import {
  lastStep,
  looksAt,
  lossText,
  powerSpan,
  powersOf,
  shareText,
  shownStep,
  sideName,
  titleText,
  verdict,
} from "./words.mjs";

const MOST_COLOUR = 0.62;
const TALLEST = 1.1; // of the losses
const MARKS = ["circle", "triangle"];

/** The looks of the stacks' curves: those of their wirings, if they differ.
 * @type {(sides: { setting: TrainStack.Setting }[]) => number[]} */
export function looksOf(sides) {
  const wirings = Object.keys(WIRINGS);
  const looks = sides.map(({ setting }) => wirings.indexOf(setting.wiring));
  return looks.map((look, i) => (i && look === looks[0] ? 4 : look));
}

/** The colours of the plane as RGBA bytes: the likelier spiral's, the stronger the surer.
 * @type {(leaning: Float64Array, colours: number[][]) => Uint8ClampedArray<ArrayBuffer>} */
export function planeColours(leaning, [first, second]) {
  const bytes = new Uint8ClampedArray(4 * leaning.length);
  for (let i = 0; i < leaning.length; i += 1) {
    if (!Number.isFinite(leaning[i])) continue;
    const sure = Math.abs(Math.tanh(leaning[i] / 2));
    bytes.set([...(leaning[i] > 0 ? second : first), 255 * MOST_COLOUR * sure], 4 * i);
  }
  return bytes;
}

/** Marks the points of the first spiral in the one path and those of the second in the other.
 * @type {(marks: SVGElement[], points: TrainStack.Points, axes: Kit.Axes) => void} */
function drawPoints(marks, { points, answers }, { scaleX, scaleY }) {
  const r = answers.length > 200 ? 1.7 : 2.6;
  marks.forEach((mark, arm) =>
    trace(
      mark,
      Array.from(answers, (answer, k) =>
        answer === arm ? markerPath(3 * arm, scaleX(points[2 * k]), scaleY(points[2 * k + 1]), r) : "",
      ).join(""),
    ),
  );
}

/** @type {(now: TrainStack.Now, look: TrainStack.Look) => string} */
const planeText = (now, { right }) =>
  `${now.learnt.answers.length} points on two spirals, and which spiral the stack says at each place. `
  + `${shareText(right)} of new points are right.`;

/** The texts of one stack: its name, and what has become of it.
 * @type {() => { mark: HTMLElement; name: HTMLElement; loss: HTMLElement; right: HTMLElement; said: HTMLElement; title: HTMLElement; told: HTMLElement }} */
function planeTexts() {
  const [mark, name, loss, right] = [html("span"), html("bdi"), html("b"), html("b")];
  const said = html("p.said");
  const numbers = [html("span", "loss ", loss), html("span", "new points right ", right)];
  const title = html("p.panel-name", mark, name);
  const told = html("p.numbers.number.muted", numbers);
  return { mark, name, loss, right, said, title, told };
}

/** One stack's plane with the points that it learns, and beside it what has become of it.
 * @type {(state: TrainStack.State, i: number) => { node: HTMLElement; lay(size: number): void; draw(): void; repaint(): void }} */
export function planeView(state, i) {
  const plot = picture();
  const canvas = html("canvas.plane", UNHEARD, { width: GRID, height: GRID });
  const marks = MARKS.map((name) => emptyPath(`mygpt-${name}`));
  plot.root.ariaLabel = "The plane of a stack that is being made.";
  plot.node.prepend(canvas);
  plot.curves.replaceChildren(...marks);
  const { mark, name, loss, right, said, title, told } = planeTexts();
  const node = html("div.side", title, said, plot, told);
  /** @type {{ axes: Kit.Axes | null; learnt: TrainStack.Points | null; painted: Float64Array | null }} */
  const frame = { axes: null, learnt: null, painted: null };

  /** @type {(size: number) => void} */
  function lay(size) {
    const ends = { domain: /** @type {Kit.Pair} */ ([-REACH, REACH]), ticks: [] };
    const margin = { left: 1, right: 1, top: 1, bottom: 1 };
    frame.axes = plot.frame({ width: size, height: size, margin, x: ends, y: ends });
    Object.assign(frame, { learnt: null, painted: null });
    plot.node.style.maxWidth = `${size}px`;
  }
  /** @type {(plane: Float64Array) => void} */
  function paint(plane) {
    if (frame.painted === plane || !canvas.isConnected) return; // without a page it has no colours
    frame.painted = plane;
    const style = getComputedStyle(canvas);
    const pair = ["--curve-0", "--curve-1"].map((colour) => channels(style.getPropertyValue(colour)));
    const bytes = planeColours(plane, pair);
    canvas.getContext("2d")?.putImageData(new ImageData(bytes, GRID, GRID), 0, 0);
  }
  function draw() {
    const asked = state.asked[i];
    node.hidden = !asked;
    if (!asked || !frame.axes) return;
    mark.replaceChildren(sample(looksOf(state.asked)[i]));
    name.textContent = titleText(state.asked, i);
    const look = looksAt(state)[i];
    if (look) drawLook(state.sides[i].now, look, frame.axes);
    else for (const one of [loss, right]) one.textContent = "…";
  }
  /** @type {(now: TrainStack.Now, look: TrainStack.Look, axes: Kit.Axes) => void} */
  function drawLook(now, look, axes) {
    if (frame.learnt !== now.learnt) drawPoints(marks, now.learnt, axes);
    frame.learnt = now.learnt;
    paint(look.plane);
    loss.textContent = lossText(look.loss);
    right.textContent = shareText(look.right);
    said.textContent = verdict(look);
    flag(said, "before", !look.step);
    plot.root.ariaLabel = planeText(now, look);
  }
  const repaint = () => {
    frame.painted = null;
    draw();
  };
  return { node, lay, draw, repaint };
}

/** A picture of two curves. As long as the stacks that are asked for have not been looked at, what is drawn stays, and
 * is faint.
 * @param {string} title */
function steadyPicture(title) {
  const plot = picture();
  const lines = [0, 1].map(() => emptyPath("mygpt-curve"));
  const view = axesWindow(plot, ...lines);
  const { lay, frame, isDrawn } = steadyAxes(plot, { left: 16, right: 12 }, view.lay);
  /** @type {(looks: TrainStack.Look[]) => boolean} */
  const steady = (looks) => !looks.length && isDrawn();
  return { plot, node: panel(title, plot), lines, lay, frame, steady };
}

/** @type {(lines: SVGElement[], sides: TrainStack.Side[]) => void} */
const dress = (lines, sides) =>
  looksOf(sides).forEach((look, i) => lines[i].setAttribute("class", `mygpt-curve mygpt-curve-${look}`));

/** The loss of every stack by step.
 * @param {TrainStack.State} state */
export function lossesView(state) {
  const { plot, node, lines, lay, frame, steady } = steadyPicture("Loss by step");
  const guess = [svg("path.guess.hollow"), svg("text", { "text-anchor": "end" }, "guessing")];
  const ends = svg("g");
  plot.front.replaceChildren(...guess, ends);
  flag(node, "losses");
  function draw() {
    const looks = looksAt(state);
    if (steady(looks)) return;
    const end = lastStep(shownStep(state));
    const { scaleX, scaleY, left, right, top } = frame(
      { domain: [0, end], ticks: linearTicks(0, end, 4, 1), label: "step" },
      { domain: [0, TALLEST], ticks: linearTicks(0, 1, 2) },
    );
    const y = scaleY(Math.LN2);
    trace(guess[0], `M${left} ${y}H${right}`);
    guess[1].setAttribute("x", right - 2);
    guess[1].setAttribute("y", y - 6);
    dress(lines, state.sides);
    lines.forEach((line, i) => {
      const losses = looks[i] ? state.sides[i].now.losses.slice(0, looks[i].step + 1) : [];
      const { steps, means } = thinnedLosses(losses);
      const shown = means.map((one) => Math.min(one, 9));
      trace(line, linePath(steps, shown, scaleX, scaleY));
    });
    ends.replaceChildren(
      ...looks
        .filter(({ lost }) => lost)
        .map(({ step }) => svg("text", { x: scaleX(step) + 6, y: top + 12 }, "× diverged")),
    );
    const told = looks.map(
      ({ loss }, i) => `${sideName(state, i)}: from ${lossText(state.sides[i].now.losses[0])} to ${lossText(loss)}.`,
    );
    plot.root.ariaLabel = `The loss at each of ${shownStep(state)} steps; guessing has ${fixed(Math.LN2, 2)}. ${told.join(" ")}`;
  }
  return { node, lay, draw };
}

/** A size by block, of every stack, on a log scale.
 * @param {TrainStack.State} state
 * @param {{ title: string; what: string; key: keyof TrainStack.Sizes; first: number; label: string }} block */
function byBlockView(state, { title, what, key, first, label }) {
  const { plot, node, lines, lay, frame, steady } = steadyPicture(title);
  function draw() {
    const looks = looksAt(state);
    if (steady(looks)) return;
    const lists = looks.map(({ sizes }) => powersOf(sizes[key]));
    const last = Math.max(...state.asked.map(({ setting }) => setting.depth));
    const [low, high] = powerSpan(lists);
    const { scaleX, scaleY } = frame(
      { domain: [first, Math.max(last, first + 1)], ticks: linearTicks(first, last, 6, 1), label },
      { domain: [low - 0.1, high + 0.1], ticks: logTicks(low, high, 5) },
    );
    dress(lines, state.sides);
    lines.forEach((line, i) => {
      const list = lists[i] ?? [];
      const places = list.map((_, l) => l + first);
      const path = linePath(places, list, scaleX, scaleY);
      trace(line, path.includes("L") ? path : `${path}${path && "h0.1"}`);
    });
    const ends = looks.map(
      ({ sizes }, i) =>
        `${sideName(state, i)}: ${lossText(
          sizes[key][0],
        )} at block ${first}, ${lossText(sizes[key][sizes[key].length - 1])} at the last.`,
    );
    plot.root.ariaLabel = `${what} ${ends.join(" ")}`;
  }
  return { node, lay, draw };
}

/** @param {TrainStack.State} state */
export const signalView = (state) =>
  byBlockView(state, {
    title: "Signal after each block",
    what: "Standard deviation of what leaves each block.",
    key: "signal",
    first: 0,
    label: "block (0: what enters the first)",
  });

/** @param {TrainStack.State} state */
export const gradientView = (state) =>
  byBlockView(state, {
    title: "Gradient of each block’s first matrix",
    what: "Length of the gradient of each block's first matrix.",
    key: "gradient",
    first: 1,
    label: "block",
  });
