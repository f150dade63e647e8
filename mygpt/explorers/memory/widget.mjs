import { folded } from "../kit/controls.mjs";
import { drawAll, explorerRoot, flag, html, paragraph } from "../kit/elements.mjs";
import { clamp } from "../kit/geometry.mjs";
import { textWidth } from "../kit/parts/heat.mjs";
import { mount } from "../kit/mounting.mjs";
import { pairTable, tokenSelect } from "../kit/parts/neurons.mjs";
import { moreView, rangeView, wordView } from "./controls.mjs";
import { barsView, headsView, keysView, othersView, rowHeight } from "./maps.mjs";
import { PROMOTED, compute, isApart, memoryState, partsOf, promotedBy, reveal, sentenceOf } from "./state.mjs";

const MOST_COLUMNS = 12;
const NAMED_ROW = 16; // the height of a row below which not all have names

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

/** What the chosen neuron adds, number by number, each over its name.
 * @type {(state: Memory.State) => Kit.View} */
function productView(state) {
  const node = html("p.product");
  node.hidden = !state.writing;
  const draw = () =>
    node.replaceChildren(
      ...partsOf(state).map(([sign, number, name]) =>
        html("span", html("b.number", `${sign} ${number}`.trim()), " ", html("span.muted.fine", name)),
      ),
    );
  return { node, draw };
}

/** The chosen neuron: what it adds in words and numbers; and what fires it and what it writes, in a fold that the
 * reader alone opens.
 * @type {(state: Memory.State) => Kit.View & { lists: HTMLElement }} */
function cardView(state) {
  const { triggers, promoted } = state;
  /** @type {(caption: string, title: string, heading: string, most: number) => Kit.Control<Kit.TextAndNumber[]>} */
  const table = (caption, title, heading, most) => pairTable(caption, title, heading, most, 3);
  const fires = table(
    "Texts that trigger the neuron, and its activation there",
    "Fires most in training",
    "activation",
    longest(triggers),
  );
  const writes = table(
    "Words that the neuron promotes, and their scores",
    "Writes most",
    "score",
    promoted.length ? longest(promoted) : PROMOTED,
  );
  const sentence = html("p.sentence.number");
  const product = productView(state);
  const below = html("div.below", fires, writes);
  const lists = folded("Where it fires most, what it writes", below);
  flag(lists, "lists");
  const node = html("div.card", sentence, product);
  let shown = -1;
  const draw = () => {
    const { neuron } = state;
    sentence.textContent = sentenceOf(state);
    product.draw();
    if (neuron === shown) return;
    shown = neuron;
    fires.show(triggers[neuron]);
    writes.show(promotedBy(state, neuron));
  };
  return { node, lists, draw };
}

/** The setting in words, for paper.
 * @type {(state: Memory.State) => Kit.View} */
const settingView = ({ get, tokens, writing }) =>
  paragraph("mygpt-setting", () => {
    const [token, word] = [get("token"), writing ? `, word “${get("word")}”` : ""];
    return `Neuron ${get("neuron")}, token ${token}, “${tokens[token]}”${word}.`;
  });

/** The list of tokens, where a text is too long for the names of all its rows.
 * @type {(state: Memory.State) => Kit.View | null} */
function tokensView(state) {
  if (rowHeight(state.tokens.length) >= NAMED_ROW) return null;
  const list = tokenSelect(state);
  list.fill();
  return { node: list.node, draw: () => list.draw(state.token) };
}

/** The field of the word, over what is added to it.
 * @type {(state: Memory.State) => Kit.View} */
function askedView(state) {
  const word = wordView(state);
  const at = html("bdi");
  const title = html("p.map-title", html("b", "Values"), ": what each adds at ", at);
  const node = html("div.question.inline", title, word);
  const draw = () => {
    at.textContent = `“${state.tokens[state.token]}”`;
    word.draw();
  };
  return { node, draw };
}

/** The picture, from top to bottom: the text, the neurons and the word; and the folds that lead on from there.
 * @type {(state: Memory.State, turned: () => void) => { node: HTMLElement; folds: HTMLElement[]; lay(): void; draw(): void; follow(): () => void }} */
function pictureView(state, turned) {
  const choose = (/** @type {number} */ neuron) => state.write({ neuron });
  const pick = (/** @type {number} */ token) => state.write({ token });
  const keys = keysView(state, { neuron: choose, token: pick });
  const heads = headsView(state, choose, pick);
  const list = tokensView(state);
  const range = rangeView(state, turned, heads.slider);
  const more = moreView(state, turned);
  const written = state.writing && {
    asked: askedView(state),
    bars: barsView(state, choose),
    others: othersView(state, { neuron: choose, word: (word) => state.write({ word, order: "adds" }) }),
  };
  const parts = written ? [keys, written.bars, written.others] : [keys];
  const lower = written ? [written.asked.node, written.bars.node] : [];
  const folds = [more.node, ...(written ? [written.others.node] : [])];
  const above = list ? [list.node] : [];
  const node = html("div.maps", above, keys, heads, lower, range);
  return {
    node,
    folds,
    lay: () => parts.forEach((part) => part.lay(state.count)),
    draw: () => {
      const views = [...parts, heads, range, more, ...(list ? [list] : []), ...(written ? [written.asked] : [])];
      drawAll(views);
    },
    follow: () => {
      const stops = [...parts.map((part) => part.follow(heads.slider)), heads.follow()];
      return () => stops.forEach((stop) => stop());
    },
  };
}

/** @type {(given: Kit.Given<Memory.Traits>) => () => void} */
function render({ model, el }) {
  const state = memoryState(model);
  const [card, setting] = [cardView(state), settingView(state)];
  const picture = pictureView(state, draw);
  const { root, voice } = explorerRoot(
    "memory",
    "Explorer of memories",
    picture,
    card,
    html("div.folds", card.lists, picture.folds),
    setting,
  );
  function draw() {
    flag(root, "apart", isApart(state));
    drawAll([picture, card, setting]);
  }
  let asked = false;
  let waiting = false;
  const update = () => {
    waiting = false;
    if (asked) compute(state);
    if (asked) state.page = 0;
    else reveal(state);
    asked = false;
    draw();
    voice.say(sentenceOf(state));
  };
  /** Draws once for all traits that change together. Where one of them is the question, the neurons are sorted anew,
   * and the chosen one stays chosen.
   * @type {(anew: boolean) => () => void} */
  const changed = (anew) => () => {
    asked ||= anew;
    if (!waiting) queueMicrotask(update);
    waiting = true;
  };
  compute(state);
  return mount({ model, el }, { root, voice }, state, {
    undo: [picture.follow()],
    listeners: { "token word order": changed(true), neuron: changed(false) },
    layout: () => {
      layOut(state, root);
      state.page = 0;
      picture.lay();
      draw();
    },
  });
}

export default { render };
