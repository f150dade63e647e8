// Fields for characters: a prompt of them, which needs no list to complete it, and a choice of one.

import { UNCORRECTED } from "../kit/parts/combobox.mjs";
import { button, control } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";

/** A field for a text on one line: Enter, and a line break that is pasted, write what `written` makes of one.
 * `typed(text, caret)` is called at every change by the reader; `set(text)` writes a text.
 * @type {(label: string, id: string, typed: (text: string, caret: number) => void, written: (text: string) => string) => { node: HTMLElement; set(text: string): void }} */
export function characterField(label, id, typed, written) {
  const input = control("input", { type: "text", id, "aria-label": label, ...UNCORRECTED });
  const tell = () => typed(input.value, input.selectionEnd ?? 0);
  /** @type {(text: string) => void} */
  const put = (text) => {
    input.setRangeText(written(text), input.selectionStart ?? 0, input.selectionEnd ?? 0, "end");
    tell();
  };
  input.addEventListener("input", tell);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    put("\n");
  });
  input.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain").replace(/\r\n?/g, "\n") ?? "";
    if (!text.includes("\n")) return; // the browser writes it, and its own Undo takes it back
    event.preventDefault();
    put(text);
  });
  const set = (/** @type {string} */ text) => {
    if (input.value === text) return;
    input.value = text;
    requestAnimationFrame(() => {
      if (input !== document.activeElement) input.scrollLeft = input.scrollWidth; // its end is what counts
    });
  };
  return { node: html("span.complete", input), set };
}

/** One of the model's characters, and the button that does something with it; the parts are those of `wordField`.
 * @type {(state: LiveModel.State, label: string, verb: string, act: (name: string) => void, offer: (chosen: string) => string) => { node: HTMLElement; suggest(): void }} */
export function characterChoice({ words, pieces, untouched }, label, verb, act, offer) {
  let chosen = ""; // by the reader
  const select = control("select", { "aria-label": label });
  select.append(
    ...words.map((name) => {
      const said = pieces.spoken(name);
      return html("option", { value: name }, said === name ? name : `${name} ${said}`);
    }),
  );
  select.addEventListener("change", () => {
    chosen = select.value;
  });
  const go = button(verb, () => act(select.value));
  const suggest = () => {
    select.value = offer(chosen) || untouched.best;
  };
  suggest();
  return { node: html("div.ask.flow", html("label.label", html("span", label), select), go), suggest };
}
