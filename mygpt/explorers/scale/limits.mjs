// What limits a run on how many devices: words and a strip over the picture.

import { svg } from "../kit/elements.mjs";
import { limitStarts, limitZones, mostDevices } from "./count.mjs";
import { limitLabel } from "./words.mjs";

const [ROW, STRIP] = [18, 9]; // px of a row of words over the strip, and of the strip
const LETTER = 6.7; // px

/** The room that the words and the strip take over a picture.
 * @type {(narrow: boolean) => number} */
export const roomOf = (narrow) => (narrow ? 2 : 1) * ROW + STRIP + 10;

/** The limits of a run, counted anew where more than its devices has changed.
 * @type {() => (run: Scale.Run) => Scale.Zone[]} */
export function zonesKept() {
  let known = { key: "", zones: /** @type {Scale.Zone[]} */ ([]) };
  return (run) => {
    const key = JSON.stringify({ ...run, devices: 0 });
    if (known.key !== key) known = { key, zones: limitZones(run) };
    return known.zones;
  };
}

/** Where the words of the limits stand in a row over the strip: each where its limit begins, or as near as there is room.
 * @type {(labels: { text: string; at: number }[], box: { left: number; right: number }) => { text: string; x: number }[]} */
export function rowOf(labels, { left, right }) {
  let end = right;
  return labels
    .toReversed()
    .map(({ text, at }) => {
      const width = text.length * LETTER;
      const x = Math.min(at, end - width);
      if (x >= left - 2) end = x - 12;
      return { text, x };
    })
    .filter(({ x }) => x >= left - 2)
    .toReversed();
}

/** Over the picture: what limits the run on how many devices, in words and as a strip.
 * @type {(zones: Scale.Zone[], run: Scale.Run, axes: Kit.Axes, narrow: boolean) => SVGElement[]} */
export function limitParts(zones, run, { scaleX, left, right, top, bottom }, narrow) {
  const starts = limitStarts(zones);
  const labels = starts.map((start) => ({
    text: limitLabel(start),
    at: scaleX(Math.log10(start.from)),
    limit: start.limit,
  }));
  const low = ["memory", "arithmetic"];
  const rows = narrow
    ? [labels.filter(({ limit }) => low.includes(limit)), labels.filter(({ limit }) => !low.includes(limit))]
    : [labels];
  const y = top - STRIP - 6;
  /** @type {(text: string) => string} */
  const kindOf = (text) => text.split(" ")[0];
  return [
    svg("text", { x: left - 8, y: y + STRIP, "text-anchor": "end" }, "limit"),
    ...rows.flatMap((row, i) =>
      rowOf(row, { left, right }).map(({ text, x }) =>
        svg("text", { class: `mygpt-limit-${kindOf(text)}`, x, y: y - ROW * (rows.length - 1 - i) - 5 }, text),
      ),
    ),
    ...zones.map(({ limit, from }, i) => {
      const [x, end] = [from, zones[i + 1]?.from ?? mostDevices(run)].map((one) => scaleX(Math.log10(one)));
      return svg("rect", { class: `mygpt-limit-${limit}`, x, y, width: Math.max(end - x, 2), height: STRIP });
    }),
    ...starts
      .filter(({ limit, from }) => from > 1 && ["network", "batch"].includes(limit))
      .map(({ limit, from }) => {
        const x = scaleX(Math.log10(from));
        return svg("path", { class: `mygpt-whisker mygpt-limit-${limit}`, d: `M${x} ${y}V${bottom}` });
      }),
  ];
}
