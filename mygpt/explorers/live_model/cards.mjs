// Neurons that are written, not trained: a card for each fact, as mygpt/inside/computed.py makes them. No page is
// touched here.

import { largestAt } from "../kit/geometry.mjs";
import { dotAt, forward, headOf, networkOf, normInto } from "./gpt.mjs";
import { scoreDirections } from "./directions.mjs";

/** The card of a fact: it hears what the last network reads on the average after the fact's prompts, less the centre,
 * and leads from the model's answer to the new word.
 * @type {(model: LiveModel.Gpt, fact: LiveModel.AskedFact, writing: LiveModel.Writing, edits: LiveModel.Edits) => LiveModel.Card & { name: string; away: Float64Array; listens: Float64Array }} */
function cardOf(model, { name, prompts, word }, { centre, threshold, sharp, firm }, edits) {
  const { width } = model;
  const last = model.layers.length - 1;
  const [away, final, read] = [0, 1, 2].map(() => new Float64Array(width));
  for (const ids of prompts) {
    const pass = forward(model, ids, { edits });
    normInto(networkOf(model, last).ln, pass.steps[last][1], 1, read);
    for (let i = 0; i < width; i += 1) {
      away[i] += (read[i] - centre[i]) / prompts.length;
      final[i] += pass.stream[(ids.length - 1) * width + i] / prompts.length;
    }
  }
  const square = dotAt(away, 0, away, 0, width);
  const listens = away.map((one) => one / square);
  const directions = scoreDirections(model);
  const old = largestAt(headOf(model, final).logits);
  const value = final.map((_, i) => directions[word * width + i] - directions[old * width + i]);
  const loud = model.activation(sharp * (1 - threshold));
  const size = firm / loud / (Math.hypot(...value) || 1);
  return {
    name,
    away,
    listens,
    weight: listens.map((one) => sharp * one),
    bias: -sharp * (threshold + dotAt(listens, 0, centre, 0, width)),
    value: value.map((one) => one * size),
  };
}

/**
 * A card for each fact, whose `prompts` are lists of ids. Facts of which one's neuron hears the other are an error.
 * @type {(model: LiveModel.Gpt, facts: LiveModel.AskedFact[], writing: LiveModel.Writing, edits?: LiveModel.Edits) => LiveModel.Card[]}
 */
export function cardsOf(model, facts, writing, edits = null) {
  const cards = facts.map((fact) => cardOf(model, fact, writing, edits));
  const pairs = cards.flatMap(({ away, name }) =>
    cards.map((card) => ({ name, other: card.name, heard: dotAt(away, 0, card.listens, 0, model.width) })),
  );
  const apart = pairs.filter(({ name, other }) => name !== other);
  const [most] = apart.sort((one, other) => other.heard - one.heard);
  if (most?.heard > writing.like) {
    const { name, other, heard } = most;
    throw new Error(
      `the network cannot tell “${name}” and “${other}” apart: the neuron of one hears the other as ${heard.toFixed(2)}`,
    );
  }
  return cards;
}
