// The trained model in the views of the live model.

import { button } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";

/** @type {(state: TrainGPT.State) => Kit.View} */
export function apartView(state) {
  const open = button("Take it apart", () => {});
  const node = html("div", { class: "mygpt-apart" }, open.node);
  return { node, draw: () => open.able(Boolean(state.kept)) };
}
