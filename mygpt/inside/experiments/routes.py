"""Where an answer appears, which word carries it, and who reads whom."""

import torch

from mygpt.inside.experiments.answers import EACH, share
from mygpt.inside.hooks import Prompts, pattern
from mygpt.inside.memory import logit_lens, patched
from mygpt.inside.world_models import WorldModel
from mygpt.world.corpus import ANSWERS


def lens(made: WorldModel, prompts: Prompts) -> dict[str, float]:
    """The share of answers that the head would read, after each part of the model."""
    found = logit_lens(made.model, prompts)
    return {
        name: share(logits.argmax(-1) == prompts.answers)
        for name, logits in found.items()
    }


def carried(made: WorldModel, prompts: Prompts) -> dict[str, dict[str, float]]:
    """Which word's stream carries the answer: activation patching, part by part.

    The stream at one word is put in from the same sentence about another country. The
    share, among prompts whose answers differ, that then give the other's answer. The
    words: the country; the word after it, where that is not the last (the control,
    whose stream differs as well); the last.
    """
    other = prompts[torch.arange(len(prompts)).roll(EACH)]
    names = {country for country, _ in ANSWERS}
    ids = torch.tensor(made.encode(sorted(names)))
    country = torch.isin(prompts.ids, ids).int().argmax(-1)
    places = {"country": country, "word after": country + 1, "last": prompts.last}
    differs = prompts.answers != other.answers
    found = {}
    for name, position in places.items():
        chosen = differs & ((position < prompts.last) | (name == "last"))
        logits = patched(made.model, prompts[chosen], other[chosen], position[chosen])
        found[name] = {
            part: share(scores.argmax(-1) == other.answers[chosen])
            for part, scores in logits.items()
        }
    return found


def induction(made: WorldModel, stories: Prompts) -> dict[str, list[float]]:
    """What the heads of stories read, head by head, as mean weights.

    In layer 0, from a thing back to its person; in layer 1, from the person named again
    to that thing, and, for comparison, to the other things of the story together.
    """
    ids, last = stories.ids, stories.last
    row = torch.arange(len(ids))
    again = (ids == ids[row, last][:, None]).int().argmax(-1)  # the person, first named
    thing = again + 1
    place = torch.arange(ids.shape[1])
    things = (place % 3 == 2) & (place < last[:, None])  # ". mia lamp . leo drum . mia"
    others = things & (place != thing[:, None])
    back = pattern(made.model, ids, 0)[row, :, thing, again]
    ahead = pattern(made.model, ids, 1)[row, :, last]  # (B, H, T)
    return {
        "layer 0, thing to person": back.mean(0).tolist(),
        "layer 1, person to thing": ahead[row, :, thing].mean(0).tolist(),
        "layer 1, person to other things": (ahead * others[:, None])
        .sum(-1)
        .mean(0)
        .tolist(),
    }
