// The two maps, keys above and values below, that have the same neurons as columns.

import { control } from "../kit/controls.mjs";
import { html, tooltip } from "../kit/elements.mjs";
import { clamp, fixed } from "../kit/geometry.mjs";
import { rowLabels } from "../kit/heat.mjs";
import { dragging, hovering, keeping } from "../kit/pointers.mjs";
import { activationsAt, inView, limitOf, score, sentenceOf, signedScore } from "./state.mjs";

const FAINT = 0.1; // the share of the colour below which a cell has no number
const [DEEP, HIGH, LOW] = [0.56, 0.84, 0.74]; // from what share of a colour letters on it are the other ink

/** How a number looks in its cell: the share of the colour, the inks, and the text.
 * @type {(value: number, limit: number) => { share: number; classes: string; text: string }} */
export function cellOf(value, limit) {
  const share = clamp(Math.abs(value) / limit, 0, 1);
  const shown = share < FAINT ? "" : fixed(value, 1);
  const full = share > (value < 0 ? LOW : HIGH);
  const classes = [value < 0 && "mygpt-negative", share > DEEP && "mygpt-deep", full && "mygpt-full"];
  return { share, classes: classes.filter(Boolean).join(" "), text: /[1-9]/.test(shown) ? shown : "" };
}

/** Words for which a phone has no room.
 * @type {(text: string) => HTMLElement} */
const wide = (text) => html("span", { class: "mygpt-wide" }, text);

/** The legend of a map: its colours, from what to what, and of what.
 * @type {(unit: string) => { node: HTMLElement; draw(limit: number, more: boolean): void }} */
function legend(unit) {
  const [least, most] = [html("span"), html("span")];
  const ramp = html("span", { class: "mygpt-ramp mygpt-signed" });
  const node = html(
    "span",
    { class: "mygpt-legend mygpt-number", "aria-hidden": "true" },
    wide(unit),
    least,
    ramp,
    most,
  );
  /** @type {(limit: number, more: boolean) => void} */
  const draw = (limit, more) => {
    least.textContent = fixed(-limit, 1);
    most.textContent = fixed(limit, 1) + (more ? " or more" : "");
  };
  return { node, draw };
}

/** Which cell of a box of cells is under the pointer.
 * @type {(box: HTMLElement, shape: Kit.Cells, event: MouseEvent) => Kit.Cell} */
function cellUnder(box, { rows, columns }, event) {
  const { left, top, width, height } = box.getBoundingClientRect();
  const at = (/** @type {number} */ share, /** @type {number} */ count) =>
    clamp(Math.floor(share * count), 0, count - 1);
  return {
    row: at((event.clientY - top) / (height || 1), rows),
    column: at((event.clientX - left) / (width || 1), columns),
  };
}

/** What the mouse is told of the cell that it is over.
 * @type {(box: HTMLElement, shape: Kit.Cells, textOf: (row: number, column: number) => Kit.Child[]) => { node: HTMLElement; hide(): void }} */
function cellHint(box, shape, textOf) {
  const bubble = tooltip();
  const under = (/** @type {PointerEvent} */ event) => cellUnder(box, shape, event);
  const forget = hovering(box, under, (cell) => {
    if (!cell) bubble.hide();
    else {
      const { offsetLeft, offsetWidth, offsetHeight } = box;
      const y = ((cell.row + 1) * offsetHeight) / shape.rows + 6;
      const frame = { left: offsetLeft, right: offsetLeft + offsetWidth, top: y, bottom: y };
      const x = offsetLeft + ((cell.column + 0.5) * offsetWidth) / shape.columns;
      bubble.show(x, frame, offsetLeft + offsetWidth, [], textOf(cell.row, cell.column));
    }
  });
  const hide = () => {
    forget();
    bubble.hide();
  };
  return { node: bubble.node, hide };
}

/** The cells of a map alone, with the frames of the chosen row and column.
 * @type {(shape: Kit.Cells) => { box: HTMLElement; paint(cells: Memory.Cells): void }} */
function cellGrid(shape) {
  const cells = html("div", { class: "mygpt-cells", role: "img" });
  const column = html("span", { class: "mygpt-column" });
  const row = html("span", { class: "mygpt-row-frame" });
  const box = html("div", { class: "mygpt-cell-box" }, cells, row, column);
  /** @type {HTMLElement[]} */
  let spans = [];
  /** @type {string[]} */
  let looks = [];
  /** @type {(cells: Memory.Cells) => void} */
  function paint({ numbers, limit, row: at, column: chosen, label }) {
    const { rows, columns } = shape;
    if (spans.length !== rows * columns) {
      spans = Array.from({ length: rows * columns }, () => html("span"));
      looks = [];
      cells.replaceChildren(...spans);
    }
    numbers.forEach((line, r) =>
      line.forEach((value, c) => {
        const place = r * columns + c;
        const { share, classes, text } = cellOf(value, limit);
        const look = `${(100 * share).toFixed(1)}%`;
        if (looks[place] === look + classes + text) return;
        looks[place] = look + classes + text;
        spans[place].style.setProperty("--share", look);
        spans[place].className = classes;
        spans[place].textContent = text;
      }),
    );
    column.hidden = chosen < 0;
    column.style.left = `${(100 * chosen) / columns}%`;
    row.style.top = `${(100 * at) / rows}%`;
    cells.setAttribute("aria-label", label);
  }
  return { box, paint };
}

/**
 * A map of cells under a title with its legend. A cell chooses its neuron, by `choose(column)`, and the
 * name of a row that row, by `pick(row)`; `hint(row, column)` is what the mouse is told of a cell.
 * @type {(title: HTMLElement, unit: string, name: string, parts: { choose(column: number): void; pick(row: number): void; hint(row: number, column: number): Kit.Child[]; keep: () => () => void }) => Memory.CellMap}
 */
function cellMap(title, unit, name, { choose, pick, hint, keep }) {
  const shape = { rows: 1, columns: 1 };
  const colours = legend(unit);
  const labels = rowLabels([]);
  const { box, paint } = cellGrid(shape);
  const bubble = cellHint(box, shape, hint);
  let named = "";
  const grid = html("div", { class: "mygpt-cell-map" }, labels.node, box, bubble.node);
  const node = html("div", { class: name }, html("div", { class: "mygpt-map-head" }, title, colours.node), grid);
  labels.node.addEventListener("click", (event) => pick(cellUnder(box, shape, event).row));

  /** @type {Memory.CellMap["draw"]} */
  function draw(cells) {
    const { rows, limit, numbers } = cells;
    shape.rows = rows.length;
    bubble.hide();
    if (named !== rows.join("\n")) labels.fill(rows);
    named = rows.join("\n");
    const tall = rowHeight(rows.length);
    node.style.setProperty("--cell", `${tall}px`);
    node.style.setProperty("--columns", String(shape.columns));
    labels.draw({ height: tall * rows.length, chosen: cells.row });
    node.classList.toggle("mygpt-thin", tall < 16);
    paint(cells);
    const more = numbers.some((line) => line.some((value) => Math.abs(value) > limit * 1.001));
    colours.draw(limit, more);
  }
  const lay = (/** @type {number} */ columns) => {
    shape.columns = columns;
  };
  const follow = (/** @type {HTMLElement} */ keyboard) =>
    dragging(box, (event) => choose(cellUnder(box, shape, event).column), keep, keyboard);
  return { node, lay, draw, follow };
}

/** How tall the rows of a map are.
 * @type {(rows: number) => number} */
export const rowHeight = (rows) => clamp(Math.floor(170 / rows), 8, 27);

/** The map of the keys: how strongly the neurons in view fire at each word of the text.
 * @type {(state: Memory.State, actions: { token(token: number): void; neuron(neuron: number): void }) => Memory.CellMap & { draw(): void }} */
export function keysView(state, actions) {
  const { tokens, get } = state;
  const title = html(
    "p",
    { class: "mygpt-map-title" },
    html("b", {}, "Keys"),
    ": how each fires",
    wide(" at each token"),
  );
  const map = cellMap(title, "activation", "mygpt-keys", {
    choose: (at) => actions.neuron(inView(state)[at]),
    pick: actions.token,
    keep: keeping(state, "neuron"),
    hint: (row, at) => {
      const neuron = inView(state)[at];
      const value = html("b", {}, score(activationsAt(state, row)[neuron]));
      return [html("strong", {}, `Neuron ${neuron}`), html("span", {}, html("bdi", {}, tokens[row]), value)];
    },
  });
  const draw = () => {
    const seen = inView(state);
    const numbers = tokens.map((_, token) => seen.map((neuron) => activationsAt(state, token)[neuron]));
    map.draw({
      rows: tokens,
      numbers,
      limit: limitOf([activationsAt(state)]),
      row: get("token"),
      column: seen.indexOf(get("neuron")),
      label: `${get("description")} In view: ${inWords(state, seen, numbers[get("token")], score)}. ${sentenceOf(state)}`,
    });
  };
  return { ...map, draw };
}

/** @type {(state: Memory.State, seen: number[], numbers: number[], write: (value: number) => string) => string} */
const inWords = (state, seen, numbers, write) =>
  seen.map((neuron, i) => `neuron ${neuron} ${write(numbers[i])}`).join(", ");

/** The map of the values: what the neurons in view add to the score of each of some words.
 * @type {(state: Memory.State, actions: { word(word: string): void; neuron(neuron: number): void }) => Memory.CellMap & { draw(): void }} */
export function valuesView(state, actions) {
  const { writing, get, tokens } = state;
  const words = writing?.words ?? [];
  const at = html("bdi");
  const of = html("span", { class: "mygpt-wide" }, " to a word’s score");
  const title = html("p", { class: "mygpt-map-title" }, html("b", {}, "Values"), ": what each adds", of, " at ", at);
  const map = cellMap(title, "added", "mygpt-values", {
    choose: (column) => actions.neuron(inView(state)[column]),
    pick: (row) => actions.word(words[state.rows[row]]),
    keep: keeping(state, "neuron"),
    hint: (row, column) => {
      const neuron = inView(state)[column];
      const value = html("b", {}, signedScore(state.added[row][neuron]));
      const word = html("bdi", {}, words[state.rows[row]]);
      return [html("strong", {}, `Neuron ${neuron}`), html("span", {}, word, value)];
    },
  });
  const draw = () => {
    const seen = inView(state);
    const numbers = state.added.map((row) => seen.map((neuron) => row[neuron]));
    at.textContent = `“${tokens[get("token")]}”`;
    map.draw({
      rows: state.rows.map((word) => words[word]),
      numbers,
      limit: limitOf(state.added),
      row: 0,
      column: seen.indexOf(get("neuron")),
      label: `What the neurons in view add to the score of “${get("word")}” at “${tokens[get("token")]}”: ${inWords(state, seen, numbers[0], signedScore)}.`,
    });
  };
  return { ...map, draw };
}

/** The numbers of the neurons in view, and over them the slider that takes the keyboard.
 * @type {(state: Memory.State, choose: (neuron: number) => void) => { node: HTMLElement; slider: HTMLInputElement; draw(): void; follow(): () => void }} */
export function headsView(state, choose) {
  const slider = control("input", { type: "range", min: 0, step: 1, "aria-label": "Neuron" });
  slider.max = String(state.neurons - 1);
  slider.addEventListener("input", () => choose(state.ranked[slider.valueAsNumber]));
  const numbers = html("div", { class: "mygpt-neuron-heads mygpt-number", "aria-hidden": "true" });
  const name = html("span", { class: "mygpt-heads-name", "aria-hidden": "true" }, "neuron");
  const node = html("div", { class: "mygpt-heads" }, name, slider, numbers);
  const draw = () => {
    const neuron = state.get("neuron");
    const seen = inView(state);
    numbers.replaceChildren(
      ...seen.map((one) => html("span", { class: one === neuron && "mygpt-chosen" }, String(one))),
    );
    node.style.setProperty("--columns", String(state.count));
    slider.value = String(state.ranked.indexOf(neuron));
    slider.setAttribute("aria-valuetext", sentenceOf(state));
  };
  const follow = () => {
    /** @type {(event: MouseEvent) => void} */
    const move = (event) => {
      const { left, width } = numbers.getBoundingClientRect();
      const seen = inView(state);
      choose(seen[clamp(Math.floor(((event.clientX - left) / width) * state.count), 0, seen.length - 1)]);
    };
    return dragging(numbers, move, keeping(state, "neuron"), slider);
  };
  return { node, slider, draw, follow };
}
