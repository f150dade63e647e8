// What limits a run on how many devices: words and a strip over the picture.

import { svg } from "../kit/elements.mjs";
import { limitOf, limitStarts, limitZones, mostDevices, networkFrom } from "./count.mjs";
import { limitLabel, many } from "./words.mjs";

const [ROW, STRIP] = [18, 9]; // px of a row of words over the strip, and of the strip
const LETTER = 7.3; // px, at most about

/** The room that the words and the strip take over a picture.
 * @type {(narrow: boolean) => number} */
export const roomOf = (narrow) => (narrow ? 2 : 1) * ROW + STRIP + 10;

/** What is counted of a run, anew where more than its devices has changed.
 * @type {<V>(counted: (run: Scale.Run) => V) => (run: Scale.Run) => V} */
function counted(count) {
  /** @type {{ key: string; value: ReturnType<typeof count> } | undefined} */
  let known;
  return (run) => {
    const key = JSON.stringify({ ...run, devices: 0 });
    if (known?.key !== key) known = { key, value: count(run) };
    return known.value;
  };
}

/** @type {() => (run: Scale.Run) => Scale.Zone[]} */
export const zonesKept = () => counted(limitZones);

/** @type {[name: string, speed: number][]} */
const SLOWER = [
  ["10 Gbit/s", 1.25e9],
  ["100 Mbit/s", 12.5e6],
];

/** Of a run that no number of devices lets the network limit, over which slower network it is limited, and from where on.
 * @type {(run: Scale.Run) => string} */
function unmetText(run) {
  const { device } = run;
  if (networkFrom(run) !== null) return "";
  for (const [name, between] of SLOWER.filter(([, speed]) => speed < device.between)) {
    const from = networkFrom({ ...run, device: { ...device, between } });
    if (from !== null) return `The network never does; at ${name}, from ${many(from, "device")} on.`;
  }
  return "The network never does.";
}

/** What is said of a network that is never met, beside another limit but the memory.
 * @type {() => (run: Scale.Run) => string} */
export function networkKept() {
  const unmet = counted(unmetText);
  return (run) => (["arithmetic", "batch"].includes(limitOf(run)) ? unmet(run) : "");
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
        svg(`text.limit-${kindOf(text)}`, { x, y: y - ROW * (rows.length - 1 - i) - 5 }, text),
      ),
    ),
    ...zones.map(({ limit, from }, i) => {
      const [x, end] = [from, zones[i + 1]?.from ?? mostDevices(run)].map((one) => scaleX(Math.log10(one)));
      return svg(`rect.limit-${limit}`, { x, y, width: Math.max(end - x, 2), height: STRIP });
    }),
    ...starts
      .filter(({ limit, from }) => from > 1 && ["network", "batch"].includes(limit))
      .map(({ limit, from }) => {
        const x = scaleX(Math.log10(from));
        return svg(`path.whisker.limit-${limit}`, { d: `M${x} ${y}V${bottom}` });
      }),
  ];
}
