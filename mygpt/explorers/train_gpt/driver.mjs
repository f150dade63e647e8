// The worker as the page sees it: started when it is first needed, watched, and given up with a sentence.

import { WORKER } from "../engine/worker_source.mjs";

const SILENT = 60_000; // ms without news, of a page that is seen, after which a worker is lost
const WATCHED = 5_000; // ms between two looks at that

/** A worker that trains; what it tells goes to `hear`, and `lose` is called, once, when it is gone.
 * @param {(news: Engine.News) => void} hear
 * @param {(why: string) => void} lose */
export function engineDriver(hear, lose) {
  /** @type {Worker | null} */
  let worker = null;
  let heard = 0;
  let watching = 0;
  const stop = () => {
    clearInterval(watching);
    worker?.terminate();
    worker = null;
  };
  const gone = (/** @type {string} */ why) => {
    stop();
    lose(why);
  };
  /** @type {(asked: Engine.Asked) => void} */
  const ask = (asked) => {
    if (asked.kind === "begin" || (asked.kind === "write" && !worker)) start();
    worker?.postMessage(asked);
    heard = performance.now();
  };
  function start() {
    stop();
    try {
      const address = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
      worker = new Worker(address);
      URL.revokeObjectURL(address);
    } catch (error) {
      gone(`This page may not start the worker that trains: ${error instanceof Error ? error.message : error}`);
      return;
    }
    worker.onmessage = ({ data }) => {
      heard = performance.now();
      if (["ended", "diverged", "failed"].includes(data.kind)) clearInterval(watching); // nothing more comes by itself
      hear(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      gone(`The worker that trains has stopped${event.message ? `: ${event.message}` : "."}`);
    };
  }
  /** Watches for news until the run has ended, while the page is seen. */
  const watch = () => {
    clearInterval(watching);
    heard = performance.now();
    let looked = performance.now();
    watching = setInterval(() => {
      const now = performance.now();
      const slept = now - looked > 2 * WATCHED; // the page has, and so has the worker
      looked = now;
      if (document.hidden || slept) heard = now;
      if (now - heard > SILENT) gone("The worker that trains no longer answers.");
    }, WATCHED);
  };
  return { ask, watch, stop };
}
