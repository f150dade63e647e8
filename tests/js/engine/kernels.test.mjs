import { plainKernels } from "../../../mygpt/explorers/engine/plain.mjs";
import { simdKernels } from "../../../mygpt/explorers/engine/simd.mjs";
import { mulberry32 } from "../../../mygpt/explorers/kit/numbers.mjs";
import { assert, test, times, total } from "../common.mjs";
import { withoutRelaxed } from "./relaxed.mjs";

const BYTES = 2 * 65536;
const [A, B, C, D, E, F] = [0, 1, 2, 3, 4, 5].map((i) => 65536 + 8192 * i); // places for 2,048 numbers each

/** All kinds of kernels, the plain ones last, over memories with the same random numbers, from where there may be some. */
function kinds(seed = 1) {
  const random = mulberry32(seed);
  const start = Float32Array.from({ length: BYTES / 4 }, () => 4 * random() - 2);
  const made = [simdKernels(BYTES), withoutRelaxed(() => simdKernels(BYTES)), plainKernels(BYTES)];
  return made.map((kernels) => {
    const numbers = new Float32Array(kernels.buffer);
    numbers.set(start.subarray(A >> 2), A >> 2);
    return { kernels, numbers, whole: new Int32Array(kernels.buffer), start };
  });
}

/** Numbers at an address. */
const at = ({ numbers }, address, count) => numbers.subarray(address >> 2, (address >> 2) + count);

function near(found, wanted, within = 1e-5) {
  assert.equal(found.length, wanted.length);
  for (let i = 0; i < wanted.length; i += 1) {
    const apart = Math.abs(found[i] - wanted[i]) / Math.max(1, Math.abs(wanted[i]));
    if (!(apart <= within || Object.is(found[i], wanted[i]))) assert.fail(`at ${i}: ${found[i]}, not ${wanted[i]}`);
  }
}

/** Runs a kernel on all, and sees that it leaves the same everywhere; gives the plain one's memory. */
function alike(run, prepare = () => {}) {
  const made = kinds();
  const results = made.map((one) => {
    prepare(one);
    return run(one.kernels, one);
  });
  const [plain, result] = [made, results].map((all) => all.at(-1));
  made.forEach((one, i) => {
    near(one.numbers.subarray(A >> 2), plain.numbers.subarray(A >> 2));
    if (result !== undefined) near([results[i]], [result], 1e-6);
  });
  return { ...plain, result };
}

/** The slopes of a sum of outputs, weighted by `by`, along some numbers of a plain memory. */
function slopes(run, from, count, to, by, prepare = () => {}) {
  const value = (i, change) => {
    const plain = kinds().at(-1);
    prepare(plain);
    at(plain, from, count)[i] += change;
    run(plain.kernels);
    return at(plain, to, by.length).reduce((sum, one, j) => sum + one * by[j], 0);
  };
  const step = 2 ** -7;
  return times(count, (i) => (value(i, step) - value(i, -step)) / (2 * step));
}

const TERMS = 12; // a multiple of 4, as wherever the columns of a product are rows in memory
for (const [name, down, across] of [
  ["as it is", 4 * 24, 4],
  ["transposed", 4, 4 * TERMS],
]) {
  test(`products, of a matrix packed ${name}`, () => {
    const [rows, columns] = [8, 24];
    for (const startStep of [0, 4 * columns]) {
      const memory = alike((kernels) => {
        kernels.pack(B, down, across, TERMS, columns, C);
        kernels.product(A, 4 * TERMS, 4, C, D, startStep, E, 4 * columns, rows, TERMS, columns, 0);
      });
      const [a, b, s] = [A, B, D].map((one) => at(memory, one, 2048));
      const wanted = times(rows * columns, (n) => {
        const [i, j] = [Math.floor(n / columns), n % columns];
        let sum = s[(i * startStep) / 4 + j];
        for (let k = 0; k < TERMS; k += 1) sum += a[i * TERMS + k] * b[(k * down + j * across) / 4];
        return sum;
      });
      near(at(memory, E, rows * columns), wanted);
    }
  });
}

test("a product leaves out what a causal mask makes 0, and only that", () => {
  const size = 16;
  const square = (memory, address) => (i, j) => at(memory, address, size * size)[i * size + j];
  for (const part of [1, 2, 3]) {
    // The first factor is 0 where the mask makes it so: below the diagonal stays (2), or above it (3).
    const masked = (one) => {
      for (let n = 0; n < size * size; n += 1) {
        const [i, k] = [Math.floor(n / size), n % size];
        if ((part === 2 && k > i) || (part === 3 && k < i)) at(one, A, size * size)[n] = 0;
      }
      at(one, D, size).fill(0);
    };
    const memory = alike((kernels, one) => {
      kernels.pack(B, 4 * size, 4, size, size, C);
      kernels.product(A, 4 * size, 4, C, D, 0, E, 4 * size, size, size, size, part);
      if (part !== 1) return;
      assert.equal(square(one, E)(0, size - 1), one.start[(E >> 2) + size - 1], "left as it was");
      for (let i = 0; i < size; i += 1) at(one, E + 4 * i * size, size).fill(0, i + 1); // how far a tile reaches
    }, masked);
    const [a, b, c] = [A, B, E].map((one) => square(memory, one));
    for (let i = 0; i < size; i += 1) {
      for (let j = 0; j < (part === 1 ? i + 1 : size); j += 1) {
        let sum = 0;
        for (let k = 0; k < size; k += 1) sum += a(i, k) * b(k, j);
        near([c(i, j)], [sum]);
      }
    }
  }
});

test("sums of rows are added to what is there; squares are summed in float64", () => {
  const memory = alike((kernels) => {
    kernels.add(A, B, 40);
    kernels.multiply(C, B, 40);
    kernels.sumRows(D, 4 * 24, 7, 16, E);
    return kernels.squares(F, 2048);
  });
  const old = (address, i) => memory.start[(address >> 2) + i];
  const of = (count, call) => Float32Array.from({ length: count }, (_, i) => call(i));
  const rows = [0, 1, 2, 3, 4, 5, 6];
  const sums = of(41, (i) => old(A, i) + (i < 40 ? old(B, i) : 0));
  const products = of(41, (i) => old(C, i) * (i < 40 ? old(B, i) : 1));
  const totals = of(17, (j) => old(E, j) + (j < 16 ? rows.reduce((sum, i) => sum + old(D, 24 * i + j), 0) : 0));
  near(at(memory, A, 41), sums);
  near(at(memory, C, 41), products);
  near(at(memory, E, 17), totals);
  const wanted = at(memory, F, 2048).reduce((sum, one) => sum + one ** 2, 0);
  near([memory.result], [wanted], 1e-12);
});

test("a norm's rows have the weights' scale and the biases' level, and it keeps mean and factor", () => {
  const [rows, width, eps] = [3, 24, 0.01];
  const memory = alike((kernels) => kernels.norm(A, B, C, D, E, rows, width, eps));
  for (let row = 0; row < rows; row += 1) {
    const x = at(memory, A + 4 * row * width, width);
    const mean = total(x) / width;
    const variance = x.reduce((sum, one) => sum + (one - mean) ** 2, 0) / width;
    const factor = 1 / Math.sqrt(variance + eps);
    near(at(memory, E + 8 * row, 2), [mean, factor]);
    const [w, b] = [B, C].map((one) => at(memory, one, width));
    const wanted = Float64Array.from(x, (one, i) => (one - mean) * factor * w[i] + b[i]);
    near(at(memory, D + 4 * row * width, width), wanted);
  }
});

test("the gradients of a norm are its slopes, and are added", () => {
  const [rows, width, eps] = [3, 8, 1e-5];
  const [toX, toWeight, toBias] = [F, F + 1024, F + 2048];
  const memory = alike((kernels) => {
    kernels.norm(A, B, C, D, E, rows, width, eps);
    kernels.normBackward(E + 1024, A, E, B, toX, toWeight, toBias, rows, width);
  });
  const by = at(memory, E + 1024, rows * width);
  const run = (kernels) => kernels.norm(A, B, C, D, E, rows, width, eps);
  for (const [from, to, count] of [
    [A, toX, rows * width],
    [B, toWeight, width],
    [C, toBias, width],
  ]) {
    const added = at(memory, to, count).map((one, i) => one - memory.start[(to >> 2) + i]);
    near(added, slopes(run, from, count, D, by), 1e-3);
  }
});

/** Φ by the trapezium rule. */
function below(h) {
  const step = h / 4000;
  let sum = 0;
  for (let i = 0; i < 4000; i += 1) {
    sum += (step * (Math.exp(-((i * step) ** 2) / 2) + Math.exp(-(((i + 1) * step) ** 2) / 2))) / 2;
  }
  return 0.5 + sum / Math.sqrt(2 * Math.PI);
}

const FORMULAS = [
  (h) => (h / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (h + 0.044715 * h ** 3))),
  (h) => h * below(h),
  (h) => Math.max(0, h),
  (h) => h / (1 + Math.exp(-h)),
];
for (const [kind, name] of ["GELU's tanh form", "GELU", "ReLU", "SiLU"].entries()) {
  test(`${name} and its slope, far from 0 too`, () => {
    const inputs = Float32Array.from({ length: 80 }, (_, i) => (i - 40.5) / 4);
    const memory = alike(
      (kernels) => kernels.activate(kind, A, B, inputs.length),
      (one) => at(one, A, inputs.length).set(inputs),
    );
    near(at(memory, B, inputs.length), inputs.map(FORMULAS[kind]), 1e-6);
    const slope = (h) => (FORMULAS[kind](h + 1e-4) - FORMULAS[kind](h - 1e-4)) / 2e-4;
    near(at(memory, A, inputs.length), inputs.map(slope), 2e-6);
    near(at(memory, A + 4 * inputs.length, 8), memory.start.subarray((A >> 2) + 80, (A >> 2) + 88), 0);
  });
}

test("an activation of very large and very small numbers is finite", () => {
  const inputs = [1e4, -1e4, 1e-30, -1e-30, 0, 90, -90, 30];
  for (const [kind] of FORMULAS.entries()) {
    const memory = alike(
      (kernels) => kernels.activate(kind, A, B, 8),
      (one) => at(one, A, 8).set(inputs),
    );
    near(at(memory, B, 8), [1e4, 0, 0, 0, 0, 90, 0, 30], 1e-6);
  }
});

const LENGTH = 8;
const SCALE = 0.35;

test("attention weighs a row's first places, and no later one", () => {
  const memory = alike((kernels) => kernels.weigh(A, LENGTH, SCALE));
  const scores = memory.start.subarray(A >> 2);
  for (let row = 0; row < LENGTH; row += 1) {
    const powers = times(LENGTH, (i) => (i > row ? 0 : Math.exp(SCALE * scores[row * LENGTH + i])));
    const sum = total(powers);
    const found = at(memory, A + 4 * row * LENGTH, LENGTH);
    const wanted = Float64Array.from(powers, (one) => one / sum);
    near(found, wanted, 1e-6);
    assert.ok(found.subarray(row + 1).every((one) => one === 0));
  }
});

test("weights of large scores stay finite, and what is not a number stays one", () => {
  const memory = alike(
    (kernels) => kernels.weigh(A, LENGTH, 1),
    (one) => at(one, A, LENGTH ** 2).forEach((_, i, all) => (all[i] = 3e4 * (i % LENGTH))),
  );
  near(at(memory, A + 4 * 7 * LENGTH, LENGTH), [0, 0, 0, 0, 0, 0, 0, 1], 1e-6);
  for (const { kernels, numbers } of kinds()) {
    numbers[A >> 2] = NaN;
    kernels.weigh(A, LENGTH, 1);
    assert.ok(Number.isNaN(numbers[A >> 2]));
  }
});

test("the gradients of scores are the weights' slopes", () => {
  const memory = alike((kernels) => {
    kernels.weigh(A, LENGTH, SCALE);
    kernels.weighBackward(B, A, LENGTH, SCALE);
  });
  const by = memory.start.subarray(B >> 2, (B >> 2) + LENGTH ** 2);
  const wanted = slopes((kernels) => kernels.weigh(A, LENGTH, SCALE), A, LENGTH ** 2, A, by);
  near(at(memory, B, LENGTH ** 2), wanted, 1e-4);
});

test("the cross-entropy of rows with a target, and its gradient", () => {
  const [rows, classes, wide, among] = [4, 11, 16, 3];
  const targets = [2, 10, -1, 0];
  const place = (one) => one.whole.set(targets, B >> 2);
  const memory = alike((kernels) => kernels.crossEntropy(A, 4 * wide, B, rows, classes, among), place);
  let loss = 0;
  targets.forEach((target, row) => {
    const logits = memory.start.subarray((A >> 2) + row * wide, (A >> 2) + row * wide + classes);
    const sum = logits.reduce((all, one) => all + Math.exp(one), 0);
    const shares = times(wide, (i) => (i < classes ? Math.exp(logits[i]) / sum : 0));
    if (target >= 0) loss -= Math.log(shares[target]);
    const wanted = shares.map((one, i) => (target < 0 ? 0 : (one - Number(i === target)) / among));
    near(at(memory, A + 4 * row * wide, wide), wanted, 1e-6);
  });
  near([memory.result], [loss], 1e-6);
});

test("a loss of logits in the thousands is finite, of NaN is NaN", () => {
  for (const { kernels, numbers, whole } of kinds()) {
    numbers.fill(-5000, A >> 2, (A >> 2) + 8);
    numbers[A >> 2] = 5000;
    whole[B >> 2] = 3;
    near([kernels.crossEntropy(A, 32, B, 1, 7, 1)], [1e4]);
    numbers[A >> 2] = NaN;
    assert.ok(Number.isNaN(kernels.crossEntropy(A, 32, B, 1, 7, 1)));
  }
});

test("embeddings of tokens and places are added, and so are their gradients", () => {
  const [ids, length, width] = [[3, 0, 3, 1, 2, 3], 3, 8];
  const place = (one) => one.whole.set(ids, A >> 2);
  const memory = alike((kernels) => {
    kernels.embed(A, B, C, D, ids.length, length, width);
    kernels.embedBackward(A, D, E, F, ids.length, length, width);
  }, place);
  const [tokens, places, gradient] = [B, C, D].map((one) => at(memory, one, 2048));
  const [toTokens, toPlaces] = [E, F].map((one) => memory.start.slice(one >> 2, (one >> 2) + 4 * width));
  ids.forEach((id, row) => {
    for (let i = 0; i < width; i += 1) {
      const one = gradient[row * width + i];
      near([one], [tokens[id * width + i] + places[(row % length) * width + i]], 1e-6);
      toTokens[id * width + i] += one;
      toPlaces[(row % length) * width + i] += one;
    }
  });
  near(at(memory, E, 4 * width), toTokens);
  near(at(memory, F, 4 * width), toPlaces);
});

test("AdamW moves weights by the ratio of its moments, after decay", () => {
  const [rate, even, keep, shrink, beta1, beta2, eps] = [0.1, 1.7, 0.9, 0.5, 0.8, 0.95, 0.01];
  const memory = alike(
    (kernels) => kernels.adamw(A, B, C, D, 16, rate, even, keep, shrink, beta1, beta2, eps),
    (one) => at(one, D, 16).forEach((moment, i, all) => (all[i] = Math.abs(moment))),
  );
  for (let i = 0; i < 17; i += 1) {
    const [w, g, m, v] = [A, B, C, D].map((one) => memory.start[(one >> 2) + i]);
    const first = beta1 * m + (1 - beta1) * shrink * g;
    const second = beta2 * Math.abs(v) + (1 - beta2) * (shrink * g) ** 2;
    const wanted = i < 16 ? [keep * w - (rate * first) / (Math.sqrt(second) * even + eps), first, second] : [w, m, v];
    const found = [A, C, D].map((one) => at(memory, one, 17)[i]);
    near(found, wanted);
  }
});
