import { html, speaker } from "../kit/elements.mjs";
import { followLinks } from "../kit/links.mjs";
import { allViews, mount } from "../kit/mounting.mjs";
import { themed } from "../kit/heat.mjs";
import { coverView } from "./cover.mjs";
import { editsView, factsView, partsView } from "./edits.mjs";
import { happened } from "./happened.mjs";
import { stateLinks } from "./links.mjs";
import { addersView, mapView, neuronView } from "./neurons.mjs";
import { nextView, promptView } from "./prompt.mjs";
import {
  LIKELIEST,
  chosenOf,
  describe,
  liveState,
  predictionOf,
  readAnswer,
  readEffect,
  readFacts,
  readLayer,
  readToken,
  typePrompt,
} from "./state.mjs";

/** @type {Record<"prompt" | "edits" | "layer" | "token" | "neuron", (state: LiveModel.State) => string>} */
const SPOKEN = {
  prompt: predictionOf,
  edits: (state) => (state.get("form") === "cover" ? happened(state) : state.effect),
  layer: chosenOf,
  token: chosenOf,
  neuron: chosenOf,
};

const TRAITS = /** @type {(keyof typeof SPOKEN)[]} */ (Object.keys(SPOKEN));

/** The views, and their nodes in the order of the page.
 * @param {LiveModel.State} state
 * @param {() => void} [copy]
 */
export function liveViews(state, copy) {
  const [prompt, parts, map, neuron, adders, facts, cover] = allViews(
    state,
    promptView,
    partsView,
    mapView,
    neuronView,
    addersView,
    factsView,
    coverView,
  );
  const form = state.get("form");
  const next = nextView(state, form === "cover" ? 3 : LIKELIEST);
  const edits = editsView(state, copy);
  const setting = html("p", { class: "mygpt-setting" });
  const neurons = [
    map.head,
    map.node,
    map.foot,
    html("div", { class: "mygpt-four" }, neuron.node, ...neuron.tables, adders.node),
  ];
  const asked = state.facts.length ? [facts.node] : [];
  const nodes = {
    whole: [prompt.node, next.node, parts.node, ...neurons, edits.node, ...asked, setting],
    small: [prompt.node, next.node, parts.node, ...asked],
    cover: [prompt.node, next.node, cover.node, ...asked],
  }[form];
  return { prompt, next, parts, map, neuron, adders, facts, edits, cover, setting, nodes };
}

/** The model is asked first; a prompt that did not come from the field is put there.
 * @type {(state: LiveModel.State, draw: () => void) => () => void} */
const answered = (state, draw) => () => {
  readAnswer(state);
  const text = state.get("prompt");
  if (state.reading?.prompt !== text) typePrompt(state, text);
  draw();
};

/** For each trait the function that draws what depends on it.
 * @type {(state: LiveModel.State, views: LiveModel.Views) => Record<"prompt" | "edits" | "layer" | "token" | "neuron" | "width", () => void>} */
function drawing(state, { prompt, next, parts, map, neuron, adders, facts, edits, cover, setting }) {
  function drawNeuron() {
    for (const part of [map, adders]) part.drawNeuron();
    neuron.draw();
    setting.textContent = describe(state);
    map.describe(`${state.get("description")} ${describe(state)}`);
  }
  function drawToken() {
    readToken(state);
    map.drawToken();
    drawNeuron();
  }
  function drawLayer() {
    readLayer(state);
    map.paint();
    adders.draw();
    drawToken();
  }
  function layOut() {
    next.draw();
    map.draw();
    drawToken();
    map.drawHint();
  }
  function drawPrompt() {
    readEffect(state);
    edits.drawEffect();
    cover.draw();
    facts.drawPrompt();
    readLayer(state);
    adders.draw();
    layOut();
  }
  function drawAsked() {
    state.note = "";
    edits.drawNote();
    drawPrompt();
  }
  function drawEdits() {
    state.note = "";
    readFacts(state);
    facts.draw();
    parts.draw();
    edits.draw();
    drawPrompt();
  }
  state.redraw = {
    draft: () => [prompt.draw, next.drawStale].forEach((draw) => draw()),
    note: () => [edits.drawNote, cover.draw].forEach((draw) => draw()),
  };
  const drawn = { prompt: answered(state, drawAsked), edits: answered(state, drawEdits), layer: drawLayer };
  return { ...drawn, token: drawToken, neuron: drawNeuron, width: layOut };
}

/** @type {(given: Kit.Given<LiveModel.Traits>) => () => void} */
function render({ model, el }) {
  const voice = speaker();
  const state = liveState(model, voice.say);
  const links = window.bookHost && model.get("form") === "whole" ? stateLinks(state, model) : null;
  const views = liveViews(state, links?.copy);
  const drawn = drawing(state, views);
  const root = html(
    "div",
    {
      class: `mygpt-explorer mygpt-live-model mygpt-form-${model.get("form")}`,
      role: "group",
      "aria-label": "Live model",
    },
    ...views.nodes,
    voice.node,
  );
  drawn.edits();
  return mount({
    model,
    el,
    root,
    undo: [views.map.follow(), themed(views.map.paint), voice.stop, ...(links ? [followLinks(root, links.take)] : [])],
    listeners: Object.fromEntries(
      TRAITS.map((trait) => [
        trait,
        () => {
          drawn[trait]();
          voice.say(SPOKEN[trait](state));
        },
      ]),
    ),
    layout: (width) => {
      state.width = width;
      root.classList.toggle("mygpt-wide", width >= 600);
      drawn.width();
    },
  });
}

export default { render };
