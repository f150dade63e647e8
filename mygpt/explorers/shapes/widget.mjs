import { doublings, exact, inBytes, inWords, nearestStop, percent, total } from "../kit/amounts.mjs";
import { stackedBar, swatch } from "../kit/bars.mjs";
import { choice, html, mount, named, speaker, stepper, store } from "../kit/drawing.mjs";
import { numberField } from "../kit/fields.mjs";
import { readings } from "../kit/picture.mjs";
import {
  LIMITS, SIZES, flopsPerToken, memoryOf, parametersByPart, problemOf, sameShape, shapeOf, sizeOf,
} from "./count.mjs";
import {
  FIELDS, PARTS, barText, comparedTo, crossingText, derivedText, memoryText, problemText, segmentText, sentenceOf,
  settingText, shapeName, trainingText,
} from "./words.mjs";

const SIZE_NAMES = [["small", "Small"], ["medium", "Medium"], ["large", "Large"], ["xl", "XL"]];
const BAR_NAMES = [["amounts", "Amounts"], ["shares", "Shares"]];
const SLIM = 600; // px: under it without the shares
const ROOMY = 720; // px: from it on numbers of any length in the tables
const LONG = 13; // signs of the others

/** The traits are shape, length, compare and bars; the `texts` are those of the fields. */
function shapesState(model) {
  const state = store(model, { width: 640, texts: {}, problem: [], wanted: model.get("length"), taking: false });
  /** Takes a good shape; the text is as long as the reader wanted, if there are places for it. */
  state.take = (shape) => {
    const length = Math.min(state.wanted, shape.max_seq_len);
    state.taking = true;
    state.write({ ...(sameShape(shape, state.get("shape")) ? {} : { shape }), length });
    state.taking = false;
  };
  /** What is set from elsewhere is wanted. */
  state.follow = () => {
    if (!state.taking) state.wanted = state.get("length");
  };
  return state;
}

/** GPT-2's sizes, the five numbers of a shape, and what is expected of them. */
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
  const fields = FIELDS.map(([name, label, letter]) =>
    [name, numberField(label, letter, typed, { max: LIMITS[name], "aria-describedby": id })]);
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
  const node = html("div", { class: "mygpt-shape" }, sizes.node,
    html("div", { class: "mygpt-fields" }, ...fields.map(([, field]) => field.node)), note);
  return { node, draw };
}

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

/** A stacked bar with its name and its whole. */
function barView(second) {
  const [name, whole, words] = [html("span"), html("b", { class: "mygpt-number" }), html("span")];
  const bar = stackedBar(second ? 22 : 30);
  const node = html("div", { class: second ? "mygpt-second" : "" },
    html("p", { class: "mygpt-bar-name" }, name, html("span", {}, whole, " ", words)), bar.node);
  const draw = (called, parts, keys, most, width) => {
    const sum = total(parts);
    name.textContent = called;
    whole.textContent = exact(sum);
    words.textContent = sum < 1e6 ? "" : `(${inWords(sum)})`;
    const list = keys.filter(([, key]) => key).map(([mark, key]) => ({
      mark, amount: parts[key], text: (size) => segmentText(key, parts[key] / sum, size),
    }));
    bar.draw(list, most, width, barText(called, parts));
  };
  return { node, draw };
}

/** The bars of one count, `partsOf(shape, length)`, for the shape and the one it is compared with. */
function barsView(state, { title, partsOf, keys, shorter }) {
  const head = html("span");
  const pair = [barView(false), barView(true)];
  const node = html("div", { class: "mygpt-bars" },
    html("p", { class: "mygpt-panel-name" }, head), ...pair.map((one) => one.node));
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

const PARAMETERS = {
  title: () => "Parameters",
  shorter: () => "",
  partsOf: parametersByPart,
  keys: PARTS.map(([mark, , key]) => [mark, key]),
};
const FLOPS = {
  title: (length) => `FLOPs of one token, the last of ${exact(length)}`,
  shorter: (length) => `, the last of its ${exact(length)}`,
  partsOf: flopsPerToken,
  keys: PARTS.map(([mark, , , key]) => [mark, key]),
};

/** A whole number, in words where there is no room for it. */
function cellText(number, width) {
  const text = exact(number);
  return width >= ROOMY || text.length <= LONG ? text : inWords(number);
}

function partsView(state) {
  const names = PARTS.map(([mark, name]) =>
    html("span", { class: "mygpt-named-part" }, swatch(mark), html("span", {}, name)));
  const table = readings("Parameters and FLOPs of every part", "Part", [
    ["parameters", "parameters"], ["held", "share"], ["flops", "FLOPs of a token"], ["work", "share"],
  ], [...names, html("b", {}, "all")]);
  const draw = () => {
    const shape = state.get("shape");
    const [held, work] = [parametersByPart(shape), flopsPerToken(shape, state.get("length"))];
    const write = (cells, parts, key, [amount, share]) => {
      const value = key === "" ? total(parts) : parts[key];
      cells[amount].textContent = key === null ? "–" : cellText(value, state.width);
      cells[share].textContent = key === null ? "–" : percent(value / total(parts));
    };
    [...PARTS, ["", "all", "", ""]].forEach(([, , one, other], i) => {
      write(table.cells[i], held, one, ["parameters", "held"]);
      write(table.cells[i], work, other, ["flops", "work"]);
    });
  };
  return { node: table.node, draw };
}

function memoryView(state) {
  const names = [
    "weights, float32", "weights, 2 bytes each", "training with AdamW", "key-value cache, float32",
    "key-value cache, 2 bytes each",
  ].map((name) => html("span", {}, name));
  const table = readings("Memory in bytes", "Memory", [["bytes", "bytes"], ["words", "that is"]], names);
  table.node.classList.add("mygpt-bytes");
  const draw = () => {
    const [four, two] = [4, 2].map((each) => memoryOf(state.get("shape"), state.get("length"), each));
    const training = four.weights + four.gradients + four["AdamW's averages"];
    const all = [four.weights, two.weights, training, four["key-value cache"], two["key-value cache"]];
    all.forEach((bytes, i) => {
      table.cells[i].bytes.textContent = exact(bytes);
      table.cells[i].words.textContent = inBytes(bytes);
    });
    const long = all.some((bytes) => exact(bytes).length > LONG + 1);
    table.node.classList.toggle("mygpt-long", long);
  };
  return { node: table.node, draw };
}

/** A paragraph that says `text(shape, length)`. */
function sayingView(state, name, text) {
  const node = html("p", { class: name });
  return { node, draw: () => { node.textContent = text(state.get("shape"), state.get("length")); } };
}

function render({ model, el }) {
  const state = shapesState(model);
  const voice = speaker();
  const sayNow = () => voice.say(state.problem.length ? problemText(state.problem, state.texts)
    : sentenceOf(state.get("shape"), state.get("length")));
  const bars = choice("What the bars show", BAR_NAMES, (value) => state.write({ bars: value }));
  const shape = shapeView(state, sayNow);
  const length = lengthView(state);
  const [parameters, flops] = [PARAMETERS, FLOPS].map((what) => barsView(state, what));
  const [parts, memory] = [partsView(state), memoryView(state)];
  const [sentence, crossing, training, holding, setting] = [
    ["mygpt-sentence", sentenceOf], ["mygpt-aside", crossingText], ["mygpt-aside", trainingText],
    ["mygpt-aside", memoryText], ["mygpt-setting", settingText],
  ].map(([name, text]) => sayingView(state, name, text));
  const root = html(
    "div", { class: "mygpt-explorer mygpt-shapes", role: "group", "aria-label": "Explorer of shapes" },
    html("div", { class: "mygpt-controls" }, shape.node, length.node),
    sentence.node, html("div", { class: "mygpt-head" }, bars.node),
    parameters.node, flops.node, parts.node, crossing.node, training.node, memory.node,
    holding.node, setting.node, voice.node);

  const drawn = [
    length, parameters, flops, parts, memory, sentence, crossing, training, holding, setting,
  ];
  const drawFigures = () => {
    bars.show(state.get("bars"));
    for (const one of drawn) one.draw();
  };
  const speaking = () => {
    drawFigures();
    sayNow();
  };
  return mount({
    model, el, root, undo: [voice.stop],
    listeners: {
      shape: () => {
        shape.draw();
        speaking();
      },
      length: () => {
        state.follow();
        speaking();
      },
      compare: drawFigures, bars: drawFigures,
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
