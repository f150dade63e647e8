import { button, choice, control, stepper, tick } from "../kit/controls.mjs";
import { html, speaker } from "../kit/elements.mjs";
import { copyLink, followLinks } from "../kit/links.mjs";
import { mount, store, unseen, allViews } from "../kit/mounting.mjs";
import { themed } from "../kit/heat.mjs";
import { MAX_STEPS } from "./course.mjs";
import { gradientView, lossesView, planeView, signalView } from "./pictures.mjs";
import { nextStop, sideOf, stackRunner } from "./run.mjs";
import {
  BEND_NAMES,
  GAINS,
  MAX_DEPTH,
  MAX_SEED,
  RATES,
  TASK_NAMES,
  WIRING_NAMES,
  differenceText,
  gainText,
  linkOf,
  linkedSettings,
  nearest,
  rateText,
  sentenceOf,
  settingOf,
  settingText,
  sideName,
  stackText,
  stepsOf,
} from "./words.mjs";

const WIDE = 560; // px: from it on two columns
const GAP = 22;
const LOOKS = { class: "mygpt-explorer mygpt-train-stack", role: "group", "aria-label": "Explorer that trains stacks" };
/** @type {("left" | "right")[]} */
const TRAITS = ["left", "right"];

/** The traits are task, left, right (empty where there is one stack) and steps.
 * @param {Kit.Model<TrainStack.Traits & Kit.Described>} model */
export function stackState(model) {
  const state = store(model, {
    width: 640,
    sides: /** @type {TrainStack.Side[]} */ ([]),
    done: 0,
    task: "short",
    note: "",
    moved: false,
    together: false,
    second: /** @type {TrainStack.Setting | null} */ (null),
  });
  const begin = () => {
    const { get } = state;
    state.task = get("task") === "long" ? "long" : "short";
    const right = Object.keys(get("right")).length ? [get("right")] : [];
    state.sides = [get("left"), ...right].map((given) => sideOf(settingOf(given), state.task));
    state.done = 0;
    state.second = state.sides[1]?.setting ?? state.second;
  };
  /** Another setting begins at step 0. */
  const change = (/** @type {Partial<TrainStack.Traits>} */ changes) => state.write({ steps: 0, ...changes });
  begin();
  return Object.assign(state, { begin, change });
}

/** The setting of one stack.
 * @type {(state: TrainStack.State, i: number) => { node: HTMLElement; draw(): void; lay(): void }} */
function sideView(state, i) {
  const trait = TRAITS[i];
  /** @type {(name: keyof TrainStack.Setting) => (value: string | number | undefined) => void} */
  const set = (name) => (value) => {
    const traits = state.together && state.sides.length > 1 ? TRAITS : [trait];
    const fresh = traits
      .map((one) => ({ one, setting: state.sides[TRAITS.indexOf(one)].setting }))
      .filter(({ setting }) => setting[name] !== value);
    if (!fresh.length) return;
    state.change(Object.fromEntries(fresh.map(({ one, setting }) => [one, { ...setting, [name]: value }])));
  };
  const wiring = choice("Wiring", WIRING_NAMES, set("wiring"));
  const bend = choice("Activation", BEND_NAMES, set("activation"));
  /** @type {(values: number[], choose: (value: number) => void) => (place: number) => void} */
  const from = (values, choose) => (place) => choose(values[place]);
  const depth = stepper("Blocks", (place) => set("depth")(place + 1));
  const gain = stepper("Gain", from(GAINS, set("gain")));
  const rate = stepper("Learning rate", from(RATES, set("rate")));
  const seed = stepper("Seed", set("seed"));
  const sliders = html("div", { class: "mygpt-sliders" }, ...[depth, gain, rate, seed].map(({ node }) => node));
  const legend = control("summary", { class: "mygpt-legend-name" });
  const fold = html(
    "details",
    { open: true },
    legend,
    html("div", { class: "mygpt-stack" }, wiring.node, bend.node, sliders),
  );
  const node = html("div", { role: "group" }, fold);
  const draw = () => {
    const side = state.sides[i];
    node.hidden = !side;
    if (!side) return;
    const { setting } = side;
    node.setAttribute("aria-label", sideName(state, i));
    legend.textContent = state.sides.length > 1 ? `${sideName(state, i)}: ${stackText(setting)}` : stackText(setting);
    wiring.show(setting.wiring);
    bend.show(setting.activation);
    depth.show(setting.depth - 1, MAX_DEPTH - 1, String(setting.depth));
    gain.show(nearest(GAINS, setting.gain), GAINS.length - 1, `× ${gainText(setting.gain)}`);
    rate.show(nearest(RATES, setting.rate), RATES.length - 1, rateText(setting.rate));
    seed.show(setting.seed, MAX_SEED, String(setting.seed));
  };
  /** Where two stacks stand below each other, their settings are folded. */
  const lay = () => {
    fold.open = state.width >= WIDE || state.sides.length < 2;
  };
  return { node, draw, lay };
}

/** The task, and whether there is a second stack.
 * @type {(state: TrainStack.State) => Kit.View} */
function topView(state) {
  const task = choice("Task", TASK_NAMES, (value) => value !== state.task && state.change({ task: value }));
  const two = tick(["Compare two"], (checked) => {
    const { setting } = state.sides[0];
    const wiring = setting.wiring === "plain" ? "residual" : "plain";
    state.change({ right: checked ? (state.second ?? { ...setting, wiring }) : {} });
  });
  const both = tick(["Change both at once"], (checked) => {
    state.together = checked;
  });
  const draw = () => {
    task.show(state.task);
    two.show(state.sides.length > 1);
    both.node.hidden = state.sides.length < 2;
  };
  return { node: html("div", { class: "mygpt-head" }, task.node, two.node, both.node), draw };
}

/** Train, step, reset, and how far it is.
 * @type {(state: TrainStack.State, run: TrainStack.Runner, copy?: () => void) => { node: HTMLElement; note: HTMLElement; drawNow(): void; drawNote(): void }} */
function drivingView(state, run, copy) {
  const train = button(
    "Train",
    () => {
      state.moved = true;
      run.toggle();
    },
    { class: "mygpt-button mygpt-run" },
  );
  /** @type {(steps: number) => void} */
  const go = (steps) => {
    state.moved = true;
    run.pause();
    run.reach(steps);
  };
  const one = button("Step", () => go(Math.min(state.done + 1, MAX_STEPS)));
  const reset = button("Reset", () => {
    go(0);
    state.write({ steps: 0 });
  });
  const steps = html("b");
  const link = copy ? [button("Copy link", copy).node] : [];
  const note = html("p", { class: "mygpt-note", role: "status" });
  const node = html(
    "div",
    { class: "mygpt-actions" },
    train.node,
    one.node,
    reset.node,
    html("span", { class: "mygpt-number" }, "step ", steps),
    ...link,
  );
  const drawNow = () => {
    const over = run.over();
    one.able(!over);
    train.able(run.busy || !over);
    train.node.textContent = run.busy ? "Stop" : `Train to ${nextStop(state.done).toLocaleString("en")}`;
    reset.able(state.done > 0);
    steps.textContent = String(state.done);
  };
  const drawNote = () => {
    note.textContent = state.note;
    note.hidden = !state.note;
  };
  return { node, note, drawNow, drawNote };
}

/** The pictures in their places: planes beside each other, curves below.
 * @type {(state: TrainStack.State) => { node: HTMLElement; lay(): void; draw(): void; repaint(): void }} */
function picturesView(state) {
  const planes = [0, 1].map((i) => planeView(state, i));
  const [losses, signal, gradient] = allViews(state, lossesView, signalView, gradientView);
  const curves = [losses, signal, gradient];
  const all = [...planes, ...curves];
  const node = html("div", { class: "mygpt-panels" }, ...all.map((one) => one.node));
  const lay = () => {
    const {
      width,
      sides: { length },
    } = state;
    const wide = width >= WIDE;
    const half = Math.floor((width - GAP) / 2);
    node.classList.toggle("mygpt-columns", wide || length > 1);
    node.classList.toggle("mygpt-two", length > 1);
    node.classList.toggle("mygpt-wide", wide);
    const size = Math.min(wide || length > 1 ? half : width, 300);
    planes.forEach((one) => one.lay(size));
    losses.lay(wide && length < 2 ? half : width, wide && length < 2 ? 290 : 170);
    for (const one of [signal, gradient]) one.lay(wide ? half : width, 190);
  };
  return {
    node,
    lay,
    draw: () => all.forEach((one) => one.draw()),
    repaint: () => planes.forEach((one) => one.repaint()),
  };
}

/** What makes a link of the settings, and takes the one in a hash.
 * @type {(state: TrainStack.State, root: () => HTMLElement, tell: (note: string) => void) => { copy(): void; take(hash: string): boolean }} */
function stackLinks(state, root, tell) {
  const copy = async () =>
    tell(
      await copyLink(
        linkOf(
          state.task,
          state.sides.map(({ setting }) => setting),
        ),
      ),
    );
  /** @type {(hash: string) => boolean} */
  const take = (hash) => {
    if (document.querySelector(".mygpt-train-stack") !== root()) return false;
    const given = linkedSettings(hash);
    if (!given) return false;
    const [left, right = {}] = given.settings;
    state.change({ task: given.task, left, right });
    return true;
  };
  return { copy, take };
}

/** The parts of the explorer, and what draws them.
 * @type {(state: TrainStack.State, run: TrainStack.Runner, copy?: () => void) => { nodes: HTMLElement[]; draw(): void; drawNow(): void; drawNote(): void; repaint(): void }} */
function stackViews(state, run, copy) {
  const sides = [0, 1].map((i) => sideView(state, i));
  const [top, pictures] = [topView(state), picturesView(state)];
  const driving = drivingView(state, run, copy);
  const [difference, setting] = ["difference", "setting"].map((name) => html("p", { class: `mygpt-${name}` }));
  const settings = html("div", { class: "mygpt-stacks mygpt-controls" }, ...sides.map((one) => one.node));
  const nodes = [top.node, settings, driving.node, driving.note, difference, pictures.node, setting];
  const drawNow = () => {
    pictures.draw();
    driving.drawNow();
  };
  let folding = "";
  const draw = () => {
    for (const one of [...sides, top]) one.draw();
    const now = `${state.width >= WIDE} ${state.sides.length}`;
    if (now !== folding) for (const one of sides) one.lay();
    folding = now;
    settings.classList.toggle("mygpt-two", state.sides.length > 1);
    difference.textContent = differenceText(state.sides);
    difference.hidden = state.sides.length < 2;
    setting.textContent = settingText(state);
    pictures.lay();
    drawNow();
  };
  return { nodes, draw, drawNow, drawNote: driving.drawNote, repaint: pictures.repaint };
}

/** @type {(given: Kit.Given<TrainStack.Traits>) => () => void} */
function render({ model, el }) {
  const state = stackState(model);
  const voice = speaker();
  const root = html("div", LOOKS);
  /** @type {(note: string) => void} */
  const tell = (note) => {
    state.note = note;
    views.drawNote();
  };
  const run = stackRunner(state, {
    draw: () => views.drawNow(),
    rest: () => void (state.moved && voice.say(sentenceOf(state))),
  });
  const links = window.bookHost ? stackLinks(state, () => root, tell) : null;
  const views = stackViews(state, run, links?.copy);
  root.append(...views.nodes, voice.node);
  views.drawNote();
  const begin = () => {
    state.moved = true;
    state.begin();
    if (state.note) tell("");
    views.draw();
    run.reach(stepsOf(state.get("steps")));
  };
  const follow = () => {
    const steps = stepsOf(state.get("steps"));
    if (run.running || steps === (run.busy ? run.target : state.done)) return;
    state.moved = true;
    run.reach(steps);
  };
  const takeDown = mount({
    model,
    el,
    root,
    undo: [
      unseen(root, run.pause),
      themed(() => views.repaint()),
      run.stop,
      voice.stop,
      ...(links ? [followLinks(root, links.take)] : []),
    ],
    listeners: { task: begin, left: begin, right: begin, steps: follow },
    layout: (width) => {
      state.width = width;
      root.classList.toggle("mygpt-slim", width < WIDE);
      views.draw();
    },
  });
  run.reach(stepsOf(state.get("steps")));
  return takeDown;
}

export default { render };
