// Files in one .zip: written as they are, read as they are or deflated.

import { joinedBytes, total } from "../kit/geometry.mjs";

const [ENTRY_SIGN, DIRECTORY_SIGN, END_SIGN] = [0x04034b50, 0x02014b50, 0x06054b50];
const [ENTRY_SIZE, DIRECTORY_SIZE, END_SIZE] = [30, 46, 22];
const LONGEST_COMMENT = 65535;
const [ENCRYPTED, UTF8_NAME] = [1, 0x800];
const MOST_UNZIPPED = 2 ** 29;

/** What is wrong with a file that is not as it was written. */
export const Damage = class extends Error {};

const CRC_WORDS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let word = byte;
  for (let bit = 0; bit < 8; bit += 1) word = word & 1 ? (word >>> 1) ^ 0xedb88320 : word >>> 1;
  return word;
});

/** The CRC-32 of some bytes.
 * @type {(bytes: Uint8Array) => number} */
export function crc32(bytes) {
  let sum = -1;
  for (const byte of bytes) sum = CRC_WORDS[(sum ^ byte) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
}

/** Numbers of 16 and 32 bits in a row, the least byte first; `layout` has the bytes of each.
 * @type {(layout: string, numbers: number[]) => Uint8Array} */
function packedNumbers(layout, numbers) {
  const bytes = [];
  for (const [i, number] of numbers.entries()) {
    for (let byte = 0; byte < Number(layout[i]); byte += 1) bytes.push((number >>> (8 * byte)) & 255);
  }
  return Uint8Array.from(bytes);
}

/** The time and the day as MS-DOS counts them: in two seconds, and from 1980 on.
 * @type {(when: Date) => [number, number]} */
function dosTime(when) {
  const time = (when.getHours() << 11) | (when.getMinutes() << 5) | (when.getSeconds() >> 1);
  return [time, ((when.getFullYear() - 1980) << 9) | ((when.getMonth() + 1) << 5) | when.getDate()];
}

/** One .zip with some files, not compressed.
 * @type {(files: TrainGPT.NamedFile[], when?: Date) => Uint8Array<ArrayBuffer>} */
export function zipped(files, when = new Date()) {
  const [entries, directory] = [/** @type {Uint8Array[]} */ ([]), /** @type {Uint8Array[]} */ ([])];
  let at = 0;
  for (const { name, bytes } of files) {
    const path = new TextEncoder().encode(name);
    const common = [20, UTF8_NAME, 0, ...dosTime(when), crc32(bytes), bytes.length, bytes.length, path.length, 0];
    entries.push(packedNumbers("42222244422", [ENTRY_SIGN, ...common]), path, bytes);
    const row = [DIRECTORY_SIGN, 20, ...common, 0, 0, 0, 0, at];
    directory.push(packedNumbers("42222224442222244", row), path);
    at += ENTRY_SIZE + path.length + bytes.length;
  }
  const size = total(directory.map(({ length }) => length));
  const end = packedNumbers("42222442", [END_SIGN, 0, 0, files.length, files.length, size, at, 0]);
  return joinedBytes([...entries, ...directory, end]);
}

/** @type {(bytes: Uint8Array) => boolean} */
export const isZip = (bytes) => bytes[0] === 0x50 && bytes[1] === 0x4b && [3, 5].includes(bytes[2]);

/** The entry at a place of the directory, and the place of the next.
 * @param {DataView} view
 * @param {number} at */
export function entryAt(view, at) {
  const short = (/** @type {number} */ of) => view.getUint16(at + of, true);
  const long = (/** @type {number} */ of) => view.getUint32(at + of, true);
  const start = view.byteOffset + at + DIRECTORY_SIZE;
  const path = new Uint8Array(view.buffer).subarray(start, start + short(28));
  const name = new TextDecoder().decode(path);
  const [sum, stored, size, place] = [16, 20, 24, 42].map(long);
  const entry = { name, flags: short(8), method: short(10), sum, stored, size, at: place };
  return { entry, next: at + DIRECTORY_SIZE + path.length + short(30) + short(32) };
}

/** The entries of a .zip, by its directory.
 * @type {(view: DataView) => TrainGPT.Entry[]} */
function directoryOf(view) {
  const least = Math.max(0, view.byteLength - END_SIZE - LONGEST_COMMENT);
  let end = view.byteLength - END_SIZE;
  while (end >= least && view.getUint32(end, true) !== END_SIGN) end -= 1;
  if (end < least) throw new Damage("expected a whole .zip, got one that ends too early");
  const entries = [];
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    if (at + DIRECTORY_SIZE > end || view.getUint32(at, true) !== DIRECTORY_SIGN) {
      throw new Damage("expected a whole .zip, got one whose list of files cannot be read");
    }
    const { entry, next } = entryAt(view, at);
    entries.push(entry);
    at = next;
  }
  return entries;
}

/** Deflated bytes as they were; an Error where there are more than `size`.
 * @type {(bytes: Uint8Array<ArrayBuffer>, size: number) => Promise<Uint8Array>} */
async function inflated(bytes, size) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("expected a .zip without compression, for this browser cannot undo it: drop the folder instead");
  }
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  for (let found = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return joinedBytes(parts);
    found += value.length;
    if (found > size) throw new Error(`more than ${size} bytes`);
    parts.push(value);
  }
}

/** The bytes of an entry, of the length and with the sum that the directory has.
 * @type {(bytes: Uint8Array<ArrayBuffer>, view: DataView, entry: TrainGPT.Entry) => Promise<Uint8Array>} */
async function extracted(bytes, view, { name, flags, method, sum, stored, size, at }) {
  if (flags & ENCRYPTED) throw new Error(`${name}: expected a file without a password, got an encrypted one`);
  if (method !== 0 && method !== 8) {
    throw new Error(`${name}: expected a file that is stored or deflated, got compression ${method}`);
  }
  const damaged = new Damage(`${name}: expected the ${size} bytes that were packed, got others`);
  if (at + ENTRY_SIZE > bytes.length || view.getUint32(at, true) !== ENTRY_SIGN) throw damaged;
  const start = at + ENTRY_SIZE + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
  const raw = bytes.slice(start, start + stored);
  const refused = (/** @type {Error} */ error) => {
    throw error.message.startsWith("expected") ? error : damaged;
  };
  const content = method ? await inflated(raw, size).catch(refused) : raw;
  if (content.length !== size || crc32(content) !== sum) throw damaged;
  return content;
}

/** The files in a .zip.
 * @type {(bytes: Uint8Array) => Promise<TrainGPT.NamedFile[]>} */
export async function unzipped(bytes) {
  const own = Uint8Array.from(bytes);
  const view = new DataView(own.buffer);
  const entries = directoryOf(view).filter(({ name }) => !name.endsWith("/"));
  const size = total(entries.map((entry) => entry.size));
  if (size > MOST_UNZIPPED) throw new Error(`expected a .zip of at most ${MOST_UNZIPPED} bytes, got ${size}`);
  const files = [];
  for (const entry of entries) files.push({ name: entry.name, bytes: await extracted(own, view, entry) });
  return files;
}
