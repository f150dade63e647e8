// The prompt, and what comes next.

import { button, fixed, html, titled } from "./drawing.mjs";
import { combobox } from "./combobox.mjs";
import {
  LIKELIEST, STOP, completions, spanAt, tailOf, typePrompt,
} from "./live_model_state.mjs";

const LEAST_MARK = 0.01; // a smaller share's outline would be a line

export const quoted = (text) => html("bdi", { class: "mygpt-quoted" }, text);

/** A combobox of the model's words; where nothing is begun, it lists the likeliest next. */
function wordBox(state, label, id, settings) {
  return combobox(label, {
    id: `${state.id}-${id}`,
    suggest: (prefix) => (prefix ? completions(state.words, prefix)
      : state.now.order.map((place) => state.words[place])),
    whole: (word) => state.places.has(word.toLowerCase()),
    ...settings,
  });
}

export function promptView(state) {
  const box = wordBox(state, "Prompt", "prompt", {
    span: spanAt, typed: (text, caret) => typePrompt(state, text, caret), after: " ",
  });
  const message = html("p", { class: "mygpt-message" });
  const node = html("div", { class: "mygpt-prompt" },
    html("label", {}, html("span", {}, "Prompt"), box.node), message);
  const draw = () => {
    box.set(state.draft);
    node.classList.toggle("mygpt-wrong", state.reading.wrong || state.reading.long);
    message.textContent = state.reading.message;
  };
  return { node, draw };
}

/** A field for one word, which may be there already, and the button that does something with it. */
export function wordField(state, label, verb, act, word = "") {
  const press = () => {
    if (state.places.has(word)) act(word);
  };
  const go = button(verb, press);
  go.able(state.places.has(word));
  const box = wordBox(state, label, verb, {
    span: (text) => ({ start: 0, end: text.length }),
    typed: (text) => {
      word = text.trim().toLowerCase();
      go.able(state.places.has(word));
    },
    enter: press,
  });
  box.set(word);
  return html("div", { class: "mygpt-ask" },
    html("label", {}, html("span", {}, label), box.node), go.node);
}

/** One of the likeliest words: its bar, outlined where the untouched model's would end. */
function shareLine(state, i) {
  const word = html("bdi");
  const bar = html("span", { class: "mygpt-now" });
  const was = html("span", { class: "mygpt-was" });
  const share = html("span", { class: "mygpt-number" });
  const track = html("span", { class: "mygpt-track", "aria-hidden": "true" }, bar, was);
  const draw = () => {
    const place = state.now.order[i];
    const [now, before] = [state.now, state.untouched].map(({ shares }) => shares[place]);
    titled(state.words[place], word);
    bar.style.width = `${100 * now}%`;
    was.style.width = `${100 * before}%`;
    was.hidden = !state.get("edits").length || before < LEAST_MARK;
    share.textContent = fixed(now, 3);
  };
  return { node: html("li", {}, word, track, share), draw };
}

export function nextView(state, most = LIKELIEST) {
  const prompt = quoted("");
  const stale = html("span", { class: "mygpt-old", hidden: true }, ", the last whole prompt");
  const lines = Array.from({ length: Math.min(most, state.words.length) }, (_, i) =>
    shareLine(state, i));
  const before = html("p", { class: "mygpt-before" });
  const node = html("div", { class: "mygpt-next" },
    html("p", { class: "mygpt-title" },
      ...(state.get("form") === "cover" ? ["Next word"] : ["Next word after ", prompt]), stale),
    html("ol", { class: "mygpt-likeliest" }, ...lines.map((line) => line.node)), before);

  /** Whether the words are those of the prompt in the field. */
  function drawStale() {
    const { good, wrong, long } = state.reading;
    node.classList.toggle("mygpt-stale", !good);
    stale.hidden = !wrong && !long;
  }
  function draw() {
    const text = state.get("prompt");
    prompt.textContent = tailOf(text || STOP, state.width < 420 ? 30 : 44);
    prompt.title = text;
    for (const line of lines) line.draw();
    const { best, share } = state.untouched;
    before.replaceChildren(...(state.get("edits").length ? [
      html("span", { class: "mygpt-was", "aria-hidden": "true" }),
      "Without the edits: ", html("bdi", {}, best), ` ${fixed(share, 3)}.`,
    ] : []));
  }
  return { node, draw, drawStale };
}
