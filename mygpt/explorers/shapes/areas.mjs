// A model drawn with areas: as large as its parts are, and cut into its layers.

import { exact, inWords, percent, stacked, total } from "../kit/amounts.mjs";
import { html, svg } from "../kit/elements.mjs";
import { areaText, barText, layersText, shapeName } from "./words.mjs";

const LAYERED = ["attention", "scores", "network"]; // parts that every layer has
const FOOT = 22; // px for the name of the layers
const LEAST = 2.5; // px of a layer that is drawn
const LONGEST = 15; // signs of a number in full

/** The heights between the layers, from the top; none where they would be too thin to see.
 * @type {(layers: number, height: number) => number[]} */
export function cutsOf(layers, height) {
  if (height / layers < LEAST) return [];
  return Array.from({ length: layers - 1 }, (_, i) => ((i + 1) * height) / layers);
}

/** The words in the middle of a part.
 * @type {(mark: string, lines: string[], x: number, height: number) => SVGElement} */
function wordsOf(mark, lines, x, height) {
  const spans = lines.map((line, i) =>
    svg("tspan", { x, y: height / 2 + 17 * (i - (lines.length - 1) / 2), dy: "0.35em" }, line),
  );
  return svg("text", { class: `mygpt-on-${mark}`, "text-anchor": "middle" }, ...spans);
}

/** Under the parts that are in layers, how many there are; and the first part, where it has no room for words.
 * @type {(start: number, end: number, layers: number, height: number, first: string) => SVGElement[]} */
const footOf = (start, end, layers, height, first) => [
  svg("path", { class: "mygpt-axis", d: `M${start + 0.5} ${height + 3}v4H${end - 0.5}v-4` }),
  svg("text", { x: end, y: height + FOOT - 3, "text-anchor": "end" }, layersText(layers)),
  svg("text", { x: 0, y: height + FOOT - 3 }, first),
];

/** The areas of one count of the shape.
 * @type {(state: Shapes.State, count: Shapes.Count) => Kit.View} */
export function areasView(state, { name, partsOf, keys }) {
  const whole = html("b", { class: "mygpt-number" });
  const picture = svg("svg", { class: "mygpt-picture mygpt-stacked", role: "img" });
  const node = html("div", {}, html("p", { class: "mygpt-panel-name" }, `${name}: `, whole), picture);
  const draw = () => {
    const [shape, length] = [state.get("shape"), state.get("length")];
    const wide = state.width >= 520;
    const [width, height] = wide ? [(state.width - 24) / 2, 132] : [state.width, 88];
    const parts = partsOf(shape, length);
    const sum = total(parts);
    const list = keys.flatMap(([mark, key]) => (key ? [{ mark, key, share: parts[key] / sum }] : []));
    const shares = list.map(({ share }) => share);
    const places = stacked(shares, 1, width).map((place, i) => ({ ...place, ...list[i] }));
    const [first] = places;
    const layered = places.filter(({ mark }) => LAYERED.includes(mark));
    const [start, end] = [layered[0].start, layered.at(-1)].map((one) =>
      typeof one === "number" ? one : (one?.start ?? 0) + (one?.size ?? 0),
    );
    const cuts = cutsOf(shape.num_layers, height).map((y) => `M${start} ${y}H${end}`);
    const text = exact(sum);
    whole.textContent = text.length > LONGEST ? inWords(sum) : text;
    picture.setAttribute("viewBox", `0 0 ${width} ${height + FOOT}`);
    picture.setAttribute("aria-label", `${barText(`${name}, ${shapeName(shape)}`, parts)}`);
    picture.replaceChildren(
      ...places.map(({ mark, start: x, size }) =>
        svg("rect", { class: `mygpt-part mygpt-part-${mark}`, x, width: size > 3 ? size - 1 : size, height }),
      ),
      svg("path", { class: "mygpt-cuts", d: cuts.join("") }),
      ...places.flatMap(({ mark, key, share, start: x, size }) => {
        const lines = areaText(key, percent(share), size);
        return lines.length ? [wordsOf(mark, lines, x + size / 2, height)] : [];
      }),
      ...footOf(
        start,
        end,
        shape.num_layers,
        height,
        areaText(first.key, percent(first.share), first.size).length ? "" : `${first.key} ${percent(first.share)}`,
      ),
    );
  };
  return { node, draw };
}
