import { doublings, exact, inWords, nearestStop, total } from "../kit/amounts.mjs";
import { stackedBar } from "../kit/bars.mjs";
import { choice, folded, stepper } from "../kit/controls.mjs";
import { html, speaker } from "../kit/elements.mjs";
import { mount, store, unfolding } from "../kit/mounting.mjs";
import { areasView } from "./areas.mjs";
import { flopsPerToken, parametersByPart, sameShape } from "./count.mjs";
import { shapeView } from "./shape.mjs";
import { memoryView, partsView } from "./tables.mjs";
import {
  PARTS,
  answerText,
  barText,
  comparedTo,
  crossingText,
  memoryText,
  problemText,
  segmentText,
  sentenceOf,
  settingText,
  shapeName,
  trainingText,
} from "./words.mjs";

/** @type {[string, string][]} */
const BAR_NAMES = [
  ["amounts", "Amounts"],
  ["shares", "Shares"],
];
const SLIM = 600; // px: under it without the shares

/** The traits are shape, length, compare and bars; the `texts` are those of the fields.
 * @param {Kit.Model<Shapes.Traits & Kit.Described>} model */
export function shapesState(model) {
  const state = store(model, {
    width: 640,
    texts: /** @type {Shapes.Texts} */ ({}),
    problem: /** @type {Shapes.Name[]} */ ([]),
    wanted: model.get("length"),
    taking: false,
    typing: false,
  });
  /** Whether what is shown is not what stands in the fields. */
  const stale = () => state.typing || state.problem.length > 0;
  /** Takes a good shape; the text is as long as the reader wanted, if there are places for it. */
  const take = (/** @type {Shapes.Shape} */ shape) => {
    const length = Math.min(state.wanted, shape.max_seq_len);
    state.taking = true;
    state.write({ ...(sameShape(shape, state.get("shape")) ? {} : { shape }), length });
    state.taking = false;
  };
  /** What is set from elsewhere is wanted. */
  const follow = () => {
    if (!state.taking) state.wanted = state.get("length");
  };
  return Object.assign(state, { take, follow, stale });
}

/** @type {(state: Shapes.State) => Kit.View} */
function lengthView(state) {
  let stops = [1];
  const part = stepper("Tokens in the text", (place) => {
    state.write({ length: stops[place] });
  });
  const draw = () => {
    const length = state.get("length");
    stops = doublings(state.get("shape").max_seq_len);
    part.show(nearestStop(stops, length), stops.length - 1, exact(length));
  };
  return { node: part.node, draw };
}

/** A stacked bar with its name and its whole.
 * @type {(second: boolean) => Shapes.Bar} */
function barView(second) {
  const [name, whole, words] = [html("span"), html("b", { class: "mygpt-number" }), html("span")];
  const bar = stackedBar(second ? 22 : 30);
  const node = html(
    "div",
    { class: second ? "mygpt-second" : "" },
    html("p", { class: "mygpt-bar-name" }, name, html("span", {}, whole, " ", words)),
    bar.node,
  );
  /** @type {Shapes.Bar["draw"]} */
  const draw = (called, parts, keys, most, width) => {
    const sum = total(parts);
    name.textContent = called;
    whole.textContent = exact(sum);
    words.textContent = sum < 1e6 ? "" : `(${inWords(sum)})`;
    const list = keys
      .flatMap(([mark, key]) => (key ? [{ mark, key }] : []))
      .map(({ mark, key }) => ({
        mark,
        amount: parts[key],
        text: (/** @type {number} */ size) => segmentText(key, parts[key] / sum, size),
      }));
    bar.draw(list, most, width, barText(called, parts));
  };
  return { node, draw };
}

/** The bars of one count, `partsOf(shape, length)`, for the shape and the one it is compared with.
 * @type {(state: Shapes.State, count: Shapes.Count) => Kit.View} */
function barsView(state, { title, partsOf, keys, shorter }) {
  const head = html("span");
  const pair = [barView(false), barView(true)];
  const node = html(
    "div",
    { class: "mygpt-bars" },
    html("p", { class: "mygpt-panel-name" }, head),
    ...pair.map((one) => one.node),
  );
  const draw = () => {
    const [shape, length] = [state.get("shape"), state.get("length")];
    head.textContent = title(length);
    const shapes = [shape, ...comparedTo(shape, state.get("compare"))];
    const lengths = shapes.map((one) => Math.min(length, one.max_seq_len));
    const counts = shapes.map((one, i) => partsOf(one, lengths[i]));
    const most = Math.max(...counts.map(total));
    pair.forEach((bar, i) => {
      bar.node.hidden = i >= shapes.length;
      if (i >= shapes.length) return;
      const whole = state.get("bars") === "shares" ? total(counts[i]) : most;
      const called = shapeName(shapes[i]) + (lengths[i] < length ? shorter(lengths[i]) : "");
      bar.draw(called, counts[i], keys, whole, state.width);
    });
  };
  return { node, draw };
}

/** @type {Shapes.Count} */
const PARAMETERS = {
  name: "Parameters",
  title: () => "Parameters",
  shorter: () => "",
  partsOf: parametersByPart,
  keys: PARTS.map(([mark, , key]) => [mark, key]),
};
/** @type {Shapes.Count} */
const FLOPS = {
  name: "FLOPs of one token",
  title: (length) => `FLOPs of one token, the last of ${exact(length)}`,
  shorter: (length) => `, the last of its ${exact(length)}`,
  partsOf: flopsPerToken,
  keys: PARTS.map(([mark, , , key]) => [mark, key]),
};

/** A paragraph that says `text(shape, length)`.
 * @type {(state: Shapes.State, name: string, text: Shapes.Saying) => Kit.View} */
function sayingView(state, name, text) {
  const node = html("p", { class: name });
  return {
    node,
    draw: () => {
      node.textContent = text(state.get("shape"), state.get("length"));
    },
  };
}

/** How many parameters, in large type, and where they are.
 * @type {(state: Shapes.State) => Kit.View} */
function answerView(state) {
  const [answer, where] = [html("b", { class: "mygpt-number" }), html("span")];
  const node = html("p", { class: "mygpt-sentence" }, answer, " ", where);
  const draw = () => {
    const { get, stale } = state;
    answer.textContent = answerText(get("shape"), stale());
    where.textContent = sentenceOf(get("shape"), get("length"));
  };
  return { node, draw };
}

/** Views as one.
 * @type {(title: string, bars: HTMLElement[], views: Kit.View[]) => Kit.View} */
function foldedViews(title, bars, views) {
  const result = html("div", { class: "mygpt-result" }, ...bars, ...views.map(({ node }) => node));
  const node = folded(title, result);
  return { node, draw: unfolding(node, () => views.forEach((view) => view.draw())) };
}

/** The bars of both counts, beside those of the size that is compared, and every part in numbers.
 * @type {(state: Shapes.State) => Kit.View} */
function everyView(state) {
  const bars = choice("What the bars show", BAR_NAMES, (value) => state.write({ bars: value }));
  const { node, draw } = foldedViews(
    "Every part, and another size beside it",
    [html("div", { class: "mygpt-head" }, bars.node)],
    [
      ...[PARAMETERS, FLOPS].map((what) => barsView(state, what)),
      partsView(state),
      ...[crossingText, trainingText].map((text) => sayingView(state, "mygpt-aside", text)),
    ],
  );
  return {
    node,
    draw: () => {
      bars.show(state.get("bars"));
      draw();
    },
  };
}

/** @type {(state: Shapes.State) => Kit.View} */
const memoryFold = (state) =>
  foldedViews("Memory", [], [memoryView(state), sayingView(state, "mygpt-aside", memoryText)]);

/** What is said to those who listen: the sizes, or what is wrong with the fields.
 * @type {(state: Shapes.State) => string} */
const spokenOf = ({ problem, texts, get }) =>
  problem.length ? problemText(problem, texts) : sentenceOf(get("shape"), get("length"));

/** @type {(given: Kit.Given<Shapes.Traits>) => () => void} */
function render({ model, el }) {
  const state = shapesState(model);
  const voice = speaker();
  const sayNow = () => voice.say(spokenOf(state));
  const wait = () => {
    root.classList.toggle("mygpt-waiting", state.stale());
    answer.draw();
  };
  const shape = shapeView(state, wait, sayNow);
  const [length, answer] = [lengthView(state), answerView(state)];
  const areas = [PARAMETERS, FLOPS].map((what) => areasView(state, what));
  const [every, memory] = [everyView(state), memoryFold(state)];
  const setting = sayingView(state, "mygpt-setting", settingText);
  const start = html("div", { class: "mygpt-start" }, shape.sizes, length.node);
  const both = html("div", { class: "mygpt-areas" }, ...areas.map(({ node }) => node));
  const root = html(
    "div",
    { class: "mygpt-explorer mygpt-shapes", role: "group", "aria-label": "Explorer of shapes" },
    html("div", { class: "mygpt-controls" }, start, shape.fields, shape.note),
    html("div", { class: "mygpt-result" }, answer.node, both),
    ...[every, memory, setting].map(({ node }) => node),
    voice.node,
  );

  const drawn = [length, answer, ...areas, every, memory, setting];
  const drawFigures = () => {
    for (const one of drawn) one.draw();
  };
  const speaking = () => {
    drawFigures();
    sayNow();
  };
  return mount({
    model,
    el,
    root,
    undo: [shape.stop, voice.stop],
    listeners: {
      shape: () => {
        shape.draw();
        speaking();
      },
      length: () => {
        state.follow();
        speaking();
      },
      compare: drawFigures,
      bars: drawFigures,
    },
    layout: (width) => {
      state.width = width;
      root.classList.toggle("mygpt-slim", width < SLIM);
      if (!state.stale()) shape.draw();
      drawFigures();
    },
  });
}

export default { render };
