// Phrases of the text that set a figure. Without scripts they are links to it.

/** A state by trait; "trait.entry" is one entry of a trait that holds several.
 * @typedef {Record<string, any>} State */
/** What a phrase sets: a model, and the names of its traits.
 * @typedef {{ model: Kit.AnyModel; traits: string[] }} Figure */

/** The traits that a state changes, with their values then.
 * @type {(model: Kit.AnyModel, state: State) => State} */
function changesOf(model, state) {
  /** @type {State} */
  const after = {};
  for (const [name, value] of Object.entries(state)) {
    const [trait, entry] = name.split(".");
    after[trait] = entry ? { ...(after[trait] ?? model.get(trait)), [entry]: value } : value;
  }
  return after;
}

/** All traits of a figure, with their values.
 * @type {(model: Kit.AnyModel, traits: string[]) => State} */
const snapshot = (model, traits) => Object.fromEntries(traits.map((trait) => [trait, model.get(trait)]));

/** Whether a figure is in a state; what is folded away in it does not matter.
 * @type {(model: Kit.AnyModel, state: State) => boolean} */
function holds(model, state) {
  const told = Object.entries(state).filter(([trait]) => trait !== "unfolded");
  return told.every(([trait, value]) => JSON.stringify(model.get(trait)) === JSON.stringify(value));
}

/** Brings a figure into view where it is not, with the line above it: its whole, or its top. Where it is, and stays,
 * the phrase stays where it was, at `height`.
 * @type {(line: Element, place: Element, phrase: Element, height: number) => void} */
function bringIntoView(line, place, phrase, height) {
  const header = document.querySelector(".bd-header-article")?.getBoundingClientRect().bottom ?? 0;
  const [top, bottom] = [line.getBoundingClientRect().top, place.getBoundingClientRect().bottom];
  const seen = (/** @type {number} */ moved) => top - moved >= header && bottom - moved <= innerHeight;
  const pushed = phrase.getBoundingClientRect().top - height;
  const spare = Math.max(0, innerHeight - header - (bottom - top)) / 2;
  const by = [pushed, 0].find(seen) ?? top - header - Math.min(spare, 40) - 8;
  scrollBy({ top: by, behavior: "instant" });
}

/** The line that says what a phrase has set, with the ways back. There is one on a page. With no `act` there is
 * nothing to undo.
 * @type {(acts: Record<"back" | "undo" | "close", () => void>) => { node: HTMLElement; back: HTMLElement; beside: HTMLElement; say(texts: string[], text: string, act: string): void }} */
function sayingLine(acts) {
  /** @type {(text: string, act: () => void) => HTMLButtonElement} */
  const button = (text, act) => {
    const one = Object.assign(document.createElement("button"), { type: "button", textContent: text });
    one.addEventListener("click", act);
    return one;
  };
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  const words = Object.assign(document.createElement("p"), { className: "shown-words" });
  const node = Object.assign(document.createElement("div"), { className: "shown" });
  const [back, undo, away] = [button("Back to the text", acts.back), button("", acts.undo), button("×", acts.close)];
  away.className = "shown-close";
  const beside = Object.assign(button("", acts.undo), { className: "shown-beside" }); // for the phrase
  away.setAttribute("aria-label", "Close");
  words.append(said);
  node.append(words, away, back, undo);
  return {
    node,
    back,
    beside,
    say: (texts, text, act) => {
      words.dataset.longest = texts.reduce((a, b) => (a.length < b.length ? b : a)); // the line keeps its height
      if (said.textContent !== text) said.textContent = text;
      for (const one of [undo, beside]) {
        one.hidden = !act;
        one.textContent = act;
      }
    },
  };
}

/** What a phrase makes of its figure, until `stop()`: `tell` gets what the line may say, what it says, and what its
 * button does, which is to take the phrase back, or to set it again; once the reader has changed the figure, neither.
 * `acted()` is told of what the reader does to a figure.
 * @type {(phrase: HTMLAnchorElement, place: HTMLElement, figure: Figure, tell: (texts: string[], text: string, act: string) => void) => Record<"undo" | "acted" | "stop", () => void> & { stands(): boolean }} */
function setting(phrase, place, { model, traits }, tell) {
  const number = place.closest("figure")?.querySelector(".caption-number")?.textContent?.trim() ?? "The figure";
  // "asked for": a training runs up to its step, and a figure may not have a state
  const [now, asked, gone, past] = ["now shows", "was asked for", "no longer shows", "showed"].map(
    (verb) => `${number} ${verb}: ${phrase.textContent?.trim()}.`,
  );
  const since = `${past} You have changed it since.`;
  let before = /** @type {State} */ ({});
  let after = /** @type {State} */ ({});
  let mixed = false; // with changes of the reader's own
  let undone = false;
  let last = -Infinity; // when the reader last did something to a figure
  const draw = () => {
    const text = mixed ? since : holds(model, after) ? now : undone ? gone : asked;
    tell([now, asked, gone, since], text, mixed ? "" : undone ? "Redo this phrase" : "Undo this phrase");
  };
  const changed = () => {
    mixed ||= performance.now() - last < 1000;
    draw();
  };
  const set = () => {
    before = snapshot(model, traits);
    after = changesOf(model, JSON.parse(phrase.dataset.state ?? "{}"));
    undone = false;
    last = -Infinity;
    model.set(after);
    draw();
  };
  const undo = () => {
    undone = !undone;
    last = -Infinity;
    if (undone) model.set(before);
    else set();
    draw();
  };
  const told = traits.filter((trait) => trait !== "unfolded").map((trait) => `change:${trait}`);
  set();
  for (const event of told) model.on(event, changed);
  return {
    undo,
    stands: () => !undone && !mixed && holds(model, after),
    acted: () => {
      last = performance.now();
    },
    stop: () => told.forEach((event) => model.off(event, changed)),
  };
}

/** Lets a part of the page have the focus for once.
 * @type {(place: HTMLElement) => void} */
function focusOn(place) {
  place.tabIndex = -1;
  place.addEventListener("blur", () => place.removeAttribute("tabindex"), { once: true });
  place.focus({ preventScroll: true });
}

/** Shows what a phrase has made of its figure, on one line above it, with the ways back.
 * @type {() => { press(phrase: HTMLAnchorElement, place: HTMLElement, figure: Figure): void; acted(): void; escape(): void }} */
function showing() {
  let now = /** @type {(ReturnType<typeof setting> & { phrase: HTMLElement; place: HTMLElement }) | null} */ (null);
  const back = () => {
    now?.phrase.after(line.beside);
    now?.phrase.scrollIntoView({ block: "center", behavior: "instant" });
    now?.phrase.focus({ preventScroll: true });
  };
  const close = () => {
    if (!now) return;
    const { phrase, place, stop } = now;
    if (line.beside === document.activeElement) phrase.focus({ preventScroll: true });
    line.beside.remove();
    const [focused, top] = [line.node.contains(document.activeElement), place.getBoundingClientRect().top];
    stop();
    now = null;
    line.node.classList.remove("shown-now");
    scrollBy({ top: place.getBoundingClientRect().top - top, behavior: "instant" }); // the figure stays where it is
    if (focused) focusOn(place);
  };
  const line = sayingLine({ back, undo: () => now?.undo(), close });
  return {
    press: (phrase, place, figure) => {
      for (let fold = place.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null) {
        fold.open = true;
      }
      line.beside.remove();
      const height = phrase.getBoundingClientRect().top;
      if (now?.phrase !== phrase || !now.stands()) {
        // else it is pressed again, and what it undoes stays what was there before
        now?.stop();
        now = { phrase, place, ...setting(phrase, place, figure, line.say) };
      }
      if (line.node.nextSibling !== place) place.before(line.node);
      line.node.classList.add("shown-now");
      bringIntoView(line.node, place, phrase, height);
      line.back.focus({ preventScroll: true });
    },
    acted: () => now?.acted(),
    escape: () => {
      const { top, bottom } = line.node.getBoundingClientRect();
      if (bottom > 0 && top < innerHeight) close();
    },
  };
}

/** Makes each phrase of the page an action, where its explorer runs; `traits` has the names of each one's.
 * @type {(models: Map<string, Kit.AnyModel>, traits: Map<string, string[]>) => void} */
export function followPhrases(models, traits) {
  const { press, acted, escape } = showing();
  for (const phrase of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a.shows"))) {
    const figure = document.getElementById(phrase.hash.slice(1));
    const place = /** @type {HTMLElement | null} */ (figure?.querySelector(".explorer-ready"));
    const id = place?.dataset.model ?? "";
    const model = models.get(id);
    if (!place || !model) continue; // it stays a link to the still
    phrase.setAttribute("role", "button");
    phrase.addEventListener("click", (event) => {
      event.preventDefault();
      press(phrase, place, { model, traits: traits.get(id) ?? [] });
    });
    phrase.addEventListener("keydown", (event) => {
      if (event.key !== " ") return;
      event.preventDefault();
      phrase.click();
    });
  }
  for (const type of ["pointerdown", "pointermove", "pointerup", "click", "input", "keydown"]) {
    const own = (/** @type {any} */ { target, buttons }) => {
      if (type === "pointermove" && !buttons) return;
      if (target instanceof Element && target.closest(".explorer")) acted();
    };
    addEventListener(type, own, { capture: true, passive: true });
  }
  addEventListener("keydown", (event) => event.key === "Escape" && !event.defaultPrevented && escape());
}
