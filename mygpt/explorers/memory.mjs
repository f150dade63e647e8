import {
  axisHandle, barBox, clamp, control, dragging, extent, fixed, floats, html, linearScale,
  linearTicks, mount, speaker, svg, tooltip,
} from "./drawing.mjs";
import { heatmap, roomFor, textWidth, themed, visibleText } from "./heat.mjs";
import { pairTable, ranking, unpackPairs } from "./neurons.mjs";

const DECIMALS = 3;
const STRONGEST = 10;

function render({ model, el }) {
  const words = model.get("tokens").map(visibleText);
  const texts = model.get("texts").map(visibleText);
  const length = words.length;
  const neurons = model.get("neurons");
  const activations = floats(model.get("data"));
  const triggers = unpackPairs(floats(model.get("trigger_data")), neurons, texts);
  const promoted = unpackPairs(floats(model.get("promoted_data")), neurons, texts);
  const [lowest, highest] = extent([activations]);
  const limit = Math.max(-lowest, highest) || 1;
  const longest = Math.max(...[lowest, highest].map((value) => fixed(value, DECIMALS).length));
  const digits = Math.max(longest, ...[triggers, promoted].flat(2)
    .map(({ number }) => fixed(number, DECIMALS).length));
  const places = words.map((_, place) => place);
  const write = (trait, value) => {
    if (model.get(trait) === value) return;
    model.set(trait, value);
    model.save_changes();
  };
  const at = (token, neuron) => activations[token * neurons + neuron];
  const text = (token, neuron) => fixed(at(token, neuron), DECIMALS);
  const word = (place) => html("bdi", { title: words[place] }, words[place]);

  // The parts, from the top.
  const heat = heatmap();
  const column = html("span", { class: "mygpt-neuron-frame" });
  heat.node.append(column);
  const rowLabels = places.map((place) => html("span", {}, word(place)));
  const rows = html("div", { class: "mygpt-rows", "aria-hidden": "true" }, ...rowLabels);
  const scale = html("div", { class: "mygpt-scale", "aria-hidden": "true" });
  const strip = svg("svg", { class: "mygpt-strip", role: "img" });
  const handle = axisHandle("Neuron", (neuron) => write("neuron", neuron));
  const hint = tooltip();
  const map = html("div", { class: "mygpt-map" },
    rows, heat.node, strip, scale, ...(neurons > 1 ? [handle.node] : []),
    html("span", { class: "mygpt-strip-head", "aria-hidden": "true" }, "activation"), hint.node);
  const neuronOut = html("span");
  const top = html("div", { class: "mygpt-head" },
    html("p", { class: "mygpt-at mygpt-number" }, neuronOut), heat.legend);
  const count = (lists) => Math.max(1, ...lists.map((pairs) => pairs.length));
  const triggerTable = pairTable("Texts that trigger the neuron, and its activation there",
    "Triggers", "activation", count(triggers), DECIMALS);
  const promotedTable = pairTable("Words that the neuron promotes, and their scores",
    "Promoted words", "score", count(promoted), DECIMALS);
  const neuronPart = html("div", { class: "mygpt-part" }, triggerTable.node, promotedTable.node);

  const select = control("select", {}, ...places.map((place) =>
    html("option", { value: place }, `${place}  \u2068${words[place]}\u2069`)));
  select.addEventListener("change", () => write("token", Number(select.value)));
  const step = (label, by) => {
    const button = control("button", { type: "button", class: "mygpt-step" }, label);
    button.addEventListener("click", () => {
      const next = ranked.indexOf(model.get("neuron")) + by;
      if (next >= 0 && next < neurons) write("neuron", ranked[next]);
    });
    return button;
  };
  const steps = [step("Previous strongest", -1), step("Next strongest", 1)];
  const rankOut = html("span", { class: "mygpt-number mygpt-rank" });
  const buttons = Array.from({ length: Math.min(STRONGEST, neurons) }, (_, i) => {
    const parts = ["neuron", "activation", "word"].map((name) =>
      html(name === "word" ? "bdi" : "span", { class: `mygpt-number mygpt-${name}` }));
    const node = control("button", { type: "button", class: "mygpt-strong-one" }, ...parts);
    node.addEventListener("click", () => write("neuron", ranked[i]));
    return { node, parts };
  });
  const tokenPart = html("div", { class: "mygpt-part" },
    html("label", { class: "mygpt-token" }, html("span", {}, "Token"), select),
    html("p", { class: "mygpt-strong-head" },
      ...["Strongest", "activation", "promotes first"].map((name) =>
        html("span", {}, name))),
    html("ol", { class: "mygpt-strongest", "aria-label": "Strongest neurons at the token" }, ...buttons.map(({ node }) => html("li", {}, node))),
    html("p", { class: "mygpt-steps" }, rankOut, ...steps));
  const below = html("div", { class: "mygpt-below" }, neuronPart, tokenPart);
  below.style.setProperty("--digits", digits);
  const setting = html("p", { class: "mygpt-setting" });
  const voice = speaker();
  const root = html(
    "div", { class: "mygpt-explorer mygpt-memory", role: "group", "aria-label": "Explorer of memories" },
    top, map, below, setting, voice.node);

  // Drawing: the picture for a width, the list for a token, the read-outs at every move.
  let width = 640;
  let height = 300;
  let gutter = 60;
  let room = 500;
  let side = 100;
  let ranked = [];
  let hovered = null;
  let sentence = "";
  const bars = places.map(() => svg("rect", { class: "mygpt-bar" }));
  const values = places.map(() => svg("text", { "text-anchor": "end", dy: "0.35em" }));
  const zero = svg("path", { class: "mygpt-axis" });
  strip.append(...bars, zero, ...values);
  let toX = linearScale([0, 1], [0, 1]);

  function drawMap() {
    const narrow = width < 420;
    const numbers = 8.4 * longest + 4;
    gutter = clamp(Math.max(...words.map(textWidth)) + 12, 36, narrow ? 64 : 110);
    side = Math.round(narrow ? Math.max(numbers + 6, 64) : numbers + 96); // on a phone without bars
    room = width - gutter - side;
    height = Math.round(clamp(24 * length, 60, 420));
    for (const [name, value] of Object.entries({ gutter, side, tall: height })) {
      map.style.setProperty(`--${name}`, `${value}px`);
    }
    rowLabels.forEach((node, place) => {
      node.style.top = `${(100 * (place + 0.5)) / length}%`;
    });
    const cell = room / neurons;
    handle.place({ left: gutter + cell / 2, right: width - side - cell / 2, bottom: height + 12 });
    const ticks = neurons > 1 ? linearTicks(0, neurons - 1, room / 52, 1) : [{ at: 0, label: "0" }];
    scale.replaceChildren(...ticks.map(({ at: neuron, label }) => {
      const node = html("span", { class: "mygpt-number" }, label);
      node.style.left = `${(100 * (neuron + 0.5)) / neurons}%`;
      return node;
    }), html("b", {}, "neuron"));
    heat.canvas.classList.toggle("mygpt-dense", neurons > room);
    strip.setAttribute("viewBox", `0 0 ${side} ${height}`);
    toX = linearScale([Math.min(lowest, 0), Math.max(highest, 0) || 1e-9], [12, side - numbers - 6]);
    const band = height / length;
    const thick = clamp(0.66 * band, 2, 14);
    zero.setAttribute("d", `M${toX(0)} 0V${height}`);
    places.forEach((place) => {
      const middle = (place + 0.5) * band;
      bars[place].setAttribute("y", middle - thick / 2);
      bars[place].setAttribute("height", thick);
      values[place].setAttribute("x", side);
      values[place].setAttribute("y", middle);
    });
    paint();
  }

  function paint() {
    if (!root.isConnected) return; // the colours are known on a page alone
    heat.draw({
      numbers: activations, rows: length, columns: neurons, height, limit, signed: true, decimals: DECIMALS,
    });
  }

  function drawToken() {
    const token = model.get("token");
    ranked = ranking(activations.subarray(token * neurons, (token + 1) * neurons));
    heat.mark(token, null);
    select.value = token;
    const free = roomFor(length, height, 15.5, token);
    places.forEach((place) => {
      rowLabels[place].hidden = !free[place];
      rowLabels[place].classList.toggle("mygpt-chosen", place === token);
      values[place].classList.toggle("mygpt-chosen", place === token);
      values[place].style.display = free[place] ? "" : "none";
    });
    buttons.forEach(({ parts }, i) => {
      const neuron = ranked[i];
      const first = promoted[neuron][0]?.text ?? "–";
      parts[0].textContent = `Neuron ${neuron}`;
      parts[1].textContent = text(token, neuron);
      parts[2].textContent = first;
      parts[2].title = first;
    });
  }

  function drawNeuron() {
    const [neuron, token] = [model.get("neuron"), model.get("token")];
    const rank = ranked.indexOf(neuron);
    column.style.left = `calc(${(100 * neuron) / neurons}% - 2px)`;
    column.style.width = `calc(${100 / neurons}% + 4px)`;
    handle.show(neuron, neurons - 1, `neuron ${neuron}, ${text(token, neuron)}`);
    neuronOut.textContent = `Neuron ${neuron}`;
    places.forEach((place) => {
      const value = at(place, neuron);
      const { start, size } = barBox(value, toX);
      bars[place].setAttribute("x", start.toFixed(1));
      bars[place].setAttribute("width", size.toFixed(1));
      bars[place].classList.toggle("mygpt-negative", value < 0);
      values[place].textContent = fixed(value, DECIMALS);
    });
    strip.setAttribute("aria-label", `Activation of neuron ${neuron} at every token: ${
      places.map((place) => `${words[place]} ${text(place, neuron)}`).join(", ")}.`);
    triggerTable.show(triggers[neuron]);
    promotedTable.show(promoted[neuron]);
    buttons.forEach(({ node }, i) => node.setAttribute("aria-pressed", ranked[i] === neuron));
    steps[0].setAttribute("aria-disabled", rank === 0);
    steps[1].setAttribute("aria-disabled", rank === neurons - 1);
    rankOut.textContent = `Neuron ${neuron} is number ${rank + 1} of ${neurons} at this token.`;
    setting.textContent = `Neuron ${neuron} and token ${token}, “${words[token]}”.`;
    const first = promoted[neuron][0];
    sentence = `Neuron ${neuron} at token ${token}, “${words[token]}”: activation ${text(token, neuron)}, `
      + `number ${rank + 1} of ${neurons} by size.${first ? ` First promoted word: “${first.text}”.` : ""}`;
    heat.canvas.setAttribute("aria-label", `${model.get("description")} ${sentence}`);
  }

  function drawHint() {
    if (!hovered) {
      hint.hide();
      return;
    }
    const { row, column: neuron } = hovered;
    const y = ((row + 1) * height) / length + 8;
    const frame = { left: gutter, right: gutter + room, top: y, bottom: y };
    hint.show(gutter + ((neuron + 0.5) * room) / neurons, frame, width, [], [
      html("strong", {}, `Neuron ${neuron}`),
      html("span", {}, word(row), html("b", {}, text(row, neuron))),
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

  const drawBoth = () => {
    drawToken();
    drawNeuron();
  };
  const speaking = (update) => () => {
    update();
    voice.say(sentence);
  };
  const choose = (event) => {
    const { row, column: neuron } = heat.under(event);
    write("token", row);
    write("neuron", neuron);
  };
  return mount({
    model, el, root,
    undo: [
      dragging(heat.node, choose, neurons > 1 ? handle.node : select), themed(paint), voice.stop,
    ],
    listeners: { token: speaking(drawBoth), neuron: speaking(drawNeuron) },
    layout: (now) => {
      width = now;
      drawMap();
      drawBoth();
      drawHint();
    },
  });
}

export default { render };
