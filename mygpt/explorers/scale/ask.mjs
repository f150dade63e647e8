// What the reader asks of a run: which model, on how many of which devices, held and joined in which way.

import { control } from "../kit/controls.mjs";
import { flag, html } from "../kit/elements.mjs";
import { numberField, rested } from "../kit/parts/fields.mjs";
import { DATA, DEVICES, MODELS, nameOf } from "./count.mjs";
import { devicesProblem, splitText, stillText } from "./words.mjs";

const OWN = "own numbers";
const SPREADS = Object.entries({ copies: "as copies", optimizer: "optimizer split", sharded: "fully sharded" });
const NETWORKS = Object.entries({ own: "its own network", office: "10 Gbit/s", home: "home, 100 Mbit/s" });
/** @type {Record<string, number>} */
const SPEEDS = { office: 1.25e9, home: 12.5e6 }; // bytes a second

/** A choice among a sentence's words; `show` takes what is none of them too.
 * @type {(label: string, options: [string, string][], choose: (value: string) => void) => Kit.Control<string | undefined>} */
function pick(label, options, choose) {
  const other = html("option", { value: "", hidden: true }, OWN);
  const known = options.map(([value, text]) => html("option", { value }, text));
  const node = control("select", { "aria-label": label, onchange: () => choose(node.value) }, known, other);
  /** @type {(value?: string) => void} */
  const show = (value) => {
    node.value = value ?? "";
  };
  return { node, show };
}

/** The device's preset, whatever network it has.
 * @type {(device: Scale.Device) => string | undefined} */
const presetOf = (device) =>
  Object.keys(DEVICES).find((name) => nameOf({ [name]: { ...DEVICES[name], between: device.between } }, device));

/** The parts of the sentence that are chosen.
 * @type {(state: Scale.State) => { nodes: HTMLElement[]; draw(run: Scale.Run): void }} */
function picks(state) {
  /** @type {(device: Scale.Device) => Scale.Device} */
  const ownOf = (device) => DEVICES[presetOf(device) ?? state.preset];
  /** @type {(device: Scale.Device) => string | undefined} */
  const networkOf = (device) => {
    const known = Object.keys(SPEEDS).find((name) => SPEEDS[name] === device.between);
    return known ?? (ownOf(device).between === device.between ? "own" : undefined);
  };
  /** @type {(presets: object) => [string, string][]} */
  const namesOf = (presets) => Object.keys(presets).map((name) => [name, name]);
  const models = pick("Model", namesOf(MODELS), (name) => {
    const { kept, ...data } = DATA[name];
    state.take({ model: MODELS[name], training: { ...data, share: state.training.share }, kept });
  });
  const devices = pick("Device", namesOf(DEVICES), (name) => {
    const between = networkOf(state.device) ?? "";
    state.take({ device: { ...DEVICES[name], ...(between === "own" ? {} : { between: SPEEDS[between] }) } });
  });
  const spreads = pick("What every device holds", SPREADS, (spread) => state.take({ spread }));
  const networks = pick("Network between machines", NETWORKS, (name) => {
    const { device } = state;
    state.take({ device: { ...device, between: SPEEDS[name] ?? ownOf(device).between } });
  });
  /** @type {(run: Scale.Run) => void} */
  const draw = ({ model, device, spread }) => {
    state.preset = presetOf(device) ?? state.preset;
    models.show(nameOf(MODELS, model));
    devices.show(presetOf(device));
    spreads.show(spread);
    networks.show(networkOf(device));
  };
  return { nodes: [models, devices, spreads, networks].map((one) => one.node), draw };
}

/** The sentence, and under it what follows from its number of devices, or what is wrong with it.
 * @type {(state: Scale.State, tell: (wrong: string) => void) => Scale.Asked} */
export function askView(state, tell) {
  const id = `mygpt-scale-${Math.random().toString(36).slice(2)}`;
  const { nodes, draw: drawPicks } = picks(state);
  const [model, device, spread, network] = nodes;
  const entry = rested(
    () => state.wait(true),
    () => {
      const wrong = devicesProblem(state.run(), field.input.value);
      state.problems.devices = wrong;
      state.wait(false);
      if (!wrong) state.take({ devices: Number(field.input.value) });
      tell(wrong);
    },
  );
  const field = numberField("Devices", "n", entry, { max: 100_000, "aria-describedby": id });
  flag(/** @type {Element} */ (field.node.firstElementChild), "unseen");
  const note = html("p.expected", { id });
  /** @type {(run: Scale.Run) => void} */
  const drawNote = (run) => {
    const wrong = state.problems.devices;
    field.wrong(wrong !== "");
    note.textContent = state.stale() ? `${wrong} ${stillText(run)}`.trim() : state.changed || splitText(run);
    flag(note, "wrong", state.stale());
  };
  const words = ["Train", "on", "×", "over"].map((word) => html("span", word));
  const [train, on, times, over] = words;
  /** @type {(...parts: HTMLElement[]) => HTMLElement} */
  const together = (...parts) => html("span.phrase", parts);
  const node = html(
    "div.controls.asked",
    html(
      "div.sentence-of-choices.flow",
      together(train, model),
      together(on, field.node),
      together(times, device),
      html("span.break"),
      spread,
      together(over, network),
    ),
    note,
  );
  /** @type {(run: Scale.Run) => void} */
  const draw = (run) => {
    drawPicks(run);
    drawNote(run);
  };
  const reset = () => {
    entry.stop();
    state.problems.devices = "";
    field.show(state.devices);
  };
  return { node, draw, drawNote, reset, stop: entry.stop };
}
