import { folded, named } from "../kit/controls.mjs";
import { drawAll, explorerRoot, flag, html, paragraph } from "../kit/elements.mjs";
import { mount, store } from "../kit/mounting.mjs";
import { numberField, rested } from "../kit/parts/fields.mjs";
import { askView } from "./ask.mjs";
import { mostDevices, unnamed } from "./count.mjs";
import { timePlot } from "./plot.mjs";
import { answerView, figuresFold, memoryView } from "./views.mjs";
import {
  FIELDS,
  answerText,
  batchProblem,
  changedText,
  fieldProblem,
  limitText,
  runProblem,
  settingText,
  shownNumber,
  stillText,
  typedNumber,
} from "./words.mjs";

const KEPT = Object.entries({ everything: "Everything", "no scores": "All but scores", inputs: "Layers’ inputs" });
/** @type {(keyof Scale.Traits)[]} */
const TRAITS = ["model", "device", "training", "devices", "spread", "kept"];

/** The traits are those of a run; `wanted` is how many devices the reader asked for.
 * @param {Kit.Model<Scale.Traits & Kit.Described>} model */
export function scaleState(model) {
  const state = store(model, {
    width: 640,
    wanted: model.get("devices"),
    taking: false,
    preset: "A100",
    typing: false,
    problems: { devices: "", settings: "" },
    changed: "", // what another choice has made of the number of devices
  });
  const held = state.get;
  /** @type {typeof held} */
  const get = (trait) => unnamed(trait, held(trait));
  Object.assign(state, { get });
  /** @type {{ changed(names: (keyof Scale.Traits)[]): void; waited(): void }} */
  const listener = { changed() {}, waited() {} };
  /** @type {(a: unknown, b: unknown) => boolean} */
  const differ = (a, b) => JSON.stringify(a) !== JSON.stringify(b);
  /** The run that the traits hold, with changes.
   * @type {(changes?: Partial<Scale.Traits>) => Scale.Run} */
  const run = (changes = {}) => {
    const kept = { model: get("model"), device: get("device"), spread: get("spread"), kept: get("kept") };
    const { training, ...rest } = { ...kept, devices: get("devices"), training: get("training"), ...changes };
    return { ...training, ...rest };
  };
  /** Takes good changes; there are as many devices as were wanted, if the batch has sequences for them.
   * @type {(changes: Partial<Scale.Traits>) => void} */
  const take = (changes) => {
    if (changes.devices !== undefined) state.wanted = changes.devices;
    const before = get("devices");
    const all = { ...changes, devices: Math.min(state.wanted, mostDevices(run(changes))) };
    const fresh = TRAITS.filter((name) => name in all && differ(all[name], state.get(name)));
    state.taking = true;
    state.write(Object.fromEntries(fresh.map((name) => [name, all[name]])));
    state.taking = false;
    const other = changes.devices === undefined && all.devices !== before;
    state.changed = other ? changedText(all.devices, state.wanted) : "";
    listener.changed(fresh);
  };
  /** Whether the answer shown is not to what stands in the fields. */
  const stale = () => state.typing || Object.values(state.problems).some(Boolean);
  /** @type {(typing: boolean) => void} */
  const wait = (typing) => {
    state.typing = typing;
    listener.waited();
  };
  return Object.assign(state, { run, take, stale, wait, listener });
}

/** Checks what sets the run from elsewhere as what is typed is checked. Where there is no kernel, which would refuse
 * it itself, the last good run comes back, and the refusal is said; halfway through a kernel's changes nothing is drawn.
 * @type {(model: Kit.Model<Scale.Traits & Kit.Described>, state: Scale.State, refusal: HTMLElement) => { changed(): void; take(): void }} */
function checked(model, state, refusal) {
  const now = () => /** @type {Record<string, any>} */ (Object.fromEntries(TRAITS.map((one) => [one, model.get(one)])));
  let last = now();
  const take = () => {
    last = now();
    refusal.hidden = true;
  };
  const refuse = (/** @type {string} */ wrong) => {
    state.taking = true;
    model.set(last);
    state.taking = false;
    refusal.textContent = `Not set. ${wrong} ${stillText(state.run())}`;
    refusal.hidden = false;
  };
  const changed = () => {
    if (state.taking) return;
    const wrong = runProblem(state.run());
    const fresh = TRAITS.filter((name) => JSON.stringify(model.get(name)) !== JSON.stringify(last[name]));
    if (wrong && !model.widget_manager) refuse(wrong);
    if (wrong || fresh.length === 0) return;
    Object.assign(state, { wanted: state.devices, changed: "" });
    state.listener.changed(fresh);
  };
  return { changed, take };
}

/** The fields in folds, by what they are of.
 * @type {(fields: [Scale.Field, Kit.Field][]) => HTMLElement[]} */
const fieldGroups = (fields) =>
  Object.entries({ model: "The model", training: "The data", device: "The device" }).map(([trait, title]) => {
    const nodes = fields.filter(([spec]) => spec.trait === trait).map(([, one]) => one.node);
    return folded(title, html("div.fields", nodes));
  });

/** The fields behind the presets, folded; the answer stays in sight over them.
 * @type {(state: Scale.State, tell: (wrong: string) => void) => Scale.Asked} */
function settingsView(state, tell) {
  const id = `mygpt-scale-${Math.random().toString(36).slice(2)}`;
  const taken = () => {
    const problems = fields.map(([spec, { input }]) => fieldProblem(spec, input.value));
    const { model, training, device } = state;
    const groups = { model: { ...model }, training: { ...training }, device: { ...device } };
    for (const [spec, { input }] of fields) {
      const group = /** @type {Record<string, number>} */ (/** @type {unknown} */ (groups[spec.trait]));
      const same = Number(input.value) === shownNumber(spec, group[spec.name]);
      if (!same) group[spec.name] = typedNumber(spec, input.value);
    }
    const wrong = problems.find(Boolean) ?? batchProblem({ ...groups.training, model: groups.model });
    fields.forEach(([, field], i) => field.wrong(problems[i] !== ""));
    state.problems.settings = wrong;
    state.wait(false);
    if (!wrong) state.take(groups);
    tell(wrong);
  };
  const entry = rested(() => state.wait(true), taken);
  /** @type {[Scale.Field, Kit.Field][]} */
  const fields = FIELDS.map((spec) => [
    spec,
    numberField(spec.label, spec.letter, entry, {
      min: spec.unit === 1 ? 1 : 0,
      step: spec.unit === 1 ? 1 : "any",
      inputmode: "decimal",
      "aria-describedby": id,
    }),
  ]);
  const kept = named("Kept for the backward pass", KEPT, (value) => state.take({ kept: value }));
  const note = html("p.expected", { id });
  const drawNote = () => {
    const wrong = state.problems.settings;
    note.textContent = wrong || "Bandwidths are in one direction; datasheets often add up both.";
    flag(note, "wrong", wrong !== "");
  };
  const answer = paragraph("mygpt-pinned mygpt-number mygpt-result", answerText);
  const node = folded("More settings", answer, fieldGroups(fields), note, kept);
  /** @type {(run: Scale.Run) => void} */
  const draw = (run) => {
    kept.show(run.kept);
    answer.draw(run);
  };
  const reset = () => {
    entry.stop();
    state.problems.settings = "";
    for (const [spec, field] of fields) {
      field.show(shownNumber(spec, new Map(Object.entries(state.get(spec.trait))).get(spec.name)));
      field.wrong(false);
    }
    drawNote();
  };
  return { node, draw, drawNote, reset, stop: entry.stop };
}

/** @type {(given: Kit.Given<Scale.Traits>) => () => void} */
function render({ model, el }) {
  const state = scaleState(model);
  /** @type {(wrong: string) => void} */
  const tell = (wrong) => voice.say(wrong || `${answerText(state.run())} ${limitText(state.run())}`);
  const [ask, settings] = [askView(state, tell), settingsView(state, tell)];
  const [answer, plot, memory] = [answerView(), timePlot(state), memoryView(state)];
  const [figures, setting] = [figuresFold(state), paragraph("mygpt-setting", settingText)];
  const refusal = html("p.refusal", { role: "alert", hidden: true });
  const { root, voice } = explorerRoot(
    "scale mygpt-roomy",
    "Explorer of a training run",
    refusal,
    ask,
    html("div.result", answer, plot, memory),
    [settings, figures, setting],
  );

  const outside = checked(model, state, refusal);
  /** Draws the run, unless it is none: then what is drawn stays. */
  const draw = () => {
    const run = state.run();
    if (!runProblem(run)) drawAll([ask, settings, answer, plot, memory, figures, setting], run);
  };
  state.listener.waited = () => {
    flag(root, "waiting", state.stale());
    for (const one of [ask, settings]) one.drawNote(state.run());
  };
  /** Draws what the traits of these names have become; what is typed stays where it is the same. */
  state.listener.changed = (names) => {
    outside.take();
    if (names.some((name) => ["model", "training", "devices"].includes(name))) ask.reset();
    if (names.some((name) => ["model", "training", "device"].includes(name))) settings.reset();
    state.wait(false);
    draw();
    tell("");
  };
  ask.reset();
  settings.reset();
  return mount({ model, el }, { root, voice }, state, {
    undo: [plot.undo, ask.stop, settings.stop],
    listeners: { [TRAITS.join(" ")]: outside.changed },
    layout: (width) => {
      flag(root, "slim", width < 600);
      draw();
    },
  });
}

export default { render };
