import {
  bandScale, barBox, clamp, control, dragging, fixed, html, linearTicks, mount, picture, powerOfTen,
  readings, slider, speaker, svg, valueSlider,
} from "./drawing.mjs";

const DECIMALS = 4;
const MOVED = 1; // decimals of what the reader moves
const GAP = 0.3;

/** Mean, variance, normalised vector and result, added up channel by channel. */
export function layerNorm(x, { gamma, beta, eps }) {
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const mean = sum(x) / x.length;
  const variance = sum(x.map((number) => (number - mean) ** 2)) / x.length;
  const normalised = x.map((number) => (number - mean) / Math.sqrt(variance + eps));
  return { mean, variance, normalised, result: normalised.map((n) => gamma * n + beta) };
}

/** The smallest of a few round limits that holds every number, so that an axis seldom jumps. */
export function roundLimit(numbers) {
  const largest = Math.max(...numbers.map(Math.abs));
  return [2, 4, 6, 10, 16].find((limit) => limit >= largest) ?? 2 * Math.ceil(largest / 2);
}

/** What moves the whole vector at once, or null where a number would leave the limits. */
export function moved(x, change, limit) {
  const numbers = x.map((number) => Number(change(number).toFixed(MOVED)) || 0);
  return numbers.every((number) => Math.abs(number) <= limit) ? numbers : null;
}

function render({ model, el }) {
  const channels = model.get("start").length;
  const limit = model.get("limit");
  const write = (trait, value) => {
    model.set(trait, value);
    model.save_changes();
  };
  const tenths = Array.from({ length: 61 }, (_, i) => (i - 30) / 10);
  const signed = (value) => fixed(value, MOVED);
  const epsilon = (power) => (power ? powerOfTen(power) : "1");
  const over = `over ±${limit}`;

  // The parts, from the top.
  const settings = [
    ["gamma", slider("γ for all", tenths, signed, (value) => write("gamma", value))],
    ["beta", slider("β for all", tenths, signed, (value) => write("beta", value))],
    ["log10_eps", slider("ε", Array.from({ length: 9 }, (_, i) => i - 8), epsilon,
      (value) => write("log10_eps", value))],
  ];
  const controls = html("div", { class: "mygpt-controls" }, ...settings.map(([, { node }]) => node));
  const actions = [
    ["All equal", (x) => {
      const mean = x.reduce((total, number) => total + number, 0) / x.length;
      return moved(x, () => mean, limit);
    }],
    ["Add 1", (x) => moved(x, (number) => number + 1, limit)],
    ["Double", (x) => moved(x, (number) => 2 * number, limit)],
    ["Turn the signs", (x) => moved(x, (number) => -number, limit)],
    ["Start again", () => model.get("start")],
  ].map(([text, change]) => {
    const button = control("button", { type: "button" }, text);
    button.addEventListener("click", () => {
      const numbers = change(model.get("values"));
      if (numbers) write("values", numbers);
    });
    return { text, button, change };
  });
  const why = html("span", { class: "mygpt-why" });
  const panel = (name) => {
    const plot = picture();
    const [says, ends] = ["span", "span"].map((tag) => html(tag, { class: "mygpt-number" }));
    const node = html("div", {}, html("p", { class: "mygpt-panel-name" },
      html("span", {}, html("b", {}, name), " ", ends), says), plot.node);
    return { plot, says, ends, node };
  };
  const before = panel("Before");
  const after = panel("After");
  const grips = Array.from({ length: channels }, (_, i) => {
    const node = html("div", { class: "mygpt-grip" });
    const choose = (value) => {
      const x = [...model.get("values")];
      const rounded = Number(clamp(value, -limit, limit).toFixed(MOVED)) || 0;
      if (x[i] === rounded) return;
      x[i] = rounded;
      write("values", x);
    };
    const part = valueSlider(node, {
      label: `Channel ${i}`, low: -limit, high: limit, step: 0.1, choose,
    });
    return { ...part, choose };
  });
  before.plot.node.append(...grips.map(({ node }) => node));
  const names = Array.from({ length: channels }, (_, i) => html("span", {}, String(i)));
  const table = readings("The vector, channel by channel", "Channel",
    [["x", "x"], ["deviation", "x − mean"], ["normalised", "normalised"], ["result", "result"]], names);
  const note = html("p", { class: "mygpt-note" });
  const setting = html("p", { class: "mygpt-setting" });
  const voice = speaker();
  const root = html(
    "div", { class: "mygpt-explorer mygpt-layer-norm", role: "group", "aria-label": "Explorer of layer norm" },
    controls,
    html("div", { class: "mygpt-actions" }, ...actions.map(({ button }) => button), why),
    html("div", { class: "mygpt-panels" }, before.node, after.node),
    note,
    html("div", { class: "mygpt-below" }, table.node), setting, voice.node);

  let width = 640;
  let axes = null;
  let shapes = null;
  let last = model.get("values");
  let sentence = "";

  function frameOf({ plot }, domain, size) {
    const ticks = Array.from({ length: channels }, (_, i) => ({ at: i + 0.5, label: String(i) }));
    return plot.frame({
      width: size,
      height: 220,
      margin: { left: 34, right: 4, top: 14, bottom: 44 },
      x: { domain: [0, channels], ticks, label: "channel" },
      y: { domain: [-domain, domain], ticks: linearTicks(-domain, domain, 6), strong: 0 },
    });
  }

  /** The marks of a panel, made once for an axis and then only moved. */
  function marks({ plot }, frame, withKnobs) {
    const band = bandScale(channels, frame.left, frame.right, GAP);
    const bars = Array.from({ length: channels }, (_, i) => svg("rect", {
      class: "mygpt-bar", x: band.start(i), width: band.width, rx: 2,
    }));
    const knobs = withKnobs ? bars.map((_, i) => svg("rect", {
      class: "mygpt-knob", x: band.middle(i) - Math.min(11, band.width / 2),
      width: Math.min(22, band.width), height: 8, rx: 4,
    })) : [];
    const spread = svg("rect", { class: "mygpt-spread", x: frame.left, width: frame.right - frame.left });
    const mean = svg("path", { class: "mygpt-mean" });
    plot.curves.replaceChildren(spread, ...bars);
    plot.cursor.replaceChildren(mean, ...knobs);
    return { frame, band, bars, knobs, spread, mean };
  }

  function show({ frame, bars, knobs, spread, mean }, numbers, middle, std) {
    const y = (value) => frame.scaleY(value);
    numbers.forEach((number, i) => {
      const box = barBox(number, y);
      bars[i].setAttribute("y", box.start);
      bars[i].setAttribute("height", box.size);
      bars[i].classList.toggle("mygpt-negative", number < 0);
      if (knobs.length) knobs[i].setAttribute("y", y(number) - 4);
    });
    const top = clamp(y(middle + std), frame.top, frame.bottom);
    const bottom = clamp(y(middle - std), frame.top, frame.bottom);
    spread.setAttribute("y", top);
    spread.setAttribute("height", bottom - top);
    mean.setAttribute("d", `M${frame.left} ${y(middle)}H${frame.right}`);
  }

  function layout(now) {
    width = now;
    const size = Math.floor(width < 542 ? width : (width - 22) / 2);
    axes = { size, after: null };
    before.ends.textContent = `(to ±${limit})`;
    shapes = { before: marks(before, frameOf(before, limit, size), true), after: null };
    const { frame, band } = shapes.before;
    grips.forEach(({ node }, i) => Object.assign(node.style, {
      left: `${frame.left + band.step * i}px`,
      width: `${band.step}px`,
      top: `${frame.top}px`,
      height: `${frame.bottom - frame.top}px`,
    }));
    draw();
  }

  function draw() {
    const x = model.get("values");
    const [gamma, beta, power] = ["gamma", "beta", "log10_eps"].map((trait) => model.get(trait));
    const { mean, variance, normalised, result } = layerNorm(x, { gamma, beta, eps: 10 ** power });
    const std = Math.sqrt(variance);
    const resultMean = result.reduce((total, number) => total + number, 0) / channels;
    const resultStd = Math.sqrt(
      result.reduce((total, number) => total + (number - resultMean) ** 2, 0) / channels);
    const domain = roundLimit(result);
    if (axes.after !== domain) {
      axes.after = domain;
      after.ends.textContent = `(to ±${domain})`;
      shapes.after = marks(after, frameOf(after, domain, axes.size), false);
    }
    show(shapes.before, x, mean, std);
    show(shapes.after, result, resultMean, resultStd);
    const four = (value) => fixed(value, DECIMALS);
    before.says.textContent = `mean ${four(mean)}, std ${four(std)}`;
    after.says.textContent = `mean ${four(resultMean)}, std ${four(resultStd)}`;
    x.forEach((number, i) => {
      grips[i].show(number, `${signed(number)}, normalised ${four(normalised[i])}`);
      Object.entries({
        x: signed(number), deviation: four(number - mean),
        normalised: four(normalised[i]), result: four(result[i]),
      }).forEach(([key, text]) => { table.cells[i][key].textContent = text; });
    });
    for (const [trait, part] of settings) part.show(model.get(trait));
    const off = actions.filter(({ change }) => change(x) === null);
    for (const action of actions) {
      action.button.setAttribute("aria-disabled", off.includes(action));
      action.button.title = off.includes(action) ? over : "";
    }
    why.textContent = off.length ? `${off.map(({ text }) => text).join(", ")}: ${over}` : "";
    note.textContent = noteOn(variance, power);
    setting.textContent = `γ = ${signed(gamma)}, β = ${signed(beta)}, ε = ${epsilon(power)}.`;
    sentence = `Mean ${four(mean)}. ${note.textContent} Result: ${after.says.textContent}.`;
    const list = (numbers, decimals) => numbers.map((number) => fixed(number, decimals)).join(", ");
    before.plot.root.setAttribute("aria-label",
      `${model.get("description")} Before: ${list(x, MOVED)}; ${before.says.textContent}.`);
    after.plot.root.setAttribute("aria-label",
      `After, with ${setting.textContent} ${list(result, DECIMALS)}; ${after.says.textContent}.`);
  }

  function noteOn(variance, power) {
    const root = Math.sqrt(variance + 10 ** power);
    if (variance < 1e-20) {
      return "All channels are equal: every deviation is 0, ε alone is under the root, and the result is β.";
    }
    const share = Math.sqrt(variance) / root;
    return `Variance ${fixed(variance, DECIMALS)}; the deviations are divided by `
      + `√(variance + ε) = ${fixed(root, DECIMALS)}. Before γ and β the result has the standard `
      + `deviation ${fixed(share, DECIMALS)}.`;
  }

  /** What has moved, so that it can be said first. */
  function change() {
    const x = model.get("values");
    const changed = x.flatMap((number, i) => (number === last[i] ? [] : [i]));
    last = x;
    if (!changed.length) return setting.textContent;
    const [i] = changed;
    return changed.length > 1 ? `${changed.length} channels moved.` : `Channel ${i} is ${signed(x[i])}.`;
  }

  const speaking = () => {
    draw();
    voice.say(`${change()} ${sentence}`);
  };
  const undo = grips.map(({ node, choose }) => dragging(node, (event) => {
    const box = before.plot.root.getBoundingClientRect();
    choose(shapes.before.frame.scaleY.invert(((event.clientY - box.top) * 220) / (box.height || 1)));
  }, node));
  const traits = ["values", "gamma", "beta", "log10_eps"];
  return mount({
    model, el, root, layout, undo: [...undo, voice.stop],
    listeners: Object.fromEntries(traits.map((trait) => [trait, speaking])),
  });
}

export default { render };
