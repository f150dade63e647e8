// The page's side of the worker that trains: when it is given up. The worker is a plain object here.

import { engineDriver } from "../../../mygpt/explorers/train_gpt/driver.mjs";
import { assert, afterEach, beforeEach, mock, test } from "../common.mjs";

const MINUTE = 60_000;
let now = 0;
let tick = null; // the one watch, while it is set
let workers = [];
let heard = [];
let lost = [];

beforeEach(() => {
  [now, workers, heard, lost] = [0, [], [], []];
  tick = null;
  mock.method(globalThis, "setInterval", (call) => {
    tick = call;
    return 1;
  });
  mock.method(globalThis, "clearInterval", () => {
    tick = null;
  });
  mock.method(performance, "now", () => now);
  globalThis.document = { hidden: false };
  globalThis.Worker = class {
    constructor() {
      workers.push(this);
      this.asked = [];
    }
    postMessage(asked) {
      this.asked.push(asked.kind);
    }
    terminate() {
      this.ended = true;
    }
  };
});
afterEach(() => mock.restoreAll());

const driver = () =>
  engineDriver(
    (news) => heard.push(news.kind),
    (why) => lost.push(why),
  );

/** Lets time pass, and a page that is awake look at its watch. */
function pass(duration, step = 5000) {
  for (let gone = 0; gone < duration; gone += step) {
    now += step;
    tick?.();
  }
}

function training() {
  const one = driver();
  one.ask({ kind: "begin" });
  one.ask({ kind: "run" });
  one.watch();
  return one;
}

test("a worker is started where a training begins, and an older one is ended", () => {
  const one = training();
  one.ask({ kind: "begin" });
  const [older, newer] = workers;
  assert.deepEqual([older.asked, older.ended], [["begin", "run"], true]);
  assert.deepEqual([newer.asked, newer.ended, workers.length], [["begin"], undefined, 2]);
});

test("a worker that no longer answers is given up after a minute, once", () => {
  training();
  pass(MINUTE - 5000);
  assert.deepEqual(lost, []);
  pass(3 * MINUTE);
  assert.deepEqual(lost, ["The worker that trains no longer answers."]);
  assert.ok(workers[0].ended);
});

test("news keep it", () => {
  training();
  for (let i = 0; i < 5; i += 1) {
    pass(MINUTE / 2);
    workers[0].onmessage({ data: { kind: "progress" } });
  }
  assert.deepEqual(lost, []);
});

test("a run that has ended, in whatever way, is no longer watched", () => {
  for (const kind of ["ended", "diverged", "failed"]) {
    training();
    workers.at(-1).onmessage({ data: { kind } });
    pass(5 * MINUTE);
    assert.equal(heard.at(-1), kind);
  }
  assert.deepEqual(lost, []);
});

test("a page that is hidden, or has slept, waits on", () => {
  training();
  globalThis.document.hidden = true;
  pass(5 * MINUTE);
  globalThis.document.hidden = false;
  now += 60 * MINUTE;
  tick?.();
  assert.deepEqual(lost, []);
  pass(2 * MINUTE);
  assert.equal(lost.length, 1);
});

test("a page that may not start a worker says so", () => {
  globalThis.Worker = class {
    constructor() {
      throw new Error("no worker-src");
    }
  };
  driver().ask({ kind: "begin" });
  assert.deepEqual(lost, ["This page may not start the worker that trains: no worker-src"]);
});
