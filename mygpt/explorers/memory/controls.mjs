// What is asked: the word and the token; and more neurons: how they are sorted, and which are in view.

import { combobox } from "../kit/parts/combobox.mjs";
import { button, choice, control, folded, showRange } from "../kit/controls.mjs";
import { UNHEARD, drawAll, flag, html, setAll, svg, trace } from "../kit/elements.mjs";
import { clamp, descending, times } from "../kit/geometry.mjs";
import { unfolding } from "../kit/mounting.mjs";
import { dragging, shareAt } from "../kit/pointers.mjs";
import { neuronField } from "../kit/parts/neurons.mjs";
import { activationsAt, isApart, nearest, pageOf, rangeOf, ranksInView, score } from "./state.mjs";

const SUGGESTED = 8;
const NEAREST = 5;
const [SPARK_WIDE, SPARK_TALL] = [256, 26];

/** The words that begin with a prefix; where nothing is begun, those that are added to most.
 * @type {(words: string[], totals: number[], prefix: string) => string[]} */
export function suggestions(words, totals, prefix) {
  const begun = prefix.trim().toLowerCase();
  const whole = words.some((word) => word.toLowerCase() === begun);
  const few = begun && !whole ? words.filter((word) => word.toLowerCase().startsWith(begun)) : null;
  return (few ?? descending(totals).map((place) => words[place])).slice(0, SUGGESTED);
}

/** The field of the word that is written.
 * @type {(state: Memory.State) => Kit.View} */
export function wordView(state) {
  const words = state.writing?.words ?? [];
  const name = html("span");
  const known = (/** @type {string} */ text) => words.find((word) => word.toLowerCase() === text.trim().toLowerCase());
  const box = combobox("Word to write", {
    id: `${state.id}-word`,
    span: (text) => ({ start: 0, end: text.length }),
    suggest: (prefix) => suggestions(words, state.totals, prefix),
    whole: (prefix) => known(prefix) !== undefined,
    typed: (text) => {
      const word = known(text);
      wrong(word === undefined && text.trim() !== "");
      if (word !== undefined && word !== state.word) state.write({ word, order: "adds" });
    },
    left: () => draw(),
  });
  const input = /** @type {HTMLInputElement} */ (box.node.querySelector("input"));
  input.addEventListener("focus", () => input.select());
  const node = html("label.asked.inline.muted", name, box);
  const begun = () => suggestions(words, state.totals, input.value).length > 0;
  /** @type {(now: boolean) => void} */
  function wrong(now) {
    const none = now && !begun();
    input.setAttribute("aria-invalid", none);
    flag(name, "told", none);
    flag(name, "unseen-narrow", !none);
    name.textContent = none ? `None of its ${words.length} words` : "Word to write";
  }
  function draw() {
    box.set(state.word);
    wrong(false);
  }
  return { node, draw };
}

/** @type {(state: Memory.State) => Kit.View} */
function orderView(state) {
  /** @type {[Memory.Order, string][]} */
  const every = [
    ["adds", "what it adds"],
    ["fires", "firing"],
    ["number", "number"],
  ];
  const part = choice("Sort by", state.writing ? every : every.slice(1), (order) => state.write({ order }));
  const node = html("div.order.inline.muted", html("span", UNHEARD, "Sort by"), part);
  return { node, draw: () => part.show(state.order) };
}

/** The outline of bars of so many numbers, from the line of zero.
 * @type {(numbers: number[]) => string} */
export function outline(numbers) {
  const [low, high] = [Math.min(0, ...numbers), Math.max(0, ...numbers)];
  const span = high - low || 1;
  const y = (/** @type {number} */ value) => (((high - value) / span) * SPARK_TALL).toFixed(1);
  const wide = SPARK_WIDE / numbers.length;
  const steps = numbers.map((value, i) => `V${y(value)}H${((i + 1) * wide).toFixed(2)}`);
  return `M0 ${y(0)}${steps.join("")}V${y(0)}Z`;
}

/** All neurons in their order as small bars, with a frame around those in view that can be moved.
 * @type {(state: Memory.State, turned: () => void) => Kit.View} */
function pagerView(state, turned) {
  const bars = svg("path.spark-bars");
  const frame = svg("rect.spark-frame", { y: 0, height: SPARK_TALL });
  const box = { viewBox: `0 0 ${SPARK_WIDE} ${SPARK_TALL}`, preserveAspectRatio: "none", "aria-hidden": "true" };
  const picture = svg("svg.spark.pressable", { ...box }, bars, frame);
  const oninput = () => turn(range.valueAsNumber);
  const range = control("input.over", { type: "range", min: 0, step: 1, "aria-label": "Neurons in view", oninput });
  const pages = () => pageOf(state.neurons - 1, state.count) + 1;
  /** @type {(page: number) => void} */
  const turn = (page) => {
    const now = clamp(page, 0, pages() - 1);
    if (now === state.page) return;
    state.page = now;
    turned();
  };
  /** @type {(event: MouseEvent) => void} */
  const move = (event) => turn(pageOf(Math.floor(shareAt(picture, event).x * state.neurons), state.count));
  const keep = () => turn.bind(null, state.page);
  dragging(picture, move, keep, range);
  const back = button("‹", () => turn(state.page - 1), { "aria-label": "Previous neurons" });
  const on = button("›", () => turn(state.page + 1), { "aria-label": "Next neurons" });
  const node = html("div.strip.inline", back, range, picture, on);
  function draw() {
    const { ranked, neurons, page, writing, added } = state;
    const numbers = writing && state.order !== "fires" ? added[0] : activationsAt(state);
    const sorted = ranked.map((neuron) => numbers[neuron]);
    trace(bars, outline(sorted));
    const [first, last] = ranksInView(state);
    const part = SPARK_WIDE / neurons;
    setAll(frame, { x: first * part, width: (last - first) * part });
    showRange(range, page, pages() - 1, rangeOf(state));
    back.able(page > 0);
    on.able(page < pages() - 1);
  }
  return { node, draw };
}

/** The neurons that write nearly the same as the chosen one: buttons that keep their place, and so the focus.
 * @type {(state: Memory.State) => Kit.View} */
function nearestView(state) {
  const { writing, neurons } = state;
  /** @type {[number, number][]} */
  let found = [];
  const buttons = times(Math.min(NEAREST, neurons - 1), (i) => button("", () => state.write({ neuron: found[i][0] })));
  const places = html("span.near", buttons);
  const node = html("p.nearest.flow.muted", html("span", "Nearest by what it writes (cosine)"), places);
  node.hidden = !writing || neurons === 1;
  let shown = -1;
  const draw = () => {
    const { neuron } = state;
    if (!writing || neuron === shown) return;
    shown = neuron;
    found = nearest(writing.values, writing.channels, neuron, NEAREST);
    found.forEach(([n, cosine], i) => {
      buttons[i].node.textContent = `${n} (${score(cosine)})`;
      buttons[i].node.ariaLabel = `Neuron ${n}, cosine ${score(cosine)}`;
    });
  };
  return { node, draw };
}

/** What leads to other neurons, folded: all of them as a strip, their order, their numbers, and the nearest.
 * @type {(state: Memory.State, turned: () => void) => Kit.View} */
export function moreView(state, turned) {
  const [pager, order, number, near] = [
    pagerView(state, turned),
    orderView(state),
    neuronField(state),
    nearestView(state),
  ];
  const sorting = html("div.sorting.flow", order, number);
  const node = folded("More neurons", pager, sorting, near);
  return { node, draw: unfolding(node, () => drawAll([pager, order, number, near])) };
}

/** Which neurons are in view, what they add, what the arrow keys do while they have the focus, and the way back to the first; `home` takes the focus from there.
 * @type {(state: Memory.State, turned: () => void, home: HTMLElement) => Kit.View} */
export function rangeView(state, turned, home) {
  const said = html("span");
  const name = html("span.wide", "Neurons ");
  const text = html("p.sum.number.clipped.muted", name, said);
  const back = button("Back to the first", () => {
    state.page = 0;
    state.write({ neuron: state.ranked[0] });
    turned();
    home.focus({ preventScroll: true });
  });
  const keys = html("span.keys-hint.muted.small", UNHEARD, "← → neuron, ↑ ↓ word");
  const node = html("div.range.inline", text, keys, back);
  const draw = () => {
    said.textContent = rangeOf(state);
    flag(back.node, "away", state.page === 0 && !isApart(state));
  };
  return { node, draw };
}
