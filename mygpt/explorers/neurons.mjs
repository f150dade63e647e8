// What the explorers of memories share.

import { fixed, html } from "./drawing.mjs";

/** For each neuron its pairs { text, number }, from the packed places and numbers. */
export function unpackPairs(numbers, neurons, texts) {
  const longest = numbers.length / (2 * neurons);
  return Array.from({ length: neurons }, (_, neuron) =>
    Array.from({ length: longest }, (_, i) => 2 * (neuron * longest + i))
      .filter((at) => numbers[at] >= 0)
      .map((at) => ({ text: texts[numbers[at]], number: numbers[at + 1] })));
}

/** The neurons by the size of their activation, the strongest first, of equals the first. */
export function ranking(activations) {
  return Array.from(activations, (_, neuron) => neuron)
    .sort((a, b) => Math.abs(activations[b]) - Math.abs(activations[a]) || a - b);
}

/** A table of up to `most` texts with their numbers; `show(pairs)` fills it. */
export function pairTable(caption, title, heading, most, decimals) {
  const lines = Array.from({ length: most }, () => {
    const text = html("bdi");
    const number = html("td");
    return { text, number, node: html("tr", {}, html("th", { scope: "row" }, text), number) };
  });
  const head = html("tr", {}, html("th", { scope: "col" }, title), html("th", { scope: "col" }, heading));
  const node = html("table", { class: "mygpt-readings mygpt-pairs" },
    html("caption", { class: "mygpt-unseen" }, caption),
    html("thead", {}, head), html("tbody", {}, ...lines.map((line) => line.node)));
  const show = (pairs) => lines.forEach((line, i) => {
    const pair = pairs[i];
    line.node.classList.toggle("mygpt-none", !pair && i > 0);
    line.text.textContent = pair ? pair.text : "–";
    line.text.title = pair ? pair.text : "";
    line.number.textContent = pair ? fixed(pair.number, decimals) : "";
  });
  return { node, show };
}
