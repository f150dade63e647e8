// What a mouse or a finger does on a picture.

/** What takes some traits back to what they are when it is called.
 * @type {(state: { get(trait: any): any; write(changes: any): void }, ...traits: string[]) => () => () => void} */
export const keeping =
  ({ get, write }, ...traits) =>
  () => {
    const kept = Object.fromEntries(traits.map((trait) => [trait, get(trait)]));
    return () => write(kept);
  };

/** Where a pointer is on an element, as shares of its width and height.
 * @type {(node: Element, event: MouseEvent) => { x: number; y: number }} */
export function shareAt(node, event) {
  const { left, top, width, height } = node.getBoundingClientRect();
  return { x: (event.clientX - left) / (width || 1), y: (event.clientY - top) / (height || 1) };
}

/** Calls `move` with 1 at the arrow key down and -1 at that up, which then do nothing else.
 * @type {(node: HTMLElement, move: (step: number, event: KeyboardEvent) => void) => void} */
export function upAndDown(node, move) {
  node.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    move(step, event);
  });
}

const FINGER = 8; // pixels that a finger goes before it drags

/** What a finger wants that came down at `from`: as long as it has hardly moved, nothing yet.
 * @type {(from: PointerEvent, now: PointerEvent, free: boolean) => "drag" | "scroll" | ""} */
export function wish(from, now, free) {
  const [x, y] = [now.clientX - from.clientX, now.clientY - from.clientY].map(Math.abs);
  if (Math.hypot(x, y) < FINGER) return "";
  return free || x > y ? "drag" : "scroll";
}

let crowded = false; // whether a second finger has come down since the first, anywhere on the page
globalThis.document?.addEventListener("pointerdown", ({ isPrimary }) => void (crowded = !isPrimary), true);

/** @type {() => boolean} */
export const oneFinger = () => !crowded;

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
    if (event.button !== 0 || !event.isPrimary) return;
    const free = getComputedStyle(/** @type {Element} */ (event.target)).touchAction === "none";
    held = { id: event.pointerId, from: event, free, width: node.getBoundingClientRect().width, undo: null };
    if (event.pointerType === "mouse") begin(event);
  };
  /** @type {(event: PointerEvent) => void} */
  const moved = (event) => {
    if (!oneFinger()) breakOff();
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
    if (!held.undo && oneFinger()) move(event);
    held = null;
  };
  /** @type {(event: PointerEvent) => void} */
  const lost = (event) => {
    if (event.pointerId === held?.id && (event.type === "pointercancel" || event.target === node)) breakOff();
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
