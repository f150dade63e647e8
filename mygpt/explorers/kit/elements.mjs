// The elements that every explorer is made of.

import { clamp, emptiest, tooltipPlaces } from "./geometry.mjs";

const SVG = "http://www.w3.org/2000/svg";

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
