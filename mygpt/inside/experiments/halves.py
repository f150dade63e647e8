"""What is lost without a network or without heads, and with another's output."""

from collections.abc import Callable, Sequence

import torch

from mygpt.inside.experiments.answers import EACH, ROWS, is_right, of_its_kind, share
from mygpt.inside.hooks import (
    Changes,
    Prompts,
    class_means,
    feed_forward,
    final_logits,
    heads,
    mean_at,
    memory_layers,
)
from mygpt.inside.world_models import WorldModel
from mygpt.support.arguments import check_choice

HOW = ("zero", "mean", "class mean")
LENGTHS = 4  # of stories, in turn (`WorldModel.stories`)


def network_off(made: WorldModel, layer: int, how: str) -> Callable[[Prompts], Changes]:
    """Changes, given prompts, that put zero or a mean in place of a network's output.

    how: "zero"; "mean", over text of the world; or "class mean", over the places in it
    of words of one class (`WorldModel.classes`).
    """
    check_choice(HOW, how=how)
    place, rows = feed_forward(layer), made.rows(ROWS)
    if how == "zero":
        return lambda prompts: {place: torch.zeros_like}
    if how == "mean":
        mean = mean_at(made.model, rows, place)
        return lambda prompts: {place: lambda out: mean.expand_as(out)}
    means = class_means(made.model, rows, place, made.classes())
    return lambda prompts: {place: lambda out: means[prompts.ids]}


def heads_off(
    made: WorldModel, layer: int, how: str, which: Sequence[int] = range(4)
) -> Callable[[Prompts], Changes]:
    """Changes, given prompts, that put zero or the mean in place of heads' outputs."""
    check_choice(HOW[:2], how=how)
    heads_there = made.model.config.num_heads
    if strange := [head for head in which if head not in range(heads_there)]:
        raise ValueError(
            f"which must be among heads 0 to {heads_there - 1}, got {strange[0]}"
        )
    place = heads(layer)
    mean = mean_at(made.model, made.rows(ROWS), place) * (how == "mean")
    width = made.model.config.embed_dim // heads_there
    off = torch.isin(torch.arange(len(mean)) // width, torch.tensor(list(which)))
    return lambda prompts: {place: lambda out: torch.where(off, mean, out)}


def halves(
    made: WorldModel, facts: Prompts, stories: Prompts
) -> dict[str, dict[str, float]]:
    """Facts and stories with nothing off, with each network off, and with heads off."""
    layers = memory_layers(made.model)
    changes = {"nothing": lambda prompts: {}}
    for layer in layers:
        for how in HOW:
            changes[f"network {layer}, {how}"] = network_off(made, layer, how)
    for how in ("zero", "class mean") if len(layers) > 1 else ():
        first, last = (changes[f"network {layer}, {how}"] for layer in layers)
        changes[f"both networks, {how}"] = lambda p, a=first, b=last: a(p) | b(p)
    for layer, how in ((1, "zero"), (1, "mean"), (0, "mean")):
        changes[f"heads of layer {layer}, {how}"] = heads_off(made, layer, how)
    return {
        name: {
            "facts": share(is_right(made, facts, change(facts))),
            "stories": share(is_right(made, stories, change(stories))),
            "of its kind": share(of_its_kind(made, facts, change(facts))),
        }
        for name, change in changes.items()
    }


def exchanged(
    made: WorldModel, prompts: Prompts, place: str, apart: int = EACH
) -> dict[str, float]:
    """Answers when a place takes the activation from `apart` rows earlier.

    That is the same phrasing about another country; with `apart` 4, a story of as many
    pairs. Among prompts whose answers differ, the share of own answers and of the
    other's.
    """
    other = prompts.answers.roll(apart)
    differs = other != prompts.answers
    change = {place: lambda out: out.roll(apart, dims=0)}
    found = final_logits(made.model, prompts, change).argmax(-1)[differs]
    return {
        "own": share(found == prompts.answers[differs]),
        "other's": share(found == other[differs]),
    }


def exchanges(
    made: WorldModel, facts: Prompts, stories: Prompts
) -> dict[str, dict[str, dict[str, float]]]:
    """Each part's output exchanged, in facts and in stories: networks, later heads."""
    places = {
        f"network {layer}": feed_forward(layer) for layer in memory_layers(made.model)
    } | {"heads of layer 1": heads(1)}
    return {
        name: {
            "facts": exchanged(made, facts, place),
            "stories": exchanged(made, stories, place, LENGTHS),
        }
        for name, place in places.items()
    }
