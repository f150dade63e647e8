"""Two edits: the second ones tried on the first that bring a program the nearest."""

import heapq
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from mygpt.check.compare import find_difference
from mygpt.check.engine import outcome_of
from mygpt.check.gradients import in_order, tensors_in
from mygpt.check.mends.edit import Edit, Priced, Text
from mygpt.check.mends.source import Source
from mygpt.check.mends.way import Way, line_after, signs_of
from mygpt.check.run import Outcome, OutOfTime, time_limit
from mygpt.check.stages.record import parts_of
from mygpt.check.task import Arguments

if TYPE_CHECKING:
    from mygpt.check.mends.search import Mend, Search

WATCHED = 0.15  # of the time is for the ways of first edits
LEAST, CHEAP = 1.0, 2.3  # costs of second edits
FURTHER, STEP = 1.2, 0.02  # what a first edit costs more than one that is nearer
MUCH = 6.0  # merit that says much
SAME, ERROR = 0.4, 0.6  # costs of a first edit that changes nothing, or raises
PARTS = 10  # what counts a result that is wholly right more than a tensor


@dataclass
class First:
    """A first edit.

    rank: its cost where it is; share: how much more of the result is right with it.
    sign: what tells it from others that do another thing; gain: new right tensors.
    """

    edit: Edit
    rank: float
    share: float
    changes: bool
    fails: bool
    sign: Any
    gain: float = 0.0
    penalty: float = 0.0

    @property
    def merit(self) -> float:
        return self.gain + PARTS * max(self.share, 0.0)


class Pairs:
    """The second part of a search: it keeps what the first has tried."""

    def __init__(self, search: "Search") -> None:
        self.search = search
        self.firsts: list[First] = []
        self.by_line: dict[int, list[Priced]] = {}

    def keep(self, edit: Edit, rank: float, i: int, outcome: Outcome) -> None:
        """Keep an edit that does not make everything right, for a second one.

        One with which a program does not end is none: all would be late after it.
        """
        search = self.search
        before = search.base[search.wrong[0]]
        ended = not isinstance(before.error, OutOfTime)
        if ended and isinstance(outcome.error, OutOfTime):
            return
        share = float(search.wrong.index(i))
        if i == search.wrong[0]:
            share = self.share(i, outcome) - self.share(i, before)
        fails = outcome.error is not None
        if fails or before.error:
            changes = type(outcome.error) is not type(before.error)
        else:
            changes = find_difference(before.value, outcome.value) is not None
        sign = sign_of(outcome) if changes else edit
        self.firsts.append(First(edit, rank, share, changes, fails, sign))

    def keep_nearly_right(self, edit: Edit, rank: float) -> None:
        """Keep an edit with which all values are right that were wrong."""
        share = len(self.search.wrong)
        self.firsts.append(First(edit, rank, share, True, False, edit))

    def share(self, i: int, outcome: Outcome) -> float:
        """The share of the numbers of a result that are right."""
        if outcome.error:
            return 0.0
        search = self.search
        wanted = outcome_of(search.task, search.task.reference, i, search.dtype).value
        return right_share(wanted, outcome.value)

    # The first edits

    def in_order(self) -> list[First]:
        """Return the first edits, one of those that do the same, with their costs."""
        self.watch()
        self.firsts.sort(key=lambda one: (one.rank - one.merit, one.rank))
        best = max([one.merit for one in self.firsts] + [MUCH])
        seen: set[Any] = set()
        found: list[First] = []
        for one in self.firsts:
            if one.sign in seen:
                continue
            seen.add(one.sign)
            one.penalty = one.rank + SAME * (not one.changes) + ERROR * one.fails
            if one.merit > 0:
                further = FURTHER * (1 - one.merit / best) + STEP * len(found)
                one.penalty = min(further, one.penalty)
            found.append(one)
        return found

    def watch(self) -> None:
        """Count the right tensors that the first edits make."""
        search = self.search
        if not search.wrong:
            return
        end = time.monotonic() + WATCHED * search.seconds
        probe = self.telling()
        way = None
        with suppress(Exception, OutOfTime), time_limit(2.0):
            way = Way(search.task, search.program, probe, search.dtype)
        if way is None or not way.known.numbers:
            return
        for one in self.firsts:
            if time.monotonic() > end:
                break
            program = search.made(search.source, one.edit)
            if program is not None:
                one.gain, signs = way.of(program, search.seconds_for(probe))
                one.sign = one.sign if not one.changes else signs

    def telling(self) -> int:
        """The largest of the probes that fail and are about as fast as the fastest."""
        search = self.search
        most = 2 * search.times[search.wrong[0]]
        fast = [i for i in search.wrong if search.times[i] <= most]
        return max(fast, key=lambda i: size_of(search.given[i]))

    # The second edits

    def tries(self) -> "Iterator[tuple[float, Mend | None]]":
        """Try second edits, in the order of what both cost together; yield each cost.

        The last one is that of a mend.
        """
        firsts = self.in_order()
        self.by_line = sorted_by_line(self.search.cheap)
        seconds: dict[int, Iterator[Priced]] = {}
        sources: dict[int, Source] = {}
        heap: list[tuple[float, int, Edit | None]] = [
            (one.penalty + LEAST, i, None) for i, one in enumerate(firsts)
        ]
        heapq.heapify(heap)
        while heap:
            cost, i, edit = heapq.heappop(heap)
            if edit is None:
                sources[i] = self.search.source.edited(firsts[i].edit)
                seconds[i] = self.seconds(firsts[i], sources[i])
            elif self.search.passes(sources[i], edit):
                yield cost, self.mend_of(firsts[i].edit, edit)
                return
            yield cost, None
            rank, second = next(seconds[i], (math.inf, None))
            if rank <= CHEAP:
                heapq.heappush(heap, (firsts[i].penalty + rank, i, second))

    def mend_of(self, first: Edit, second: Edit) -> "Mend":
        """Return the mend of two edits, or of the second alone if that is enough."""
        search = self.search
        alone = without(first, second, search.source.text.text)
        if alone and search.passes(search.source, alone):
            return search.mend_of([alone])
        return search.mend_of([first, second])

    def seconds(self, first: First, source: Source) -> Iterator[Priced]:
        """Yield the second edits on a first one with their costs, the least first."""
        search = self.search
        program = search.made(search.source, first.edit)
        if program is None:
            return
        line = search.line if search.line != first.edit.line else None
        if first.merit > 0:
            line = self.line_after(program) or line
        cost = search.costs(source, line)
        change = Change(search.source.text, first.edit)
        lines = search.lines_run(program, source)
        anew = lines - {change.moved(n) for n in self.by_line}
        pieces = search.pieces.of_edited(source, line) if first.merit > 0 else []
        changed = sorted_by_line([*pieces, *source.edits(anew, search.keys, lines)])
        rows = [iter(row) for row in changed.values()]
        rows += [map_moved(change, row) for row in self.by_line.values()]
        yield from heapq.merge(
            *(dearer(row, cost) for row in rows), key=lambda pair: pair[0]
        )

    def line_after(self, program: Any) -> int | None:
        """The line where a program leaves the way of the right ones."""
        search = self.search
        with suppress(Exception, OutOfTime), time_limit(1.0):
            return line_after(search.task, program, search.wrong[0], search.dtype)
        return None


def map_moved(change: "Change", row: Iterable[Priced]) -> Iterator[Priced]:
    """Yield the edits that a first edit leaves as they are, where they are then."""
    for rank, edit in row:
        if (moved := change.applied(edit)) is not None:
            yield rank, moved


def dearer(row: Iterable[Priced], cost: Callable[[int], float]) -> Iterator[Priced]:
    for rank, edit in row:
        yield rank + cost(edit.line), edit


def without(first: Edit, second: Edit, text: str) -> Edit | None:
    """Return the second of two edits in the text before the first, if it is there."""
    if second.end <= first.start:
        return second
    end = first.start + len(first.new)
    if second.start < end:
        return None
    back = first.end - end
    more = text.count("\n", first.start, first.end) - first.new.count("\n")
    return replace(
        second,
        start=second.start + back,
        end=second.end + back,
        line=second.line + more,
    )


class Change:
    """What a first edit does to the places of others."""

    def __init__(self, text: Text, edit: Edit) -> None:
        self.first = text.text.count("\n", 0, edit.start) + 1
        self.last = self.first + text.text.count("\n", edit.start, edit.end)
        self.start, self.end = text.at(self.first, 0), text.at(self.last + 1, 0)
        self.longer = len(edit.new) - (edit.end - edit.start)
        self.more = edit.new.count("\n") - (self.last - self.first)

    def moved(self, line: int) -> int | None:
        """Where a line is after it; None if it is another then."""
        if line < self.first:
            return line
        return line + self.more if line > self.last else None

    def applied(self, edit: Edit) -> Edit | None:
        """Return an edit of the new text that does the same; None if none does."""
        if edit.end <= self.start:
            return edit
        if edit.start < self.end:
            return None
        start, end = edit.start + self.longer, edit.end + self.longer
        return replace(edit, start=start, end=end, line=edit.line + self.more)


def sorted_by_line(edits: Iterable[Edit]) -> dict[int, list[Priced]]:
    """Return the cheap edits of each line with their costs, the least first."""
    found: dict[int, list[Priced]] = {}
    for edit in edits:
        if edit.cost <= CHEAP:
            found.setdefault(edit.line, []).append((edit.cost, edit))
    for row in found.values():
        row.sort(key=lambda pair: pair[0])
    return found


def size_of(arguments: Arguments) -> int:
    """How many numbers some arguments hold."""
    tensors = parts_of(list(arguments.values()), Tensor)
    return sum(each.numel() for each in tensors)


def sign_of(outcome: Outcome) -> Any:
    """Return what tells an outcome from others."""
    if outcome.error:
        return str(outcome.error)
    tensors = tensors_in(in_order(outcome.value))
    signs = (signs_of(each.detach().double().numpy()) for each in tensors)
    return tuple(map(tuple, signs)) or repr(outcome.value)


def right_share(wanted: Any, got: Any) -> float:
    """The share of a result that is right: each of its parts counts the same."""
    if isinstance(wanted, Tensor):
        if not isinstance(got, Tensor) or wanted.shape != got.shape:
            return 0.0
        close = torch.isclose(wanted.double(), got.double(), 1e-4, 1e-6, True)
        return float(close.double().mean()) if close.numel() else 1.0
    if isinstance(wanted, dict):
        if not isinstance(got, dict):
            return 0.0
        wanted, got = list(wanted.values()), [got.get(name) for name in wanted]
    if isinstance(wanted, list | tuple | str):
        if not isinstance(got, list | tuple | str):
            return 0.0
        shares = [
            float(a == b) if isinstance(a, str) else right_share(a, b)
            for a, b in zip(wanted, got, strict=False)
        ]
        return sum(shares) / (max(len(wanted), len(got)) or 1)
    if isinstance(wanted, float) and isinstance(got, float):
        return float(math.isclose(wanted, got, rel_tol=1e-5))
    return float(type(wanted) is type(got) and wanted == got)
