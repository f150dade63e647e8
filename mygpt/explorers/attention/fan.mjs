// The lines from the word that reads to the words that it reads.

import { descending } from "../kit/geometry.mjs";
import { UNHEARD, flag, html, svg, titled, trace } from "../kit/elements.mjs";
import { rowLabels } from "../kit/parts/heat.mjs";
import { shareAt } from "../kit/pointers.mjs";

export const fanWidth = 96; // px, beside the map
const WORD_ROOM = 16; // px that a word needs
const THICKEST = 12; // px
const FAINTEST = 0.005; // a smaller weight has no line

/** Which words have room where each needs LEAST of `height` pixels, those with the largest weights first.
 * @type {(weights: Kit.Numbers, height: number) => boolean[]} */
export function labelled(weights, height) {
  const step = height / weights.length;
  /** @type {number[]} */
  const taken = [];
  const order = descending(weights);
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
  const weight = html("span.number.weight");
  const comma = () => html("span.unseen", ", ");
  const at = html("span.unseen", String(place));
  const node = html("li", at, comma(), titled(word, html("bdi.clipped")), comma(), weight);
  node.style.top = `${(100 * (place + 0.5)) / count}%`;
  return { node, weight };
}

/** Lines as thick as the weights of the chosen row; a weight is written here where its cell has no room for it.
 * @type {(state: Attention.State) => { node: HTMLElement; lay(): void; draw(): void }} */
export function fanView(state) {
  const { words, length } = state;
  const readers = rowLabels(words);
  const lines = words.map(() => svg("path"));
  const picture = svg("svg.lines", UNHEARD, { preserveAspectRatio: "none" }, lines);
  const read = words.map((word, place) => readWord(word, place, length));
  const list = html("ul.weights.fine.list", { "aria-label": "Weights of the row" }, read);
  const node = html("div.fan", readers, picture, list);
  readers.node.addEventListener("click", (event) => {
    const row = Math.floor(shareAt(readers.node, event).y * length);
    if (row in words) state.write({ row });
  });
  const across = () => (state.stacked ? state.room - state.named : fanWidth);
  const lay = () => {
    node.style.height = `${state.fan}px`;
    picture.setAttribute("viewBox", `0 0 ${across()} ${state.fan}`);
    flag(node, "numbered", !state.numbered);
  };
  const draw = () => {
    const { row } = state;
    const [weights, can] = [state.rowWeights(row), state.readable(row)];
    const most = weights.indexOf(Math.max(...weights));
    const seen = labelled(weights, state.fan);
    readers.draw({ height: state.fan, chosen: row });
    lines.forEach((line, place) => {
      const thick = weights[place] < FAINTEST ? 0 : Math.max(0.75, THICKEST * weights[place]);
      trace(line, fanLine(row, place, state.fan / length, across()));
      line.setAttribute("stroke-width", thick.toFixed(2));
    });
    read.forEach(({ node: word, weight }, place) => {
      weight.textContent = state.weightText(row, place);
      flag(word, "masked", place >= can);
      flag(weight, "unseen", state.numbered || place >= can); // its cell says it already
      flag(word, "largest", place === most);
      flag(word, "unseen", !seen[place]);
    });
  };
  return { node, lay, draw };
}
