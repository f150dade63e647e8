// The losses of a run, and what the model wrote on its way.

import { thinnedLosses } from "../compute/losses.mjs";
import { exact } from "../kit/amounts.mjs";
import { button, control, folded } from "../kit/controls.mjs";
import { flag, html, svg, trace } from "../kit/elements.mjs";
import { fixed, linearTicks } from "../kit/geometry.mjs";
import { emptyPath, linePath, markerPath, picture, spread } from "../kit/parts/picture.mjs";
import { nothingYet, verdict } from "./words.mjs";

const MARGIN = { left: 34, right: 8, top: 12, bottom: 38 };
const NEWEST = 4; // samples beside the picture
const MOST_POINTS = 150; // of the curve of training

/** A level that a loss is compared with.
 * @type {(name: string) => { node: SVGElement; draw(at: number, axes: Kit.Axes, text: string, low: number): void }} */
function level(name) {
  const line = emptyPath(`mygpt-level ${name}`);
  const said = svg("text.level-name", { "text-anchor": "end" });
  /** @type {(at: number, axes: Kit.Axes, text: string, low: number) => void} */
  const draw = (at, { left, right, scaleY }, text, low) => {
    trace(line, `M${left} ${scaleY(at).toFixed(1)}H${right}`);
    said.setAttribute("x", String(right - 4));
    said.setAttribute("y", String(low - 5));
    said.textContent = text;
  };
  return { node: svg("g", line, said), draw };
}

/** Path data of an arrow at the border, for what lies above it.
 * @type {(x: number, y: number) => string} */
const arrowPath = (x, y) => `M${x.toFixed(1)} ${(y - 7).toFixed(1)}l4.5 8h-9Z`;

/** The losses by step: of training, thin, and on the held-out text, with dots.
 * @type {(state: TrainGPT.State) => { node: HTMLElement; lay(width: number): void; draw(): void }} */
export function lossView(state) {
  const plot = picture();
  const [learnt, held, dots, learntAbove] = [
    emptyPath("mygpt-curve mygpt-curve-0"),
    emptyPath("mygpt-curve mygpt-curve-1"),
    emptyPath("mygpt-marker mygpt-curve-1"),
    emptyPath("mygpt-marker mygpt-curve-0"),
  ];
  const [guess, bigram] = [level("mygpt-guess"), level("mygpt-bigram")];
  plot.curves.replaceChildren(guess.node, bigram.node, learnt, held, dots, learntAbove);
  const key = html("p.key", html("span.key-learnt", "training"), html("span.key-held", "held-out text"));
  const title = html("p.panel-name.ends.muted", "Loss, in nats", key);
  const node = html("div.losses", title, plot);
  const size = { width: 300, height: 276 };
  const lay = (/** @type {number} */ width) => {
    size.width = width;
  };
  const draw = () => {
    const { prepared, step, until } = state;
    const [top, low] = [prepared?.guessing ?? 4, prepared?.bigram ?? 0];
    const { steps, means } = thinnedLosses(state.losses, MOST_POINTS);
    const after = steps.map((one) => one + step - state.losses.length + 0.5);
    const highest = Math.min(1.6 * top, Math.max(1.06 * top, ...means));
    const last = Math.max(step, until);
    const axes = plot.frame({
      ...size,
      margin: MARGIN,
      x: { domain: [0, last], ticks: linearTicks(0, last, 4, 1), label: "step" },
      y: { domain: [0, highest], ticks: linearTicks(0, highest, 5) },
    });
    const { scaleX, scaleY } = axes;
    const places = spread([scaleY(top), scaleY(low)], 16, axes.top + 10, axes.bottom);
    guess.draw(top, axes, `guessing, ln V ${fixed(top, 2)}`, places[0]);
    bigram.draw(low, axes, `bigram model ${fixed(low, 2)}`, places[1]);
    for (const one of [guess, bigram]) one.node.toggleAttribute("hidden", !prepared);
    const cut = means.map((one) => Math.min(one, highest));
    trace(learnt, linePath(after, cut, scaleX, scaleY));
    const points = state.held.map(([at, loss]) => /** @type {Kit.Pair} */ ([at, Math.min(loss, highest)]));
    const [xs, ys] = [0, 1].map((i) => points.map((point) => point[i]));
    trace(held, linePath(xs, ys, scaleX, scaleY));
    const above = (/** @type {number} */ at) => arrowPath(scaleX(at), axes.top);
    const marks = state.held.map(([at, loss]) =>
      loss > highest ? above(at) : markerPath(0, scaleX(at), scaleY(loss), 2.6),
    );
    trace(dots, marks.join(""));
    const over = means.indexOf(Math.max(...means));
    trace(learntAbove, means[over] > highest ? above(after[over]) : "");
    plot.root.ariaLabel = `The loss at each of ${exact(step)} steps. ${verdict(state)}`;
  };
  return { node, lay, draw };
}

/** One text, under the step at which it was written.
 * @type {(sample: TrainGPT.Sample) => HTMLElement} */
const sampleNode = ({ step, text }) =>
  html(
    "div.sample-text.small",
    html("b.number", `step ${exact(step)}`),
    html("p", { dir: "auto", title: text }, text.replace(/\s+/g, " ")),
  );

/** The prompt of the reader, and what the model that was kept writes after it, or why it cannot.
 * @type {(state: TrainGPT.State, compose: (prompt: string) => void) => { node: HTMLElement; draw(): void }} */
function composeView(state, compose) {
  const field = control("input", {
    type: "text",
    "aria-label": "Your prompt",
    placeholder: "Your prompt",
    dir: "auto",
    onkeydown: ({ key, isComposing, target }) => key === "Enter" && !isComposing && compose(target.value),
  });
  const write = button("Write", () => compose(field.value));
  const said = html("div");
  const node = html("div.compose", field, write, said);
  const draw = () => {
    const { wrote, kept } = state;
    node.hidden = !kept;
    const known = wrote && !Number.isNaN(wrote.step);
    said.replaceChildren(...(wrote ? [known ? sampleNode(wrote) : html("p.wrong", wrote.text)] : []));
  };
  return { node, draw };
}

/** What the model wrote: the newest texts, what it writes after the reader's prompt, and folded the others.
 * @type {(state: TrainGPT.State, compose: (prompt: string) => void) => { node: HTMLElement; draw(): void }} */
export function samplesView(state, compose) {
  const newest = html("div.newest");
  const own = composeView(state, compose);
  const rest = html("div");
  const all = folded("All its texts", rest);
  const title = html("p.panel-name.ends.muted", "What it writes");
  const node = html("div.samples", title, newest, own, all);
  /** @type {TrainGPT.Sample[] | null} */
  let drawn = null;
  const none = html("p.none.muted");
  const draw = () => {
    const { samples } = state;
    own.draw();
    if (!samples.length) none.textContent = nothingYet(state);
    if (samples === drawn) return;
    drawn = samples;
    const few = samples.length > NEWEST ? [samples[0], ...samples.slice(1 - NEWEST)] : samples;
    newest.replaceChildren(...few.map(sampleNode));
    if (!samples.length) newest.append(none);
    rest.replaceChildren(...samples.map(sampleNode));
    flag(all, "away", samples.length <= NEWEST);
  };
  return { node, draw };
}
