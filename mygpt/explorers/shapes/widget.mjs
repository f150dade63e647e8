import { doublings, exact, inWords } from "../kit/amounts.mjs";
import { stackedBar } from "../kit/parts/bars.mjs";
import { choice, control, folded, stepper } from "../kit/controls.mjs";
import { drawAll, explorerRoot, flag, html, paragraph } from "../kit/elements.mjs";
import { nearestStop, total } from "../kit/geometry.mjs";
import { mount, store, unfolding } from "../kit/mounting.mjs";
import { pairView } from "./areas.mjs";
import { SIZES, flopsPerToken, parametersByPart, problemOf, sameShape, sizeOf } from "./count.mjs";
import { shapeView } from "./shape.mjs";
import { memoryView, partsView } from "./tables.mjs";
import {
  PARTS,
  answerText,
  barText,
  comparedTo,
  crossingText,
  heldText,
  markOf,
  memoryText,
  problemText,
  segmentText,
  sentenceOf,
  settingText,
  shapeName,
  trainingText,
  workText,
} from "./words.mjs";

const BAR_NAMES = Object.entries({ amounts: "Amounts", shares: "Shares" });
const SLIM = 600; // px: under it without the shares

/** The traits are shape, length, compare, bars and part; the `texts` are those of the fields.
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
    state.write({ ...(sameShape(shape, state.shape) ? {} : { shape }), length });
    state.taking = false;
  };
  /** What is set from elsewhere is wanted. */
  const follow = () => {
    if (!state.taking) state.wanted = state.length;
  };
  return Object.assign(state, { take, follow, stale });
}

/** @type {(state: Shapes.State) => Kit.View} */
function lengthView(state) {
  let stops = [1];
  const part = stepper("Text length", (place) => {
    state.write({ length: stops[place] });
  });
  const draw = () => {
    const { length } = state;
    stops = doublings(state.shape.max_seq_len);
    part.show(nearestStop(stops, length), stops.length - 1, exact(length));
  };
  return { node: part.node, draw };
}

/** A stacked bar with its name and its whole.
 * @param {boolean} second */
function barView(second) {
  const [name, whole, words] = [html("span"), html("b.number"), html("span")];
  const bar = stackedBar(second ? 22 : 30);
  const node = html(
    "div",
    { class: second ? "mygpt-second" : "" },
    html("p.bar-name.ends", name, html("span", whole, " ", words)),
    bar,
  );
  /** @type {(called: string, parts: Record<string, number>, keys: Shapes.Count["keys"], most: number, width: number) => void} */
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
  const node = html("div.bars", html("p.panel-name", head), pair);
  const draw = () => {
    const { shape, length } = state;
    head.textContent = title(length);
    const shapes = [shape, ...comparedTo(shape, state.compare)];
    const lengths = shapes.map((one) => Math.min(length, one.max_seq_len));
    const counts = shapes.map((one, i) => partsOf(one, lengths[i]));
    const most = Math.max(...counts.map(total));
    pair.forEach((bar, i) => {
      bar.node.hidden = i >= shapes.length;
      if (i >= shapes.length) return;
      const whole = state.bars === "shares" ? total(counts[i]) : most;
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
const sayingView = ({ get }, name, text) => paragraph(name, () => text(get("shape"), get("length")));

/** The name of the shape and how many parameters it has: in large type, or where its fields are.
 * @type {(state: Shapes.State, name?: string) => Kit.View} */
const answerView = (state, name = "mygpt-answer") =>
  paragraph(`${name} mygpt-number`, () => answerText(state.shape, state.stale()));

/** What the part that is chosen holds and does.
 * @type {(state: Shapes.State) => Kit.View} */
function sentenceView(state) {
  const [held, work] = [html("b.number"), html("span.number")];
  const node = html("p.sentence", held, " ", work);
  const draw = () => {
    const mark = markOf(state.part);
    held.textContent = heldText(state.shape, mark);
    work.textContent = workText(state.shape, state.length, mark);
  };
  return { node, draw };
}

/** Which size stands beside the shape in the bars.
 * @type {(state: Shapes.State) => Kit.View} */
function besideView(state) {
  const options = [...Object.keys(SIZES), ""].map((value) =>
    html("option", { value }, value ? shapeName(SIZES[value]) : "nothing"),
  );
  const list = control("select", { onchange: () => state.write({ compare: list.value }) }, options);
  const note = html("span");
  const node = html("label.beside.flow.label", html("span", "Beside it"), list, note);
  const draw = () => {
    list.value = state.compare;
    note.textContent = sizeOf(state.shape) === list.value ? "the same: choose another" : "";
  };
  return { node, draw };
}

/** Views as one.
 * @type {(title: string, bars: HTMLElement[], views: Kit.View[]) => Kit.View} */
function foldedViews(title, bars, views) {
  const result = html("div.result", bars, views);
  const node = folded(title, result);
  return { node, draw: unfolding(node, () => drawAll(views)) };
}

/** The bars of both counts, beside those of the size that is compared, and every part in numbers.
 * @type {(state: Shapes.State) => Kit.View} */
function everyView(state) {
  const bars = choice("What the bars show", BAR_NAMES, (value) => state.write({ bars: value }));
  const beside = besideView(state);
  const { node, draw } = foldedViews(
    "Every part, and another size beside it",
    [html("div.head", beside, bars)],
    [
      ...[PARAMETERS, FLOPS].map((what) => barsView(state, what)),
      partsView(state),
      ...[crossingText, trainingText].map((text) => sayingView(state, "mygpt-aside", text)),
    ],
  );
  return {
    node,
    draw: () => {
      bars.show(state.bars);
      beside.draw();
      draw();
    },
  };
}

/** @type {(state: Shapes.State) => Kit.View} */
const memoryFold = (state) =>
  foldedViews("Memory", [], [memoryView(state), sayingView(state, "mygpt-aside", memoryText)]);

/** What is said to those who listen: the sizes, or what is wrong with the fields.
 * @type {(state: Shapes.State) => string} */
const spokenOf = ({ problem, texts, shape, length, part }) =>
  problem.length ? problemText(problem, texts) : sentenceOf(shape, length, markOf(part));

/** Draws a new shape. One that is set from elsewhere and is none goes back, and the refusal is said; a kernel refuses
 * it itself.
 * @type {(model: Kit.Model<Shapes.Traits & Kit.Described>, state: Shapes.State, refusal: HTMLElement, draw: () => void) => () => void} */
function checked(model, state, refusal, draw) {
  let last = state.shape;
  return () => {
    const { shape } = state;
    const texts = /** @type {Shapes.Texts} */ (
      Object.fromEntries(Object.entries(shape).map(([name, value]) => [name, String(value)]))
    );
    const problem = problemOf(texts);
    if (sameShape(shape, last) && !refusal.hidden) return; // it has gone back
    refusal.hidden = problem.length === 0;
    if (problem.length) {
      refusal.textContent = `Not set. ${problemText(problem, texts)} ${answerText(last, true)}.`;
      model.set("shape", last);
      return;
    }
    last = shape;
    if (!state.taking && !model.widget_manager) state.take(shape);
    draw();
  };
}

/** @type {(given: Kit.Given<Shapes.Traits>) => () => void} */
function render({ model, el }) {
  const state = shapesState(model);
  const sayNow = () => voice.say(spokenOf(state));
  const wait = () => {
    flag(root, "waiting", state.stale());
    drawAll([answer, pinned]);
  };
  const shape = shapeView(state, wait, sayNow);
  const [answer, pinned] = [answerView(state), answerView(state, "mygpt-pinned")];
  const [length, sentence] = [lengthView(state), sentenceView(state)];
  const both = pairView(state, [PARAMETERS, FLOPS]);
  const [every, memory] = [everyView(state), memoryFold(state)];
  const setting = sayingView(state, "mygpt-setting", settingText);
  const refusal = html("p.refusal", { role: "alert", hidden: true });
  const { root, voice } = explorerRoot(
    "shapes mygpt-roomy",
    "Explorer of shapes",
    refusal,
    html("div.top.inline", answer, shape.sizes),
    html("div.result", both, sentence),
    html("div.controls", length),
    folded("Own shape", pinned, html("div.numbers", shape.fields), shape.note),
    [every, memory, setting],
  );
  const drawn = [length, answer, pinned, sentence, both, every, memory, setting];
  const drawFigures = () => {
    drawAll(drawn);
  };
  const speaking = () => {
    drawFigures();
    sayNow();
  };
  return mount({ model, el }, { root, voice }, state, {
    undo: [shape.stop],
    listeners: {
      shape: checked(model, state, refusal, () => {
        shape.draw();
        speaking();
      }),
      length: () => {
        state.follow();
        speaking();
      },
      "compare bars": drawFigures,
      part: speaking,
    },
    layout: (width) => {
      flag(root, "slim", width < SLIM);
      if (!state.stale()) shape.draw();
      drawFigures();
    },
  });
}

export default { render };
