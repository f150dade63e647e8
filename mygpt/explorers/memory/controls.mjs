// What is asked: the word, the token, the neuron; how the neurons are sorted, and which are in view.

import { combobox } from "../kit/combobox.mjs";
import { button, choice, control } from "../kit/controls.mjs";
import { html, svg } from "../kit/elements.mjs";
import { clamp } from "../kit/geometry.mjs";
import { dragging } from "../kit/pointers.mjs";
import { neuronField, tokenSelect } from "../kit/neurons.mjs";
import { activationsAt, ask, descending, firstOf, inView, signedScore } from "./state.mjs";

const SUGGESTED = 8;
const [SPARK_WIDE, SPARK_TALL] = [256, 26];

/** The words that begin with a prefix; where nothing is begun, those that are added to most.
 * @type {(words: string[], totals: number[], prefix: string) => string[]} */
export function suggestions(words, totals, prefix) {
  const begun = prefix.trim().toLowerCase();
  const whole = words.some((word) => word.toLowerCase() === begun);
  const few = begun && !whole ? words.filter((word) => word.toLowerCase().startsWith(begun)) : null;
  return (few ?? descending(totals).map((place) => words[place])).slice(0, SUGGESTED);
}

/** The field of the word that is written; null where the explorer has no words.
 * @type {(state: Memory.State) => Kit.View | null} */
function wordView(state) {
  const { writing } = state;
  if (!writing) return null;
  const { words } = writing;
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
      if (word !== undefined && word !== state.get("word")) ask(state, { word, order: "adds" });
    },
    left: () => draw(),
  });
  const input = /** @type {HTMLInputElement} */ (box.node.querySelector("input"));
  input.addEventListener("focus", () => input.select());
  const node = html("label", { class: "mygpt-asked" }, name, box.node);
  const begun = () => suggestions(words, state.totals, input.value).length > 0;
  /** @type {(now: boolean) => void} */
  function wrong(now) {
    const none = now && !begun();
    input.setAttribute("aria-invalid", none);
    name.textContent = none ? `None of its ${words.length} words` : "Word to write";
  }
  function draw() {
    box.set(state.get("word"));
    wrong(false);
  }
  return { node, draw };
}

/** The row of fields on top: the word, the token and the neuron.
 * @type {(state: Memory.State) => Kit.View} */
export function questionView(state) {
  const word = wordView(state);
  const token = tokenSelect({ ...state, write: (changes) => ask(state, changes) });
  token.fill();
  const number = neuronField(state);
  const node = html("div", { class: "mygpt-question" }, ...(word ? [word.node] : []), token.node, number.node);
  const draw = () => {
    word?.draw();
    token.draw(state.get("token"));
    number.draw();
  };
  return { node, draw };
}

/** @type {(state: Memory.State) => Kit.View} */
export function orderView(state) {
  /** @type {[Memory.Order, string][]} */
  const every = [
    ["adds", "what it adds"],
    ["fires", "firing"],
    ["number", "number"],
  ];
  const part = choice("Sort by", state.writing ? every : every.slice(1), (order) => ask(state, { order }));
  const node = html("div", { class: "mygpt-order" }, html("span", { "aria-hidden": "true" }, "Sort by"), part.node);
  return { node, draw: () => part.show(state.get("order")) };
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
export function pagerView(state, turned) {
  const bars = svg("path", { class: "mygpt-spark-bars" });
  const frame = svg("rect", { class: "mygpt-spark-frame", y: 0, height: SPARK_TALL });
  const box = { viewBox: `0 0 ${SPARK_WIDE} ${SPARK_TALL}`, preserveAspectRatio: "none", "aria-hidden": "true" };
  const picture = svg("svg", { class: "mygpt-spark", ...box }, bars, frame);
  const range = control("input", { type: "range", min: 0, step: 1, "aria-label": "Neurons in view" });
  const pages = () => Math.ceil(state.neurons / state.count);
  /** @type {(page: number) => void} */
  const turn = (page) => {
    const now = clamp(page, 0, pages() - 1);
    if (now === state.page) return;
    state.page = now;
    turned();
  };
  range.addEventListener("input", () => turn(range.valueAsNumber));
  /** @type {(event: MouseEvent) => void} */
  const move = (event) => {
    const { left, width } = picture.getBoundingClientRect();
    turn(Math.floor((((event.clientX - left) / width) * state.neurons) / state.count));
  };
  const keep = () => turn.bind(null, state.page);
  dragging(picture, move, keep, range);
  const back = button("‹", () => turn(state.page - 1), { "aria-label": "Previous neurons" });
  const on = button("›", () => turn(state.page + 1), { "aria-label": "Next neurons" });
  const said = html("span");
  const name = html("span", { class: "mygpt-wide" }, "Neurons ");
  const head = html("p", { class: "mygpt-sum mygpt-number", "aria-hidden": "true" }, name, said);
  const strip = html("div", { class: "mygpt-strip" }, back.node, range, picture, on.node);
  const node = html("div", { class: "mygpt-pager" }, head, strip);
  function draw() {
    const { ranked, neurons, count, page, writing, added } = state;
    const numbers = writing && state.get("order") !== "fires" ? added[0] : activationsAt(state);
    const sorted = ranked.map((neuron) => numbers[neuron]);
    bars.setAttribute("d", outline(sorted));
    const first = firstOf(page, count, neurons);
    const last = Math.min(first + count, neurons);
    frame.setAttribute("x", (first / neurons) * SPARK_WIDE);
    frame.setAttribute("width", ((last - first) / neurons) * SPARK_WIDE);
    range.max = String(pages() - 1);
    range.value = String(page);
    back.able(page > 0);
    on.able(page < pages() - 1);
    said.textContent = rangeInWords(state, first, last);
    range.setAttribute("aria-valuetext", said.textContent);
  }
  return { node, draw };
}

/** Which neurons are in view, and what they add.
 * @type {(state: Memory.State, first: number, last: number) => string} */
function rangeInWords(state, first, last) {
  const { writing, neurons, added, totals, rows } = state;
  const seen = `${first + 1}–${last} of ${neurons}`;
  if (!writing) return seen;
  const here = inView(state).reduce((total, neuron) => total + added[0][neuron], 0);
  return `${seen} add ${signedScore(here)}, all ${signedScore(totals[rows[0]])}`;
}
