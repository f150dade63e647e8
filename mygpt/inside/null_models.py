"""Nulls: models whose last feed-forward network stores nothing.

A test that such a model passes says nothing about what a network stores. The rest of
the model stays as it was trained. Here "the network" is the last feed-forward network.
At `gain` 1 it writes as much as the model's own at the ends of the prompts, in the root
mean square; a larger gain makes it louder than the rest of the model.
"""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from mygpt.gpt import GPT
from mygpt.inside.hooks import Prompts, feed_forward, final_logits, record_ends

Null = Callable[[GPT, Prompts, int, float], GPT]


def random_values(
    model: GPT, prompts: Prompts, seed: int = 0, gain: float = 1.0
) -> GPT:
    """A copy whose values point in random directions.

    Their norms stay in proportion to each other.
    """
    copied = copy.deepcopy(model)
    fc2 = copied.blocks[-1].mlp.fc2.weight  # (C, F)
    fc2.data = random_directions(fc2.data.T, seed).T
    return _matched(copied, model, prompts, gain)


def random_network(
    model: GPT, prompts: Prompts, seed: int = 0, gain: float = 1.0
) -> GPT:
    """A copy whose keys and values point in random directions.

    Each key keeps its norm and its bias; the values are as in `random_values`.
    """
    copied = random_values(model, prompts, seed)
    fc1 = copied.blocks[-1].mlp.fc1.weight  # (F, C)
    fc1.data = random_directions(fc1.data, seed + 1)
    return _matched(copied, model, prompts, gain)


def permuted_values(
    model: GPT, prompts: Prompts, seed: int = 0, gain: float = 1.0
) -> GPT:
    """A copy whose values are dealt out anew among the neurons."""
    copied = copy.deepcopy(model)
    fc2 = copied.blocks[-1].mlp.fc2.weight  # (C, F)
    fc2.data = fc2.data[:, torch.randperm(fc2.shape[1], generator=_dice(seed))]
    return _matched(copied, model, prompts, gain)


NULLS: dict[str, Null] = {
    "random values": random_values,
    "random keys and values": random_network,
    "permuted values": permuted_values,
}


def own_answers(model: GPT, prompts: Prompts) -> Prompts:
    """The prompts with the token that the model finds likeliest as answer."""
    answers = final_logits(model, prompts).argmax(-1)
    return Prompts(prompts.ids, prompts.last, answers)


def random_answers(
    prompts: Prompts, tokens: Int[Tensor, "N"], each: int = 1, seed: int = 0
) -> Prompts:
    """The prompts with answers drawn from `tokens`, one for `each` prompts in a row."""
    drawn = torch.randint(len(tokens), (len(prompts) // each,), generator=_dice(seed))
    return Prompts(prompts.ids, prompts.last, tokens[drawn].repeat_interleave(each))


def dealt_answers(prompts: Prompts, each: int, seed: int = 0) -> Prompts:
    """The prompts with answers dealt out anew, those of `each` prompts together.

    With as many prompts as a country has, every country gets the answers of another,
    or by chance its own.
    """
    groups = prompts.answers.view(-1, each)
    order = torch.randperm(len(groups), generator=_dice(seed))
    return Prompts(prompts.ids, prompts.last, groups[order].flatten())


def random_directions(rows: Float[Tensor, "N C"], seed: int) -> Float[Tensor, "N C"]:
    """Vectors of the norms of the rows in random directions."""
    drawn = torch.randn(rows.shape, generator=_dice(seed))
    return F.normalize(drawn, dim=-1) * rows.norm(dim=-1, keepdim=True)


@torch.no_grad()
def _matched(null: GPT, model: GPT, prompts: Prompts, gain: float) -> GPT:
    """Scale the null's values until it writes `gain` times as much as the model."""
    place = feed_forward(len(model.blocks) - 1)
    written = (record_ends(one, prompts, place)[0] for one in (model, null))
    bias = model.blocks[-1].mlp.fc2.bias
    own, other = ((out - bias).square().mean().sqrt() for out in written)
    null.blocks[-1].mlp.fc2.weight.data *= gain * own / other
    return null


def _dice(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
