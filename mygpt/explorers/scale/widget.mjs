import { doublings, exact, nearestStop } from "../kit/amounts.mjs";
import { folded, named, stepper } from "../kit/controls.mjs";
import { html, speaker } from "../kit/elements.mjs";
import { mount, store } from "../kit/mounting.mjs";
import { numberField } from "../kit/fields.mjs";
import { DATA, DEVICES, MODELS, mostDevices, nameOf, sequencesOf } from "./count.mjs";
import { timePlot } from "./plot.mjs";
import { countedView, figuresView, memoryView, publishedView, textView } from "./views.mjs";
import {
  FIELDS,
  batchProblem,
  devicesProblem,
  fieldProblem,
  figures,
  leastText,
  limitText,
  many,
  settingText,
  shownNumber,
  splitText,
  typedNumber,
} from "./words.mjs";

/** @type {(names: string[]) => [string, string][]} */
const pairs = (names) => names.map((name) => [name, name]);
/** @type {[string, string][]} */
const SPREADS = [
  ["copies", "Copies"],
  ["optimizer", "Optimizer split"],
  ["sharded", "All sharded"],
];
/** @type {[string, string][]} */
const KEPT = [
  ["everything", "Everything"],
  ["no scores", "All but scores"],
  ["inputs", "Layers’ inputs"],
];
/** @type {[string, string][]} */
const NETWORKS = [
  ["own", "Its own"],
  ["office", "10 Gbit/s"],
  ["home", "Home, 100 Mbit/s"],
];
/** @type {Record<string, number>} */
const SPEEDS = { office: 1.25e9, home: 12.5e6 }; // bytes a second
/** @type {(keyof Scale.Traits)[]} */
const TRAITS = ["model", "device", "training", "devices", "spread", "kept"];

/** The traits are those of a run; `wanted` is how many devices the reader asked for.
 * @param {Kit.Model<Scale.Traits & Kit.Described>} model */
export function scaleState(model) {
  const state = store(model, { width: 640, wanted: model.get("devices"), taking: false, preset: "A100" });
  /** @type {{ changed(names: (keyof Scale.Traits)[]): void }} */
  const listener = { changed() {} };
  /** @type {(a: unknown, b: unknown) => boolean} */
  const differ = (a, b) => JSON.stringify(a) !== JSON.stringify(b);
  /** The run that the traits hold, with changes.
   * @type {(changes?: Partial<Scale.Traits>) => Scale.Run} */
  const run = (changes = {}) => {
    const { get } = state;
    const kept = { model: get("model"), device: get("device"), spread: get("spread"), kept: get("kept") };
    const { training, ...rest } = { ...kept, devices: get("devices"), training: get("training"), ...changes };
    return { ...training, ...rest };
  };
  /** Takes good changes; there are as many devices as were wanted, if the batch has sequences for them.
   * @type {(changes: Partial<Scale.Traits>) => void} */
  const take = (changes) => {
    if (changes.devices !== undefined) state.wanted = changes.devices;
    const all = { ...changes, devices: Math.min(state.wanted, mostDevices(run(changes))) };
    const fresh = TRAITS.filter((name) => name in all && differ(all[name], state.get(name)));
    state.taking = true;
    state.write(Object.fromEntries(fresh.map((name) => [name, all[name]])));
    state.taking = false;
    listener.changed(fresh);
  };
  return Object.assign(state, { run, take, listener });
}

/** The presets: model, device, network and how the run is spread.
 * @type {(state: Scale.State) => Scale.View} */
function presetsView(state) {
  const models = named("Model", pairs(Object.keys(MODELS)), (name) => {
    const { kept, ...data } = DATA[name];
    state.take({ model: MODELS[name], training: { ...data, share: state.get("training").share }, kept });
  });
  const devices = named(
    "Device",
    [
      ["laptop core", "Laptop core"],
      ["A100", "A100, 80 GB"],
      ["H100", "H100, 80 GB"],
    ],
    (name) => {
      const between = networkOf(state.get("device"));
      state.take({ device: { ...DEVICES[name], ...(between === "own" ? {} : { between: SPEEDS[between] }) } });
    },
  );
  const networks = named("Network between machines", NETWORKS, (name) => {
    const device = state.get("device");
    state.take({ device: { ...device, between: SPEEDS[name] ?? ownOf(device).between } });
  });
  const spreads = named("What every device holds", SPREADS, (spread) => state.take({ spread }));
  /** @type {(device: Scale.Device) => string | undefined} */
  const presetOf = (device) =>
    Object.keys(DEVICES).find((name) => nameOf({ [name]: { ...DEVICES[name], between: device.between } }, device));
  /** @type {(device: Scale.Device) => Scale.Device} */
  const ownOf = (device) => DEVICES[presetOf(device) ?? state.preset];
  /** @type {(device: Scale.Device) => string} */
  const networkOf = (device) => {
    const known = Object.keys(SPEEDS).find((name) => SPEEDS[name] === device.between);
    return known ?? (ownOf(device).between === device.between ? "own" : "");
  };
  const node = html("div", { class: "mygpt-presets" }, models.node, devices.node, networks.node, spreads.node);
  /** @type {(run: Scale.Run) => void} */
  const draw = ({ model, device, spread }) => {
    state.preset = presetOf(device) ?? state.preset;
    models.show(nameOf(MODELS, model));
    devices.show(presetOf(device));
    networks.show(networkOf(device));
    spreads.show(spread);
  };
  return { node, draw };
}

/** How many devices: a slider, a field, and what is expected of it.
 * @type {(state: Scale.State, tell: (wrong: string) => void) => Scale.View & { reset(): void }} */
function devicesView(state, tell) {
  const id = `mygpt-scale-${Math.random().toString(36).slice(2)}`;
  let stops = [1];
  let wrong = "";
  const slider = stepper("Number of devices", (place) => state.take({ devices: stops[place] }));
  const field = numberField(
    "Devices",
    "n",
    () => {
      wrong = devicesProblem(state.run(), field.input.value);
      if (!wrong) state.take({ devices: Number(field.input.value) });
      drawNote();
      tell(wrong);
    },
    { max: 100_000, "aria-describedby": id },
  );
  const note = html("p", { class: "mygpt-expected", id });
  const drawNote = () => {
    field.wrong(wrong !== "");
    note.textContent = wrong || splitText(state.run());
    note.classList.toggle("mygpt-wrong", wrong !== "");
  };
  /** @type {(run: Scale.Run) => void} */
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

/** The fields under the names of what they are of.
 * @type {(fields: [Scale.Field, Kit.Field][]) => HTMLElement[]} */
const fieldGroups = (fields) =>
  [
    ["The model", "model"],
    ["The data", "training"],
    ["The device", "device"],
  ].map(([title, trait]) => {
    const nodes = fields.filter(([spec]) => spec.trait === trait).map(([, one]) => one.node);
    const name = html("p", { class: "mygpt-panel-name" }, title);
    return html("div", {}, name, html("div", { class: "mygpt-fields" }, ...nodes));
  });

/** The fields behind the presets, folded.
 * @type {(state: Scale.State, tell: (wrong: string) => void) => Scale.View & { reset(): void }} */
function settingsView(state, tell) {
  const id = `mygpt-scale-${Math.random().toString(36).slice(2)}`;
  let wrong = "";
  const typed = () => {
    const problems = fields.map(([spec, { input }]) => fieldProblem(spec, input.value));
    const { get } = state;
    const groups = { model: { ...get("model") }, training: { ...get("training") }, device: { ...get("device") } };
    for (const [spec, { input }] of fields) {
      const group = /** @type {Record<string, number>} */ (/** @type {unknown} */ (groups[spec.trait]));
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
  /** @type {[Scale.Field, Kit.Field][]} */
  const fields = FIELDS.map((spec) => [
    spec,
    numberField(spec.label, spec.letter, typed, {
      min: spec.unit === 1 ? 1 : 0,
      step: spec.unit === 1 ? 1 : "any",
      inputmode: "decimal",
      "aria-describedby": id,
    }),
  ]);
  const kept = named("Kept for the backward pass", KEPT, (value) => state.take({ kept: value }));
  const note = html("p", { class: "mygpt-expected", id });
  const drawNote = () => {
    note.textContent = wrong || "Bandwidths are in one direction; datasheets often add up both.";
    note.classList.toggle("mygpt-wrong", wrong !== "");
  };
  const node = folded("More settings", ...fieldGroups(fields), note, kept.node);
  const reset = () => {
    wrong = "";
    for (const [spec, field] of fields) {
      field.show(shownNumber(spec, new Map(Object.entries(state.get(spec.trait))).get(spec.name)));
      field.wrong(false);
    }
    drawNote();
  };
  return { node, draw: (run) => kept.show(run.kept), reset };
}

/** What is said where something typed has no answer, and the last answer stays in sight.
 * @type {(state: Scale.State) => { node: HTMLElement; show(wrong: string): void }} */
function stillView(state) {
  const node = html("p", { class: "mygpt-still", hidden: true });
  const show = (/** @type {string} */ wrong) => {
    node.hidden = wrong === "";
    node.textContent = `Below is still the answer for ${many(state.run().devices, "device")}.`;
  };
  return { node, show };
}

/** @type {(given: Kit.Given<Scale.Traits>) => () => void} */
function render({ model, el }) {
  const state = scaleState(model);
  const voice = speaker();
  const still = stillView(state);
  /** @type {(wrong: string) => void} */
  const tell = (wrong) => {
    still.show(wrong);
    voice.say(wrong || `${limitText(state.run())} ${figures(state.run())[0].join(": ")}.`);
  };
  const [presets, devices, settings] = [presetsView(state), devicesView(state, tell), settingsView(state, tell)];
  const [sentence, numbers, memory] = [textView("mygpt-sentence", limitText), figuresView(), memoryView(state)];
  const [least, plot, counted, setting] = [
    textView("mygpt-aside", leastText),
    timePlot(state),
    countedView(),
    textView("mygpt-setting", settingText),
  ];
  const root = html(
    "div",
    { class: "mygpt-explorer mygpt-scale", role: "group", "aria-label": "Explorer of a training run" },
    html("div", { class: "mygpt-controls" }, presets.node, devices.node, settings.node),
    still.node,
    ...[sentence, numbers, memory, least, plot, counted, publishedView(state), setting].map(({ node }) => node),
    voice.node,
  );

  const drawn = [presets, devices, settings, sentence, numbers, memory, least, plot, counted, setting];
  const draw = () => {
    const run = state.run();
    for (const one of drawn) one.draw(run);
  };
  /** Draws what the traits of these names have become; what is typed stays where it is the same. */
  state.listener.changed = (names) => {
    if (sequencesOf(state.run()) < 1) return; // halfway through several changes
    if (names.some((name) => ["model", "training", "devices"].includes(name))) devices.reset();
    if (names.some((name) => ["model", "training", "device"].includes(name))) settings.reset();
    draw();
    tell("");
  };
  /** @type {(name: keyof Scale.Traits) => void} */
  const fromElsewhere = (name) => {
    if (state.taking) return;
    state.wanted = state.get("devices");
    state.listener.changed([name]);
  };
  devices.reset();
  settings.reset();
  return mount({
    model,
    el,
    root,
    undo: [voice.stop],
    listeners: Object.fromEntries(TRAITS.map((name) => [name, () => fromElsewhere(name)])),
    layout: (width) => {
      state.width = width;
      root.classList.toggle("mygpt-slim", width < 600);
      draw();
    },
  });
}

export default { render };
