// Number fields with their names, and when what is typed counts.

import { control } from "../controls.mjs";
import { html } from "../elements.mjs";

const PAUSE = 400; // ms without a key after which what is typed counts

/** What is typed calls `wait` at once, and `take` when the reader pauses, leaves the field or presses Enter.
 * @param {() => void} wait
 * @param {() => void} take */
export function rested(wait, take) {
  let timer = 0;
  const stop = () => {
    clearTimeout(timer);
    timer = 0;
  };
  const settle = () => {
    if (!timer) return;
    stop();
    take();
  };
  const typed = () => {
    stop();
    timer = setTimeout(settle, PAUSE);
    wait();
  };
  return { typed, settle, stop };
}

/** A number field; `show(value)` writes into it unless it stands there already.
 * @param {string} label
 * @param {string} letter
 * @param {Kit.Entry} entry
 * @param {Kit.Attributes} attributes */
export function numberField(label, letter, entry, attributes) {
  const given = { type: "number", min: 1, step: 1, inputmode: "numeric", oninput: entry.typed, onchange: entry.settle };
  const input = control("input", { ...given, ...attributes });
  const node = html("label.field.label", html("span.slider-head", html("span", label), html("i", letter)), input);
  /** @type {(value: number) => void} */
  const show = (value) => {
    if (input.value === "" || Number(input.value) !== value) input.value = String(value);
  };
  return { node, input, show, wrong: (/** @type {boolean} */ now) => input.setAttribute("aria-invalid", now) };
}
