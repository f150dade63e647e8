// The neurons of a layer as tiles, the strongest first: one tile a neuron, large enough for a finger.

import { button, control } from "../kit/controls.mjs";
import { UNHEARD, html, tooltip } from "../kit/elements.mjs";
import { extent, fixed } from "../kit/geometry.mjs";
import { heatmap } from "../kit/parts/heat.mjs";
import { neuronField, rankSteps, tokenSelect } from "../kit/parts/neurons.mjs";
import { dragging, hovering, keeping } from "../kit/pointers.mjs";
import { neuronSwitch } from "./stages.mjs";
import { hiddenAt, offNeurons, partsOf, tokenOf } from "./state.mjs";
import { isOn, partInWords } from "./words.mjs";

const [TILE, TOUCHED] = [24, 28]; // pixels, at the desk and on a phone
const [DESK_ROWS, PHONE_ROWS] = [10, 6]; // of what is shown at first
const OFF_NAMED = 12; // of the neurons that are off

/** How the tiles of so many neurons stand at a width: with `all` every one, or else some rows.
 * @param {number} neurons
 * @param {number} width
 * @param {boolean} all */
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
      html("strong", `Neuron ${neuron}${offNeurons(state).includes(neuron) ? ", off" : ""}`),
      html("span", html("bdi", state.tokens[token]), html("b", fixed(hiddenAt(state, token, neuron), 3))),
    ];
    show(x, { left: 0, right: columns * side, top: y, bottom: y }, state.width, [], rows);
  }
  return { node, draw };
}

/** Crosses over the tiles of the neurons that are off.
 * @type {(state: LiveModel.State) => { node: HTMLElement; draw(size: LiveModel.Tiling): void }} */
function crosses(state) {
  const node = html("span", UNHEARD);
  /** @type {(size: LiveModel.Tiling) => void} */
  function draw({ shown, columns, side }) {
    const places = offNeurons(state).map((neuron) => state.ranked.indexOf(neuron));
    const made = places
      .filter((at) => at < shown)
      .map((at) => {
        const cross = html("span.off");
        cross.style.left = `${(at % columns) * side}px`;
        cross.style.top = `${Math.floor(at / columns) * side}px`;
        return cross;
      });
    node.replaceChildren(...made);
  }
  return { node, draw };
}

/** The tiles, and a button for those that are not shown at first.
 * @param {LiveModel.State} state */
function tileView(state) {
  const heat = heatmap();
  const rest = html("span.rest"); // behind the last neuron
  const off = crosses(state);
  heat.node.append(rest, off.node);
  let all = false;
  const more = button("", () => {
    all = !all;
    draw();
  });
  let size = tiling(state.neurons, state.width, all);
  /** @type {(cell: Kit.Cell) => number | undefined} */
  const neuronAt = ({ row, column }) => state.ranked.slice(0, size.shown)[row * size.columns + column];
  const hint = tileHint(state, neuronAt);
  const node = html("div.tiles", heat, hint);

  function paint() {
    if (!node.isConnected) return; // the colours are known on a page alone
    const { columns, rows, side, shown } = size;
    const numbers = new Float64Array(rows * columns);
    for (let i = 0; i < shown; i += 1) numbers[i] = hiddenAt(state, tokenOf(state), state.ranked[i]);
    const [low, high] = extent([numbers]) ?? [0, 0];
    heat.draw({ numbers, rows, columns, height: rows * side, limit: Math.max(-low, high) || 1, signed: true });
  }
  function drawNeuron() {
    const at = state.ranked.indexOf(state.neuron);
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
    off.draw(size);
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

/** What is off: whole parts, the neurons of this layer, with what marks them among the tiles, and how many there are in
 * other layers. A neuron that is chosen here is switched on here.
 * @type {(state: LiveModel.State) => Kit.View & { drawNeuron(): void }} */
function offList(state) {
  const node = html("div.row.alike.off-list.muted.flow", { role: "group", "aria-label": "Switched off" });
  let chosen = -1;
  const on = neuronSwitch(state);
  /** @type {(neuron: number) => HTMLElement} */
  const chooser = (neuron) => {
    const onclick = () => {
      chosen = neuron;
      state.write({ neuron });
      drawNeuron();
    };
    const given = { type: "button", "aria-label": `Neuron ${neuron}, off`, onclick };
    return control("button.button.number", given, String(neuron));
  };
  let shown = "";
  function drawNeuron() {
    on.node.hidden = chosen !== state.neuron || !offNeurons(state).includes(chosen);
    if (on.node.hidden) chosen = -1;
    else on.draw();
  }
  function draw() {
    const [here, edits] = [state.layer, state.edits];
    const off = offNeurons(state);
    const parts = partsOf(state).filter(({ layer, part }) => !isOn(edits, layer, part));
    const elsewhere = state.layers.flatMap((layer) => {
      const count = layer === here ? 0 : offNeurons(state, layer).length;
      return count ? [`${count} ${count > 1 ? "neurons" : "neuron"} of layer ${layer}`] : [];
    });
    const texts = [...parts.map((part) => partInWords(part).toLowerCase()), ...elsewhere];
    const now = JSON.stringify([off, texts]);
    if (shown === now) return; // a button that is pressed keeps its focus
    shown = now;
    const cross = html("span.off", UNHEARD);
    const more = off.length - OFF_NAMED;
    node.replaceChildren(
      html("span", cross, off.length || texts.length ? "Off:" : "Off: none"),
      ...(texts.length ? [html("span", texts.join(", "))] : []),
      ...off.slice(0, OFF_NAMED).map(chooser),
      ...(more > 0 ? [html("span", `and ${more} more`)] : []),
      on.node,
    );
  }
  return { node, draw, drawNeuron };
}

/** The tiles with what chooses the token and the neuron beside them.
 * @param {LiveModel.State} state */
export function neuronsView(state) {
  const tiles = tileView(state);
  const title = html("p.title");
  const select = tokenSelect(state);
  const steps = rankSteps(state);
  const find = neuronField(state);
  const off = offList(state);
  const node = html(
    "div.neurons",
    html("div.head", title, select),
    tiles,
    html("div.row.foot.flow", find, steps.nodes, tiles.more, tiles.legend),
  );
  /** @type {string[] | null} */
  let filled = null;

  function drawToken() {
    if (filled !== state.tokens) {
      filled = state.tokens;
      select.fill();
    }
    title.textContent = `Neurons of layer ${state.layer}, strongest first`;
    select.draw(tokenOf(state));
    tiles.draw();
  }
  function drawNeuron() {
    off.draw();
    off.drawNeuron();
    tiles.drawNeuron();
    steps.draw();
    find.draw();
  }
  /** @type {(text: string) => void} */
  const describe = (text) => tiles.canvas.setAttribute("aria-label", text);
  return { node, off: off.node, drawToken, drawNeuron, describe, paint: tiles.paint, follow: tiles.follow };
}
