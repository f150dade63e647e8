"""Two edits at once, where a mistake is known to be two."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product

from mygpt.check.mends.edit import Edit

MOST = 150  # edits of each piece


def joined(edits: Iterable[Edit]) -> Iterator[tuple[Edit, Edit]]:
    """Yield edits of two kinds, the cheapest first, each in the text before it."""
    kinds: dict[str, list[Edit]] = {}
    for edit in edits:
        kinds.setdefault(edit.kind, []).append(edit)
    best = [
        heapq.nsmallest(MOST, some, key=lambda edit: edit.cost)
        for some in kinds.values()
    ]
    found = [
        (one, other)
        for some, others in combinations(best, 2)
        for one, other in product(some, others)
    ]
    found.sort(key=lambda pair: pair[0].cost + pair[1].cost)
    for pair in found:
        first, second = sorted(pair, key=lambda edit: (edit.start, edit.end))
        if first.end <= second.start:
            yield first, after(first, second)


def after(first: Edit, second: Edit) -> Edit:
    """The second edit in the text that the first one makes."""
    moved = len(first.new) - (first.end - first.start)
    return replace(second, start=second.start + moved, end=second.end + moved)
