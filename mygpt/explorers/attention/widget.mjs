import { cellNumbers, roomForNumbers, shadeLegend } from "../kit/parts/cells.mjs";
import { slider, tick } from "../kit/controls.mjs";
import { UNHEARD, explorerRoot, flag, html, paragraph, titled, tooltip } from "../kit/elements.mjs";
import { clamp, descending, fixed, floats, softmax, times } from "../kit/geometry.mjs";
import { mount, store, allViews } from "../kit/mounting.mjs";
import { dragging, hovering, keeping, upAndDown } from "../kit/pointers.mjs";
import { heatmap, roomFor, rowLabels, textWidth, themed, visibleText } from "../kit/parts/heat.mjs";
import { fanView, fanWidth } from "./fan.mjs";
import { headsView } from "./heads.mjs";

const FEW = 4; // words of which every cell has its number
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
export function byWeight(weights, readable) {
  return descending(weights.slice(0, readable));
}

/** The map's sizes in pixels at a width, and which words over the columns are `free` to be shown. Where there is room the
 * lines stand `beside` the map, in so many pixels, of which the words that are read have `words`.
 * @param {string[]} words
 * @param {number} width */
export function sizesOf(words, width) {
  const widths = words.map(textWidth);
  const widest = Math.max(...widths);
  const stacked = width < 520;
  const gutter = clamp(widest + 12, 44, width < 420 ? 84 : 120);
  const sizes = (/** @type {boolean} */ numbered) => {
    const named = gutter + (numbered ? 0 : 46);
    const room = width - gutter - (stacked ? 0 : fanWidth + named);
    const height = Math.round(clamp(36 * words.length, 56, clamp(0.75 * room, 280, 430)));
    const slanted = room / words.length < Math.min(widest + 10, 84);
    const free = roomFor(words.length, room, slanted ? 21 : 1);
    const long = Math.min(90, Math.max(...widths.filter((_, i) => free[i])));
    const top = slanted ? Math.ceil(0.71 * long + 18) : 26;
    const fan = stacked ? clamp(22 * words.length, 48, 300) : height;
    return { width, gutter, named, room, top, height, slanted, free, stacked, fan, numbered };
  };
  const { room, height } = sizes(true);
  return sizes(roomForNumbers(room / words.length, height / words.length));
}

/** The corners, in percent, of the staircase that the causal mask forbids.
 * @type {(length: number) => string} */
export function staircase(length) {
  /** @type {(column: number, row: number) => string} */
  const at = (column, row) => `${(100 * column) / length}% ${(100 * row) / length}%`;
  const corners = times(length, (row) => [at(row + 1, row), at(row + 1, row + 1)]);
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
  const readable = (/** @type {number} */ row) => (state.causal ? row + 1 : length);
  const rowWeights = (/** @type {number} */ row) => state.weights.subarray(row * length, (row + 1) * length);
  /** @type {Kit.TextAt} */
  const weightText = (row, column) => (column < readable(row) ? fixed(rowWeights(row)[column], DECIMALS) : MASKED);
  return Object.assign(state, { readable, rowWeights, weightText });
}

/** The weights of a head at the temperature and mask of now.
 * @type {(state: Attention.State, head: number) => Float64Array} */
function weightsAt({ scores, length, temperature, causal }, head) {
  return weightsOf(scores, length, head, temperature, causal);
}

/** @type {(state: Attention.State) => string} */
function settingText({ head, temperature, causal }) {
  return `Head ${head}, temperature ${temperature}, ${causal ? "with" : "without"} the causal mask.`;
}

/** @type {(state: Attention.State) => string} */
function sentenceOf(state) {
  const { words, rowWeights, readable, weightText } = state;
  const { row } = state;
  const strong = byWeight(rowWeights(row), readable(row))
    .slice(0, 3)
    .map((place) => `“${words[place]}” at ${place}, ${weightText(row, place)}`);
  return `${settingText(state)} “${words[row]}” at position ${row} reads most: ${strong.join("; ")}.`;
}

/** What the chosen row reads most, in one sentence.
 * @type {(state: Pick<Attention.State, "words" | "rowWeights" | "readable">, row: number) => string} */
export function answerText({ words, rowWeights, readable }, row) {
  if (readable(row) === 1) return `“${words[row]}” can read only itself.`;
  const [most] = byWeight(rowWeights(row), readable(row));
  const twin = words.indexOf(words[most]) !== words.lastIndexOf(words[most]) ? ` at ${most}` : "";
  const read = most === row ? "itself" : `“${words[most]}”${twin}`;
  return `“${words[row]}” reads ${read} most: ${fixed(rowWeights(row)[most], DECIMALS)}.`;
}

/** @type {(state: Attention.State) => { node: HTMLElement; drawWeights(): void }} */
function settingsView({ get, write }) {
  const temperature = slider("Temperature", get("temperatures"), String, (value) => write({ temperature: value }));
  const causal = tick(["Causal mask"], (on) => write({ causal: on }));
  const node = html("div.controls", temperature, causal);
  const drawWeights = () => {
    temperature.show(get("temperature"));
    causal.show(get("causal"));
  };
  return { node, drawWeights };
}

/** The words over the columns, slanted where they are wider than a column.
 * @type {(state: Attention.State) => { node: HTMLElement; draw(state: Attention.State): void }} */
function columnLabels({ words, length }) {
  const labels = words.map((word) => html("span.muted.fine.clipped", titled(word)));
  const node = html("div.columns", UNHEARD, labels);
  /** @type {(state: Attention.State) => void} */
  const draw = ({ room, slanted, free }) => {
    flag(node, "slanted", slanted);
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
    const { width, gutter, room, top, height } = state;
    const { row, column } = state.hovered;
    const y = top + ((row + 1) * height) / length + 6;
    const frame = { left: gutter, right: width, top: y, bottom: y };
    hint.show(
      gutter + ((column + 0.5) * room) / length,
      frame,
      width,
      [],
      [
        html("span", "reads", html("b", titled(words[row]))),
        html("span", "is read", html("b", titled(words[column]))),
        html("span", "weight", html("b", weightText(row, column))),
      ],
    );
  };
  return { node: hint.node, draw };
}

/** @param {Attention.State} state */
export function mapView(state) {
  const { words, length } = state;
  const [heat, rows, columns, hint] = [heatmap(), rowLabels(words), columnLabels(state), hintView(state)];
  const [numbers, masked] = [cellNumbers(), html("span.masked-shade.kept", html("i"), MASKED)];
  const legend = shadeLegend(SHADES, [masked]);
  const forbidden = html("span.forbidden");
  forbidden.style.clipPath = `polygon(${staircase(length)})`;
  heat.canvas.after(forbidden, numbers.node);
  const fan = fanView(state);
  const node = html("div.map", columns, rows, heat, fan, hint);
  hovering(heat.node, heat.under, (cell) => {
    state.hovered = cell;
    hint.draw();
  });
  const lay = () => {
    const { gutter, top, stacked, named } = state;
    const sizes = { "--gutter": gutter, "--top": top, "--words": named, "--beside": stacked ? 0 : fanWidth + named };
    for (const [name, size] of Object.entries(sizes)) node.style.setProperty(name, `${size}px`);
    flag(node, "stacked-map", stacked);
    columns.draw(state);
    fan.lay();
  };
  const paint = () => {
    if (!node.isConnected) return; // the colours are known on a page alone
    const { weights, height, readable } = state;
    const shape = { rows: length, columns: length };
    const bytes = heat.draw({ numbers: weights, ...shape, height, limit: 1, shade: shadeOf });
    const [row, { numbered }] = [state.row, state];
    const shown = (/** @type {number} */ one) => length <= FEW || one === row;
    numbers.draw(weights, bytes, shape, numbered, (one, column) => shown(one) && column < readable(one));
    const [most] = byWeight(state.rowWeights(row), readable(row));
    [...numbers.node.children].forEach((cell, i) => {
      flag(cell, "largest", i === row * length + most);
    });
    legend.draw(heat.colours(SHADES, 1, shadeOf));
  };
  const drawWeights = () => {
    for (const part of [forbidden, masked]) part.hidden = !state.causal;
    hint.draw();
  };
  const drawRow = () => {
    const chosen = state.row;
    paint();
    heat.mark(chosen, null);
    rows.draw({ height: state.height, chosen });
    fan.draw();
    heat.canvas.ariaLabel = `${state.description} ${sentenceOf(state)}`;
  };
  /** @type {(event: PointerEvent) => void} */
  const choose = (event) => state.write({ row: heat.under(event).row });
  /** @type {(handle: HTMLElement) => () => void} */
  const follow = (handle) => {
    const stops = [heat.node, rows.node].map((part) => dragging(part, choose, keeping(state, "row"), handle));
    return () => stops.forEach((stop) => stop());
  };
  return { node, legend: legend.node, colours: heat.colours, lay, paint, drawWeights, drawRow, follow };
}

/** What the keyboard holds the chosen row by: it is not seen, and lights the row's frame.
 * @type {(state: Attention.State) => { node: HTMLElement; handle: HTMLElement; drawRow(): void }} */
function rowView({ words, get, write }) {
  const { node, show } = slider(
    "Reading position",
    [...words.keys()],
    (row) => `${row}  \u2068${words[row]}\u2069`,
    (row) => write({ row }),
  );
  flag(node, "unseen");
  const handle = /** @type {HTMLElement} */ (node.control);
  // The rows go down the page: so do the keys.
  upAndDown(handle, (step) => write({ row: clamp(get("row") + step, 0, words.length - 1) }));
  return { node, handle, drawRow: () => show(get("row")) };
}

/** What is drawn when a row, a head or the weights of all heads are new.
 * @type {(state: Attention.State) => { parts: Node[]; map: Attention.MapView; handle: HTMLElement; drawRow(): void; drawHead(): void; drawWeights(): void }} */
function everyView(state) {
  const [settings, map, row] = allViews(state, settingsView, mapView, rowView);
  const answer = paragraph("mygpt-answer", () => answerText(state, state.row));
  const setting = paragraph("mygpt-setting", () => settingText(state));
  const heads = headsView(
    state,
    (head) => weightsAt(state, head),
    (weights) => map.colours(weights, 1, shadeOf),
  );
  const note = html("p.note.muted.fine", "Choose a row to see what its word reads.");
  const head = html("div.head", note, map.legend);
  if (state.length > 1) map.node.prepend(row.node);
  const drawRow = () => {
    for (const view of [map, row]) view.drawRow();
    answer.draw();
  };
  const drawHead = () => {
    state.weights = weightsAt(state, state.head);
    for (const view of [settings, map]) view.drawWeights();
    setting.draw();
    heads.draw();
    drawRow();
  };
  const drawWeights = () => {
    heads.paint();
    drawHead();
  };
  const parts = [head, map.node, answer.node, settings.node, setting.node];
  if (state.heads > 1) parts.unshift(heads.node);
  return { parts, map, handle: row.handle, drawRow, drawHead, drawWeights };
}

/** @type {(given: Kit.Given<Attention.Traits>) => () => void} */
function render({ model, el }) {
  const state = attentionState(model);
  const { parts, map, handle, drawRow, drawHead, drawWeights } = everyView(state);
  const said = () => sentenceOf(state);
  return mount({ model, el }, explorerRoot("attention", "Explorer of attention", parts), state, {
    undo: [map.follow(handle), themed(drawWeights)],
    listeners: { head: [drawHead, said], "temperature causal": [drawWeights, said], row: [drawRow, said] },
    layout: (width) => {
      Object.assign(state, sizesOf(state.words, width));
      map.lay();
      drawWeights();
    },
  });
}

export default { render };
