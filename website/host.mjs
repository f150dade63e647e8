// Runs the page's explorers without a kernel: each is an anywidget whose whole state is here.
// A module registers itself in `bookExplorers` under the hash that the state names.

import { makeModel } from "../mygpt/explorers/kit/model.mjs";
import { followPhrases } from "./phrases.mjs";

/** @type {Map<string, Kit.AnyModel>} */
const models = new Map();
/** The names of each model's traits.
 * @type {Map<string, string[]>} */
const traits = new Map();

/** @type {(link: Site.Link) => void} */
function link({ ends: [[source, from], [target, to]], both }) {
  const [a, b] = [models.get(source), models.get(target)];
  if (!a || !b) return; // an explorer that did not start is linked to nothing
  /** @type {(x: Kit.AnyModel, name: string, y: Kit.AnyModel, other: string) => void} */
  const copy = (x, name, y, other) => x.on(`change:${name}`, () => y.set(other, x.get(name)));
  copy(a, from, b, to);
  if (both) copy(b, to, a, from);
}

/** @type {(place: HTMLElement, cause: string) => void} */
function showStill(place, cause) {
  const still = Object.assign(new Image(), { src: place.dataset.still, alt: place.dataset.alt });
  const note = Object.assign(document.createElement("p"), { className: "output-note" });
  note.textContent = `A still: the explorer did not start (${cause}).`;
  place.replaceChildren(still, note);
  place.classList.add("explorer-failed");
  console.warn("explorer:", cause);
}

/** @type {(place: HTMLElement) => Promise<void>} */
async function start(place) {
  const { module: name, ...saved } = JSON.parse(place.querySelector("script")?.textContent ?? "{}");
  const id = place.dataset.model ?? "";
  const explorer = window.bookExplorers?.[name];
  if (!explorer) throw new Error("its script did not load");
  const model = models.get(id) ?? makeModel(saved);
  if (!models.has(id)) {
    models.set(id, model);
    traits.set(id, Object.keys(saved.state));
    await explorer.initialize?.({ model });
  }
  const el = document.createElement("div");
  place.replaceChildren(el); // first: an explorer is drawn once, at the width that it has
  await explorer.render({ model, el });
  place.classList.add("explorer-ready");
}

async function startAll() {
  window.bookHost = { models };
  const places = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".explorer[data-model]")]);
  await Promise.all(places.map((place) => start(place).catch((error) => showStill(place, error.message))));
  for (const script of document.querySelectorAll(".explorer-links")) JSON.parse(script.textContent).forEach(link);
  followPhrases(models, traits);
  performance.mark("explorers-ready");
}

// One host, however often it is included. Deferred: the page is parsed, and the modules, deferred
// before it, have run.
if (!window.bookHost) startAll();
