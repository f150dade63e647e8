import {
  axisHandle, choice, clamp, dragging, extent, floats, html, linePath, linearTicks, logTicks,
  markerPath, mount, nearestIndex, padded, picture, readings, sample, significant,
  slider, speaker, spread, svg, tick, tooltip,
} from "./drawing.mjs";

const QUANTITIES = [["activations", "Std of activations"], ["gradients", "Norm of gradient"]];
const NAMES = {
  activations: "standard deviation of the activations",
  gradients: "norm of the gradient",
};

/**
 * The curves of one setting, as log10, one list per kind. On the wire each stack has one number
 * for the input and one for each of its own layers, in the order kind, gain, width, bias, depth.
 */
export function curvesAt(numbers, { kinds, gains, widths, biases, depths }, at) {
  const block = depths.reduce((total, depth) => total + depth + 1, 0);
  const before = depths.slice(0, at.depth).reduce((total, depth) => total + depth + 1, 0);
  return Array.from({ length: kinds }, (_, kind) => {
    const row = ((kind * gains + at.gain) * widths + at.width) * biases + at.bias;
    const start = row * block + before;
    return numbers.subarray(start, start + depths[at.depth] + 1);
  });
}

/** The span of the log axis: the curves in view with some room, and never less than half a decade. */
export function logDomain(lists) {
  const [low, high] = extent(lists) ?? [-1, 1];
  const [from, to] = padded([low, high], 0.05);
  const missing = Math.max(0, 0.5 - (to - from)) / 2;
  return [from - missing, to + missing];
}

/** In words: where a curve of log10 begins, where it ends, and whether it rises between them. */
export function trend(curve) {
  const first = curve.findIndex((value) => !Number.isNaN(value));
  const last = curve.length - 1;
  const change = curve[last] - curve[first];
  const way = Math.abs(change) < 0.02 ? "hardly changes," : change > 0 ? "rises" : "falls";
  const at = (layer) => `${significant(10 ** curve[layer])} at ${layer ? `layer ${layer}` : "the input"}`;
  return `${way} from ${at(first)} to ${at(last)}`;
}

function render({ model, el }) {
  const kinds = model.get("kinds");
  const scales = Object.fromEntries(
    ["gains", "widths", "depths", "biases"].map((name) => [name, model.get(name)]));
  const counts = {
    kinds: kinds.length,
    gains: scales.gains.length,
    widths: scales.widths.length,
    biases: scales.biases.length,
    depths: scales.depths,
  };
  const numbers = floats(model.get("data"));
  const data = {
    activations: numbers.subarray(0, numbers.length / 2),
    gradients: numbers.subarray(numbers.length / 2),
  };
  const write = (trait, value) => {
    model.set(trait, value);
    model.save_changes();
  };
  const isShown = (kind) => model.get("visible").includes(kind);

  // The parts, from the top.
  const switcher = choice("What the curves show", QUANTITIES, (value) => write("quantity", value));
  const settings = [
    ["gain", "Gain", scales.gains, (value) => `× ${value}`],
    ["width", "Width", scales.widths, String],
    ["depth", "Layers", scales.depths, String],
  ].filter(([, , values]) => values.length > 1).map(([trait, label, values, format]) =>
    [trait, slider(label, values, format, (value) => write(trait, value))]);
  if (scales.biases.length > 1) {
    settings.push(["bias", tick(["Biases"], (checked) => write("bias", checked))]);
  }
  const controls = html("div", { class: "mygpt-controls" }, ...settings.map(([, { node }]) => node));
  const layerOut = html("span", { class: "mygpt-number" });
  const head = html("div", { class: "mygpt-head" },
    switcher.node, html("p", { class: "mygpt-at" }, layerOut));
  const main = picture();
  const handle = axisHandle("Layer", (layer) => write("layer", layer));
  const hint = tooltip();
  const whisker = svg("path", { class: "mygpt-whisker" });
  main.root.insertBefore(whisker, main.cursor);
  main.node.append(handle.node, hint.node);
  const ticks = kinds.map((kind, i) =>
    tick([sample(i), html("bdi", {}, kind)], (checked) =>
      write("visible", kinds.filter((other) => (other === kind ? checked : isShown(other))))));
  const table = readings(
    "Standard deviation and gradient of every stack at the layer", "Stack",
    [["activations", "std of activations"], ["gradients", "norm of gradient"]],
    ticks.map(({ node }) => node));
  const setting = html("p", { class: "mygpt-setting" });
  const voice = speaker();
  const root = html(
    "div", { class: "mygpt-explorer mygpt-depth", role: "group", "aria-label": "Explorer of depth" },
    controls, head, main.node, html("div", { class: "mygpt-below" }, table.node), setting, voice.node);

  // Drawing: axes and curves when a setting changes, the cursor at every move.
  let axes = null;
  let width = 640;
  let curves = null;
  let depth = 0;
  let hovered = null;
  let sentence = "";

  function choose() {
    const at = Object.fromEntries([["gain", "gains"], ["width", "widths"], ["depth", "depths"],
      ["bias", "biases"]].map(([trait, list]) => [trait, scales[list].indexOf(model.get(trait))]));
    curves = {
      activations: curvesAt(data.activations, counts, at),
      gradients: curvesAt(data.gradients, counts, at),
    };
    depth = model.get("depth");
    for (const [trait, part] of settings) part.show(model.get(trait));
    const biases = model.get("bias") ? "with biases" : "without biases";
    setting.textContent =
      `Gain ${model.get("gain")}, width ${model.get("width")}, ${depth} layers, ${biases}.`;
  }

  function drawCurves() {
    choose();
    const quantity = model.get("quantity");
    const lists = curves[quantity];
    const shown = kinds.map((_, i) => i).filter((i) => isShown(kinds[i]));
    const height = Math.round(clamp(width * 0.5, 260, 350));
    const labelled = width >= 520;
    const domain = logDomain(shown.map((i) => lists[i]));
    const yTicks = logTicks(...domain, height / 40);
    const longest = Math.max(...yTicks.map(({ label }) => label.length));
    axes = main.frame({
      width,
      height,
      margin: { left: 15 + 7 * longest, right: labelled ? 88 : 16, top: 8, bottom: 52 },
      x: {
        domain: [0, depth],
        ticks: linearTicks(0, depth, width / 60, 1),
        label: "layer",
        drop: 27,
      },
      y: { domain, ticks: yTicks, strong: 0 },
    });
    handle.place(axes);
    const layers = Array.from({ length: depth + 1 }, (_, layer) => layer);
    main.curves.replaceChildren(...shown.map((i) => svg("path", {
      class: `mygpt-curve mygpt-curve-${i}`,
      d: linePath(layers, lists[i], axes.scaleX, axes.scaleY),
    })));
    const ends = spread(shown.map((i) => axes.scaleY(lists[i][depth])), 17, axes.top, axes.bottom - 4);
    main.front.replaceChildren(...(labelled ? shown : []).map((i, n) => svg("text", {
      class: `mygpt-end mygpt-curve-${i}`, x: axes.right + 10, y: ends[n], dy: "0.34em",
    }, kinds[i])));
    if (!shown.length) {
      main.front.replaceChildren(svg("text", {
        x: (axes.left + axes.right) / 2, y: axes.top + 34, "text-anchor": "middle",
      }, "No stack is shown. Tick one below."));
    }
    switcher.show(quantity);
    table.mark(quantity);
    kinds.forEach((kind, i) => {
      ticks[i].show(isShown(kind));
      table.body[i].classList.toggle("mygpt-off", !isShown(kind));
    });
  }

  const textAt = (quantity, i, layer) => significant(10 ** curves[quantity][i][layer]);
  const layerName = (layer) => (layer === 0 ? "Input" : `Layer ${layer}`);

  function drawCursor() {
    const quantity = model.get("quantity");
    const layer = Math.min(model.get("layer"), depth);
    const x = axes.scaleX(layer);
    const shown = kinds.map((_, i) => i).filter((i) => isShown(kinds[i]));
    main.cursor.replaceChildren(
      svg("path", { class: "mygpt-crosshair", d: `M${x} ${axes.top}V${axes.bottom}` }),
      ...shown.filter((i) => !Number.isNaN(curves[quantity][i][layer])).map((i) => svg("path", {
        class: `mygpt-marker mygpt-curve-${i}`,
        d: markerPath(i, x, axes.scaleY(curves[quantity][i][layer]), 5),
      })));
    const place = (at) => (at === 0 ? "the input" : `layer ${at} of ${depth}`);
    handle.show(layer, depth, place(layer));
    layerOut.textContent = `${layerName(layer)}${layer === 0 ? "" : ` of ${depth}`}`;
    table.cells.forEach((row, i) => {
      row.activations.textContent = textAt("activations", i, layer);
      row.gradients.textContent = textAt("gradients", i, layer);
    });
    const readOut = shown.map((i) => `${kinds[i]} ${textAt(quantity, i, layer)}`).join(", ");
    sentence = `${NAMES[quantity]} at ${place(layer)}: ${readOut || "no stack shown"}.`;
    const trends = shown.map((i) => ` ${kinds[i]} ${trend(curves[quantity][i])}.`).join("");
    main.root.setAttribute("aria-label",
      `${model.get("description")} ${sentence}${trends} ${setting.textContent}`);
  }

  /** What the curves say under a hovering mouse; the layer in the reader's hand stays. */
  function drawHint() {
    const quantity = model.get("quantity");
    const shown = kinds.map((_, i) => i).filter((i) => isShown(kinds[i]));
    if (hovered === null || !shown.length) {
      hint.hide();
      whisker.setAttribute("d", "");
      return;
    }
    const layer = Math.min(hovered, depth);
    const x = axes.scaleX(layer);
    const points = shown.flatMap((i) => Array.from(curves[quantity][i], (value, at) =>
      [axes.scaleX(at), axes.scaleY(value)]));
    whisker.setAttribute("d", `M${x} ${axes.top}V${axes.bottom}`);
    hint.show(x, axes, width, points, [
      html("strong", {}, layerName(layer)),
      ...shown.map((i) => html("span", {}, sample(i), html("bdi", {}, kinds[i]),
        html("b", {}, textAt(quantity, i, layer)))),
    ]);
  }

  const layerUnder = (event) =>
    nearestIndex(axes.scaleX.invert(main.pointerX(event)), 0, 1, depth + 1);
  const hover = (event) => {
    const layer = event.pointerType === "mouse" ? layerUnder(event) : null;
    if (layer === hovered) return;
    hovered = layer;
    drawHint();
  };
  const leave = () => {
    hovered = null;
    drawHint();
  };
  main.root.addEventListener("pointermove", hover);
  main.root.addEventListener("pointerleave", leave);

  const draw = () => {
    drawCurves();
    drawCursor();
    drawHint();
  };
  const speaking = (update, more = () => "") => () => {
    update();
    voice.say(`${sentence} ${more()}`.trim());
  };
  const drawn = ["gain", "width", "depth", "bias", "quantity", "visible"];
  return mount({
    model, el, root,
    undo: [dragging(main.root, (event) => write("layer", layerUnder(event)), handle.node), voice.stop],
    listeners: {
      ...Object.fromEntries(drawn.map((trait) => [trait, speaking(draw, () => setting.textContent)])),
      layer: speaking(drawCursor),
    },
    layout: (now) => {
      width = now;
      draw();
    },
  });
}

export default { render };
