// The training in a worker, so that the page stays at hand: what the page asks for comes as messages, and so does what
// there is to tell. Steps are taken in slices; between two of them the messages are read.

import { beginSession, heldLoss, snapshot, trainStep, write } from "./session.mjs";

const SLICE = 40; // ms of steps
const KEPT_EVERY = 15_000; // ms at most, for a page that loses its worker
const LOOKS = 20; // at the held-out loss in a run

/** Whether the model writes after so many steps: 0, and 1, 2 and 5 times each power of ten from 10 on.
 * @type {(step: number) => boolean} */
export const writesAt = (step) => step === 0 || (step >= 10 && /^[125]0*$/.test(String(step)));

/** What is seen of the model after a step: at some the held-out loss, at some a text as well.
 * @type {(run: Engine.Run, session: Engine.Session, last: boolean) => Pick<Engine.Progress, "held" | "text">} */
function looks({ settings }, session, last) {
  const { steps } = session.network;
  const text = last || writesAt(steps) ? write(session, settings.start, settings.count) : undefined;
  const judged = text || steps % Math.max(1, Math.round(settings.steps / LOOKS)) === 0;
  return { held: judged ? heldLoss(session) : undefined, text };
}

/** @type {(run: Engine.Run, session: Engine.Session) => void} */
function keep(run, session) {
  run.kept = performance.now();
  run.tell({ kind: "kept", kept: snapshot(session) });
}

/** @type {(run: Engine.Run, session: Engine.Session) => void} */
function end(run, session) {
  run.goes = false;
  keep(run, session);
  run.tell({ kind: "ended", step: session.network.steps });
}

/** Steps until the slice is over or there is something to look at.
 * @type {(run: Engine.Run, session: Engine.Session) => void} */
function slice(run, session) {
  const { network } = session;
  const begun = performance.now();
  const losses = [];
  /** @type {Pick<Engine.Progress, "held" | "text">} */
  let seen = {};
  while (!seen.held && network.steps < run.until && performance.now() - begun < SLICE) {
    const loss = trainStep(session, run.settings);
    if (!Number.isFinite(loss)) {
      run.goes = false;
      run.tell({ kind: "diverged", step: network.steps });
      return;
    }
    losses.push(loss);
    seen = looks(run, session, network.steps === run.until);
  }
  run.tell({ kind: "progress", step: network.steps, losses, took: performance.now() - begun, ...seen });
  if (network.steps >= run.until) end(run, session);
  else if (seen.held !== undefined || performance.now() - run.kept > KEPT_EVERY) keep(run, session);
}

/** @type {(run: Engine.Run) => void} */
function go(run) {
  if (!run.goes || !run.session) return;
  slice(run, run.session);
  if (run.goes) run.later(() => caught(run, () => go(run)));
}

/** Before its first slice a run tells the held-out loss: a page that goes back to where it began knows how good that was.
 * @type {(run: Engine.Run) => void} */
function start(run) {
  const { goes, session, tell } = run;
  if (!goes || !session) return;
  tell({ kind: "progress", step: session.network.steps, losses: [], took: 0, held: heldLoss(session) });
  go(run);
}

/** What the page asks for.
 * @type {{ [K in Engine.Asked["kind"]]: (run: Engine.Run, asked: Extract<Engine.Asked, { kind: K }>) => void }} */
const ANSWERS = {
  begin(run, { given, settings }) {
    Object.assign(run, { session: null, goes: false, settings, kept: performance.now() });
    const session = beginSession(given);
    run.session = session;
    const { simd, plan, steps } = session.network;
    run.tell({ kind: "ready", simd, bytes: plan.bytes });
    run.tell({
      kind: "progress",
      step: steps,
      losses: [],
      took: 0,
      text: write(session, settings.start, settings.count),
    });
  },
  run(run, { until, settings }) {
    Object.assign(run, { until, settings });
    if (!run.goes) run.later(() => caught(run, () => start(run)));
    run.goes = true;
  },
  stop(run) {
    const { goes, session, settings, tell } = run;
    if (!goes || !session) return;
    const text = write(session, settings.start, settings.count);
    tell({ kind: "progress", step: session.network.steps, losses: [], took: 0, held: heldLoss(session), text });
    end(run, session);
  },
  write({ tell }, { given, start: prompt, count, seed }) {
    const text = write(beginSession(given), prompt, count, seed);
    tell({ kind: "wrote", step: given.kept?.step ?? 0, text: [...prompt, ...text] });
  },
};

/** An error ends the run, and is told.
 * @type {(run: Engine.Run, call: () => void) => void} */
function caught(run, call) {
  try {
    call();
  } catch (error) {
    run.goes = false;
    run.tell({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  }
}

/** What answers the page's messages: `tell` sends it one, `later` calls once its next messages have been read.
 * @type {(tell: (news: Engine.News) => void, later: (call: () => void) => void) => (asked: Engine.Asked) => void} */
export function answering(tell, later) {
  const settings = { steps: 1, rate: 0, start: [0], count: 0 };
  /** @type {Engine.Run} */
  const run = { tell, later, session: null, settings, until: 0, goes: false, kept: 0 };
  return (asked) => caught(run, () => /** @type {any} */ (ANSWERS)[asked.kind](run, asked));
}
