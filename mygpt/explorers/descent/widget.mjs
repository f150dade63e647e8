import { button, choice, named, slider, stepper } from "../kit/controls.mjs";
import { drawAll, explorerRoot, flag, html } from "../kit/elements.mjs";
import { clamp, nearestStop, times } from "../kit/geometry.mjs";
import { mount, store, unseen, allViews } from "../kit/mounting.mjs";
import { rateText } from "../kit/parts/picture.mjs";
import { contourView } from "./contour.mjs";
import { curveView } from "./curve.mjs";
import { networkView } from "./fit.mjs";
import { snapped } from "./marks.mjs";
import { MAX_WIDTH, NEURONS, initialWeights, network } from "./network.mjs";
import { DescentRunner, ended } from "./run.mjs";
import { MAX_STEPS, RULES, descent, oneWeight, twoWeights } from "./steps.mjs";
import { LIMITS, RULE_NAMES, nextLines, numbersOf, sentenceOf, settingText, verdict } from "./words.mjs";

const VIEWS = Object.entries({ one: "One weight", two: "Two weights", network: "Network" });
const ACTIVATION_NAMES = Object.entries({ none: "None", relu: "ReLU", tanh: "tanh", gelu: "GELU" });
const MAX_SEED = 99;
const NARROW = 420; // px, as in mount
const DIGITS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

/** The learning rates of the slider: ten a decade, from a thousandth to ten. */
export const RATES = [-3, -2, -1, 0].flatMap((power) => DIGITS.map((digit) => Number(`${digit}e${power}`))).concat(10);

/** @type {(value: number, low: number, high: number) => number} */
const whole = (value, low, high) => clamp(Math.round(value) || low, low, high);
/** @type {(value: string, names: object, otherwise: string) => string} */
const known = (value, names, otherwise) => (Object.hasOwn(names, value) ? value : otherwise);

/** A descent before its first step, as the traits have it; what no page can use is put right.
 * @param {Kit.Model<Descent.Traits>["get"]} get */
export function begun(get) {
  const rate = get("rate");
  const view = known(get("view"), Object.fromEntries(VIEWS), "one");
  const rule = known(get("rule"), RULES, "plain");
  const activation = known(get("activation"), NEURONS, "tanh");
  const neurons = whole(get("width"), 1, MAX_WIDTH);
  const seed = whole(get("seed"), 0, MAX_SEED);
  const start = LIMITS.map(([low, high], i) => clamp(Number(get("start")[i]) || 0, low, high));
  const problems = {
    one: () => descent(oneWeight, start.slice(0, 1), { rule, rate }),
    two: () => descent(twoWeights, start, { rule, rate }),
    network: () => descent(network(neurons, activation), initialWeights(neurons, seed), { rule, rate }),
  };
  const now = Object.assign(problems[/** @type {keyof typeof problems} */ (view)](), { refused: !(rate > 0) });
  return { view, rule, rate, activation, neurons, seed, start, now };
}

/** The traits are view, rule, rate, start, width, activation, seed and steps; `now` is how far it got.
 * @param {Kit.Model<Descent.Traits & Kit.Described>} model */
export function descentState(model) {
  const get = /** @type {typeof model.get} */ ((trait) => model.get(trait));
  const fields = { width: 640, picture: /** @type {Descent.Picture | null} */ (null), moved: false };
  const state = store(model, { ...fields, ...begun(get) });
  const begin = () => {
    Object.assign(state, begun(state.get));
  };
  const moveTo = (/** @type {number} */ w1, w2 = state.start[1]) => {
    const start = [w1, w2].map((one, i) => (one === state.start[i] ? one : snapped(one, LIMITS[i])));
    if (start.some((one, i) => one !== state.start[i])) state.write({ start });
  };
  return Object.assign(state, { begin, moveTo });
}

/** Rule and rate, and what makes the network.
 * @type {(state: Descent.State) => { node: HTMLElement; network: HTMLElement; draw(): void }} */
function settingsView(state) {
  /** @type {<K extends keyof Descent.Traits>(trait: K) => (value: Descent.Traits[K] | undefined) => void} */
  const setting = (trait) => (value) => state.write({ [trait]: value });
  const rate = stepper("Learning rate", (place) => state.write({ rate: RATES[place] }));
  /** @type {(low: number, high: number) => number[]} */
  const numbers = (low, high) => times(high - low + 1, (i) => low + i);
  const parts = {
    rule: named("Rule", RULE_NAMES, setting("rule")),
    activation: named("Activation", ACTIVATION_NAMES, setting("activation")),
    neurons: slider("Width", numbers(1, MAX_WIDTH), String, setting("width")),
    seed: slider("Seed", numbers(0, MAX_SEED), String, setting("seed")),
  };
  /** @type {(...nodes: Node[]) => HTMLElement} */
  const row = (...nodes) => html("div.controls", nodes);
  const ofNetwork = row(parts.activation.node, parts.neurons.node, parts.seed.node);
  const draw = () => {
    parts.rule.show(state.rule);
    parts.activation.show(state.activation);
    parts.neurons.show(state.neurons);
    parts.seed.show(state.seed);
    rate.show(nearestStop(RATES, state.rate), RATES.length - 1, rateText(state.rate));
    ofNetwork.hidden = state.view !== "network";
  };
  return { node: row(parts.rule.node, rate.node), network: ofNetwork, draw };
}

/** Which loss it is.
 * @type {(state: Descent.State, choose: (view: string) => void) => { node: HTMLElement; about: HTMLElement; draw(): void }} */
function headView(state, choose) {
  const views = choice("What learns", VIEWS, choose);
  const about = html("p.about");
  const draw = () => {
    views.show(state.view);
    about.textContent = state.picture?.about ?? "";
  };
  return { node: html("div.head", views), about, draw };
}

/** The numbers where the descent stands, with their names.
 * @type {(state: Descent.State) => { node: HTMLElement; draw(): void; drawNow(): void }} */
function numbersView(state) {
  const node = html("p.numbers");
  /** @type {HTMLElement[]} */
  let cells = [];
  const draw = () => {
    cells = numbersOf(state).map(() => html("b.number"));
    node.replaceChildren(...numbersOf(state).map(([name], i) => html("span", html("span", name), " ", cells[i])));
  };
  const drawNow = () =>
    numbersOf(state).forEach(([, text], i) => {
      cells[i].textContent = text;
    });
  return { node, draw, drawNow };
}

/** Step, run, reset.
 * @type {(state: Descent.State, run: Descent.Runner, numbers: { node: HTMLElement }) => { node: HTMLElement; drawNow(): void }} */
function actionsView(state, run, numbers) {
  const one = button("Step", () => {
    run.pause();
    run.leap(1);
  });
  const many = button("Run", () => run.toggle(), { class: "mygpt-button mygpt-run" });
  const reset = button("Reset", () => {
    run.pause();
    state.write({ steps: 0 });
  });
  const node = html("div.actions.flow", one, many, reset, numbers);
  const drawNow = () => {
    const { now } = state;
    one.able(!now.lost && !now.refused && now.done < MAX_STEPS);
    many.able(run.running || !ended(now));
    many.node.textContent = run.running ? "Pause" : `Run ${run.leapOf || ""}`.trim();
    reset.able(now.done > 0);
  };
  return { node, drawNow };
}

/** What the last step did, and what the next one will do.
 * @type {(state: Descent.State) => { said: HTMLElement; more: HTMLElement[]; draw(): void; drawNow(): void }} */
function wordsView(state) {
  const [said, next, setting] = ["said", "next", "setting"].map((name) => html(`p.${name}`));
  const draw = () => {
    next.hidden = state.view !== "one";
    said.dataset.view = state.view;
  };
  const drawNow = () => {
    said.textContent = verdict(state);
    flag(said, "lost", state.now.lost);
    next.replaceChildren(...nextLines(state).map((line) => html("span", line)));
    setting.textContent = settingText(state);
  };
  return { said, more: [next, setting], draw, drawNow };
}

/** What step, run and verdict stand under: the settings, but on a phone the picture, or the first of two.
 * @type {(state: Descent.State, settings: Element, shown: Element) => Element | null} */
function placeOf({ view, width }, settings, shown) {
  if (width >= NARROW) return settings;
  return view === "one" ? shown : shown.firstElementChild;
}

/** @type {(given: Kit.Given<Descent.Traits>) => () => void} */
function render({ model, el }) {
  const state = descentState(model);
  /** @type {Record<string, Descent.Picture>} */
  const pictures = { one: curveView(state), two: contourView(state), network: networkView(state) };
  const rest = () => void (state.moved && voice.say(sentenceOf(state)));
  const run = new DescentRunner(state, { draw: drawNow, rest });
  const head = headView(state, (view) => {
    if (view === state.view) return;
    run.pause();
    state.write({ steps: 0, view });
  });
  const [settings, numbers, words] = allViews(state, settingsView, numbersView, wordsView);
  const actions = actionsView(state, run, numbers);
  const acts = [actions.node, words.said];
  const above = [head.node, settings.node, ...acts];
  const below = [settings.network, head.about, ...words.more];
  const shown = Object.values(pictures).map(({ node }) => node);
  const { root, voice } = explorerRoot("descent", "Explorer of descent", above, shown, below);

  function drawNow() {
    state.picture?.draw();
    for (const part of [numbers, actions, words]) part.drawNow();
  }
  function draw() {
    const laid = state.picture;
    state.picture = pictures[state.view];
    for (const [view, { node }] of Object.entries(pictures)) node.hidden = view !== state.view;
    drawAll([head, settings, words]);
    if (state.picture === laid) return;
    placeOf(state, settings.node, pictures[state.view].node)?.after(...acts);
    numbers.draw();
    state.picture?.lay(state.width);
  }
  const begin = () => {
    state.moved = true;
    state.begin();
    draw();
    run.reach(run.target);
  };
  const follow = () => {
    state.moved = true;
    if (state.steps !== run.target) run.reach(whole(state.steps, 0, MAX_STEPS));
  };
  run.aim(whole(state.steps, 0, MAX_STEPS));
  const undo = [unseen(root, () => run.pause()), () => run.stop()];
  return mount({ model, el }, { root, voice }, state, {
    undo: [...undo, ...Object.values(pictures).flatMap(({ stop }) => stop)],
    listeners: { "view rule rate start width activation seed": begin, steps: follow },
    layout: () => {
      state.picture = null;
      draw();
      drawNow();
      if (state.now.done < run.target && !state.now.lost) run.reach(run.target);
    },
  });
}

export default { render };
