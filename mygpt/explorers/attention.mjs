import {
  choice, clamp, dragging, fixed, floats, html, mount, slider, softmax, speaker, tick, tooltip,
} from "./drawing.mjs";
import { heatmap, roomFor, textWidth, themed, visibleText } from "./heat.mjs";

const ALL = 12; // words that the list shows one by one
const LARGEST = 10; // words that it shows of a longer text

/** The weights of one head as one list, row by row; what the mask forbids is 0. */
export function weightsOf(scores, length, head, temperature, causal) {
  const weights = new Float64Array(length * length);
  for (let row = 0; row < length; row += 1) {
    const start = (head * length + row) * length;
    const read = scores.subarray(start, start + (causal ? row + 1 : length));
    weights.set(softmax(Array.from(read, (score) => score / temperature)), row * length);
  }
  return weights;
}

/**
 * What the list says of a row, of which the first `readable` words can be read: the places of the
 * words that it names, and the count and sum of the others. A short text is named in full.
 */
export function listed(weights, readable, all = ALL, largest = LARGEST) {
  const places = Array.from(weights, (_, i) => i);
  if (places.length <= all) return { named: places, others: 0, sum: 0, masked: 0 };
  const order = places.slice(0, readable).sort((a, b) => weights[b] - weights[a] || a - b);
  const rest = order.slice(largest);
  return {
    named: order.slice(0, largest).sort((a, b) => a - b),
    others: rest.length,
    sum: rest.reduce((total, place) => total + weights[place], 0),
    masked: places.length - readable,
  };
}

/** The corners, in percent, of the staircase that the causal mask forbids. */
export function staircase(length) {
  const at = (column, row) => `${(100 * column) / length}% ${(100 * row) / length}%`;
  const corners = Array.from({ length }, (_, row) => [at(row + 1, row), at(row + 1, row + 1)]);
  return [...corners.flat(), at(length, 0)].join(", ");
}

function render({ model, el }) {
  const heads = model.get("heads");
  const words = model.get("tokens").map(visibleText);
  const length = words.length;
  const scores = floats(model.get("data"));
  const write = (trait, value) => {
    model.set(trait, value);
    model.save_changes();
  };
  const word = (place) => html("bdi", { title: words[place] }, words[place]);
  const places = words.map((_, place) => place);

  // The parts, from the top.
  const settings = {};
  if (heads > 4) {
    settings.head = slider("Head", Array.from({ length: heads }, (_, i) => i), String, (head) =>
      write("head", head));
  } else if (heads > 1) {
    const buttons = choice("Head", Array.from({ length: heads }, (_, i) => [i, String(i)]), (head) =>
      write("head", head));
    settings.head = {
      node: html("div", { class: "mygpt-heads" },
        html("span", { class: "mygpt-slider-head", "aria-hidden": "true" }, "Head"), buttons.node),
      show: buttons.show,
    };
  }
  settings.temperature = slider("Temperature", model.get("temperatures"), String, (value) =>
    write("temperature", value));
  settings.causal = tick(["Causal mask"], (checked) => write("causal", checked));
  const controls = html("div", { class: "mygpt-controls" },
    ...Object.values(settings).map(({ node }) => node));
  const heat = heatmap();
  const forbidden = html("span", { class: "mygpt-forbidden" });
  forbidden.style.clipPath = `polygon(${staircase(length)})`;
  heat.canvas.after(forbidden);
  const label = (place) => html("span", {}, word(place));
  const rowLabels = places.map(label);
  const columnLabels = places.map(label);
  const rows = html("div", { class: "mygpt-rows", "aria-hidden": "true" }, ...rowLabels);
  const columns = html("div", { class: "mygpt-columns", "aria-hidden": "true" }, ...columnLabels);
  const hint = tooltip();
  const map = html("div", { class: "mygpt-map" }, columns, rows, heat.node, hint.node);
  const top = html("div", { class: "mygpt-head" },
    html("p", { class: "mygpt-note" }, "Each row reads, each column is read."),
    heat.legend);
  const position = slider("Reading position", places, (row) => `${row}  \u2068${words[row]}\u2069`,
    (row) => write("row", row));
  const handle = position.node.querySelector("input");
  const comma = () => html("span", { class: "mygpt-unseen" }, ", ");
  const lines = places.slice(0, ALL).map((place) => {
    const parts = {
      place: html("span", { class: "mygpt-number mygpt-place" }, String(place)),
      word: word(place),
      bar: html("span"),
      weight: html("span", { class: "mygpt-number mygpt-weight" }),
    };
    const track = html("span", { class: "mygpt-track", "aria-hidden": "true" }, parts.bar);
    return { ...parts, node: html("li", {}, parts.place, comma(), parts.word, comma(), track, parts.weight) };
  });
  const list = html("ul", { class: "mygpt-weights", "aria-label": "Weights of the row" },
    ...lines.map(({ node }) => node));
  const setting = html("p", { class: "mygpt-setting" });
  const voice = speaker();
  const root = html(
    "div",
    { class: "mygpt-explorer mygpt-attention", role: "group", "aria-label": "Explorer of attention" },
    controls, top, map, ...(length > 1 ? [position.node] : []), list, setting, voice.node);

  // Drawing: the weights when a setting changes, the row at every move.
  let width = 640;
  let height = 300;
  let gutter = 60;
  let weights = null;
  let hovered = null;
  let sentence = "";

  const masked = (row, column) => model.get("causal") && column > row;
  const weightText = (row, column) =>
    (masked(row, column) ? "masked" : fixed(weights[row * length + column], 3));

  function drawLabels() {
    const widest = Math.max(...words.map(textWidth));
    gutter = clamp(widest + 12, 44, width < 420 ? 84 : 120);
    const room = width - gutter;
    height = Math.round(clamp(32 * length, 56, clamp(0.75 * room, 280, 460)));
    const slanted = room / length < Math.min(widest + 10, 84);
    map.style.setProperty("--gutter", `${gutter}px`);
    columns.classList.toggle("mygpt-slanted", slanted);
    const free = roomFor(length, room, slanted ? 21 : 1);
    const long = Math.min(90, Math.max(...words.filter((_, i) => free[i]).map(textWidth)));
    map.style.setProperty("--top", `${slanted ? Math.ceil(0.71 * long + 18) : 26}px`);
    columnLabels.forEach((node, place) => {
      const middle = ((place + 0.5) / length) * room;
      node.hidden = !free[place];
      node.style.maxWidth = `${slanted ? 90 : room / length - 6}px`;
      node.style.left = slanted ? "auto" : `${middle}px`;
      node.style.right = slanted ? `${room - middle}px` : "auto";
    });
    rowLabels.forEach((node, place) => {
      node.style.top = `${(100 * (place + 0.5)) / length}%`;
    });
    list.style.setProperty("--lines", width < 520 ? lines.length : Math.ceil(lines.length / 2));
  }

  function drawWeights() {
    const [head, temperature, causal] = ["head", "temperature", "causal"].map((trait) => model.get(trait));
    weights = weightsOf(scores, length, head, temperature, causal);
    forbidden.hidden = !causal;
    for (const [trait, part] of Object.entries(settings)) part.show(model.get(trait));
    setting.textContent =
      `Head ${head}, temperature ${temperature}, ${causal ? "with" : "without"} the causal mask.`;
    paint();
  }

  function paint() {
    if (!root.isConnected) return; // the colours are known on a page alone
    heat.draw({ numbers: weights, rows: length, columns: length, height, limit: 1, decimals: 0 });
  }

  function fillLine(line, entry) {
    line.node.classList.toggle("mygpt-none", !entry);
    if (!entry) return;
    const { place, text, share, weight } = entry;
    line.node.classList.toggle("mygpt-rest", place === undefined);
    line.node.classList.toggle("mygpt-masked", weight === "masked");
    line.place.textContent = place ?? "";
    line.word.textContent = text;
    line.word.title = text;
    line.bar.style.width = `${(100 * share).toFixed(2)}%`;
    line.weight.textContent = weight;
  }

  function drawRow() {
    const row = model.get("row");
    const now = weights.subarray(row * length, (row + 1) * length);
    const { named, others, sum, masked: hidden } =
      listed(now, model.get("causal") ? row + 1 : length);
    heat.mark(row, null);
    position.show(row);
    const free = roomFor(length, height, 15.5, row);
    rowLabels.forEach((node, place) => {
      node.hidden = !free[place];
      node.classList.toggle("mygpt-chosen", place === row);
    });
    const entries = named.map((place) => ({
      place, text: words[place], share: now[place], weight: weightText(row, place),
    }));
    if (others) {
      entries.push({ text: `${others} other${others === 1 ? "" : "s"}`, share: sum, weight: fixed(sum, 3) });
    }
    if (hidden) {
      entries.push({ text: `${hidden} word${hidden === 1 ? "" : "s"}`, share: 0, weight: "masked" });
    }
    lines.forEach((line, i) => fillLine(line, entries[i]));
    const strong = [...named].sort((a, b) => now[b] - now[a] || a - b)
      .filter((place) => !masked(row, place)).slice(0, 3)
      .map((place) => `“${words[place]}” at ${place}, ${weightText(row, place)}`);
    sentence = `${setting.textContent} “${words[row]}” at position ${row} reads most: `
      + `${strong.join("; ")}.`;
    heat.canvas.setAttribute("aria-label", `${model.get("description")} ${sentence}`);
  }

  function drawHint() {
    if (!hovered) {
      hint.hide();
      return;
    }
    const { row, column } = hovered;
    const cell = { x: (width - gutter) / length, y: height / length };
    const y = map.clientHeight - height + (row + 1) * cell.y + 6;
    const frame = { left: gutter, right: width, top: y, bottom: y };
    hint.show(gutter + (column + 0.5) * cell.x, frame, width, [], [
      html("span", {}, "reads", html("b", {}, word(row))),
      html("span", {}, "is read", html("b", {}, word(column))),
      html("span", {}, "weight", html("b", {}, weightText(row, column))),
    ]);
  }

  const show = (cell) => {
    if (cell?.row === hovered?.row && cell?.column === hovered?.column) return;
    hovered = cell;
    drawHint();
  };
  heat.node.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse") show(heat.under(event));
  });
  heat.node.addEventListener("pointerleave", () => show(null));

  const draw = () => {
    drawWeights();
    drawRow();
    drawHint();
  };
  const speaking = (update) => () => {
    update();
    voice.say(sentence);
  };
  const choose = (event) => write("row", heat.under(event).row);
  return mount({
    model, el, root,
    undo: [dragging(heat.node, choose, handle), themed(paint), voice.stop],
    listeners: {
      ...Object.fromEntries(["head", "temperature", "causal"].map((trait) => [trait, speaking(draw)])),
      row: speaking(drawRow),
    },
    layout: (now) => {
      width = now;
      drawLabels();
      draw();
    },
  });
}

export default { render };
