// A drawn transformer block, of which each stage may be chosen.

import { PLACE_NAMES, arrowPaths, blockLayout, polylinePath, placesOf, thickness } from "./block_layout.mjs";
import { control } from "./controls.mjs";
import { UNHEARD, flag, html, svg, titled, trace } from "./elements.mjs";

/** The sign of a stage on the stream: a dot, or the plus of a sum.
 * @type {(spot: Kit.BlockSpot) => Kit.BlockMark[]} */
function dotOf({ place, dot }) {
  if (!dot) return [];
  const [x, y] = dot;
  const sum = place === "middle" || place === "output";
  const plus = svg("path", { d: sum ? `M${x - 5} ${y}h10M${x} ${y - 5}v10` : "" });
  const circle = svg("circle", { cx: x, cy: y, r: sum ? 11 : 8 });
  return [{ place, node: svg("g.dot", circle, plus) }];
}

/** A wire, and what sets how thick it is.
 * @type {(wire: Kit.BlockWire) => Kit.BlockMark & { draw(thick: number): void }} */
function wireMark({ place, points, plain }) {
  const [line, head] = [svg("path"), svg("path.head")];
  /** @type {(thick: number) => void} */
  const draw = (thick) => {
    const paths = plain ? { line: polylinePath(points), head: "" } : arrowPaths(points, thick);
    line.setAttribute("stroke-width", thick.toFixed(1));
    trace(line, paths.line);
    trace(head, paths.head);
  };
  return { place, node: svg("g.wire", line, head), draw };
}

/** The ground of a branch; its name stands on it, or, in a narrow frame, above its right end.
 * @type {(ground: Kit.BlockGround, above: boolean) => SVGElement} */
function groundMark({ name, left, top, width, height }, above) {
  const place = above ? { x: left + width - 4, y: top - 5, "text-anchor": "end" } : { x: left + 9, y: top + 16 };
  const rect = svg("rect", { x: left, y: top, width, height, rx: 9 });
  return svg("g.ground", rect, svg("text", place, name));
}

/** A stage: a radio button with its name and a short text.
 * @param {string} name
 * @param {string} group
 * @param {() => void} choose */
function stagePart(name, group, choose) {
  const radio = control("input", { type: "radio", name: group, onchange: choose });
  const text = html("span.number");
  return { node: html("label.stage", radio, titled(name), text), radio, text };
}

/** @type {(part: HTMLElement, spot: Kit.BlockSpot) => void} */
function placePart(part, { left, top, width, height, align }) {
  const size = align ? { maxWidth: `${width}px` } : { width: `${width}px`, height: `${height}px` };
  flag(part, "on-stream", Boolean(align));
  part.dataset.align = align ?? "";
  Object.assign(part.style, { left: `${left}px`, top: `${top}px`, ...size });
}

/** The lines of a block, of which `light` says for each place whether it comes before the chosen one. */
function blockLines() {
  const node = svg("svg", { role: "img" });
  let wires = /** @type {ReturnType<typeof wireMark>[]} */ ([]);
  let marks = /** @type {Kit.BlockMark[]} */ ([]);
  return {
    node,
    /** @type {(layout: Kit.BlockLayout, width: number) => void} */
    lay: ({ spots, wires: given, grounds, height, tall }, width) => {
      wires = given.map(wireMark);
      const dots = spots.flatMap(dotOf);
      marks = [...wires, ...dots];
      node.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const layers = [wires, dots].map((layer) => svg("g", layer));
      node.replaceChildren(...grounds.map((one) => groundMark(one, tall)), ...layers);
    },
    /** @type {(amountAt: (place: string) => number, most: number) => void} */
    draw: (amountAt, most) => wires.forEach(({ place, draw }) => draw(thickness(amountAt(place), most))),
    /** @type {(chosen: string, order: string[]) => void} */
    light: (chosen, order) => {
      for (const { place, node: mark } of marks) {
        const at = order.indexOf(place);
        flag(mark, "now", place === chosen);
        flag(mark, "passed", at >= 0 && at < order.indexOf(chosen));
        if (place === chosen) mark.parentNode?.append(mark); // over the others
      }
    },
  };
}

/**
 * A block of which one stage is chosen. Each of `stages` has a name and a place (those of PLACE_NAMES, no two the same);
 * when one has none, all stand in a line, in order. `lay(width)` lays the block out; `fill(amounts, text, most)` gives
 * each stage a short text and an amount, which sets how thick the lines that leave it are, of the thickest that `most`
 * has, and the drawing its description; the largest amount is marked. `show(stage)` lights a stage.
 * @param {string} label
 * @param {Kit.BlockStage[]} stages
 * @param {(stage: number) => void} choose
 */
export function blockDrawing(label, stages, choose) {
  // Not counted: Jupyter runs this module anew for every widget.
  const group = `mygpt-block-${Math.random().toString(36).slice(2)}`;
  const given = stages.map(({ place }) => place);
  const whole = given.every(Boolean);
  const order = whole ? given : given.map((_, i) => String(i));
  const rest = whole ? placesOf(order).filter((place) => !order.includes(place)) : [];
  const parts = stages.map(({ name }, i) => stagePart(name, group, () => choose(i)));
  const absent = rest.map((place) => html("div.stage.absent", UNHEARD, html("span", PLACE_NAMES[place])));
  const lines = blockLines();
  const nodes = [...parts.map((part) => part.node), ...absent];
  const node = html("div.block", { role: "radiogroup", "aria-label": label }, lines, nodes);
  let amounts = /** @type {number[]} */ ([]);
  let thickest = 0; // the amount that the thickest line has
  let now = 0;
  const draw = () => lines.draw((place) => amounts[order.indexOf(place)] ?? 0, thickest);
  /** @type {(stage: number) => void} */
  const show = (stage) => {
    now = stage;
    parts.forEach((part, i) => {
      flag(part.node, "now", i === stage);
      part.radio.checked = i === stage;
    });
    lines.light(order[stage], order);
  };
  return {
    node,
    show,
    lay: (/** @type {number} */ width) => {
      const layout = blockLayout(stages, width);
      const every = [...order, ...rest];
      layout.spots.forEach((spot) => placePart(nodes[every.indexOf(spot.place)], spot));
      node.style.height = `${layout.height}px`;
      flag(node, "tall", layout.tall);
      lines.lay(layout, width);
      draw();
      show(now);
    },
    /** @type {(filled: { amount: number; text: string }[], text: string, most?: number) => void} */
    fill: (filled, text, most) => {
      amounts = filled.map(({ amount }) => amount);
      const largest = Math.max(...amounts);
      thickest = most ?? largest;
      parts.forEach((part, i) => {
        part.text.replaceChildren(filled[i].text);
        flag(part.text, "most", amounts[i] === largest);
        part.radio.ariaLabel = `${stages[i].name}, ${filled[i].text}`;
      });
      lines.node.ariaLabel = text;
      draw();
    },
  };
}
