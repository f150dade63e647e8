import {
  axisHandle, choice, clamp, dragging, extent, fixed, floats, html, linePath, linearTicks,
  markerPath, mount, nearestIndex, padded, picture, powerOfTen, readings, sample, speaker, svg, tick,
  tooltip,
} from "./drawing.mjs";

const DECIMALS = 4;
const QUANTITIES = [["value", "Value"], ["slope", "Slope"]];

/** The rows of the explorer's data, by role. */
export function unpackActivations(view, { names, points, hasPhi, compare }) {
  const numbers = floats(view);
  let next = 0;
  const row = () => numbers.subarray(next, (next += points));
  return {
    x: row(),
    value: names.map(row),
    slope: names.map(row),
    phi: hasPhi ? row() : null,
    difference: compare.length ? row() : null,
  };
}

/** The number with its unit, a power of ten; without one it has as many decimals as the curves. */
export function differenceText(number, exponent) {
  return exponent ? `${fixed(number, 2)} × ${powerOfTen(exponent)}` : fixed(number, DECIMALS);
}

/** Largest step between neighbours that still counts as a curve, not as a jump. */
export function jumpOf([low, high]) {
  return 0.25 * (high - low);
}

function render({ model, el }) {
  const names = model.get("names");
  const compare = model.get("compare");
  const places = model.get("places");
  const points = model.get("points");
  const data = unpackActivations(model.get("data"), {
    names, points, compare, hasPhi: model.get("has_phi"),
  });
  const start = data.x[0];
  const step = (data.x[points - 1] - start) / (points - 1);
  const write = (trait, value) => {
    model.set(trait, value);
    model.save_changes();
  };
  const isShown = (name) => model.get("visible").includes(name);

  // The parts, from the top.
  const switcher = choice("What the curves show", QUANTITIES, (value) => write("quantity", value));
  const xOut = html("span", { class: "mygpt-number" });
  const phiOut = html("span", { class: "mygpt-number" });
  const head = html("div", { class: "mygpt-head" },
    switcher.node,
    html("p", { class: "mygpt-at" },
      html("span", {}, html("i", {}, "x"), " = ", xOut),
      ...(data.phi ? [html("span", {}, "Φ(", html("i", {}, "x"), ") = ", phiOut)] : [])));
  const main = picture();
  const toX = (index) => write("position", Number(data.x[index].toFixed(places)));
  const handle = axisHandle("Position x", toX);
  const hint = tooltip();
  const whisker = svg("path", { class: "mygpt-whisker" });
  main.root.insertBefore(whisker, main.cursor);
  main.node.append(handle.node, hint.node);
  const ticks = names.map((name, i) =>
    tick([sample(i), html("bdi", {}, name)], (checked) =>
      write("visible", names.filter((other) => (other === name ? checked : isShown(other))))));
  const table = readings(
    "Value and slope of every curve at x", "Curve", [["value", "value"], ["slope", "slope"]],
    ticks.map(({ node }) => node));
  const below = html("div", { class: "mygpt-below" }, table.node);
  const voice = speaker();
  const root = html(
    "div",
    { class: "mygpt-explorer mygpt-activations", role: "group", "aria-label": "Explorer of activations" },
    head, main.node, below, voice.node);

  let second = null;
  const exponent = model.get("exponent");
  const differenceOut = html("span", { class: "mygpt-number mygpt-difference" });
  if (data.difference) {
    second = picture();
    const title = html("p", { class: "mygpt-title" },
      html("span", {}, html("bdi", {}, compare[0]), " − ", html("bdi", {}, compare[1])),
      differenceOut);
    below.append(html("div", { class: "mygpt-magnified" }, title, second.node));
  }

  // Drawing: axes and curves when they change, the cursor at every move.
  let axes = null;
  let secondAxes = null;
  let width = 640;
  let sentence = "";

  const drawn = () => `The ${model.get("quantity")}s are drawn.`;
  const indexNow = () => nearestIndex(model.get("position"), start, step, points);

  function drawCurves() {
    const quantity = model.get("quantity");
    const lists = data[quantity];
    const limits = extent(lists);
    const height = Math.round(clamp(width * 0.48, 240, 340));
    const xDomain = [start, data.x[points - 1]];
    const yDomain = padded(limits, 0.05);
    axes = main.frame({
      width,
      height,
      margin: { left: 38, right: 14, top: 8, bottom: 50 },
      x: { domain: xDomain, ticks: linearTicks(...xDomain, width / 56), strong: 0, label: "x", drop: 26 },
      y: { domain: yDomain, ticks: linearTicks(...yDomain, height / 46), strong: 0 },
    });
    handle.place(axes);
    const jump = jumpOf(limits);
    main.curves.replaceChildren(...lists.flatMap((list, i) => (isShown(names[i])
      ? [svg("path", {
        class: `mygpt-curve mygpt-curve-${i}`,
        d: linePath(data.x, list, axes.scaleX, axes.scaleY, jump),
      })]
      : [])));
    switcher.show(quantity);
    table.mark(quantity);
    names.forEach((name, i) => {
      ticks[i].show(isShown(name));
      table.body[i].classList.toggle("mygpt-off", !isShown(name));
    });
    if (second) drawDifference(xDomain);
  }

  function drawDifference(xDomain) {
    const [low, high] = padded(extent([data.difference]), 0.12);
    const narrow = second.node.clientWidth || width;
    secondAxes = second.frame({
      width: narrow,
      height: exponent ? 164 : 150,
      margin: { left: 38, right: 14, top: exponent ? 24 : 10, bottom: 22 },
      x: { domain: xDomain, ticks: linearTicks(...xDomain, narrow / 52), strong: 0 },
      y: { domain: [low, high], ticks: linearTicks(low, high, 5), strong: 0 },
    });
    second.curves.replaceChildren(svg("path", {
      class: "mygpt-curve mygpt-curve-ink",
      d: linePath(data.x, data.difference, secondAxes.scaleX, secondAxes.scaleY),
    }));
    if (exponent) {
      second.front.replaceChildren(svg("text", { x: 6, y: 13 }, `× ${powerOfTen(exponent)}`));
    }
  }

  function drawCursor() {
    const at = indexNow();
    const x = axes.scaleX(data.x[at]);
    const lists = data[model.get("quantity")];
    main.cursor.replaceChildren(
      svg("path", { class: "mygpt-crosshair", d: `M${x} ${axes.top}V${axes.bottom}` }),
      ...lists.flatMap((list, i) => (isShown(names[i])
        ? [svg("path", {
          class: `mygpt-marker mygpt-curve-${i}`, d: markerPath(i, x, axes.scaleY(list[at]), 5),
        })]
        : [])));
    const position = fixed(data.x[at], places);
    handle.show(at, points - 1, `x = ${position}`);
    xOut.textContent = position;
    if (data.phi) phiOut.textContent = fixed(data.phi[at], DECIMALS);
    table.cells.forEach(({ value, slope }, i) => {
      value.textContent = fixed(data.value[i][at], DECIMALS);
      slope.textContent = fixed(data.slope[i][at], DECIMALS);
    });
    const seen = names.flatMap((name, i) => (isShown(name)
      ? [`${name}: value ${fixed(data.value[i][at], DECIMALS)}, slope ${fixed(data.slope[i][at], DECIMALS)}.`]
      : []));
    sentence = [`At x = ${position}.`, ...seen].join(" ");
    main.root.setAttribute("aria-label", `${model.get("description")} ${drawn()} ${sentence}`);
    if (second) {
      const px = secondAxes.scaleX(data.x[at]);
      const py = secondAxes.scaleY(data.difference[at]);
      second.cursor.replaceChildren(
        svg("path", { class: "mygpt-crosshair", d: `M${px} ${secondAxes.top}V${secondAxes.bottom}` }),
        svg("path", { class: "mygpt-marker mygpt-curve-ink", d: markerPath(0, px, py, 4.5) }));
      differenceOut.textContent = differenceText(data.difference[at], exponent);
      second.root.setAttribute("aria-label",
        `${compare.join(" minus ")}: ${differenceOut.textContent} at x = ${position}.`);
    }
  }

  function hover(at) {
    const shown = names.map((_, i) => i).filter((i) => isShown(names[i]));
    if (at === null || !shown.length) {
      hint.hide();
      whisker.setAttribute("d", "");
      return;
    }
    const list = (i) => data[model.get("quantity")][i];
    const x = axes.scaleX(data.x[at]);
    const seen = shown.flatMap((i) => Array.from({ length: 100 }, (_, n) => {
      const one = Math.floor((n * points) / 100);
      return [axes.scaleX(data.x[one]), axes.scaleY(list(i)[one])];
    }));
    whisker.setAttribute("d", `M${x} ${axes.top}V${axes.bottom}`);
    hint.show(x, axes, width, seen, [
      html("strong", {}, `x = ${fixed(data.x[at], places)}`),
      ...shown.map((i) => html("span", {}, sample(i), html("bdi", {}, names[i]),
        html("b", {}, fixed(list(i)[at], DECIMALS)))),
    ]);
  }

  const draw = () => {
    drawCurves();
    drawCursor();
    hover(null);
  };
  const speaking = (update, first = () => "") => () => {
    update();
    voice.say(`${first()} ${sentence}`.trim());
  };
  const indexUnder = (plot, current, event) =>
    nearestIndex(current().scaleX.invert(plot.pointerX(event)), start, step, points);
  main.root.addEventListener("pointermove", (event) =>
    hover(event.pointerType === "mouse" ? indexUnder(main, () => axes, event) : null));
  main.root.addEventListener("pointerleave", () => hover(null));
  const follow = (plot, current) =>
    dragging(plot.root, (event) => toX(indexUnder(plot, current, event)), handle.node);
  const undo = [follow(main, () => axes), voice.stop];
  if (second) undo.push(follow(second, () => secondAxes));
  return mount({
    model, el, root, undo,
    listeners: {
      position: speaking(drawCursor), quantity: speaking(draw, drawn), visible: speaking(draw),
    },
    layout: (now) => {
      width = now;
      draw();
    },
  });
}

export default { render };
