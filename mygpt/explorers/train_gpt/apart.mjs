// The trained model in the views of the live model: what each layer would say, its heads, its neurons.

import { exact } from "../kit/amounts.mjs";
import { button, control } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";
import { liveModelOf } from "../live_model/from_page.mjs";
import { pause, studyText } from "../live_model/study.mjs";
import { renderLive } from "../live_model/widget.mjs";
import { refusalText, startOf, trainedOf } from "./state.mjs";

const READ = 200_000; // tokens of the text, for what the neurons fire on

/** What is taken apart: the model that was kept last, with its text.
 * @param {TrainGPT.State} state */
function madeOf(state) {
  const [trained, { prepared }] = [trainedOf(state), state];
  if (!trained) return null;
  const { config, tokenizer, kept } = trained;
  const start = prepared ? startOf(prepared) : [0];
  const text = prepared ? tokenizer.decode(prepared.learn.subarray(0, READ)) : "";
  return { config, tokenizer, tensors: kept.weights, prompt: tokenizer.decode(start), text, step: kept.step };
}

/** Gives a part of the page the focus, at the top of what is seen.
 * @type {(node: HTMLElement) => void} */
function bringTo(node) {
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: "start", behavior: "instant" });
}

/** The heading of the views, with the way back.
 * @type {(back: () => void) => { node: HTMLElement; title: HTMLElement }} */
function headView(back) {
  const look = {
    class: "mygpt-apart-title mygpt-bold",
    role: "heading",
    "aria-level": 4,
    "aria-live": "polite",
    tabindex: -1,
  };
  const title = control("p", look);
  const leave = button("Back to the training", back);
  return { node: html("div.apart-head.flow", title, leave), title };
}

/** The button that takes the model apart, and where its views are; `back` leads to the training.
 * @type {(state: TrainGPT.State, back: () => void) => Kit.View & { button: HTMLElement; stop(): void }} */
export function apartView(state, back) {
  const { node: head, title } = headView(back);
  const holder = html("div.apart-views");
  const node = html("div.apart", { hidden: true }, head, holder);
  let shown = -1; // the step of the model in the views
  let stop = () => {};
  const close = () => {
    stop();
    stop = () => {};
    shown = -1;
    node.hidden = true;
    holder.replaceChildren();
  };
  /** @type {(made: NonNullable<ReturnType<typeof madeOf>>) => Promise<void>} */
  const show = async (made) => {
    close();
    const reading = new AbortController();
    stop = () => reading.abort();
    shown = made.step;
    node.hidden = false;
    title.textContent = "Reading the text, to find where each neuron fires …";
    draw();
    bringTo(title);
    try {
      const rewriting = made.tokenizer.kind === "words";
      const found = made.text ? await studyText({ ...made, rewriting, signal: reading.signal }) : {};
      if (reading.signal.aborted || !found) return;
      const model = /** @type {any} */ (liveModelOf({ ...made, ...found }));
      await pause(); // two tasks
      if (reading.signal.aborted) return;
      title.textContent = `The model of step ${exact(made.step)}, taken apart.`;
      stop = renderLive({ model, el: holder });
      if (document.activeElement === title) bringTo(title);
    } catch (error) {
      title.textContent = refusalText(error);
    }
  };
  const press = button("Take it apart", () => {
    const made = madeOf(state);
    if (shown >= 0 && shown === state.kept?.step) close();
    else if (made) show(made);
    draw();
  });
  function draw() {
    if (!state.kept && shown >= 0) close();
    press.able(Boolean(state.kept));
    const newer = shown >= 0 && shown !== state.kept?.step;
    press.node.textContent = newer ? "Take the newest apart" : shown >= 0 ? "Put it together" : "Take it apart";
  }
  return { node, button: press.node, draw, stop: () => stop() };
}
