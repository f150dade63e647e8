// A stacked bar, and the swatches of its parts.

import { stacked } from "../amounts.mjs";
import { UNHEARD, setAll, svg } from "../elements.mjs";

/** @type {(mark: string) => SVGElement} */
export const swatch = (mark) =>
  svg(
    "svg.swatch",
    UNHEARD,
    { width: 12, height: 12 },
    svg(`rect.part.part-${mark}`, { width: 12, height: 12, rx: 2 }),
  );

/** Where in a part its words stand: on the larger side of what is drawn across the bar at `line`.
 * @type {(part: { start: number; size: number }, line: number) => { start: number; size: number }} */
export function besideLine({ start, size }, line) {
  const before = line - start;
  if (before <= 0 || before >= size) return { start, size };
  return before > size / 2 ? { start, size: before } : { start: line, size: size - before };
}

/**
 * A stacked bar of that height. `draw` takes the parts { mark, amount, text(pixels) }, the amount that
 * fills the width, what the bar says to those who do not see it, and where a line crosses it.
 * @type {(height: number) => { node: SVGElement; draw(parts: Kit.Part[], most: number, width: number, label: string, line?: number): void }}
 */
export function stackedBar(height) {
  const node = svg("svg.picture.stacked", { role: "img" });
  /** @type {(parts: Kit.Part[], most: number, width: number, label: string, line?: number) => void} */
  const draw = (parts, most, width, label, line = 0) => {
    const places = stacked(
      parts.map(({ amount }) => amount),
      most,
      width,
    );
    setAll(node, { viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": label });
    const foot = svg("path.axis", { d: `M0.5 0V${height}` }); // of a bar too short to see
    node.replaceChildren(
      foot,
      ...parts.flatMap(({ mark, text }, i) => {
        const { start, size } = places[i];
        const wide = size > 3 ? size - 1 : size;
        const room = besideLine({ start, size }, line);
        const words = text(room.size);
        const place = { x: room.start + room.size / 2, y: height / 2, dy: "0.35em", "text-anchor": "middle" };
        return [
          svg(`rect.part.part-${mark}`, { x: start, width: wide, height }),
          ...(words ? [svg(`text.on-${mark}`, { ...place }, words)] : []),
        ];
      }),
    );
  };
  return { node, draw };
}
