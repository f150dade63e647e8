"""A feed-forward network's memories switched off and rewritten (Meng et al. 2022).

Every edit gives a new model; the one it was made from keeps its weights.
"""

import copy
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mygpt.gpt import GPT
from mygpt.memory import values
from mygpt.probes import Prompts, batches, changed, feed_forward, hidden, record

STEP = 0.1  # of a change of the output, as a share of the output's own norm
ENOUGH = 0.95  # the new answer's probability at which a rewriting stops
MOST_STEPS = 200


def log_odds(
    logits: Float[Tensor, "... V"], answers: Int[Tensor, "..."]
) -> Float[Tensor, "..."]:
    """ln(p / (1 - p)) of each answer's probability p."""
    answer = logits.gather(-1, answers[..., None])
    others = logits.scatter(-1, answers[..., None], float("-inf"))
    return (answer[..., 0] - others.logsumexp(-1)).float()


def scaled(factors: Float[Tensor, "*shape F"]) -> Callable[[Tensor], Tensor]:
    """A change of the coefficients: each times its factor; zero switches it off."""
    return lambda coefficients: coefficients * factors


def strongest(scores: Float[Tensor, "B F"], count: int) -> Bool[Tensor, "B F"]:
    """For each row, true at its highest scores."""
    chosen = torch.zeros_like(scores, dtype=torch.bool)
    return chosen.scatter(1, scores.topk(count).indices, True)


def matched_sets(
    coefficients: Float[Tensor, "B F"],
    chosen: Bool[Tensor, "B F"],
    draws: int,
    generator: torch.Generator | None = None,
) -> Bool[Tensor, "N B F"]:
    """Random sets of the other neurons that lose as much activation as the chosen.

    Neurons are drawn, for each row of coefficients apart, until the norm of those drawn
    reaches that of the chosen: seldom as few as these, so the control is a strict one.
    """
    squares = coefficients**2
    goal = (squares * chosen).sum(-1)  # (B,)
    if ((squares * ~chosen).sum(-1) < goal).any():
        raise ValueError("the other neurons together lose less than the chosen ones")
    shape = (draws, *coefficients.shape)
    order = torch.rand(shape, generator=generator).masked_fill(chosen, 2).argsort(-1)
    drawn = squares.expand(shape).gather(-1, order)
    before = drawn.cumsum(-1) - drawn
    taken = before < goal[:, None]
    return torch.zeros(shape, dtype=torch.bool).scatter(-1, order, taken)


@torch.no_grad()
def logits_without(
    model: GPT, prompts: Prompts, off: Bool[Tensor, "N B F"]
) -> Float[Tensor, "N B V"]:
    """The scores after each prompt without some neurons of the last block there.

    Only the last block's network is computed anew for each of the N sets: nothing but
    the last norm and the head reads it.
    """
    layer = len(model.blocks) - 1
    places = hidden(layer), f"blocks.{layer}"
    found = record(model, prompts.ids, places)
    at = torch.arange(len(prompts)), prompts.last
    coefficients, stream = (found[place][at] for place in places)
    value = values(model, layer)
    lost = [(coefficients * one) @ value for one in off]
    return torch.stack([model.logits(model.ln_f(stream - one)) for one in lost])


@torch.no_grad()
def second_moment(
    model: GPT, rows: Int[Tensor, "N T"], layer: int
) -> Float[Tensor, "F F"]:
    """The mean of h hᵀ over all positions, h the coefficients of a layer.

    A thousandth of the mean of its diagonal is added there, so that it has an inverse.
    """
    total = 0
    for part in batches(rows):
        h = record(model, part, [hidden(layer)])[hidden(layer)].flatten(0, 1).double()
        total = total + h.T @ h
    total = total / rows.numel()
    ridge = 1e-3 * total.diagonal().mean()
    return (total + ridge * torch.eye(len(total)).to(total)).float()


def edit_value(model: GPT, layer: int, neuron: int, token: int) -> GPT:
    """A copy in which one value points at a token, with the norm that it had.

    The new value is the direction in which the token's own score rises most: its
    embedding, times the last norm's weight, centred.
    """
    direction = (
        model.token.embedding.weight[token].detach() * model.ln_f.weight.detach()
    )
    direction = direction - direction.mean()
    edited = copy.deepcopy(model)
    weight = edited.blocks[layer].mlp.fc2.weight.data  # (C, F)
    weight[:, neuron] = direction * weight[:, neuron].norm() / direction.norm()
    return edited


def rank_one(
    model: GPT,
    layer: int,
    key: Float[Tensor, "F"],
    change: Float[Tensor, "C"],
    moment: Float[Tensor, "F F"],
) -> GPT:
    """A copy whose layer answers `key` with `change` more, and other keys little.

    W2 += change (C⁻¹ key)ᵀ / (keyᵀ C⁻¹ key), C the second moment of the keys that the
    layer sees: of all changes of W2 that do this, the one that changes the answers to
    those least (Meng et al. 2022, equation 2).
    """
    direction = torch.linalg.solve(moment.double(), key.double())
    direction = (direction / (key.double() @ direction)).float()
    edited = copy.deepcopy(model)
    edited.blocks[layer].mlp.fc2.weight.data += torch.outer(change, direction)
    return edited


def output_for(model: GPT, prompts: Prompts, layer: int) -> Float[Tensor, "C"]:
    """What to add to a layer's output at the last position so that the answers win.

    The same for all prompts. Gradient descent on the mean of -ln p(answer), in steps
    of `STEP` times the output's norm, until every p is at least `ENOUGH`.
    """
    at = torch.arange(len(prompts)), prompts.last
    with torch.no_grad():
        before = record(model, prompts.ids, [feed_forward(layer)])[feed_forward(layer)]
    size = STEP * before[at].norm(dim=-1).mean()
    change = torch.zeros_like(before[0, 0])
    for _ in range(MOST_STEPS):
        change.requires_grad_()

        def add(out: Tensor, change: Tensor = change) -> Tensor:
            return out.index_put(at, out[at] + change)

        with changed(model, {feed_forward(layer): add}):
            states = model.states(prompts.ids)
        log_p = model.logits(states[at]).log_softmax(-1)
        loss = -log_p.gather(1, prompts.answers[:, None])
        if loss.exp().max() <= 1 / ENOUGH:
            break
        (gradient,) = torch.autograd.grad(loss.mean(), change)
        change = change.detach() - size * gradient / gradient.norm()
    return change.detach()


def rewrite(
    model: GPT, prompts: Prompts, layer: int, moment: Float[Tensor, "F F"]
) -> GPT:
    """A copy that answers the prompts, phrasings of one fact, with new answers.

    A rank-one edit at the last position: its key is the prompts' mean key.
    """
    at = torch.arange(len(prompts)), prompts.last
    with torch.no_grad():
        keys = record(model, prompts.ids, [hidden(layer)])[hidden(layer)][at]
    return rank_one(
        model, layer, keys.mean(0), output_for(model, prompts, layer), moment
    )
