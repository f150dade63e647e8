// Number fields with their names.

import { control } from "./controls.mjs";
import { html } from "./elements.mjs";

/** A number field; `show(value)` writes into it unless it stands there already.
 * @type {(label: string, letter: string, typed: () => void, attributes: Kit.Attributes) => Kit.Field} */
export function numberField(label, letter, typed, attributes) {
  const input = control("input", { type: "number", min: 1, step: 1, inputmode: "numeric", ...attributes });
  const node = html(
    "label",
    { class: "mygpt-field" },
    html("span", { class: "mygpt-slider-head" }, html("span", {}, label), html("i", {}, letter)),
    input,
  );
  input.addEventListener("input", typed);
  /** @type {(value: number) => void} */
  const show = (value) => {
    if (input.value === "" || Number(input.value) !== value) input.value = String(value);
  };
  return { node, input, show, wrong: (now) => input.setAttribute("aria-invalid", now) };
}
