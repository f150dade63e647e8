// The maps and the bars that have the same neurons as columns: keys above, values below.

import { control, folded, showRange } from "../kit/controls.mjs";
import { UNHEARD, flag, html, titled, tooltip } from "../kit/elements.mjs";
import { clamp, fixed, times } from "../kit/geometry.mjs";
import { cellUnder, rampLegend, roomFor } from "../kit/parts/heat.mjs";
import { unfolding } from "../kit/mounting.mjs";
import { dragging, hovering, keeping, shareAt, upAndDown } from "../kit/pointers.mjs";
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
const wide = (text) => html("span.wide", text);

/** The legend of a map: its colours, from what to what, and of what.
 * @type {(unit: string) => { node: HTMLElement; draw(limit: number, more: boolean): void }} */
function legend(unit) {
  const { node, draw } = rampLegend("span", wide(unit));
  return {
    node,
    draw: (limit, more) => draw(fixed(-limit, 1), [fixed(limit, 1), ...(more ? [wide(" or more")] : [])], true),
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
  const node = html("div.row-names", { role: "group", "aria-label": label });
  /** @type {HTMLButtonElement[]} */
  let names = [];
  const stopAt = (/** @type {number} */ row) =>
    names.forEach((one, i) => {
      one.tabIndex = i === row ? 0 : -1;
    });
  upAndDown(node, (step, event) => {
    const seen = names.filter((one) => !one.hidden);
    const at = seen.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    const next = seen[clamp(at + step, 0, seen.length - 1)];
    stopAt(names.indexOf(next));
    next.focus();
  });
  const fresh = (/** @type {number} */ row) => {
    const given = { type: "button", onclick: () => pick(row) };
    return control("button.bare.kept.muted.fine", given, html("bdi.clipped"));
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

/** The columns of a map or of bars, one a neuron in view, with a frame around the chosen one; a press chooses another, and
 * `hint` is what the mouse is told of a cell.
 * @param {Memory.State} state
 * @param {Kit.Content} content
 * @param {Memory.Columns} parts */
function columnsOf(state, content, { choose, hint }) {
  const shape = { rows: 1, columns: 1 };
  const column = html("span.column");
  const box = html("div.cell-box.pressable", content, column);
  const bubble = cellHint(box, shape, hint);
  /** @type {(node: HTMLElement, chosen: number) => void} */
  const draw = (node, chosen) => {
    bubble.hide();
    node.style.setProperty("--columns", String(shape.columns));
    column.hidden = chosen < 0;
    column.style.left = `${(100 * chosen) / shape.columns}%`;
  };
  const lay = (/** @type {number} */ columns) => {
    shape.columns = columns;
  };
  const at = (/** @type {MouseEvent} */ event) => choose(inView(state)[cellUnder(box, shape, event).column]);
  const follow = (/** @type {HTMLElement} */ keyboard) => dragging(box, at, keeping(state, "neuron"), keyboard);
  return { nodes: [box, bubble.node], shape, draw, lay, follow };
}

/** The cells of a map alone, with the frame of the chosen row.
 * @type {() => { nodes: HTMLElement[]; paint(cells: Memory.Cells, shape: Kit.Cells): void }} */
function cellGrid() {
  const cells = html("div.cells.number", { role: "img" });
  const row = html("span.row-frame");
  /** @type {HTMLElement[]} */
  let spans = [];
  /** @type {string[]} */
  let looks = [];
  /** @type {(cells: Memory.Cells, shape: Kit.Cells) => void} */
  function paint({ numbers, limit, row: at, label }, { rows, columns }) {
    if (spans.length !== rows * columns) {
      spans = times(rows * columns, () => html("span"));
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
    row.hidden = at < 0;
    row.style.top = `${(100 * at) / rows}%`;
    cells.ariaLabel = label;
  }
  return { nodes: [cells, row], paint };
}

/**
 * A map of cells under a title with its legend. A cell chooses its neuron, by `choose(neuron)`, and the
 * name of a row that row, by `pick(row)`; `hint(row, column)` is what the mouse is told of a cell.
 * @param {Memory.State} state
 * @param {HTMLElement} title
 * @param {string} unit
 * @param {string} name
 * @param {Memory.Columns & { named: string; pick(row: number): void }} parts
 */
function cellMap(state, title, unit, name, { named, pick, ...parts }) {
  const colours = legend(unit);
  const labels = rowNames(named, pick);
  const grid = cellGrid();
  const { nodes, shape, lay, follow, draw: drawColumns } = columnsOf(state, grid.nodes, parts);
  const map = html("div.cell-map", labels, nodes);
  const node = html(`div.${name}`, html("div.map-head.inline", title, colours), map);

  /** @param {Memory.Cells} cells */
  function draw(cells) {
    const { rows, limit, numbers } = cells;
    shape.rows = rows.length;
    const tall = rowHeight(rows.length);
    node.style.setProperty("--cell", `${tall}px`);
    drawColumns(node, cells.column);
    labels.draw(rows, tall, cells.row);
    flag(node, "thin", tall < 16);
    grid.paint(cells, shape);
    const more = numbers.some((line) => line.some((value) => Math.abs(value) > limit * 1.001));
    colours.draw(limit, more);
  }
  return { node, lay, draw, follow };
}

/** How tall the rows of a map are.
 * @type {(rows: number) => number} */
export const rowHeight = (rows) => clamp(Math.floor(170 / rows), 8, 27);

/** The map of the keys: how strongly the neurons in view fire at each word of the text.
 * @param {Memory.State} state
 * @param {{ token(token: number): void; neuron(neuron: number): void }} actions */
export function keysView(state, actions) {
  const { tokens, get } = state;
  const title = html("p.map-title", html("b", "Keys"), ": how each ", wide("neuron "), "fires", wide(" at each word"));
  const map = cellMap(state, title, "activation", "keys", {
    named: "Token",
    choose: actions.neuron,
    pick: actions.token,
    hint: (row, at) => {
      const neuron = inView(state)[at];
      return neuronHint(neuron, tokens[row], score(activationsAt(state, row)[neuron]));
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

/** What the mouse is told of a neuron: its number at a word.
 * @type {(neuron: number, word: string, number: string) => Kit.Child[]} */
const neuronHint = (neuron, word, number) => [
  html("strong", `Neuron ${neuron}`),
  html("span", html("bdi", word), html("b", number)),
];

/** What the mouse is told of what a neuron adds to a word.
 * @type {(state: Memory.State, column: number, word: string, added: number[]) => Kit.Child[]} */
function addedHint(state, column, word, added) {
  const neuron = inView(state)[column];
  return neuronHint(neuron, word, signedScore(added[neuron]));
}

/** Where a bar stands between the lowest and the highest number: its top and size as shares of the height.
 * @type {(value: number, low: number, high: number) => { top: number; size: number }} */
export function barOf(value, low, high) {
  const span = high - low || 1;
  return { top: (high - Math.max(value, 0)) / span, size: Math.abs(value) / span };
}

/** What the neurons in view add to the chosen word, as bars.
 * @param {Memory.State} state
 * @param {(neuron: number) => void} choose */
export function barsView(state, choose) {
  const { get, tokens } = state;
  const bars = html("div.adding.number.fine", { role: "img" });
  /** @type {Memory.Columns["hint"]} */
  const hint = (_, at) => addedHint(state, at, get("word"), state.added[0]);
  const columns = columnsOf(state, bars, { choose, hint });
  const word = html("bdi");
  const name = html("span.bars-name.clipped.bold", UNHEARD, word);
  const node = html("div.cell-map.added", name, columns.nodes);
  const draw = () => {
    const seen = inView(state);
    const numbers = seen.map((neuron) => state.added[0][neuron]);
    const [low, high] = [Math.min(0, ...state.added[0]), Math.max(0, ...state.added[0])];
    titled(get("word"), word);
    bars.replaceChildren(
      ...numbers.map((value) => {
        const { top, size } = barOf(value, low, high);
        const text = fixed(value, 1);
        const bar = html("span", { class: value < 0 && "mygpt-negative" }, html("b", /[1-9]/.test(text) ? text : ""));
        bar.style.setProperty("--top", `${(100 * top).toFixed(1)}%`);
        bar.style.setProperty("--size", `${(100 * size).toFixed(1)}%`);
        return html("span", bar);
      }),
    );
    node.style.setProperty("--zero", `${((100 * high) / (high - low || 1)).toFixed(1)}%`);
    columns.draw(node, seen.indexOf(get("neuron")));
    const said = inWords(state, seen, numbers, signedScore);
    bars.ariaLabel = `What they add to “${get("word")}” at “${tokens[get("token")]}”: ${said}.`;
  };
  return { ...columns, node, draw };
}

/** Other words, and what the neurons in view add to each of them: a map that is folded.
 * @param {Memory.State} state
 * @param {{ word(word: string): void; neuron(neuron: number): void }} actions */
export function othersView(state, actions) {
  const { writing, get, tokens, neurons } = state;
  const words = writing?.words ?? [];
  const at = html("bdi");
  const title = html("p.map-title", `All ${neurons} neurons add most to these, at `, at);
  const map = cellMap(state, title, "added", "values", {
    named: "Word to write",
    choose: actions.neuron,
    pick: (row) => actions.word(words[state.rows[row + 1]]),
    hint: (row, column) => addedHint(state, column, words[state.rows[row + 1]], state.added[row + 1]),
  });
  const node = folded("Other words", map);
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
  const slider = control("input.over", {
    type: "range",
    min: 0,
    step: 1,
    "aria-label": "Neuron",
    "aria-description": "Up and down: another word of the text",
    oninput: () => choose(state.ranked[slider.valueAsNumber]),
  });
  upAndDown(slider, (step) => pick(clamp(state.token + step, 0, state.tokens.length - 1)));
  const numbers = html("div.neuron-heads.number.pressable.muted", UNHEARD);
  const name = html("span.heads-name.muted.fine", UNHEARD, "neuron");
  const node = html("div.heads", name, slider, numbers);
  const draw = () => {
    const { neuron } = state;
    const seen = inView(state);
    numbers.replaceChildren(
      ...seen.map((one) => html("span", { class: one === neuron && "mygpt-chosen" }, String(one))),
    );
    node.style.setProperty("--columns", String(state.count));
    showRange(slider, state.ranked.indexOf(neuron), state.neurons - 1, sentenceOf(state));
  };
  const follow = () => {
    /** @type {(event: MouseEvent) => void} */
    const move = (event) => {
      const seen = inView(state);
      choose(seen[clamp(Math.floor(shareAt(numbers, event).x * state.count), 0, seen.length - 1)]);
    };
    return dragging(numbers, move, keeping(state, "neuron"), slider);
  };
  return { node, slider, draw, follow };
}
