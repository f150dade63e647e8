// What Scale shows of a run: figures, memory, how they are counted, and published runs.

import { total } from "../kit/geometry.mjs";
import { stackedBar, swatch } from "../kit/parts/bars.mjs";
import { button, folded } from "../kit/controls.mjs";
import { drawAll, html, paragraph, svg, trace } from "../kit/elements.mjs";
import { unfolding } from "../kit/mounting.mjs";
import { readings } from "../kit/parts/picture.mjs";
import { PUBLISHED, memoryOf } from "./count.mjs";
import { networkKept } from "./limits.mjs";
import {
  PARTS,
  answerText,
  bytesText,
  countedRows,
  figures,
  leastText,
  limitParted,
  limitText,
  memoryLabel,
  partFormula,
  publishedRow,
} from "./words.mjs";

const CAPACITY = 104; // px for the words of what a device has

/** What is folded on the page and stands in a print.
 * @type {(tag: "b" | "span", name?: string) => HTMLElement} */
const printed = (tag, name = "") => html(tag, { class: `mygpt-on-paper ${name}`.trim() });

/** What limits the run, and how long it takes, in large type; over which network it would be limited by that is folded.
 * @type {() => Scale.View} */
export function answerView() {
  const [answer, limit] = [html("b.number"), html("span")];
  const [detail, network] = [printed("span"), printed("span")];
  const node = html("p.sentence", answer, " ", limit);
  const networkText = networkKept();
  /** @type {(run: Scale.Run) => void} */
  const draw = (run) => {
    answer.textContent = answerText(run);
    const [head, much, rest] = limitParted(limitText(run));
    detail.textContent = much;
    network.textContent = ` ${networkText(run)}`;
    limit.replaceChildren(head, detail, rest, network);
  };
  return { node, draw };
}

/** @type {() => Scale.View} */
function figuresView() {
  const list = html("dl.figures");
  const node = html(
    "div",
    list,
    html(
      "p.aside",
      "The first number of two: a device communicates while "
        + "it computes, with full overlap. The second: it does one after the other, without overlap.",
    ),
  );
  /** @type {(run: Scale.Run) => void} */
  const draw = (run) =>
    list.replaceChildren(...figures(run).map(([name, text]) => html("div", html("dt", name), html("dd.number", text))));
  return { node, draw };
}

/** The memory of one device: a bar in the frame of what it has, whose size stands in the frame where it has room.
 * @type {(state: Scale.State) => Scale.View} */
export function memoryView(state) {
  const [need, rest] = [html("b.number"), html("span")];
  const bar = stackedBar(28);
  const frame = svg("path.capacity.hollow");
  const named = svg("text.has-name", { y: 14, dy: "0.35em", "text-anchor": "end" });
  const limit = ["mygpt-has mygpt-edge", "mygpt-has"].map((one) => svg("path", { class: one }));
  const sizes = PARTS.map(() => printed("b", "mygpt-number"));
  const names = PARTS.map(([mark, name], i) =>
    html("span.named-part.inline", swatch(mark), html("span", name.split(",")[0], " ", sizes[i])),
  );
  const node = html(
    "div.memory-bar",
    html("p.panel-name", "Each device needs ", need, " ", rest),
    bar,
    html("p.legend.parts", names),
  );
  /** @type {(run: Scale.Run) => void} */
  const draw = (run) => {
    const parts = memoryOf(run);
    const [all, has] = [total(parts), run.device.memory];
    const most = Math.max(all, has) * 1.02;
    const line = (has / most) * state.width;
    const room = line - (all / most) * state.width > CAPACITY;
    need.textContent = bytesText(all);
    rest.textContent = room ? "" : `and has ${bytesText(has)}`;
    bar.draw(
      PARTS.map(([mark, name]) => ({ mark, amount: parts[name], text: () => "" })),
      most,
      state.width,
      memoryLabel(run),
      line,
    );
    PARTS.forEach(([, name], i) => {
      sizes[i].textContent = bytesText(parts[name]);
    });
    for (const one of limit) trace(one, `M${line} -4V32`);
    trace(frame, `M0.5 0.5H${line}V27.5H0.5Z`);
    named.setAttribute("x", String(line - 9));
    named.textContent = room ? `has ${bytesText(has)}` : "";
    bar.node.append(frame, ...limit, named);
  };
  return { node, draw };
}

/** The parts of the memory with their formulas.
 * @type {() => Scale.View} */
function partsTable() {
  const rows = PARTS.map(([mark, name]) => html("span.named-part.inline", swatch(mark), html("span", name)));
  const table = readings("Memory of one device", "Memory of one device", { bytes: "bytes", formula: "formula" }, rows);
  const node = html("div.memory-of-one", table);
  /** @type {(run: Scale.Run) => void} */
  const draw = (run) => {
    const parts = memoryOf(run);
    PARTS.forEach((part, i) => {
      table.cells[i].bytes.textContent = bytesText(parts[part[1]]);
      table.cells[i].formula.textContent = partFormula(run, part);
    });
  };
  return { node, draw };
}

/** All figures, how they are counted, and where they miss, folded.
 * @type {(state: Scale.State) => Kit.View} */
export function figuresFold(state) {
  const networkText = networkKept();
  /** @type {(run: Scale.Run) => string} */
  const limits = (run) => `${limitText(run)} ${networkText(run)}`.trim();
  const parts = [paragraph("mygpt-aside", limits), figuresView(), partsTable(), paragraph("mygpt-aside", leastText)];
  const counted = countedView();
  /** @type {(text: string) => HTMLElement} */
  const title = (text) => html("p.panel-name", text);
  const node = folded(
    "Figures, formulas and published runs",
    html("div.result", parts),
    title("How it is counted"),
    counted,
    title("Where it misses: published runs"),
    publishedView(state),
  );
  return { node, draw: unfolding(node, () => drawAll([...parts, counted], state.run())) };
}

/** How every figure is counted, with its source.
 * @type {() => Scale.View} */
function countedView() {
  const body = html("div.counted.result");
  const node = html(
    "div",
    body,
    html(
      "p.aside",
      "Memory: Rajbhandari et al. 2020 (ZeRO), section 3.1; a whole layer: Zhao et al. 2023 (FSDP); activations: "
        + "Korthikanti et al. 2022, equation 1. Left out: latency, the logits, the optimizer’s own time, unused gaps in "
        + "memory, and models whose layers or matrices are split. Devices: NVIDIA’s data sheets, of NVLink half, which is one "
        + "direction; for each A100 200 Gbit/s between machines (Narayanan et al. 2021, section 5), for each H100 400 "
        + "(Llama 3 2024, section 3.3.1). The laptop core and the other networks are settings. The share of the peak counts a "
        + "second forward pass where there is one; PaLM’s utilisation does not.",
    ),
  );
  /** @type {(run: Scale.Run) => void} */
  const draw = (run) =>
    body.replaceChildren(
      html(
        "dl",
        countedRows(run).map(([name, value, formula, source]) =>
          html(
            "div",
            html("dt", name),
            html("dd.number", value),
            html("dd", formula, source ? html("span", ` ${source}`) : ""),
          ),
        ),
      ),
    );
  return { node, draw };
}

/** Published runs, what the calculator says of them, and by how much it misses.
 * @type {(state: Scale.State) => HTMLElement} */
function publishedView(state) {
  const presses = PUBLISHED.map(({ name, run }) =>
    button(name, () => {
      const { model, device, devices, spread, kept, tokens, batch_tokens, at_once, share } = run;
      state.take({ model, device, devices, spread, kept, training: { tokens, batch_tokens, at_once, share } });
    }),
  );
  const list = html(
    "ul.published.list",
    PUBLISHED.map((one, i) => {
      const { said, reported, miss } = publishedRow(one);
      const parts = Object.entries({ calculated: said, reported, miss }).map(([name, text]) =>
        html("span", `${name} `, html("b.number", text)),
      );
      return html("li", presses[i], parts);
    }),
  );
  return html(
    "div",
    list,
    html(
      "p.aside",
      "A button sets the calculator to its run. Llama 3: the share of the peak, 41 %, is in the paper’s table 4, the hours in its model card; they used 16,384 "
        + "devices and split the model too, and lost time to interruptions and to later stages. GPT-3 and 530B: ZeRO-3 in "
        + "Narayanan et al. 2021, table 2; the share is the one measured on 384 devices, so that the days test the network: "
        + "it reached far less of its bandwidth than is assumed here. The larger model did not fit on 560 devices, and "
        + "fitted on 640.",
    ),
  );
}
