import {
  button, choice, clamp, html, mount, named, slider, speaker, stepper, store, unseen,
} from "../kit/drawing.mjs";
import { contourView } from "./contour.mjs";
import { curveView } from "./curve.mjs";
import { networkView } from "./fit.mjs";
import { MAX_WIDTH, NEURONS, initialWeights, network } from "./network.mjs";
import { snapped } from "./marks.mjs";
import { ended, runner } from "./run.mjs";
import { MAX_STEPS, RULES, descent, oneWeight, twoWeights } from "./steps.mjs";
import {
  LIMITS, RULE_NAMES, nextLines, numbersOf, rateText, sentenceOf, settingText, verdict,
} from "./words.mjs";

const VIEWS = [["one", "One weight"], ["two", "Two weights"], ["network", "Network"]];
const ACTIVATION_NAMES = [["none", "None"], ["relu", "ReLU"], ["tanh", "tanh"], ["gelu", "GELU"]];
const MAX_SEED = 99;
const DIGITS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

/** The learning rates of the slider: ten a decade, from a thousandth to ten. */
export const RATES = [-3, -2, -1, 0].flatMap((power) =>
  DIGITS.map((digit) => Number(`${digit}e${power}`))).concat(10);

/** The place among the slider's rates that is nearest to a rate, by ratio. */
export function nearestRate(rate) {
  const away = RATES.map((one) => Math.abs(Math.log(one / rate)));
  return Math.max(0, away.indexOf(Math.min(...away)));
}

const whole = (value, low, high) => clamp(Math.round(value) || low, low, high);
const known = (value, names, otherwise) => (Object.hasOwn(names, value) ? value : otherwise);

/** A descent before its first step, as the traits have it; what no page can use is put right. */
export function begun(get) {
  const rate = get("rate");
  const view = known(get("view"), Object.fromEntries(VIEWS), "one");
  const rule = known(get("rule"), RULES, "plain");
  const activation = known(get("activation"), NEURONS, "tanh");
  const neurons = whole(get("width"), 1, MAX_WIDTH);
  const seed = whole(get("seed"), 0, MAX_SEED);
  const start = LIMITS.map(([low, high], i) => clamp(Number(get("start")[i]) || 0, low, high));
  const [problem, weights] = {
    one: () => [oneWeight, start.slice(0, 1)],
    two: () => [twoWeights, start],
    network: () => [network(neurons, activation), initialWeights(neurons, seed)],
  }[view]();
  const now = Object.assign(descent(problem, weights, { rule, rate }), { refused: !(rate > 0) });
  return { view, rule, rate, activation, neurons, seed, start, now };
}

/** The traits are view, rule, rate, start, width, activation, seed and steps; `now` is how far it got. */
function descentState(model) {
  const state = store(model, { width: 640, picture: null, moved: false });
  state.begin = () => Object.assign(state, begun(state.get));
  state.moveTo = (w1, w2 = state.start[1]) => {
    const start = [w1, w2].map((one, i) => (one === state.start[i] ? one : snapped(one, LIMITS[i])));
    if (start.some((one, i) => one !== state.start[i])) state.write({ start });
  };
  state.begin();
  return state;
}

/** Rule and rate, and what makes the network. */
function settingsView(state) {
  const setting = (trait) => (value) => state.write({ [trait]: value });
  const rate = stepper("Learning rate", (place) => state.write({ rate: RATES[place] }));
  const numbers = (low, high) => Array.from({ length: high - low + 1 }, (_, i) => low + i);
  const parts = {
    rule: named("Rule", RULE_NAMES, setting("rule")),
    activation: named("Activation", ACTIVATION_NAMES, setting("activation")),
    neurons: slider("Width", numbers(1, MAX_WIDTH), String, setting("width")),
    seed: slider("Seed", numbers(0, MAX_SEED), String, setting("seed")),
  };
  const row = (...nodes) => html("div", { class: "mygpt-controls" }, ...nodes);
  const ofNetwork = row(parts.activation.node, parts.neurons.node, parts.seed.node);
  const draw = () => {
    for (const [name, part] of Object.entries(parts)) part.show(state[name]);
    rate.show(nearestRate(state.rate), RATES.length - 1, rateText(state.rate));
    ofNetwork.hidden = state.view !== "network";
  };
  return { nodes: [row(parts.rule.node, rate.node), ofNetwork], draw };
}

/** Which loss it is. */
function headView(state, choose) {
  const views = choice("What learns", VIEWS, choose);
  const about = html("p", { class: "mygpt-about" });
  const draw = () => {
    views.show(state.view);
    about.textContent = state.picture.about;
  };
  return { node: html("div", { class: "mygpt-head" }, views.node), about, draw };
}

/** The numbers where the descent stands, with their names. */
function numbersView(state) {
  const node = html("p", { class: "mygpt-numbers" });
  let cells = [];
  const draw = () => {
    cells = numbersOf(state).map(() => html("b", { class: "mygpt-number" }));
    node.replaceChildren(...numbersOf(state).map(([name], i) =>
      html("span", {}, html("span", {}, name), " ", cells[i])));
  };
  const drawNow = () => numbersOf(state).forEach(([, text], i) => { cells[i].textContent = text; });
  return { node, draw, drawNow };
}

/** Step, run, reset. */
function actionsView(state, run, numbers) {
  const one = button("Step", () => {
    run.pause();
    run.leap(1);
  });
  const many = button("Run", run.toggle, { class: "mygpt-button mygpt-run" });
  const reset = button("Reset", () => {
    run.pause();
    state.write({ steps: 0 });
  });
  const node = html("div", { class: "mygpt-actions" }, one.node, many.node, reset.node, numbers.node);
  const drawNow = () => {
    const { now } = state;
    one.able(!now.lost && !now.refused && now.done < MAX_STEPS);
    many.able(run.running || !ended(now));
    many.node.textContent = run.running ? "Pause" : `Run ${run.leapOf() || ""}`.trim();
    reset.able(now.done > 0);
  };
  return { node, drawNow };
}

/** What the last step did, and what the next one will do. */
function wordsView(state) {
  const [said, next, setting] = ["said", "next", "setting"].map((name) => html("p", { class: `mygpt-${name}` }));
  const draw = () => { next.hidden = state.view !== "one"; };
  const drawNow = () => {
    said.textContent = verdict(state);
    said.classList.toggle("mygpt-lost", state.now.lost);
    next.replaceChildren(...nextLines(state).map((line) => html("span", {}, line)));
    setting.textContent = settingText(state);
  };
  return { nodes: [said, next, setting], draw, drawNow };
}

function render({ model, el }) {
  const state = descentState(model);
  const pictures = { one: curveView(state), two: contourView(state), network: networkView(state) };
  const voice = speaker();
  const run = runner(state, { draw: drawNow, rest: () => state.moved && voice.say(sentenceOf(state)) });
  const head = headView(state, (view) => {
    if (view === state.view) return;
    run.pause();
    state.write({ steps: 0, view });
  });
  const [settings, numbers, words] = [settingsView, numbersView, wordsView].map((view) => view(state));
  const actions = actionsView(state, run, numbers);
  const root = html(
    "div", { class: "mygpt-explorer mygpt-descent", role: "group", "aria-label": "Explorer of descent" },
    head.node, ...settings.nodes, head.about, ...Object.values(pictures).map(({ node }) => node),
    actions.node, ...words.nodes, voice.node);

  function drawNow() {
    state.picture.draw();
    for (const part of [numbers, actions, words]) part.drawNow();
  }
  function draw() {
    const laid = state.picture;
    state.picture = pictures[state.view];
    for (const [view, { node }] of Object.entries(pictures)) node.hidden = view !== state.view;
    for (const part of [head, settings, words]) part.draw();
    if (state.picture === laid) return;
    numbers.draw();
    state.picture.lay(state.width);
  }
  const begin = () => {
    state.moved = true;
    state.begin();
    draw();
    run.reach(run.target);
  };
  const follow = () => {
    state.moved = true;
    if (state.get("steps") !== run.target) run.reach(whole(state.get("steps"), 0, MAX_STEPS));
  };
  const settingTraits = ["view", "rule", "rate", "start", "width", "activation", "seed"];
  run.target = whole(state.get("steps"), 0, MAX_STEPS);
  return mount({
    model, el, root,
    undo: [...Object.values(pictures).flatMap(({ stop }) => stop), unseen(root, run.pause), run.stop,
      voice.stop],
    listeners: { ...Object.fromEntries(settingTraits.map((trait) => [trait, begin])), steps: follow },
    layout: (width) => {
      Object.assign(state, { width, picture: null });
      draw();
      drawNow();
      if (state.now.done < run.target && !state.now.lost) run.reach(run.target);
    },
  });
}

export default { render };
