// How an explorer holds its state and stands on the page.

import { flag, html } from "./elements.mjs";

/**
 * The one state object of an explorer: `fields` (what is derived or passing: the width, the hovered
 * cell) and the traits, by their names, where no field has the same, or by `get(trait)`; `write(changes)` sets those that
 * differ.
 * @type {<T, F>(model: Kit.Model<T>, fields: F & ThisType<F & Kit.Store<T>>) => Kit.State<T, F>}
 */
export function store(model, fields) {
  /** @type {typeof model.get} */
  const get = (trait) => model.get(trait);
  const write = (/** @type {Partial<Kit.TraitsOf<typeof model>>} */ changes) => {
    const traits = /** @type {(keyof typeof changes)[]} */ (Object.keys(changes));
    const fresh = traits.filter((trait) => get(trait) !== changes[trait]);
    const news = fresh.map((trait) => /** @type {const} */ ([trait, changes[trait]]));
    for (const [trait, value] of news) model.set(trait, /** @type {NonNullable<typeof value>} */ (value));
    if (fresh.length) model.save_changes();
  };
  const known = Object.assign(fields, { get, write });
  return /** @type {any} */ (
    new Proxy(known, {
      get: (_, name, whole) => (name in known ? Reflect.get(known, name, whole) : known.get(/** @type {any} */ (name))),
    })
  );
}

/** What each of several views makes of a state.
 * @type {<S, V extends ((state: S) => unknown)[]>(state: S, ...views: V) => { [I in keyof V]: ReturnType<V[I]> }} */
export function allViews(state, ...views) {
  return /** @type {any} */ (views.map((view) => view(state)));
}

/** What draws the content of a fold: at first, whenever it is unfolded, and as long as it is. A press draws it before
 * the fold opens, so that no older content is seen.
 * @type {(node: HTMLDetailsElement, draw: () => void) => () => void} */
export function unfolding(node, draw) {
  let first = true;
  let pressed = false;
  node.querySelector("summary")?.addEventListener("click", () => {
    pressed = !node.open;
    if (pressed) draw();
  });
  node.addEventListener("toggle", () => {
    if (node.open && !pressed) draw();
    pressed = false;
  });
  return () => {
    if (first || node.open) draw();
    first = false;
  };
}

/** Folds that are open where the trait `unfolded` names them, which follows them. One that something else unfolds
 * comes into view with what it holds, if the explorer is in view. Returns what opens and closes them.
 * @type {(state: { get(trait: "unfolded"): string[]; write(changes: { unfolded: string[] }): void }, folds: Record<string, HTMLDetailsElement>, changed?: () => void) => () => void} */
export function followFolds(state, folds, changed = () => {}) {
  const names = Object.keys(folds);
  let first = true;
  let wanted = /** @type {HTMLDetailsElement | null} */ (null); // by something else than the reader's hand
  /** @type {(fold: HTMLDetailsElement) => void} */
  const show = (fold) => {
    const { top, bottom } = /** @type {Element} */ (fold.parentElement).getBoundingClientRect();
    if (top < innerHeight && bottom > 0) fold.scrollIntoView({ block: "nearest", behavior: "instant" });
  };
  /** @type {(event: Event) => void} */
  const toggled = ({ target }) => {
    const open = names.filter((name) => folds[name].open);
    if (String(open) !== String(state.get("unfolded"))) state.write({ unfolded: open });
    changed();
    if (wanted && wanted === target) show(wanted);
    wanted = null;
  };
  for (const fold of Object.values(folds)) fold.addEventListener("toggle", toggled);
  return () => {
    const open = names.filter((name) => state.get("unfolded").includes(name));
    const fresh = open.filter((name) => !folds[name].open).map((name) => folds[name]);
    wanted = first ? null : (fresh.pop() ?? null);
    for (const name of names) folds[name].open = open.includes(name);
    first = false;
  };
}

/** Calls `pause` when the explorer is no longer seen; returns an undo function.
 * @type {(root: Element, pause: () => void) => () => void} */
export function unseen(root, pause) {
  const hidden = () => document.hidden && pause();
  const observer = new IntersectionObserver((entries) => entries.at(-1)?.isIntersecting || pause());
  observer.observe(root);
  document.addEventListener("visibilitychange", hidden);
  return () => {
    observer.disconnect();
    document.removeEventListener("visibilitychange", hidden);
  };
}

/** How far a page scrolls so that a box is seen between two edges of it: the whole of the box; of one that is too
 * tall its top, or what is above the end of a part of it that must be seen.
 * @type {(box: Kit.Edges, part: Kit.Edges, port: Kit.Edges) => number} */
export function shiftToSee(box, part, port) {
  const spare = port.bottom - port.top - (box.bottom - box.top);
  if (spare >= 0) return Math.min(0, box.top - port.top) || Math.max(0, box.bottom - port.bottom);
  const full = box.top <= port.top && box.bottom >= port.bottom;
  if (full && part.top >= port.top && part.bottom <= port.bottom) return 0;
  return Math.max(box.top - port.top, part.bottom - port.bottom);
}

/** What scrolls an element, and between which edges it is then seen.
 * @type {(node: Element) => { scroller: Element; port: Kit.Edges }} */
function portOf(node) {
  const page = document.scrollingElement ?? document.documentElement;
  let scroller = node.parentElement ?? page;
  const scrolls = () =>
    scroller.scrollHeight > scroller.clientHeight && /auto|scroll/.test(getComputedStyle(scroller).overflowY);
  while (scroller.parentElement && scroller !== page && !scrolls()) scroller = scroller.parentElement;
  if (!scroller.parentElement) scroller = page;
  const { top, bottom } = scroller === page ? { top: 0, bottom: innerHeight } : scroller.getBoundingClientRect();
  const head = parseFloat(getComputedStyle(scroller).scrollPaddingTop) || 0; // of what stays at the top
  return { scroller, port: { top: top + head + 6, bottom: bottom - 6 } };
}

/** Brings an explorer into view when the keyboard comes into it: what its controls change is then seen.
 * @type {(root: HTMLElement) => void} */
function comingIntoView(root) {
  let inside = false;
  let pointed = -Infinity; // when a mouse or a finger last did something here
  const point = () => {
    pointed = performance.now();
  };
  for (const type of ["pointerdown", "pointerup"]) root.addEventListener(type, point, true);
  const show = (/** @type {Element} */ part) => {
    const { scroller, port } = portOf(root);
    const top = shiftToSee(root.getBoundingClientRect(), part.getBoundingClientRect(), port);
    scroller.scrollBy({ top, behavior: "instant" });
  };
  root.addEventListener("focusin", ({ target }) => {
    const part = /** @type {Element} */ (target);
    const entered = !inside && performance.now() - pointed > 500 && part.matches(":focus-visible");
    inside = true;
    if (entered) requestAnimationFrame(() => show(part)); // after the browser's own scroll, before it is drawn
  });
  root.addEventListener("focusout", ({ target, relatedTarget }) => {
    // a window that loses the focus keeps its element
    inside = target === document.activeElement || root.contains(/** @type {Node | null} */ (relatedTarget));
  });
}

/**
 * Puts an explorer on the page and keeps it drawn: `layout(width)` at every new width, which is kept in `state`, and the
 * listener of some traits ("word order") when one of these changes; `voice` says what a listener has to say. Returns the
 * function that takes it down again.
 * @type {(given: Kit.Given<any>, made: ReturnType<typeof import("./elements.mjs").explorerRoot>, state: object, parts: Kit.Mounted) => () => void}
 */
export function mount({ model, el }, { root, voice }, state, { layout, listeners, undo = [] }) {
  const ruler = html("div.ruler");
  root.prepend(ruler);
  el.append(root);
  comingIntoView(root);
  let width = 0;
  const lay = (/** @type {number} */ now) => {
    Object.assign(state, { width: now });
    layout(now);
  };
  const measure = () => {
    const now = Math.floor(ruler.getBoundingClientRect().width);
    if (now > 0 && now !== width) {
      width = now;
      flag(root, "narrow", width < 420);
      flag(root, "tiny", width < 300);
      lay(width);
    }
  };
  measure();
  if (!width) lay(640); // it is not on the page yet
  const observer = new ResizeObserver(measure);
  observer.observe(ruler);
  const events = Object.entries(listeners).flatMap(([traits, call]) => {
    const [update, sentence] = typeof call === "function" ? [call] : call;
    const listen = () => {
      update();
      if (sentence) voice.say(sentence());
    };
    return traits.split(" ").map((trait) => /** @type {const} */ ([`change:${trait}`, listen]));
  });
  for (const [event, call] of events) model.on(event, call);
  return () => {
    observer.disconnect();
    for (const [event, call] of events) model.off(event, call);
    for (const stop of undo) stop();
    voice.stop();
    root.remove();
  };
}
