// The elements that every explorer is made of.

import { clamp, emptiest, tooltipPlaces } from "./geometry.mjs";

const SVG = "http://www.w3.org/2000/svg";

/** Sets the attributes that have a value; a function, as `onclick`, listens to its event.
 * @type {(node: Element, attributes: Kit.Attributes) => void} */
export function setAll(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
}

/** A new element. Its tag may name classes, as "p.note" for mygpt-note; it is given attributes, and as children texts, nodes, views
 * (their nodes) and lists of these. Null, undefined and false add nothing.
 * @type {(create: (name: string) => Element, tag: string, given: Kit.Content[]) => any} */
function made(create, tag, given) {
  const [name, ...classes] = tag.split(".");
  const node = create(name);
  if (classes.length) node.setAttribute("class", classes.map((one) => `mygpt-${one}`).join(" "));
  for (const one of /** @type {any[]} */ (given).flat(Infinity)) {
    if (typeof one === "string" || one instanceof Node) node.append(one);
    else if (one?.node) node.append(one.node);
    else if (one) setAll(node, one);
  }
  return node;
}

/** @type {<K extends keyof HTMLElementTagNameMap>(tag: K | `${K}.${string}`, ...given: Kit.Content[]) => HTMLElementTagNameMap[K]} */
export const html = (tag, ...given) => made((name) => document.createElement(name), tag, given);

/** @type {<K extends keyof SVGElementTagNameMap>(tag: K | `${K}.${string}`, ...given: Kit.Content[]) => SVGElementTagNameMap[K]} */
export const svg = (tag, ...given) => made((name) => document.createElementNS(SVG, name), tag, given);

/** Attributes of what only repeats for the eye what is said elsewhere. */
export const UNHEARD = { "aria-hidden": "true" };

/** Gives an element a class, or takes it away.
 * @type {(node: Element, name: string, on?: boolean) => void} */
export const flag = (node, name, on = true) => void node.classList.toggle(`mygpt-${name}`, on);

/** Draws a path anew.
 * @type {(path: Element, d: string) => void} */
export const trace = (path, d) => path.setAttribute("d", d);

/** @type {<G extends unknown[]>(views: Iterable<{ draw(...given: G): void }>, ...given: G) => void} */
export function drawAll(views, ...given) {
  for (const view of views) view.draw(...given);
}

/** Writes a text that may be cut on the page, with the whole of it as its title.
 * @type {(text: string, node?: HTMLElement) => HTMLElement} */
export function titled(text, node = html("bdi")) {
  node.textContent = text;
  node.title = text;
  return node;
}

/** A paragraph that says `text(…)` of what it is drawn with.
 * @type {<G extends unknown[]>(name: string, text: (...given: G) => string) => { node: HTMLElement; draw(...given: G): void }} */
export function paragraph(name, text) {
  const node = html("p", { class: name });
  /** @type {(...given: Parameters<typeof text>) => void} */
  const draw = (...given) => {
    node.textContent = text(...given);
  };
  return { node, draw };
}

/** A table with a caption that is only heard: what comes before its body, and the body's rows.
 * @type {(name: string, caption: string, head: Node[], rows: Node[]) => HTMLTableElement} */
export function table(name, caption, head, rows) {
  const told = html("caption.unseen", caption);
  return html("table", { class: `${name} mygpt-table` }, told, head, html("tbody", rows));
}

/** The element of an explorer: its parts, and at the end what speaks for it.
 * @param {string} name
 * @param {string} label
 * @param {Kit.Content[]} parts */
export function explorerRoot(name, label, ...parts) {
  const voice = speaker();
  const given = { class: `mygpt-explorer mygpt-${name}`, role: "group", "aria-label": label };
  return { root: html("div", given, parts, voice), voice };
}

/** A box of rows beside the cursor, where it hides the least of `points`. */
export function tooltip() {
  const node = html("div.tooltip", UNHEARD, { hidden: true });
  /** @type {(x: number, axes: Kit.Box, width: number, points: Kit.Pair[], rows: Kit.Child[]) => void} */
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
  const hide = () => {
    node.hidden = true;
  };
  return { node, show, hide };
}

/** Says a sentence to screen readers once the reader has rested for a moment, and takes it away later.
 * @type {() => { node: HTMLElement; say(sentence: string): void; stop(): void }} */
export function speaker() {
  const node = html("p.unseen", { role: "status" });
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
