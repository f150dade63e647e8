// What all tests of the scripts use.

import assert from "node:assert/strict";
import { makeModel } from "../../mygpt/explorers/kit/model.mjs";
import { store } from "../../mygpt/explorers/kit/mounting.mjs";

export { assert };
export { times, total } from "../../mygpt/explorers/kit/geometry.mjs";
export { afterEach, beforeEach, mock, test } from "node:test";

export const range = (count) => Array.from({ length: count }, (_, i) => i);

/** The state of an explorer with these traits. */
export const stateOf = (traits, fields = {}) => store(makeModel({ state: traits, buffers: [] }), fields);

/** Checks that a number, or each of a list, is the one wanted but for rounding. */
export function near(found, wanted, within = 1e-12) {
  if (typeof wanted === "number") return assert.ok(Math.abs(found - wanted) <= within, `${found}, not ${wanted}`);
  assert.equal(found.length, wanted.length);
  return wanted.forEach((one, i) => near(found[i], one, within));
}

/** Checks what a call gives for each argument. */
export function gives(call, given, wanted) {
  const found = given.map((one) => call(one));
  assert.deepEqual(found, wanted);
}

/** Checks a text, or by a pattern what is in it. */
export function says(text, wanted) {
  if (typeof wanted === "string") assert.equal(text, wanted);
  else assert.match(text, wanted);
}

/** Checks the texts that a call gives, by its argument. */
export function tells(call, texts) {
  for (const [given, wanted] of Object.entries(texts)) says(call(given), wanted);
}
