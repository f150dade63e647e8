import { button, traitSlider } from "../kit/controls.mjs";
import { drawAll, explorerRoot, html, paragraph } from "../kit/elements.mjs";
import { descending, fixed, floats, times } from "../kit/geometry.mjs";
import { mount, store, allViews } from "../kit/mounting.mjs";
import { mulberry32 } from "../kit/numbers.mjs";
import { SHOWN, distribution, drawCounts, grouped } from "./distribution.mjs";
import { keys, numbersFold, sharesView } from "./table.mjs";
import { drawnOf, outcomeOf, sentenceOf, settingOf, shown } from "./words.mjs";

const MAX_DRAWS = 10000;

/** @type {(ids: number[], numbers: (number | boolean)[]) => number} */
const sumOf = (ids, numbers) => ids.reduce((sum, id) => sum + Number(numbers[id]), 0);

/** The rows of the figure: their ids, name and title, and their share at temperature 1.
 * @param {string[]} tokens
 * @param {Float32Array} logits */
export function rowsOf(tokens, logits) {
  const warm = distribution(logits, { temperature: 1, topK: null, topP: 1 }).probabilities;
  return grouped(descending(logits)).map((ids, i) => {
    const [several, names] = [i === SHOWN, ids.map((id) => shown(tokens[id]))];
    return {
      ids,
      several,
      name: several ? `${ids.length} other${ids.length === 1 ? "" : "s"}` : names[0],
      title: several ? names.join(" ") : tokens[ids[0]],
      warm: sumOf(ids, warm),
    };
  });
}

/** @param {Kit.Model<Sampling.Traits & Kit.Described>} model */
export function samplingState(model) {
  const tokens = model.get("tokens");
  const logits = floats(model.get("data"));
  return store(model, {
    tokens,
    logits,
    rows: rowsOf(tokens, logits),
    width: 640,
    numbers: /** @type {number[]} */ ([]), // drawn so far, from the generator of the seed
    generator: mulberry32(model.get("seed")),
    seeded: model.get("seed"),
    found: distribution(logits, { temperature: 1, topK: null, topP: 1 }), // the distribution of the setting
    shares: /** @type {Sampling.Share[]} */ ([]), // what each row has of it: now, before, down to it and of the draws, and how many are left
    last: -1,
  });
}

/** The numbers that the seed's generator gives for the draws; those once drawn stay.
 * @type {(state: Sampling.State) => number[]} */
function numbersOf(state) {
  const { seed, draws } = state;
  if (seed !== state.seeded) Object.assign(state, { seeded: seed, generator: mulberry32(seed), numbers: [] });
  while (state.numbers.length < draws) state.numbers.push(state.generator());
  return state.numbers.slice(0, draws);
}

/** What follows from the setting and the draws.
 * @type {(state: Sampling.State) => void} */
function readSetting(state) {
  const { get } = state;
  const [temperature, topK, topP] = [get("temperature"), get("top_k"), get("top_p")];
  const found = distribution(state.logits, { temperature, topK, topP });
  const { counts, last } = drawCounts(found.probabilities, numbersOf(state));
  let together = 0;
  const shares = state.rows.map(({ ids }) => ({
    together: (together += sumOf(ids, found.before)),
    now: sumOf(ids, found.probabilities),
    before: sumOf(ids, found.before),
    left: sumOf(ids, found.kept),
    drawn: sumOf(ids, counts),
  }));
  Object.assign(state, { found, shares, last });
}

/** @type {(state: Sampling.State) => Kit.View} */
function settingsView(state) {
  /** @type {(count: number, parts: number) => number[]} */
  const steps = (count, cuts) => times(count, (i) => (i + 1) / cuts);
  /** @type {(number | null)[]} */
  const counts = [...state.tokens.map((_, i) => i + 1), null];
  const parts = [
    traitSlider(state, "temperature", "Temperature", steps(20, 10), (value) => fixed(value, 1)),
    traitSlider(state, "top_k", "Top-k", counts, (value) => (value === null ? "off" : String(value))),
    traitSlider(state, "top_p", "Top-p", steps(100, 100), (value) => (value === 1 ? "off" : fixed(value, 2))),
  ];
  const node = html("div.controls", parts);
  return { node, draw: () => drawAll(parts) };
}

/** @type {(state: Sampling.State) => Kit.View} */
function outcomeView(state) {
  const node = html("p.outcome.muted");
  const draw = () => node.replaceChildren(...outcomeOf(state).map(([tag, text]) => (tag ? html(tag, text) : text)));
  return { node, draw };
}

/** The buttons that draw tokens, and the last one drawn.
 * @type {(state: Sampling.State) => Kit.View} */
function drawsView(state) {
  /** @type {(count: number) => void} */
  const drawMore = (count) => state.write({ draws: Math.min(state.draws + count, MAX_DRAWS) });
  const more = [button("Draw", () => drawMore(1)), button("Draw 100", () => drawMore(100))];
  const reset = button("Reset", () => state.write({ draws: 0 }));
  const out = html("p.last.clipped.muted");
  const node = html("div.actions.flow", more, reset, out);
  function draw() {
    const [total, token] = [state.draws, state.tokens[state.last]];
    const last = html("bdi", { title: token }, shown(token ?? ""));
    const [{ name }] = state.rows;
    const often = [", the last ", last, "; ", html("span", { dir: "auto" }, name), ` ${state.shares[0].drawn} times`];
    for (const one of more) one.able(total < MAX_DRAWS);
    reset.able(total > 0);
    out.replaceChildren(`${total || "none"} drawn`, ...(total > 1 ? often : total ? [": ", last] : []));
  }
  return { node, draw };
}

/** @type {(given: Kit.Given<Sampling.Traits>) => () => void} */
function render({ model, el }) {
  const state = samplingState(model);
  const shares = sharesView(state);
  const setting = paragraph("mygpt-setting", () => settingOf(state));
  const parts = [shares, ...allViews(state, settingsView, outcomeView, numbersFold, drawsView)];
  const [table, controls, outcome, numbers, actions] = parts.map(({ node }) => node);
  const prompt = html("p.prompt.muted", "The next token after “", html("bdi", state.prompt), "”");
  const explorer = explorerRoot(
    "sampling",
    "Explorer of sampling",
    state.prompt && prompt,
    controls,
    table,
    keys(),
    outcome,
    actions,
    numbers,
    setting,
  );

  function draw() {
    readSetting(state);
    drawAll([...parts, setting]);
  }
  return mount({ model, el }, explorer, state, {
    undo: [shares.undo],
    listeners: { "temperature top_k top_p seed": [draw, () => sentenceOf(state)], draws: [draw, () => drawnOf(state)] },
    layout: () => {
      shares.lay();
      draw();
    },
  });
}

export default { render };
