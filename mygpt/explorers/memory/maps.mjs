// The maps and the bars that have the same neurons as columns: keys above, values below.

import { control, folded } from "../kit/controls.mjs";
import { html, titled, tooltip } from "../kit/elements.mjs";
import { clamp, fixed } from "../kit/geometry.mjs";
import { roomFor } from "../kit/heat.mjs";
import { unfolding } from "../kit/mounting.mjs";
import { dragging, hovering, keeping } from "../kit/pointers.mjs";
import { activationsAt, inView, limitOf, score, sentenceOf, signedScore } from "./state.mjs";

const FAINT = 0.3; // the share of the colour below which a cell has no number
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
    most.replaceChildren(fixed(limit, 1), ...(more ? [wide(" or more")] : []));
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

/** The names of a map's rows, each a button: one stop of the Tab key, and arrows go from one to the next.
 * @type {(label: string, pick: (row: number) => void) => { node: HTMLElement; draw(words: string[], tall: number, chosen: number): void }} */
function rowNames(label, pick) {
  const node = html("div", { class: "mygpt-row-names", role: "group", "aria-label": label });
  /** @type {HTMLButtonElement[]} */
  let names = [];
  const stopAt = (/** @type {number} */ row) =>
    names.forEach((one, i) => {
      one.tabIndex = i === row ? 0 : -1;
    });
  node.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const seen = names.filter((one) => !one.hidden);
    const at = seen.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    const next = seen[clamp(at + step, 0, seen.length - 1)];
    stopAt(names.indexOf(next));
    next.focus();
  });
  const fresh = (/** @type {number} */ row) => {
    const one = control("button", { type: "button" }, html("bdi"));
    one.addEventListener("click", () => pick(row));
    return one;
  };
  /** @type {(words: string[], tall: number, chosen: number) => void} */
  function draw(words, tall, chosen) {
    if (names.length !== words.length) {
      names = words.map((_, row) => fresh(row));
      node.replaceChildren(...names);
    }
    const free = roomFor(words.length, tall * words.length, 15.5, chosen < 0 ? undefined : chosen);
    names.forEach((one, row) => {
      titled(words[row], /** @type {HTMLElement} */ (one.firstChild));
      one.hidden = !free[row];
      if (chosen >= 0) one.setAttribute("aria-pressed", row === chosen);
    });
    if (!node.contains(document.activeElement)) stopAt(Math.max(0, chosen));
  }
  return { node, draw };
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
    row.hidden = at < 0;
    column.style.left = `${(100 * chosen) / columns}%`;
    row.style.top = `${(100 * at) / rows}%`;
    cells.setAttribute("aria-label", label);
  }
  return { box, paint };
}

/**
 * A map of cells under a title with its legend. A cell chooses its neuron, by `choose(column)`, and the
 * name of a row that row, by `pick(row)`; `hint(row, column)` is what the mouse is told of a cell.
 * @type {(title: HTMLElement, unit: string, name: string, parts: { named: string; choose(column: number): void; pick(row: number): void; hint(row: number, column: number): Kit.Child[]; keep: () => () => void }) => Memory.CellMap}
 */
function cellMap(title, unit, name, { named, choose, pick, hint, keep }) {
  const shape = { rows: 1, columns: 1 };
  const colours = legend(unit);
  const labels = rowNames(named, pick);
  const { box, paint } = cellGrid(shape);
  const bubble = cellHint(box, shape, hint);
  const grid = html("div", { class: "mygpt-cell-map" }, labels.node, box, bubble.node);
  const node = html("div", { class: name }, html("div", { class: "mygpt-map-head" }, title, colours.node), grid);

  /** @type {Memory.CellMap["draw"]} */
  function draw(cells) {
    const { rows, limit, numbers } = cells;
    shape.rows = rows.length;
    bubble.hide();
    const tall = rowHeight(rows.length);
    node.style.setProperty("--cell", `${tall}px`);
    node.style.setProperty("--columns", String(shape.columns));
    labels.draw(rows, tall, cells.row);
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
    ": how each ",
    wide("neuron "),
    "fires",
    wide(" at each word"),
  );
  const map = cellMap(title, "activation", "mygpt-keys", {
    named: "Token",
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

/** What the mouse is told of what a neuron adds to a word.
 * @type {(state: Memory.State, column: number, word: string, added: number[]) => Kit.Child[]} */
function addedHint(state, column, word, added) {
  const neuron = inView(state)[column];
  const value = html("b", {}, signedScore(added[neuron]));
  return [html("strong", {}, `Neuron ${neuron}`), html("span", {}, html("bdi", {}, word), value)];
}

/** Where a bar stands between the lowest and the highest number: its top and size as shares of the height.
 * @type {(value: number, low: number, high: number) => { top: number; size: number }} */
export function barOf(value, low, high) {
  const span = high - low || 1;
  return { top: (high - Math.max(value, 0)) / span, size: Math.abs(value) / span };
}

/** What the neurons in view add to the chosen word, as bars.
 * @type {(state: Memory.State, choose: (neuron: number) => void) => Memory.Part} */
export function barsView(state, choose) {
  const { get, tokens } = state;
  const shape = { rows: 1, columns: 1 };
  const bars = html("div", { class: "mygpt-adding", role: "img" });
  const column = html("span", { class: "mygpt-column" });
  const box = html("div", { class: "mygpt-cell-box" }, bars, column);
  const hint = cellHint(box, shape, (_, at) => addedHint(state, at, get("word"), state.added[0]));
  const word = html("bdi");
  const name = html("span", { class: "mygpt-bars-name", "aria-hidden": "true" }, word);
  const node = html("div", { class: "mygpt-cell-map mygpt-added" }, name, box, hint.node);
  const draw = () => {
    const seen = inView(state);
    const numbers = seen.map((neuron) => state.added[0][neuron]);
    const [low, high] = [Math.min(0, ...state.added[0]), Math.max(0, ...state.added[0])];
    hint.hide();
    titled(get("word"), word);
    bars.replaceChildren(
      ...numbers.map((value) => {
        const { top, size } = barOf(value, low, high);
        const text = fixed(value, 1);
        const bar = html(
          "span",
          { class: value < 0 && "mygpt-negative" },
          html("b", {}, /[1-9]/.test(text) ? text : ""),
        );
        bar.style.setProperty("--top", `${(100 * top).toFixed(1)}%`);
        bar.style.setProperty("--size", `${(100 * size).toFixed(1)}%`);
        return html("span", {}, bar);
      }),
    );
    node.style.setProperty("--zero", `${((100 * high) / (high - low || 1)).toFixed(1)}%`);
    node.style.setProperty("--columns", String(shape.columns));
    const chosen = seen.indexOf(get("neuron"));
    column.hidden = chosen < 0;
    column.style.left = `${(100 * chosen) / shape.columns}%`;
    const said = inWords(state, seen, numbers, signedScore);
    bars.setAttribute("aria-label", `What they add to “${get("word")}” at “${tokens[get("token")]}”: ${said}.`);
  };
  const lay = (/** @type {number} */ columns) => {
    shape.columns = columns;
  };
  const at = (/** @type {MouseEvent} */ event) => choose(inView(state)[cellUnder(box, shape, event).column]);
  return { node, lay, draw, follow: (keyboard) => dragging(box, at, keeping(state, "neuron"), keyboard) };
}

/** Other words, and what the neurons in view add to each of them: a map that is folded.
 * @type {(state: Memory.State, actions: { word(word: string): void; neuron(neuron: number): void }) => Memory.Part} */
export function othersView(state, actions) {
  const { writing, get, tokens, neurons } = state;
  const words = writing?.words ?? [];
  const at = html("bdi");
  const title = html("p", { class: "mygpt-map-title" }, `All ${neurons} neurons add most to these, at `, at);
  const map = cellMap(title, "added", "mygpt-values", {
    named: "Word to write",
    choose: (column) => actions.neuron(inView(state)[column]),
    pick: (row) => actions.word(words[state.rows[row + 1]]),
    keep: keeping(state, "neuron"),
    hint: (row, column) => addedHint(state, column, words[state.rows[row + 1]], state.added[row + 1]),
  });
  const node = folded("Other words", map.node);
  const draw = unfolding(node, () => {
    const seen = inView(state);
    const rows = state.rows.slice(1).map((word) => words[word]);
    const numbers = state.added.slice(1).map((row) => seen.map((neuron) => row[neuron]));
    const said = rows.map((word, row) => `${word}: ${inWords(state, seen, numbers[row], signedScore)}`);
    at.textContent = `“${tokens[get("token")]}”`;
    map.draw({
      rows,
      numbers,
      limit: limitOf(state.added),
      row: -1,
      column: seen.indexOf(get("neuron")),
      label: `What the neurons in view add to other words. ${said.join(". ")}.`,
    });
  });
  return { ...map, node, draw };
}

/** The numbers of the neurons in view, and over them the slider that takes the keyboard: keys to the left
 * and right choose a neuron, up and down a token.
 * @type {(state: Memory.State, choose: (neuron: number) => void, pick: (token: number) => void) => { node: HTMLElement; slider: HTMLInputElement; draw(): void; follow(): () => void }} */
export function headsView(state, choose, pick) {
  const slider = control("input", { type: "range", min: 0, step: 1, "aria-label": "Neuron" });
  slider.setAttribute("aria-description", "Up and down: another word of the text");
  slider.max = String(state.neurons - 1);
  slider.addEventListener("input", () => choose(state.ranked[slider.valueAsNumber]));
  slider.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    pick(clamp(state.get("token") + step, 0, state.tokens.length - 1));
  });
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
