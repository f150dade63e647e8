// The heads beside each other, each as a small map of its weights, of which one is chosen.

import { times } from "../kit/geometry.mjs";
import { choice } from "../kit/controls.mjs";
import { UNHEARD, html } from "../kit/elements.mjs";

const ACROSS = 8; // heads in a row, at most

/** `paint` draws the maps, and `draw` says which is chosen.
 * @type {(state: Attention.State, weightsAt: (head: number) => Float64Array, colours: (weights: Float64Array) => Uint8ClampedArray<ArrayBuffer>) => { node: HTMLElement; paint(): void; draw(): void }} */
export function headsView({ length, get, write }, weightsAt, colours) {
  const count = get("heads");
  const maps = times(count, () => html("canvas", UNHEARD, { width: length, height: length }));
  /** @type {[number, Node][]} */
  const options = maps.map((map, head) => [head, html("span", map, String(head))]);
  const { node: group, show } = choice("Head", options, (head) => write({ head }));
  const node = html("div.heads.muted", html("span", UNHEARD, "Head"), group);
  node.style.setProperty("--across", String(Math.min(count, ACROSS)));
  const paint = () => {
    if (!node.isConnected) return; // the colours are known on a page alone
    maps.forEach((map, head) => {
      map.getContext("2d")?.putImageData(new ImageData(colours(weightsAt(head)), length, length), 0, 0);
    });
  };
  return { node, paint, draw: () => show(get("head")) };
}
