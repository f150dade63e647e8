import { doublings, exact, inWords, nearestStop, total } from "../kit/amounts.mjs";
import { stackedBar } from "../kit/bars.mjs";
import { choice, named, stepper } from "../kit/controls.mjs";
import { html, speaker } from "../kit/elements.mjs";
import { mount, store } from "../kit/mounting.mjs";
import { numberField } from "../kit/fields.mjs";
import { LIMITS, SIZES, flopsPerToken, parametersByPart, problemOf, sameShape, shapeOf, sizeOf } from "./count.mjs";
import { memoryView, partsView } from "./tables.mjs";
import {
  FIELDS,
  PARTS,
  barText,
  comparedTo,
  crossingText,
  derivedText,
  memoryText,
  problemText,
  segmentText,
  sentenceOf,
  settingText,
  shapeName,
  trainingText,
} from "./words.mjs";

/** @type {[string, string][]} */
const SIZE_NAMES = [
  ["small", "Small"],
  ["medium", "Medium"],
  ["large", "Large"],
  ["xl", "XL"],
];
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
  });
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
  return Object.assign(state, { take, follow });
}

/** GPT-2's sizes, the five numbers of a shape, and what is expected of them.
 * @type {(state: Shapes.State, tell: () => void) => Kit.View} */
function shapeView(state, tell) {
  const id = `mygpt-shapes-${Math.random().toString(36).slice(2)}`;
  const sizes = named("Sizes of GPT-2", SIZE_NAMES, (size) => {
    state.take(SIZES[size]);
    draw();
  });
  const typed = () => {
    state.texts = Object.fromEntries(fields.map(([name, { input }]) => [name, input.value]));
    state.problem = problemOf(state.texts);
    if (!state.problem.length) state.take(shapeOf(state.texts));
    drawNote();
    tell();
  };
  /** @type {[Shapes.Name, Kit.Field][]} */
  const fields = FIELDS.map(([name, label, letter]) => [
    name,
    numberField(label, letter, typed, { max: LIMITS[name], "aria-describedby": id }),
  ]);
  const note = html("p", { class: "mygpt-expected", id });
  const drawNote = () => {
    const { problem, texts, get } = state;
    for (const [name, field] of fields) field.wrong(problem.includes(name));
    note.textContent = problem.length ? problemText(problem, texts) : derivedText(get("shape"));
    note.classList.toggle("mygpt-wrong", problem.length > 0);
  };
  const draw = () => {
    const shape = state.get("shape");
    state.problem = [];
    sizes.show(sizeOf(shape));
    for (const [name, field] of fields) field.show(shape[name]);
    drawNote();
  };
  const node = html(
    "div",
    { class: "mygpt-shape" },
    sizes.node,
    html("div", { class: "mygpt-fields" }, ...fields.map(([, field]) => field.node)),
    note,
  );
  return { node, draw };
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
  title: () => "Parameters",
  shorter: () => "",
  partsOf: parametersByPart,
  keys: PARTS.map(([mark, , key]) => [mark, key]),
};
/** @type {Shapes.Count} */
const FLOPS = {
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

/** @type {[string, Shapes.Saying][]} */
const SAYINGS = [
  ["mygpt-sentence", sentenceOf],
  ["mygpt-aside", crossingText],
  ["mygpt-aside", trainingText],
  ["mygpt-aside", memoryText],
  ["mygpt-setting", settingText],
];

/** What is said to those who listen: the sizes, or what is wrong with the fields.
 * @type {(state: Shapes.State) => string} */
const spokenOf = ({ problem, texts, get }) =>
  problem.length ? problemText(problem, texts) : sentenceOf(get("shape"), get("length"));

/** @type {(given: Kit.Given<Shapes.Traits>) => () => void} */
function render({ model, el }) {
  const state = shapesState(model);
  const voice = speaker();
  const sayNow = () => voice.say(spokenOf(state));
  const bars = choice("What the bars show", BAR_NAMES, (value) => state.write({ bars: value }));
  const shape = shapeView(state, sayNow);
  const length = lengthView(state);
  const [parameters, flops] = [PARAMETERS, FLOPS].map((what) => barsView(state, what));
  const [parts, memory] = [partsView(state), memoryView(state)];
  const [sentence, crossing, training, holding, setting] = SAYINGS.map(([name, text]) => sayingView(state, name, text));
  const root = html(
    "div",
    { class: "mygpt-explorer mygpt-shapes", role: "group", "aria-label": "Explorer of shapes" },
    html("div", { class: "mygpt-controls" }, shape.node, length.node),
    sentence.node,
    html("div", { class: "mygpt-head" }, bars.node),
    ...[parameters, flops, parts, crossing, training, memory, holding, setting].map(({ node }) => node),
    voice.node,
  );

  const drawn = [length, parameters, flops, parts, memory, sentence, crossing, training, holding, setting];
  const drawFigures = () => {
    bars.show(state.get("bars"));
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
    undo: [voice.stop],
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
      if (!state.problem.length) shape.draw();
      drawFigures();
    },
  });
}

export default { render };
