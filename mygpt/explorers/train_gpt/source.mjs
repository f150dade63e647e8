// The text to learn from, and what is settled before the first step.

import { exact } from "../kit/amounts.mjs";
import { button, choice, control, folded, stepper } from "../kit/controls.mjs";
import { flag, html } from "../kit/elements.mjs";
import { rested } from "../kit/parts/fields.mjs";
import { sizeOf, takesText } from "./state.mjs";
import { MAX_SEED, PIECE_NAMES, RATES, SIZE_NAMES, SOURCE_NAMES, STEPS, textLine } from "./words.mjs";

const SHOWN_IN_FIELD = 2000; // bytes of a file that its field shows

/** The field for a text of the reader's own; a file may be chosen or dropped on it. `take` is given the text, or the
 * bytes of a file with its name; `tell` why it could not be.
 * @type {(state: TrainGPT.State, take: (given: string | Uint8Array, name?: string) => void, tell: (why: string) => void) => Kit.View} */
function ownView(state, take, tell) {
  const entry = rested(
    () => {},
    () => take(field.value),
  );
  const field = control("textarea.own-text", {
    rows: 4,
    "aria-label": "Your own text",
    placeholder: "Paste at least 2,000 characters here, or drop a text file.",
    spellcheck: "false",
    dir: "auto",
    oninput: entry.typed,
  });
  const file = control("input", {
    type: "file",
    "aria-label": "A text file",
    accept: ".txt,.md,.csv,text/*",
    hidden: true,
    onchange: () => {
      read(file.files?.[0]);
      file.value = "";
    },
  });
  const from = html("span.file-name");
  const open = button("Choose a file", () => file.click());
  /** @type {(one: File | undefined) => Promise<void>} */
  const read = async (one) => {
    if (!one) return;
    try {
      take(new Uint8Array(await one.arrayBuffer()), one.name);
    } catch {
      tell(`${one.name} cannot be read: expected a text file.`);
    }
  };
  const chosen = html("div.file.flow", open, file, from);
  const node = html("div.own", field, chosen);
  node.addEventListener("dragover", (event) => event.preventDefault());
  node.addEventListener("drop", (event) => {
    event.preventDefault();
    const [one] = event.dataTransfer?.files ?? [];
    const text = event.dataTransfer?.getData("text");
    if (one) read(one);
    else if (text) take(text);
    else tell("Expected a text or a text file, got neither.");
  });
  let drawn = state.own;
  const draw = () => {
    node.hidden = state.source !== "own";
    const { own } = state;
    if (own !== drawn) {
      drawn = own;
      field.value = typeof own === "string" ? own : new TextDecoder().decode(own.slice(0, SHOWN_IN_FIELD));
    }
    from.textContent = typeof own === "string" ? "" : `${state.name}, as it begins`;
    field.readOnly = !takesText(state);
  };
  return { node, draw };
}

/** The text, what its tokens are, and how large the model is. What is settled stays until Reset.
 * @type {(state: TrainGPT.State, calls: { settle(changes: Partial<TrainGPT.Traits>): void; take(given: string | Uint8Array, name?: string): void }) => Kit.View} */
export function sourceView(state, { settle, take }) {
  const source = choice("Text", SOURCE_NAMES, (one) => one && settle({ source: one }));
  const pieces = choice("Tokens", PIECE_NAMES, (one) => one && settle({ pieces: one }));
  const size = choice("Model", SIZE_NAMES, (one) => one && settle({ size: one }));
  const own = ownView(state, take, (why) => {
    state.refusal = why;
    draw();
  });
  const line = html("p.text-line.muted", { role: "status" });
  const choices = html("div.choices", source, pieces, size);
  const node = html("div.source", choices, own, line);
  const draw = () => {
    source.show(state.source);
    pieces.show(state.pieces);
    size.show(state.opened ? sizeOf(state.opened.config) : state.size);
    own.draw();
    line.textContent = state.refusal || (state.prepared ? textLine(state.prepared) : "Train needs a text.");
    flag(line, "wrong", Boolean(state.refusal));
  };
  return { node, draw };
}

/** The place of the last of some rising values that is no larger than one.
 * @type {(values: number[], value: number) => number} */
const lastUpTo = (values, value) =>
  Math.max(
    0,
    values.findLastIndex((one) => one <= value),
  );

/** The learning rate, the steps and the seed, folded.
 * @type {(state: TrainGPT.State, settle: (changes: Partial<TrainGPT.Traits>) => void) => Kit.View} */
export function settingsView(state, settle) {
  const rate = stepper("Learning rate", (place) => settle({ rate: RATES[place] }));
  const steps = stepper("Steps a run", (place) => settle({ steps: STEPS[place] }));
  const seed = stepper("Seed", (one) => settle({ seed: one }));
  const node = folded("Settings", html("div.controls", rate, steps, seed));
  const draw = () => {
    const [peak, count] = [state.rate, state.steps];
    rate.show(lastUpTo(RATES, peak), RATES.length - 1, String(peak));
    steps.show(lastUpTo(STEPS, count), STEPS.length - 1, exact(count));
    seed.show(state.seed, MAX_SEED, String(state.seed));
  };
  return { node, draw };
}
