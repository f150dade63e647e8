// JSON as Python's json.dumps(…, sort_keys=True) writes it, of which a checkpoint has the checksum.

import { compareCodePoints } from "./tokenizers.mjs";

const STRING_OR_NUMBER = /"([^"\\]*(?:\\.[^"\\]*)*)"|-?\d[\d.eE+-]*/g;

/** A string in quotation marks, in ASCII alone.
 * @type {(text: string) => string} */
const inAscii = (text) =>
  JSON.stringify(text).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Some JSON in Python's canonical form. Numbers keep their digits, for 1.0 is not 1 in Python: every string is marked
 * with an s and every number becomes a string with an n, before JSON.parse could round it.
 * @type {(json: string, field?: string) => string} */
export function canonical(json, field) {
  const marked = json.replace(STRING_OR_NUMBER, (found, inside) =>
    inside === undefined ? `"n${found}"` : `"s${inside}"`,
  );
  /** @type {(value: any) => string} */
  const written = (value) => {
    if (typeof value === "string") return value[0] === "n" ? value.slice(1) : inAscii(value.slice(1));
    if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
    if (value === null || typeof value !== "object") return String(value);
    const keys = Object.keys(value).sort(compareCodePoints);
    return `{${keys.map((key) => `${inAscii(key.slice(1))}: ${written(value[key])}`).join(", ")}}`;
  };
  const whole = JSON.parse(marked);
  return written(field === undefined ? whole : whole[`s${field}`]);
}
