// What the reader presses, moves and ticks.

import { UNHEARD, html } from "./elements.mjs";
import { oneFinger, wish } from "./pointers.mjs";

// JupyterLab must leave the keys alone; it also listens at whatever a key was pressed on, and ends a new line there.
const OWN_KEYS = {
  "data-lm-suppress-shortcuts": "true",
  onbeforeinput: (/** @type {Event} */ event) => event.stopImmediatePropagation(),
};

/** An element that takes the keyboard.
 * @type {typeof html} */
export const control = (tag, ...given) => html(tag, OWN_KEYS, given);

/** A secondary button; while `able(false)` it keeps its focus and does nothing.
 * @param {string} text
 * @param {() => void} press
 * @param {Kit.Attributes} attributes */
export function button(text, press, attributes = {}) {
  let ready = true;
  const onclick = () => ready && press();
  const node = control("button.button", { type: "button", onclick, ...attributes }, text);
  /** @type {(now: boolean) => void} */
  const able = (now) => {
    ready = now;
    node.setAttribute("aria-disabled", !now);
  };
  return { node, able };
}

/** Buttons of which one is pressed, and is where Tab stops; arrow keys press the next, Home and End the first and the
 * last. `show(value)` presses another.
 * @type {<V>(label: string, options: [V, Kit.Content][], choose: (value: V) => void) => Kit.Control<V | undefined>} */
export function choice(label, options, choose) {
  const buttons = options.map(([value, text]) =>
    control("button", { type: "button", onclick: () => choose(value) }, text),
  );
  const group = html("div.choice", { role: "toolbar", "aria-label": label }, buttons);
  group.addEventListener("keydown", (event) => {
    const last = buttons.length - 1;
    const at = buttons.findIndex((one) => one === event.target);
    const next = { ArrowLeft: at ? at - 1 : last, ArrowRight: at < last ? at + 1 : 0, Home: 0, End: last }[event.key];
    if (next === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    buttons[next].focus({ preventScroll: true });
    choose(options[next][0]);
    buttons[next].scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" }); // what was chosen may have moved it
  });
  /** @type {(value: any) => void} */
  const show = (value) => {
    const pressed = options.findIndex(([option]) => option === value);
    buttons.forEach((one, i) => {
      one.setAttribute("aria-pressed", i === pressed);
      one.tabIndex = i === Math.max(pressed, 0) ? 0 : -1;
    });
  };
  return { node: group, show };
}

/** A choice with its name over it.
 * @type {<V>(label: string, options: [V, string][], choose: (value: V) => void) => Kit.Control<V | undefined>} */
export function named(label, options, choose) {
  const part = choice(label, options, choose);
  const title = html("span.slider-head", UNHEARD, label);
  return { ...part, node: html("div.named", title, part) };
}

/**
 * A native range input, which calls `choose` with its number. The browser sets it as soon as a finger comes
 * down; here the number counts once the finger has gone sideways, or is lifted: until then the page may scroll.
 * @type {(choose: (number: number) => void, attributes?: Kit.Attributes) => HTMLInputElement}
 */
function rangeInput(choose, attributes = {}) {
  /** @type {{ from: PointerEvent; kept: string; asked: string; wanted: ReturnType<typeof wish> } | null} */
  let held = null;
  /** @type {(value: string) => void} */
  const take = (value) => {
    input.value = value;
    choose(input.valueAsNumber);
  };
  const input = control("input", {
    type: "range",
    step: 1,
    ...attributes,
    oninput: () => {
      if (held) held.asked = input.value;
      if (!held || held.wanted === "drag") choose(input.valueAsNumber);
      else input.value = held.kept;
    },
    onpointerdown: (event) => {
      if (event.pointerType === "touch") held = { from: event, kept: input.value, asked: input.value, wanted: "" };
    },
    onpointermove: (event) => {
      if (!held || held.wanted) return;
      held.wanted = wish(held.from, event, false);
      if (held.wanted === "drag") take(held.asked);
    },
    onpointerup: () => {
      if (held?.wanted === "" && oneFinger() && held.asked !== held.kept) take(held.asked);
      held = null;
    },
    onpointercancel: () => {
      if (held?.wanted === "drag") take(held.kept);
      held = null;
    },
  });
  return input;
}

/** Moves a range input, and says where it stands.
 * @type {(input: HTMLInputElement, index: number, last: number, text: string) => void} */
export function showRange(input, index, last, text) {
  input.max = String(last);
  input.value = String(index);
  input.ariaValueText = text;
}

/** A range input under its name and what it says; `show(index, last, text)` moves it.
 * @type {(label: string, choose: (index: number) => void) => Kit.Stepper & { node: HTMLLabelElement; input: HTMLInputElement }} */
function labelledRange(label, choose) {
  const input = rangeInput(choose, { min: 0 });
  const output = html("span.number", UNHEARD);
  const head = html("span.slider-head", html("span.clipped", label), output);
  const node = html("label.slider.label", head, input);
  /** @type {Kit.Stepper["show"]} */
  const show = (index, last, text) => {
    showRange(input, index, last, text);
    output.textContent = text;
    input.style.setProperty("--filled", `${(100 * index) / (last || 1)}%`);
  };
  return { node, input, show };
}

/** A labelled slider over a short list of values; `show(value)` moves it.
 * @type {<V>(label: string, values: V[], format: (value: V) => string, choose: (value: V) => void) => Kit.Control<V> & { node: HTMLLabelElement }} */
export function slider(label, values, format, choose) {
  const { node, show } = labelledRange(label, (index) => choose(values[index]));
  /** @type {(index: number) => void} */
  const at = (index) => show(index, values.length - 1, format(values[index]));
  at(0);
  return { node, show: (value) => at(values.indexOf(value)) };
}

/** A labelled slider that sets a trait; `draw()` moves it to where the trait is.
 * @type {<T, K extends keyof T>(state: Kit.Store<T>, trait: K, label: string, values: T[K][], format: (value: T[K]) => string) => Kit.View} */
export function traitSlider(state, trait, label, values, format) {
  const changes = (/** @type {unknown} */ value) => /** @type {any} */ ({ [trait]: value });
  const part = slider(label, values, format, (value) => state.write(changes(value)));
  return { node: part.node, draw: () => part.show(state.get(trait)) };
}

/** A labelled slider from 0 to a last value that may change; `show(index, last, text)` moves it.
 * @type {(label: string, choose: (index: number) => void) => Kit.Stepper} */
export function stepper(label, choose) {
  const { node, input, show } = labelledRange(label, choose);
  return {
    node,
    show: (index, last, text) => {
      show(index, last, text);
      input.disabled = last === 0;
    },
  };
}

/** Parts of the page that the reader unfolds.
 * @type {(title: Kit.Content, ...parts: Kit.Content[]) => HTMLDetailsElement} */
export const folded = (title, ...parts) => html("details.folded", control("summary", title), parts);

/** A labelled checkbox; `show(checked)` sets it.
 * @type {(content: Kit.Content, choose: (checked: boolean) => void) => Kit.Control<boolean>} */
export function tick(content, choose) {
  const input = control("input", { type: "checkbox", onchange: () => choose(input.checked) });
  const node = html("label.tick", input, content);
  /** @type {(checked: boolean) => void} */
  const show = (checked) => {
    input.checked = checked;
  };
  return { node, show };
}

/**
 * A native range input laid over the x axis of a picture, so that its thumb is the handle of the
 * cursor: arrow keys, touch and screen readers come with it.
 * @param {string} label
 * @param {(index: number) => void} choose
 */
export function axisHandle(label, choose) {
  const input = rangeInput(choose, { class: "mygpt-handle", "aria-label": label });
  /** @type {(box: Pick<Kit.Box, "left" | "right" | "bottom">) => void} */
  const place = ({ left, right, bottom }) => {
    input.style.left = `${left - 12}px`;
    input.style.width = `${right - left + 24}px`;
    input.style.top = `${bottom - 22}px`;
  };
  return { node: input, place, show: showRange.bind(null, input) };
}
