"""Layers of the package, which take a task's weights, and PyTorch's AdamW."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from torch import Tensor, nn
from torch.func import functional_call
from torch.optim.adamw import adamw

from mygpt.check.process.run import kept_state

# What the package's GPT calls the weights of a task.
PLACES = {
    "token": "token.embedding.weight",
    "position": "position.weight",
    r"W_(.)": r"mha.W_\1.weight",
    r"b_(.)": r"mha.W_\1.bias",
    r"W(\d)": r"mlp.fc\1.weight",
    r"b(\d)": r"mlp.fc\1.bias",
    r"(.+)_(weight|bias)": r"\1.\2",
}

# Its class would import the compiler of PyTorch, which takes two seconds.
adamw_step = partial(
    adamw, max_exp_avg_sqs=[], foreach=False, amsgrad=False, maximize=False
)


@lru_cache(maxsize=128)
def made_once(make: type[nn.Module], *sizes: Any, **options: Any) -> nn.Module:
    """Make a layer, once for all calls."""
    with kept_state():  # initial weights are random
        return make(*sizes, **options)


def with_weights(
    weights: Mapping[str, Any],
    inputs: tuple[Tensor, ...],
    make: type[nn.Module],
    *sizes: Any,
    of="",
    **options: Any,
) -> Any:
    """Call a layer of these sizes with a task's weights; `of`: its place in a block."""
    layer = made_once(make, *sizes, **options)
    named = {name.removeprefix(of): weight for name, weight in stored(weights)}
    return functional_call(layer, named, inputs)


def stored(weights: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Name weights as the package does, which holds matrices transposed."""
    for name, weight in weights.items():
        if name == "blocks":
            for i, block in enumerate(weight):
                yield from ((f"blocks.{i}.{each}", w) for each, w in stored(block))
            continue
        for pattern, place in PLACES.items():
            if re.fullmatch(pattern, name):
                turned = weight.T if name.startswith("W") else weight
                yield re.sub(pattern, place, name), turned
                break
