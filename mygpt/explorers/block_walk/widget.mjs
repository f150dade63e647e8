import { blockDrawing } from "../kit/block.mjs";
import { button, choice, folded } from "../kit/controls.mjs";
import { UNHEARD, explorerRoot, flag, html, paragraph, svg, titled, tooltip, trace } from "../kit/elements.mjs";
import { bandScale, barBox, extent, fixed, floats, linearScale, linearTicks, momentsOf } from "../kit/geometry.mjs";
import { mount, store, allViews } from "../kit/mounting.mjs";
import { padded, picture } from "../kit/parts/picture.mjs";

const DECIMALS = 3;
const MARGIN = { left: 42, right: 6, top: 8, bottom: 42 };
const STRIP = 30; // px
const WIDE = 600; // px
const OUTLINED = 14; // px: a thinner bar has a cap where it stood before

/** The vector of one stage at one position, among all that came as one row of numbers.
 * @type {(numbers: Float32Array, shape: { widths: number[]; positions: number }, stage: number, position: number) => Float32Array} */
export function vectorAt(numbers, { widths, positions }, stage, position) {
  const before = widths.slice(0, stage).reduce((total, width) => total + width * positions, 0);
  const start = before + position * widths[stage];
  return numbers.subarray(start, start + widths[stage]);
}

/** The length of a vector.
 * @type {(vector: Float32Array) => number} */
export function normOf(vector) {
  return Math.sqrt(vector.reduce((total, number) => total + number ** 2, 0));
}

/** The bars of one sign as one path in a box of 100 by `height`, zero in the middle.
 * @type {(vector: Float32Array, limit: number, height: number, negative?: boolean) => string} */
export function stripPath(vector, limit, height, negative = false) {
  const band = bandScale(vector.length, 0, 100, vector.length > 40 ? 0 : 0.2);
  const scale = linearScale([-limit, limit], [height, 0]);
  return Array.from(vector, (number, i) => {
    if (number < 0 !== negative) return "";
    const { start, size } = barBox(number, scale, 0, 0.5);
    const x = band.start(i).toFixed(2);
    return `M${x} ${start.toFixed(2)}h${band.width.toFixed(2)}v${size.toFixed(2)}h${(-band.width).toFixed(2)}Z`;
  }).join("");
}

/** The traits are stage and position.
 * @param {Kit.Model<BlockWalk.Traits & Kit.Described>} model */
export function walkState(model) {
  const [names, notes, tokens] = [model.get("names"), model.get("notes"), model.get("tokens")];
  const [before, widths, parts] = [model.get("before"), model.get("widths"), model.get("parts")];
  const shape = { widths, positions: tokens.length };
  const numbers = floats(model.get("data"));
  const state = store(model, { names, notes, before, widths, parts, tokens, width: 640 });
  const vectorOf = (/** @type {number} */ stage, /** @type {number} */ position) =>
    vectorAt(numbers, shape, stage, position);
  const vector = (/** @type {number} */ stage) => vectorOf(stage, state.position);
  /** Of every word: they share each scale. */
  const everyVector = (/** @type {number} */ stage) => tokens.map((_, position) => vectorOf(stage, position));
  /** Whether a stage's bars are too thin for an outline to be seen around them. */
  const thin = (/** @type {number} */ stage) => (state.width - MARGIN.left - MARGIN.right) / widths[stage] < OUTLINED;
  return Object.assign(state, { vector, everyVector, thin });
}

/** @type {(value: number) => string} */
const numberText = (value) => fixed(value, DECIMALS);

/** @type {(state: BlockWalk.State) => string} */
function placeText({ tokens, position }) {
  return `position ${position}, “${tokens[position]}”`;
}

/** @type {(vector: Float32Array) => string} */
function momentsText(vector) {
  const { mean, std } = momentsOf(vector);
  return `length ${numberText(normOf(vector))}, mean ${numberText(mean)}, std ${numberText(std)}`;
}

/** What is said of the stage whose vector is the longest.
 * @type {(state: { names: string[]; vector(stage: number): Float32Array }, stage: number) => string} */
export function longestText({ names, vector }, stage) {
  const lengths = names.map((_, i) => normOf(vector(i)));
  return lengths[stage] === Math.max(...lengths) ? `, the longest of the ${names.length}` : "";
}

/** What is said of what a stage is drawn over: its name, and of a sum that is shorter that this can be.
 * @type {(name: string, now: Float32Array, old: Float32Array) => string} */
export const beforeText = (name, now, old) => (normOf(now) < normOf(old) ? `${name}; a sum can be shorter` : name);

/** @type {(state: BlockWalk.State, stage: number) => string} */
function noteText({ names, notes, before, vector, thin }, stage) {
  const at = before[stage];
  if (at < 0) return notes[stage];
  const old = beforeText(names[at], vector(stage), vector(at));
  return `${notes[stage]} ${thin(stage) ? "Short lines" : "Dashed"}: ${old}.`.trim();
}

/** @type {(state: BlockWalk.State) => string} */
function sentenceOf(state) {
  const { stage } = state;
  return `${state.names[stage]}, ${placeText(state)}: ${state.widths[stage]} channels, ${momentsText(
    state.vector(stage),
  )}${longestText(state, stage)}. ${noteText(state, stage)}`;
}

/** The words, of which one is chosen.
 * @type {(state: BlockWalk.State) => { node: HTMLElement; drawPosition(): void }} */
function wordsView({ tokens, get, write }) {
  /** @type {[number, Node][]} */
  const words = tokens.map((token, position) => [position, titled(token || "(empty)")]);
  const { node, show } = choice("Position", words, (position) => write({ position }));
  flag(node, "words");
  return { node, drawPosition: () => show(get("position")) };
}

/** The buttons back and on, which rest at the ends.
 * @type {(state: BlockWalk.State) => { node: HTMLElement; drawStage(): void }} */
function stepsView({ names, get, write }) {
  const steps = [
    { text: "Back", step: -1, end: "first" },
    { text: "Next", step: 1, end: "last" },
  ].map((one) => ({ ...one, ...button(one.text, () => write({ stage: get("stage") + one.step })) }));
  const drawStage = () =>
    steps.forEach(({ node, able, step, end }) => {
      const ready = get("stage") + step in names;
      able(ready);
      node.title = ready ? "" : `This is the ${end} stage`;
    });
  return { node: html("div.walk", steps), drawStage };
}

/** The drawn block with the length of each stage's vector, of which a stage is chosen.
 * @type {(state: BlockWalk.State) => { node: HTMLElement; lay(): void; drawPosition(): void; drawStage(): void }} */
function blockView(state) {
  const { names, parts, vector, everyVector, get, write } = state;
  const most = Math.max(...names.flatMap((_, stage) => everyVector(stage).map(normOf)));
  const stages = names.map((name, i) => ({ name, place: parts[i] }));
  const { node, lay, fill, show } = blockDrawing("Stage", stages, (stage) => write({ stage }));
  const drawPosition = () => {
    const lengths = names.map((_, stage) => normOf(vector(stage)));
    const said = names.map((name, i) => `${name} ${numberText(lengths[i])}`).join(", ");
    fill(
      lengths.map((amount) => ({ amount, text: numberText(amount) })),
      `The way through the block at ${placeText(state)}. Lengths: ${said}.`,
      most,
    );
  };
  return { node, lay: () => lay(state.width), drawPosition, drawStage: () => show(get("stage")) };
}

/** The stage's name and moments, and its note; the notes share one place under the bars, as high as the longest.
 * @type {(state: BlockWalk.State) => { name: HTMLElement; note: HTMLElement; drawPosition(): void; drawStage(): void }} */
function headView(state) {
  const { names } = state;
  const name = html("b");
  const says = html("span.number");
  const notes = names.map(() => html("span"));
  const title = html("p.stage-name.ends", name, says);
  const note = html("p.note", notes);
  const drawPosition = () =>
    notes.forEach((one, stage) => {
      one.textContent = noteText(state, stage);
    });
  const drawStage = () => {
    const { stage } = state;
    name.textContent = `${stage + 1}. ${names[stage]}`;
    const longest = state.width < WIDE ? "" : longestText(state, stage); // on a phone it would take a line more
    says.textContent = momentsText(state.vector(stage)) + longest;
    notes.forEach((one, i) => flag(one, "now", i === stage));
  };
  return { name: title, note, drawPosition, drawStage };
}

/** @type {(frame: BlockWalk.Frame, i: number, kind: string, y: number, height: number | string) => SVGElement} */
function channelRect({ band }, i, kind, y, height) {
  const [x, width] = [band.start(i).toFixed(2), band.width.toFixed(2)];
  return svg("rect", { class: kind, x, width, y: y.toFixed(2), height });
}

/** One bar for each number of a vector.
 * @type {(vector: Float32Array, kind: string, frame: BlockWalk.Frame) => SVGElement[]} */
function barsOf(vector, kind, frame) {
  return Array.from(vector, (number, i) => {
    const { start, size } = barBox(number, frame.scaleY, 0, 0.5);
    return channelRect(frame, i, number < 0 ? `${kind} mygpt-negative` : kind, start, size.toFixed(2));
  });
}

/** What marks the ends of bars that are too thin for an outline.
 * @type {(vector: Float32Array, frame: BlockWalk.Frame) => SVGElement[]} */
function capsOf(vector, frame) {
  return Array.from(vector, (number, i) => channelRect(frame, i, "mygpt-cap", frame.scaleY(number) - 1, 2));
}

/** The range of all the vectors that are as wide as a stage's, of every word: they share one scale.
 * @type {(state: { widths: number[]; everyVector(stage: number): Float32Array[] }, stage: number) => Kit.Pair} */
export function domainOf({ widths, everyVector }, stage) {
  const alike = widths.flatMap((width, i) => (width === widths[stage] ? everyVector(i) : []));
  return padded(extent([...alike, [0]]) ?? [0, 0], 0.08);
}

/** The channels of the stage over those of the stage before.
 * @type {(state: BlockWalk.State) => { node: HTMLElement; drawStage(): void }} */
function plotView(state) {
  const { before, widths, vector } = state;
  const plot = picture();
  const hint = tooltip();
  plot.node.append(hint.node);
  const domains = /** @type {Map<number, Kit.Pair>} */ (new Map()); // by width
  let frame = /** @type {BlockWalk.Frame | null} */ (null);
  /** @type {(stage: number) => Float32Array} */
  const oldOf = (stage) => (before[stage] < 0 ? new Float32Array(0) : vector(before[stage]));
  const drawStage = () => {
    const { stage } = state;
    const [now, old, count] = [vector(stage), oldOf(stage), widths[stage]];
    const domain = domains.get(count) ?? domainOf(state, stage);
    domains.set(count, domain);
    const ticks = linearTicks(0, count - 1, state.width / 70, 1).map(({ at, label }) => ({ at: at + 0.5, label }));
    const axes = plot.frame({
      width: state.width,
      height: 190,
      margin: MARGIN,
      x: { domain: [0, count], ticks, label: "channel" },
      y: { domain, ticks: linearTicks(...domain, 5), strong: 0 },
    });
    frame = { ...axes, band: bandScale(count, axes.left, axes.right, count > 80 ? 0 : 0.2) };
    const outlines = state.thin(stage) ? capsOf(old, frame) : barsOf(old, "mygpt-outline", frame);
    plot.curves.replaceChildren(...barsOf(now, "mygpt-bar", frame), ...outlines);
    plot.root.ariaLabel = `${state.description} ${sentenceOf(state)}`;
    hint.hide();
  };
  /** @type {(event: PointerEvent) => void} */
  const drawHint = (event) => {
    const { stage } = state;
    if (!frame) return;
    const { band, scaleY } = frame;
    const channel = band.invert(plot.pointerX(event));
    const [now, old] = [vector(stage), oldOf(stage)];
    const points = Array.from(now, (number, i) => /** @type {Kit.Pair} */ ([band.middle(i), scaleY(number)]));
    /** @type {(text: string, number: number) => HTMLElement} */
    const value = (text, number) => html("span", text, html("b", numberText(number)));
    hint.show(band.middle(channel), frame, state.width, points, [
      html("strong", `Channel ${channel}`),
      value("value", now[channel]),
      ...(old.length ? [value("before", old[channel])] : []),
    ]);
  };
  plot.root.addEventListener("pointermove", drawHint); // a finger's too: there is no cursor to move
  plot.root.addEventListener("pointerleave", hint.hide);
  return { node: plot.node, drawStage };
}

/** Every stage as a strip of its channels, with its length, for those who unfold it.
 * @type {(state: BlockWalk.State) => { node: HTMLElement; drawPosition(): void; drawStage(): void }} */
function stagesView({ names, vector, everyVector, get, write }) {
  const rows = names.map((text, stage) => {
    const paths = ["mygpt-bar", "mygpt-bar mygpt-negative"].map((kind) => svg("path", { class: kind }));
    const strip = svg("svg.strip", UNHEARD, { viewBox: `0 0 100 ${STRIP}`, preserveAspectRatio: "none" }, paths);
    const length = html("span.number");
    const name = html("span", html("bdi", text));
    const node = html("div.row", { onclick: () => write({ stage }) }, name, strip, length);
    return { node, paths, length };
  });
  const heads = ["stage", "channels", "length"].map((text) => html("span", text));
  const head = html("p.stages-head", heads);
  const table = html("div.stages", head, rows);
  const node = folded("All stages on one scale", table);
  const drawPosition = () => {
    if (!node.open) return;
    const vectors = names.map((_, stage) => vector(stage));
    const every = names.flatMap((_, stage) => everyVector(stage));
    const limit = Math.max(...(extent(every) ?? [0, 0]).map(Math.abs), 1e-9);
    rows.forEach(({ paths, length }, i) => {
      paths.forEach((path, sign) => trace(path, stripPath(vectors[i], limit, STRIP, sign === 1)));
      length.textContent = numberText(normOf(vectors[i]));
    });
  };
  const drawStage = () => rows.forEach((row, i) => flag(row.node, "now", i === get("stage")));
  node.addEventListener("toggle", drawPosition);
  return { node, drawPosition, drawStage };
}

/** @type {(given: Kit.Given<BlockWalk.Traits>) => () => void} */
function render({ model, el }) {
  const state = walkState(model);
  const views = allViews(state, wordsView, stepsView, blockView, headView, plotView, stagesView);
  const [words, steps, block, head, plot, stages] = views;
  const placed = () => `Stage ${state.stage + 1} of ${state.names.length}, ${placeText(state)}.`;
  const setting = paragraph("mygpt-setting", placed);
  const explorer = explorerRoot(
    "block-walk",
    "Walk through a block",
    html("div.steps.ends", words, steps),
    block,
    html("p.key.muted.fine", "Thicker line: longer vector. Bold: the longest."),
    head.name,
    plot,
    head.note,
    stages,
    setting,
  );

  const drawStage = () => {
    for (const view of [steps, block, head, plot, stages]) view.drawStage();
    setting.draw();
  };
  const drawPosition = () => {
    [words, block, head, stages].forEach((view) => view.drawPosition());
    drawStage();
  };
  const said = () => sentenceOf(state);
  return mount({ model, el }, explorer, state, {
    listeners: { stage: [drawStage, said], position: [drawPosition, said] },
    layout: () => {
      block.lay();
      drawPosition();
    },
  });
}

export default { render };
