import {
  barBox, button, fixed, floats, html, linearScale, linearTicks, mount, slider, softmax, speaker,
  store, svg,
} from "../kit/drawing.mjs";
import { mulberry32 } from "../kit/numbers.mjs";
import { bandScale, markerPath } from "../kit/picture.mjs";

const DECIMALS = 3;
const SHOWN = 12;
const MAX_DRAWS = 10000;
const ROW = 28;
const SIGNS = { " ": "·", "\n": "↵", "\r": "␍", "\t": "⇥" };

/** Ids from the largest number to the smallest, of equal ones the earlier first. */
export function descending(numbers) {
  return Array.from(numbers, (_, i) => i).sort((a, b) => numbers[b] - numbers[a] || a - b);
}

/**
 * What mygpt.sampling makes of the logits: softmax of logits / temperature over what top-k, and
 * then top-p, leave. `topK` null and `topP` 1 are off. `before` is the softmax of them all, and
 * `share` what those that are left have of it.
 */
export function distribution(logits, { temperature, topK, topP }) {
  const scaled = Array.from(logits, (logit) => logit / temperature);
  const before = softmax(scaled);
  const order = descending(scaled);
  if (topK !== null) {
    const least = scaled[order[Math.min(topK, order.length) - 1]];
    for (const id of order) if (scaled[id] < least) scaled[id] = -Infinity;
  }
  if (topP < 1) {
    const ordered = softmax(order.map((id) => scaled[id]));
    let sum = 0;
    const outside = order.filter((_, i) => {
      sum += ordered[i];
      return i > 0 && sum - ordered[i] >= topP;
    });
    for (const id of outside) scaled[id] = -Infinity;
  }
  const kept = scaled.map((score) => score > -Infinity);
  const share = before.reduce((sum, one, id) => sum + (kept[id] ? one : 0), 0);
  return { probabilities: softmax(scaled), kept, before, share };
}

/** Entropy in bits. */
export function entropy(probabilities) {
  return Math.abs(probabilities.reduce((sum, one) => sum + (one > 0 ? one * Math.log2(one) : 0), 0));
}

/** How often each id is drawn with the numbers, and the last one drawn (-1 without numbers). */
export function drawCounts(probabilities, numbers) {
  const ids = probabilities.flatMap((one, id) => (one > 0 ? [id] : []));
  let sum = 0;
  const ends = ids.map((id) => (sum += probabilities[id]));
  const counts = new Array(probabilities.length).fill(0);
  let last = -1;
  for (const number of numbers) {
    const found = ends.findIndex((end) => end > number);
    last = ids[found < 0 ? ids.length - 1 : found];
    counts[last] += 1;
  }
  return { counts, last };
}

/** The end of the axis for bars up to `most`: a round share, so that it seldom changes. */
export function axisEnd(most) {
  return [0.1, 0.2, 0.5].find((end) => most <= end) ?? 1;
}

/** The rows of the figure as lists of ids: the likeliest one by one, the others together. */
export function grouped(order, most = SHOWN) {
  const rows = order.slice(0, most).map((id) => [id]);
  return order.length > most ? [...rows, order.slice(most)] : rows;
}

/** The text with a visible sign for each space and control: a common one's own, or its code. */
export function shown(text) {
  return text.replace(/[\p{Z}\p{Cc}]/gu, (sign) =>
    SIGNS[sign] ?? `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
}

const sumOf = (ids, numbers) => ids.reduce((sum, id) => sum + Number(numbers[id]), 0);

/** The rows of the figure: their ids, name and title, and their share at temperature 1. */
function rowsOf(tokens, logits) {
  const warm = distribution(logits, { temperature: 1, topK: null, topP: 1 }).probabilities;
  return grouped(descending(logits)).map((ids, i) => {
    const [several, names] = [i === SHOWN, ids.map((id) => shown(tokens[id]))];
    return {
      ids,
      several,
      name: several ? `${ids.length} other${ids.length === 1 ? "" : "s"}` : names[0],
      title: several ? names.join(" ") : tokens[ids[0]],
      warm: sumOf(ids, warm),
    };
  });
}

function samplingState(model) {
  const tokens = model.get("tokens");
  const logits = floats(model.get("data"));
  return store(model, {
    tokens,
    logits,
    rows: rowsOf(tokens, logits),
    width: 640,
    end: 0, // of the axis
    numbers: [], // drawn so far, from the generator of the seed
    generator: null,
    seeded: null,
    found: null, // the distribution of the setting
    shares: [], // what each row has of it: now, before and of the draws, and how many are left
    last: -1,
  });
}

/** The numbers that the seed's generator gives for the draws; those once drawn stay. */
function numbersOf(state) {
  const [seed, draws] = [state.get("seed"), state.get("draws")];
  if (seed !== state.seeded) Object.assign(state, { seeded: seed, generator: mulberry32(seed), numbers: [] });
  while (state.numbers.length < draws) state.numbers.push(state.generator());
  return state.numbers.slice(0, draws);
}

/** What follows from the setting and the draws. */
function readSetting(state) {
  const [temperature, topK, topP] = ["temperature", "top_k", "top_p"].map(state.get);
  const found = distribution(state.logits, { temperature, topK, topP });
  const { counts, last } = drawCounts(found.probabilities, numbersOf(state));
  const shares = state.rows.map(({ ids }) => ({
    now: sumOf(ids, found.probabilities),
    before: sumOf(ids, found.before),
    left: sumOf(ids, found.kept),
    drawn: sumOf(ids, counts),
  }));
  Object.assign(state, { found, shares, last });
}

function outcomeOf({ tokens, found }) {
  return [
    ["b", found.kept.filter(Boolean).length], ["", ` of ${tokens.length} tokens left, with `],
    ["b", fixed(found.share, DECIMALS)], ["", " of the probability before renormalising. Entropy "],
    ["b", fixed(entropy(found.probabilities), 2)], ["", " bits."],
  ];
}

function settingOf({ get, tokens, last }) {
  const [temperature, topK, topP, draws] = ["temperature", "top_k", "top_p", "draws"].map(get);
  const drawn = draws ? ` ${draws} drawn with seed ${get("seed")}, the last ${shown(tokens[last])}.` : "";
  return `Temperature ${fixed(temperature, 1)}, top-k ${topK ?? "off"}, `
    + `top-p ${topP < 1 ? fixed(topP, 2) : "off"}.${drawn}`;
}

const nowText = ({ left, now }) => (left ? fixed(now, DECIMALS) : "cut");

function sentenceOf(state) {
  const outcome = outcomeOf(state).map(([, text]) => text).join("");
  const likeliest = state.rows.slice(0, 3).map(({ name }, i) => `${name} ${nowText(state.shares[i])}`);
  return `${settingOf(state)} ${outcome} ${likeliest.join(", ")}.`;
}

function settingsView(state) {
  const steps = (count, parts) => Array.from({ length: count }, (_, i) => (i + 1) / parts);
  const counts = [...state.tokens.map((_, i) => i + 1), null];
  const sliders = [
    ["temperature", "Temperature", steps(20, 10), (value) => fixed(value, 1)],
    ["top_k", "Top-k", counts, (value) => value ?? "off"],
    ["top_p", "Top-p", steps(20, 20), (value) => (value === 1 ? "off" : fixed(value, 2))],
  ].map(([trait, label, values, format]) =>
    [trait, slider(label, values, format, (value) => state.write({ [trait]: value }))]);
  const node = html("div", { class: "mygpt-controls" }, ...sliders.map(([, part]) => part.node));
  const draw = () => sliders.forEach(([trait, part]) => part.show(state.get(trait)));
  return { node, draw };
}

function outcomeView(state) {
  const node = html("p", { class: "mygpt-outcome" });
  const draw = () => node.replaceChildren(...outcomeOf(state).map(([tag, text]) =>
    (tag ? html(tag, {}, text) : text)));
  return { node, draw };
}

/** A row's marks in the picture, at the height of `y`. */
function rowMarks({ warm }, y) {
  const hatch = svg("path", { class: "mygpt-hatch", "stroke-width": 16 });
  const bar = svg("rect", { class: "mygpt-bar", height: 16, y: y - 8 });
  const outline = svg("path", { class: "mygpt-before" });
  const marker = svg("path", { class: "mygpt-drawn" });
  function draw({ now, before, left, drawn }, scale, total) {
    const length = barBox(now, scale);
    bar.setAttribute("x", length.start);
    bar.setAttribute("width", length.size);
    outline.setAttribute("d", `M${scale(warm).toFixed(1)} ${y - 11}v22`);
    const { start, size } = barBox(left ? 0 : before, scale);
    hatch.setAttribute("d", `M${start} ${y}h${size}`);
    marker.setAttribute("d", drawn && left ? markerPath(2, scale(drawn / total), y, 5) : "");
  }
  return { hatch, bar, outline, marker, draw };
}

/** A row of the table. The first also holds the picture, which is as tall as all rows. */
function tableRow({ ids, several, name, title, warm }, bars) {
  const label = html(several ? "i" : "bdi", {}, name);
  const [now, times] = [html("td", { class: "mygpt-now" }), html("td")];
  const first = html("td", { class: "mygpt-wide mygpt-quiet" }, fixed(warm, DECIMALS));
  const node = html("tr", {}, html("th", { scope: "row", title }, label), ...bars, now, first, times);
  function draw(share, total) {
    const { left, drawn } = share;
    node.classList.toggle("mygpt-is-cut", !left);
    now.textContent = nowText(share);
    times.textContent = total ? String(drawn) : "–";
    if (several) label.textContent = left && left < ids.length ? `${left} of ${name}` : name;
  }
  return { node, draw };
}

/** The table's columns, of the widths that `lay` gives them. */
function tableHead() {
  const columns = ["name", "bars", "now", "wide", "times"].map((name) =>
    html("col", { class: name === "wide" ? "mygpt-wide" : "" }));
  const heads = [["Token"], ["Probability"], ["now"], ["at T = 1", "mygpt-wide"], ["drawn"]].map(
    ([text, className]) => html("th", { scope: "col", class: className }, text));
  heads[1].style.textAlign = "left";
  const nodes = [html("colgroup", {}, ...columns), html("thead", {}, html("tr", {}, ...heads))];
  const lay = (widths) => widths.forEach((size, i) => { columns[i].style.width = `${size}px`; });
  return { nodes, lay };
}

/** The rows' picture: an axis under their marks. */
function barsPicture(rows) {
  const height = rows.length * ROW;
  const band = bandScale(rows.length, 0, height);
  const marks = rows.map((row, i) => rowMarks(row, band.middle(i)));
  const grid = svg("g");
  const node = svg("svg", { class: "mygpt-picture", role: "img" },
    grid, ...marks.flatMap(({ hatch, bar }) => [hatch, bar]),
    ...marks.map(({ outline }) => outline), ...marks.map(({ marker }) => marker));
  let scale = null;

  function lay(room, end) {
    node.setAttribute("viewBox", `0 0 ${room} ${height}`);
    node.setAttribute("width", room);
    node.setAttribute("height", height);
    scale = linearScale([0, end], [8, room - 8]); // room for half a marker
    grid.replaceChildren(...linearTicks(0, end, room / 64).flatMap(({ at, label }) => {
      const x = scale(at).toFixed(1);
      const kind = at === 0 ? "mygpt-line mygpt-strong" : "mygpt-line";
      return [svg("path", { class: kind, d: `M${x} 0V${height}` }),
        svg("text", { x, y: height + 17, "text-anchor": "middle" }, label)];
    }));
  }
  const draw = (shares, total) => marks.forEach((mark, i) => mark.draw(shares[i], scale, total));
  return { node, lay, draw };
}

/** The tokens with their shares, as bars and as numbers. */
function sharesView(state) {
  const { rows } = state;
  const image = barsPicture(rows);
  const bars = html("td", { class: "mygpt-bars", rowspan: rows.length }, image.node);
  const lines = rows.map((row, i) => tableRow(row, i ? [] : [bars]));
  const head = tableHead();
  const node = html("table", { class: "mygpt-shares" },
    html("caption", { class: "mygpt-unseen" }, "Probability of each token, and how often it was drawn"),
    ...head.nodes, html("tbody", {}, ...lines.map((line) => line.node)));

  function lay() {
    const { width, end } = state;
    const longest = Math.max(...rows.map(({ name, several }) => [...name].length + (several ? 6 : 0)));
    const name = Math.min(Math.max(64, 14 + 8 * longest), 0.3 * width);
    const others = [54, width < 420 ? 0 : 72, 56];
    const room = Math.round(width - others.reduce((sum, one) => sum + one, name));
    head.lay([name, room, ...others]);
    image.lay(room, end);
  }
  function draw() {
    const { shares, end } = state;
    const most = Math.max(...shares.flatMap(({ now, before }) => [now, before]),
      ...rows.map(({ warm }) => warm));
    state.end = axisEnd(most);
    if (state.end !== end) lay();
    image.draw(shares, state.get("draws"));
    lines.forEach((line, i) => line.draw(shares[i], state.get("draws")));
    image.node.setAttribute("aria-label", `${state.get("description")} ${sentenceOf(state)}`);
  }
  return { node, draw };
}

function key(text, ...shapes) {
  return html("span", {},
    svg("svg", { width: 30, height: 14, viewBox: "0 0 30 14", "aria-hidden": "true" }, ...shapes), text);
}

function keys() {
  return html("p", { class: "mygpt-key", "aria-hidden": "true" },
    key("now", svg("rect", { class: "mygpt-bar", x: 0, y: 1, width: 30, height: 12 })),
    key("temperature 1, nothing cut", svg("path", { class: "mygpt-before", d: "M15 0V14" })),
    key("cut: what it had", svg("path", { class: "mygpt-hatch", "stroke-width": 12, d: "M0 7H30" })),
    key("share of the draws", svg("path", { class: "mygpt-drawn", d: markerPath(2, 15, 7, 5) })));
}

/** The buttons that draw tokens, and the last one drawn. */
function drawsView(state) {
  const drawMore = (count) => state.write({ draws: Math.min(state.get("draws") + count, MAX_DRAWS) });
  const more = [["Draw", 1], ["Draw 100", 100]].map(([text, count]) =>
    button(text, () => drawMore(count)));
  const reset = button("Reset", () => state.write({ draws: 0 }));
  const out = html("p", { class: "mygpt-last" });
  const node = html("div", { class: "mygpt-actions" },
    ...more.map((one) => one.node), reset.node, out);
  function draw() {
    const [total, seed, token] = [state.get("draws"), state.get("seed"), state.tokens[state.last]];
    for (const one of more) one.able(total < MAX_DRAWS);
    reset.able(total > 0);
    out.replaceChildren(...(total
      ? [`Draw ${total} of seed ${seed}: `, html("bdi", { title: token }, shown(token))]
      : [`Seed ${seed}, nothing drawn`]));
  }
  return { node, draw };
}

function drawnOf({ get, tokens, last }) {
  return get("draws") ? `“${shown(tokens[last])}” is draw ${get("draws")} of seed ${get("seed")}.`
    : "Nothing is drawn.";
}

function settingView(state) {
  const node = html("p", { class: "mygpt-setting" });
  return { node, draw: () => { node.textContent = settingOf(state); } };
}

function render({ model, el }) {
  const state = samplingState(model);
  const parts = [settingsView, outcomeView, sharesView, drawsView, settingView].map((view) => view(state));
  const [controls, outcome, table, actions, setting] = parts.map(({ node }) => node);
  const prompt = html("p", { class: "mygpt-prompt" },
    "The next token after “", html("bdi", {}, state.get("prompt")), "”");
  const voice = speaker();
  const root = html(
    "div", { class: "mygpt-explorer mygpt-sampling", role: "group", "aria-label": "Explorer of sampling" },
    ...(state.get("prompt") ? [prompt] : []), controls, outcome, table, keys(), actions, setting,
    voice.node);

  function draw() {
    readSetting(state);
    for (const part of parts) part.draw();
  }
  const speaking = (sentence) => () => {
    draw();
    voice.say(sentence(state));
  };
  const settings = ["temperature", "top_k", "top_p", "seed"];
  return mount({
    model, el, root,
    undo: [voice.stop],
    listeners: {
      ...Object.fromEntries(settings.map((trait) => [trait, speaking(sentenceOf)])),
      draws: speaking(drawnOf),
    },
    layout: (width) => {
      Object.assign(state, { width, end: 0 });
      draw();
    },
  });
}

export default { render };
