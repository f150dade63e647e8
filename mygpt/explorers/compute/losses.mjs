// The losses of a training by step: what is drawn of a long list, and axes that follow it.

import { meanOf } from "../kit/geometry.mjs";

/** At most some points of a list of losses: its own, or the means of stretches of equal length.
 * @type {(losses: number[], most?: number) => { steps: number[]; means: number[] }} */
export function thinnedLosses(losses, most = 250) {
  const stretch = Math.ceil(losses.length / most);
  const [steps, means] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  for (let from = 0; from < losses.length; from += stretch) {
    const part = losses.slice(from, from + stretch);
    const mean = meanOf(part);
    steps.push(from + (part.length - 1) / 2);
    means.push(Number.isFinite(mean) ? mean : NaN);
  }
  return { steps, means };
}

/** A picture's axes, which are drawn anew only when they change; the labels of y have room at the left.
 * @param {Kit.Picture} plot
 * @param {{ left: number; right: number }} margin
 * @param {(axes: Kit.Axes) => void} changed */
export function steadyAxes(plot, { left, right }, changed = () => {}) {
  let axes = /** @type {Kit.Axes | null} */ (null);
  let size = { width: 1, height: 1 };
  let drawn = "";
  return {
    lay: (/** @type {number} */ width, /** @type {number} */ height) => {
      [size, drawn] = [{ width, height }, ""];
    },
    frame: (/** @type {Kit.Axis} */ x, /** @type {Kit.Axis} */ y) => {
      const key = JSON.stringify([x, y]);
      if (axes && key === drawn) return axes;
      drawn = key;
      const longest = Math.max(...y.ticks.map(({ label }) => label.length));
      axes = plot.frame({ ...size, margin: { left: left + 7 * longest, right, top: 6, bottom: 40 }, x, y });
      changed(axes);
      return axes;
    },
    isDrawn: () => drawn !== "",
  };
}
