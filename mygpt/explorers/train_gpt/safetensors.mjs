// The file format safetensors, for float32: the length of a header, the header in JSON, and the numbers in a row.

import { bytesOf, joinedBytes } from "../kit/geometry.mjs";

const LENGTH_SIZE = 8;

/** @type {(shape: number[]) => number} */
const countOf = (shape) => shape.reduce((product, one) => product * one, 1);

/** The bytes of a file with these tensors, the same as those of Python's save_file.
 * @type {(tensors: Map<string, TrainGPT.Tensor>) => Uint8Array<ArrayBuffer>} */
export function tensorsFile(tensors) {
  const names = [...tensors.keys()].sort();
  /** @type {Record<string, object>} */
  const header = {};
  const parts = [];
  let at = 0;
  for (const name of names) {
    const { shape, numbers } = /** @type {TrainGPT.Tensor} */ (tensors.get(name));
    header[name] = { dtype: "F32", shape, data_offsets: [at, at + numbers.byteLength] };
    parts.push(bytesOf(numbers));
    at += numbers.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const padded = new Uint8Array((text.length + 7) & ~7).fill(0x20);
  padded.set(text);
  const length = new Uint8Array(LENGTH_SIZE);
  new DataView(length.buffer).setUint32(0, padded.length, true);
  return joinedBytes([length, padded, ...parts]);
}

/** The header of a file, and where its numbers begin.
 * @type {(bytes: Uint8Array) => { header: Record<string, any>; start: number }} */
function headerOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const size = bytes.length < LENGTH_SIZE ? Infinity : view.getUint32(0, true) + 2 ** 32 * view.getUint32(4, true);
  const start = LENGTH_SIZE + size;
  if (start > bytes.length) {
    throw new Error(`expected a whole safetensors file, got ${bytes.length} bytes, too few for its header`);
  }
  let header;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(LENGTH_SIZE, start)));
  } catch {
    header = null;
  }
  if (typeof header !== "object" || header === null || Array.isArray(header)) {
    throw new Error("expected a safetensors file, got one whose header is not a JSON object");
  }
  return { header, start };
}

/** @type {(one: any) => boolean} */
const areWhole = (one) => Array.isArray(one) && one.every((number) => Number.isSafeInteger(number) && number >= 0);

/** The tensors of a file, each in its own memory.
 * @type {(bytes: Uint8Array) => Map<string, TrainGPT.Tensor>} */
export function readTensors(bytes) {
  const { header, start } = headerOf(bytes);
  const entries = Object.entries(header).filter(([name]) => name !== "__metadata__");
  for (const [name, entry] of entries) {
    if (!areWhole(entry?.shape) || !areWhole(entry?.data_offsets) || entry.data_offsets.length !== 2) {
      throw new Error(`expected a shape and two offsets of ${name}, got ${JSON.stringify(entry).slice(0, 60)}`);
    }
    if (entry.dtype !== "F32") throw new Error(`expected ${name} in float32 (F32), got ${entry.dtype}`);
  }
  const tensors = new Map();
  let at = 0;
  const order = (/** @type {number[]} */ [from, to], /** @type {number[]} */ other) => from - other[0] || to - other[1];
  for (const [name, entry] of entries.sort(([, a], [, b]) => order(a.data_offsets, b.data_offsets))) {
    const [from, to] = entry.data_offsets;
    if (from !== at || to - from !== 4 * countOf(entry.shape)) {
      const wanted = `bytes ${at} to ${at + 4 * countOf(entry.shape)}`;
      throw new Error(`expected ${name} of shape (${entry.shape.join(", ")}) in ${wanted}, got ${from} to ${to}`);
    }
    tensors.set(name, { shape: entry.shape, from, to });
    at = to;
  }
  if (start + at !== bytes.length) {
    throw new Error(`expected a safetensors file of ${start + at} bytes, got ${bytes.length}`);
  }
  for (const [name, { shape, from, to }] of tensors) {
    const numbers = new Float32Array(bytes.slice(start + from, start + to).buffer);
    tensors.set(name, { shape, numbers });
  }
  return tensors;
}
