"""A feed-forward network's memories switched off and rewritten (Meng et al. 2022).

Every edit gives a new model; the one it was made from keeps its weights.
"""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mygpt.gpt import GPT
from mygpt.inside.hooks import (
    Prompts,
    batches,
    changed,
    feed_forward,
    final_logits,
    hidden,
    log_odds,
    record,
    record_ends,
)
from mygpt.inside.memory import AT_ONCE, values

STEP = 0.2  # Adam's, relative to the root mean square of the layer's output
ENOUGH = 0.997  # a rewriting stops at this probability of the new answer
MOST_STEPS = 200
POINT_STEPS = 1000
SETS = 16  # of neurons, each switched off, in one pass


def scaled(factors: Float[Tensor, "*shape F"]) -> Callable[[Tensor], Tensor]:
    """A change: each coefficient times its factor; zero switches the neuron off."""
    return lambda coefficients: coefficients * factors


def strongest(scores: Float[Tensor, "B F"], count: int) -> Bool[Tensor, "B F"]:
    """Mark the `count` highest scores of each row."""
    chosen = torch.zeros_like(scores, dtype=torch.bool)
    return chosen.scatter(1, scores.topk(count).indices, True)


def matched_sets(
    strength: Float[Tensor, "B F"],
    chosen: Bool[Tensor, "B F"],
    draws: int,
    generator: torch.Generator | None = None,
    among: int = 20,
) -> Bool[Tensor, "N B F"]:
    """Draw random control sets of the same size, matched in strength neuron by neuron.

    For each chosen neuron, draw one of the `among` others nearest to it in log
    strength, none of them twice. Every row must have the same number of chosen neurons,
    at most `among`.
    """
    top = chosen.nonzero()[:, 1].view(len(chosen), -1)  # (B, K)
    count, others = top.shape[1], chosen.shape[1] - top.shape[1]
    if not count <= among <= others:
        raise ValueError(
            f"among must be from {count}, the number of chosen neurons, to {others}, "
            f"that of the others; got {among}"
        )
    size = strength.abs().clamp(min=1e-9).log()
    apart = (size[:, None] - size.gather(1, top)[..., None]).abs()
    apart = apart.masked_fill(chosen[:, None], torch.inf)  # (B, K, F)
    near = apart.topk(among, largest=False).indices.expand(draws, -1, -1, -1)

    def draw() -> Tensor:
        which = torch.randint(among, (draws, *top.shape, 1), generator=generator)
        return near.gather(-1, which)[..., 0]

    neurons = draw()  # (N, B, K)
    while (twice := _repeated(neurons)).any():
        neurons = draw().where(twice, neurons)
    sets = torch.zeros(draws, *chosen.shape, dtype=torch.bool)
    return sets.scatter(-1, neurons, True)


def _repeated(numbers: Int[Tensor, "... K"]) -> Bool[Tensor, "... K"]:
    """Mark the numbers that occur earlier in their row."""
    ordered, place = numbers.sort(dim=-1, stable=True)
    again = ordered[..., 1:] == ordered[..., :-1]
    return torch.zeros_like(numbers, dtype=torch.bool).scatter(
        -1, place[..., 1:], again
    )


@torch.no_grad()
def written_by(
    model: GPT, prompts: Prompts, sets: Bool[Tensor, "N B F"]
) -> Float[Tensor, "N B C"]:
    """What sets of last-block neurons write at the last position of each prompt."""
    layer = len(model.blocks) - 1
    (coefficients,) = record_ends(model, prompts, hidden(layer))
    value = values(model, layer)
    return torch.stack([(coefficients * one) @ value for one in sets])


@torch.no_grad()
def logits_without(
    model: GPT, prompts: Prompts, taken: Float[Tensor, "N B C"]
) -> Float[Tensor, "N B V"]:
    """The scores after each prompt, with vectors taken from the last block's output.

    Taking what a neuron of the last block writes switches it off: only the last norm
    and the head read it there.
    """
    (stream,) = record_ends(model, prompts, f"blocks.{len(model.blocks) - 1}")
    return torch.stack([model.logits(model.ln_f(stream - one)) for one in taken])


def falls(
    model: GPT, prompts: Prompts, sets: Bool[Tensor, "N B F"]
) -> Float[Tensor, "N B"]:
    """The fall of the answers' log-odds with sets of last-block neurons switched off.

    Each set is switched off by itself, and each prompt has its own sets.
    """
    before = log_odds(final_logits(model, prompts), prompts.answers)
    fallen = []
    for part in sets.split(SETS):
        logits = logits_without(model, prompts, written_by(model, prompts, part))
        answers = prompts.answers.expand(len(part), -1)
        fallen.append(before - log_odds(logits, answers))
    return torch.cat(fallen)


def ablations(model: GPT, prompts: Prompts, layer: int) -> Float[Tensor, "B F"]:
    """The fall of the answers' log-odds with each neuron of a layer switched off alone.

    The neuron is off at all positions. Any layer will do: the model runs once per
    neuron.
    """
    before = log_odds(final_logits(model, prompts), prompts.answers)
    neurons = values(model, layer).shape[0]
    fallen = torch.empty(len(prompts), neurons)
    for row in range(len(prompts)):
        for part in torch.arange(neurons).split(AT_ONCE):
            copies = prompts[torch.full_like(part, row)]
            on = 1 - F.one_hot(part, neurons).float()
            logits = final_logits(model, copies, {hidden(layer): scaled(on[:, None])})
            fallen[row, part] = before[row] - log_odds(logits, copies.answers)
    return fallen


@torch.no_grad()
def second_moment(
    model: GPT, rows: Int[Tensor, "N T"], layer: int
) -> Float[Tensor, "F F"]:
    """The mean of h hᵀ over all positions, h the coefficients of a layer, with a ridge.

    The ridge is a hundredth of the mean of the diagonal. It makes the matrix
    invertible, and keeps directions that are rare in the corpus from dominating a
    rewriting.
    """
    total = 0
    for part in batches(rows):
        h = record(model, part, [hidden(layer)])[hidden(layer)].flatten(0, 1).double()
        total = total + h.T @ h
    total = total / rows.numel()
    ridge = 1e-2 * total.diagonal().mean()
    return (total + ridge * torch.eye(len(total)).to(total)).float()


@torch.no_grad()
def pointed_at(
    model: GPT, token: int, norm: float | Float[Tensor, ""]
) -> Float[Tensor, "C"]:
    """A value of the given norm that promotes a token above all others.

    It starts in the direction in which the token's own score rises most: its embedding,
    times the last norm's weight, centred. While some other token has a higher score, it
    turns away from that token's direction.
    """
    directions = model.token.embedding.weight * model.ln_f.weight
    directions = directions - directions.mean(-1, keepdim=True)  # (V, C)
    value = directions[token].clone()
    for _ in range(POINT_STEPS):
        first = int((directions @ value).argmax())
        if first == token:
            break
        value += directions[token] - directions[first]
    return value * (norm / value.norm().clamp(min=torch.finfo(value.dtype).tiny))


def rank_one(
    model: GPT,
    layer: int,
    key: Float[Tensor, "F"],
    change: Float[Tensor, "C"],
    moment: Float[Tensor, "F F"],
) -> GPT:
    """A copy whose layer answers `key` with `change` more, and other keys little."""
    edited = copy.deepcopy(model)
    weight = edited.blocks[layer].mlp.fc2.weight.data
    weight += rank_one_change(key, change, moment)
    return edited


def rank_one_change(
    key: Float[Tensor, "F"], change: Float[Tensor, "C"], moment: Float[Tensor, "F F"]
) -> Float[Tensor, "C F"]:
    """What to add to W2: change wᵀ, w the direction that reads the key.

    Of all changes of W2 that answer `key` with `change` more, the one that changes the
    answers to the keys of `moment` least (Meng et al. 2022, equation 2).
    """
    return torch.outer(change, direction(key, moment).to(change))


def direction(
    key: Float[Tensor, "F"], moment: Float[Tensor, "F F"]
) -> Float[Tensor, "F"]:
    """w = S⁻¹ m* / (m*ᵀ S⁻¹ m*), S the second moment and m* the key, in float64.

    Of all w with w · m* = 1 it has the least mean square of w · m over the keys m of
    the corpus that S was taken from.
    """
    solved = torch.linalg.solve(moment.double(), key.double())
    return solved / (key.double() @ solved)


def output_for(
    model: GPT, prompts: Prompts, layer: int, enough: float = ENOUGH
) -> Float[Tensor, "C"]:
    """Find what to add to a layer's output at the last position for the answers to win.

    It is the same for all prompts. Adam minimises the mean of -ln p(answer), in steps
    of `STEP` times the root mean square of the output, until every p is `enough`. How
    far to go is a choice: going further changes more phrasings of the fact, and more
    other facts.
    """
    at = prompts.ends
    before, stream = record_ends(model, prompts, feed_forward(layer), "ln_f.input")
    change = torch.zeros_like(before[0]).requires_grad_()
    size = before.pow(2).mean(-1).sqrt().mean().item()
    adam = torch.optim.Adam([change], lr=STEP * size)

    def add(out: Tensor) -> Tensor:
        return out.index_put(at, out[at] + change)

    def states() -> Tensor:
        if layer == len(model.blocks) - 1:  # nothing but the last norm comes after it
            return model.ln_f(stream + change)
        with changed(model, {feed_forward(layer): add}):
            return model.states(prompts.ids)[at]

    for _ in range(MOST_STEPS):
        log_p = model.logits(states()).log_softmax(-1)
        loss = -log_p.gather(1, prompts.answers[:, None])
        if loss.exp().max() <= 1 / enough:
            break
        (change.grad,) = torch.autograd.grad(loss.mean(), change)
        adam.step()
    return change.detach()


def rewrite(
    model: GPT,
    prompts: Prompts,
    layer: int,
    moment: Float[Tensor, "F F"],
    enough: float = ENOUGH,
) -> GPT:
    """A copy that answers the prompts, phrasings of one fact, with new answers.

    A rank-one edit at the last position: its key is the prompts' mean key.
    """
    change = output_for(model, prompts, layer, enough)
    return rank_one(model, layer, mean_key(model, prompts, layer), change, moment)


def mean_key(model: GPT, prompts: Prompts, layer: int) -> Float[Tensor, "F"]:
    """The mean of a layer's coefficients at the last positions."""
    (coefficients,) = record_ends(model, prompts, hidden(layer))
    return coefficients.mean(0)
