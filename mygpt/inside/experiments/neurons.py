"""What single neurons fire for, and what is lost without a few of them."""

import torch
from jaxtyping import Int
from torch import Tensor

from mygpt.inside.editing import falls, matched_sets, strongest
from mygpt.inside.experiments.answers import COUNTRIES, EACH, PHRASINGS, share
from mygpt.inside.hooks import Prompts, hidden, record_ends
from mygpt.inside.memory import (
    agreement,
    contributions,
    patterns,
    triggers,
    values,
)
from mygpt.inside.world_models import WorldModel
from mygpt.world.corpus import RELATIONS

NEURONS = 5  # chosen for a fact
TOLD = 25  # triggers that are looked at


def shared_words(made: WorldModel, rows: Int[Tensor, "N T"]) -> dict[str, float]:
    """Of the last layer's neurons, those whose triggers share a word at one place."""
    layer = len(made.model.blocks) - 1
    found = triggers(made.model, rows, layer, count=TOLD)
    common = patterns(found, rows).share
    return {f"{part:.0%}": share(common >= part) for part in (0.6, 0.8, 1.0)}


def cards(
    made: WorldModel, rows: Int[Tensor, "N T"], layer: int, count: int = 8
) -> list[list[tuple[str, float]]]:
    """Each neuron's strongest triggers among the rows, with its coefficients there.

    A trigger is told as its sentence up to the place, and each sentence once.
    """
    found = triggers(made.model, rows, layer, count=TOLD)
    told = []
    for places in zip(found.row, found.position, found.strength, strict=True):
        best: dict[str, float] = {}
        for row, position, strength in zip(*places, strict=True):
            best.setdefault(_sentence(made, rows[row, : position + 1]), strength.item())
        told.append(list(best.items())[:count])
    return told


def _sentence(made: WorldModel, ids: Int[Tensor, "T"]) -> str:
    """The words after the last full stop that is not the end itself."""
    words = [made.words[i] for i in ids.tolist()]
    stops = [i for i, word in enumerate(words[:-1]) if word == "."]
    return " ".join(words[stops[-1] + 1 :] if stops else words)


def first_words(made: WorldModel, rows: Int[Tensor, "N T"]) -> float:
    """The share of values that promote first what follows their key's best trigger."""
    layer = len(made.model.blocks) - 1
    best = triggers(made.model, rows, layer, count=1)
    return agreement(made.model, rows, layer, best).item()


def chosen_elsewhere(
    made: WorldModel, prompts: Prompts, draws: int = 100
) -> dict[str, int | float]:
    """Neurons chosen for each fact on its first phrasing, switched off in the others.

    Chosen are the five that add most to the answer (`memory.contributions`).
    Asked are the prompts that have the same answer as the first phrasing; a null seldom
    gives the same. The controls are sets of other neurons, as strong where they are
    switched off.
    """
    model, layer = made.model, len(made.model.blocks) - 1
    first = torch.arange(len(prompts)) // PHRASINGS * PHRASINGS
    same = prompts.answers == prompts.answers[first]
    tested = same & (torch.arange(len(prompts)) != first)
    chosen = strongest(contributions(model, prompts[first], layer), NEURONS)[tested]
    others = prompts[tested]
    (fired,) = record_ends(model, others, hidden(layer))
    written = fired * values(model, layer).norm(dim=-1)
    dice = torch.Generator().manual_seed(0)
    fall = falls(model, others, chosen[None])[0]
    usual = falls(model, others, matched_sets(written, chosen, draws, dice))
    return {
        "prompts": len(others),
        "fall": fall.mean().item(),
        "fall of controls": usual.mean().item(),
        "beyond 99 % of controls": share(fall > usual.quantile(0.99, dim=0)),
    }


def reach(made: WorldModel, prompts: Prompts) -> dict[str, float]:
    """The mean fall when a fact's neurons are switched off, by what is asked.

    One fact of each country; its neurons are chosen on the first phrasing, and the
    others are asked: of the fact itself, the same relation or country, or neither.
    """
    model, layer = made.model, len(made.model.blocks) - 1
    country = torch.arange(COUNTRIES)
    relation = country % len(RELATIONS)
    facts = country * EACH + relation * PHRASINGS
    chosen = strongest(contributions(model, prompts[facts], layer), NEURONS)
    others = prompts[torch.arange(len(prompts)) % PHRASINGS != 0]
    fall = falls(model, others, chosen[:, None].expand(-1, len(others), -1))
    fall = fall.view(COUNTRIES, COUNTRIES, len(RELATIONS), PHRASINGS - 1)
    here = torch.eye(COUNTRIES, dtype=torch.bool)[..., None]
    alike = (relation[:, None] == torch.arange(len(RELATIONS)))[:, None]
    groups = {
        "the fact": here & alike,
        "same relation": ~here & alike,
        "same country": here & ~alike,
        "neither": ~here & ~alike,
    }
    return {name: fall[where].mean().item() for name, where in groups.items()}
