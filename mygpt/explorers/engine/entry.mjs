// Where a worker begins.

import { answering } from "./worker.mjs";

const turns = new MessageChannel(); // a timer would wait for some milliseconds each time
/** @type {(() => void)[]} */
const waiting = [];
turns.port1.onmessage = () => waiting.shift()?.();
const answer = answering(
  (news) => postMessage(news),
  (call) => {
    waiting.push(call);
    turns.port2.postMessage(0);
  },
);
addEventListener("message", ({ data }) => answer(data));
