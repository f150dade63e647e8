// Number fields with their names, and when what is typed counts.

import { control } from "./controls.mjs";
import { html } from "./elements.mjs";

const PAUSE = 400; // ms without a key after which what is typed counts

/** What is typed calls `wait` at once, and `take` when the reader pauses, leaves the field or presses Enter.
 * @type {(wait: () => void, take: () => void) => Kit.Entry} */
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
 * @type {(label: string, letter: string, entry: Kit.Entry, attributes: Kit.Attributes) => Kit.Field} */
export function numberField(label, letter, entry, attributes) {
  const input = control("input", { type: "number", min: 1, step: 1, inputmode: "numeric", ...attributes });
  const node = html(
    "label",
    { class: "mygpt-field" },
    html("span", { class: "mygpt-slider-head" }, html("span", {}, label), html("i", {}, letter)),
    input,
  );
  input.addEventListener("input", entry.typed);
  input.addEventListener("change", entry.settle);
  /** @type {(value: number) => void} */
  const show = (value) => {
    if (input.value === "" || Number(input.value) !== value) input.value = String(value);
  };
  return { node, input, show, wrong: (now) => input.setAttribute("aria-invalid", now) };
}
