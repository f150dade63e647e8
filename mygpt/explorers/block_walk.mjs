import {
  bandScale, barBox, control, extent, fixed, floats, html, linearScale, linearTicks, mount, padded,
  picture, slider, speaker, svg, tooltip,
} from "./drawing.mjs";

const DECIMALS = 3;
const MARGIN = { left: 42, right: 6, top: 8, bottom: 42 };
const STRIP = 30; // px
const OUTLINED = 14; // px: a thinner bar has a cap where it stood before

/** The vector of one stage at one position, among all that came as one row of numbers. */
export function vectorAt(numbers, { widths, positions }, stage, position) {
  const before = widths.slice(0, stage).reduce((total, width) => total + width * positions, 0);
  const start = before + position * widths[stage];
  return numbers.subarray(start, start + widths[stage]);
}

/** The length of a vector. */
export function normOf(vector) {
  return Math.sqrt(vector.reduce((total, number) => total + number ** 2, 0));
}

/** The bars of one sign as one path in a box of 100 by `height`, zero in the middle. */
export function stripPath(vector, limit, height, negative = false) {
  const band = bandScale(vector.length, 0, 100, vector.length > 40 ? 0 : 0.2);
  const scale = linearScale([-limit, limit], [height, 0]);
  return Array.from(vector, (number, i) => {
    if (number < 0 !== negative) return "";
    const { start, size } = barBox(number, scale, 0, 0.5);
    const x = band.start(i).toFixed(2);
    return `M${x} ${start.toFixed(2)}h${band.width.toFixed(2)}v${size.toFixed(2)}h${(-band.width).toFixed(2)}Z`;
  }).join("");
}

/** Mean and population standard deviation. */
export function momentsOf(vector) {
  const mean = vector.reduce((total, number) => total + number, 0) / vector.length;
  const variance = vector.reduce((total, number) => total + (number - mean) ** 2, 0) / vector.length;
  return { mean, std: Math.sqrt(variance) };
}

function render({ model, el }) {
  const [names, notes, before, widths, tokens] = ["names", "notes", "before", "widths", "tokens"]
    .map((trait) => model.get(trait));
  const numbers = floats(model.get("data"));
  const shape = { widths, positions: tokens.length };
  const vector = (stage) => vectorAt(numbers, shape, stage, model.get("position"));
  const write = (trait, value) => {
    model.set(trait, value);
    model.save_changes();
  };

  // The parts, from the top.
  const words = tokens.map((token, i) => {
    const button = control("button", { type: "button", title: token }, html("bdi", {}, token || "(empty)"));
    button.addEventListener("click", () => write("position", i));
    return button;
  });
  const walk = [["Back", -1], ["Next", 1]].map(([text, step]) => {
    const button = control("button", { type: "button" }, text);
    button.addEventListener("click", () => {
      const next = model.get("stage") + step;
      if (next in names) write("stage", next);
    });
    return { button, step };
  });
  const stages = names.map((_, i) => i);
  const steps = slider("Stage", stages, (i) => names[i], (i) => write("stage", i));
  const name = html("b");
  const says = html("span", { class: "mygpt-number" });
  const noteTexts = names.map(() => html("span"));
  const note = html("p", { class: "mygpt-note" }, ...noteTexts);
  const main = picture();
  const hint = tooltip();
  main.node.append(hint.node);
  const rows = names.map((text, i) => {
    const paths = [svg("path", { class: "mygpt-bar" }), svg("path", { class: "mygpt-bar mygpt-negative" })];
    const strip = svg("svg", {
      class: "mygpt-strip", viewBox: `0 0 100 ${STRIP}`, preserveAspectRatio: "none", "aria-hidden": "true",
    }, ...paths);
    const norm = html("span", { class: "mygpt-number" });
    const node = html("div", { class: "mygpt-stage" }, html("span", {}, html("bdi", {}, text)), strip, norm);
    node.addEventListener("click", () => write("stage", i));
    return { node, paths, norm };
  });
  const setting = html("p", { class: "mygpt-setting" });
  const voice = speaker();
  const root = html(
    "div", { class: "mygpt-explorer mygpt-block-walk", role: "group", "aria-label": "Walk through a block" },
    html("div", { class: "mygpt-steps" },
      html("div", { class: "mygpt-words", role: "group", "aria-label": "Position" }, ...words),
      html("div", { class: "mygpt-walk" }, ...walk.map(({ button }) => button))),
    html("div", { class: "mygpt-controls" }, steps.node),
    html("p", { class: "mygpt-stage-name" }, name, says), note, main.node,
    html("div", { class: "mygpt-stages" },
      html("p", { class: "mygpt-stages-head" },
        html("span", {}, "stage"), html("span", {}, "channels"), html("span", {}, "norm")),
      ...rows.map(({ node }) => node)),
    setting, voice.node);

  let width = 640;
  let frame = null;
  let sentence = "";

  function drawStrips() {
    const vectors = stages.map(vector);
    const limit = Math.max(...extent(vectors).map(Math.abs), 1e-9);
    rows.forEach(({ paths, norm }, i) => {
      paths.forEach((path, sign) => path.setAttribute("d", stripPath(vectors[i], limit, STRIP, sign === 1)));
      norm.textContent = fixed(normOf(vectors[i]), DECIMALS);
    });
    words.forEach((button, i) => button.setAttribute("aria-pressed", i === model.get("position")));
  }

  /** Whether a stage's bars are too thin for an outline to be seen around them. */
  function thin(stage) {
    const { left, right } = MARGIN;
    return (width - left - right) / widths[stage] < OUTLINED;
  }

  function noteOn(stage) {
    const mark = thin(stage) ? "Short lines" : "Dashed";
    const old = before[stage] < 0 ? "" : `${mark}: ${names[before[stage]]}.`;
    return `${notes[stage]} ${old}`.trim();
  }

  function drawStage() {
    const stage = model.get("stage");
    const now = vector(stage);
    const old = before[stage] < 0 ? null : vector(before[stage]);
    const capped = thin(stage);
    const [low, high] = padded(extent([now, old ?? [], [0]]), 0.08);
    const ticks = linearTicks(0, widths[stage] - 1, width / 70, 1)
      .map(({ at, label }) => ({ at: at + 0.5, label }));
    frame = main.frame({
      width,
      height: 210,
      margin: MARGIN,
      x: { domain: [0, widths[stage]], ticks, label: "channel" },
      y: { domain: [low, high], ticks: linearTicks(low, high, 5), strong: 0 },
    });
    frame.band = bandScale(widths[stage], frame.left, frame.right, widths[stage] > 80 ? 0 : 0.2);
    const bars = (list, kind) => Array.from(list, (number, i) => {
      const { start, size } = barBox(number, frame.scaleY, 0, 0.5);
      const sign = number < 0 ? " mygpt-negative" : "";
      return svg("rect", {
        class: kind + sign, x: frame.band.start(i).toFixed(2), width: frame.band.width.toFixed(2),
        y: start.toFixed(2), height: size.toFixed(2),
      });
    });
    const caps = (list) => Array.from(list, (number, i) => svg("rect", {
      class: "mygpt-cap", x: frame.band.start(i).toFixed(2), width: frame.band.width.toFixed(2),
      y: (frame.scaleY(number) - 1).toFixed(2), height: 2,
    }));
    const outlines = old ? (capped ? caps(old) : bars(old, "mygpt-outline")) : [];
    main.curves.replaceChildren(...bars(now, "mygpt-bar"), ...outlines);
    steps.show(stage);
    rows.forEach(({ node }, i) => node.classList.toggle("mygpt-now", i === stage));
    walk.forEach(({ button, step }) => {
      const off = !(stage + step in names);
      button.setAttribute("aria-disabled", off);
      button.title = off ? `This is the ${step < 0 ? "first" : "last"} stage` : "";
    });
    const { mean, std } = momentsOf(now);
    const three = (value) => fixed(value, DECIMALS);
    name.textContent = `${stage + 1}. ${names[stage]}`;
    says.textContent = `norm ${three(normOf(now))}, mean ${three(mean)}, std ${three(std)}`;
    noteTexts.forEach((node, i) => node.classList.toggle("mygpt-now", i === stage));
    const place = `position ${model.get("position")}, “${tokens[model.get("position")]}”`;
    setting.textContent = `Stage ${stage + 1} of ${names.length}, ${place}.`;
    sentence = `${names[stage]}, ${place}: ${widths[stage]} channels, ${says.textContent}. ${noteOn(stage)}`;
    main.root.setAttribute("aria-label", `${model.get("description")} ${sentence}`);
    hint.hide();
  }

  main.root.addEventListener("pointermove", (event) => {
    const stage = model.get("stage");
    const channel = frame.band.invert(main.pointerX(event));
    const now = vector(stage);
    const points = Array.from(now, (number, i) => [frame.band.middle(i), frame.scaleY(number)]);
    const value = (text, number) => html("span", {}, text, html("b", {}, fixed(number, DECIMALS)));
    hint.show(frame.band.middle(channel), frame, width, points, [
      html("strong", {}, `Channel ${channel}`), value("value", now[channel]),
      ...(before[stage] < 0 ? [] : [value("before", vector(before[stage])[channel])]),
    ]);
  });
  main.root.addEventListener("pointerleave", hint.hide);

  const draw = () => {
    drawStrips();
    drawStage();
  };
  const speaking = (update) => () => {
    update();
    voice.say(sentence);
  };
  return mount({
    model, el, root, undo: [voice.stop],
    listeners: { stage: speaking(drawStage), position: speaking(draw) },
    layout: (now) => {
      width = now;
      noteTexts.forEach((node, stage) => { node.textContent = noteOn(stage); });
      draw();
    },
  });
}

export default { render };
