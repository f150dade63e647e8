// What more than one explorer computes with: the error function and a generator of random numbers.

/** The error function to the precision of float64: a series of positive terms.
 * @type {(x: number) => number} */
export function erf(x) {
  const size = Math.abs(x);
  if (!(size < 6)) return Math.sign(x);
  let term = size;
  let sum = size;
  for (let n = 1; term > 1e-17 * sum; n += 1) {
    term *= (2 * size * size) / (2 * n + 1);
    sum += term;
  }
  return (Math.sign(x) * 2 * Math.exp(-size * size) * sum) / Math.sqrt(Math.PI);
}

/** The generator mulberry32: a function that gives the next number from 0 up to 1.
 * @type {(seed: number) => () => number} */
export function mulberry32(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
