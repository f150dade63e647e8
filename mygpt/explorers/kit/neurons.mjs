// What the explorers of memories share. Their state has the `tokens`, the number of `neurons`, those
// `ranked` at the chosen token, the `hovered` cell and the `width`; `token` and `neuron` are traits.

import { axisHandle, button, control } from "./controls.mjs";
import { html, titled, tooltip } from "./elements.mjs";
import { fixed, linearTicks } from "./geometry.mjs";
import { dragging, hovering, keeping } from "./pointers.mjs";
import { heatmap, rowLabels } from "./heat.mjs";

/** For each neuron its pairs { text, number }, from the packed places and numbers.
 * @type {(numbers: Float32Array, neurons: number, texts: string[]) => Kit.TextAndNumber[][]} */
export function unpackPairs(numbers, neurons, texts) {
  const longest = numbers.length / (2 * neurons);
  return Array.from({ length: neurons }, (_, neuron) =>
    Array.from({ length: longest }, (_one, i) => 2 * (neuron * longest + i))
      .filter((at) => numbers[at] >= 0)
      .map((at) => ({ text: texts[numbers[at]], number: numbers[at + 1] })),
  );
}

/** The neurons by the size of their activation, the strongest first, of equals the first.
 * @type {(activations: Kit.Numbers) => number[]} */
export function ranking(activations) {
  return Array.from(activations, (_, neuron) => neuron).sort(
    (a, b) => Math.abs(activations[b]) - Math.abs(activations[a]) || a - b,
  );
}

/** A table of up to `most` texts with their numbers; `show(pairs)` fills it.
 * @type {(caption: string, title: string, heading: string, most: number, decimals: number) => Kit.Control<Kit.TextAndNumber[]>} */
export function pairTable(caption, title, heading, most, decimals) {
  const lines = Array.from({ length: most }, () => {
    const text = html("bdi");
    const number = html("td");
    return { text, number, node: html("tr", {}, html("th", { scope: "row" }, text), number) };
  });
  const head = html("tr", {}, html("th", { scope: "col" }, title), html("th", { scope: "col" }, heading));
  const node = html(
    "table",
    { class: "mygpt-readings mygpt-pairs" },
    html("caption", { class: "mygpt-unseen" }, caption),
    html("thead", {}, head),
    html("tbody", {}, ...lines.map((line) => line.node)),
  );
  /** @type {(pairs: Kit.TextAndNumber[]) => void} */
  const show = (pairs) =>
    lines.forEach((line, i) => {
      const pair = pairs[i];
      line.node.classList.toggle("mygpt-none", !pair && i > 0);
      line.text.textContent = pair ? pair.text : "–";
      line.text.title = pair ? pair.text : "";
      line.number.textContent = pair ? fixed(pair.number, decimals) : "";
    });
  return { node, show };
}

/** Labels under a row of neurons: at most one every 52 pixels.
 * @type {(neurons: number, room: number) => HTMLElement[]} */
function neuronScale(neurons, room) {
  const ticks = neurons > 1 ? linearTicks(0, neurons - 1, room / 52, 1) : [{ at: 0, label: "0" }];
  return ticks.map(({ at, label }) => {
    const node = html("span", { class: "mygpt-number" }, label);
    node.style.left = `${(100 * (at + 0.5)) / neurons}%`;
    return node;
  });
}

/**
 * A heatmap of tokens by neurons, with the handle of the neuron and a hint under the mouse that
 * shows `textAt(row, neuron)`. What stands `beside` the cells or `over` them comes with it.
 * @type {(state: Kit.NeuronState, parts: { textAt: Kit.TextAt; beside?: Node[]; over?: Node[] }) => Kit.NeuronMap}
 */
export function neuronMap(state, { textAt, beside = [], over = [] }) {
  const { neurons } = state;
  const heat = heatmap();
  const column = html("span", { class: "mygpt-neuron-frame" });
  heat.node.append(column);
  const rows = rowLabels([]);
  const scale = html("div", { class: "mygpt-neuron-numbers", "aria-hidden": "true" });
  const handle = axisHandle("Neuron", (neuron) => state.write({ neuron }));
  const hint = tooltip();
  const last = [...(neurons > 1 ? [handle.node] : []), ...over, hint.node];
  const node = html("div", { class: "mygpt-map" }, rows.node, heat.node, ...beside, scale, ...last);
  let size = { gutter: 60, side: 0, tall: 300, room: 500 };

  /** @type {Kit.NeuronMap["lay"]} */
  function lay({ gutter, tall, side = 0 }) {
    const room = state.width - gutter - side;
    size = { gutter, side, tall, room };
    const lengths = Object.entries({ gutter, side, tall });
    for (const [name, value] of lengths) node.style.setProperty(`--${name}`, `${value}px`);
    const half = room / neurons / 2;
    handle.place({ left: gutter + half, right: gutter + room - half, bottom: tall + 12 });
    scale.replaceChildren(...neuronScale(neurons, room), html("b", {}, "neuron"));
    heat.canvas.classList.toggle("mygpt-dense", neurons > room);
  }
  /** @type {Kit.NeuronMap["paint"]} */
  function paint(numbers, limit, decimals) {
    if (!node.isConnected) return; // the colours are known on a page alone
    const shape = { rows: state.tokens.length, columns: neurons, height: size.tall };
    heat.draw({ numbers, ...shape, limit, signed: true, decimals });
  }
  /** @type {(token: number) => boolean[]} */
  function drawToken(token) {
    heat.mark(token, null);
    return rows.draw({ height: size.tall, chosen: token });
  }
  /** @type {(neuron: number, text: string) => void} */
  function drawNeuron(neuron, text) {
    column.style.left = `calc(${(100 * neuron) / neurons}% - 2px)`;
    column.style.width = `calc(${100 / neurons}% + 4px)`;
    handle.show(neuron, neurons - 1, `neuron ${neuron}, ${text}`);
  }
  const drawHint = () => showCell(hint, state, size, textAt);
  const forget = hovering(heat.node, heat.under, (cell) => {
    state.hovered = cell;
    drawHint();
  });
  const fill = () => {
    rows.fill(state.tokens);
    state.hovered = null;
    forget();
  };
  /** @type {(cell: Kit.Cell) => void} */
  const choose = ({ row, column: neuron }) => state.write({ token: row, neuron });
  /** @type {(other: HTMLElement) => () => void} */
  const follow = (other) => {
    const held = neurons > 1 ? handle.node : other;
    return dragging(heat.node, (event) => choose(heat.under(event)), keeping(state, "token", "neuron"), held);
  };
  return { node, heat, fill, lay, paint, drawToken, drawNeuron, drawHint, follow };
}

/** @type {(hint: Kit.Tooltip, state: Kit.NeuronState, size: Kit.MapSize, textAt: Kit.TextAt) => void} */
function showCell(hint, { hovered, neurons, tokens, width }, { gutter, tall, room }, textAt) {
  if (!hovered) {
    hint.hide();
    return;
  }
  const { row, column: neuron } = hovered;
  const y = ((row + 1) * tall) / tokens.length + 8;
  const frame = { left: gutter, right: gutter + room, top: y, bottom: y };
  hint.show(
    gutter + ((neuron + 0.5) * room) / neurons,
    frame,
    width,
    [],
    [
      html("strong", {}, `Neuron ${neuron}`),
      html("span", {}, html("bdi", {}, tokens[row]), html("b", {}, textAt(row, neuron))),
    ],
  );
}

/** The list of tokens to choose from; `fill` writes them anew.
 * @type {(state: Pick<Kit.NeuronState, "tokens" | "write">) => { node: HTMLElement; select: HTMLSelectElement; fill(): void; draw(token: number): void }} */
export function tokenSelect(state) {
  const select = control("select", { "aria-label": "Token" });
  select.addEventListener("change", () => state.write({ token: Number(select.value) }));
  const fill = () =>
    select.replaceChildren(
      ...state.tokens.map((word, place) => html("option", { value: place }, `${place}  \u2068${word}\u2069`)),
    );
  const node = html("label", { class: "mygpt-token" }, html("span", {}, "Token"), select);
  return {
    node,
    select,
    fill,
    draw: (token) => {
      select.value = String(token);
    },
  };
}

/** Two buttons that go through the neurons by rank.
 * @type {(state: Kit.NeuronState) => { nodes: HTMLElement[]; draw(): void }} */
export function rankSteps(state) {
  const rank = () => state.ranked.indexOf(state.get("neuron"));
  /** @type {(text: string, by: number) => Kit.Button} */
  const step = (text, by) => button(text, () => state.write({ neuron: state.ranked[rank() + by] }));
  const [previous, next] = [step("Previous strongest", -1), step("Next strongest", 1)];
  const draw = () => {
    previous.able(rank() > 0);
    next.able(rank() < state.neurons - 1);
  };
  return { nodes: [previous.node, next.node], draw };
}

/** A list of buttons, each for the neuron that `neuronAt` gives; `parts` names what each says.
 * @type {(state: Kit.NeuronState, list: Kit.NeuronList) => { node: HTMLElement; draw(textsOf: (neuron: number) => string[]): void; press(): void }} */
export function neuronList(state, { count, parts, neuronAt, attributes = {} }) {
  const lines = Array.from({ length: count }, (_, i) => {
    const cells = parts.map((part) => html(part === "word" ? "bdi" : "span", { class: `mygpt-number mygpt-${part}` }));
    const node = control("button", { type: "button", class: "mygpt-strong-one" }, ...cells);
    node.addEventListener("click", () => state.write({ neuron: neuronAt(i) }));
    return { node, cells };
  });
  const node = html(
    "ol",
    { class: "mygpt-strongest", ...attributes },
    ...lines.map((line) => html("li", {}, line.node)),
  );
  /** @type {(cell: HTMLElement, part: string, text: string) => void} */
  const put = (cell, part, text) => {
    if (part === "word") titled(text, cell);
    else cell.textContent = text;
  };
  /** @type {(textsOf: (neuron: number) => string[]) => void} */
  const draw = (textsOf) =>
    lines.forEach(({ cells }, i) => textsOf(neuronAt(i)).forEach((text, at) => put(cells[at], parts[at], text)));
  const press = () =>
    lines.forEach((line, i) => line.node.setAttribute("aria-pressed", neuronAt(i) === state.get("neuron")));
  return { node, draw, press };
}
