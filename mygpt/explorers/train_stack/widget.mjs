import { button, folded } from "../kit/controls.mjs";
import { drawAll, explorerRoot, flag, html } from "../kit/elements.mjs";
import { copyLink, followLinks } from "../kit/links.mjs";
import { followFolds, mount, store, unseen, allViews } from "../kit/mounting.mjs";
import { themed } from "../kit/parts/heat.mjs";
import { MAX_STEPS } from "./course.mjs";
import { firstRun } from "./first.mjs";
import { gradientView, lossesView, planeView, signalView } from "./pictures.mjs";
import { StackRunner, nextStop } from "./run.mjs";
import { settingsView } from "./settings.mjs";
import { linkOf, linkedSettings, looksAt, sentenceOf, settingOf, settingText, shownStep, stepsOf } from "./words.mjs";

const WIDE = 600; // px: from it on the losses stand beside the planes
const LAST = 204; // px: their column there, beside two planes
const ONE = 300; // px: one plane there
const GAP = 16;

/** The traits are task, left, right (empty where there is one stack), steps and unfolded. `asked` is what
 * they ask for, `sides` are the stacks once they are made.
 * @param {Kit.Model<TrainStack.Traits & Kit.Described>} model */
export function stackState(model) {
  const state = store(model, {
    width: 640,
    asked: /** @type {TrainStack.Asked[]} */ ([]),
    making: /** @type {Generator<void, TrainStack.Side[]> | null} */ (null),
    sides: /** @type {TrainStack.Side[]} */ ([]),
    done: 0,
    task: "short",
    note: "",
    moved: false,
    together: false,
    second: /** @type {TrainStack.Setting | null} */ (null),
    changing: () => {},
  });
  const begin = () => {
    const { get } = state;
    state.task = get("task") === "long" ? "long" : "short";
    const right = Object.keys(get("right")).length ? [get("right")] : [];
    state.asked = [get("left"), ...right].map((given) => ({ setting: settingOf(given) }));
    state.making = null;
    state.sides = [];
    state.done = 0;
    state.second = state.asked[1]?.setting ?? state.second;
  };
  /** Another setting begins at step 0. */
  const change = (/** @type {Partial<TrainStack.Traits>} */ changes) => {
    state.changing();
    state.write({ steps: 0, ...changes });
  };
  begin();
  return Object.assign(state, { begin, change });
}

/** Train, step, reset, and how far it is.
 * @type {(state: TrainStack.State, run: TrainStack.Runner) => { node: HTMLElement; drawNow(): void; drawNote(): void }} */
function drivingView(state, run) {
  const train = button(
    "Train",
    () => {
      state.moved = true;
      run.toggle();
    },
    { class: "mygpt-button mygpt-run" },
  );
  /** @type {(steps: () => number) => void} */
  const go = (steps) => {
    state.moved = true;
    run.pause();
    run.reach(steps());
  };
  const one = button("Step", () => go(() => Math.min(run.target + 1, MAX_STEPS)));
  const reset = button("Reset", () => {
    go(() => 0);
    state.write({ steps: 0 });
  });
  const steps = html("b");
  const note = html("p.note.muted.bold", { role: "status" });
  const reading = html("span.number", "step ", steps);
  const row = html("div.actions.flow", train, one, reset, reading);
  const node = html("div.driving", row, note);
  const drawNow = () => {
    const { over, goes } = run;
    one.able(!over);
    train.able(goes || !over);
    train.node.textContent = goes ? "Stop" : `Train to ${nextStop(state.done).toLocaleString("en")}`;
    reset.able(state.done > 0);
    steps.textContent = String(shownStep(state));
  };
  const drawNote = () => {
    note.textContent = state.note;
    note.hidden = !state.note;
  };
  return { node, drawNow, drawNote };
}

/** The pictures, and how large they are: on the desk a plane for each stack and the losses, and by block what is
 * folded.
 * @type {(state: TrainStack.State, folds: () => string[]) => { desk: HTMLElement; blocks: HTMLElement; lay(): void; draw(): void; repaint(): void }} */
function picturesView(state, folds) {
  const planes = [0, 1].map((i) => planeView(state, i));
  const [losses, signal, gradient] = allViews(state, lossesView, signalView, gradientView);
  const lay = () => {
    const { width } = state;
    const wide = width >= WIDE;
    const two = state.asked.length > 1;
    const half = Math.floor((width - GAP) / 2);
    const both = wide ? Math.floor((width - LAST - 2 * GAP) / 2) : half;
    const plane = two ? Math.min(both, 240) : wide ? ONE : Math.min(232, width);
    for (const one of planes) one.lay(plane);
    const beside = two ? LAST : width - ONE - GAP;
    losses.lay(wide ? beside : width, wide ? plane + 36 : 154);
    for (const one of [signal, gradient]) one.lay(wide ? half : width, wide ? 190 : 160);
  };
  const draw = () => {
    drawAll([...planes, losses]);
    if (folds().includes("blocks")) drawAll([signal, gradient]);
  };
  const sides = html("div.planes", planes);
  return {
    desk: html("div.desk", sides, losses),
    blocks: html("div.blocks", signal, gradient),
    lay,
    draw,
    repaint: () => planes.forEach((one) => one.repaint()),
  };
}

/** What makes a link of the settings, and takes the one in a hash, whose stacks are seen before their first step.
 * @type {(state: TrainStack.State, run: TrainStack.Runner, root: () => HTMLElement, tell: (note: string) => void) => { copy(): void; take(hash: string): boolean }} */
function stackLinks(state, run, root, tell) {
  const copy = async () =>
    tell(
      await copyLink(
        linkOf(
          state.task,
          state.asked.map(({ setting }) => setting),
        ),
      ),
    );
  /** @type {(hash: string) => boolean} */
  const take = (hash) => {
    if (document.querySelector(".mygpt-train-stack") !== root()) return false;
    const given = linkedSettings(hash);
    if (!given) return false;
    const [left, right = {}] = given.settings;
    run.drop();
    state.change({ task: given.task, left, right });
    return true;
  };
  return { copy, take };
}

/** The parts of the explorer, and what draws them.
 * @type {(state: TrainStack.State, root: HTMLElement, run: TrainStack.Runner, copy?: () => void) => { nodes: HTMLElement[]; draw(): void; drawNow(): void; drawNote(): void; drawFolds(): void; repaint(): void }} */
function stackViews(state, root, run, copy) {
  const settings = settingsView(state, copy ? [button("Copy link", copy).node] : []);
  const driving = drivingView(state, run);
  const pictures = picturesView(state, () => names.filter((name) => folds[name].open));
  const folds = { settings: settings.more, blocks: folded("Signal and gradient at each block", pictures.blocks) };
  const names = /** @type {(keyof typeof folds)[]} */ (Object.keys(folds));
  const setting = html("p.setting");
  const top = html("div.top.flow", driving, settings.main);
  const nodes = [top, pictures.desk, folds.settings, folds.blocks, setting];
  let laid = "";
  const drawNow = () => {
    const now = `${state.width} ${state.asked.length} ${names.filter((name) => folds[name].open)}`;
    if (now !== laid) pictures.lay();
    laid = now;
    flag(root, "stale", !looksAt(state).length);
    pictures.draw();
    driving.drawNow();
  };
  const draw = () => {
    settings.draw();
    flag(root, "two", state.asked.length > 1);
    setting.textContent = settingText({ task: state.task, sides: state.asked });
    drawNow();
  };
  const drawFolds = followFolds(state, folds, drawNow);
  return { nodes, draw, drawNow, drawNote: driving.drawNote, drawFolds, repaint: pictures.repaint };
}

/** What the first run needs: no kernel, whose code would find other steps than it has set, and no step
 * that something else has asked for. It goes on where it was held, out of view.
 * @type {(state: TrainStack.State, run: TrainStack.Runner, model: Kit.AnyModel) => boolean} */
const mayWalk = (state, run, model) =>
  !model.widget_manager
  && !run.still.matches
  && (run.mode === "held" || (run.mode === "rest" && !state.steps && !state.done && !run.busy));

/** @type {(given: Kit.Given<TrainStack.Traits>) => () => void} */
function render({ model, el }) {
  const state = stackState(model);
  const { root, voice } = explorerRoot("train-stack", "Explorer that trains stacks");
  const tell = (/** @type {string} */ note) => {
    state.note = note;
    views.drawNote();
  };
  const run = new StackRunner(state, {
    draw: () => views.drawNow(),
    rest: () => void (state.moved && voice.say(sentenceOf(state))),
  });
  const first = firstRun(root, {
    begin: () => void (mayWalk(state, run, /** @type {any} */ (model)) && run.walk()),
    stop: () => run.pause(),
  });
  const links = window.bookHost ? stackLinks(state, run, () => root, tell) : null;
  const views = stackViews(state, root, run, links?.copy);
  root.prepend(...views.nodes);
  views.drawNote();
  const asked = () => {
    first.undo();
    run.giveWay();
    state.moved = true;
  };
  const begin = () => {
    asked();
    state.begin();
    if (state.note) tell("");
    views.draw();
    run.reach(stepsOf(state.steps));
  };
  const follow = () => {
    const steps = stepsOf(state.steps);
    if (run.running || steps === run.target) return;
    asked();
    run.reach(steps);
  };
  views.drawFolds();
  const undo = [unseen(root, () => run.leave()), themed(views.repaint), first.undo, () => run.stop()];
  const takeDown = mount({ model, el }, { root, voice }, state, {
    undo: links ? [...undo, followLinks(root, links.take)] : undo,
    listeners: { "task left right": begin, steps: follow, unfolded: views.drawFolds },
    layout: (width) => {
      flag(root, "slim", width < WIDE);
      views.draw();
    },
  });
  run.reach(stepsOf(state.steps));
  return takeDown;
}

export default { render };
