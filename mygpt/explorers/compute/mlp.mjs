// Linear layers and a feed-forward network of two, forwards and backwards, in float64. Rows of a batch follow each other:
// number c of row r of n channels stands at r * n + c.

/**
 * y = x Wᵀ + b for every row, as nn.Linear has it. The sums over eight inputs are written out: a browser does not do
 * that by itself, and it makes training twice as fast.
 * @type {(y: Float64Array, x: Float64Array, layer: Compute.Layer, rows: number) => Float64Array}
 */
export function affine(y, x, { weight, bias }, rows) {
  const outs = bias.length;
  const ins = weight.length / outs;
  for (let r = 0; r < rows; r += 1) for (let o = 0; o < outs; o += 1) y[r * outs + o] = bias[o];
  let i = 0;
  for (; i + 8 <= ins; i += 8) {
    for (let r = 0; r < rows; r += 1) {
      const k = r * ins + i;
      const [x0, x1, x2, x3] = [x[k], x[k + 1], x[k + 2], x[k + 3]];
      const [x4, x5, x6, x7] = [x[k + 4], x[k + 5], x[k + 6], x[k + 7]];
      for (let o = 0, w = i, at = r * outs; o < outs; o += 1, w += ins, at += 1) {
        y[at] +=
          weight[w] * x0
          + weight[w + 1] * x1
          + weight[w + 2] * x2
          + weight[w + 3] * x3
          + weight[w + 4] * x4
          + weight[w + 5] * x5
          + weight[w + 6] * x6
          + weight[w + 7] * x7;
      }
    }
  }
  for (; i < ins; i += 1) {
    for (let r = 0; r < rows; r += 1) {
      for (let o = 0; o < outs; o += 1) y[r * outs + o] += weight[o * ins + i] * x[r * ins + i];
    }
  }
  return y;
}

/** c = a b, eight columns at a time: term t of row r of a stands at r * down + t * across, b and c have `columns`.
 * @type {(c: Float64Array, a: Float64Array, down: number, across: number, b: Float64Array, rows: number, terms: number, columns: number) => void} */
function matrixProduct(c, a, down, across, b, rows, terms, columns) {
  let i = 0;
  for (; i + 8 <= columns; i += 8) {
    for (let r = 0; r < rows; r += 1) {
      let [c0, c1, c2, c3, c4, c5, c6, c7] = [0, 0, 0, 0, 0, 0, 0, 0];
      for (let t = 0, at = r * down, k = i; t < terms; t += 1, at += across, k += columns) {
        const d = a[at];
        c0 += d * b[k];
        c1 += d * b[k + 1];
        c2 += d * b[k + 2];
        c3 += d * b[k + 3];
        c4 += d * b[k + 4];
        c5 += d * b[k + 5];
        c6 += d * b[k + 6];
        c7 += d * b[k + 7];
      }
      const k = r * columns + i;
      c[k] = c0;
      c[k + 1] = c1;
      c[k + 2] = c2;
      c[k + 3] = c3;
      c[k + 4] = c4;
      c[k + 5] = c5;
      c[k + 6] = c6;
      c[k + 7] = c7;
    }
  }
  for (; i < columns; i += 1) {
    for (let r = 0; r < rows; r += 1) {
      let sum = 0;
      for (let t = 0; t < terms; t += 1) sum += a[r * down + t * across] * b[t * columns + i];
      c[r * columns + i] = sum;
    }
  }
}

/** From the gradient dy of what a layer gives, those of its parameters and, where dx is given, of its input.
 * @type {(dx: Float64Array | null, dy: Float64Array, x: Float64Array, layer: Compute.Layer, gradient: Compute.Layer, rows: number) => void} */
export function affineBack(dx, dy, x, { weight, bias }, gradient, rows) {
  const outs = bias.length;
  const ins = weight.length / outs;
  for (let o = 0; o < outs; o += 1) {
    let sum = 0;
    for (let r = 0; r < rows; r += 1) sum += dy[r * outs + o];
    gradient.bias[o] = sum;
  }
  matrixProduct(gradient.weight, dy, 1, outs, x, outs, rows, ins);
  if (dx) matrixProduct(dx, dy, outs, 1, weight, rows, outs, ins);
}

/** y = fc2(a), where a is the activation of z = fc1(x); `cache` keeps z and a.
 * @type {(y: Float64Array, x: Float64Array, layers: Compute.Mlp, cache: Compute.Neurons, activation: Kit.Activation, rows: number) => Float64Array} */
export function mlpForward(y, x, { fc1, fc2 }, { z, a }, [value], rows) {
  affine(z, x, fc1, rows);
  for (let i = 0; i < rows * fc1.bias.length; i += 1) a[i] = value(z[i]);
  return affine(y, a, fc2, rows);
}

/** The same backwards, by way of `hidden`: the gradient of a, then of z.
 * @type {(dx: Float64Array | null, dy: Float64Array, x: Float64Array, layers: Compute.Mlp, gradients: Compute.Mlp, cache: Compute.Neurons, hidden: Float64Array, activation: Kit.Activation, rows: number) => void} */
export function mlpBackward(dx, dy, x, layers, gradients, { z, a }, hidden, [, slopeAt], rows) {
  affineBack(hidden, dy, a, layers.fc2, gradients.fc2, rows);
  for (let i = 0; i < rows * layers.fc1.bias.length; i += 1) hidden[i] *= slopeAt(z[i], a[i]);
  affineBack(dx, hidden, x, layers.fc1, gradients.fc1, rows);
}
