// A text field that completes words from a list.

import { control } from "../controls.mjs";
import { html } from "../elements.mjs";

/** Of a field whose text no browser completes or corrects. */
export const UNCORRECTED = { autocomplete: "off", autocapitalize: "none", autocorrect: "off", spellcheck: "false" };

/** The field keeps its focus.
 * @type {(event: Event) => void} */
const keepFocus = (event) => event.preventDefault();

/** The completions under a field; `choose(text)` is called with the one that is clicked.
 * @param {string} id
 * @param {HTMLInputElement} input
 * @param {(text: string) => void} choose */
function optionList(id, input, choose) {
  const kept = { onpointerdown: keepFocus, onmousedown: keepFocus };
  const node = html("ul.list", { id, role: "listbox", "aria-label": "Completions", hidden: true, ...kept });
  /** @type {{ text: string; node: HTMLElement }[]} */
  let options = [];
  let active = -1;

  /** @type {(index: number) => void} */
  function mark(index) {
    active = index;
    options.forEach((option, i) => {
      option.node.setAttribute("aria-selected", i === index);
      if (i === index) option.node.scrollIntoView({ block: "nearest" });
    });
    if (index < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `${id}-${index}`);
  }

  /** @type {(texts: string[], index: number) => void} */
  function open(texts, index) {
    options = texts.map((text, i) => {
      const given = { id: `${id}-${i}`, role: "option", onclick: () => choose(text) };
      return { text, node: html("li.clipped", given, html("bdi", text)) };
    });
    node.replaceChildren(...options.map((option) => option.node));
    node.hidden = !options.length;
    input.setAttribute("aria-expanded", options.length > 0);
    mark(options.length ? index : -1);
  }

  return {
    node,
    open,
    close: () => open([], -1),
    move: (/** @type {number} */ step) => mark((active + step + options.length) % options.length),
    isOpen: () => options.length > 0,
    active: () => options[active]?.text,
  };
}

/** What the keys do: arrows walk through the list, Enter takes its word, Escape closes it.
 * @type {(list: ReturnType<typeof optionList>, keys: { suggestions(): string[]; complete(text: string): void; enter(): void }) => (event: KeyboardEvent) => void} */
function listKeys(list, { suggestions, complete, enter }) {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const options = list.isOpen() ? [] : suggestions();
      if (list.isOpen()) list.move(step);
      else list.open(options, step > 0 ? 0 : options.length - 1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const option = list.active();
      list.close();
      if (option === undefined) enter();
      else complete(option);
    } else if (event.key === "Escape" && list.isOpen()) {
      event.preventDefault();
      event.stopPropagation();
      list.close();
    }
  };
}

/** What opens the list by mouse or finger; the arrow keys do it from the field.
 * @type {(label: string, input: HTMLInputElement, list: ReturnType<typeof optionList>, suggestions: () => string[]) => HTMLElement} */
function opener(label, input, list, suggestions) {
  const onclick = () => {
    input.focus();
    if (list.isOpen()) list.close();
    else list.open(suggestions(), 0);
  };
  const given = { type: "button", tabindex: -1, "aria-label": label, onmousedown: keepFocus, onclick };
  return control("button.opener.bare", given, "↓");
}

/** The text with a word in place of the part from `start` to `end`, and where the caret then is: behind
 * the word, set off by `after`. At the text's end a word that completes nothing is set off before, too.
 * @type {(text: string, part: { start: number; end: number }, begun: string, word: string, after: string) => { text: string; caret: number }} */
export function completed(text, { start, end }, begun, word, after) {
  const [head, rest] = [text.slice(0, start), text.slice(end)];
  const gap = begun === "" && rest === "" && /\S$/.test(head) ? after : "";
  const upTo = head + gap + word + (rest === "" ? after : "");
  return { text: upTo + rest, caret: upTo.length };
}

/**
 * `span(text, caret)` says which part of the text is completed, `suggest(prefix)` gives the words for
 * it, and `whole(prefix)` whether it is one already: then the list opens at an arrow key alone, or at
 * a button named `opens`. A selection, as Tab makes it, counts as a caret at its end.
 * `typed(text, caret)` is called at every change by the reader, `enter()` at Enter where there is
 * nothing to complete, `left()` when the field loses its focus. `set(text)` writes a text.
 * @type {(label: string, settings: Kit.Combobox) => { node: HTMLElement; set(text: string): void }}
 */
export function combobox(label, settings) {
  const { id, span, suggest, whole, typed, enter = () => {}, left = () => {}, after = "", opens } = settings;
  const input = control("input", {
    type: "text",
    id: `${id}-field`,
    role: "combobox",
    "aria-label": label,
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": id,
    ...UNCORRECTED,
    enterkeyhint: "done",
  });
  const list = optionList(id, input, complete);
  const node = html("span.complete", input, list);
  let text = "";

  const caret = () => input.selectionEnd ?? 0;
  const prefix = () => text.slice(span(text, caret()).start, caret());
  /** @type {(now: string) => void} */
  function set(now) {
    if (now === text) return;
    text = now;
    input.value = now;
  }
  /** @type {(option: string) => void} */
  function complete(option) {
    const now = completed(text, span(text, caret()), prefix(), option, after);
    set(now.text);
    input.setSelectionRange(now.caret, now.caret);
    list.close();
    typed(text, caret());
  }
  input.addEventListener("input", (event) => {
    text = input.value;
    typed(text, caret());
    const begun = prefix();
    list.open(begun && !whole(begun) && !event.isComposing ? suggest(begun) : [], 0);
  });
  input.addEventListener("blur", () => {
    list.close();
    left();
  });
  const suggestions = () => suggest(prefix());
  if (opens) node.append(opener(opens, input, list, suggestions));
  input.addEventListener("keydown", listKeys(list, { suggestions, complete, enter }));
  return { node, set };
}
