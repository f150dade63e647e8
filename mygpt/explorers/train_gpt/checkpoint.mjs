// Checkpoints of mygpt.checkpoint: a trained model as the files of a folder, and a model out of such files.

import { planOf } from "../engine/plan.mjs";
import { canonical } from "./canonical.mjs";
import { configOf, storedConfig } from "./config.mjs";
import { readTensors, tensorsFile } from "./safetensors.mjs";
import { sha256 } from "./sha256.mjs";
import { tokenizerOf } from "./tokenizers.mjs";
import { Damage, isZip, unzipped } from "./zip.mjs";

const [INDEX, MODEL] = ["checkpoint.json", "model.safetensors"];
const FORMAT = 2;
/** @type {Record<TrainGPT.Kind, string>} */
const TOKEN_FILES = { characters: "chars.json", words: "words.json" };
const FIELDS = {
  format: "number",
  model: "string",
  config: "object",
  tokenizer: "boolean",
  state: "object",
  files: "object",
};
const STEP_NAME = /^step-(\d+)(\.old)?$/;

/** @type {(content: object) => Uint8Array} */
const jsonFile = (content) => new TextEncoder().encode(`${JSON.stringify(content, null, 2)}\n`);

/** @type {(content: string) => string} */
const digestOf = (content) => sha256(new TextEncoder().encode(content));

/** The files of a folder `step-…` that mygpt.load_checkpoint and `mygpt generate` load.
 * @type {(checkpoint: TrainGPT.Checkpoint) => TrainGPT.NamedFile[]} */
export function checkpointFiles({ config, tokenizer, tensors, step }) {
  const named = new Map();
  for (const [name, { shape, count }] of planOf(config, 1, 1).parts) {
    const numbers = tensors.get(name);
    if (numbers?.length !== count) throw new Error(`expected ${count} numbers of ${name}, got ${numbers?.length}`);
    named.set(name, { shape, numbers });
  }
  const folder = `step-${String(step).padStart(8, "0")}`;
  const files = [
    { name: TOKEN_FILES[tokenizer.kind], bytes: jsonFile({ tokens: tokenizer.tokens }) },
    { name: MODEL, bytes: tensorsFile(named) },
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
  const content = {
    format: FORMAT,
    model: "GPT",
    config: storedConfig(config),
    tokenizer: true,
    state: { step },
    files: Object.fromEntries(files.map(({ name, bytes }) => [name, sha256(bytes)])),
  };
  const index = jsonFile({ sha256: digestOf(canonical(JSON.stringify(content))), content });
  return [{ name: INDEX, bytes: index }, ...files].map(({ name, bytes }) => ({ name: `${folder}/${name}`, bytes }));
}

/** @type {(path: string) => string} */
const folderOf = (path) => path.slice(0, path.lastIndexOf("/") + 1);

/** The folder with a checkpoint: the uppermost, and among several the one of the last step.
 * @type {(files: TrainGPT.NamedFile[]) => string} */
function newestFolder(files) {
  const folders = files
    .map(({ name }) => name)
    .filter((name) => name === folderOf(name) + INDEX)
    .map(folderOf);
  if (!folders.length) {
    const names = files.map(({ name }) => name);
    const got = names.length > 3 ? `${names.slice(0, 3).join(", ")}, …` : names.join(", ");
    throw new Error(`this is no checkpoint: expected the folder of one, with ${INDEX} in it, got ${got || "no files"}`);
  }
  const ranked = folders.map((folder) => {
    const parts = folder.split("/").slice(0, -1);
    const [, step = -1, old] = STEP_NAME.exec(parts.at(-1) ?? "") ?? [];
    return { folder, rank: [-parts.length, Number(step), old ? 0 : 1] };
  });
  return ranked.reduce((best, one) => {
    const place = one.rank.findIndex((number, i) => number !== best.rank[i]);
    return place >= 0 && one.rank[place] > best.rank[place] ? one : best;
  }).folder;
}

/** A JSON object, and the text that it was.
 * @type {(bytes: Uint8Array) => { json: string; object: Record<string, any> }} */
function readJson(bytes) {
  let json, object;
  try {
    json = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    object = JSON.parse(json);
  } catch (error) {
    throw new Damage(`expected JSON, got ${/** @type {Error} */ (error).message}`);
  }
  if (typeof object !== "object" || object === null || Array.isArray(object)) {
    throw new Error(`expected a JSON object, got ${json.slice(0, 60)}`);
  }
  return { json, object };
}

/** The content of a checkpoint.json, whose own checksum must be right.
 * @type {(bytes: Uint8Array) => TrainGPT.Content} */
function readIndex(bytes) {
  const { json, object } = readJson(bytes);
  const { sha256: expected, content } = object;
  if (typeof content !== "object" || content === null) throw new Error("expected a content, got none");
  const sum = digestOf(canonical(json, "content"));
  if (sum !== expected) throw changedSince(expected, sum);
  for (const [field, kind] of Object.entries(FIELDS)) {
    const value = content[field];
    if (typeof value !== kind || value === null || Array.isArray(value)) {
      throw new Error(`expected ${field}, got ${JSON.stringify(value) ?? "none"}`);
    }
  }
  const { format, model, tokenizer, files, state } = content;
  if (format !== FORMAT) throw new Error(`expected a checkpoint of format ${FORMAT}, got one of format ${format}`);
  if (model !== "GPT") throw new Error(`expected a model of the kind GPT, got ${model}, which runs in Python alone`);
  if (!tokenizer) throw new Error("expected a tokenizer beside the model, got a checkpoint without one");
  const path = Object.keys(files).find((name) => !name || /[/\\]/.test(name) || name === "..");
  if (path !== undefined) throw new Error(`expected plain file names, got ${JSON.stringify(path)}`);
  if (!(MODEL in files)) throw new Error(`expected ${MODEL}, got a run of many processes, which only Python reads`);
  if (!Number.isSafeInteger(state.step) || state.step < 0) throw new Error(`expected a step, got ${state.step}`);
  return content;
}

/** @type {(expected: unknown, got: string) => Error} */
function changedSince(expected, got) {
  const short = (/** @type {unknown} */ sum) => `${String(sum ?? "none").slice(0, 8)}…`;
  return new Damage(`changed or cut short (expected the checksum ${short(expected)}, got ${short(got)})`);
}

/** The parameters of a model of that shape, out of its file.
 * @type {(bytes: Uint8Array, config: Engine.Config) => Map<string, Float32Array>} */
function readParameters(bytes, config) {
  const found = readTensors(bytes);
  const blocks = new Set(
    [...found.keys()].filter((name) => name.startsWith("blocks.")).map((name) => name.split(".")[1]),
  );
  if (blocks.size !== config.layers) {
    throw new Error(`expected num_layers = ${config.layers} blocks, got ${blocks.size}`);
  }
  const parameters = new Map();
  for (const [name, { shape }] of planOf(config, 1, 1).parts) {
    const tensor = found.get(name);
    const [wanted, got] = [shape, tensor?.shape].map((one) => one && `(${one.join(", ")})`);
    if (wanted !== got) throw new Error(`expected ${name} of shape ${wanted}, got ${got ?? "none"}`);
    parameters.set(name, tensor?.numbers);
  }
  const other = [...found.keys()].find((name) => !parameters.has(name));
  if (other !== undefined) throw new Error(`expected the parameters of a GPT, got ${other}`);
  return parameters;
}

/** The tokenizer in a folder, with as many tokens as the model.
 * @type {(files: Map<string, Uint8Array>, vocab: number) => TrainGPT.Tokenizer} */
function readTokenizer(files, vocab) {
  const [kind, name] = Object.entries(TOKEN_FILES).find(([, file]) => files.has(file)) ?? [];
  if (name === undefined) {
    const got = files.has("merges.txt") || files.has("vocab.json") ? "byte pairs, which only Python reads" : "neither";
    throw new Error(`expected characters or words as tokens (chars.json or words.json), got ${got}`);
  }
  return within(name, () => {
    const { object } = readJson(/** @type {Uint8Array} */ (files.get(name)));
    const tokenizer = tokenizerOf(/** @type {TrainGPT.Kind} */ (kind), object.tokens);
    const { length } = tokenizer.tokens;
    if (length !== vocab) throw new Error(`expected the model's vocab_size = ${vocab} tokens, got ${length}`);
    return tokenizer;
  });
}

/** What `read` returns; its errors name the file.
 * @template T
 * @param {string} name
 * @param {() => T} read */
function within(name, read) {
  try {
    return read();
  } catch (error) {
    const Kind = error instanceof Damage ? Damage : Error;
    throw new Kind(`${name}: ${/** @type {Error} */ (error).message}`, { cause: error });
  }
}

/** The model in the files of a folder, or in one .zip, checked as mygpt.load_checkpoint checks it. Errors say in a
 * sentence what was expected and what came.
 * @type {(files: TrainGPT.NamedFile[]) => Promise<TrainGPT.Checkpoint>} */
export async function readCheckpoint(files) {
  try {
    return await readWhole(files);
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    throw new Error(`this file is damaged: ${error.message}`, { cause: error });
  }
}

/** The same, where damage is an error of its own kind.
 * @type {typeof readCheckpoint} */
async function readWhole(files) {
  const all = files.length === 1 && isZip(files[0].bytes) ? await unzipped(files[0].bytes) : files;
  const folder = newestFolder(all);
  const inside = new Map(
    all.filter(({ name }) => folderOf(name) === folder).map(({ name, bytes }) => [name.slice(folder.length), bytes]),
  );
  const content = within(INDEX, () => readIndex(/** @type {Uint8Array} */ (inside.get(INDEX))));
  for (const [name, expected] of Object.entries(content.files)) {
    const bytes = inside.get(name);
    if (!bytes) throw new Error(`expected a file ${name} beside ${INDEX}, got none`);
    const sum = sha256(bytes);
    within(name, () => {
      if (sum !== expected) throw changedSince(expected, sum);
    });
  }
  const config = within(INDEX, () => configOf(content.config));
  const tokenizer = readTokenizer(inside, config.vocab);
  const tensors = within(MODEL, () => readParameters(/** @type {Uint8Array} */ (inside.get(MODEL)), config));
  return { config, tokenizer, tensors, step: Number(content.state.step) };
}
