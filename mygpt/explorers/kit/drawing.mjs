// Shared by every explorer: geometry and number formats first (no DOM, tested under node),
// then the few pieces of page that all of them are made of.

const SVG = "http://www.w3.org/2000/svg";

/** A number with a set count of decimals and a true minus sign; a tie goes to the even digit. */
export function fixed(value, decimals) {
  const size = Math.abs(value);
  const twice = 2 * size * 10 ** decimals;
  const tie = twice % 2 === 1 && /50{39}$/.test(size.toFixed(decimals + 40));
  const even = tie ? 2 * Math.round(twice / 4) / 10 ** decimals : size;
  const text = even.toFixed(decimals);
  return (value < 0 && Number(text) !== 0 ? "−" : "") + text;
}

export function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

/** Maps [d0, d1] onto [r0, r1]; `invert` goes back. */
export function linearScale([d0, d1], [r0, r1]) {
  const slope = (r1 - r0) / (d1 - d0 || 1);
  const scale = (value) => r0 + (value - d0) * slope;
  scale.invert = (position) => d0 + (position - r0) / (slope || 1);
  return scale;
}

/** The smallest of 1, 2 and 5 times a power of ten that cuts `span` into at most `count` parts. */
export function niceStep(span, count) {
  const raw = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= raw * (1 - 1e-9));
  return factor * power;
}

/** Round values from `low` to `high`, at most `count` steps of them, with their labels. */
export function linearTicks(low, high, count, smallest = 0) {
  const step = Math.max(niceStep(high - low, count), smallest);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) {
    ticks.push({ at: i * step || 0, label: fixed(i * step, decimals) });
  }
  return ticks;
}

/** Smallest and largest finite number of several lists, or undefined when there is none. */
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

/** Index of the first of several boxes { left, right, top, bottom } that hold the fewest points. */
export function emptiest(boxes, points) {
  const counts = boxes.map(({ left, right, top, bottom }) =>
    points.filter(([x, y]) => x >= left && x <= right && y >= top && y <= bottom).length);
  return counts.indexOf(Math.min(...counts));
}

/** The rectangle of a bar from the line of zero to `value`, never thinner than `least` pixels. */
export function barBox(value, scale, zero = 0, least = 1) {
  const [a, b] = [scale(zero), scale(value)];
  const size = Math.max(Math.abs(b - a), value === zero ? 0 : least);
  return { start: b < a ? a - size : a, size };
}

/** Softmax of a list of numbers, of which -Infinity gets 0. */
export function softmax(numbers) {
  const largest = Math.max(...numbers);
  const powers = Array.from(numbers, (number) => Math.exp(number - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** The float32 numbers of a binary trait (a DataView that may start anywhere). */
export function floats(view) {
  return new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

/**
 * The one state object of an explorer: `fields` (what is derived or passing: the width, the hovered
 * cell) and the traits, by `get(trait)` and `write(changes)`, which sets those that differ.
 */
export function store(model, fields = {}) {
  const get = (trait) => model.get(trait);
  const write = (changes) => {
    const fresh = Object.entries(changes).filter(([trait, value]) => get(trait) !== value);
    for (const [trait, value] of fresh) model.set(trait, value);
    if (fresh.length) model.save_changes();
  };
  return Object.assign(fields, { get, write });
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** An element that takes the keyboard: JupyterLab must leave its keys alone. */
export function control(tag, attributes = {}, ...children) {
  return html(tag, { "data-lm-suppress-shortcuts": "true", ...attributes }, ...children);
}

/** Writes a text that may be cut on the page, with the whole of it as its title. */
export function titled(text, node = html("bdi")) {
  node.textContent = text;
  node.title = text;
  return node;
}

/** A secondary button; while `able(false)` it keeps its focus and does nothing. */
export function button(text, press, attributes = {}) {
  const node = control("button", { type: "button", class: "mygpt-button", ...attributes }, text);
  let ready = true;
  const able = (now) => {
    ready = now;
    node.setAttribute("aria-disabled", !now);
  };
  node.addEventListener("click", () => {
    if (ready) press();
  });
  return { node, able };
}

/** A group of buttons of which one is pressed; `show(value)` presses another. */
export function choice(label, options, choose) {
  const buttons = options.map(([value, text]) => {
    const one = control("button", { type: "button" }, text);
    one.addEventListener("click", () => choose(value));
    return one;
  });
  const group = html("div", { class: "mygpt-choice", role: "group", "aria-label": label }, ...buttons);
  const show = (value) => {
    options.forEach(([option], i) => buttons[i].setAttribute("aria-pressed", option === value));
  };
  return { node: group, show };
}

/** A choice with its name over it. */
export function named(label, options, choose) {
  const part = choice(label, options, choose);
  const title = html("span", { class: "mygpt-slider-head", "aria-hidden": "true" }, label);
  return { ...part, node: html("div", { class: "mygpt-named" }, title, part.node) };
}

/** A labelled slider over a short list of values; `show(value)` moves it. */
export function slider(label, values, format, choose) {
  const input = control("input", { type: "range", min: 0, max: values.length - 1, step: 1 });
  const output = html("span", { class: "mygpt-number", "aria-hidden": "true" });
  const head = html("span", { class: "mygpt-slider-head" }, html("span", {}, label), output);
  const node = html("label", { class: "mygpt-slider" }, head, input);
  const at = (index) => {
    const text = format(values[index]);
    input.value = index;
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
    input.style.setProperty("--filled", `${(100 * index) / (values.length - 1)}%`);
  };
  input.addEventListener("input", () => choose(values[input.valueAsNumber]));
  return { node, show: (value) => at(values.indexOf(value)) };
}

/** A labelled slider from 0 to a last value that may change; `show(index, last, text)` moves it. */
export function stepper(label, choose) {
  const input = control("input", { type: "range", min: 0, step: 1 });
  const output = html("span", { class: "mygpt-number", "aria-hidden": "true" });
  const head = html("span", { class: "mygpt-slider-head" }, html("span", {}, label), output);
  const node = html("label", { class: "mygpt-slider" }, head, input);
  input.addEventListener("input", () => choose(input.valueAsNumber));
  const show = (index, last, text) => {
    input.max = last;
    input.value = index;
    input.disabled = last === 0;
    input.setAttribute("aria-valuetext", text);
    input.style.setProperty("--filled", `${(100 * index) / (last || 1)}%`);
    output.textContent = text;
  };
  return { node, show };
}

/** A labelled checkbox; `show(checked)` sets it. */
export function tick(content, choose) {
  const input = control("input", { type: "checkbox" });
  input.addEventListener("change", () => choose(input.checked));
  const node = html("label", { class: "mygpt-tick" }, input, ...content);
  return { node, show: (checked) => { input.checked = checked; } };
}

/**
 * A native range input laid over the x axis of a picture, so that its thumb is the handle of the
 * cursor: arrow keys, touch and screen readers come with it.
 */
export function axisHandle(label, choose) {
  const input = control("input", { type: "range", class: "mygpt-handle", "aria-label": label, step: 1 });
  input.addEventListener("input", () => choose(input.valueAsNumber));
  const place = ({ left, right, bottom }) => {
    input.style.left = `${left - 12}px`;
    input.style.width = `${right - left + 24}px`;
    input.style.top = `${bottom - 22}px`;
  };
  const show = (index, last, text) => {
    input.max = last;
    input.value = index;
    input.setAttribute("aria-valuetext", text);
  };
  return { node: input, place, show };
}

/** Calls `move` with the event while a pointer is held down on `node`; returns an undo function. */
export function dragging(node, move, focus) {
  let held = null;
  const down = (event) => {
    if (event.button !== 0) return;
    held = event.pointerId;
    node.setPointerCapture(held);
    move(event);
  };
  const moved = (event) => {
    if (event.pointerId === held) move(event);
  };
  const up = (event) => {
    if (event.pointerId === held) held = null;
  };
  const hand = (event) => {
    event.preventDefault();
    focus?.focus({ preventScroll: true });
  };
  const listeners = {
    pointerdown: down, pointermove: moved, pointerup: up, pointercancel: up, mousedown: hand,
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
 */
export function hovering(node, under, show) {
  let last = "null";
  const tell = (cell) => {
    const now = JSON.stringify(cell);
    if (now === last) return;
    last = now;
    show(cell);
  };
  node.addEventListener("pointermove", (event) =>
    tell(event.pointerType === "mouse" ? under(event) : null));
  node.addEventListener("pointerleave", () => tell(null));
  return () => { last = "null"; };
}

/** Places for a tooltip beside `x`, on the side with more room: high, low and in the middle. */
export function tooltipPlaces(x, { left, right, top, bottom }, size) {
  const from = x > (left + right) / 2 ? x - 14 - size.width : x + 14;
  return [top, bottom - 16 - size.height, (top + bottom - size.height) / 2].map((y) => (
    { left: from, right: from + size.width, top: y, bottom: y + size.height }));
}

/** A box of rows beside the cursor, where it hides the least of `points`. */
export function tooltip() {
  const node = html("div", { class: "mygpt-tooltip", "aria-hidden": "true", hidden: true });
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
  return { node, show, hide: () => { node.hidden = true; } };
}

/** Says a sentence to screen readers once the reader has rested for a moment. */
export function speaker() {
  const node = html("p", { class: "mygpt-unseen", role: "status" });
  let timer = 0;
  const say = (sentence) => {
    clearTimeout(timer);
    timer = setTimeout(() => { node.textContent = sentence; }, 600);
  };
  return { node, say, stop: () => clearTimeout(timer) };
}

/** Puts a hash into the page's address and copies the whole of it; returns what became of it. */
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

/** Calls `pause` when the explorer is no longer seen; returns an undo function. */
export function unseen(root, pause) {
  const hidden = () => document.hidden && pause();
  const observer = new IntersectionObserver((entries) => entries.at(-1).isIntersecting || pause());
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
  const events = Object.entries(listeners).map(([trait, call]) => [`change:${trait}`, () => call()]);
  for (const [event, call] of events) model.on(event, call);
  return () => {
    observer.disconnect();
    for (const [event, call] of events) model.off(event, call);
    for (const stop of undo) stop();
    root.remove();
  };
}
