"""Mistakes that no task lists: those of its parts, and two or three changes at once.

Combinations of the changes whose own values are nearest to the program's come first. A
combination must agree with the program on every probe, so that a long search accuses
nobody.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice, permutations, zip_longest
from operator import itemgetter, mul
from typing import Any

from mygpt.check import work
from mygpt.check.reference import GIVEN, RESULT, PieceChange, Reference, places
from mygpt.check.task import Mistake, Program, Task
from mygpt.check.tree import decimal_tensors

SECONDS = 1.0  # of work for all that is tried here
SHARES = (0.7, 0.85, 1.0)  # of it, after which two, three and no changes are tried
MOST = 4000  # combinations of two, and again of three
NEAR = 0.03  # share of the values by which two forms of a right answer may differ
CLOSE = 0.003  # and by which what is taken for the same may

Changes = list[PieceChange]


@dataclass
class MistakeSearch:
    """The search for the changes of a reference that make a wrong program.

    fits: whether a candidate gives on every probe what the wrong program gives.
    distance: how far their values on the first probe differ; that of a single change
        is cached.
    """

    task: Task
    fits: Callable[[Program], bool]
    distance: Callable[[Program, bool], float]

    def mistake(self, several: bool = True) -> Mistake | None:
        """Return the first mistake that fits: one change, then two, then three."""
        ends = [work.after(share * SECONDS) for share in SHARES]
        listed = [[change] for change in changes_of(self.task)]
        found, near = self.tried(listed, ends[0])
        if found or not several:
            return found
        pairs = islice(pairs_of(near, in_turn(listed)), MOST)
        found, nearest = self.tried(pairs, ends[1])
        if found:
            return found
        return self.tried(islice(extended(nearest, near), MOST), ends[2])[0]

    def tried(
        self, combinations: Iterable[Changes], end: float
    ) -> tuple[Mistake | None, list[Changes]]:
        """Try combinations until the time ends; return what fits, or the nearest first.

        A value near that of a form, but not equal, is compared with the other forms.
        """
        model, distances = self.task.model, []
        for changes in combinations:
            forms = model.forms_of(changes)
            program = made(model, changes, forms[0]) if forms else None
            if program:
                distance = self.distance(program, len(changes) == 1)
                distances.append((distance, changes))
                near = forms if distance <= CLOSE else forms[1:]
                for form in near if distance < NEAR else ():
                    program = made(model, changes, form)
                    if program and self.fits(program):
                        return self.settled(changes, form), []
            if work.now() > end:
                break
        distances.sort(key=itemgetter(0))
        return None, [changes for _, changes in distances]

    def settled(self, found: Changes, form: str) -> Mistake:
        """Put in the place of each change the first in the catalogue that fits too."""
        model, order, changes = self.task.model, list(changes_of(self.task)), [*found]
        for i, change in enumerate(changes if len(changes) > 1 else ()):
            for other in order[: order.index(change)]:
                if places(other.pieces) == places(change.pieces):
                    tried = [*changes[:i], other, *changes[i + 1 :]]
                    program = model.changed(tried, form)
                    if program and self.fits(program):
                        changes[i] = other
                        break
        return model.mistake(*sorted(changes, key=order.index), form=form)


def made(model: Reference, changes: Changes, form: str) -> Program | None:
    """Build a program with some changes; that of a single change is cached."""
    if len(changes) == 1:
        return made_once(model, *changes, form)
    return model.changed(changes, form)


@cache
def made_once(model: Reference, change: PieceChange, form: str) -> Program | None:
    """Build a program with a single change, once for all searches."""
    return model.changed([change], form)


def pairs_of(near: list[Changes], listed: list[Changes]) -> Iterator[Changes]:
    """Yield pairs by turns: of the nearest, of the first of each piece, of one part."""
    return by_turns(
        extended(near, near),
        extended(listed, listed),
        filter(of_one_part, extended(near, near)),
    )


def in_turn(listed: Sequence[Changes]) -> list[Changes]:
    """Sort changes: the first of each piece, then the second of each, and so on."""
    before: Counter = Counter()
    ranked = []
    for changes in listed:
        piece = places(changes[0].pieces)
        ranked.append((before[piece], changes))
        before[piece] += 1
    return [changes for _, changes in sorted(ranked, key=itemgetter(0))]


def of_one_part(changes: Changes) -> bool:
    """Whether changes lie in the same part."""
    parts = [{place[:-1] for place in places(each.pieces)} for each in changes]
    return all(part == parts[0] for part in parts)


def by_turns(*combinations: Iterator[Changes]) -> Iterator[Changes]:
    """Yield a combination of each kind in turn, and none twice."""
    seen = set()
    for changes in chain.from_iterable(zip_longest(*combinations)):
        if changes and (key := frozenset(map(id, changes))) not in seen:
            seen.add(key)
            yield changes


def extended(level: list[Changes], ranked: list[Changes]) -> Iterator[Changes]:
    """Yield each combination with one more change, by the sum of their ranks."""
    seen = set()
    for total in range(len(level) + len(ranked) - 1):
        for i in range(max(0, total - len(ranked) + 1), min(total + 1, len(level))):
            changes = [*level[i], *ranked[total - i]]
            key = frozenset(map(id, changes))
            if len(key) == len(changes) and key not in seen:
                seen.add(key)
                yield changes


@cache
def changes_of(task: Task) -> Sequence[PieceChange]:
    """Return the changes of a task's model, and those that every task has."""
    if task.model is None:
        return ()
    return (
        *task.model.changes(),
        *parts_exchanged(task),
        *arguments_exchanged(task),
        *factors_of_result(task),
    )


def arguments_exchanged(task: Task) -> Iterator[PieceChange]:
    """Yield swaps of two arguments of the same kind, and one in the other's place."""
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
            yield PieceChange(name, f"{word} change places", pieces, word, rare=True)
        text = f"{other} stands where {one} belongs"
        pieces = {GIVEN: partial(read, {i: j})}
        yield PieceChange(slug(f"{other}-for-{one}"), text, pieces, word, rare=True)


def slug(name: str) -> str:
    """Write a name with hyphens, in small letters."""
    return name.lower().replace("_", "-")


def read(places: Mapping[int, int], /, *values: Any) -> tuple:
    """Return arguments, some of them read at other positions."""
    return tuple(values[places.get(i, i)] for i in range(len(values)))


def factors_of_result(task: Task) -> Iterator[PieceChange]:
    """Yield factors of a result that is a tensor of decimal numbers."""
    if task.parts or task.observe:
        return
    given = task.arguments_of(task.probes[0])
    if not decimal_tensors(task.reference(*given.values())):
        return
    for name, text, factor in (
        ("result-negative", "the whole result has the wrong sign", -1),
        ("result-doubled", "the whole result is multiplied by 2", 2),
        ("result-halved", "the whole result is divided by 2", 0.5),
    ):
        pieces = {RESULT: partial(mul, factor)}
        yield PieceChange(name, text, pieces, "the result", rare=True)


def parts_exchanged(task: Task) -> Iterator[PieceChange]:
    """Yield the other orders of the parts of a result."""
    for order in list(permutations(range(len(task.parts))))[1:]:
        parts = ", ".join(task.parts[i] for i in order)
        text = f"the results are returned in the order ({parts})"
        pieces = {RESULT: itemgetter(*order)}
        yield PieceChange("parts-exchanged", text, pieces, "the results", rare=True)
