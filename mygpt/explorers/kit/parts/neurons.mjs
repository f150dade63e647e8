// What the explorers of memories share. Their state has the `tokens`, the number of `neurons`, those
// `ranked` at the chosen token, the `hovered` cell and the `width`; `token` and `neuron` are traits.

import { button, control } from "../controls.mjs";
import { flag, html, table, titled } from "../elements.mjs";
import { numberField, rested } from "./fields.mjs";
import { descending, fixed, times } from "../geometry.mjs";

/** For each neuron its pairs { text, number }, from the packed places and thousandths.
 * @type {(numbers: Int32Array, neurons: number, texts: string[]) => Kit.TextAndNumber[][]} */
export function unpackPairs(numbers, neurons, texts) {
  const longest = numbers.length / (2 * neurons);
  return times(neurons, (neuron) =>
    times(longest, (i) => 2 * (neuron * longest + i))
      .filter((at) => numbers[at] >= 0)
      .map((at) => ({ text: texts[numbers[at]], number: numbers[at + 1] / 1000 })),
  );
}

/** The neurons by the size of their activation, the strongest first, of equals the first.
 * @type {(activations: Kit.Numbers) => number[]} */
export const ranking = (activations) => descending(Array.from(activations, Math.abs));

/** A table of up to `most` texts with their numbers; `show(pairs)` fills it.
 * @type {(caption: string, title: string, heading: string, most: number, decimals: number) => Kit.Control<Kit.TextAndNumber[]>} */
export function pairTable(caption, title, heading, most, decimals) {
  const lines = times(most, () => {
    const text = html("bdi");
    const number = html("td");
    return { text, number, node: html("tr", html("th", { scope: "row" }, text), number) };
  });
  const head = html("tr", html("th", { scope: "col" }, title), html("th", { scope: "col" }, heading));
  const rows = lines.map((line) => line.node);
  const node = table("mygpt-readings mygpt-pairs", caption, [html("thead", head)], rows);
  /** @type {(pairs: Kit.TextAndNumber[]) => void} */
  const show = (pairs) =>
    lines.forEach((line, i) => {
      const pair = pairs[i];
      flag(line.node, "none", !pair && i > 0);
      line.text.textContent = pair ? pair.text : "–";
      line.text.title = pair ? pair.text : "";
      line.number.textContent = pair ? fixed(pair.number, decimals) : "";
    });
  return { node, show };
}

/** The list of tokens to choose from; `fill` writes them anew.
 * @type {(state: Pick<Kit.NeuronState, "tokens" | "write">) => { node: HTMLElement; select: HTMLSelectElement; fill(): void; draw(token: number): void }} */
export function tokenSelect(state) {
  const onchange = () => state.write({ token: Number(select.value) });
  const select = control("select", { "aria-label": "Token", onchange });
  const fill = () =>
    select.replaceChildren(
      ...state.tokens.map((word, place) => html("option", { value: place }, `${place}  \u2068${word}\u2069`)),
    );
  const node = html("label.token.inline", html("span", "Token"), select);
  /** @type {(token: number) => void} */
  const draw = (token) => {
    select.value = String(token);
  };
  return { node, select, fill, draw };
}

/** A field for the number of a neuron.
 * @type {(state: Pick<Kit.NeuronState, "neurons" | "get" | "write">) => Kit.View} */
export function neuronField(state) {
  const range = `0 to ${state.neurons - 1}`;
  const take = () => {
    const neuron = field.input.valueAsNumber;
    const known = Number.isInteger(neuron) && neuron >= 0 && neuron < state.neurons;
    wrong(!known);
    if (known) state.write({ neuron });
  };
  const entry = rested(() => wrong(false), take);
  const field = numberField("Neuron", range, entry, { "aria-label": "Neuron", min: 0, max: state.neurons - 1 });
  const told = field.node.querySelector("i");
  told?.setAttribute("role", "status");
  /** @type {(now: boolean) => void} */
  function wrong(now) {
    field.wrong(now);
    if (told) told.textContent = now ? `expected ${range}` : range;
  }
  const draw = () => {
    field.show(state.get("neuron"));
    wrong(false);
  };
  field.input.addEventListener("blur", draw);
  return { node: field.node, draw };
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
  const lines = times(count, (i) => {
    const cells = parts.map((part) => html(part === "word" ? "bdi" : "span", { class: `mygpt-number mygpt-${part}` }));
    const onclick = () => state.write({ neuron: neuronAt(i) });
    const node = control("button.strong-one.bare", { type: "button", onclick }, cells);
    return { node, cells };
  });
  const node = html(
    "ol.strongest.list",
    { ...attributes },
    lines.map((line) => html("li", line)),
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
