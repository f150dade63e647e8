// What Shapes has to say; no page is touched here.

import { total } from "../kit/geometry.mjs";
import { exact, inWords, percent } from "../kit/amounts.mjs";
import { LIMITS, SIZES, blockParts, divisible, flopsPerToken, parametersByPart, sizeOf, trainingOf } from "./count.mjs";

/** @type {[name: Shapes.Name, label: string, letter: string][]} */
export const FIELDS = [
  ["vocab_size", "Vocabulary", "V"],
  ["max_seq_len", "Positions", "T"],
  ["embed_dim", "Channels", "C"],
  ["num_heads", "Heads", "H"],
  ["num_layers", "Layers", "L"],
];
/** Of each part its mark, its name, and what it is called in the two counts.
 * @type {[mark: string, name: string, parameters: string | null, work: string | null][]} */
export const PARTS = [
  ["token", "embedding = head", "token embedding", "head"],
  ["positions", "positions", "positions", null],
  ["attention", "attention: matrices", "attention", "attention's matrices"],
  ["scores", "attention: scores, values", null, "scores and values"],
  ["network", "feed-forward", "feed-forward", "feed-forward"],
  ["norms", "norms", "norms", null],
];
/** Of each part what a sentence about it begins with, what the trait calls it, and how its work is told.
 * @type {Record<string, { subject: string; trait: string; doing: string }>} */
const TOLD = {
  token: { subject: "The token embedding has", trait: "token embedding", doing: "The head, the same table, does" },
  positions: { subject: "The position embedding has", trait: "positions", doing: "" },
  attention: { subject: "The matrices of attention have", trait: "attention", doing: "They do" },
  scores: { subject: "Scores and sums of values have", trait: "scores and values", doing: "They do" },
  network: { subject: "The feed-forward networks have", trait: "feed-forward", doing: "They do" },
  norms: { subject: "The norms have", trait: "norms", doing: "" },
};
/** @type {[share: number, name: string][]} */
const FRACTIONS = [
  [1 / 4, "a quarter"],
  [1 / 3, "a third"],
  [1 / 2, "half"],
  [2 / 3, "two thirds"],
  [3 / 4, "three quarters"],
];
/** For a segment that has no room for more.
 * @type {Record<string, string>} */
const SHORT = {
  "token embedding": "tokens",
  "feed-forward": "feed-fwd",
  "attention's matrices": "matrices",
  "scores and values": "scores",
};
const LETTER = 6.9; // px
const DIGIT = 8.2;
/** How many parameters a shape has; `still` where what is typed is not that shape.
 * @type {(shape: Shapes.Shape, still: boolean) => string} */
export function answerText(shape, still) {
  const name = shapeName(shape);
  const called = still ? `Still ${name}` : name[0].toUpperCase() + name.slice(1);
  return `${called}: ${inWords(total(parametersByPart(shape)))}${still ? "" : " parameters"}`;
}

/** @type {(layers: number) => string} */
export const layersText = (layers) => (layers === 1 ? "1 layer" : `${exact(layers)} layers`);

/** The lines that a part of `size` pixels has room for.
 * @type {(name: string, share: string, size: number, count?: string) => string[]} */
export function areaText(name, share, size, count = "") {
  const short = SHORT[name] ?? name;
  const full = count.length * DIGIT + 10 <= size && count ? [name, short].map((one) => [one, count, share]) : [];
  const lines = [...full, [name, share], [short, share], [share]];
  return lines.find((one) => one.every((line) => line.length * LETTER + 8 <= size)) ?? [];
}

/** What to call a shape.
 * @type {(shape: Shapes.Shape) => string} */
export function shapeName(shape) {
  const size = sizeOf(shape);
  return size ? `GPT-2 ${size === "xl" ? "XL" : size}` : "your shape";
}

/** What a field expects, where `problem` names those that are wrong.
 * @type {(problem: Shapes.Name[], texts: Shapes.Texts) => string} */
export function problemText(problem, texts) {
  const [, label, letter] = FIELDS.find(([name]) => name === problem[0]) ?? FIELDS[0];
  if (problem.length === 1) {
    return `${label} ${letter}: expected a whole number from 1 to ${exact(LIMITS[problem[0]])}.`;
  }
  const heads = Number(texts.num_heads);
  const near = divisible(Number(texts.embed_dim), heads).map(exact).join(" or ");
  return `${label} ${letter}: expected a multiple of the ${exact(heads)} heads, such as ${near}.`;
}

/** What follows from a good shape.
 * @type {(shape: Shapes.Shape) => string} */
export function derivedText({ embed_dim: C, num_heads: H }) {
  return `Each head is D = C / H = ${exact(C / H)} wide; each network has F = 4C = ${exact(4 * C)} neurons.`;
}

/** The mark of the part that the trait names, and the trait's name of a mark.
 * @type {(part: string | undefined) => string} */
export const markOf = (part) => Object.keys(TOLD).find((mark) => TOLD[mark].trait === part) ?? "network";
/** @type {(mark: string) => string} */
export const partNamed = (mark) => TOLD[mark].trait;

/** A share, with a fraction's name where it is one to half a percent.
 * @type {(share: number) => string} */
export function fractionText(share) {
  const near = FRACTIONS.find(([one]) => Math.abs(one - share) < 0.005);
  return near ? `${near[1]} (${percent(share)})` : percent(share);
}

/** What a part holds: its parameters, as a share of the model and of each block.
 * @type {(shape: Shapes.Shape, mark: string) => string} */
export function heldText(shape, mark) {
  const [, , key] = PARTS.find(([one]) => one === mark) ?? PARTS[0];
  const { subject } = TOLD[mark];
  if (key === null) return `${subject} no parameters.`;
  const [parts, block] = [parametersByPart(shape), blockParts(shape)];
  const start = `${subject} ${exact(parts[key])} parameters: ${percent(parts[key] / total(parts))} of the model`;
  return key in block
    ? `${start} and ${fractionText(block[key] / total(block))} of each block.`
    : `${start}, in no block.`;
}

/** What a part does for one token.
 * @type {(shape: Shapes.Shape, length: number, mark: string) => string} */
export function workText(shape, length, mark) {
  const [, , , key] = PARTS.find(([one]) => one === mark) ?? PARTS[0];
  if (key === null) return "";
  const parts = flopsPerToken(shape, length);
  return `${TOLD[mark].doing} ${percent(parts[key] / total(parts))} of the work for one token.`;
}

/** @type {(shape: Shapes.Shape, length: number, mark: string) => string} */
export const sentenceOf = (shape, length, mark) => `${heldText(shape, mark)} ${workText(shape, length, mark)}`.trim();

/** When the scores cost more than the matrices of the blocks: 4Cn against 24C² in each.
 * @type {(shape: Shapes.Shape) => string} */
export function crossingText({ embed_dim: C, max_seq_len: T }) {
  const most = 6 * C;
  const far = most >= T ? ", longer than any text of this model" : "";
  return `Scores and values overtake the matrices of the blocks beyond 6C = ${exact(most)} positions${far}.`;
}

/** The rule of thumb beside what is counted.
 * @type {(shape: Shapes.Shape, length: number) => string} */
export function trainingText(shape, length) {
  const { counted, rule } = trainingOf(shape, length);
  const away = rule / counted - 1;
  const side = Math.abs(away) < 0.0005 ? "as much" : `${percent(Math.abs(away))} ${away < 0 ? "less" : "more"}`;
  return (
    `Training costs three forward passes for each token of such texts, ${exact(counted)} FLOPs. `
    + `The rule of thumb, six for each parameter, gives 6N = ${exact(rule)}, ${side}.`
  );
}

/** @type {(shape: Shapes.Shape, length: number) => string} */
export function memoryText(shape, length) {
  return (
    "Training holds weights, gradients and AdamW's two averages in float32, 16 bytes for each parameter; "
    + `activations come on top and are not counted. The cache is that of one text of ${exact(length)} tokens.`
  );
}

/** @type {(shape: Shapes.Shape, length: number) => string} */
export function settingText(shape, length) {
  const numbers = FIELDS.map(([name, , letter]) => `${letter} = ${exact(shape[name])}`).join(", ");
  return `${numbers}; a text of ${exact(length)}.`;
}

/** What a segment of `size` pixels has room to say.
 * @type {(name: string, share: number, size: number) => string} */
export function segmentText(name, share, size) {
  const texts = [`${name} ${percent(share)}`, `${SHORT[name] ?? name} ${percent(share)}`, percent(share)];
  return texts.find((text) => text.length * LETTER + 10 <= size) ?? "";
}

/** A bar in words, for those who do not see it.
 * @type {(name: string, parts: Record<string, number>) => string} */
export function barText(name, parts) {
  const whole = total(parts);
  const shares = Object.entries(parts).map(([part, amount]) => `${part} ${percent(amount / whole)}`);
  return `${name}, ${exact(whole)}: ${shares.join(", ")}.`;
}

/** The size that a shape is compared with, if it is another.
 * @type {(shape: Shapes.Shape, name: string) => Shapes.Shape[]} */
export const comparedTo = (shape, name) => (SIZES[name] && sizeOf(shape) !== name ? [SIZES[name]] : []);
