// SHA-256 (FIPS 180-4), at once and on every page: crypto.subtle is a promise, and missing outside secure contexts.

const [ROUND_WORDS, START_WORDS] = constants();

/** The first 32 bits of the fractions of the cube roots of the first 64 primes, and of the square roots of the first 8.
 * @type {() => [Uint32Array, Uint32Array]} */
function constants() {
  /** @type {number[]} */
  const primes = [];
  for (let n = 2; primes.length < 64; n += 1) {
    if (primes.every((prime) => n % prime)) primes.push(n);
  }
  const bits = (/** @type {number} */ root) => (root - Math.floor(root)) * 2 ** 32;
  return [
    Uint32Array.from(primes, (prime) => bits(Math.cbrt(prime))),
    Uint32Array.from(primes.slice(0, 8), (prime) => bits(Math.sqrt(prime))),
  ];
}

/** @type {(x: number, by: number) => number} */
const turned = (x, by) => (x >>> by) | (x << (32 - by));

/** Mixes 64 words, of which the first 16 are a block of the message, into the state.
 * @type {(state: Int32Array, words: Int32Array) => void} */
function mixIn(state, words) {
  for (let i = 16; i < 64; i += 1) {
    const [far, near] = [words[i - 15], words[i - 2]];
    const low = turned(far, 7) ^ turned(far, 18) ^ (far >>> 3);
    const high = turned(near, 17) ^ turned(near, 19) ^ (near >>> 10);
    words[i] = words[i - 16] + low + words[i - 7] + high;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i += 1) {
    const up = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const one = (h + up + ((e & f) ^ (~e & g)) + ROUND_WORDS[i] + words[i]) | 0;
    const down = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const two = (down + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] += word;
  });
}

/** The SHA-256 of some bytes, in 64 hexadecimal digits.
 * @type {(bytes: Uint8Array) => string} */
export function sha256(bytes) {
  const whole = bytes.length - (bytes.length % 64);
  const tail = new Uint8Array(bytes.length - whole < 56 ? 64 : 128);
  tail.set(bytes.subarray(whole));
  tail[bytes.length - whole] = 0x80;
  const end = new DataView(tail.buffer);
  end.setUint32(tail.length - 8, Math.floor(bytes.length / 2 ** 29));
  end.setUint32(tail.length - 4, (bytes.length * 8) % 2 ** 32);
  const [state, words] = [Int32Array.from(START_WORDS), new Int32Array(64)];
  for (const part of [bytes.subarray(0, whole), tail]) {
    for (let at = 0; at < part.length; at += 64) {
      for (let i = 0, p = at; i < 16; i += 1, p += 4) {
        words[i] = (part[p] << 24) | (part[p + 1] << 16) | (part[p + 2] << 8) | part[p + 3];
      }
      mixIn(state, words);
    }
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
