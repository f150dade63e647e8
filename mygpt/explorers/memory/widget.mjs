import { html, speaker } from "../kit/elements.mjs";
import { clamp } from "../kit/geometry.mjs";
import { textWidth } from "../kit/heat.mjs";
import { allViews, mount } from "../kit/mounting.mjs";
import { pairTable } from "../kit/neurons.mjs";
import { button } from "../kit/controls.mjs";
import { orderView, pagerView, questionView } from "./controls.mjs";
import { headsView, keysView, rowHeight, valuesView } from "./maps.mjs";
import {
  BESIDE,
  PROMOTED,
  ask,
  compute,
  score,
  memoryState,
  nearest,
  promotedBy,
  reveal,
  sentenceOf,
} from "./state.mjs";

const NEAREST = 5;
const MOST_COLUMNS = 24;

/** Sizes that follow from the width: how many neurons are in view.
 * @type {(state: Memory.State, root: HTMLElement) => void} */
function layOut(state, root) {
  const narrow = state.width < 420;
  const widest = Math.max(...state.tokens.map(textWidth), state.writing ? 76 : 0);
  const gutter = clamp(widest + 14, 36, narrow ? 72 : 100);
  const least = narrow ? 28 : 29;
  const { neurons } = state;
  state.count = clamp(Math.floor((state.width - gutter) / least), 1, Math.min(neurons, MOST_COLUMNS));
  root.style.setProperty("--gutter", `${gutter}px`);
}

/** @type {(lists: unknown[][]) => number} */
const longest = (lists) => Math.max(1, ...lists.map((pairs) => pairs.length));

/** What fires the chosen neuron, what it writes, and which neurons write nearly the same.
 * @type {(state: Memory.State, choose: (neuron: number) => void) => Kit.View} */
function cardView(state, choose) {
  const { triggers, promoted, writing, neurons } = state;
  /** @type {(caption: string, title: string, heading: string, most: number) => Kit.Control<Kit.TextAndNumber[]>} */
  const table = (caption, title, heading, most) => pairTable(caption, title, heading, most, 3);
  const fires = table(
    "Texts that trigger the neuron, and its activation there",
    "It fires most on",
    "activation",
    longest(triggers),
  );
  const writes = table(
    "Words that the neuron promotes, and their scores",
    "It writes most",
    "score",
    promoted.length ? longest(promoted) : PROMOTED,
  );
  const sentence = html("p", { class: "mygpt-sentence mygpt-number" });
  const places = html("span", { class: "mygpt-near" });
  const near = html("p", { class: "mygpt-nearest" }, html("span", {}, "Nearest by what it writes (cosine)"), places);
  near.hidden = !writing || neurons === 1;
  const below = html("div", { class: "mygpt-below" }, fires.node, writes.node);
  const node = html("div", { class: "mygpt-card" }, sentence, below, near);
  let shown = -1;
  const draw = () => {
    const neuron = state.get("neuron");
    sentence.textContent = sentenceOf(state);
    if (neuron === shown) return;
    shown = neuron;
    fires.show(triggers[neuron]);
    writes.show(promotedBy(state, neuron));
    if (!writing) return;
    const buttons = nearest(writing.values, writing.channels, neuron, NEAREST).map(
      ([n, cosine]) =>
        button(`${n} (${score(cosine)})`, () => choose(n), { "aria-label": `Neuron ${n}, cosine ${score(cosine)}` })
          .node,
    );
    places.replaceChildren(...buttons);
  };
  return { node, draw };
}

/** @type {(state: Memory.State) => Kit.View} */
function settingView(state) {
  const node = html("p", { class: "mygpt-setting" });
  const draw = () => {
    const token = state.get("token");
    const word = state.writing ? `, word “${state.get("word")}”` : "";
    node.textContent = `Neuron ${state.get("neuron")}, token ${token}, “${state.tokens[token]}”${word}.`;
  };
  return { node, draw };
}

/** The two maps, with the neurons' numbers between them.
 * @type {(state: Memory.State) => { node: HTMLElement; lay(): void; draw(): void; follow(): () => void }} */
function mapsView(state) {
  const neuron = (/** @type {number} */ one) => state.write({ neuron: one });
  const keys = keysView(state, { neuron, token: (token) => ask(state, { token }) });
  const values = valuesView(state, { neuron, word: (word) => ask(state, { word, order: "adds" }) });
  const heads = headsView(state, neuron);
  const maps = state.writing ? [keys, values] : [keys];
  const node = html("div", { class: "mygpt-maps" }, keys.node, heads.node, ...(state.writing ? [values.node] : []));
  const tall = [state.tokens.length, BESIDE + 1].slice(0, maps.length).map((rows) => rows * rowHeight(rows));
  node.style.setProperty("--tall", `${tall.reduce((sum, one) => sum + one, 0)}px`);
  return {
    node,
    lay: () => maps.forEach((map) => map.lay(state.count)),
    draw: () => [...maps, heads].forEach((part) => part.draw()),
    follow: () => {
      const stops = [...maps.map((map) => map.follow(heads.slider)), heads.follow()];
      return () => stops.forEach((stop) => stop());
    },
  };
}

/** @type {(given: Kit.Given<Memory.Traits>) => () => void} */
function render({ model, el }) {
  const state = memoryState(model);
  const choose = (/** @type {number} */ neuron) => state.write({ neuron });
  const [question, order, maps, setting] = allViews(state, questionView, orderView, mapsView, settingView);
  const pager = pagerView(state, draw);
  const card = cardView(state, choose);
  const voice = speaker();
  const sorting = html("div", { class: "mygpt-sorting" }, pager.node, order.node);
  const root = html(
    "div",
    { class: "mygpt-explorer mygpt-memory", role: "group", "aria-label": "Explorer of memories" },
    question.node,
    sorting,
    maps.node,
    card.node,
    setting.node,
    voice.node,
  );
  function draw() {
    for (const part of [question, order, pager, maps, card, setting]) part.draw();
  }
  function moved() {
    reveal(state);
    draw();
  }
  let asked = false;
  let waiting = false;
  const update = () => {
    waiting = false;
    if (asked) compute(state);
    if (asked) state.page = 0;
    asked = false;
    moved();
    voice.say(sentenceOf(state));
  };
  /** Draws once for all traits that change together. Where one of them is the question, the neurons are sorted anew.
   * @type {(anew: boolean) => () => void} */
  const changed = (anew) => () => {
    asked ||= anew;
    if (!waiting) queueMicrotask(update);
    waiting = true;
  };
  compute(state);
  return mount({
    model,
    el,
    root,
    undo: [maps.follow(), voice.stop],
    listeners: { token: changed(true), word: changed(true), order: changed(true), neuron: changed(false) },
    layout: (width) => {
      state.width = width;
      layOut(state, root);
      state.page = 0;
      maps.lay();
      moved();
    },
  });
}

export default { render };
