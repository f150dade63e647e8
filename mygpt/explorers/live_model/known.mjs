// What is said of a word that the model does not have: words that it has. No page is touched here.

import { WORLD } from "./pieces.mjs";
import { STOP, completions, listed } from "./words.mjs";

const OFFERED = 3;
const SURE = 0.99;

/** The words in which alone two of the prompts differ, as "france" and "italy" in the same question.
 * @type {(prompts: string[], pieces?: LiveModel.Pieces) => Set<string>} */
export function fillers(prompts, pieces = WORLD) {
  const split = prompts.map(pieces.split);
  /** @type {Set<string>} */
  const found = new Set();
  for (const one of split) {
    for (const other of split.filter(({ length }) => length === one.length)) {
      const differ = one.filter((word, i) => word !== other[i]);
      if (differ.length === 1) found.add(differ[0]);
    }
  }
  return found;
}

/** The place of a prompt's filler among its words, or −1.
 * @type {(prompt: string, facts: LiveModel.Fact[], pieces: LiveModel.Pieces) => number} */
function slotOf(prompt, facts, pieces) {
  const known = fillers([prompt, ...facts.map(([asked]) => asked)], pieces);
  return pieces.split(prompt).findLastIndex((word) => known.has(word));
}

/** An answer to begin with, that the model does not give: to a question that differs from the prompt in its
 * filler alone (another capital, say), or else to any other.
 * @type {(state: Pick<LiveModel.State, "facts" | "now" | "untouched" | "get"> & { pieces?: LiveModel.Pieces }) => string} */
export function otherAnswer({ facts, now, untouched, get, pieces = WORLD }) {
  const [given, slot] = [pieces.split(get("prompt")), slotOf(get("prompt"), facts, pieces)];
  /** @type {(asked: string) => boolean} */
  const alike = (asked) => {
    const words = pieces.split(asked);
    return words.length === given.length && words.every((word, i) => (word === given[i]) === (i !== slot));
  };
  const others = facts.filter(([, right]) => right !== untouched.best && right !== now.best);
  return (others.find(([asked]) => alike(asked)) ?? others[0])?.[1] ?? untouched.best;
}

/** Answers to the prompt with another word in the place of its filler: other capitals, say. The model is asked for
 * each word that it has, which are few in the world.
 * @type {(state: LiveModel.State) => string[]} */
function kindred({ pieces = WORLD, words, places, facts, answer, now, get }) {
  const given = pieces.split(get("prompt"));
  const slot = pieces.kind === "world" ? slotOf(get("prompt"), facts, pieces) : -1;
  /** @type {Set<string>} */
  const found = new Set();
  const from = (places.get(given[slot]) ?? -1) + 1;
  for (const word of slot < 0 ? [] : [...words.slice(from), ...words.slice(0, from)]) {
    const { best, share } = answer(given.map((one, i) => (i === slot ? word : one)).join(" "), []);
    if (share > SURE && best !== now.best && best !== STOP) found.add(best);
    if (found.size === OFFERED) break;
  }
  return [...found];
}

/** That the model does not have a word, with some that it has: longer ones first, or kindred answers.
 * @type {(state: LiveModel.State, word: string) => string} */
export function refused(state, word) {
  const { words, facts, now, pieces = WORLD } = state;
  const every = `the model’s ${words.length} ${pieces.noun}s`;
  if (!word) return `Type one of ${every}.`;
  const right = facts.map(([, one]) => one).filter((one) => one !== now.best);
  const known = [...new Set([...completions(words, word), ...kindred(state), ...right])];
  const offer = known.length ? ` Try ${listed(known.slice(0, OFFERED))}.` : "";
  return `“${word}” is not one of ${every}.${offer}`;
}
