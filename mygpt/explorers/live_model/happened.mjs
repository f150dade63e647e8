// What is said of the last edit: what it did to the answer, then to the others.

import { fixed } from "../kit/geometry.mjs";
import { DRAWS } from "./holders.mjs";
import { editInWords } from "./words.mjs";

const NAMED = 3; // of the answers that changed
const COUNTS = ["", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const LESS_SURE = 0.1; // a fall of a probability that is worth a word

/** How an answer became another, or the same with another share; `who` is the subject.
 * @type {(who: string, before: LiveModel.Said, share: number, now: string) => string} */
export function movedInWords(who, before, share, now) {
  const [from, to] = [before.share, share].map((one) => fixed(one, 3));
  if (now !== before.best) return `${who} falls from ${from} to ${to}, and the model says “${now}”.`;
  return from === to ? `${who} stays at ${to}.` : `${who} goes from ${from} to ${to}.`;
}

/** That the neurons that hold a word are off; and, with `stays`, what random others do.
 * @type {(count: number, size: number, word: string, moved: string, stays: number) => string} */
export function neuronsInWords(count, size, word, moved, stays) {
  const one = count === 1;
  const those = `The ${one ? "one" : count} of ${size} neurons (small units of the feed-forward network) that ${
    one ? "adds" : "add"
  } most to “${word}” ${one ? "is" : "are"} off: ${moved}`;
  const others = one ? "a random other one" : `${count} random others`;
  return `${those} With ${others} off instead, “${word}” stays in ${stays} of ${DRAWS} trials.`;
}

/** How many of the answers that are tested changed, and which.
 * @type {(tested: LiveModel.Tested) => string} */
export function testedInWords({ names, count, besides, less }) {
  const few = names.length < 2;
  const many = `${names.length || "none"} of the ${count} tested ${few ? "is" : "are"} changed`;
  const said = besides ? `Besides this one, ${many}` : many[0].toUpperCase() + many.slice(1);
  if (!names.length) return `${said}${less ? `; ${less} ${less === 1 ? "is" : "are"} less sure` : ""}.`;
  const more = names.length - NAMED;
  const which = more > 0 ? [...names.slice(0, NAMED), `${more} more`] : names;
  return `${said}: ${which.join(", ").replace(/, (?=[^,]*$)/, " and ")}.`;
}

/** What the last edit did to the answer for which it was made.
 * @type {(state: LiveModel.State, edits: LiveModel.Edit[]) => string} */
function answerInWords({ get, answer, now, neurons, sought }, edits) {
  const before = answer(get("prompt"), edits.slice(0, -1));
  /** @type {(who: string) => string} */
  const moved = (who) => movedInWords(who, before, now.shares[before.order[0]], now.best);
  const edit = edits[edits.length - 1];
  const trial = sought.get(JSON.stringify(edits));
  if (edit.kind === "rewrite") return `One matrix of the feed-forward network is changed: ${moved(`“${before.best}”`)}`;
  if (trial && edit.kind === "part") {
    return `No small set of neurons holds “${before.best}”: the model reads it from the prompt. The attention heads of layer ${
      edit.layer
    } are off: ${moved("it")}`;
  }
  if (trial && edit.kind === "scale") {
    return neuronsInWords([edit.neuron].flat().length, neurons, before.best, moved("it"), trial.stays || 0);
  }
  return `${editInWords(edit)}: ${moved(`“${before.best}”`)}`;
}

/** What became of the answers that are tested, beside what they were as trained.
 * @type {(state: LiveModel.State) => string} */
function otherAnswers({ facts, said, trained, now, untouched, get }) {
  if (!facts.length) return "";
  const prompt = get("prompt");
  const changed = facts.filter((_, i) => said[i].changed).map(([asked]) => asked);
  const others = changed.filter((asked) => asked !== prompt).map((asked) => `“${asked}”`);
  const less = said.filter(
    (one, i) => !one.changed && facts[i][0] !== prompt && one.share < trained[i].share - LESS_SURE,
  ).length;
  return testedInWords({
    names: changed.length > others.length ? ["this one", ...others] : others,
    count: facts.length,
    besides: now.best !== untouched.best && !facts.some(([asked]) => asked === prompt),
    less,
  });
}

/** What the last edit did to the answer, and what to the others: the same whichever way the reader came to
 * this prompt and these edits.
 * @type {(state: LiveModel.State) => [answer: string, others: string]} */
export function happenedTo(state) {
  const { untouched, now, sought, get } = state;
  const [prompt, edits] = [get("prompt"), get("edits")];
  if (!edits.length) {
    const { layers, neurons, pieces } = state;
    const count = layers.length;
    const each = count > 1 ? `Each of its ${COUNTS[count] ?? count} feed-forward networks` : "Its feed-forward network";
    const units = `${each} has ${neurons} neurons, small units that add to the scores of ${pieces.noun}s.`;
    return [`This is the model as it was trained. It runs here, in the page. ${units}`, ""];
  }
  const made = edits[edits.length - 1].prompt ?? sought.get(JSON.stringify(edits))?.prompt;
  if (made !== undefined && made !== prompt) {
    const which = edits.length > 1 ? `The ${edits.length} edits stay` : `The edit for “${made}” stays`;
    const share = now.shares[untouched.order[0]];
    const here = movedInWords(`“${untouched.best}”`, untouched, share, now.best);
    return [`${which} on. Here ${here}`, otherAnswers(state)];
  }
  return [answerInWords(state, edits), otherAnswers(state)];
}
