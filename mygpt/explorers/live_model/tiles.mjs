// The neurons of a layer as tiles, the strongest first: one tile a neuron, large enough for a finger.

import { button } from "../kit/controls.mjs";
import { html, tooltip } from "../kit/elements.mjs";
import { extent, fixed } from "../kit/geometry.mjs";
import { heatmap } from "../kit/heat.mjs";
import { neuronField, rankSteps, tokenSelect } from "../kit/neurons.mjs";
import { dragging, hovering, keeping } from "../kit/pointers.mjs";
import { hiddenAt, tokenOf } from "./state.mjs";

const [TILE, TOUCHED] = [24, 28]; // pixels, at the desk and on a phone
const [DESK_ROWS, PHONE_ROWS] = [10, 6]; // of what is shown at first

/** How the tiles of so many neurons stand at a width: with `all` every one, or else some rows.
 * @type {(neurons: number, width: number, all: boolean) => LiveModel.Tiling} */
export function tiling(neurons, width, all) {
  const narrow = width < 420;
  const columns = Math.max(1, Math.min(neurons, Math.floor(width / (narrow ? TOUCHED : TILE))));
  const needed = Math.ceil(neurons / columns);
  const rows = all ? needed : Math.min(needed, narrow ? PHONE_ROWS : DESK_ROWS);
  const side = Math.min(width / columns, 40);
  return { columns, rows, side, shown: Math.min(neurons, rows * columns), whole: needed === rows };
}

/** What a mouse over a tile reads.
 * @type {(state: LiveModel.State, neuronAt: (cell: Kit.Cell) => number | undefined) => { node: HTMLElement; draw(size: LiveModel.Tiling): void }} */
function tileHint(state, neuronAt) {
  const { node, show, hide } = tooltip();
  /** @type {(size: LiveModel.Tiling) => void} */
  function draw({ columns, side }) {
    const neuron = state.hovered ? neuronAt(state.hovered) : undefined;
    if (!state.hovered || neuron === undefined) {
      hide();
      return;
    }
    const { row, column } = state.hovered;
    const [x, y] = [(column + 0.5) * side, (row + 1) * side + 8];
    const token = tokenOf(state);
    const rows = [
      html("strong", {}, `Neuron ${neuron}`),
      html("span", {}, html("bdi", {}, state.tokens[token]), html("b", {}, fixed(hiddenAt(state, token, neuron), 3))),
    ];
    show(x, { left: 0, right: columns * side, top: y, bottom: y }, state.width, [], rows);
  }
  return { node, draw };
}

/** The tiles, and a button for those that are not shown at first.
 * @type {(state: LiveModel.State) => LiveModel.TileView} */
function tileView(state) {
  const heat = heatmap();
  const rest = html("span", { class: "mygpt-rest" }); // behind the last neuron
  heat.node.append(rest);
  let all = false;
  const more = button("", () => {
    all = !all;
    draw();
  });
  let size = tiling(state.neurons, state.width, all);
  /** @type {(cell: Kit.Cell) => number | undefined} */
  const neuronAt = ({ row, column }) => state.ranked.slice(0, size.shown)[row * size.columns + column];
  const hint = tileHint(state, neuronAt);
  const node = html("div", { class: "mygpt-tiles" }, heat.node, hint.node);

  function paint() {
    if (!node.isConnected) return; // the colours are known on a page alone
    const { columns, rows, side, shown } = size;
    const numbers = new Float64Array(rows * columns);
    for (let i = 0; i < shown; i += 1) numbers[i] = hiddenAt(state, tokenOf(state), state.ranked[i]);
    const [low, high] = extent([numbers]) ?? [0, 0];
    heat.draw({ numbers, rows, columns, height: rows * side, limit: Math.max(-low, high) || 1, signed: true });
  }
  function drawNeuron() {
    const at = state.ranked.indexOf(state.get("neuron"));
    const here = at < size.shown;
    heat.mark(here ? Math.floor(at / size.columns) : null, here ? at % size.columns : null);
  }
  function draw() {
    size = tiling(state.neurons, state.width, all);
    const { columns, rows, side, shown, whole } = size;
    node.style.width = `${columns * side}px`;
    node.style.setProperty("--side", `${side}px`);
    rest.style.width = `${(rows * columns - shown) * side}px`;
    more.node.hidden = whole && !all;
    more.node.textContent = all ? "Fewer neurons" : `All ${state.neurons} neurons`;
    paint();
    drawNeuron();
    hint.draw(size);
  }
  hovering(heat.node, heat.under, (cell) => {
    state.hovered = cell;
    hint.draw(size);
  });
  /** @type {(event: MouseEvent) => void} */
  const choose = (event) => {
    const neuron = neuronAt(heat.under(event));
    if (neuron !== undefined) state.write({ neuron });
  };
  const follow = () => dragging(heat.node, choose, keeping(state, "neuron"));
  return { node, canvas: heat.canvas, legend: heat.legend, more: more.node, draw, paint, drawNeuron, follow };
}

/** The tiles with what chooses the token and the neuron beside them.
 * @type {(state: LiveModel.State) => LiveModel.NeuronsView} */
export function neuronsView(state) {
  const tiles = tileView(state);
  const title = html("p", { class: "mygpt-title" });
  const select = tokenSelect(state);
  const steps = rankSteps(state);
  const find = neuronField(state);
  const node = html(
    "div",
    { class: "mygpt-neurons" },
    html("div", { class: "mygpt-head" }, title, select.node),
    tiles.node,
    html("div", { class: "mygpt-row mygpt-foot" }, find.node, ...steps.nodes, tiles.more, tiles.legend),
  );
  /** @type {string[] | null} */
  let filled = null;

  function drawToken() {
    if (filled !== state.tokens) {
      filled = state.tokens;
      select.fill();
    }
    title.textContent = `Neurons of layer ${state.get("layer")}, strongest first`;
    select.draw(tokenOf(state));
    tiles.draw();
  }
  function drawNeuron() {
    tiles.drawNeuron();
    steps.draw();
    find.draw();
  }
  /** @type {(text: string) => void} */
  const describe = (text) => tiles.canvas.setAttribute("aria-label", text);
  return { node, drawToken, drawNeuron, describe, paint: tiles.paint, follow: tiles.follow };
}
