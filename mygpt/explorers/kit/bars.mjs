// A stacked bar, and the swatches of its parts.

import { stacked } from "./amounts.mjs";
import { svg } from "./drawing.mjs";

/** @type {(mark: string) => SVGElement} */
export const swatch = (mark) =>
  svg(
    "svg",
    { class: "mygpt-swatch", width: 12, height: 12, "aria-hidden": "true" },
    svg("rect", { class: `mygpt-part mygpt-part-${mark}`, width: 12, height: 12, rx: 2 }),
  );

/**
 * A stacked bar of that height. `draw` takes the parts { mark, amount, text(pixels) }, the amount that
 * fills the width, and what the bar says to those who do not see it.
 * @type {(height: number) => { node: SVGElement; draw(parts: Kit.Part[], most: number, width: number, label: string): void }}
 */
export function stackedBar(height) {
  const node = svg("svg", { class: "mygpt-picture mygpt-stacked", role: "img" });
  /** @type {(parts: Kit.Part[], most: number, width: number, label: string) => void} */
  const draw = (parts, most, width, label) => {
    const places = stacked(
      parts.map(({ amount }) => amount),
      most,
      width,
    );
    node.setAttribute("viewBox", `0 0 ${width} ${height}`);
    node.setAttribute("width", width);
    node.setAttribute("height", height);
    node.setAttribute("aria-label", label);
    const foot = svg("path", { class: "mygpt-axis", d: `M0.5 0V${height}` }); // of a bar too short to see
    node.replaceChildren(
      foot,
      ...parts.flatMap(({ mark, text }, i) => {
        const { start, size } = places[i];
        const wide = size > 3 ? size - 1 : size;
        const words = text(size);
        const place = { x: start + size / 2, y: height / 2, dy: "0.35em", "text-anchor": "middle" };
        return [
          svg("rect", { class: `mygpt-part mygpt-part-${mark}`, x: start, width: wide, height }),
          ...(words ? [svg("text", { class: `mygpt-on-${mark}`, ...place }, words)] : []),
        ];
      }),
    );
  };
  return { node, draw };
}
