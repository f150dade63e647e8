// The prompt, and what comes next.

import { combobox } from "../kit/parts/combobox.mjs";
import { button } from "../kit/controls.mjs";
import { UNHEARD, drawAll, flag, html, titled } from "../kit/elements.mjs";
import { fixed, times } from "../kit/geometry.mjs";
import { characterChoice, characterField } from "./characters.mjs";
import { refused } from "./known.mjs";
import { WORLD } from "./pieces.mjs";
import { tell, typePrompt } from "./state.mjs";
import { STOP, completions, tailOf } from "./words.mjs";

const LEAST_MARK = 0.01; // a smaller share's outline would be a line

/** @type {(text: string) => HTMLElement} */
export const quoted = (text) => html("bdi.quoted.bold", text);

/** The likeliest next words; none while the prompt in the field is not the one that they follow.
 * @type {(state: Pick<LiveModel.State, "reading" | "now" | "words">) => string[]} */
export function likeliest({ reading, now, words }) {
  return reading && !reading.good ? [] : now.order.map((place) => words[place]);
}

/** A combobox of the model's words; where nothing is begun or a word is whole, it lists the likeliest next.
 * @type {(state: LiveModel.State, label: string, id: string, settings: Pick<Kit.Combobox, "span" | "typed"> & Partial<Kit.Combobox>) => { node: HTMLElement; set(text: string): void }} */
function wordBox(state, label, id, settings) {
  const whole = (/** @type {string} */ word) => state.places.has(state.pieces.fold(word));
  return combobox(label, {
    id: `${state.id}-${id}`,
    suggest: (prefix) => [
      ...(prefix ? completions(state.words, prefix) : []),
      ...(prefix === "" || whole(prefix) ? likeliest(state) : []),
    ],
    whole,
    ...settings,
  });
}

/** What a word of the list takes the place of: a word that is only begun, or else nothing: it comes at the end.
 * @type {(text: string, caret: number, known: { has(word: string): boolean }, pieces?: LiveModel.Pieces) => { start: number; end: number }} */
export function begunAt(text, caret, known, pieces = WORLD) {
  const { start, end } = pieces.span(text, caret);
  const begun = start < caret && !known.has(pieces.fold(text.slice(start, end)));
  return begun ? { start, end } : { start: text.length, end: text.length };
}

/** The field for a prompt: of words it completes each; of characters it takes every key as it is.
 * @type {(state: LiveModel.State) => { node: HTMLElement; set(text: string): void }} */
function promptBox(state) {
  const { pieces, places } = state;
  /** @type {(text: string, caret: number) => void} */
  const typed = (text, caret) => typePrompt(state, text, caret);
  if (!pieces.suggests) {
    return characterField("Prompt", `${state.id}-prompt-field`, typed, (text) => pieces.join(pieces.split(text)));
  }
  return wordBox(state, "Prompt", "prompt", {
    span: (text, caret) => begunAt(text, caret, places, pieces),
    typed,
    after: " ",
    opens: "List words",
  });
}

/** @type {(state: LiveModel.State) => Kit.View} */
export function promptView(state) {
  const box = promptBox(state);
  const message = html("p.message.muted");
  const hint = html("span.hint.muted", "↓ lists the likeliest next");
  const label = html("label.label", { for: `${state.id}-prompt-field` }, "Prompt");
  const head = html("div.prompt-head", label, state.form === "cover" && hint);
  const node = html("div.prompt", head, box, message);
  const draw = () => {
    box.set(state.draft);
    const { reading } = state;
    flag(node, "wrong", Boolean(reading?.wrong || reading?.long));
    message.textContent = reading?.message ?? "";
  };
  return { node, draw };
}

/**
 * A field for one word, and the button that does something with it. Of a word that the model does not
 * have it says so, also when the field is left. `suggest()` puts the word there that `offer` gives for what the
 * reader chose, by typing it or by pressing the button, or for nothing.
 * @type {(state: LiveModel.State, label: string, verb: string, act: (word: string) => void, offer?: (chosen: string) => string) => { node: HTMLElement; suggest(): void }}
 */
export function wordField(state, label, verb, act, offer = (/** @type {string} */ chosen) => chosen) {
  if (!state.pieces.suggests) return characterChoice(state, label, verb, act, offer);
  let word = "";
  let chosen = "";
  const known = () => state.places.has(word);
  let told = "";
  const refuse = () => {
    told = refused(state, word);
    tell(state, told);
  };
  const press = () => {
    chosen = word;
    if (known()) act(word);
    else refuse();
  };
  const go = button(verb, press);
  const dim = () => go.node.setAttribute("aria-disabled", !known());
  const box = wordBox(state, label, verb, {
    span: (text) => ({ start: 0, end: text.length }),
    typed: (text) => {
      word = state.pieces.fold(text.trim());
      chosen = word;
      dim();
      if (told && state.note === told) tell(state, "");
    },
    enter: press,
    left: () => {
      if (word && !known()) refuse();
    },
  });
  const suggest = () => {
    word = offer(chosen);
    box.set(word);
    dim();
  };
  suggest();
  const node = html("div.ask.flow", html("label.label", html("span", label), box), go);
  return { node, suggest };
}

/** The likeliest words; the untouched model's has the last place where it is not one of them.
 * @type {(state: Pick<LiveModel.State, "now" | "untouched">, most: number) => number[]} */
export function barPlaces({ now, untouched }, most) {
  const places = now.order.slice(0, most);
  const [first] = untouched.order;
  return places.includes(first) ? places : [...places.slice(0, -1), first];
}

/** A name with a bar and a number.
 * @param {Kit.Content[]} marks of the bar's track */
export function barLine(...marks) {
  const [name, bar, amount] = [html("bdi.clipped"), html("span.now"), html("span.number")];
  const track = html("span.track", UNHEARD, bar, marks);
  return { name, bar, amount, node: html("li", name, track, amount) };
}

/** One of the likeliest words: its bar, outlined where the untouched model's would end.
 * @type {(state: LiveModel.State, i: number, most: number) => Kit.View} */
function shareLine(state, i, most) {
  const was = html("span.was");
  const { name, bar, amount, node } = barLine(was);
  const draw = () => {
    const place = barPlaces(state, most)[i];
    const [now, before] = [state.now, state.untouched].map(({ shares }) => shares[place]);
    titled(state.words[place], name);
    bar.style.width = `${100 * now}%`;
    was.style.width = `${100 * before}%`;
    was.hidden = !state.edits.length || before < LEAST_MARK;
    amount.textContent = fixed(now, 3);
    flag(node, "apart", place !== state.now.order[i]);
  };
  return { node, draw };
}

/** @type {(state: LiveModel.State, most: number) => { node: HTMLElement; draw(): void; drawStale(): void }} */
export function nextView(state, most) {
  const prompt = quoted("");
  const stale = html("span.old", { hidden: true }, " after ", prompt);
  const count = Math.min(most, state.words.length);
  const lines = times(count, (i) => shareLine(state, i, count));
  const before = html("p.before.muted");
  const title = html("p.title", `Next ${state.pieces.noun}`, stale);
  const list = html("ol.likeliest.list", lines);
  const node = html("div.next", html("div.next-head.ends", title, before), list);

  /** Whether the words are those of the prompt in the field. */
  function drawStale() {
    const { reading } = state;
    flag(node, "stale", !reading?.good);
    stale.hidden = !reading?.wrong && !reading?.long;
  }
  function draw() {
    const text = state.prompt;
    prompt.textContent = tailOf(text || STOP, state.width < 420 ? 30 : 44);
    prompt.title = text;
    drawAll(lines);
    const { best, share } = state.untouched;
    const was = html("span.was", UNHEARD);
    before.replaceChildren(
      ...(state.edits.length ? [was, "As trained: ", html("bdi", best), ` ${fixed(share, 3)}`] : []),
    );
  }
  return { node, draw, drawStale };
}

/** What the model says now, where the prediction is out of sight; or a note that was made.
 * @type {(state: LiveModel.State) => Kit.View} */
export function answerLine(state) {
  const text = html("p.answer.number");
  const bar = html("span.now");
  const node = html("div.pinned", text, html("span.track", UNHEARD, bar));
  const draw = () => {
    const { now, note } = state;
    text.replaceChildren(...(note ? [note] : ["The model says ", quoted(now.best), ` ${fixed(now.share, 3)}`]));
    bar.style.width = `${100 * now.share}%`;
  };
  return { node, draw };
}
