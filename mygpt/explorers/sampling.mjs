import {
  bandScale, barBox, button, fixed, floats, html, linearScale, linearTicks, markerPath, mount,
  slider, softmax, speaker, svg,
} from "./drawing.mjs";

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

/** The generator mulberry32: a function that gives the next number from 0 up to 1. */
export function mulberry32(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
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

function key(text, ...shapes) {
  return html("span", {},
    svg("svg", { width: 30, height: 14, viewBox: "0 0 30 14", "aria-hidden": "true" }, ...shapes), text);
}

function render({ model, el }) {
  const tokens = model.get("tokens");
  const prompt = model.get("prompt");
  const logits = floats(model.get("data"));
  const rows = grouped(descending(logits));
  const warm = distribution(logits, { temperature: 1, topK: null, topP: 1 }).probabilities;
  const nameOf = (id) => shown(tokens[id]);
  const othersOf = (ids) => `${ids.length} other${ids.length === 1 ? "" : "s"}`;
  const write = (trait, value) => {
    model.set(trait, value);
    model.save_changes();
  };

  // The parts, from the top.
  const steps = (count, parts) => Array.from({ length: count }, (_, i) => (i + 1) / parts);
  const settings = [
    ["temperature", slider("Temperature", steps(20, 10), (value) => fixed(value, 1),
      (value) => write("temperature", value))],
    ["top_k", slider("Top-k", [...tokens.map((_, i) => i + 1), null], (value) => value ?? "off",
      (value) => write("top_k", value))],
    ["top_p", slider("Top-p", steps(20, 20), (value) => (value === 1 ? "off" : fixed(value, 2)),
      (value) => write("top_p", value))],
  ];
  const controls = html("div", { class: "mygpt-controls" }, ...settings.map(([, { node }]) => node));
  const [leftOut, shareOut, entropyOut] = ["b", "b", "b"].map((tag) => html(tag));
  const outcome = html("p", { class: "mygpt-outcome" },
    leftOut, ` of ${tokens.length} tokens left, with `, shareOut,
    " of the probability before renormalising. Entropy ", entropyOut, " bits.");

  const image = svg("svg", { class: "mygpt-picture", role: "img" });
  const parts = rows.map((ids, i) => {
    const several = i === SHOWN;
    const name = several ? othersOf(ids) : nameOf(ids[0]);
    const title = several ? ids.map(nameOf).join(" ") : tokens[ids[0]];
    const head = html("th", { scope: "row", title }, html(several ? "i" : "bdi", {}, name));
    const before = ids.reduce((sum, id) => sum + warm[id], 0);
    const [now, drawn] = [html("td", { class: "mygpt-now" }), html("td")];
    const first = html("td", { class: "mygpt-wide mygpt-quiet" }, fixed(before, DECIMALS));
    const bars = i ? [] : [html("td", { class: "mygpt-bars", rowspan: rows.length }, image)];
    const row = html("tr", {}, head, ...bars, now, first, drawn);
    return {
      ids, several, name, row, now, drawn, before,
      hatch: svg("path", { class: "mygpt-hatch", "stroke-width": 16 }),
      bar: svg("rect", { class: "mygpt-bar", height: 16 }),
      outline: svg("path", { class: "mygpt-before" }),
      marker: svg("path", { class: "mygpt-drawn" }),
    };
  });
  const columns = ["name", "bars", "now", "wide", "times"].map((name) =>
    html("col", { class: name === "wide" ? "mygpt-wide" : "" }));
  const heads = [["Token"], ["Probability"], ["now"], ["at T = 1", "mygpt-wide"], ["drawn"]].map(
    ([text, className]) => html("th", { scope: "col", class: className }, text));
  heads[1].style.textAlign = "left";
  const table = html("table", { class: "mygpt-shares" },
    html("caption", { class: "mygpt-unseen" }, "Probability of each token, and how often it was drawn"),
    html("colgroup", {}, ...columns),
    html("thead", {}, html("tr", {}, ...heads)),
    html("tbody", {}, ...parts.map(({ row }) => row)));
  const keys = html("p", { class: "mygpt-key", "aria-hidden": "true" },
    key("now", svg("rect", { class: "mygpt-bar", x: 0, y: 1, width: 30, height: 12 })),
    key("temperature 1, nothing cut",
      svg("path", { class: "mygpt-before", d: "M15 0V14" })),
    key("cut: what it had", svg("path", { class: "mygpt-hatch", "stroke-width": 12, d: "M0 7H30" })),
    key("share of the draws", svg("path", { class: "mygpt-drawn", d: markerPath(2, 15, 7, 5) })));

  const draws = (count) => write("draws", Math.min(model.get("draws") + count, MAX_DRAWS));
  const one = button("Draw", () => draws(1));
  const many = button("Draw 100", () => draws(100));
  const reset = button("Reset", () => write("draws", 0));
  const lastOut = html("p", { class: "mygpt-last" });
  const actions = html("div", { class: "mygpt-actions" }, one.node, many.node, reset.node, lastOut);
  const setting = html("p", { class: "mygpt-setting" });
  const voice = speaker();
  const opening = prompt
    ? [html("p", { class: "mygpt-prompt" }, "The next token after “", html("bdi", {}, prompt), "”")] : [];
  const root = html(
    "div", { class: "mygpt-explorer mygpt-sampling", role: "group", "aria-label": "Explorer of sampling" },
    ...opening, controls, outcome, table, keys, actions, setting, voice.node);

  // Drawing: the frame at a new width or axis, the lengths of the bars at every move.
  const band = bandScale(rows.length, 0, rows.length * ROW);
  const grid = svg("g");
  image.append(grid, ...parts.flatMap(({ hatch, bar }) => [hatch, bar]),
    ...parts.map(({ outline }) => outline), ...parts.map(({ marker }) => marker));
  parts.forEach(({ bar }, i) => bar.setAttribute("y", band.middle(i) - 8));
  let width = 640;
  let scale = null;
  let end = 0;
  let numbers = [];
  let generator = null;
  let seeded = null;
  let sentence = "";
  let drawnFirst = "";

  function frame() {
    const narrow = width < 420;
    const longest = Math.max(...parts.map(({ name, several }) => [...name].length + (several ? 6 : 0)));
    const wide = [Math.min(Math.max(64, 14 + 8 * longest), 0.3 * width), 54, narrow ? 0 : 72, 56];
    const room = Math.round(width - wide.reduce((sum, one) => sum + one, 0));
    [wide[0], room, ...wide.slice(1)].forEach((size, i) => { columns[i].style.width = `${size}px`; });
    const height = rows.length * ROW;
    image.setAttribute("viewBox", `0 0 ${room} ${height}`);
    image.setAttribute("width", room);
    image.setAttribute("height", height);
    scale = linearScale([0, end], [8, room - 8]); // room for half a marker
    grid.replaceChildren(...linearTicks(0, end, room / 64).flatMap(({ at, label }) => {
      const x = scale(at).toFixed(1);
      const kind = at === 0 ? "mygpt-line mygpt-strong" : "mygpt-line";
      return [svg("path", { class: kind, d: `M${x} 0V${height}` }),
        svg("text", { x, y: height + 17, "text-anchor": "middle" }, label)];
    }));
  }

  function numbersNow() {
    if (model.get("seed") !== seeded) {
      seeded = model.get("seed");
      generator = mulberry32(seeded);
      numbers = [];
    }
    while (numbers.length < model.get("draws")) numbers.push(generator());
    return numbers.slice(0, model.get("draws"));
  }

  function drawBar(part, i, { probabilities, kept, before }, counts, total) {
    const sum = (list) => part.ids.reduce((all, id) => all + Number(list[id]), 0);
    const [now, left, drawn] = [sum(probabilities), sum(kept), sum(counts)];
    const cut = left === 0;
    const y = band.middle(i);
    const length = barBox(now, scale);
    part.bar.setAttribute("x", length.start);
    part.bar.setAttribute("width", length.size);
    part.outline.setAttribute("d", `M${scale(part.before).toFixed(1)} ${y - 11}v22`);
    const { start, size } = barBox(cut ? sum(before) : 0, scale);
    part.hatch.setAttribute("d", `M${start} ${y}h${size}`);
    part.marker.setAttribute("d", drawn && !cut ? markerPath(2, scale(drawn / total), y, 5) : "");
    part.row.classList.toggle("mygpt-is-cut", cut);
    part.now.textContent = cut ? "cut" : fixed(now, DECIMALS);
    part.drawn.textContent = total ? String(drawn) : "–";
    if (part.several) {
      const some = left < part.ids.length && !cut ? `${left} of ` : "";
      part.row.firstChild.firstChild.textContent = some + part.name;
    }
  }

  function draw() {
    const setup = {
      temperature: model.get("temperature"), topK: model.get("top_k"), topP: model.get("top_p"),
    };
    const found = distribution(logits, setup);
    const { counts, last } = drawCounts(found.probabilities, numbersNow());
    const total = model.get("draws");
    const shares = [found.probabilities, found.before, warm].flatMap((list) =>
      parts.map(({ ids }) => ids.reduce((sum, id) => sum + list[id], 0)));
    const most = Math.max(...shares);
    if (axisEnd(most) !== end) {
      end = axisEnd(most);
      frame();
    }
    parts.forEach((part, i) => drawBar(part, i, found, counts, total));
    for (const [trait, part] of settings) part.show(model.get(trait));
    const left = found.kept.filter(Boolean).length;
    leftOut.textContent = left;
    shareOut.textContent = fixed(found.share, DECIMALS);
    entropyOut.textContent = fixed(entropy(found.probabilities), 2);
    one.able(total < MAX_DRAWS);
    many.able(total < MAX_DRAWS);
    reset.able(total > 0);
    lastOut.replaceChildren(...(total
      ? [`Draw ${total} of seed ${seeded}: `, html("bdi", { title: tokens[last] }, nameOf(last))]
      : [`Seed ${model.get("seed")}, nothing drawn`]));
    drawnFirst = total ? `“${nameOf(last)}” is draw ${total} of seed ${seeded}.` : "Nothing is drawn.";
    const drawn = total ? ` ${total} drawn with seed ${model.get("seed")}, the last ${nameOf(last)}.` : "";
    setting.textContent = `Temperature ${fixed(setup.temperature, 1)}, top-k ${setup.topK ?? "off"}, `
      + `top-p ${setup.topP < 1 ? fixed(setup.topP, 2) : "off"}.${drawn}`;
    const likeliest = parts.slice(0, 3).map(({ name, now }) => `${name} ${now.textContent}`).join(", ");
    sentence = `${setting.textContent} ${outcome.textContent} ${likeliest}.`;
    image.setAttribute("aria-label", `${model.get("description")} ${sentence}`);
  }

  const speaking = (text) => () => {
    draw();
    voice.say(text());
  };
  return mount({
    model, el, root,
    undo: [voice.stop],
    listeners: {
      ...Object.fromEntries(["temperature", "top_k", "top_p", "seed"].map((trait) =>
        [trait, speaking(() => sentence)])),
      draws: speaking(() => drawnFirst),
    },
    layout: (now) => {
      width = now;
      end = 0;
      draw();
    },
  });
}

export default { render };
