// The lines from the word that reads to the words that it reads.

import { html, svg, titled } from "../kit/elements.mjs";
import { rowLabels } from "../kit/heat.mjs";

export const fanWidth = 96; // px, beside the map
const WORD_ROOM = 16; // px that a word needs
const THICKEST = 12; // px
const FAINTEST = 0.005; // a smaller weight has no line

/** Which words have room where each needs LEAST of `height` pixels, those with the largest weights first.
 * @type {(weights: ArrayLike<number>, height: number) => boolean[]} */
export function labelled(weights, height) {
  const step = height / weights.length;
  /** @type {number[]} */
  const taken = [];
  const order = Array.from(weights, (_, place) => place).sort((a, b) => weights[b] - weights[a] || a - b);
  for (const place of order) {
    if (taken.every((other) => Math.abs(other - place) * step >= WORD_ROOM)) taken.push(place);
  }
  return order.map((_, place) => taken.includes(place));
}

/** A line from the middle of one row, at the left, to that of another.
 * @type {(from: number, to: number, step: number, width: number) => string} */
export function fanLine(from, to, step, width) {
  const [start, end] = [from, to].map((place) => ((place + 0.5) * step).toFixed(1));
  return `M0 ${start}C${width / 2} ${start} ${width / 2} ${end} ${width - 4} ${end}`;
}

/** A word that may be read, with its weight.
 * @type {(word: string, place: number, count: number) => { node: HTMLElement; weight: HTMLElement }} */
function readWord(word, place, count) {
  const weight = html("span", { class: "mygpt-number mygpt-weight" });
  const comma = () => html("span", { class: "mygpt-unseen" }, ", ");
  const at = html("span", { class: "mygpt-unseen" }, String(place));
  const node = html("li", {}, at, comma(), titled(word), comma(), weight);
  node.style.top = `${(100 * (place + 0.5)) / count}%`;
  return { node, weight };
}

/** Lines as thick as the weights of the chosen row; a weight is written here where its cell has no room for it.
 * @type {(state: Attention.State) => { node: HTMLElement; lay(): void; draw(): void }} */
export function fanView(state) {
  const { words, length } = state;
  const readers = rowLabels(words);
  const lines = words.map(() => svg("path"));
  const picture = svg("svg", { class: "mygpt-lines", "aria-hidden": "true", preserveAspectRatio: "none" }, ...lines);
  const read = words.map((word, place) => readWord(word, place, length));
  const list = html(
    "ul",
    { class: "mygpt-weights", "aria-label": "Weights of the row" },
    ...read.map((one) => one.node),
  );
  const node = html("div", { class: "mygpt-fan" }, readers.node, picture, list);
  readers.node.addEventListener("click", (event) => {
    const { top, height } = readers.node.getBoundingClientRect();
    const row = Math.floor(((event.clientY - top) / height) * length);
    if (row in words) state.write({ row });
  });
  const across = () => (state.stacked ? state.room - state.named : fanWidth);
  const lay = () => {
    node.style.height = `${state.fan}px`;
    picture.setAttribute("viewBox", `0 0 ${across()} ${state.fan}`);
    node.classList.toggle("mygpt-numbered", !state.numbered);
  };
  const draw = () => {
    const row = state.get("row");
    const [weights, can] = [state.rowWeights(row), state.readable(row)];
    const most = weights.indexOf(Math.max(...weights));
    const seen = labelled(weights, state.fan);
    readers.draw({ height: state.fan, chosen: row });
    lines.forEach((line, place) => {
      const thick = weights[place] < FAINTEST ? 0 : Math.max(0.75, THICKEST * weights[place]);
      line.setAttribute("d", fanLine(row, place, state.fan / length, across()));
      line.setAttribute("stroke-width", thick.toFixed(2));
    });
    read.forEach(({ node: word, weight }, place) => {
      weight.textContent = state.weightText(row, place);
      word.classList.toggle("mygpt-masked", place >= can);
      word.classList.toggle("mygpt-largest", place === most);
      word.classList.toggle("mygpt-unseen", !seen[place]);
    });
  };
  return { node, lay, draw };
}
