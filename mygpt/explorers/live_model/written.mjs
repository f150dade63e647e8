// The fold "Write facts": the reader's own, a neuron for each.

import { button, control, folded } from "../kit/controls.mjs";
import { UNHEARD, html } from "../kit/elements.mjs";
import { factRow } from "./edits.mjs";
import { addEdit, asksFor } from "./state.mjs";
import { listed } from "./words.mjs";

export const MAX_WRITTEN = 40;

/** @type {(line: string) => string[]} */
const wordsOf = (line) =>
  line
    .toLowerCase()
    .split(/[\s,;:.→>-]+/)
    .filter(Boolean);

/** The lines of a text in which words are.
 * @type {(text: string) => string[]} */
const linesOf = (text) => text.split("\n").filter((line) => wordsOf(line).length);

/** The facts in a text, one a line: a subject, a relation and the new answer; or what is wrong with it.
 * @type {(text: string, known: { places: { has(word: string): boolean }; templates: LiveModel.Traits["templates"] }) => { facts: LiveModel.NewFact[]; wrong: string }} */
export function readLines(text, { places, templates }) {
  /** @type {LiveModel.NewFact[]} */
  const facts = [];
  /** @type {(wrong: string) => { facts: LiveModel.NewFact[]; wrong: string }} */
  const refuse = (wrong) => ({ facts: [], wrong });
  for (const line of linesOf(text)) {
    const words = wordsOf(line);
    const [subject, relation, answer] = words;
    if (words.length !== 3) return refuse(`“${line.trim()}”: expected two words and a new answer.`);
    if (!Object.hasOwn(templates, relation)) {
      return refuse(`“${line.trim()}”: the second word must be ${listed(Object.keys(templates))}.`);
    }
    const strange = [subject, answer].find((word) => !places.has(word));
    if (strange) return refuse(`“${strange}” is not one of the model’s words.`);
    if (facts.some((one) => one[0] === subject && one[1] === relation)) {
      return refuse(`“${subject} ${relation}” is there twice.`);
    }
    facts.push([subject, relation, answer]);
  }
  if (!facts.length) return refuse("There is no fact to write.");
  if (facts.length > MAX_WRITTEN) return refuse(`At most ${MAX_WRITTEN} facts at once, got ${facts.length}.`);
  return { facts, wrong: "" };
}

/** How many of the written facts the model says, and which neurons they are.
 * @type {(count: number, said: number, neurons: number) => string} */
export const writtenInWords = (count, said, neurons) =>
  `${count} written, from neuron ${neurons} on, beside ${neurons} that were trained. The model gives ${said} of ${count} new answers.`;

/** Why facts cannot be written, if so.
 * @type {(state: LiveModel.State, facts: LiveModel.NewFact[]) => string} */
function unwritable(state, facts) {
  try {
    state.compiled([...state.edits, { kind: "write", facts }]);
    return "";
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return `${message[0].toUpperCase()}${message.slice(1)}.`;
  }
}

/** The written facts, asked anew.
 * @type {(state: LiveModel.State) => { good: boolean; node: HTMLElement; drawPrompt(): void }[]} */
function writtenRows(state) {
  const { edits, neurons } = state;
  const facts = edits.flatMap((edit) => (edit.kind === "write" ? edit.facts : []));
  return facts.map((fact, i) => {
    const [prompt] = asksFor(state, fact);
    const { best, share } = state.asked(prompt, edits);
    const said = { word: best, share, good: best === fact[2], changed: false };
    const row = factRow(state, [prompt, fact[2]], () => said, `neuron ${neurons + i}`);
    row.draw();
    return { good: said.good, node: html("li", row.node), drawPrompt: row.drawPrompt };
  });
}

/** @type {(state: LiveModel.State) => Kit.View} */
export function writtenView(state) {
  const { neurons, get } = state;
  const id = `${state.id}-own-facts`;
  const field = control("textarea.own-facts", {
    id,
    rows: 7,
    spellcheck: "false",
    autocapitalize: "off",
    oninput: () => name(),
  });
  field.value = get("new_facts")
    .map((fact) => fact.join(" "))
    .join("\n");
  const problem = html("p.wrong-line");
  const write = button("", () => {
    const { facts, wrong } = readLines(field.value, state);
    problem.textContent = wrong || unwritable(state, facts);
    const { edits } = state;
    /** @type {LiveModel.Edit} */
    const edit = { kind: "write", facts };
    if (JSON.stringify(edits.at(-1)) === JSON.stringify(edit)) problem.textContent = "These facts are written.";
    if (problem.textContent) state.say(problem.textContent);
    else addEdit(state, edit);
    if (state.edits === edits) problem.textContent ||= state.note;
  });
  function name() {
    const count = linesOf(field.value).length;
    write.node.textContent = count === MAX_WRITTEN ? "Write all forty" : `Write ${count}`;
    write.able(count > 0);
    problem.textContent = "";
  }
  name();
  const news = html("span.number.sum.muted");
  const sum = html("p.written-sum");
  const list = html("ul.fact-list.list");
  const heads = ["Prompt", "New", "The model says", "Written"].map((text) => html("span", text));
  const table = html("div.written", html("p.fact-head.muted", UNHEARD, heads), list);
  const help = `A fact a line: a subject, ${listed(Object.keys(state.templates))}, and the new answer, as in “${get("new_facts")[0]?.join(" ")}”. Each becomes a neuron.`;
  const label = html("label.muted", { for: id }, help);
  const node = folded(["Write facts ", news], label, field, html("div.row.flow", write), problem, sum, table);
  /** @type {LiveModel.Edit[] | null} */
  let drawn = null;
  let rows = /** @type {ReturnType<typeof writtenRows>} */ ([]);
  function drawRows() {
    drawn = state.edits;
    rows = writtenRows(state);
    const said = rows.filter((row) => row.good).length;
    problem.textContent = "";
    news.textContent = rows.length ? `${said} of ${rows.length} new answers` : "";
    sum.textContent = rows.length ? writtenInWords(rows.length, said, neurons) : "";
    list.replaceChildren(...rows.map((row) => row.node));
    table.hidden = !rows.length;
  }
  function draw() {
    if (drawn !== state.edits) drawRows();
    for (const row of rows) row.drawPrompt();
  }
  return { node, draw };
}
