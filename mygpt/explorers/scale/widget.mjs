import { doublings, exact, nearestStop, total } from "../kit/amounts.mjs";
import { stackedBar, swatch } from "../kit/bars.mjs";
import { button, choice, control, html, mount, named, speaker, stepper, store, svg } from "../kit/drawing.mjs";
import { numberField } from "../kit/fields.mjs";
import { readings } from "../kit/picture.mjs";
import {
  DATA, DEVICES, MODELS, PUBLISHED, memoryOf, mostDevices, nameOf, sequencesOf,
} from "./count.mjs";
import { timePlot } from "./plot.mjs";
import {
  FIELDS, PARTS, batchProblem, bytesText, countedRows, devicesProblem, fieldProblem, figures, leastText, limitText,
  memoryLabel, memoryTitle, partFormula, publishedRow, settingText, shownNumber, splitText, typedNumber,
} from "./words.mjs";

const pairs = (names) => names.map((name) => [name, name]);
const SPREADS = [["copies", "Copies"], ["optimizer", "Optimizer split"], ["sharded", "All sharded"]];
const KEPT = [["everything", "Everything"], ["no scores", "All but scores"], ["inputs", "Layers’ inputs"]];
const NETWORKS = [["own", "Its own"], ["office", "10 Gbit/s"], ["home", "Home, 100 Mbit/s"]];
const SPEEDS = { office: 1.25e9, home: 12.5e6 }; // bytes a second
const TRAITS = ["model", "device", "training", "devices", "spread", "kept"];

/** The traits are those of a run; `wanted` is how many devices the reader asked for. */
function scaleState(model) {
  const state = store(model, { width: 640, wanted: model.get("devices"), taking: false, preset: "A100" });
  const differ = (a, b) => JSON.stringify(a) !== JSON.stringify(b);
  /** The run that the traits hold, with changes. */
  state.run = (changes = {}) => {
    const { training, ...rest } = { ...Object.fromEntries(TRAITS.map((name) => [name, state.get(name)])), ...changes };
    return { ...training, ...rest };
  };
  /** Takes good changes; there are as many devices as were wanted, if the batch has sequences for them. */
  state.take = (changes) => {
    if ("devices" in changes) state.wanted = changes.devices;
    const devices = Math.min(state.wanted, mostDevices(state.run(changes)));
    const fresh = Object.entries({ ...changes, devices }).filter(([name, value]) => differ(value, state.get(name)));
    state.taking = true;
    state.write(Object.fromEntries(fresh));
    state.taking = false;
    state.changed(fresh.map(([name]) => name));
  };
  return state;
}

/** A paragraph that says `text(run)`. */
function textView(name, text) {
  const node = html("p", { class: name });
  return { node, draw: (run) => { node.textContent = text(run); } };
}

/** The presets: model, device, network and how the run is spread. */
function presetsView(state) {
  const models = named("Model", pairs(Object.keys(MODELS)), (name) => {
    const { kept, ...data } = DATA[name];
    state.take({ model: MODELS[name], training: { ...data, share: state.get("training").share }, kept });
  });
  const devices = named("Device", [["laptop core", "Laptop core"], ["A100", "A100, 80 GB"], ["H100", "H100, 80 GB"]],
    (name) => {
      const between = networkOf(state.get("device"));
      state.take({ device: { ...DEVICES[name], ...(between === "own" ? {} : { between: SPEEDS[between] }) } });
    });
  const networks = named("Network between machines", NETWORKS, (name) => {
    const device = state.get("device");
    state.take({ device: { ...device, between: SPEEDS[name] ?? ownOf(device).between } });
  });
  const spreads = named("What every device holds", SPREADS, (spread) => state.take({ spread }));
  const presetOf = (device) => Object.keys(DEVICES).find((name) =>
    nameOf({ [name]: { ...DEVICES[name], between: device.between } }, device));
  const ownOf = (device) => DEVICES[presetOf(device) ?? state.preset];
  const networkOf = (device) => {
    const known = Object.keys(SPEEDS).find((name) => SPEEDS[name] === device.between);
    return known ?? (ownOf(device).between === device.between ? "own" : "");
  };
  const node = html("div", { class: "mygpt-presets" }, models.node, devices.node, networks.node, spreads.node);
  const draw = ({ model, device, spread }) => {
    state.preset = presetOf(device) ?? state.preset;
    models.show(nameOf(MODELS, model));
    devices.show(presetOf(device));
    networks.show(networkOf(device));
    spreads.show(spread);
  };
  return { node, draw };
}

/** How many devices: a slider, a field, and what is expected of it. */
function devicesView(state, tell) {
  const id = `mygpt-scale-${Math.random().toString(36).slice(2)}`;
  let stops = [1];
  let wrong = "";
  const slider = stepper("Number of devices", (place) => state.take({ devices: stops[place] }));
  const field = numberField("Devices", "n", () => {
    wrong = devicesProblem(state.run(), field.input.value);
    if (!wrong) state.take({ devices: Number(field.input.value) });
    drawNote();
    tell(wrong);
  }, { max: 100_000, "aria-describedby": id });
  const note = html("p", { class: "mygpt-expected", id });
  const drawNote = () => {
    field.wrong(wrong !== "");
    note.textContent = wrong || splitText(state.run());
    note.classList.toggle("mygpt-wrong", wrong !== "");
  };
  const draw = (run) => {
    stops = doublings(mostDevices(run));
    slider.show(nearestStop(stops, run.devices), stops.length - 1, exact(run.devices));
    drawNote();
  };
  const reset = () => {
    wrong = "";
    field.show(state.get("devices"));
  };
  const node = html("div", {}, html("div", { class: "mygpt-count" }, slider.node, field.node), note);
  return { node, draw, reset };
}

/** The fields behind the presets, folded. */
function settingsView(state, tell) {
  const id = `mygpt-scale-${Math.random().toString(36).slice(2)}`;
  let wrong = "";
  const typed = () => {
    const problems = fields.map(([spec, { input }]) => fieldProblem(spec, input.value));
    const groups = Object.fromEntries(["model", "training", "device"].map((trait) => [trait, { ...state.get(trait) }]));
    for (const [spec, { input }] of fields) {
      const group = groups[spec.trait];
      const same = Number(input.value) === shownNumber(spec, group[spec.name]);
      if (!same) group[spec.name] = typedNumber(spec, input.value);
    }
    wrong = problems.find(Boolean) ?? "";
    wrong ||= batchProblem({ ...groups.training, model: groups.model });
    fields.forEach(([, field], i) => field.wrong(problems[i] !== ""));
    if (!wrong) state.take(groups);
    drawNote();
    tell(wrong);
  };
  const fields = FIELDS.map((spec) =>
    [spec, numberField(spec.label, spec.letter, typed, {
      min: spec.unit === 1 ? 1 : 0, step: spec.unit === 1 ? 1 : "any", inputmode: "decimal", "aria-describedby": id,
    })]);
  const kept = named("Kept for the backward pass", KEPT, (value) => state.take({ kept: value }));
  const note = html("p", { class: "mygpt-expected", id });
  const drawNote = () => {
    note.textContent = wrong || "Bandwidths are in one direction; datasheets often add up both.";
    note.classList.toggle("mygpt-wrong", wrong !== "");
  };
  const groups = [["The model", "model"], ["The data", "training"], ["The device", "device"]].map(([title, trait]) =>
    html("div", {}, html("p", { class: "mygpt-panel-name" }, title),
      html("div", { class: "mygpt-fields" }, ...fields.filter(([spec]) => spec.trait === trait).map(([, one]) => one.node))));
  const node = folded("More settings", ...groups, note, kept.node);
  const reset = () => {
    wrong = "";
    for (const [spec, field] of fields) {
      field.show(shownNumber(spec, state.get(spec.trait)[spec.name]));
      field.wrong(false);
    }
    drawNote();
  };
  return { node, draw: (run) => kept.show(run.kept), reset };
}

/** Parts of the page that the reader unfolds. */
function folded(title, ...parts) {
  return html("details", { class: "mygpt-folded" }, control("summary", {}, title), ...parts);
}

function figuresView() {
  const list = html("dl", { class: "mygpt-figures" });
  const node = html("div", {}, list, html("p", { class: "mygpt-aside" }, "The first number of two: a device talks while "
    + "it computes, with full overlap. The second: it does one after the other, without overlap."));
  const draw = (run) => list.replaceChildren(...figures(run).map(([name, text]) =>
    html("div", {}, html("dt", {}, name), html("dd", { class: "mygpt-number" }, text))));
  return { node, draw };
}

/** The memory of one device: a bar against what it has, and its parts. */
function memoryView(state) {
  const [need, rest] = [html("b", { class: "mygpt-number" }), html("span")];
  const bar = stackedBar(30);
  const limit = ["mygpt-has mygpt-edge", "mygpt-has"].map((name) => svg("path", { class: name }));
  const rows = PARTS.map(([mark, name]) =>
    html("span", { class: "mygpt-named-part" }, swatch(mark), html("span", {}, name)));
  const table = readings("Memory of one device", "Part", [["bytes", "bytes"], ["formula", "formula"]], rows);
  const node = html("div", { class: "mygpt-memory-of-one" },
    html("p", { class: "mygpt-panel-name" }, "Memory of one device: ", need, " ", rest), bar.node, table.node);
  const draw = (run) => {
    const parts = memoryOf(run);
    const title = memoryTitle(run);
    [need.textContent, rest.textContent] = title;
    const [all, has] = [total(parts), run.device.memory];
    const most = Math.max(all, has) * 1.02;
    bar.draw(PARTS.map(([mark, name]) => ({
      mark, amount: parts[name], text: (size) => (size > 7.5 * name.length + 10 ? name : ""),
    })), most, state.width, memoryLabel(run));
    for (const one of limit) one.setAttribute("d", `M${(has / most) * state.width} -4V34`);
    bar.node.append(...limit);
    PARTS.forEach((part, i) => {
      table.cells[i].bytes.textContent = bytesText(parts[part[1]]);
      table.cells[i].formula.textContent = partFormula(run, part);
    });
  };
  return { node, draw };
}

/** How every figure is counted, with its source. */
function countedView() {
  const body = html("div", { class: "mygpt-counted" });
  const node = folded("How it is counted", body, html("p", { class: "mygpt-aside" },
    "Memory: Rajbhandari et al. 2020 (ZeRO), section 3.1; a whole layer: Zhao et al. 2023 (FSDP); activations: "
    + "Korthikanti et al. 2022, equation 1. Left out: latency, the logits, the optimizer’s own time, unused gaps in "
    + "memory, and models whose layers or matrices are split. Devices: NVIDIA’s data sheets, of NVLink half, which is one "
    + "direction; for each A100 200 Gbit/s between machines (Narayanan et al. 2021, section 5), for each H100 400 "
    + "(Llama 3 2024, section 3.3.1). The laptop core and the other networks are settings. The share of the peak counts a "
    + "second forward pass where there is one; PaLM’s utilisation does not."));
  const draw = (run) => body.replaceChildren(html("dl", {}, ...countedRows(run).map(([name, value, formula, source]) =>
    html("div", {}, html("dt", {}, name), html("dd", { class: "mygpt-number" }, value),
      html("dd", {}, formula, source ? html("span", {}, ` ${source}`) : "")))));
  return { node, draw };
}

/** Published runs, what the calculator says of them, and by how much it misses. */
function publishedView(state) {
  const presses = PUBLISHED.map(({ name, run }) => button(name, () => {
    const { model, device, devices, spread, kept, tokens, batch_tokens, at_once, share } = run;
    state.take({ model, device, devices, spread, kept, training: { tokens, batch_tokens, at_once, share } });
  }));
  const list = html("ul", { class: "mygpt-published" }, ...PUBLISHED.map((one, i) => {
    const { said, reported, miss } = publishedRow(one);
    const parts = [["calculated", said], ["reported", reported], ["miss", miss]].map(([name, text]) =>
      html("span", {}, `${name} `, html("b", { class: "mygpt-number" }, text)));
    return html("li", {}, presses[i].node, ...parts);
  }));
  const node = folded("Where it misses: published runs", list, html("p", { class: "mygpt-aside" },
    "A button sets the calculator to its run. Llama 3: the share of the peak, 41 %, is in the paper’s table 4, the hours in its model card; they used 16,384 "
    + "devices and split the model too, and lost time to interruptions and to later stages. GPT-3 and 530B: ZeRO-3 in "
    + "Narayanan et al. 2021, table 2; the share is the one measured on 384 devices, so that the days test the network: "
    + "it reached far less of its bandwidth than is assumed here. The larger model did not fit on 560 devices, and "
    + "fitted on 640."));
  return { node };
}

function render({ model, el }) {
  const state = scaleState(model);
  const voice = speaker();
  const tell = (wrong) => voice.say(wrong || `${limitText(state.run())} ${figures(state.run())[0].join(": ")}.`);
  const [presets, devices, settings] = [presetsView(state), devicesView(state, tell), settingsView(state, tell)];
  const [sentence, numbers, memory] = [textView("mygpt-sentence", limitText), figuresView(), memoryView(state)];
  const [least, plot, counted, setting] = [
    textView("mygpt-aside", leastText), timePlot(state), countedView(), textView("mygpt-setting", settingText),
  ];
  const root = html(
    "div", { class: "mygpt-explorer mygpt-scale", role: "group", "aria-label": "Explorer of a training run" },
    html("div", { class: "mygpt-controls" }, presets.node, devices.node, settings.node),
    sentence.node, numbers.node, memory.node, least.node, plot.node, counted.node, publishedView(state).node,
    setting.node, voice.node);

  const drawn = [presets, devices, settings, sentence, numbers, memory, least, plot, counted, setting];
  const draw = () => {
    const run = state.run();
    for (const one of drawn) one.draw(run);
  };
  /** Draws what the traits of these names have become; what is typed stays where it is the same. */
  state.changed = (names) => {
    if (sequencesOf(state.run()) < 1) return; // halfway through several changes
    if (names.some((name) => ["model", "training", "devices"].includes(name))) devices.reset();
    if (names.some((name) => ["model", "training", "device"].includes(name))) settings.reset();
    draw();
    tell("");
  };
  const fromElsewhere = (name) => {
    if (state.taking) return;
    state.wanted = state.get("devices");
    state.changed([name]);
  };
  devices.reset();
  settings.reset();
  return mount({
    model, el, root, undo: [voice.stop],
    listeners: Object.fromEntries(TRAITS.map((name) => [name, () => fromElsewhere(name)])),
    layout: (width) => {
      state.width = width;
      root.classList.toggle("mygpt-slim", width < 600);
      draw();
    },
  });
}

export default { render };
