// Shared by every explorer: geometry and number formats first (no DOM, tested under node),
// then the few pieces of page that all of them are made of.

const SVG = "http://www.w3.org/2000/svg";

/** A number with a set count of decimals and a true minus sign; a tie goes to the even digit.
 * @type {(value: number, decimals: number) => string} */
export function fixed(value, decimals) {
  const size = Math.abs(value);
  const twice = 2 * size * 10 ** decimals;
  const tie = twice % 2 === 1 && /50{39}$/.test(size.toFixed(decimals + 40));
  const even = tie ? (2 * Math.round(twice / 4)) / 10 ** decimals : size;
  const text = even.toFixed(decimals);
  return (value < 0 && Number(text) !== 0 ? "−" : "") + text;
}

/** @type {(value: number, low: number, high: number) => number} */
export function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

/** Maps [d0, d1] onto [r0, r1]; `invert` goes back.
 * @type {(domain: Kit.Pair, range: Kit.Pair) => Kit.Scale} */
export function linearScale([d0, d1], [r0, r1]) {
  const slope = (r1 - r0) / (d1 - d0 || 1);
  const scale = (/** @type {number} */ value) => r0 + (value - d0) * slope;
  const invert = (/** @type {number} */ position) => d0 + (position - r0) / (slope || 1);
  return Object.assign(scale, { invert });
}

/** The smallest of 1, 2 and 5 times a power of ten that cuts `span` into at most `count` parts.
 * @type {(span: number, count: number) => number} */
export function niceStep(span, count) {
  const raw = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5].find((candidate) => candidate * power >= raw * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** Round values from `low` to `high`, at most `count` steps of them, with their labels.
 * @type {(low: number, high: number, count: number, smallest?: number) => Kit.Tick[]} */
export function linearTicks(low, high, count, smallest = 0) {
  const step = Math.max(niceStep(high - low, count), smallest);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) {
    ticks.push({ at: i * step || 0, label: fixed(i * step, decimals) });
  }
  return ticks;
}

/** Smallest and largest finite number of several lists, or undefined when there is none.
 * @type {(lists: Iterable<Iterable<number>>) => Kit.Pair | undefined} */
export function extent(lists) {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists) {
    for (const value of list) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : undefined;
}

/** Index of the first of several boxes { left, right, top, bottom } that hold the fewest points.
 * @type {(boxes: Kit.Box[], points: Kit.Pair[]) => number} */
export function emptiest(boxes, points) {
  const counts = boxes.map(
    ({ left, right, top, bottom }) =>
      points.filter(([x, y]) => x >= left && x <= right && y >= top && y <= bottom).length,
  );
  return counts.indexOf(Math.min(...counts));
}

/** The rectangle of a bar from the line of zero to `value`, never thinner than `least` pixels.
 * @type {(value: number, scale: (value: number) => number, zero?: number, least?: number) => { start: number; size: number }} */
export function barBox(value, scale, zero = 0, least = 1) {
  const [a, b] = [scale(zero), scale(value)];
  const size = Math.max(Math.abs(b - a), value === zero ? 0 : least);
  return { start: b < a ? a - size : a, size };
}

/** Softmax of a list of numbers, of which -Infinity gets 0.
 * @type {(numbers: Iterable<number>) => number[]} */
export function softmax(numbers) {
  const largest = Math.max(...numbers);
  const powers = Array.from(numbers, (number) => Math.exp(number - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** The float32 numbers of a binary trait (a DataView that may start anywhere).
 * @type {(view: DataView) => Float32Array} */
export function floats(view) {
  return new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

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

/** @type {<N extends Element>(node: N, attributes: Kit.Attributes, children: Kit.Child[]) => N} */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** @type {<K extends keyof HTMLElementTagNameMap>(tag: K, attributes?: Kit.Attributes, ...children: Kit.Child[]) => HTMLElementTagNameMap[K]} */
export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** @type {<K extends keyof SVGElementTagNameMap>(tag: K, attributes?: Kit.Attributes, ...children: Kit.Child[]) => SVGElementTagNameMap[K]} */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Writes a text that may be cut on the page, with the whole of it as its title.
 * @type {(text: string, node?: HTMLElement) => HTMLElement} */
export function titled(text, node = html("bdi")) {
  node.textContent = text;
  node.title = text;
  return node;
}

/** What takes some traits back to what they are when it is called.
 * @type {(state: { get(trait: any): any; write(changes: any): void }, ...traits: string[]) => () => () => void} */
export const keeping =
  ({ get, write }, ...traits) =>
  () => {
    const kept = Object.fromEntries(traits.map((trait) => [trait, get(trait)]));
    return () => write(kept);
  };

const FINGER = 8; // pixels that a finger goes before it drags

/** What a finger wants that came down at `from`: as long as it has hardly moved, nothing yet.
 * @type {(from: PointerEvent, now: PointerEvent, free: boolean) => "drag" | "scroll" | ""} */
function wish(from, now, free) {
  const [x, y] = [now.clientX - from.clientX, now.clientY - from.clientY].map(Math.abs);
  if (Math.hypot(x, y) < FINGER) return "";
  return free || x > y ? "drag" : "scroll";
}

/**
 * Calls `move` with the event while a pointer is held down on `node`; returns an undo function. A mouse acts
 * at once. A finger acts when it is lifted where it came down, and drags once it has gone sideways; before
 * that the page may scroll. Where the style leaves the page no touch at all, it drags in any direction.
 * `keep()` returns what takes a drag back that the browser breaks off.
 * @type {(node: HTMLElement | SVGElement, move: (event: PointerEvent) => void, keep: () => () => void, focus?: HTMLElement) => () => void}
 */
export function dragging(node, move, keep, focus) {
  /** @type {{ id: number; from: PointerEvent; free: boolean; width: number; undo: (() => void) | null } | null} */
  let held = null;
  /** @type {(event: PointerEvent) => void} */
  const begin = (event) => {
    if (!held) return;
    held.undo = keep();
    node.setPointerCapture(held.id);
    move(event);
  };
  const breakOff = () => {
    held?.undo?.();
    held = null;
  };
  /** @type {(event: PointerEvent) => void} */
  const down = (event) => {
    if (held) breakOff(); // a second finger
    if (event.button !== 0 || !event.isPrimary) return;
    const free = getComputedStyle(/** @type {Element} */ (event.target)).touchAction === "none";
    held = { id: event.pointerId, from: event, free, width: node.getBoundingClientRect().width, undo: null };
    if (event.pointerType === "mouse") begin(event);
  };
  /** @type {(event: PointerEvent) => void} */
  const moved = (event) => {
    if (!held || event.pointerId !== held.id) return;
    const { from, free, width, undo } = held;
    const wanted = undo ? "drag" : wish(from, event, free);
    if (wanted === "scroll" || width !== node.getBoundingClientRect().width) held = null;
    else if (undo) move(event);
    else if (wanted) begin(event);
  };
  /** @type {(event: PointerEvent) => void} */
  const up = (event) => {
    if (event.pointerId !== held?.id) return;
    if (!held.undo) move(event);
    held = null;
  };
  /** @type {(event: PointerEvent) => void} */
  const lost = (event) => {
    if (event.pointerId === held?.id) breakOff();
  };
  /** @type {(event: Event) => void} */
  const hand = (event) => {
    event.preventDefault();
    focus?.focus({ preventScroll: true });
  };
  /** @type {Record<string, (event: any) => void>} */
  const listeners = {
    pointerdown: down,
    pointermove: moved,
    pointerup: up,
    pointercancel: lost,
    lostpointercapture: lost,
    mousedown: hand,
  };
  for (const [type, listener] of Object.entries(listeners)) node.addEventListener(type, listener);
  return () => {
    for (const [type, listener] of Object.entries(listeners)) node.removeEventListener(type, listener);
  };
}

/**
 * Calls `show` with what `under(event)` gives, a number or an object, when a mouse over `node` comes
 * to another one, and with null when it leaves. Returns a function that forgets the last one, so
 * that it is shown again at the next move.
 * @type {<C>(node: HTMLElement | SVGElement, under: (event: PointerEvent) => C, show: (cell: C | null) => void) => () => void}
 */
export function hovering(node, under, show) {
  let last = "null";
  /** @type {(cell: any) => void} */
  const tell = (cell) => {
    const now = JSON.stringify(cell);
    if (now === last) return;
    last = now;
    show(cell);
  };
  const moved = (/** @type {any} */ event) => tell(event.pointerType === "mouse" ? under(event) : null);
  node.addEventListener("pointermove", moved);
  node.addEventListener("pointerleave", () => tell(null));
  return () => {
    last = "null";
  };
}

/** Places for a tooltip beside `x`, on the side with more room: high, low and in the middle.
 * @type {(x: number, axes: Kit.Box, size: Kit.Size) => Kit.Box[]} */
export function tooltipPlaces(x, { left, right, top, bottom }, size) {
  const from = x > (left + right) / 2 ? x - 14 - size.width : x + 14;
  return [top, bottom - 16 - size.height, (top + bottom - size.height) / 2].map((y) => ({
    left: from,
    right: from + size.width,
    top: y,
    bottom: y + size.height,
  }));
}

/** A box of rows beside the cursor, where it hides the least of `points`.
 * @type {() => Kit.Tooltip} */
export function tooltip() {
  const node = html("div", { class: "mygpt-tooltip", "aria-hidden": "true", hidden: true });
  /** @type {Kit.Tooltip["show"]} */
  const show = (x, axes, width, points, rows) => {
    node.replaceChildren(...rows);
    node.hidden = false;
    const places = tooltipPlaces(x, axes, { width: 210, height: 14 + 21 * rows.length });
    const place = places[emptiest(places, points)];
    const wide = node.offsetWidth;
    const from = place.left > x ? place.left : x - 14 - wide;
    node.style.top = `${place.top}px`;
    node.style.left = `${clamp(from, 0, Math.max(0, width - wide))}px`;
  };
  return {
    node,
    show,
    hide: () => {
      node.hidden = true;
    },
  };
}

/** What each of several views makes of a state.
 * @type {<S, V extends ((state: S) => unknown)[]>(state: S, ...views: V) => { [I in keyof V]: ReturnType<V[I]> }} */
export function allViews(state, ...views) {
  return /** @type {any} */ (views.map((view) => view(state)));
}

/** Says a sentence to screen readers once the reader has rested for a moment, and takes it away later.
 * @type {() => { node: HTMLElement; say(sentence: string): void; stop(): void }} */
export function speaker() {
  const node = html("p", { class: "mygpt-unseen", role: "status" });
  let timer = 0;
  /** @type {(sentence: string) => void} */
  const say = (sentence) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      node.textContent = sentence;
      timer = setTimeout(() => node.replaceChildren(), 20_000);
    }, 600);
  };
  return { node, say, stop: () => clearTimeout(timer) };
}

/** Puts a hash into the page's address and copies the whole of it; returns what became of it.
 * @type {(hash: string) => Promise<string>} */
export async function copyLink(hash) {
  const address = `${location.href.split("#")[0]}${hash}`;
  try {
    history.replaceState(history.state, "", hash);
  } catch {
    // a page that may not change its address: the link is copied all the same
  }
  try {
    await navigator.clipboard.writeText(address);
    return "The link is copied.";
  } catch {
    return "The link is in the address bar.";
  }
}

/**
 * Follows the state in the page's address: `take(hash)` returns whether the hash is meant for this explorer, and
 * throws why it cannot be used, which `tell` says; the explorer then comes into view. Returns an undo function.
 * @type {(root: Element, take: (hash: string) => boolean, tell: (note: string) => void) => () => void}
 */
export function followLinks(root, take, tell) {
  const show = () => root.scrollIntoView();
  const follow = () => {
    try {
      if (!take(location.hash)) return;
    } catch (error) {
      tell(`The link was not used: ${/** @type {Error} */ (error).message}.`);
    }
    show();
    if (document.readyState !== "complete") addEventListener("load", show, { once: true });
  };
  addEventListener("hashchange", follow);
  requestAnimationFrame(follow); // once it is in the page
  return () => removeEventListener("hashchange", follow);
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
