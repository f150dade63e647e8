// What a test in Python gives to a script, and what it gets back.

import { readFileSync } from "node:fs";

const view = (text) => new DataView(new Uint8Array(Buffer.from(text, "base64")).buffer);

/** What a file of JSON holds, in which bytes were written as `{ base64 }`. */
export const readGiven = (path) =>
  JSON.parse(readFileSync(path, "utf8"), (_, one) => (typeof one?.base64 === "string" ? view(one.base64) : one));

/** A result in JSON, in which arrays of every type are lists. */
export const inJson = (found) => JSON.stringify(found, (_, one) => (ArrayBuffer.isView(one) ? Array.from(one) : one));
