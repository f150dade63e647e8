"""Mistakes that no task lists: those of its parts, and two or three at once.

Of several at once those are tried first that alone come nearest to what a reader's
program gives. A combination must give the same on every probe, so that trying many of
them accuses nobody.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice, permutations, zip_longest
from operator import itemgetter, mul
from typing import Any

from mygpt.check.gradients import tensors_in
from mygpt.check.model import GIVEN, RESULT, Change, Model, places
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
        listed = [[each] for each in changes_of(self.task)]
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
                first = in_turn(listed)
                tried = islice(
                    by_turns(
                        extended(near, near),
                        extended(first, first),
                        filter(of_one_part, extended(near, near)),
                    ),
                    MOST,
                )
        return None

    def settled(self, found: Mistake) -> Mistake:
        """Put in the place of each change the first in the catalogue that fits too."""
        model, form = self.task.model, found.form
        order, changes = list(changes_of(self.task)), list(found.changes)
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


def in_turn(listed: Sequence[list[Change]]) -> list[list[Change]]:
    """Sort changes: the first of each piece, each one's second, and so on."""
    before: Counter = Counter()
    ranks = []
    for (change,) in listed:
        piece = places(change.pieces)
        ranks.append(before[piece])
        before[piece] += 1
    return [
        each for _, each in sorted(zip(ranks, listed, strict=True), key=itemgetter(0))
    ]


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


@cache
def changes_of(task: Task) -> Sequence[Change]:
    """Those of a task's model, and what can go wrong with any arguments and result."""
    if task.model is None:
        return ()
    return (
        *task.model.changes(),
        *parts_exchanged(task),
        *arguments_exchanged(task),
        *factors_of_result(task),
    )


def arguments_exchanged(task: Task) -> Iterator[Change]:
    """Two arguments of the same kind in each other's places, or one in both."""
    first = next(iter(task.arguments.values()))
    kinds = [
        first if kind == "the same shape" else kind for kind in task.arguments.values()
    ]
    for (i, one), (j, other) in permutations(enumerate(task.arguments), 2):
        number = kinds[i] in ("int", "float") and one[:-1] != other[:-1]
        if kinds[i] != kinds[j] or number or "function" in kinds[i]:
            continue
        word = f"{one} and {other}"
        if i < j:
            pieces = {GIVEN: partial(read, {i: j, j: i})}
            name = slug(f"{one}-and-{other}-exchanged")
            yield Change(name, f"{word} change places", pieces, word, rare=True)
        text = f"{other} stands where {one} belongs"
        pieces = {GIVEN: partial(read, {i: j})}
        yield Change(slug(f"{other}-for-{one}"), text, pieces, word, rare=True)


def slug(name: str) -> str:
    return name.lower().replace("_", "-")


def read(places: Mapping[int, int], /, *values: Any) -> tuple:
    """Arguments of which some are read at other places."""
    return tuple(values[places.get(i, i)] for i in range(len(values)))


def factors_of_result(task: Task) -> Iterator[Change]:
    """Factors of a result that is one tensor of decimal numbers."""
    if task.parts or task.observe:
        return
    given = task.arguments_of(task.probes[0])
    if not tensors_in(task.reference(*given.values())):
        return
    for name, text, factor in (
        ("result-negative", "the whole result has the wrong sign", -1),
        ("result-doubled", "the whole result is multiplied by 2", 2),
        ("result-halved", "the whole result is divided by 2", 0.5),
    ):
        pieces = {RESULT: partial(mul, factor)}
        yield Change(name, text, pieces, "the result", rare=True)


def parts_exchanged(task: Task) -> Iterator[Change]:
    """The parts of a result in another order."""
    for order in list(permutations(range(len(task.parts))))[1:]:
        parts = ", ".join(task.parts[i] for i in order)
        text = f"the results are returned in the order ({parts})"
        pieces = {RESULT: itemgetter(*order)}
        yield Change("parts-exchanged", text, pieces, "the results", rare=True)
