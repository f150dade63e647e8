// Where the stages of a drawn block stand, and the wires between them; no page is touched here.

import { bandScale, clamp, times, total } from "./geometry.mjs";

/** Where a stage may stand in a block, in order, with what stands there when no stage does.
 * @type {Record<string, string>} */
export const PLACE_NAMES = {
  input: "stream",
  norm1: "norm",
  attention: "attention",
  middle: "sum",
  norm2: "norm",
  hidden: "hidden layer",
  activation: "activation",
  network: "network",
  output: "sum",
};
const STREAM = ["input", "middle", "output"];
const BRANCHES = ["attention", "feed-forward network"];
const DOT = 11; // px: the radius of a sum
const SPOT = 8; // px: the radius of any other stage on the stream
const BOX = 44; // px: the height of a norm, an attention or a layer
const TALL = 520; // px: a narrower block is drawn from the top down
const APART = 84; // px: between the stages of a line, at least
const THICKEST = 8; // px: of the wires

/** The places that a block shows: the hidden layer and its activation only where they are stages.
 * @type {(places: string[]) => string[]} */
export function placesOf(places) {
  return Object.keys(PLACE_NAMES).filter(
    (place) => !["hidden", "activation"].includes(place) || places.includes(place),
  );
}

/** The boxes of the two branches, in order.
 * @type {(places: string[]) => [string[], string[]]} */
function branchesOf(places) {
  const boxes = placesOf(places).filter((place) => !STREAM.includes(place));
  return [boxes.slice(0, 2), boxes.slice(2)];
}

/** Boxes of these widths in a row.
 * @type {(places: string[], left: number, top: number, widths: number[], gap: number) => Kit.BlockBoxes} */
function boxesOf(places, left, top, widths, gap) {
  let right = left - gap;
  const spots = places.map((place, i) => {
    const from = right + gap;
    right = from + widths[i];
    return { place, left: from, top, width: widths[i], height: BOX };
  });
  return { spots, left, right, top, middle: top + BOX / 2, bottom: top + BOX, enter: left + widths[0] / 2 };
}

/** The widths of boxes in so much room: the longer its name, the wider a box.
 * @type {(names: string[], room: number) => number[]} */
export function widthsFor(names, room) {
  const shares = names.map((name) => clamp(name.length, 7, 10) + 2);
  const all = total(shares);
  return shares.map((share) => Math.min((room * share) / all, 11 * share));
}

/** A stage on the stream: the place of its dot, that of its words, and how wide they may be.
 * @type {(place: string, dot: Kit.Pair, words: Kit.Pair, align: string, width: number, lines?: number) => Kit.BlockSpot} */
const onStream = (place, dot, [left, top], align, width, lines = 2) => {
  return { place, dot, left, top, align, width, height: 18 * lines };
};

/** A wire through the points with these coordinates: x, y, x, y and so on.
 * @type {(place: string, ...numbers: number[]) => Kit.BlockWire} */
function wire(place, ...numbers) {
  const points = numbers.flatMap((x, i) => (i % 2 ? [] : [/** @type {Kit.Pair} */ ([x, numbers[i + 1]])]));
  return { place, points };
}

/** The wires from each box of a branch to the next.
 * @type {(boxes: Kit.BlockBoxes) => Kit.BlockWire[]} */
function wiresBetween({ spots, middle }) {
  return spots
    .slice(1)
    .map(({ left }, i) => wire(spots[i].place, spots[i].left + spots[i].width, middle, left, middle));
}

/** The grounds of the branches, with their names.
 * @type {(branches: Kit.BlockBoxes[], above: number) => Kit.BlockGround[]} */
function groundsOf(branches, above) {
  return branches.map(({ left, right, top, bottom }, i) => {
    return {
      name: BRANCHES[i],
      left: left - 7,
      top: top - above,
      width: right - left + 14,
      height: bottom + 7 - top + above,
    };
  });
}

/** The block from left to right: the stream below, the branches above it.
 * @type {(places: string[], width: number) => Kit.BlockLayout} */
function wideBlock(places, width) {
  const [first, second] = branchesOf(places);
  const count = first.length + second.length;
  const [start, end, top, gap, turn] = [24, width - 24, 24, 16, 22];
  const stream = top + BOX + 34;
  const size = Math.min((end - start - (count - 2) * gap - 3 * turn) / count, 128);
  const sizes = times(count, () => size);
  const one = boxesOf(first, start, top, sizes, gap);
  const two = boxesOf(second, end - turn - second.length * (size + gap) + gap, top, sizes, gap);
  const sum = one.right + turn;
  const words = stream + DOT + 4;
  return {
    tall: false,
    height: words + 37,
    grounds: groundsOf([one, two], top),
    spots: [
      onStream("input", [start, stream], [start - DOT - 3, words], "start", sum - 100),
      ...one.spots,
      onStream("middle", [sum, stream], [sum, words], "middle", 160),
      ...two.spots,
      onStream("output", [end, stream], [end + DOT + 3, words], "end", end - sum - 90),
    ],
    wires: [
      { ...wire("input", 0, stream, start, stream), plain: true },
      wire("input", start, stream, sum - DOT, stream),
      wire("input", one.enter, stream, one.enter, one.bottom),
      ...wiresBetween(one),
      wire("attention", one.right, one.middle, sum, one.middle, sum, stream - DOT),
      wire("middle", sum + DOT, stream, end - DOT, stream),
      wire("middle", two.enter, stream, two.enter, two.bottom),
      ...wiresBetween(two),
      wire("network", two.right, two.middle, end, two.middle, end, stream - DOT),
      wire("output", end + DOT, stream, width, stream),
    ],
  };
}

/** The block from the top down: the stream at the left, the branches beside it.
 * @type {(places: string[], width: number, nameAt: (place: string) => string) => Kit.BlockLayout} */
function tallBlock(places, width, nameAt) {
  const [stream, start, left, gap, turn] = [14, 14, 43, 10, 14];
  const [one, two] = branchesOf(places).map((branch, i) => {
    const room = width - left - turn - 5 - (branch.length - 1) * gap;
    return boxesOf(branch, left, 44 + 116 * i, widthsFor(branch.map(nameAt), room), gap);
  });
  const [sum, end] = [one.bottom + 22, two.bottom + 22];
  const words = stream + DOT + 5;
  const back = (/** @type {Kit.BlockBoxes} */ { right, middle }, /** @type {number} */ down) => [
    right,
    middle,
    right + turn,
    middle,
    right + turn,
    down,
    stream + DOT,
    down,
  ];
  return {
    tall: true,
    height: end + 38,
    grounds: groundsOf([one, two], 7),
    spots: [
      onStream("input", [stream, start], [words, 2], "start", width - words - 120, 1),
      ...one.spots,
      onStream("middle", [stream, sum], [words, sum + 7], "start", width - words, 1),
      ...two.spots,
      onStream("output", [stream, end], [words, end + 7], "start", width - words, 1),
    ],
    wires: [
      { ...wire("input", stream, 0, stream, start), plain: true },
      wire("input", stream, start, stream, sum - DOT),
      wire("input", stream, one.middle, left, one.middle),
      ...wiresBetween(one),
      wire("attention", ...back(one, sum)),
      wire("middle", stream, sum + DOT, stream, end - DOT),
      wire("middle", stream, two.middle, left, two.middle),
      ...wiresBetween(two),
      wire("network", ...back(two, end)),
      wire("output", stream, end + DOT, stream, end + 38),
    ],
  };
}

/** Stages that are no block's: one after the other, in rows that are read like a text.
 * @type {(count: number, width: number) => Kit.BlockLayout} */
function lineOfStages(count, width) {
  const rows = Math.ceil(count / Math.max(1, Math.floor(width / APART)));
  const across = Math.ceil(count / rows);
  const [band, pitch] = [bandScale(across, 0, width), 76];
  const dots = times(count, (i) => {
    return /** @type {Kit.Pair} */ ([band.middle(i % across), DOT + 3 + pitch * Math.floor(i / across)]);
  });
  const wires = dots.map(([x, y], i) => {
    const down = y + pitch - DOT - 8;
    const turn = (i + 1) % across ? [] : [width - 4, y, width - 4, down, 4, down, 4, y + pitch];
    const goal = i + 1 < count ? [...turn, dots[i + 1][0] - SPOT, dots[i + 1][1]] : [x + band.step / 2, y];
    return wire(String(i), x, y, ...goal);
  });
  return {
    tall: false,
    height: rows * pitch - 14,
    grounds: [],
    spots: dots.map(([x, y], i) => onStream(String(i), [x, y], [x, y + DOT + 4], "middle", band.step - 4)),
    wires,
  };
}

/** Where all of a block stands; stages of which one has no place make a line.
 * @type {(stages: Kit.BlockStage[], width: number) => Kit.BlockLayout} */
export function blockLayout(stages, width) {
  const places = stages.map(({ place }) => place);
  if (!places.every(Boolean)) return lineOfStages(places.length, width);
  if (width >= TALL) return wideBlock(places, width);
  return tallBlock(places, width, (place) => stages[places.indexOf(place)]?.name ?? PLACE_NAMES[place]);
}

/** How thick the wire of an amount is, of which `most` is the largest.
 * @type {(amount: number, most: number) => number} */
export function thickness(amount, most) {
  return Math.max(1.2, (THICKEST * amount) / (most || 1));
}

/** A wire as two paths: the line, and the head of its arrow, which ends where the wire does.
 * @type {(points: Kit.Pair[], thick: number) => { line: string; head: string }} */
export function arrowPaths(points, thick) {
  const [from, to] = points.slice(-2);
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const [dx, dy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
  const half = thick / 2 + 3.5;
  const long = Math.min(1.4 * half, length);
  const [x, y] = [to[0] - long * dx, to[1] - long * dy];
  return {
    line: polylinePath([...points.slice(0, -1), [x, y]]),
    head: `${polylinePath([to, [x - half * dy, y + half * dx], [x + half * dy, y - half * dx]])}Z`,
  };
}

/** @type {(points: Kit.Pair[]) => string} */
export function polylinePath(points) {
  return `M${points.map((point) => point.map((n) => Number(n.toFixed(1))).join(" ")).join("L")}`;
}
