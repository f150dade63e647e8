"""Which answers are right, and how many a guesser would get."""

import torch
from jaxtyping import Bool
from torch import Tensor

from mygpt.inside.hooks import Changes, Prompts, final_logits
from mygpt.inside.world_models import WorldModel
from mygpt.world.corpus import ANSWERS, RELATIONS

COUNTRIES, PHRASINGS = len(ANSWERS) // len(RELATIONS), 4
SHAPE = COUNTRIES, len(RELATIONS), PHRASINGS
EACH = len(RELATIONS) * PHRASINGS  # prompts of a country
ROWS = 400  # of the world's text, for means


def is_right(
    made: WorldModel, prompts: Prompts, changes: Changes | None = None
) -> Bool[Tensor, "B"]:
    """Whether the answer is the likeliest word after each prompt."""
    return final_logits(made.model, prompts, changes).argmax(-1) == prompts.answers


def share(right: Bool[Tensor, "..."]) -> float:
    return right.float().mean().item()


def by_cell(right: Bool[Tensor, "B"]) -> list[list[float]]:
    """The share of right answers, by relation (rows) and phrasing (columns)."""
    return right.view(SHAPE).float().mean(0).tolist()


def answer_words(made: WorldModel) -> Bool[Tensor, "R V"]:
    """For each relation, which words are answers to it."""
    marks = torch.zeros(len(RELATIONS), len(made.words), dtype=torch.bool)
    for (_, relation), answer in ANSWERS.items():
        marks[RELATIONS.index(relation), made.encode([answer])] = True
    return marks


def of_its_kind(
    made: WorldModel, prompts: Prompts, changes: Changes | None = None
) -> Bool[Tensor, "B"]:
    """Whether the answer is the likeliest among the answers of its relation."""
    relation = torch.arange(len(prompts)) // PHRASINGS % len(RELATIONS)
    other = ~answer_words(made)[relation]
    logits = final_logits(made.model, prompts, changes).masked_fill(other, -torch.inf)
    return logits.argmax(-1) == prompts.answers


def guess(prompts: Prompts) -> float:
    """The share that the commonest answer of each relation gets right."""
    answers = prompts.answers.view(SHAPE).transpose(0, 1).flatten(1)  # (R, B / R)
    return share(answers == answers.mode(-1, keepdim=True).values)
