// The functions between linear layers. Each is a pair: its value at z, and its slope there, where its
// value is a. No page is touched here.

import { erf } from "./numbers.mjs";

/** @type {(z: number) => number} */
const density = (z) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
/** @type {(z: number) => number} */
const normal = (z) => 0.5 * (1 + erf(z * Math.SQRT1_2));
/** @type {(z: number) => number} */
const logistic = (z) => 1 / (1 + Math.exp(-z));

// The normal distribution function and its density, at PER_UNIT places for each unit up to FARTHEST. Between
// two places the cubic that fits both is right to 1e-13, and several times as fast as the function.
const [PER_UNIT, FARTHEST] = [512, 8];
const PLACES = Float64Array.from({ length: 2 * FARTHEST * PER_UNIT + 2 }, (_, i) => i / PER_UNIT - FARTHEST);
const NORMAL = PLACES.map(normal);
const DENSITY = PLACES.map(density);

/** @type {(z: number) => number} */
function quickNormal(z) {
  if (!(z > -FARTHEST && z < FARTHEST)) return z > 0 ? 1 : 0;
  const i = Math.floor((z + FARTHEST) * PER_UNIT);
  const t = (z - PLACES[i]) * PER_UNIT;
  const [a, b] = [NORMAL[i], NORMAL[i + 1]];
  const [da, db] = [DENSITY[i] / PER_UNIT, DENSITY[i + 1] / PER_UNIT];
  return a + t * (da + t * (3 * (b - a) - 2 * da - db + t * (2 * (a - b) + da + db)));
}

/** @type {(z: number, a: number) => number} */
const geluSlope = (z, a) => (z ? a / z : 0.5) + z * density(z);

/** @type {Kit.Activation} */
export const relu = [(z) => (z > 0 ? z : 0), (z) => (z > 0 ? 1 : 0)];
/** @type {Kit.Activation} */
export const gelu = [(z) => z * normal(z), geluSlope];
/** GELU for many numbers.
 * @type {Kit.Activation} */
export const quickGelu = [(z) => z * quickNormal(z), geluSlope];
/** @type {Kit.Activation} */
export const silu = [
  (z) => z * logistic(z),
  (z, a) => {
    const share = z ? a / z : 0.5;
    return share + a * (1 - share);
  },
];
/** The approximation of GELU's value that GPT-2 has.
 * @type {(z: number) => number} */
export const geluTanh = (z) => 0.5 * z * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (z + 0.044715 * z * z * z)));
