"""The weights of LiveModel and the second moment that rewriting a fact needs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mygpt.explorers.kit.checks import finite_array
from mygpt.explorers.kit.numbers import Numbers
from mygpt.explorers.kit.text import count
from mygpt.gpt import GPT, GPTConfig
from mygpt.inside.hooks import memory_layers
from mygpt.inside.memory import values

TABLES = ("token.embedding.weight", "position.weight")
MAX_WEIGHTS = 1_000_000
LEAST = 1e-9  # of a second moment: its smallest eigenvalue by its largest

Shapes = dict[str, tuple[int, ...]]


def as_sent(state_dict: Mapping[str, Numbers]) -> dict[str, np.ndarray]:
    """The weights as float16, in which the page gets them."""
    halves = {}
    for name, weight in state_dict.items():
        numbers = finite_array(name, weight)
        with np.errstate(over="ignore"):
            halves[name] = numbers.astype("<f2")
        if not np.isfinite(halves[name]).all():
            raise ValueError(
                f"{name} must be within ±65504, float16's reach, "
                f"got {numbers.flat[np.abs(numbers).argmax()]:g}"
            )
    size = sum(half.size for half in halves.values())
    if size > MAX_WEIGHTS:
        raise ValueError(f"expected at most {MAX_WEIGHTS} weights, got {size}")
    return halves


def packed(halves: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The names and shapes of the weights, and all their numbers one after another."""
    return {
        "shapes": [[name, list(half.shape)] for name, half in halves.items()],
        "weights": b"".join(half.tobytes() for half in halves.values()),
    }


def build_gpt(
    weights: Mapping[str, Float[Tensor, "..."]], num_heads: int, activation: str
) -> GPT:
    """Build a float64 GPT from a state dict; a missing bias is zero."""
    check_shapes(weights)
    vocab_size, embed_dim = weights["token.embedding.weight"].shape
    if num_heads < 1 or embed_dim % num_heads:
        raise ValueError(
            f"num_heads must divide the {count(embed_dim, 'channel')}, got {num_heads}"
        )
    layers = sum(name.endswith("ln1.weight") for name in weights)
    alone = [i for i in range(layers) if f"blocks.{i}.mlp.fc1.weight" not in weights]
    config = GPTConfig(
        vocab_size,
        len(weights["position.weight"]),
        embed_dim,
        num_heads,
        layers,
        activation=activation,
        attention_only=alone,
    )
    with torch.random.fork_rng():
        model = GPT(config)
    for i in memory_layers(model):  # their hidden width need not be a multiple of C
        neurons, mlp = len(weights[f"blocks.{i}.mlp.fc1.weight"]), model.blocks[i].mlp
        mlp.fc1, mlp.fc2 = nn.Linear(embed_dim, neurons), nn.Linear(neurons, embed_dim)
    zeros = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    model.load_state_dict(zeros | dict(weights))
    return model.double().eval().requires_grad_(False)


def check_shapes(weights: Mapping[str, Float[Tensor, "..."]]) -> None:
    """Refuse names that are not those of a GPT, and shapes that do not fit together."""
    wanted = _shapes_of_a_gpt(weights)
    for name, shape in wanted.items():
        optional = len(wanted[name.replace("bias", "weight")]) > 1
        if name not in weights and not (optional and name.endswith("bias")):
            raise ValueError(f"state_dict lacks {name}")
        if name in weights and tuple(weights[name].shape) != shape:
            raise ValueError(
                f"{name} must have shape {shape}, got {tuple(weights[name].shape)}"
            )
    if strange := [name for name in weights if name not in wanted]:
        raise ValueError(f"state_dict must be a GPT's, got {strange[0]!r} in it")


def _shapes_of_a_gpt(weights: Mapping[str, Float[Tensor, "..."]]) -> Shapes:
    """The shape of every weight of a GPT with these tables and these networks."""
    tables = [tuple(weights[name].shape) for name in TABLES if name in weights]
    hidden = [len(one) for name, one in weights.items() if name.endswith("fc1.weight")]
    if [len(shape) for shape in tables] != [2, 2] or not hidden:
        raise ValueError(
            f"state_dict must hold the matrices {' and '.join(TABLES)} and a "
            "feed-forward network of blocks of mygpt.gpt.GPT"
        )
    (vocab_size, width), (positions, _) = tables
    wanted = {
        TABLES[0]: (vocab_size, width),
        TABLES[1]: (positions, width),
        **_linear("ln_f", width),
    }
    for block in range(sum(name.endswith("ln1.weight") for name in weights)):
        start = f"blocks.{block}"
        wanted |= _linear(f"{start}.ln1", width)
        for one in "QKVO":
            wanted |= _linear(f"{start}.mha.W_{one}", width, width)
        if f"{start}.mlp.fc1.weight" in weights:
            wanted |= _linear(f"{start}.ln2", width)
            wanted |= _linear(f"{start}.mlp.fc1", hidden[0], width)
            wanted |= _linear(f"{start}.mlp.fc2", width, hidden[0])
    return wanted


def _linear(name: str, *shape: int) -> Shapes:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def check_second_moment(
    given: Mapping[int, Numbers] | None, model: GPT
) -> np.ndarray | None:
    """Return the last layer's, symmetric and positive definite, rounded to float32."""
    if not given:
        return None
    last = len(model.blocks) - 1
    if list(given) != [last] or last not in memory_layers(model):
        raise ValueError(
            "second_moment must be of the last layer alone, and that must have a "
            f"feed-forward network: {last}; got {list(given)}"
        )
    neurons = len(values(model, last))
    moment = finite_array(f"second_moment[{last}]", given[last], (neurons, neurons))
    if not np.allclose(moment, moment.T, rtol=1e-4, atol=1e-6):
        raise ValueError(f"second_moment[{last}] must be symmetric")
    moment = np.tril(moment.astype("<f4").astype(np.float64))
    moment = moment + np.tril(moment, -1).T
    spectrum = np.linalg.eigvalsh(moment)
    if not spectrum[0] > LEAST * spectrum[-1]:
        raise ValueError(
            f"second_moment[{last}] must be positive definite; add a small "
            "multiple of the identity"
        )
    return moment


def lower_half(moment: np.ndarray | None) -> bytes:
    """The lower triangle, row by row, as float32."""
    if moment is None:
        return b""
    return moment[np.tril_indices(len(moment))].astype("<f4").tobytes()


def check_centre(given: Numbers | None, model: GPT) -> np.ndarray | None:
    """Return what the last network reads on average, rounded to float32."""
    if given is None:
        return None
    last, width = len(model.blocks) - 1, model.config.embed_dim
    if last not in memory_layers(model):
        raise ValueError("centre needs a feed-forward network in the last layer")
    act = model.blocks[last].mlp.act
    if not isinstance(act, nn.GELU | nn.ReLU):
        raise ValueError(f"centre needs a network with GELU or ReLU, got {act}")
    centre = finite_array("centre", given, (width,))
    return centre.astype("<f4").astype(np.float64)
