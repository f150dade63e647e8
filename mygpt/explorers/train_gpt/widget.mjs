// Chapter 13: a GPT that is trained in the page on a text of the reader's own, and taken apart.

import { button } from "../kit/controls.mjs";
import { html, speaker } from "../kit/elements.mjs";
import { mount } from "../kit/mounting.mjs";
import { apartView } from "./apart.mjs";
import { engineDriver } from "./driver.mjs";
import { filesView } from "./files.mjs";
import { lossView, samplesView } from "./pictures.mjs";
import { settingsView, sourceView } from "./source.mjs";
import { forget, givenOf, prepare, settingsOf, shapeOf, takeCheckpoint, takeProgress, trainState } from "./state.mjs";
import { grouped, settingText, stepLine, verdict } from "./words.mjs";

const WIDE = 560;
const LOOKS = { class: "mygpt-explorer mygpt-train-gpt", role: "group", "aria-label": "Train a GPT" };
/** @type {(keyof TrainGPT.Traits)[]} */
const SETTLED = ["source", "pieces", "size", "seed"]; // until Reset

/** Train, Stop or Train on; Reset; where the run stands; and what has become of it.
 * @type {(state: TrainGPT.State, calls: { toggle(): void; reset(): void }) => Kit.View} */
function drivingView(state, { toggle, reset }) {
  const run = button("Train", toggle, { class: "mygpt-button mygpt-run" });
  const again = button("Reset", reset);
  const where = html("span", { class: "mygpt-number" });
  const said = html("p", { class: "mygpt-verdict" });
  const note = html("p", { class: "mygpt-note", role: "status" });
  const node = html("div", { class: "mygpt-driving" }, run.node, again.node, where, said, note);
  const draw = () => {
    const { phase } = state;
    const goes = phase === "running";
    run.node.textContent = goes ? "Stop" : phase === "new" ? "Train" : "Train on";
    run.able(goes || (Boolean(state.prepared) && phase !== "diverged"));
    again.able(phase !== "new");
    where.textContent = stepLine(state);
    said.textContent = verdict(state);
    note.textContent = state.note;
    note.hidden = !state.note;
  };
  return { node, draw };
}

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
    return step ? `It trains on from step ${grouped(step)}.` : "Train on begins again.";
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
    },
    ended: () => rest("stopped", state.simd ? "" : state.note),
    diverged: ({ step }) =>
      rest(
        "diverged",
        `The loss is no longer a number after step ${grouped(step)}: the learning rate is too high. Reset.`,
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
      Object.assign(state, { step: state.kept?.step ?? 0, lost: true });
      draw();
    },
  };
}

/** What the reader's presses do.
 * @type {(state: TrainGPT.State, driver: TrainGPT.Driver, draw: () => void, say: (text: string) => void) => TrainGPT.Acts} */
function acting(state, driver, draw, say) {
  const go = () => {
    const [config, { prepared }] = [shapeOf(state), state];
    if (!prepared || !config) return;
    if (state.phase !== "new" && state.step >= state.until) state.until = state.step + state.get("steps");
    const settings = settingsOf(state, prepared);
    if (state.phase === "new" || state.lost) {
      driver.ask({ kind: "begin", given: givenOf(state, prepared, config), settings });
    }
    Object.assign(state, { phase: "running", note: "", lost: false });
    driver.watch();
    driver.ask({ kind: "run", until: state.until, settings });
    draw();
  };
  const toggle = () => (state.phase === "running" ? driver.ask({ kind: "stop" }) : go());
  const reset = () => {
    driver.stop();
    forget(state);
    prepare(state);
    say(""); // of what is gone
    draw();
  };
  const settle = (/** @type {Partial<TrainGPT.Traits>} */ changes) => {
    const fixed = state.phase !== "new" && SETTLED.some((name) => name in changes);
    if (fixed) state.note = "Press Reset first: a model is being trained with the present choice.";
    else state.write(changes);
    draw();
  };
  const take = (/** @type {string | Uint8Array} */ given, name = "") => {
    if (state.phase !== "new") return;
    Object.assign(state, { own: given, name });
    prepare(state);
    draw();
  };
  const open = (/** @type {TrainGPT.Checkpoint} */ checkpoint) => {
    driver.stop();
    takeCheckpoint(state, checkpoint);
  };
  return { toggle, reset, settle, take, open };
}

/** @type {(given: Kit.Given<TrainGPT.Traits>) => () => void} */
function render({ model, el }) {
  const voice = speaker();
  const state = trainState(model);
  prepare(state);
  let frame = 0;
  const soon = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      draw();
    });
  };
  const driver = engineDriver(
    (news) => hearer.hear(news),
    (why) => hearer.lose(why),
  );
  const hearer = hearing(state, { draw: soon, say: voice.say });
  const acts = acting(state, driver, () => draw(), voice.say);
  const [losses, samples] = [lossView(state), samplesView(state)];
  const taken = apartView(state);
  const views = [
    sourceView(state, acts),
    drivingView(state, acts),
    settingsView(state, acts.settle),
    taken,
    filesView(state, acts.open, () => draw()),
  ];
  const [source, driving, settings, apart, files] = views.map(({ node }) => node);
  files.prepend(taken.button);
  const desk = html("div", { class: "mygpt-desk" }, losses.node, samples.node);
  const setting = html("p", { class: "mygpt-setting" });
  const root = html("div", LOOKS, ...[source, driving, desk, settings, files, apart, setting, voice.node]);
  function draw() {
    for (const one of [...views, losses, samples]) one.draw();
    setting.textContent = settingText(state);
  }
  /** @type {(anew: boolean) => () => void} */
  const chosen = (anew) => () => {
    if (state.phase === "new") forget(state);
    else if (state.phase !== "running") state.until = Math.max(state.step, state.get("steps"));
    if (anew) prepare(state);
    draw();
  };
  return mount({
    model,
    el,
    root,
    undo: [driver.stop, taken.stop, voice.stop, () => cancelAnimationFrame(frame)],
    listeners: {
      ...{ text: chosen(true), source: chosen(true), pieces: chosen(true) },
      ...{ size: chosen(false), seed: chosen(false), rate: chosen(false), steps: chosen(false) },
    },
    layout: (width) => {
      state.width = width;
      const wide = width >= WIDE;
      root.classList.toggle("mygpt-wide", wide);
      losses.lay(wide ? Math.floor((width - 20) / 2) : width);
      draw();
    },
  });
}

export default { render };
