// What the reader sets: the task, whether there is a second stack, and of each stack its parts.

import { nearestStop } from "../kit/geometry.mjs";
import { choice, folded, stepper, tick } from "../kit/controls.mjs";
import { UNHEARD, drawAll, html } from "../kit/elements.mjs";
import { rateText, sample } from "../kit/parts/picture.mjs";
import { looksOf } from "./pictures.mjs";
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
  sideName,
} from "./words.mjs";

/** @type {("left" | "right")[]} */
const TRAITS = ["left", "right"];

/** The controls of one stack.
 * @type {(state: TrainStack.State, i: number) => { main: HTMLElement[]; more: HTMLElement[]; draw(): void }} */
function controlsOf(state, i) {
  /** @type {(name: keyof TrainStack.Setting) => (value: string | number | undefined) => void} */
  const set = (name) => (value) => {
    const fresh = state.asked.flatMap(({ setting }, side) =>
      (state.together || side === i) && setting[name] !== value ? [[TRAITS[side], { ...setting, [name]: value }]] : [],
    );
    if (fresh.length) state.change(Object.fromEntries(fresh));
  };
  const wiring = choice("Wiring", WIRING_NAMES, set("wiring"));
  const bend = choice("Activation", BEND_NAMES, set("activation"));
  /** @type {(values: number[], choose: (value: number) => void) => (place: number) => void} */
  const from = (values, choose) => (place) => choose(values[place]);
  const depth = stepper("Blocks", (place) => set("depth")(place + 1));
  const gain = stepper("Gain", from(GAINS, set("gain")));
  const rate = stepper("Learning rate", from(RATES, set("rate")));
  const seed = stepper("Seed", set("seed"));
  const draw = () => {
    const { setting } = state.asked[i];
    wiring.show(setting.wiring);
    bend.show(setting.activation);
    depth.show(setting.depth - 1, MAX_DEPTH - 1, String(setting.depth));
    gain.show(nearestStop(GAINS, setting.gain), GAINS.length - 1, `× ${gainText(setting.gain)}`);
    rate.show(nearestStop(RATES, setting.rate), RATES.length - 1, rateText(setting.rate));
    seed.show(setting.seed, MAX_SEED, String(setting.seed));
  };
  return { main: [wiring.node], more: [depth.node, bend.node, rate.node, gain.node, seed.node], draw };
}

/** Some controls of one stack, under its name where there are two.
 * @type {(state: TrainStack.State, i: number, controls: HTMLElement[]) => Kit.View} */
function groupOf(state, i, controls) {
  const title = html("p.legend-name.inline.bold", UNHEARD);
  const node = html("div.stack", { role: "group" }, title, controls);
  const draw = () => {
    const sides = state.asked;
    node.hidden = i >= sides.length;
    if (node.hidden) return;
    const name = sideName({ sides }, i);
    node.ariaLabel = name;
    title.hidden = sides.length < 2;
    title.replaceChildren(sample(looksOf(sides)[i]), name.split(" ")[0]);
  };
  return { node, draw };
}

/** The task, and whether there is a second stack.
 * @type {(state: TrainStack.State) => Kit.View} */
function topView(state) {
  const task = choice("Task", TASK_NAMES, (value) => value !== state.task && state.change({ task: value }));
  const two = tick(["Compare two"], (checked) => {
    const { setting } = state.asked[0];
    const wiring = setting.wiring === "plain" ? "residual" : "plain";
    state.change({ right: checked ? (state.second ?? { ...setting, wiring }) : {} });
  });
  const both = tick(["Change both at once"], (checked) => {
    state.together = checked;
  });
  const draw = () => {
    task.show(state.task);
    two.show(state.asked.length > 1);
    both.node.hidden = state.asked.length < 2;
  };
  return { node: html("div.head", task, two, both), draw };
}

/** The settings of the stacks: the wirings in sight, and under a fold the rest and what makes a link of them.
 * @type {(state: TrainStack.State, link: HTMLElement[]) => { main: HTMLElement; more: HTMLDetailsElement; draw(): void }} */
export function settingsView(state, link) {
  const top = topView(state);
  const both = [0, 1].map((i) => controlsOf(state, i));
  const mains = both.map(({ main }, i) => groupOf(state, i, main));
  const mores = both.map(({ more }, i) => groupOf(state, i, more));
  const main = html("div.stacks.main", mains);
  const difference = html("p.difference.muted");
  const stacks = html("div.stacks", mores);
  const more = folded("More settings", top, stacks, difference, link);
  const draw = () => {
    drawAll([top, ...mains, ...mores]);
    state.asked.forEach((_, i) => both[i].draw());
    difference.textContent = differenceText(state.asked);
    difference.hidden = state.asked.length < 2;
  };
  return { main, more, draw };
}
