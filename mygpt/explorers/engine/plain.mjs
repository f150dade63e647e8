// The functions of kernels.ts in JavaScript, for where WebAssembly or its SIMD is missing: the same arguments, the same
// results but for rounding, a tenth of the speed or less.

/** Φ(h), from e^(−h²/2), as in kernels.ts.
 * @type {(h: number, power: number) => number} */
function normalShare(h, power) {
  const t = 1 / (1 + Math.abs(h) * 0.2316418906);
  const p = (((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592;
  const outside = (p * t * power) / 2;
  return h < 0 ? outside : 1 - outside;
}

/** An activation's share and turn: it is h · share, its slope share + h · turn.
 * @type {(kind: number, h: number) => [number, number]} */
function shareOf(kind, h) {
  if (kind === 2) return [h > 0 ? 1 : 0, 0];
  if (kind === 1) {
    const power = Math.exp((-h * h) / 2);
    return [normalShare(h, power), power * 0.3989422804];
  }
  const [times, steep] =
    kind === 0 ? [1.5957691216 + 0.0713548163 * h * h, 1.5957691216 + 0.2140644488 * h * h] : [1, 1];
  const share = 1 / (1 + Math.exp(-h * times));
  return [share, share * (1 - share) * steep];
}

/** Products, and sums of rows.
 * @param {Float32Array} f */
const products = (f) => ({
  /** @type {(b: number, down: number, across: number, terms: number, columns: number, to: number) => void} */
  pack(b, down, across, terms, columns, to) {
    let at = to >> 2;
    for (let j = 0; j < columns; j += 8) {
      for (let k = 0; k < terms; k += 1) {
        const from = (b + k * down + j * across) >> 2;
        for (let i = 0; i < 8; i += 1) f[at + i] = f[from + ((i * across) >> 2)];
        at += 8;
      }
    }
  },
  /** @type {(a: number, down: number, across: number, packed: number, start: number, startStep: number, c: number, step: number, rows: number, terms: number, columns: number, part: number) => void} */
  product(a, down, across, packed, start, startStep, c, step, rows, terms, columns, part) {
    const sums = new Float64Array(8);
    for (let i = 0; i < rows; i += 1) {
      const block = i & ~3;
      const first = part === 3 ? block : 0;
      const end = part === 2 ? Math.min(terms, block + 4) : terms;
      const most = part === 1 ? Math.min(columns, (block + 11) & ~7) : columns;
      for (let j = 0; j < most; j += 8) {
        const from = ((start + i * startStep) >> 2) + j;
        for (let n = 0; n < 8; n += 1) sums[n] = f[from + n];
        for (let k = first; k < end; k += 1) {
          const x = f[(a + i * down + k * across) >> 2];
          const row = (packed >> 2) + j * terms + 8 * k;
          for (let n = 0; n < 8; n += 1) sums[n] += x * f[row + n];
        }
        f.set(sums, ((c + i * step) >> 2) + j);
      }
    }
  },
  /** @type {(x: number, y: number, count: number) => void} */
  add(x, y, count) {
    for (let i = 0; i < count; i += 1) f[(x >> 2) + i] += f[(y >> 2) + i];
  },
  /** @type {(x: number, y: number, count: number) => void} */
  multiply(x, y, count) {
    for (let i = 0; i < count; i += 1) f[(x >> 2) + i] *= f[(y >> 2) + i];
  },
  /** @type {(x: number, step: number, rows: number, columns: number, to: number) => void} */
  sumRows(x, step, rows, columns, to) {
    for (let i = 0; i < rows; i += 1) {
      for (let j = 0; j < columns; j += 1) f[(to >> 2) + j] += f[((x + i * step) >> 2) + j];
    }
  },
  /** @type {(x: number, count: number) => number} */
  squares(x, count) {
    let sum = 0;
    for (let i = 0; i < count; i += 1) sum += f[(x >> 2) + i] ** 2;
    return sum;
  },
});

/** Layer norm and the activations.
 * @param {Float32Array} f */
const layers = (f) => ({
  /** @type {(x: number, weight: number, bias: number, to: number, kept: number, rows: number, width: number, eps: number) => void} */
  norm(x, weight, bias, to, kept, rows, width, eps) {
    const [w, b] = [weight >> 2, bias >> 2];
    for (let row = 0; row < rows; row += 1) {
      const from = (x >> 2) + row * width;
      let [mean, square] = [0, 0];
      for (let i = 0; i < width; i += 1) mean += f[from + i] / width;
      for (let i = 0; i < width; i += 1) square += (f[from + i] - mean) ** 2;
      const scale = 1 / Math.sqrt(square / width + eps);
      f.set([mean, scale], (kept >> 2) + 2 * row);
      for (let i = 0; i < width; i += 1) {
        f[(to >> 2) + row * width + i] = (f[from + i] - mean) * scale * f[w + i] + f[b + i];
      }
    }
  },
  /** @type {(gradient: number, x: number, kept: number, weight: number, toX: number, toWeight: number, toBias: number, rows: number, width: number) => void} */
  normBackward(gradient, x, kept, weight, toX, toWeight, toBias, rows, width) {
    const [w, toW, toB] = [weight >> 2, toWeight >> 2, toBias >> 2];
    const normal = new Float64Array(width);
    for (let row = 0; row < rows; row += 1) {
      const [g, from, into] = [gradient, x, toX].map((one) => (one >> 2) + row * width);
      const [mean, scale] = f.subarray((kept >> 2) + 2 * row);
      let [level, slant] = [0, 0];
      for (let i = 0; i < width; i += 1) {
        normal[i] = (f[from + i] - mean) * scale;
        f[toW + i] += f[g + i] * normal[i];
        f[toB + i] += f[g + i];
        level += (f[g + i] * f[w + i]) / width;
        slant += (f[g + i] * f[w + i] * normal[i]) / width;
      }
      for (let i = 0; i < width; i += 1) f[into + i] += (f[g + i] * f[w + i] - level - normal[i] * slant) * scale;
    }
  },
  /** @type {(kind: number, x: number, to: number, count: number) => void} */
  activate(kind, x, to, count) {
    for (let i = 0; i < count; i += 1) {
      const h = f[(x >> 2) + i];
      const [share, turn] = shareOf(kind, h);
      f[(to >> 2) + i] = h * share;
      f[(x >> 2) + i] = share + h * turn;
    }
  },
});

/** The softmax of attention and of the loss.
 * @param {Float32Array} f
 * @param {Int32Array} ids */
const softmaxes = (f, ids) => ({
  /** @type {(scores: number, length: number, scale: number) => void} */
  weigh(scores, length, scale) {
    for (let row = 0; row < length; row += 1) {
      const line = f.subarray((scores >> 2) + row * length, (scores >> 2) + (row + 1) * length);
      let [most, sum] = [-Infinity, 0];
      for (let i = 0; i <= row; i += 1) most = Math.max(most, line[i]);
      for (let i = 0; i <= row; i += 1) sum += line[i] = Math.exp((line[i] - most) * scale);
      for (let i = 0; i <= row; i += 1) line[i] /= sum;
      line.fill(0, row + 1);
    }
  },
  /** @type {(gradient: number, weights: number, length: number, scale: number) => void} */
  weighBackward(gradient, weights, length, scale) {
    for (let row = 0; row < length; row += 1) {
      const [g, w] = [(gradient >> 2) + row * length, (weights >> 2) + row * length];
      let mean = 0;
      for (let i = 0; i <= row; i += 1) mean += f[g + i] * f[w + i];
      for (let i = 0; i <= row; i += 1) f[g + i] = (f[g + i] - mean) * f[w + i] * scale;
      f.fill(0, g + row + 1, g + length);
    }
  },
  /** @type {(logits: number, step: number, targets: number, rows: number, classes: number, among: number) => number} */
  crossEntropy(logits, step, targets, rows, classes, among) {
    let loss = 0;
    for (let row = 0; row < rows; row += 1) {
      const start = (logits + row * step) >> 2;
      const line = f.subarray(start, start + (step >> 2));
      const target = ids[(targets >> 2) + row];
      line.fill(0, classes);
      if (target < 0) line.fill(0);
      else {
        let [most, sum] = [-Infinity, 0];
        for (let i = 0; i < classes; i += 1) most = Math.max(most, line[i]);
        const right = line[target];
        for (let i = 0; i < classes; i += 1) sum += line[i] = Math.exp(line[i] - most);
        loss += most - right + Math.log(sum);
        for (let i = 0; i < classes; i += 1) line[i] /= sum * among;
        line[target] -= 1 / among;
      }
    }
    return loss;
  },
});

/** The embeddings, and AdamW.
 * @param {Float32Array} f
 * @param {Int32Array} ids */
const ends = (f, ids) => ({
  /** @type {(ids: number, tokens: number, places: number, to: number, rows: number, length: number, width: number) => void} */
  embed(given, tokens, places, to, rows, length, width) {
    for (let row = 0; row < rows; row += 1) {
      const token = (tokens >> 2) + ids[(given >> 2) + row] * width;
      const place = (places >> 2) + (row % length) * width;
      for (let i = 0; i < width; i += 1) f[(to >> 2) + row * width + i] = f[token + i] + f[place + i];
    }
  },
  /** @type {(ids: number, gradient: number, toTokens: number, toPlaces: number, rows: number, length: number, width: number) => void} */
  embedBackward(given, gradient, toTokens, toPlaces, rows, length, width) {
    for (let row = 0; row < rows; row += 1) {
      const token = (toTokens >> 2) + ids[(given >> 2) + row] * width;
      const place = (toPlaces >> 2) + (row % length) * width;
      for (let i = 0; i < width; i += 1) {
        const one = f[(gradient >> 2) + row * width + i];
        f[token + i] += one;
        f[place + i] += one;
      }
    }
  },
  /** @type {(weights: number, gradients: number, first: number, second: number, count: number, rate: number, even: number, keep: number, shrink: number, beta1: number, beta2: number, eps: number) => void} */
  adamw(weights, gradients, first, second, count, rate, even, keep, shrink, beta1, beta2, eps) {
    const [w, g, m, v] = [weights, gradients, first, second].map((one) => one >> 2);
    for (let i = 0; i < count; i += 1) {
      const slope = f[g + i] * shrink;
      f[m + i] = beta1 * f[m + i] + (1 - beta1) * slope;
      f[v + i] = beta2 * f[v + i] + (1 - beta2) * slope * slope;
      f[w + i] = f[w + i] * keep - (f[m + i] * rate) / (Math.sqrt(f[v + i]) * even + eps);
    }
  },
});

/** The kernels over a memory of so many bytes.
 * @param {number} bytes */
export function plainKernels(bytes) {
  const buffer = new ArrayBuffer(bytes);
  const [f, ids] = [new Float32Array(buffer), new Int32Array(buffer)];
  return { buffer, ...products(f), ...layers(f), ...softmaxes(f, ids), ...ends(f, ids) };
}
