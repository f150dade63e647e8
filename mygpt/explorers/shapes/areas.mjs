// A model drawn with areas: as large as its parts are, and cut into its layers.

import { times, total } from "../kit/geometry.mjs";
import { exact, inWords, percent, stacked } from "../kit/amounts.mjs";
import { drawAll, html, setAll, svg } from "../kit/elements.mjs";
import { valueSlider } from "../kit/parts/picture.mjs";
import { shareAt } from "../kit/pointers.mjs";
import { PARTS, areaText, barText, layersText, markOf, partNamed, sentenceOf, shapeName } from "./words.mjs";

const LAYERED = ["attention", "scores", "network"]; // parts that every layer has
/** @type {Record<string, string>} */
const SHORTER = { "scores and values": "scores", "attention's matrices": "matrices" };
const SEEN = 3; // px of a part that is named under the drawing
const FOOT = 22; // px for the name of the layers
const LEAST = 4; // px of a layer that is drawn: thinner ones would only flicker
const THIN = 10; // px under which a part is chosen a little beside it, too
const KEY = 14; // px of a name's colour and what follows it
const LONGEST = 15; // signs of a number in full
const [SIGN, LINE] = [7.1, 17]; // px, of a sign at most about, and of a line

/** The heights between the layers, from the top; none where they would be too thin to see.
 * @type {(layers: number, height: number) => number[]} */
export function cutsOf(layers, height) {
  if (height / layers < LEAST) return [];
  return times(layers - 1, (i) => ((i + 1) * height) / layers);
}

/** The words in the middle of a part, on a plate that keeps them clear of the layers.
 * @type {(mark: string, lines: string[], place: { start: number; size: number }, height: number) => SVGElement[]} */
function wordsOf(mark, lines, { start, size }, height) {
  const x = start + size / 2;
  const spans = lines.map((line, i) =>
    svg("tspan", { x, y: height / 2 + LINE * (i - (lines.length - 1) / 2), dy: "0.35em" }, line),
  );
  const width = Math.min(SIGN * Math.max(...lines.map((line) => line.length)) + 12, size - 2);
  const tall = LINE * lines.length + 6;
  const box = { x: x - width / 2, y: (height - tall) / 2, width, height: tall };
  return [svg(`rect.part-${mark}`, { ...box }), svg(`text.on-${mark}`, { "text-anchor": "middle" }, spans)];
}

/** Names in a row, each with where it begins, its colour before it: those that have room before `end`.
 * @type {(names: { mark: string; text: string }[], end: number) => { mark: string; text: string; x: number }[]} */
export function namesIn(names, end) {
  let next = 0;
  return names.flatMap(({ mark, text }) => {
    const x = next;
    if (x + KEY + SIGN * text.length > end) return [];
    next = x + KEY + SIGN * text.length + 10;
    return [{ mark, text, x }];
  });
}

/** Under the parts that are in layers, how many there are; and the names of those that have no room for words.
 * @type {(start: number, end: number, layers: [long: string, short: string], height: number, small: { mark: string; text: string }[]) => SVGElement[]} */
function footOf(start, end, layers, height, small) {
  const y = height + FOOT - 3;
  const beside = layers.map((text) => namesIn(small, end - SIGN * text.length - 10));
  const at = beside[0].length < small.length ? 1 : 0; // the shares of the layers give way to a name
  return [
    svg("path.axis", { d: `M${start + 0.5} ${height + 3}v4H${end - 0.5}v-4` }),
    svg("text", { x: end, y, "text-anchor": "end" }, layers[at]),
    ...beside[at].flatMap(({ mark, text, x }) => [
      svg(`rect.part-${mark}`, { x, y: y - 9, width: 9, height: 9, rx: 1.5 }),
      svg("text", { x: x + KEY, y }, text),
    ]),
  ];
}

/** The part that is drawn at x, or a thin one close by.
 * @type {(places: Shapes.Place[], x: number) => string | undefined} */
export function partAt(places, x) {
  const thin = places.find(({ start, size }) => size < THIN && Math.abs(start + size / 2 - x) <= THIN / 2);
  return (thin ?? places.find(({ start, size }) => x < start + size) ?? places.at(-1))?.mark;
}

/** The frame around the part that is chosen, if it is among these.
 * @type {(places: Shapes.Place[], mark: string, height: number) => SVGElement[]} */
function frameOf(places, mark, height) {
  const place = places.find((one) => one.mark === mark);
  if (!place) return [];
  const box = { x: place.start - 1, y: -1.5, width: Math.max(place.size + 1, 4), height: height + 3 };
  return ["mygpt-frame mygpt-edge", "mygpt-frame"].map((name) => svg("rect", { class: name, ...box }));
}

/** What takes the keyboard on the drawings: arrow keys choose the next part.
 * @type {(state: Shapes.State) => Kit.View} */
function chooserView(state) {
  const marks = PARTS.map(([mark]) => mark);
  const chooser = valueSlider(html("div.chooser"), {
    label: "Part of the model",
    low: 0,
    high: marks.length - 1,
    step: 1,
    choose: (place) => state.write({ part: partNamed(marks[place]) }),
  });
  const draw = () => {
    const mark = markOf(state.part);
    chooser.show(marks.indexOf(mark), sentenceOf(state.shape, state.length, mark));
  };
  return { node: chooser.node, draw };
}

/** The parts that are large enough to be seen, but not for their words.
 * @type {(places: (Shapes.Place & { key: string; share: number })[]) => { mark: string; text: string }[]} */
const unnamedOf = (places) =>
  places
    .filter(({ key, share, size }) => size > SEEN && !areaText(key, percent(share), size).length)
    .map(({ mark, key, share }) => ({ mark, text: `${SHORTER[key] ?? key} ${percent(share)}` }));

/** The areas of one count of the shape; a click chooses a part, and calls `chosen`.
 * @type {(state: Shapes.State, count: Shapes.Count, chosen: () => void) => Kit.View} */
function areasView(state, { name, partsOf, keys }, chosen) {
  const whole = html("b.number");
  const picture = svg("svg.picture.stacked", { role: "img" });
  const box = html("div.parts", picture);
  const node = html("div", html("p.panel-name", `${name}: `, whole), box);
  /** @type {Shapes.Place[]} */
  let drawn = [];
  box.addEventListener("click", (event) => {
    const all = drawn.reduce((sum, { size }) => sum + size, 0);
    const mark = partAt(drawn, shareAt(picture, event).x * all);
    if (mark) state.write({ part: partNamed(mark) });
    chosen();
  });
  const draw = () => {
    const { shape, length } = state;
    const wide = state.width >= 520;
    const [width, height] = wide ? [(state.width - 24) / 2, 150] : [state.width, 96];
    const parts = partsOf(shape, length);
    const sum = total(parts);
    const list = keys.flatMap(([mark, key]) => (key ? [{ mark, key, share: parts[key] / sum }] : []));
    const shares = list.map(({ share }) => share);
    const places = stacked(shares, 1, width).map((place, i) => ({ ...place, ...list[i] }));
    drawn = places;
    const layered = places.filter(({ mark }) => LAYERED.includes(mark));
    const [start, end] = [layered[0].start, layered.at(-1)].map((one) =>
      typeof one === "number" ? one : (one?.start ?? 0) + (one?.size ?? 0),
    );
    const cuts = cutsOf(shape.num_layers, height).map((y) => `M${start} ${y}H${end}`);
    const layers = layersText(shape.num_layers);
    const text = exact(sum);
    whole.textContent = text.length > LONGEST ? inWords(sum) : text;
    const label = barText(`${name}, ${shapeName(shape)}`, parts);
    setAll(picture, { viewBox: `0 0 ${width} ${height + FOOT}`, "aria-label": label });
    picture.replaceChildren(
      ...places.map(({ mark, start: x, size }) =>
        svg(`rect.part.part-${mark}`, { x, width: size > 3 ? size - 1 : size, height }),
      ),
      svg("path.cuts", { d: cuts.join("") }),
      ...places.flatMap(({ mark, key, share, start: x, size }) => {
        const lines = areaText(key, percent(share), size, exact(parts[key]));
        return lines.length ? wordsOf(mark, lines, { start: x, size }, height) : [];
      }),
      ...footOf(start, end, [`${layers}, ${percent((end - start) / width)}`, layers], height, unnamedOf(places)),
      ...frameOf(places, markOf(state.part), height),
    );
  };
  return { node, draw };
}

/** The areas of two counts. What takes the keyboard lies over both: a part may be in one of them alone.
 * @type {(state: Shapes.State, counts: Shapes.Count[]) => Kit.View} */
export function pairView(state, counts) {
  const chooser = chooserView(state);
  const areas = counts.map((count) => areasView(state, count, () => chooser.node.focus({ preventScroll: true })));
  const views = [...areas, chooser];
  const node = html("div.areas", views);
  return { node, draw: () => drawAll(views) };
}
