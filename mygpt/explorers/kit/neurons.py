"""Lists of words for each neuron: what triggers it, and what it promotes."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mygpt.explorers.kit.text import count

MAX_PAIRS = 8
MAX_NUMBER = 9999

Pairs = Any  # for each neuron a list of pairs (text, number)


def check_pairs(name: str, lists: Pairs, neurons: int) -> list[list[tuple[str, float]]]:
    """Return a list of up to 8 pairs of a text and a number for each neuron."""
    given = list(lists) if isinstance(lists, Iterable) else [lists]
    if len(given) != neurons:
        raise ValueError(
            f"{name} must hold a list of pairs for each of {count(neurons, 'neuron')}, "
            f"got {len(given)}"
        )
    return [_pairs_of(f"{name}[{n}]", pairs) for n, pairs in enumerate(given)]


def _pairs_of(name: str, pairs: Any) -> list[tuple[str, float]]:
    wrong = f"{name} must be up to {MAX_PAIRS} pairs (text, number)"
    try:
        checked = [(text, float(number)) for text, number in pairs]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{wrong}, got {pairs!r}") from error
    if len(checked) > MAX_PAIRS:
        raise ValueError(f"{wrong}, got {len(checked)} of them")
    for text, number in checked:
        if not isinstance(text, str) or not abs(number) <= MAX_NUMBER:
            raise ValueError(f"{wrong} within ±{MAX_NUMBER}, got {(text, number)!r}")
    return checked


def pack_pairs(lists: list[list[tuple[str, float]]], places: dict[str, int]) -> bytes:
    """int32 [N, longest list, 2]: the text's index, -1 for none, and thousandths."""
    longest = max(len(pairs) for pairs in lists)
    packed = np.full((len(lists), longest, 2), -1)
    for n, pairs in enumerate(lists):
        for i, (text, number) in enumerate(pairs):
            packed[n, i] = places[text], round(1000 * float(f"{number:.3f}"))
    return packed.astype("<i4").tobytes()
