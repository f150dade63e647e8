// Adam (Kingma and Ba 2015) with PyTorch's constants, in float64.

const [BETA_1, BETA_2, ADAM_EPS] = [0.9, 0.999, 1e-8];

/** What `adamMove` takes at a step, counted from 1, of a learning rate.
 * @type {(step: number, rate: number) => [first: number, second: number]} */
export const adamScales = (step, rate) => [rate / (1 - BETA_1 ** step), Math.sqrt(1 - BETA_2 ** step)];

/** Updates the moments of weight i; returns what is taken from the weight.
 * @type {(moments: { slope: Float64Array; mean: Float64Array; square: Float64Array }, i: number, first: number, second: number) => number} */
export function adamMove({ slope, mean, square }, i, first, second) {
  const g = slope[i];
  mean[i] = BETA_1 * mean[i] + (1 - BETA_1) * g;
  square[i] = BETA_2 * square[i] + (1 - BETA_2) * g * g;
  return (first * mean[i]) / (Math.sqrt(square[i]) / second + ADAM_EPS);
}
