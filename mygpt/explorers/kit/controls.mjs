// What the reader presses, moves and ticks.

import { html } from "./elements.mjs";
import { oneFinger, wish } from "./pointers.mjs";

/** An element that takes the keyboard: JupyterLab must leave its keys alone.
 * @type {<K extends keyof HTMLElementTagNameMap>(tag: K, attributes?: Kit.Attributes, ...children: Kit.Child[]) => HTMLElementTagNameMap[K]} */
export function control(tag, attributes = {}, ...children) {
  return html(tag, { "data-lm-suppress-shortcuts": "true", ...attributes }, ...children);
}

/** A secondary button; while `able(false)` it keeps its focus and does nothing.
 * @type {(text: string, press: () => void, attributes?: Kit.Attributes) => Kit.Button} */
export function button(text, press, attributes = {}) {
  const node = control("button", { type: "button", class: "mygpt-button", ...attributes }, text);
  let ready = true;
  /** @type {(now: boolean) => void} */
  const able = (now) => {
    ready = now;
    node.setAttribute("aria-disabled", !now);
  };
  node.addEventListener("click", () => {
    if (ready) press();
  });
  return { node, able };
}

/** Buttons of which one is pressed, and is where Tab stops; arrow keys press the next, Home and End the first and the
 * last. `show(value)` presses another.
 * @type {<V>(label: string, options: [V, Kit.Child][], choose: (value: V) => void) => Kit.Control<V | undefined>} */
export function choice(label, options, choose) {
  const buttons = options.map(([value, text]) => {
    const one = control("button", { type: "button" }, text);
    one.addEventListener("click", () => choose(value));
    return one;
  });
  const group = html("div", { class: "mygpt-choice", role: "toolbar", "aria-label": label }, ...buttons);
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
  const title = html("span", { class: "mygpt-slider-head", "aria-hidden": "true" }, label);
  return { ...part, node: html("div", { class: "mygpt-named" }, title, part.node) };
}

/**
 * A native range input, which calls `choose` with its number. The browser sets it as soon as a finger comes
 * down; here the number counts once the finger has gone sideways, or is lifted: until then the page may scroll.
 * @type {(choose: (number: number) => void, attributes?: Kit.Attributes) => HTMLInputElement}
 */
function rangeInput(choose, attributes = {}) {
  const input = control("input", { type: "range", step: 1, ...attributes });
  /** @type {{ from: PointerEvent; kept: string; asked: string; wanted: ReturnType<typeof wish> } | null} */
  let held = null;
  /** @type {(value: string) => void} */
  const take = (value) => {
    input.value = value;
    choose(input.valueAsNumber);
  };
  input.addEventListener("input", () => {
    if (held) held.asked = input.value;
    if (!held || held.wanted === "drag") choose(input.valueAsNumber);
    else input.value = held.kept;
  });
  input.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return;
    held = { from: event, kept: input.value, asked: input.value, wanted: "" };
  });
  input.addEventListener("pointermove", (event) => {
    if (!held || held.wanted) return;
    held.wanted = wish(held.from, event, false);
    if (held.wanted === "drag") take(held.asked);
  });
  input.addEventListener("pointerup", () => {
    if (held?.wanted === "" && oneFinger() && held.asked !== held.kept) take(held.asked);
    held = null;
  });
  input.addEventListener("pointercancel", () => {
    if (held?.wanted === "drag") take(held.kept);
    held = null;
  });
  return input;
}

/** A labelled slider over a short list of values; `show(value)` moves it.
 * @type {<V>(label: string, values: V[], format: (value: V) => string, choose: (value: V) => void) => Kit.Control<V> & { node: HTMLLabelElement }} */
export function slider(label, values, format, choose) {
  const input = rangeInput((index) => choose(values[index]), { min: 0, max: values.length - 1 });
  const output = html("span", { class: "mygpt-number", "aria-hidden": "true" });
  const head = html("span", { class: "mygpt-slider-head" }, html("span", {}, label), output);
  const node = html("label", { class: "mygpt-slider" }, head, input);
  /** @type {(index: number) => void} */
  const at = (index) => {
    const text = format(values[index]);
    input.value = String(index);
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
    input.style.setProperty("--filled", `${(100 * index) / (values.length - 1)}%`);
  };
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
  const input = rangeInput(choose, { min: 0 });
  const output = html("span", { class: "mygpt-number", "aria-hidden": "true" });
  const head = html("span", { class: "mygpt-slider-head" }, html("span", {}, label), output);
  const node = html("label", { class: "mygpt-slider" }, head, input);
  /** @type {Kit.Stepper["show"]} */
  const show = (index, last, text) => {
    input.max = String(last);
    input.value = String(index);
    input.disabled = last === 0;
    input.setAttribute("aria-valuetext", text);
    input.style.setProperty("--filled", `${(100 * index) / (last || 1)}%`);
    output.textContent = text;
  };
  return { node, show };
}

/** Parts of the page that the reader unfolds.
 * @type {(title: string, ...parts: Node[]) => HTMLDetailsElement} */
export function folded(title, ...parts) {
  return html("details", { class: "mygpt-folded" }, control("summary", {}, title), ...parts);
}

/** A labelled checkbox; `show(checked)` sets it.
 * @type {(content: Kit.Child[], choose: (checked: boolean) => void) => Kit.Control<boolean>} */
export function tick(content, choose) {
  const input = control("input", { type: "checkbox" });
  input.addEventListener("change", () => choose(input.checked));
  const node = html("label", { class: "mygpt-tick" }, input, ...content);
  return {
    node,
    show: (checked) => {
      input.checked = checked;
    },
  };
}

/**
 * A native range input laid over the x axis of a picture, so that its thumb is the handle of the
 * cursor: arrow keys, touch and screen readers come with it.
 * @type {(label: string, choose: (index: number) => void) => Kit.Handle}
 */
export function axisHandle(label, choose) {
  const input = rangeInput(choose, { class: "mygpt-handle", "aria-label": label });
  /** @type {Kit.Handle["place"]} */
  const place = ({ left, right, bottom }) => {
    input.style.left = `${left - 12}px`;
    input.style.width = `${right - left + 24}px`;
    input.style.top = `${bottom - 22}px`;
  };
  /** @type {Kit.Handle["show"]} */
  const show = (index, last, text) => {
    input.max = String(last);
    input.value = String(index);
    input.setAttribute("aria-valuetext", text);
  };
  return { node: input, place, show };
}
