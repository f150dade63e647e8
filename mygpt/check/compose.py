"""Mistakes that no task lists: those of its parts, and two or three at once.

Of several at once those are tried first that alone come nearest to what a reader's
program gives. A combination must give the same on every probe, so that trying many of
them accuses nobody.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice, permutations, zip_longest
from operator import itemgetter
from typing import Any

from mygpt.check.model import RESULT, Change, Model, build, places
from mygpt.check.task import Mistake, Program, Task

SECONDS = 1.0  # of processor time for all that is tried here
SHARES = (0.7, 0.85, 1.0)  # of it, after which two, three and no changes are tried
MOST = 4000  # combinations of two, and again of three
NEAR = 0.03  # share of the values by which two forms of a right answer may differ
CLOSE = 0.003  # and by which what is taken for the same may


@dataclass
class Search:
    """The search for what a program does.

    fits: whether a wrong program gives what this one gives, on every probe.
    distance: how far its result is from this one's on the first probe.
    """

    task: Task
    fits: Callable[[Program], bool]
    distance: Callable[[Mistake], float]

    def mistake(self, several: bool = True) -> Mistake | None:
        """Return the first mistake that fits: one change, then two, then three."""
        start = time.process_time()
        for mistake in exchanged(self.task):
            if self.fits(mistake.program):
                return mistake
        model = self.task.model
        listed = [[each] for each in model.changes()] if model else []
        tried: Iterator[list[Change]] = iter(listed)
        near: list[list[Change]] = []
        for share in SHARES[: 3 if several else 1]:
            nearest: list[tuple[float, list[Change]]] = []
            for changes in tried:
                if found := self.combined(changes, nearest):
                    return self.settled(found)
                if time.process_time() > start + share * SECONDS:
                    break
            level = [changes for _, changes in sorted(nearest, key=itemgetter(0))]
            if near:
                tried = islice(extended(level, near), MOST)
            else:
                near = level
                tried = islice(
                    by_turns(
                        extended(near, near),
                        extended(listed, listed),
                        filter(of_one_part, extended(near, near)),
                    ),
                    MOST,
                )
        return None

    def settled(self, found: Mistake) -> Mistake:
        """Put in the place of each change the first in the catalogue that fits too."""
        model, form = self.task.model, found.form
        order, changes = list(model.changes()), list(found.changes)
        for i, change in enumerate(changes if len(changes) > 1 else ()):
            for other in order[: order.index(change)]:
                if places(other.pieces) == places(change.pieces):
                    mistake = model.mistake(
                        *changes[:i], other, *changes[i + 1 :], form=form
                    )
                    if mistake and self.fits(mistake.program):
                        changes[i] = other
                        break
        return model.mistake(*sorted(changes, key=order.index), form=form)

    def combined(
        self, changes: list[Change], nearest: list[tuple[float, list[Change]]]
    ) -> Mistake | None:
        """Return a mistake with these changes if it fits, in the form that does."""
        model = self.task.model
        forms = model.forms_of(changes)
        mistake = made(model, *changes, form=forms[0]) if forms else None
        if mistake is None:
            return None
        distance = self.distance(mistake)
        nearest.append((distance, changes))
        for form in forms if distance < NEAR else ():
            mistake = made(model, *changes, form=form)
            off = form == forms[0] and distance > CLOSE
            if mistake and not off and self.fits(mistake.program):
                return mistake
        return None


def made(model: Model, *changes: Change, form: str) -> Mistake | None:
    """Make a mistake; one of a single change is kept."""
    make = made_once if len(changes) == 1 else Model.mistake
    return make(model, *changes, form=form)


def of_one_part(changes: Sequence[Change]) -> bool:
    """Whether changes lie in the same part."""
    first, *others = [
        {place[:-1] for place in places(change.pieces)} for change in changes
    ]
    return all(other == first for other in others)


def by_turns(*combinations: Iterator[list[Change]]) -> Iterator[list[Change]]:
    """One of each in turn, and none twice."""
    seen = set()
    for changes in chain.from_iterable(zip_longest(*combinations)):
        if changes and (key := frozenset(map(id, changes))) not in seen:
            seen.add(key)
            yield changes


@cache
def made_once(model: Model, change: Change, form: str) -> Mistake | None:
    return model.mistake(change, form=form)


def extended(
    level: list[list[Change]], ranked: list[list[Change]]
) -> Iterator[list[Change]]:
    """Add one change more to each combination, the first of both lists first."""
    seen = set()
    for total in range(len(level) + len(ranked) - 1):
        for i in range(max(0, total - len(ranked) + 1), min(total + 1, len(level))):
            changes = [*level[i], *ranked[total - i]]
            key = frozenset(map(id, changes))
            if len(key) == len(changes) and key not in seen:
                seen.add(key)
                yield changes


def exchanged(task: Task) -> Iterator[Mistake]:
    """Make mistakes of a right result whose parts stand in another order."""
    for form, right in {"": task.reference, **task.forms}.items():
        for order in list(permutations(range(len(task.parts))))[1:]:
            parts = ", ".join(task.parts[i] for i in order)
            text = f"the results are returned in the order ({parts})"
            pieces = {RESULT: in_parts(order)}
            yield Mistake("parts-exchanged", text, build(right, pieces), form)


def in_parts(order: Sequence[int]) -> Callable[[Any], tuple]:
    return lambda result: tuple(result[i] for i in order)
