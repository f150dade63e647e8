// Phrases of the text that set a figure. Without scripts they are links to it.

/** A state by trait; "trait.entry" is one entry of a trait that holds several.
 * @typedef {Record<string, any>} State */

/** The traits that a state changes, with their values before or after.
 * @type {(model: Kit.AnyModel, state: State) => { before: State; after: State }} */
function changesOf(model, state) {
  /** @type {State} */
  const before = {};
  /** @type {State} */
  const after = {};
  for (const [name, value] of Object.entries(state)) {
    const [trait, entry] = name.split(".");
    before[trait] ??= model.get(trait);
    after[trait] = entry ? { ...(after[trait] ?? before[trait]), [entry]: value } : value;
  }
  return { before, after };
}

/** Brings a figure into view where it is not: its whole, or its top.
 * @type {(node: Element) => void} */
function bringIntoView(node) {
  const top = document.querySelector(".bd-header-article")?.getBoundingClientRect().bottom ?? 0;
  const box = node.getBoundingClientRect();
  if (box.top >= top && box.bottom <= innerHeight) return;
  const spare = Math.max(0, innerHeight - top - box.height) / 2;
  scrollBy({ top: box.top - top - Math.min(spare, 40) - 8, behavior: "instant" });
}

/** The line that says what a phrase has set, with the ways back. There is one on a page.
 * @type {() => { node: HTMLElement; say(words: string, undo: () => void, back: () => void): void; close(): void }} */
function sayingLine() {
  const words = Object.assign(document.createElement("p"), { className: "shown-words" });
  words.setAttribute("role", "status");
  const node = Object.assign(document.createElement("div"), { className: "shown" });
  const acts = { undo() {}, back() {} };
  /** @type {(text: string, act: () => void) => HTMLButtonElement} */
  const button = (text, act) => {
    const one = Object.assign(document.createElement("button"), { type: "button", textContent: text });
    one.addEventListener("click", act);
    return one;
  };
  const close = () => node.classList.remove("shown-now");
  const back = button("Back to the text", () => acts.back());
  const undo = button("Undo", () => acts.undo());
  const away = button("×", close);
  away.setAttribute("aria-label", "Close");
  node.append(words, back, undo, away);
  node.addEventListener("keydown", (event) => event.key === "Escape" && acts.back());
  /** @type {(text: string, undo: () => void, back: () => void) => void} */
  const say = (text, undone, backAgain) => {
    Object.assign(acts, { undo: undone, back: backAgain });
    node.classList.add("shown-now");
    words.textContent = text;
    back.focus({ preventScroll: true });
  };
  return { node, say, close };
}

/** Sets a figure as a phrase says, shows it, and offers the way back.
 * @type {(phrase: HTMLAnchorElement, place: HTMLElement, model: Kit.AnyModel, line: ReturnType<typeof sayingLine>) => void} */
function press(phrase, place, model, line) {
  for (let fold = place.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null) {
    fold.open = true;
  }
  const { before, after } = changesOf(model, JSON.parse(phrase.dataset.state ?? "{}"));
  model.set(after);
  place.before(line.node);
  bringIntoView(place);
  const back = () => {
    line.close();
    phrase.scrollIntoView({ block: "center", behavior: "instant" });
    phrase.focus({ preventScroll: true });
  };
  const undo = () => {
    model.set(before);
    back();
  };
  const number = place.closest("figure")?.querySelector(".caption-number")?.textContent?.trim() ?? "The figure";
  line.say(`${number} now shows: ${phrase.textContent?.trim()}.`, undo, back);
}

/** Makes each phrase of the page an action, where its explorer runs.
 * @type {(models: Map<string, Kit.AnyModel>) => void} */
export function followPhrases(models) {
  const line = sayingLine();
  for (const phrase of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a.shows"))) {
    const figure = document.getElementById(phrase.hash.slice(1));
    const place = /** @type {HTMLElement | null} */ (figure?.querySelector(".explorer-ready"));
    const model = models.get(place?.dataset.model ?? "");
    if (!place || !model) continue; // it stays a link to the still
    phrase.setAttribute("role", "button");
    phrase.addEventListener("click", (event) => {
      event.preventDefault();
      press(phrase, place, model, line);
    });
    phrase.addEventListener("keydown", (event) => {
      if (event.key !== " ") return;
      event.preventDefault();
      phrase.click();
    });
  }
}
