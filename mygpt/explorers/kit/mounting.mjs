// How an explorer holds its state and stands on the page.

import { html } from "./elements.mjs";

/**
 * The one state object of an explorer: `fields` (what is derived or passing: the width, the hovered
 * cell) and the traits, by `get(trait)` and `write(changes)`, which sets those that differ.
 * @type {<T, F>(model: Kit.Model<T>, fields: F & ThisType<F & Kit.Store<T>>) => F & Kit.Store<T>}
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
  return Object.assign(fields, { get, write });
}

/** What each of several views makes of a state.
 * @type {<S, V extends ((state: S) => unknown)[]>(state: S, ...views: V) => { [I in keyof V]: ReturnType<V[I]> }} */
export function allViews(state, ...views) {
  return /** @type {any} */ (views.map((view) => view(state)));
}

/** What draws the content of a fold: at first, whenever it is unfolded, and as long as it is.
 * @type {(node: HTMLDetailsElement, draw: () => void) => () => void} */
export function unfolding(node, draw) {
  let first = true;
  node.addEventListener("toggle", () => {
    if (node.open) draw();
  });
  return () => {
    if (first || node.open) draw();
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

/**
 * Puts an explorer on the page and keeps it drawn: `layout(width)` at every new width, and the
 * listener of a trait when that trait changes. Returns the function that takes it down again.
 * @type {<T>(parts: Kit.Mounted<T>) => () => void}
 */
export function mount({ model, el, root, layout, listeners, undo }) {
  const ruler = html("div", { class: "mygpt-ruler" });
  root.prepend(ruler);
  layout(640);
  el.append(root);
  let width = 0;
  const measure = () => {
    const now = Math.floor(ruler.getBoundingClientRect().width);
    if (now > 0 && now !== width) {
      width = now;
      root.classList.toggle("mygpt-narrow", width < 420);
      root.classList.toggle("mygpt-tiny", width < 300);
      layout(width);
    }
  };
  measure();
  const observer = new ResizeObserver(measure);
  observer.observe(ruler);
  const calls = /** @type {[string, () => void][]} */ (Object.entries(listeners));
  const events = calls.map(([trait, call]) => /** @type {const} */ ([`change:${trait}`, () => call()]));
  for (const [event, call] of events) model.on(event, call);
  return () => {
    observer.disconnect();
    for (const [event, call] of events) model.off(event, call);
    for (const stop of undo) stop();
    root.remove();
  };
}
