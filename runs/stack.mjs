// Train the cases that stand on standard input, one JSON object a line, with TrainStack's own code.

import { createInterface } from "node:readline";
import { begin, shareRight, sizes, takeStep } from "../mygpt/explorers/train_stack/course.mjs";

const LAST = 20; // steps whose mean loss is told

for await (const line of createInterface({ input: process.stdin })) {
  const { steps, ...setting } = JSON.parse(line);
  const now = begin(setting);
  const [gradient] = sizes(now).gradient;
  while (now.done < steps && !now.lost) takeStep(now);
  const last = now.losses.slice(-LAST);
  const loss = last.reduce((sum, one) => sum + one, 0) / last.length;
  const right = shareRight(now);
  console.log(JSON.stringify({ gradient, loss: now.lost ? null : loss, lost: now.lost ? now.done : null, right }));
}
