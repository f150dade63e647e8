"""The feed-forward network read as a key-value memory (Geva et al. 2021).

Row i of `keys` is compared with the stream; the activation, the memory coefficient,
says how much of row i of `values` is added to it.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mygpt.gpt import GPT
from mygpt.inside.hooks import (
    Prompts,
    batches,
    final_logits,
    hidden,
    memory_layers,
    record,
    record_ends,
)

AT_ONCE = 512  # values whose promotion of every token is in memory at once


def keys(model: GPT, layer: int) -> Float[Tensor, "F C"]:
    return _network(model, layer).fc1.weight.detach()


def values(model: GPT, layer: int) -> Float[Tensor, "F C"]:
    return _network(model, layer).fc2.weight.detach().T


def _network(model: GPT, layer: int):
    if layer not in memory_layers(model):
        raise ValueError(
            f"layer must be one that has a feed-forward network, among "
            f"{memory_layers(model)}; got {layer}"
        )
    return model.blocks[layer].mlp


@torch.no_grad()
def coefficients(
    model: GPT, ids: Int[Tensor, "B T"]
) -> dict[int, Float[Tensor, "B T F"]]:
    """The memory coefficients of every layer that has a feed-forward network."""
    layers = memory_layers(model)
    found = record(model, ids, [hidden(layer) for layer in layers])
    return {layer: found[hidden(layer)] for layer in layers}


@torch.no_grad()
def promotion(model: GPT, vectors: Float[Tensor, "... C"]) -> Float[Tensor, "... V"]:
    """What a vector in the stream does to each token's score, up to a common factor.

    The last norm subtracts the mean over channels and multiplies by its weight; its
    division by the stream's standard deviation, which is the factor, is left out.
    """
    return model.logits(as_read(model, vectors))


def as_read(model: GPT, vectors: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
    """A vector in the stream as the output layer reads it, up to a common factor.

    The last norm's weight and the subtraction of the mean are in it; its division, by
    `divisor`, is not.
    """
    return (vectors - vectors.mean(-1, keepdim=True)) * model.ln_f.weight.detach()


@torch.no_grad()
def divisor(model: GPT, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T"]:
    """The standard deviation, ε included, by which the last norm divides."""
    stream = record(model, ids, ["ln_f.input"])["ln_f.input"]
    return (stream.var(-1, correction=0) + model.ln_f.eps).sqrt()


def promoted(
    model: GPT, layer: int, count: int = 5
) -> tuple[Float[Tensor, "F K"], Int[Tensor, "F K"]]:
    """(scores, token ids) of the tokens that each value promotes most."""
    parts = [
        promotion(model, part).topk(count)
        for part in values(model, layer).split(AT_ONCE)
    ]
    return torch.cat([p.values for p in parts]), torch.cat([p.indices for p in parts])


@dataclass(frozen=True)
class Triggers:
    """The places in a corpus where each neuron fires most, the strongest first."""

    strength: Float[Tensor, "F K"]
    row: Int[Tensor, "F K"]
    position: Int[Tensor, "F K"]


@torch.no_grad()
def triggers(
    model: GPT, rows: Int[Tensor, "N T"], layer: int, count: int = 10, context: int = 4
) -> Triggers:
    """Every neuron's strongest triggers among the texts of the rows.

    Of places with the same last `context` tokens only the first counts: otherwise one
    frequent text could fill the list.
    """
    length, start = rows.shape[1], 0
    first = first_places(rows, context)
    strengths, places = [], []
    for part in batches(rows):
        flat = record(model, part, [hidden(layer)])[hidden(layer)].flatten(0, 1)
        where = first[start : start + len(flat)].nonzero()[:, 0]
        top = flat[where].topk(min(count, len(where)), dim=0)
        strengths.append(top.values)
        places.append(where[top.indices] + start)
        start += len(flat)
    strength, place = torch.cat(strengths), torch.cat(places)  # (K parts, F)
    best = strength.topk(min(count, len(strength)), dim=0)
    place = place.gather(0, best.indices).T
    return Triggers(best.values.T, place // length, place % length)


def first_places(rows: Int[Tensor, "N T"], context: int) -> Bool[Tensor, "P"]:
    """Mark each position whose last `context` tokens occur at no earlier position."""
    padded = F.pad(rows, (context - 1, 0), value=-1)
    texts = padded.unfold(1, context, 1).flatten(0, 1)  # (N T, context)
    _, which = texts.unique(dim=0, return_inverse=True)
    place = torch.arange(len(which))
    first = torch.full_like(which, len(which))
    first.scatter_reduce_(0, which, place, "amin")
    return first[which] == place


@dataclass(frozen=True)
class Patterns:
    """For each neuron, the token that most of its triggers share, and its place.

    A `share` of the triggers have `token`, `back` positions before the trigger.
    """

    share: Float[Tensor, "F"]
    token: Int[Tensor, "F"]
    back: Int[Tensor, "F"]


def patterns(found: Triggers, rows: Int[Tensor, "N T"], reach: int = 6) -> Patterns:
    """The best one-token pattern, at the trigger or up to `reach` positions before."""
    shares, tokens = [], []
    for back in range(reach + 1):
        there = found.position - back
        token = rows[found.row, there.clamp(min=0)].where(there >= 0, -1)  # (F, K)
        same = (token[:, :, None] == token[:, None]) & (token >= 0)[:, None]
        count, which = same.sum(-1).max(-1)
        shares.append(count / token.shape[1])
        tokens.append(token.gather(1, which[:, None])[:, 0])
    share, back = torch.stack(shares).max(0)
    return Patterns(share, torch.stack(tokens).gather(0, back[None])[0], back)


def agreement(
    model: GPT, rows: Int[Tensor, "N T"], layer: int, found: Triggers
) -> Float[Tensor, ""]:
    """The share of neurons whose value promotes most what follows their best trigger.

    From Geva et al. (2021, figure 4). Neurons whose best trigger ends its row are left
    out.
    """
    row, position = found.row[:, 0], found.position[:, 0]
    inside = position + 1 < rows.shape[1]
    following = rows[row[inside], position[inside] + 1]
    first = promoted(model, layer, count=1)[1][inside, 0]
    return (first == following).float().mean()


def stream_parts(model: GPT) -> dict[str, tuple[str, str]]:
    """The parts that add to the stream, in order, with two places of each.

    The first place holds what the part adds, the second the stream with that added.
    """
    found = {"embeddings": ("drop", "blocks.0.ln1.input")}
    for layer in range(len(model.blocks)):
        block = f"blocks.{layer}"
        if layer in memory_layers(model):
            found[f"attention {layer}"] = f"{block}.mha", f"{block}.ln2.input"
            found[f"feed-forward {layer}"] = f"{block}.mlp", block
        else:
            found[f"attention {layer}"] = f"{block}.mha", block
    return found


@torch.no_grad()
def logit_lens(model: GPT, prompts: Prompts) -> dict[str, Float[Tensor, "B V"]]:
    """The scores if the last norm and the head read the stream early.

    They read it after the embeddings, then after every sublayer, at the last position
    of each prompt (nostalgebraist 2020).
    """
    places = {name: stream for name, (_, stream) in stream_parts(model).items()}
    streams = record_ends(model, prompts, *places.values())
    return {
        name: model.logits(model.ln_f(stream))
        for name, stream in zip(places, streams, strict=True)
    }


@torch.no_grad()
def patched(
    model: GPT, prompts: Prompts, donors: Prompts, position: Int[Tensor, "B"]
) -> dict[str, Float[Tensor, "B V"]]:
    """The scores after each prompt, with a donor's stream put in at one position.

    It takes the place of the prompt's own after each part of the model in turn. Other
    positions change only where later parts read this one. This is *activation
    patching*, as in the causal tracing of Meng et al. (2022).
    """
    if prompts.ids.shape != donors.ids.shape:
        raise ValueError(
            f"expected donors of shape {tuple(prompts.ids.shape)}, as the prompts "
            f"have, got {tuple(donors.ids.shape)}"
        )
    at = torch.arange(len(prompts)), position
    found = {}
    for name, (added, stream) in stream_parts(model).items():
        own, other = (
            record(model, texts.ids, [stream])[stream][at]
            for texts in (prompts, donors)
        )

        def put(out: Tensor, apart: Tensor = other - own) -> Tensor:
            return out.index_put(at, out[at] + apart)

        found[name] = final_logits(model, prompts, {added: put})
    return found


@torch.no_grad()
def contributions(model: GPT, prompts: Prompts, layer: int) -> Float[Tensor, "B F"]:
    """What each neuron adds directly to the score of each prompt's answer.

    The coefficient times the value's promotion of the answer, divided by the standard
    deviation that the last norm finds there. In the last layer this is the neuron's
    whole effect, given that norm; in earlier layers, later ones read it as well.
    """
    fired, stream = record_ends(model, prompts, hidden(layer), "ln_f.input")
    std = (stream.var(-1, correction=0) + model.ln_f.eps).sqrt()  # (B,)
    value = values(model, layer)
    centred = value - value.mean(-1, keepdim=True)
    answers = model.token.embedding.weight[prompts.answers] * model.ln_f.weight
    return fired * (answers @ centred.T) / std[:, None]
