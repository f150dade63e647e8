// A run that the tests of Scale change.

import { DATA, DEVICES, MODELS } from "../../mygpt/explorers/scale/count.mjs";

export const run = (changes = {}) => ({
  model: MODELS["GPT-3 175B"],
  device: DEVICES.A100,
  ...DATA["GPT-3 175B"],
  share: 0.4,
  devices: 512,
  spread: "sharded",
  ...changes,
});
