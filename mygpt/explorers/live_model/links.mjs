// Links to a state of the live model.

import { copyLink } from "../kit/links.mjs";
import { CHANGES, MAX_EDITS, tokenOf, typePrompt } from "./state.mjs";
import { isOn, splitPrompt, withStop } from "./words.mjs";
import { readLines } from "./written.mjs";

const LINK = "#live=";

/** JSON in letters that an address may hold.
 * @type {(state: object) => string} */
export function toLink(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return LINK + letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** What `toLink` put into an address's hash; undefined for another hash. Throws for a damaged one.
 * @type {(hash: string) => Partial<LiveModel.Linked & { of: number }> | undefined} */
export function fromLink(hash) {
  if (!hash.startsWith(LINK)) return undefined;
  const letters = hash.slice(LINK.length).replaceAll("-", "+").replaceAll("_", "/");
  try {
    const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Error("it is damaged");
  }
}

/** The facts of an edit that writes some; none, if they cannot be written.
 * @type {(given: any, known: { words: { has(word: string): boolean }; templates: LiveModel.Traits["templates"] }) => LiveModel.NewFact[]} */
function checkedFacts(given, { words, templates }) {
  if (!Array.isArray(given)) return [];
  const lines = given.map((fact) => [fact].flat().join(" "));
  const { facts } = readLines(lines.join("\n"), { places: words, templates });
  return facts.length === lines.length ? facts : [];
}

/**
 * The prompt, layer, neuron, token and edits of `given`, checked as Python checks them; throws
 * where it does. `known` has words (a Set), longest, blocks and layers (the numbers of all, and of
 * those with a network), neurons, rewrites and the templates of facts.
 * @param {any} given
 * @param {Pick<LiveModel.Unpacked, "longest" | "blocks" | "layers" | "neurons" | "templates"> & { words: { has(word: string): boolean }; rewrites: boolean }} known
 */
export function checkedState(given, known) {
  /** @type {(right: unknown, what: string) => void} */
  const must = (right, what) => {
    if (!right) throw new Error(`its ${what} does not fit this model`);
  };
  /** @type {(value: number, length: number) => boolean} */
  const index = (value, length) => Number.isInteger(value) && value >= 0 && value < length;
  /** @type {(prompt: string, what: string) => string} */
  const text = (prompt, what) => {
    must(typeof prompt === "string", what);
    const words = splitPrompt(prompt);
    must(words.length <= known.longest && words.every((word) => known.words.has(word)), what);
    return words.join(" ");
  };
  /** @type {(edit: any) => LiveModel.Edit} */
  const one = (edit) => {
    const { kind, layer, neuron, factor, word, part } = edit ?? {};
    if (kind === "rewrite") {
      must(known.rewrites && known.words.has(word), "edit");
      return { kind, prompt: text(edit.prompt, "edit"), word };
    }
    if (kind === "write") {
      const facts = checkedFacts(edit.facts, known);
      must(facts.length > 0, "edit");
      return { kind, facts };
    }
    if (kind === "part") {
      /** @type {Record<string, number[]>} */
      const layers = { heads: known.blocks, network: known.layers };
      must(Object.hasOwn(layers, part) && layers[part].includes(layer), "edit");
      must([0, 1].includes(factor), "edit");
      return { kind, layer, part, factor };
    }
    must(kind === "scale" || kind === "value", "edit");
    must(known.layers.includes(layer), "edit");
    const several = kind === "scale" && Array.isArray(neuron);
    const chosen = several ? neuron : [neuron];
    must(chosen.length > 0 && chosen.every((each) => index(each, known.neurons)), "edit");
    if (kind === "value") {
      must(known.words.has(word), "edit");
      return { kind, layer, neuron, word };
    }
    must([0, 1, 2].includes(factor), "edit");
    return { kind, layer, neuron, factor };
  };
  /** @type {Record<string, any>} */
  const { layer, neuron, token, edits } = given ?? {};
  const prompt = text(given?.prompt, "prompt");
  must(known.layers.includes(layer), "layer");
  must(index(neuron, known.neurons), "neuron");
  must(index(token, withStop(splitPrompt(prompt)).length), "token");
  must(Array.isArray(edits) && edits.length <= MAX_EDITS, "list of edits");
  const checked = /** @type {LiveModel.Edit[]} */ (edits.map(one));
  const last = known.blocks[known.blocks.length - 1];
  must(
    checked.every((edit, i) => !CHANGES[edit.kind] || isOn(checked.slice(0, i), last, "network")),
    "list of edits",
  );
  return { prompt, layer, neuron, token, edits: checked };
}

/** A number that changes with the bytes, to tell one model's links from another's.
 * @type {(bytes: DataView) => number} */
export function checksum(bytes) {
  let sum = 0x811c9dc5;
  for (let i = 0; i < bytes.byteLength; i += 1) sum = Math.imul(sum ^ bytes.getUint8(i), 0x01000193);
  return sum >>> 0;
}

/** What makes a link of the state, and takes the one in a hash.
 * @type {(state: LiveModel.State, model: Kit.Model<LiveModel.Traits>) => { copy(): void; take(hash: string): boolean }} */
export function stateLinks(state, model) {
  const of = checksum(model.get("weights"));
  const { places, longest, blocks, layers, neurons, templates } = state;
  const known = { words: places, longest, blocks, layers, neurons, templates, rewrites: state.factor !== null };

  async function copy() {
    const { get } = state;
    const [prompt, layer, neuron, edits] = [get("prompt"), get("layer"), get("neuron"), get("edits")];
    state.copied = await copyLink(toLink({ of, prompt, layer, neuron, token: tokenOf(state), edits }));
    state.redraw.note();
    state.say(state.copied);
  }
  /** @type {(hash: string) => boolean} */
  function take(hash) {
    const given = fromLink(hash);
    if (given === undefined) return false;
    const other = given?.of !== undefined && given.of !== of;
    if (other && document.querySelectorAll(".mygpt-live-model").length > 1) return false;
    if (other) throw new Error("it is for another model");
    const { prompt, ...rest } = checkedState(given, known);
    state.compiled(rest.edits);
    typePrompt(state, prompt);
    state.write(rest);
    Object.assign(state, { note: "", copied: "" });
    state.redraw.note();
    return true;
  }
  return { copy, take };
}
