import { drawAll, explorerRoot, flag, html } from "../kit/elements.mjs";
import { followLinks } from "../kit/links.mjs";
import { allViews, followFolds, mount } from "../kit/mounting.mjs";
import { themed } from "../kit/parts/heat.mjs";
import { coverView } from "./cover.mjs";
import { editsView, factsView, partsView } from "./edits.mjs";
import { insideView } from "./inside.mjs";
import { writtenView } from "./written.mjs";
import { stateLinks } from "./links.mjs";
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

/** The views, and their nodes in the order of the page.
 * @param {LiveModel.State} state
 * @param {() => void} [copy]
 */
export function liveViews(state, copy) {
  const [prompt, facts, cover, parts] = allViews(state, promptView, factsView, coverView, partsView);
  const { form } = state;
  const inside = form === "whole" ? insideView(state) : null;
  const next = nextView(state, form === "cover" ? 3 : LIKELIEST);
  const edits = editsView(state, copy);
  const setting = html("p.setting");
  const written = form === "whole" && state.writing ? writtenView(state) : null;
  const asked = state.facts.length ? [facts.node] : [];
  const folds = html("div.folds", asked, inside && inside, written && written, edits);
  const nodes = {
    whole: [prompt.node, next.node, cover.node, folds, setting],
    small: [prompt.node, next.node, parts.node, ...asked],
    cover: [prompt.node, next.node, cover.node, ...asked],
  }[form];
  const unfolded = inside && {
    facts: facts.node,
    inside: inside.node,
    neurons: inside.each,
    ...(written && { written: written.node }),
    edits: edits.node,
  };
  const drawFolds = followFolds(state, /** @type {Record<string, HTMLDetailsElement>} */ (unfolded ?? {}));
  return { prompt, next, facts, cover, inside, written, parts, edits, setting, nodes, drawFolds };
}

/** The model is asked first; a prompt that did not come from the field is put there.
 * @type {(state: LiveModel.State, draw: () => void) => () => void} */
const answered = (state, draw) => () => {
  readAnswer(state);
  const text = state.prompt;
  if (state.reading?.prompt !== text) typePrompt(state, text);
  draw();
};

/** For each trait the function that draws what depends on it. The neurons that another than the reader
 * chooses, who has them before him, come into sight.
 * @type {(state: LiveModel.State, views: LiveModel.Views) => Record<"prompt" | "edits" | "layer" | "token" | "neuron" | "width", () => void>} */
function drawing(state, { prompt, next, parts, inside, written, facts, edits, cover, setting }) {
  /** @type {(name: "drawNeuron" | "drawToken" | "drawLayer", ...reads: ((state: LiveModel.State) => void)[]) => () => void} */
  const within =
    (name, ...reads) =>
    () => {
      for (const read of reads) read(state);
      inside?.[name]();
      setting.textContent = describe(state);
    };
  const drawNeuron = within("drawNeuron");
  const drawToken = within("drawToken", readToken);
  const drawLayer = within("drawLayer", readLayer, readToken);
  function drawPrompt() {
    readEffect(state);
    cover.draw();
    facts.drawPrompt();
    written?.draw();
    next.draw();
    drawLayer();
  }
  function drawAsked() {
    Object.assign(state, { note: "", copied: "" });
    edits.drawNote();
    cover.drawPrompt();
    drawPrompt();
  }
  function drawEdits() {
    Object.assign(state, { note: "", copied: "" });
    readFacts(state);
    drawAll([facts, parts, edits]);
    inside?.drawParts();
    drawPrompt();
  }
  function layOut() {
    next.draw();
    inside?.lay();
    drawToken();
  }
  state.redraw = {
    draft: () => [prompt.draw, next.drawStale].forEach((draw) => draw()),
    note: () => [edits.drawNote, inside?.drawNote, cover.draw].forEach((draw) => draw?.()),
  };
  /** @type {(draw: () => void, one: boolean) => () => void} */
  const seen = (draw, one) => () => {
    inside?.open(one);
    draw();
  };
  const asked = { prompt: answered(state, drawAsked), edits: answered(state, drawEdits) };
  return { ...asked, layer: seen(drawLayer, false), token: drawToken, neuron: seen(drawNeuron, true), width: layOut };
}

/** Shows a live model, also as a part of another explorer.
 * @type {(given: Kit.Given<LiveModel.Traits>) => () => void} */
export function renderLive({ model, el }) {
  const say = (/** @type {string} */ text) => voice.say(state.pieces.spoken(text));
  const state = liveState(model, say);
  const linked = window.bookHost && model.get("form") === "whole" && state.pieces.kind === "world";
  const links = linked ? stateLinks(state, model) : null; // a model made in the page is gone with it
  const views = liveViews(state, links?.copy);
  const drawn = drawing(state, views);
  const name = `live-model mygpt-form-${model.get("form")} mygpt-of-${state.pieces.kind}`;
  const { root, voice } = explorerRoot(name, "Live model", views.nodes);
  /** @type {(text: (state: LiveModel.State) => string) => () => string} */
  const spoken = (text) => () => state.pieces.spoken(text(state));
  const chosen = spoken(chosenOf);
  drawn.edits();
  views.drawFolds();
  return mount({ model, el }, { root, voice }, state, {
    undo: [
      ...(views.inside ? [views.inside.follow(), themed(views.inside.paint)] : []),
      ...(links ? [followLinks(root, links.take)] : []),
    ],
    listeners: {
      unfolded: views.drawFolds,
      prompt: [drawn.prompt, spoken(predictionOf)],
      edits: [drawn.edits, spoken(({ effect }) => effect)],
      layer: [drawn.layer, chosen],
      token: [drawn.token, chosen],
      neuron: [drawn.neuron, chosen],
    },
    layout: (width) => {
      flag(root, "wide", width >= 600);
      drawn.width();
    },
  });
}

export default { render: renderLive };
