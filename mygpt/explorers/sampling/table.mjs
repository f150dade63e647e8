// The tokens with their shares, as bars with the cut, which is dragged, and every number of them.

import { folded } from "../kit/controls.mjs";
import { UNHEARD, flag, html, setAll, svg, table, trace } from "../kit/elements.mjs";
import { bandScale, barBox, fixed, linearScale, linearTicks } from "../kit/geometry.mjs";
import { unfolding } from "../kit/mounting.mjs";
import { markerPath, readings } from "../kit/parts/picture.mjs";
import { dragging, keeping, shareAt } from "../kit/pointers.mjs";
import { keptAbove, settingFor } from "./distribution.mjs";
import { DECIMALS, nowText, sentenceOf } from "./words.mjs";

const ROW = 26;
const THIN = 5; // px of a bar that is cut
const [RAIL, THUMB, GRASP] = [44, 26, 22]; // px: the width of what the cut is dragged on, where its thumb is, and how far from its thumb a finger may be

/** A row's marks in the picture, at the height of `y`.
 * @param {Sampling.Row} row
 * @param {number} y */
export function rowMarks({ warm }, y) {
  const lost = svg("rect.lost", { height: THIN, y: y - THIN / 2 });
  const bar = svg("rect.bar", { height: 16, y: y - 8 });
  const outline = svg("path.before.hollow");
  const marker = svg("path.drawn");
  /** @type {(share: Sampling.Share, scale: Kit.Scale, total: number) => void} */
  function draw({ now, before, left, drawn }, scale, total) {
    const length = barBox(now, scale);
    setAll(bar, { x: length.start, width: length.size });
    trace(outline, `M${scale(warm).toFixed(1)} ${y - 11}v22`);
    const gone = barBox(left ? 0 : before, scale);
    setAll(lost, { x: gone.start, width: gone.size });
    trace(marker, drawn && left ? markerPath(2, scale(drawn / total), y, 5) : "");
  }
  return { lost, bar, outline, marker, draw };
}

/** A row of the table. The first also holds the picture, which is as tall as all rows. That a row is cut is seen at the
 * first that is, and heard at each.
 * @type {(row: Sampling.Row, bars: Node[]) => { node: HTMLElement; draw(share: Sampling.Share, first: boolean): void }} */
function tableRow({ ids, several, name, title }, bars) {
  const label = html(several ? "i" : "bdi", name);
  const now = html("td.now");
  const node = html("tr", html("th", { scope: "row", title }, label), bars, now);
  /** @type {(share: Sampling.Share, first: boolean) => void} */
  function draw(share, first) {
    const { left } = share;
    flag(node, "is-cut", !left);
    const text = nowText(share);
    now.replaceChildren(left || first ? text : html("span.unseen", text));
    if (several) label.textContent = left && left < ids.length ? `${left} of ${name}` : name;
  }
  return { node, draw };
}

/** The table's columns, whose names are only heard; `lay` gives the outer two their widths.
 * @type {() => { nodes: HTMLElement[]; lay(name: number, now: number): void }} */
function tableHead() {
  const names = ["Token", "Probability", "now"];
  const columns = names.map(() => html("col"));
  const heads = names.map((text) => html("th", { scope: "col" }, html("span.unseen", text)));
  const nodes = [html("colgroup", columns), html("thead", html("tr", heads))];
  /** @type {(name: number, now: number) => void} */
  const lay = (name, now) => {
    columns[0].style.width = `${name}px`;
    columns[2].style.width = `${now}px`;
  };
  return { nodes, lay };
}

/** After how many rows the cut falls: within the row of several tokens after a part of it.
 * @type {(rows: { ids: number[] }[], shares: { left: number }[]) => number} */
export function cutAfter(rows, shares) {
  return shares.reduce((sum, { left }, i) => sum + left / rows[i].ids.length, 0);
}

/** The rows' picture: under their marks an axis from 0 to 1, so that a longer bar is always a larger share.
 * @type {(rows: Sampling.Row[]) => { node: SVGElement; lay(room: number, left: number, past: number): void; draw(shares: Sampling.Share[], total: number, share: number): void }} */
function barsPicture(rows) {
  const height = rows.length * ROW;
  const band = bandScale(rows.length, 0, height);
  const marks = rows.map((row, i) => rowMarks(row, band.middle(i)));
  const grid = svg("g");
  const line = svg("path.cut-line");
  const kept = svg("text.cut-text", { "text-anchor": "end" });
  const node = svg(
    "svg.picture",
    { role: "img", preserveAspectRatio: "none" },
    grid,
    marks.flatMap(({ lost, bar }) => [lost, bar]),
    marks.map(({ outline }) => outline),
    marks.map(({ marker }) => marker),
    line,
    kept,
  );
  let right = 0;
  let ends = [0, 0]; // of the line of the cut, which goes through all columns to its thumb
  let scale = linearScale([0, 1], [0, 1]);

  /** @type {(room: number, left: number, past: number) => void} */
  function lay(room, left, past) {
    setAll(node, { viewBox: `0 0 ${room} ${height}`, width: room });
    node.style.height = `${height}px`; // each row at its line, whatever the column's width
    scale = linearScale([0, 1], [8, room - 8]); // room for half a marker
    right = room;
    ends = [-left, room + past];
    grid.replaceChildren(
      svg("text", { x: -8, y: height + 17, "text-anchor": "end" }, "probability"),
      ...linearTicks(0, 1, room / 64).flatMap(({ at, label }) => {
        const x = scale(at).toFixed(1);
        const kind = at === 0 ? "mygpt-line mygpt-strong" : "mygpt-line";
        return [
          svg("path", { class: kind, d: `M${x} 0V${height}` }),
          svg("text", { x, y: height + 17, "text-anchor": "middle" }, label),
        ];
      }),
    );
  }
  /** @type {(shares: Sampling.Share[], total: number, share: number) => void} */
  function draw(shares, total, share) {
    marks.forEach((mark, i) => mark.draw(shares[i], scale, total));
    const at = cutAfter(rows, shares);
    const y = at * ROW;
    const cut = at < rows.length;
    trace(line, cut ? `M${ends[0]} ${y.toFixed(1)}H${ends[1]}` : "");
    kept.textContent = cut ? `${fixed(share, DECIMALS)} kept` : "";
    setAll(kept, { x: right - 4, y: y + (y + 20 < height ? 16 : -6) }); // under the line, where no bar is
  }
  return { node, lay, draw };
}

/** Beside the table, what the cut is dragged on; the sliders do the same for the keyboard.
 * @type {(state: Sampling.State) => { node: HTMLElement; draw(): void; undo: () => void }} */
function railView(state) {
  const { rows, logits } = state;
  const height = rows.length * ROW;
  const [x, tops] = [THUMB, { rx: 2, width: 4 }];
  const below = svg("rect.rail-below", { x: x - 2, y: 0, height, ...tops });
  const above = svg("rect.rail-above", { x: x - 2, y: 0, ...tops });
  const thumb = svg("circle.thumb", { cx: x, r: 8 });
  const hold = html("div.hold-cut"); // no part of a drawing: there browsers take a drag for a scroll
  const ground = svg("rect", { width: RAIL, height, fill: "transparent" });
  const given = { width: RAIL, height, viewBox: `0 0 ${RAIL} ${height}`, "aria-hidden": "true" };
  const image = svg("svg", given, svg("title", "Drag the cut"), ground, below, above, thumb);
  const node = html("div.rail", image, hold);
  /** @type {(event: PointerEvent) => void} */
  const move = (event) => {
    const cut = shareAt(node, event).y * rows.length;
    const setting = { temperature: state.temperature, topK: state.top_k, topP: state.top_p };
    const { topK, topP } = settingFor(logits, setting, keptAbove(rows, cut));
    state.write({ top_k: topK, top_p: topP });
  };
  const undo = dragging(node, move, keeping(state, "top_k", "top_p"));
  function draw() {
    const y = cutAfter(rows, state.shares) * ROW;
    above.setAttribute("height", y);
    thumb.setAttribute("cy", y);
    hold.style.top = `${y - GRASP}px`;
  }
  return { node, draw, undo };
}

/** The tokens with their shares, as bars and as numbers.
 * @type {(state: Sampling.State) => Kit.View & { lay(): void; undo: () => void }} */
export function sharesView(state) {
  const { rows } = state;
  const image = barsPicture(rows);
  const rail = railView(state);
  const bars = html("td.bars", { rowspan: rows.length }, image);
  const lines = rows.map((row, i) => tableRow(row, i ? [] : [bars]));
  const head = tableHead();
  const body = lines.map((line) => line.node);
  const all = table("mygpt-shares", "Probability of each token", head.nodes, body);
  const node = html("div.shares-and-cut", all, rail);

  function lay() {
    const width = state.width - RAIL + 9; // the rail's own margin
    const longest = Math.max(...rows.map(({ name, several }) => [...name].length + (several ? 6 : 0)));
    const [name, now] = [Math.round(Math.min(Math.max(76, 14 + 8 * longest), 0.32 * width)), 50];
    head.lay(name, now);
    image.lay(width - name - now, name, now + THUMB);
  }
  function draw() {
    const { shares } = state;
    image.draw(shares, state.draws, state.found.share);
    rail.draw();
    const last = Math.ceil(cutAfter(rows, shares)) - 1;
    const first = shares.findIndex(({ left }) => !left);
    lines.forEach((line, i) => {
      line.draw(shares[i], i === first);
      flag(line.node, "last-kept", i === last && i < rows.length - 1);
    });
    image.node.ariaLabel = `${state.description} ${sentenceOf(state)}`;
  }
  return { node, lay, draw, undo: rail.undo };
}

/** What else is counted of each row, folded.
 * @type {(state: Sampling.State) => Kit.View} */
export function numbersFold(state) {
  const { rows } = state;
  const told = readings(
    "Probability of each token at temperature 1 and before the cut, together with those above it, and its draws",
    "Token",
    { warm: "at temperature 1", before: "before the cut", together: "down to it", drawn: "drawn" },
    rows.map(({ name, several }) => html(several ? "i" : "bdi", name)),
  );
  const node = folded("Every number", told);
  const draw = () =>
    state.shares.forEach(({ before, together, drawn }, i) => {
      const { warm, before: uncut, together: sum, drawn: times } = told.cells[i];
      warm.textContent = fixed(rows[i].warm, DECIMALS);
      uncut.textContent = fixed(before, DECIMALS);
      sum.textContent = fixed(together, DECIMALS);
      times.textContent = state.draws ? String(drawn) : "–";
    });
  return { node, draw: unfolding(node, draw) };
}

/** @type {(text: string, width: number, ...shapes: SVGElement[]) => HTMLElement} */
function key(text, width, ...shapes) {
  const size = { width, height: 14, viewBox: `0 0 ${width} 14` };
  return html("span", svg("svg", UNHEARD, { ...size }, shapes), text);
}

/** @type {() => HTMLElement} */
export function keys() {
  return html(
    "p.key.muted.fine",
    UNHEARD,
    key("temperature 1, uncut", 8, svg("path.before.hollow", { d: "M4 0V14" })),
    key("cut", 24, svg("rect.lost", { y: 7 - THIN / 2, width: 24, height: THIN })),
    key("drawn", 14, svg("path.drawn", { d: markerPath(2, 7, 7, 5) })),
  );
}
