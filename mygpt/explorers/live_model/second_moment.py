"""The second moment of a layer's coefficients, which rewriting a fact needs."""

from collections.abc import Mapping

import numpy as np

from mygpt.explorers.kit.checks import finite_array
from mygpt.explorers.kit.numbers import Numbers
from mygpt.gpt import GPT
from mygpt.inside.hooks import memory_layers
from mygpt.inside.memory import values

LEAST = 1e-9  # ratio of the smallest eigenvalue to the largest


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
