// The tokens with their shares, as bars with the line of the cut, and what the marks mean.

import { html, svg } from "../kit/elements.mjs";
import { bandScale, barBox, fixed, linearScale, linearTicks } from "../kit/geometry.mjs";
import { markerPath } from "../kit/picture.mjs";
import { DECIMALS, nowText, sentenceOf } from "./words.mjs";

const ROW = 26;

/** The end of the axis for bars up to `most`: a round share, so that it seldom changes.
 * @type {(most: number) => number} */
export function axisEnd(most) {
  return [0.1, 0.2, 0.5].find((end) => most <= end) ?? 1;
}

/** A row's marks in the picture, at the height of `y`.
 * @type {(row: Sampling.Row, y: number) => Sampling.Marks} */
function rowMarks({ warm }, y) {
  const hatch = svg("path", { class: "mygpt-hatch", "stroke-width": 16 });
  const bar = svg("rect", { class: "mygpt-bar", height: 16, y: y - 8 });
  const outline = svg("path", { class: "mygpt-before" });
  const marker = svg("path", { class: "mygpt-drawn" });
  /** @type {Sampling.Marks["draw"]} */
  function draw({ now, before, left, drawn }, scale, total) {
    const length = barBox(now, scale);
    bar.setAttribute("x", length.start);
    bar.setAttribute("width", length.size);
    outline.setAttribute("d", `M${scale(warm).toFixed(1)} ${y - 11}v22`);
    const { start, size } = barBox(left ? 0 : before, scale);
    hatch.setAttribute("d", `M${start} ${y}h${size}`);
    marker.setAttribute("d", drawn && left ? markerPath(2, scale(drawn / total), y, 5) : "");
  }
  return { hatch, bar, outline, marker, draw };
}

/** A row of the table. The first also holds the picture, which is as tall as all rows.
 * @type {(row: Sampling.Row, bars: Node[]) => { node: HTMLElement; draw(share: Sampling.Share, total: number): void }} */
function tableRow({ ids, several, name, title, warm }, bars) {
  const label = html(several ? "i" : "bdi", {}, name);
  const [now, times] = [html("td", { class: "mygpt-now" }), html("td")];
  const sum = html("td", { class: "mygpt-wide mygpt-quiet mygpt-together" });
  now.title = `${fixed(warm, DECIMALS)} at temperature 1, nothing cut`;
  const node = html("tr", {}, html("th", { scope: "row", title }, label), ...bars, now, sum, times);
  /** @type {(share: Sampling.Share, total: number) => void} */
  function draw(share, total) {
    const { left, drawn, together } = share;
    sum.textContent = fixed(together, DECIMALS);
    node.classList.toggle("mygpt-is-cut", !left);
    now.textContent = nowText(share);
    times.textContent = total ? String(drawn) : "–";
    if (several) label.textContent = left && left < ids.length ? `${left} of ${name}` : name;
  }
  return { node, draw };
}

/** The table's columns, of the widths that `lay` gives them.
 * @type {() => { nodes: HTMLElement[]; lay(widths: number[]): void }} */
function tableHead() {
  const columns = ["name", "bars", "now", "wide", "times"].map((name) =>
    html("col", { class: name === "wide" ? "mygpt-wide" : "" }),
  );
  const heads = [["Token"], ["Probability"], ["now"], ["together", "mygpt-wide"], ["drawn"]].map(([text, className]) =>
    html("th", { scope: "col", class: className }, text),
  );
  heads[1].style.textAlign = "left";
  const nodes = [html("colgroup", {}, ...columns), html("thead", {}, html("tr", {}, ...heads))];
  /** @type {(widths: number[]) => void} */
  const lay = (widths) =>
    widths.forEach((size, i) => {
      columns[i].style.width = `${size}px`;
    });
  return { nodes, lay };
}

/** After how many rows the cut falls: within the row of several tokens after a part of it.
 * @type {(rows: { ids: number[] }[], shares: { left: number }[]) => number} */
export function cutAfter(rows, shares) {
  return shares.reduce((sum, { left }, i) => sum + left / rows[i].ids.length, 0);
}

/** The rows' picture: an axis under their marks.
 * @type {(rows: Sampling.Row[]) => { node: SVGElement; lay(room: number, end: number): void; draw(shares: Sampling.Share[], total: number, share: number): void }} */
function barsPicture(rows) {
  const height = rows.length * ROW;
  const band = bandScale(rows.length, 0, height);
  const marks = rows.map((row, i) => rowMarks(row, band.middle(i)));
  const grid = svg("g");
  const line = svg("path", { class: "mygpt-cut-line" });
  const kept = svg("text", { class: "mygpt-cut-text", "text-anchor": "end" });
  const node = svg(
    "svg",
    { class: "mygpt-picture", role: "img" },
    grid,
    ...marks.flatMap(({ hatch, bar }) => [hatch, bar]),
    ...marks.map(({ outline }) => outline),
    ...marks.map(({ marker }) => marker),
    line,
    kept,
  );
  let right = 0;
  let scale = linearScale([0, 1], [0, 1]);

  /** @type {(room: number, end: number) => void} */
  function lay(room, end) {
    node.setAttribute("viewBox", `0 0 ${room} ${height}`);
    node.setAttribute("width", room);
    node.setAttribute("height", height);
    scale = linearScale([0, end], [8, room - 8]); // room for half a marker
    right = room;
    grid.replaceChildren(
      ...linearTicks(0, end, room / 64).flatMap(({ at, label }) => {
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
    const y = (at * ROW).toFixed(1);
    line.setAttribute("d", at < rows.length ? `M0 ${y}H${right}` : "");
    kept.textContent = at < rows.length ? `${fixed(share, DECIMALS)} kept` : "";
    kept.setAttribute("x", right - 4);
    kept.setAttribute("y", Number(y) - 6);
  }
  return { node, lay, draw };
}

/** The tokens with their shares, as bars and as numbers.
 * @type {(state: Sampling.State) => Kit.View} */
export function sharesView(state) {
  const { rows } = state;
  const image = barsPicture(rows);
  const bars = html("td", { class: "mygpt-bars", rowspan: rows.length }, image.node);
  const lines = rows.map((row, i) => tableRow(row, i ? [] : [bars]));
  const head = tableHead();
  const node = html(
    "table",
    { class: "mygpt-shares" },
    html("caption", { class: "mygpt-unseen" }, "Probability of each token, and how often it was drawn"),
    ...head.nodes,
    html("tbody", {}, ...lines.map((line) => line.node)),
  );

  function lay() {
    const { width, end } = state;
    const longest = Math.max(...rows.map(({ name, several }) => [...name].length + (several ? 6 : 0)));
    const name = Math.min(Math.max(64, 14 + 8 * longest), 0.3 * width);
    const others = [54, width < 420 ? 0 : 72, 56];
    const room = Math.round(width - others.reduce((sum, one) => sum + one, name));
    head.lay([name, room, ...others]);
    image.lay(room, end);
  }
  function draw() {
    const { shares, end } = state;
    const most = Math.max(...shares.flatMap(({ now, before }) => [now, before]), ...rows.map(({ warm }) => warm));
    state.end = axisEnd(most);
    if (state.end !== end) lay();
    image.draw(shares, state.get("draws"), state.found.share);
    const last = Math.ceil(cutAfter(rows, shares)) - 1;
    lines.forEach((line, i) => {
      line.draw(shares[i], state.get("draws"));
      line.node.classList.toggle("mygpt-last-kept", i === last && i < rows.length - 1);
    });
    image.node.setAttribute("aria-label", `${state.get("description")} ${sentenceOf(state)}`);
  }
  return { node, draw };
}

/** @type {(text: string, ...shapes: SVGElement[]) => HTMLElement} */
function key(text, ...shapes) {
  return html(
    "span",
    {},
    svg("svg", { width: 30, height: 14, viewBox: "0 0 30 14", "aria-hidden": "true" }, ...shapes),
    text,
  );
}

/** @type {() => HTMLElement} */
export function keys() {
  return html(
    "p",
    { class: "mygpt-key", "aria-hidden": "true" },
    key("now", svg("rect", { class: "mygpt-bar", x: 0, y: 1, width: 30, height: 12 })),
    key("at temperature 1, nothing cut", svg("path", { class: "mygpt-before", d: "M15 0V14" })),
    key("cut: what it had", svg("path", { class: "mygpt-hatch", "stroke-width": 12, d: "M0 7H30" })),
    key("share of the draws", svg("path", { class: "mygpt-drawn", d: markerPath(2, 15, 7, 5) })),
  );
}
