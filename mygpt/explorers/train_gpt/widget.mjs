// Chapter 13: a GPT that is trained in the page on a text of the reader's own, and taken apart.

import { frames } from "../compute/frames.mjs";
import { exact } from "../kit/amounts.mjs";
import { drawAll, explorerRoot, flag, html, paragraph } from "../kit/elements.mjs";
import { mount } from "../kit/mounting.mjs";
import { apartView } from "./apart.mjs";
import { engineDriver } from "./driver.mjs";
import { drivingView } from "./driving.mjs";
import { filesView } from "./files.mjs";
import { lossView, samplesView } from "./pictures.mjs";
import { beginAnew, bringBack, freeText, goBack, putAside, takeUp } from "./past.mjs";
import { settingsView, sourceView } from "./source.mjs";
import {
  forget,
  givenOf,
  goes,
  prepare,
  refusalText,
  settingsOf,
  shapeOf,
  takeBest,
  takeCheckpoint,
  takeProgress,
  takesText,
  trainState,
  trainedOf,
  unsaved,
  writingOf,
} from "./state.mjs";
import { lowerRate, settingText, verdict } from "./words.mjs";

const WIDE = 560;
const RESET_FIRST = "Press Reset first. Undo then brings this model back.";
/** @type {(keyof TrainGPT.Traits)[]} */
const SETTLED = ["source", "pieces", "size", "seed"]; // until Reset

/** What becomes of the run when the worker tells something, or is gone.
 * @type {(state: TrainGPT.State, calls: { draw(): void; say(text: string): void }) => { hear(news: Engine.News): void; lose(why: string): void }} */
function hearing(state, { draw, say }) {
  /** @type {(phase: TrainGPT.Phase, note?: string) => void} */
  const rest = (phase, note = "") => {
    Object.assign(state, { phase, note });
    say([note, verdict(state)].filter(Boolean).join(" "));
  };
  const from = () => {
    const step = state.kept?.step ?? 0;
    return step ? `It trains on from step ${exact(step)}.` : "Train on begins again.";
  };
  /** @type {{ [K in Engine.News["kind"]]: (news: Extract<Engine.News, { kind: K }>) => void }} */
  const heard = {
    progress: (news) => takeProgress(state, news),
    ready({ simd }) {
      state.simd = simd;
      if (!simd) state.note = "This browser has no WebAssembly with SIMD: it trains in plain JavaScript, far slower.";
    },
    kept({ kept }) {
      state.kept = kept;
      takeBest(state);
    },
    wrote({ step, text }) {
      const trained = trainedOf(state);
      if (!trained) return;
      const one = { step, text: trained.tokenizer.decode(text) };
      if (state.samples.length) state.wrote = one;
      else state.samples = [one]; // of a model that was opened
      say(one.text);
    },
    ended: () => rest("stopped", state.simd ? "" : state.note),
    diverged: ({ step }) =>
      rest(
        "diverged",
        state.losses.length || step > (state.kept?.step ?? 0)
          ? `The loss is no longer a number after step ${exact(step)}. ${lowerRate({ ...state, phase: "diverged" })}`
          : "The loss of this model is no number before a step is taken: it cannot be trained. Press Reset.",
      ),
    failed: ({ message }) => rest(state.step ? "stopped" : "new", `It cannot be trained here: ${message}.`),
  };
  return {
    hear(news) {
      /** @type {any} */ (heard)[news.kind](news);
      draw();
    },
    lose(why) {
      rest("stopped", `${why} ${from()}`);
      takeUp(state, state.kept);
      draw();
    },
  };
}

/** What the reader chooses before training, and the text that is given.
 * @param {TrainGPT.State} state
 * @param {() => void} draw */
function choosing(state, draw) {
  /** @type {(changes: Partial<TrainGPT.Traits>) => void} */
  const settle = (changes) => {
    const { source } = changes;
    const free = source ? takesText(state) : state.phase === "new";
    if (!free && SETTLED.some((name) => name in changes)) state.note = RESET_FIRST;
    else {
      if (source && source !== state.source) freeText(state);
      state.write(changes);
    }
    draw();
  };
  /** @type {(given: string | Uint8Array, name?: string) => void} */
  const take = (given, name = "") => {
    if (!takesText(state)) state.note = RESET_FIRST;
    else {
      freeText(state);
      Object.assign(state, { own: given, name });
      prepare(state);
    }
    draw();
  };
  return { settle, take };
}

/** What the reader's presses do.
 * @param {TrainGPT.State} state
 * @param {TrainGPT.Driver} driver
 * @param {() => void} draw
 * @param {(text: string) => void} say */
export function acting(state, driver, draw, say) {
  const go = () => {
    const [config, { prepared }] = [shapeOf(state), state];
    if (!prepared || !config) return;
    if (state.phase !== "new" && state.step >= state.until) {
      Object.assign(state, { from: state.step, until: state.step + state.steps });
    }
    const settings = settingsOf(state, prepared);
    if (state.phase === "new" || state.lost) {
      driver.ask({ kind: "begin", given: givenOf(state, prepared, config), settings });
    }
    Object.assign(state, { phase: "running", note: "", filed: "", lost: false });
    driver.watch();
    driver.ask({ kind: "run", until: state.until, settings });
    draw();
  };
  const stop = () => {
    state.phase = "stopping";
    driver.ask({ kind: "stop" });
    draw();
  };
  const toggle = () => (state.phase === "running" ? stop() : go());
  /** @type {(change: () => void) => () => void} */
  const instead = (change) => () => {
    driver.stop();
    change();
    say(""); // of what is gone
    draw();
  };
  const reset = instead(() => beginAnew(state));
  const undo = instead(() => bringBack(state));
  const redo = instead(() => bringBack(state, "after"));
  const back = instead(() => goBack(state));
  /** @type {(checkpoint: TrainGPT.Checkpoint) => void} */
  const open = (checkpoint) => {
    driver.stop();
    putAside(state);
    takeCheckpoint(state, checkpoint);
    compose("");
  };
  /** @type {(prompt: string) => void} */
  function compose(prompt) {
    try {
      const asked = writingOf(state, prompt);
      if (asked) driver.ask(asked);
    } catch (error) {
      state.wrote = { step: NaN, text: refusalText(error) };
      say(state.wrote.text);
    }
    draw();
  }
  return { toggle, reset, undo, redo, back, open, compose, ...choosing(state, draw) };
}

/** Brings the top of the explorer into view, with the curves, and gives the button of the run the focus.
 * @type {(root: HTMLElement, run: HTMLElement, curves: HTMLElement) => void} */
function backTo(root, run, curves) {
  run.focus({ preventScroll: true });
  root.scrollIntoView({ block: "start", behavior: "instant" });
  curves.scrollIntoView({ block: "nearest", behavior: "instant" });
}

/** What has the browser ask before the page is left, or no longer.
 * @type {() => (asks: boolean) => void} */
function leaving() {
  const ask = (/** @type {Event} */ event) => event.preventDefault();
  return (asks) => (asks ? addEventListener : removeEventListener)("beforeunload", ask);
}

/** @type {(given: Kit.Given<TrainGPT.Traits>) => () => void} */
function render({ model, el }) {
  const hold = leaving();
  const state = trainState(model);
  prepare(state);
  const frame = frames(() => draw());
  const driver = engineDriver(
    (news) => hearer.hear(news),
    (why) => hearer.lose(why),
  );
  const say = (/** @type {string} */ text) => voice.say(text);
  const hearer = hearing(state, { draw: frame.soon, say });
  const acts = acting(state, driver, () => draw(), say);
  const [losses, samples] = [lossView(state), samplesView(state, acts.compose)];
  const driven = drivingView(state, acts);
  const taken = apartView(state, () => backTo(root, driven.run, losses.node));
  const filing = filesView(state, acts.open, () => draw());
  const setting = paragraph("mygpt-setting", () => settingText(state));
  const views = [sourceView(state, acts), driven, settingsView(state, acts.settle), taken, filing, setting];
  const [source, driving, settings, apart, files, said] = views.map(({ node }) => node);
  files.prepend(taken.button);
  const desk = html("div.desk", losses, samples);
  const parts = [source, driving, desk, settings, files, apart, said];
  const { root, voice } = explorerRoot("train-gpt", "Train a GPT", parts);
  function draw() {
    drawAll([...views, losses, samples]);
    hold(unsaved(state));
  }
  /** @type {(anew: boolean) => () => void} */
  const chosen = (anew) => () => {
    if (state.phase === "new") forget(state);
    else if (!goes(state)) state.until = Math.max(state.step, state.from + state.steps);
    if (anew) prepare(state);
    draw();
  };
  return mount({ model, el }, { root, voice }, state, {
    undo: [() => hold(false), driver.stop, taken.stop, frame.stop],
    listeners: { "text source pieces": chosen(true), "size seed rate steps": chosen(false) },
    layout: (width) => {
      const wide = width >= WIDE;
      flag(root, "wide", wide);
      losses.lay(wide ? Math.floor((width - 20) / 2) : width);
      draw();
    },
  });
}

export default { render };
