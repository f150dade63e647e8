// Geometry and numbers: no DOM, tested under node.

/** A number with a set count of decimals and a true minus sign; a tie goes to the even digit.
 * @type {(value: number, decimals: number) => string} */
export function fixed(value, decimals) {
  const size = Math.abs(value);
  const twice = 2 * size * 10 ** decimals;
  const tie = twice % 2 === 1 && /50{39}$/.test(size.toFixed(decimals + 40));
  const even = tie ? (2 * Math.round(twice / 4)) / 10 ** decimals : size;
  const text = even.toFixed(decimals);
  return (value < 0 && Number(text) !== 0 ? "−" : "") + text;
}

/** A list of what `make` gives for 0, 1 and so on.
 * @type {<T>(count: number, make: (i: number) => T) => T[]} */
export const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

/** @type {(parts: Record<string, number> | ArrayLike<number>) => number} */
export const total = (parts) => Object.values(parts).reduce((sum, one) => sum + one, 0);

/** @type {(numbers: Kit.Numbers) => number} */
export const meanOf = (numbers) => total(numbers) / numbers.length;

/** Mean, population variance and standard deviation.
 * @param {Kit.Numbers} numbers */
export function momentsOf(numbers) {
  const mean = meanOf(numbers);
  const variance = meanOf(Array.from(numbers, (one) => (one - mean) ** 2));
  return { mean, variance, std: Math.sqrt(variance) };
}

/** The visible signs of common spaces and controls.
 * @type {Record<string, string>} */
export const BLANK_SIGNS = { " ": "·", "\n": "↵", "\r": "␍", "\t": "⇥" };

/** The code of a sign that has no visible one.
 * @type {(sign: string) => string} */
export const codeOf = (sign) => `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** @type {(value: number, low: number, high: number) => number} */
export function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

/** The place among the stops that is nearest to a number, by ratio; the first for a number that has none.
 * @type {(stops: number[], number: number) => number} */
export function nearestStop(stops, number) {
  const away = stops.map((stop) => Math.abs(Math.log(stop / number)));
  return Math.max(0, away.indexOf(Math.min(...away)));
}

/** Maps [d0, d1] onto [r0, r1]; `invert` goes back.
 * @param {Kit.Pair} domain
 * @param {Kit.Pair} range */
export function linearScale([d0, d1], [r0, r1]) {
  const slope = (r1 - r0) / (d1 - d0 || 1);
  const scale = (/** @type {number} */ value) => r0 + (value - d0) * slope;
  const invert = (/** @type {number} */ position) => d0 + (position - r0) / (slope || 1);
  return Object.assign(scale, { invert });
}

/** Where `count` equal bands lie between `low` and `high`, with a share of each left empty.
 * @param {number} count
 * @param {number} low
 * @param {number} high */
export function bandScale(count, low, high, gap = 0.2) {
  const step = (high - low) / count;
  return {
    step,
    width: step * (1 - gap),
    start: (/** @type {number} */ index) => low + step * (index + gap / 2),
    middle: (/** @type {number} */ index) => low + step * (index + 0.5),
    invert: (/** @type {number} */ position) => clamp(Math.floor((position - low) / step), 0, count - 1),
  };
}

/** The smallest of 1, 2 and 5 times a power of ten that cuts `span` into at most `count` parts.
 * @type {(span: number, count: number) => number} */
export function niceStep(span, count) {
  const raw = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5].find((candidate) => candidate * power >= raw * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** Round values from `low` to `high`, at most `count` steps of them, with their labels.
 * @type {(low: number, high: number, count: number, smallest?: number) => Kit.Tick[]} */
export function linearTicks(low, high, count, smallest = 0) {
  const step = Math.max(niceStep(high - low, count), smallest);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) {
    ticks.push({ at: i * step || 0, label: fixed(i * step, decimals) });
  }
  return ticks;
}

/** Smallest and largest finite number of several lists, or undefined when there is none.
 * @type {(lists: Iterable<Iterable<number>>) => Kit.Pair | undefined} */
export function extent(lists) {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists) {
    for (const value of list) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : undefined;
}

/** Index of the first of several boxes { left, right, top, bottom } that hold the fewest points.
 * @type {(boxes: Kit.Box[], points: Kit.Pair[]) => number} */
export function emptiest(boxes, points) {
  const counts = boxes.map(
    ({ left, right, top, bottom }) =>
      points.filter(([x, y]) => x >= left && x <= right && y >= top && y <= bottom).length,
  );
  return counts.indexOf(Math.min(...counts));
}

/** The rectangle of a bar from the line of zero to `value`, never thinner than `least` pixels.
 * @type {(value: number, scale: (value: number) => number, zero?: number, least?: number) => { start: number; size: number }} */
export function barBox(value, scale, zero = 0, least = 1) {
  const [a, b] = [scale(zero), scale(value)];
  const size = Math.max(Math.abs(b - a), value === zero ? 0 : least);
  return { start: b < a ? a - size : a, size };
}

/** Places for a tooltip beside `x`, on the side with more room: high, low and in the middle.
 * @type {(x: number, axes: Kit.Box, size: Kit.Size) => Kit.Box[]} */
export function tooltipPlaces(x, { left, right, top, bottom }, size) {
  const from = x > (left + right) / 2 ? x - 14 - size.width : x + 14;
  return [top, bottom - 16 - size.height, (top + bottom - size.height) / 2].map((y) => ({
    left: from,
    right: from + size.width,
    top: y,
    bottom: y + size.height,
  }));
}

/** Softmax of a list of numbers, of which -Infinity gets 0.
 * @type {(numbers: Iterable<number>) => number[]} */
export function softmax(numbers) {
  const largest = Math.max(...numbers);
  const powers = Array.from(numbers, (number) => Math.exp(number - largest));
  const sum = total(powers);
  return powers.map((power) => power / sum);
}

/** The place of the largest number, of equals the first.
 * @type {(numbers: Kit.Numbers) => number} */
export function largestAt(numbers) {
  let place = 0;
  for (let i = 1; i < numbers.length; i += 1) if (numbers[i] > numbers[place]) place = i;
  return place;
}

/** The places of the `count` largest numbers, the largest first, of equals the first.
 * @type {(numbers: Kit.Numbers, count?: number) => number[]} */
export function descending(numbers, count) {
  const places = Array.from(numbers, (_, place) => place);
  return places.sort((a, b) => numbers[b] - numbers[a] || a - b).slice(0, count);
}

/** The bytes of some numbers.
 * @type {(numbers: ArrayBufferView) => Uint8Array} */
export const bytesOf = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

/** @type {(parts: Uint8Array[]) => Uint8Array<ArrayBuffer>} */
export function joinedBytes(parts) {
  const all = new Uint8Array(total(parts.map(({ length }) => length)));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The float32 numbers of a binary trait (a DataView that may start anywhere).
 * @type {(view: DataView) => Float32Array} */
export function floats(view) {
  return new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

/** The whole numbers, of 32 bits, of a binary trait.
 * @type {(view: DataView) => Int32Array} */
export function integers(view) {
  return new Int32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}
