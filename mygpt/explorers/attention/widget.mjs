import { cellNumbers, roomForNumbers, shadeLegend } from "../kit/cells.mjs";
import { named, slider, tick } from "../kit/controls.mjs";
import { html, speaker, titled, tooltip } from "../kit/elements.mjs";
import { clamp, fixed, floats, softmax } from "../kit/geometry.mjs";
import { mount, store, allViews } from "../kit/mounting.mjs";
import { dragging, hovering, keeping } from "../kit/pointers.mjs";
import { heatmap, roomFor, rowLabels, textWidth, themed, visibleText } from "../kit/heat.mjs";

const ALL = 12; // words that the list shows one by one
const LARGEST = 10; // words that it shows of a longer text
const DECIMALS = 3;
const MASKED = "masked";
const SHADES = [0, 0.05, 0.2, 0.5, 1]; // that the legend shows

/** The weights of one head as one list, row by row; what the mask forbids is 0.
 * @type {(scores: Float32Array, length: number, head: number, temperature: number, causal: boolean) => Float64Array} */
export function weightsOf(scores, length, head, temperature, causal) {
  const weights = new Float64Array(length * length);
  for (let row = 0; row < length; row += 1) {
    const start = (head * length + row) * length;
    const read = scores.subarray(start, start + (causal ? row + 1 : length));
    weights.set(softmax(Array.from(read, (score) => score / temperature)), row * length);
  }
  return weights;
}

/** How strong a weight's shade is: the square root tells small weights from none.
 * @type {(weight: number) => number} */
export const shadeOf = Math.sqrt;

/** The places of the words that a row can read, the largest weight first, of equals the first.
 * @type {(weights: Float64Array, readable: number) => number[]} */
function byWeight(weights, readable) {
  return [...weights.keys()].slice(0, readable).sort((a, b) => weights[b] - weights[a] || a - b);
}

/**
 * What the list says of a row, of which the first `readable` words can be read: the places of the
 * words that it names, and the count and sum of the others. A short text is named in full.
 * @type {(weights: Float64Array, readable: number, all?: number, largest?: number) => { named: number[]; others: number; sum: number; masked: number }}
 */
export function listed(weights, readable, all = ALL, largest = LARGEST) {
  if (weights.length <= all) return { named: [...weights.keys()], others: 0, sum: 0, masked: 0 };
  const order = byWeight(weights, readable);
  const rest = order.slice(largest);
  return {
    named: order.slice(0, largest).sort((a, b) => a - b),
    others: rest.length,
    sum: rest.reduce((total, place) => total + weights[place], 0),
    masked: weights.length - readable,
  };
}

/** The lines of the list for a row's weights: words one by one, the others, what is masked.
 * @type {(weights: Float64Array, readable: number, words: string[]) => Attention.Line[]} */
export function linesOf(weights, readable, words) {
  const { named: shown, others, sum, masked } = listed(weights, readable);
  /** @type {(number: number, noun: string) => string} */
  const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  /** @type {Attention.Line[]} */
  const lines = shown.map((place) => ({
    place,
    text: words[place],
    share: weights[place],
    weight: place < readable ? fixed(weights[place], DECIMALS) : MASKED,
  }));
  if (others) lines.push({ text: count(others, "other"), share: sum, weight: fixed(sum, DECIMALS) });
  if (masked) lines.push({ text: count(masked, "word"), share: 0, weight: MASKED });
  return lines;
}

/** The map's sizes in pixels at a width, and which words over the columns are `free` to be shown.
 * @type {(words: string[], width: number) => { width: number; gutter: number; room: number; top: number; height: number; slanted: boolean; free: boolean[] }} */
export function sizesOf(words, width) {
  const widths = words.map(textWidth);
  const widest = Math.max(...widths);
  const gutter = clamp(widest + 12, 44, width < 420 ? 84 : 120);
  const room = width - gutter;
  const height = Math.round(clamp(36 * words.length, 56, clamp(0.75 * room, 280, 430)));
  const slanted = room / words.length < Math.min(widest + 10, 84);
  const free = roomFor(words.length, room, slanted ? 21 : 1);
  const long = Math.min(90, Math.max(...widths.filter((_, i) => free[i])));
  const top = slanted ? Math.ceil(0.71 * long + 18) : 26;
  return { width, gutter, room, top, height, slanted, free };
}

/** The corners, in percent, of the staircase that the causal mask forbids.
 * @type {(length: number) => string} */
export function staircase(length) {
  /** @type {(column: number, row: number) => string} */
  const at = (column, row) => `${(100 * column) / length}% ${(100 * row) / length}%`;
  const corners = Array.from({ length }, (_, row) => [at(row + 1, row), at(row + 1, row + 1)]);
  return [...corners.flat(), at(length, 0)].join(", ");
}

/** The traits are head, temperature, causal and row.
 * @param {Kit.Model<Attention.Traits & Kit.Described>} model */
export function attentionState(model) {
  const words = model.get("tokens").map(visibleText);
  const { length } = words;
  const fields = {
    words,
    length,
    scores: floats(model.get("data")),
    weights: /** @type {Float64Array} */ (new Float64Array(0)),
    hovered: /** @type {Kit.Cell | null} */ (null),
    ...sizesOf(words, 640),
  };
  const state = store(model, fields);
  const readable = (/** @type {number} */ row) => (state.get("causal") ? row + 1 : length);
  const rowWeights = (/** @type {number} */ row) => state.weights.subarray(row * length, (row + 1) * length);
  /** @type {Kit.TextAt} */
  const weightText = (row, column) => (column < readable(row) ? fixed(rowWeights(row)[column], DECIMALS) : MASKED);
  return Object.assign(state, { readable, rowWeights, weightText });
}

/** @type {(state: Attention.State) => string} */
function settingText({ get }) {
  return `Head ${get("head")}, temperature ${get("temperature")}, ${
    get("causal") ? "with" : "without"
  } the causal mask.`;
}

/** @type {(state: Attention.State) => string} */
function sentenceOf(state) {
  const { words, rowWeights, readable, weightText } = state;
  const row = state.get("row");
  const strong = byWeight(rowWeights(row), readable(row))
    .slice(0, 3)
    .map((place) => `“${words[place]}” at ${place}, ${weightText(row, place)}`);
  return `${settingText(state)} “${words[row]}” at position ${row} reads most: ${strong.join("; ")}.`;
}

/** A few heads are buttons, many a slider.
 * @type {(heads: number, choose: (head: number) => void) => Kit.Control<number>} */
function headChoice(heads, choose) {
  const numbers = Array.from({ length: heads }, (_, i) => i);
  if (heads > 4) return slider("Head", numbers, String, choose);
  /** @type {[number, string][]} */
  const options = numbers.map((head) => [head, String(head)]);
  return named("Head", options, choose);
}

/** @type {(state: Attention.State) => { node: HTMLElement; drawWeights(): void }} */
function settingsView({ get, write }) {
  const heads = headChoice(get("heads"), (head) => write({ head }));
  const temperature = slider("Temperature", get("temperatures"), String, (value) => write({ temperature: value }));
  const causal = tick(["Causal mask"], (on) => write({ causal: on }));
  const node = html("div", { class: "mygpt-controls" }, temperature.node, causal.node);
  if (get("heads") > 1) node.prepend(heads.node);
  const drawWeights = () => {
    heads.show(get("head"));
    temperature.show(get("temperature"));
    causal.show(get("causal"));
  };
  return { node, drawWeights };
}

/** The words over the columns, slanted where they are wider than a column.
 * @type {(state: Attention.State) => { node: HTMLElement; draw(state: Attention.State): void }} */
function columnLabels({ words, length }) {
  const labels = words.map((word) => html("span", {}, titled(word)));
  const node = html("div", { class: "mygpt-columns", "aria-hidden": "true" }, ...labels);
  /** @type {(state: Attention.State) => void} */
  const draw = ({ room, slanted, free }) => {
    node.classList.toggle("mygpt-slanted", slanted);
    labels.forEach((label, place) => {
      const middle = ((place + 0.5) / length) * room;
      label.hidden = !free[place];
      label.style.maxWidth = `${slanted ? 90 : room / length - 6}px`;
      label.style.left = slanted ? "auto" : `${middle}px`;
      label.style.right = slanted ? `${room - middle}px` : "auto";
    });
  };
  return { node, draw };
}

/** Which word reads which under the mouse, and with what weight.
 * @type {(state: Attention.State) => Kit.View} */
function hintView(state) {
  const { words, length, weightText } = state;
  const hint = tooltip();
  const draw = () => {
    if (!state.hovered) {
      hint.hide();
      return;
    }
    const {
      width,
      gutter,
      room,
      top,
      height,
      hovered: { row, column },
    } = state;
    const y = top + ((row + 1) * height) / length + 6;
    const frame = { left: gutter, right: width, top: y, bottom: y };
    hint.show(
      gutter + ((column + 0.5) * room) / length,
      frame,
      width,
      [],
      [
        html("span", {}, "reads", html("b", {}, titled(words[row]))),
        html("span", {}, "is read", html("b", {}, titled(words[column]))),
        html("span", {}, "weight", html("b", {}, weightText(row, column))),
      ],
    );
  };
  return { node: hint.node, draw };
}

/** @type {(state: Attention.State) => Attention.MapView} */
function mapView(state) {
  const { words, length } = state;
  const [heat, rows, columns, hint] = [heatmap(), rowLabels(words), columnLabels(state), hintView(state)];
  const [numbers, masked] = [cellNumbers(), html("span", { class: "mygpt-masked-shade" }, html("i"), MASKED)];
  const legend = shadeLegend(SHADES, [masked]);
  const forbidden = html("span", { class: "mygpt-forbidden" });
  forbidden.style.clipPath = `polygon(${staircase(length)})`;
  heat.canvas.after(forbidden, numbers.node);
  const node = html("div", { class: "mygpt-map" }, columns.node, rows.node, heat.node, hint.node);
  hovering(heat.node, heat.under, (cell) => {
    state.hovered = cell;
    hint.draw();
  });
  const lay = () => {
    node.style.setProperty("--gutter", `${state.gutter}px`);
    node.style.setProperty("--top", `${state.top}px`);
    columns.draw(state);
  };
  const paint = () => {
    if (!node.isConnected) return; // the colours are known on a page alone
    const { weights, height, room, readable } = state;
    const shape = { rows: length, columns: length };
    const bytes = heat.draw({ numbers: weights, ...shape, height, limit: 1, shade: shadeOf });
    const free = roomForNumbers(room / length, height / length);
    numbers.draw(weights, bytes, shape, free, (row, column) => column < readable(row));
    legend.draw(heat.colours(SHADES, 1, shadeOf));
  };
  const drawWeights = () => {
    forbidden.hidden = !state.get("causal");
    masked.hidden = !state.get("causal");
    paint();
    hint.draw();
  };
  const drawRow = () => {
    const chosen = state.get("row");
    heat.mark(chosen, null);
    rows.draw({ height: state.height, chosen });
    heat.canvas.setAttribute("aria-label", `${state.get("description")} ${sentenceOf(state)}`);
  };
  /** @type {(event: PointerEvent) => void} */
  const choose = (event) => state.write({ row: heat.under(event).row });
  /** @type {(handle: HTMLElement) => () => void} */
  const follow = (handle) => {
    const stops = [heat.node, rows.node].map((part) => dragging(part, choose, keeping(state, "row"), handle));
    return () => stops.forEach((stop) => stop());
  };
  return { node, legend: legend.node, lay, paint, drawWeights, drawRow, follow };
}

/** @type {(state: Attention.State) => { node: HTMLElement; handle: HTMLElement; drawRow(): void }} */
function rowView({ words, get, write }) {
  const { node, show } = slider(
    "Reading position",
    [...words.keys()],
    (row) => `${row}  \u2068${words[row]}\u2069`,
    (row) => write({ row }),
  );
  return { node, handle: /** @type {HTMLElement} */ (node.control), drawRow: () => show(get("row")) };
}

/** A line of the list; `fill` puts an entry there, or nothing.
 * @type {(word: string, place: number) => { node: HTMLElement; fill(entry?: Attention.Line): void }} */
function listLine(word, place) {
  const parts = {
    place: html("span", { class: "mygpt-number mygpt-place" }, String(place)),
    word: titled(word),
    bar: html("span"),
    weight: html("span", { class: "mygpt-number mygpt-weight" }),
  };
  const comma = () => html("span", { class: "mygpt-unseen" }, ", ");
  const track = html("span", { class: "mygpt-track", "aria-hidden": "true" }, parts.bar);
  const node = html("li", {}, parts.place, comma(), parts.word, comma(), track, parts.weight);
  /** @type {(entry?: Attention.Line) => void} */
  const fill = (entry) => {
    node.classList.toggle("mygpt-none", !entry);
    if (!entry) return;
    node.classList.toggle("mygpt-rest", entry.place === undefined);
    node.classList.toggle("mygpt-masked", entry.weight === MASKED);
    parts.place.textContent = String(entry.place ?? "");
    titled(entry.text, parts.word);
    parts.bar.style.width = `${(100 * entry.share).toFixed(2)}%`;
    parts.weight.textContent = entry.weight;
  };
  return { node, fill };
}

/** @type {(state: Attention.State) => { node: HTMLElement; lay(): void; drawRow(): void }} */
function listView(state) {
  const lines = state.words.slice(0, ALL).map(listLine);
  const node = html(
    "ul",
    { class: "mygpt-weights", "aria-label": "Weights of the row" },
    ...lines.map((line) => line.node),
  );
  const lay = () => {
    const columns = state.width < 520 ? 1 : 2;
    node.style.setProperty("--lines", String(Math.ceil(lines.length / columns)));
  };
  const drawRow = () => {
    const row = state.get("row");
    const entries = linesOf(state.rowWeights(row), state.readable(row), state.words);
    lines.forEach((line, i) => line.fill(entries[i]));
  };
  return { node, lay, drawRow };
}

/** The setting in words, for paper.
 * @type {(state: Attention.State) => { node: HTMLElement; drawWeights(): void }} */
function settingView(state) {
  const node = html("p", { class: "mygpt-setting" });
  return {
    node,
    drawWeights: () => {
      node.textContent = settingText(state);
    },
  };
}

/** @type {(given: Kit.Given<Attention.Traits>) => () => void} */
function render({ model, el }) {
  const state = attentionState(model);
  const [settings, map, row, list, setting] = allViews(state, settingsView, mapView, rowView, listView, settingView);
  const head = html(
    "div",
    { class: "mygpt-head" },
    html("p", { class: "mygpt-note" }, "Each row reads, each column is read."),
    map.legend,
  );
  const voice = speaker();
  const root = html(
    "div",
    { class: "mygpt-explorer mygpt-attention", role: "group", "aria-label": "Explorer of attention" },
    settings.node,
    head,
    map.node,
    ...(state.length > 1 ? [row.node] : []),
    list.node,
    setting.node,
    voice.node,
  );

  const drawRow = () => [map, row, list].forEach((view) => view.drawRow());
  const drawWeights = () => {
    const { scores, length, get } = state;
    state.weights = weightsOf(scores, length, get("head"), get("temperature"), get("causal"));
    [settings, map, setting].forEach((view) => view.drawWeights());
    drawRow();
  };
  /** @type {(update: () => void) => () => void} */
  const speaking = (update) => () => {
    update();
    voice.say(sentenceOf(state));
  };
  return mount({
    model,
    el,
    root,
    undo: [map.follow(row.handle), themed(map.paint), voice.stop],
    listeners: {
      head: speaking(drawWeights),
      temperature: speaking(drawWeights),
      causal: speaking(drawWeights),
      row: speaking(drawRow),
    },
    layout: (width) => {
      Object.assign(state, sizesOf(state.words, width));
      [map, list].forEach((view) => view.lay());
      drawWeights();
    },
  });
}

export default { render };
