"""Two edits: the second ones tried on the first that bring a program the nearest."""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from mygpt.check import work
from mygpt.check.mends.pieces import edits_of
from mygpt.check.mends.shift import Shift
from mygpt.check.mends.source import Edit, EditableSource, Mend, Priced
from mygpt.check.mends.spellings import Written
from mygpt.check.mends.tensor_signs import Progress, line_after, signs_of
from mygpt.check.mends.trial import Failed, Trial, alike, attempted
from mygpt.check.process.run import Outcome, OutOfTime
from mygpt.check.task import Arguments
from mygpt.check.tree import decimal_tensors, parts, parts_of
from mygpt.check.values import kept_outcome

WATCHED = 0.15  # of the work is for the first edits' tensors
LEAST, CHEAP = 1.0, 2.3  # costs of second edits
FURTHER, STEP = 1.2, 0.02  # what a first edit costs more than one that is nearer
ALIKE = 2  # first edits that do the same on the probe
MUCH = 6.0  # merit that says much
SAME, ERROR = 0.4, 0.6  # costs of a first edit that changes nothing, or raises
PARTS = 10  # what counts a result that is wholly right more than a tensor


@dataclass(frozen=True)
class First:
    """A first edit.

    rank: its cost where it is; share: how much more of the result is right with it.
    penalty: the cost of changing nothing, or of raising an error. sign: what tells it
    from others that do another thing; gain: new right tensors.
    """

    edit: Edit
    rank: float
    share: float
    penalty: float
    sign: Hashable
    gain: float = 0.0

    @property
    def merit(self) -> float:
        return self.gain + PARTS * max(self.share, 0.0)


def tries(trial: Trial, written: Written) -> Iterator[tuple[float, Mend | None]]:
    """Try second edits, in the order of what both cost together; yield each cost.

    The last cost is that of a mend.
    """
    firsts = likeliest(watched(trial, firsts_of(trial)))
    by_line = sorted_by_line(trial.cheap)
    seconds: dict[int, Iterator[Priced]] = {}
    sources: dict[int, EditableSource] = {}
    heap: list[tuple[float, int, Edit | None]] = [
        (penalty + LEAST, i, None) for i, (penalty, _) in enumerate(firsts)
    ]
    heapq.heapify(heap)
    while heap:
        cost, i, edit = heapq.heappop(heap)
        penalty, first = firsts[i]
        if edit is None:
            sources[i] = trial.source.edited(first.edit)
            seconds[i] = seconds_on(trial, written, first, sources[i], by_line)
        elif trial.passes(sources[i], edit):
            yield cost, mend_of(trial, first.edit, edit)
            return
        yield cost, None
        rank, second = next(seconds[i], (math.inf, None))
        if rank <= CHEAP:
            heapq.heappush(heap, (penalty + rank, i, second))


def mend_of(trial: Trial, first: Edit, second: Edit) -> Mend:
    """Return the mend of two edits, or of the second alone if that is enough."""
    alone = Shift(trial.source.text, first).before(second)
    if alone and trial.passes(trial.source, alone):
        return trial.mend_of(alone)
    return trial.mend_of(first, second)


# The first edits


def firsts_of(trial: Trial) -> list[First]:
    """Compare what the edits that failed give with what the program gives."""
    if not trial.wrong:
        return []
    before = share_of(trial, trial.base[trial.wrong[0]])
    found = (first_of(trial, failed, before) for failed in trial.log)
    return [first for first in found if first]


def first_of(trial: Trial, failed: Failed, share_before: float) -> First | None:
    """Return a first edit of one that failed.

    None for an edit with which the program does not end: all would be late after it.
    """
    edit, rank, outcome = failed.edit, failed.rank, failed.outcome
    if outcome is None:
        return First(edit, rank, len(trial.wrong), 0.0, edit)
    before = trial.base[trial.wrong[0]]
    late = [isinstance(one.error, OutOfTime) for one in (before, outcome)]
    if late == [False, True]:
        return None
    share = float(trial.wrong.index(failed.probe or 0))
    if not share:
        share = share_of(trial, outcome) - share_before
    same, fails = alike(before, outcome), outcome.error is not None
    sign = edit if same else sign_of(outcome)
    return First(edit, rank, share, SAME * same + ERROR * fails, sign)


def share_of(trial: Trial, outcome: Outcome) -> float:
    """The share of a result that is right, on the fastest probe that fails."""
    if outcome.error:
        return 0.0
    wanted = kept_outcome(trial.task, trial.task.reference, trial.wrong[0], trial.dtype)
    return right_share(wanted.value, outcome.value)


def watched(trial: Trial, firsts: list[First]) -> list[First]:
    """Count the right tensors that the first edits make, the likeliest ones first."""
    if not firsts:
        return []
    end = work.after(WATCHED * trial.seconds)
    probe = telling(trial)
    started = trial.task, trial.own, probe, trial.dtype
    progress = attempted(lambda: Progress(*started, trial.outcome))
    if progress is None or not progress.known:
        return firsts
    found = []
    for first in sorted(firsts, key=lambda first: first.rank):
        late = work.now() > end
        program = None if late else trial.made(trial.source, first.edit)
        if program is not None:
            gain, signs = progress.of(program)
            same = first.sign == first.edit
            first = replace(first, gain=gain, sign=first.edit if same else signs)
        found.append(first)
    return found


def telling(trial: Trial) -> int:
    """The largest of the probes that fail and are about as fast as the fastest."""
    most = 2 * trial.works[trial.wrong[0]]
    fast = [i for i in trial.wrong if trial.works[i] <= most]
    return max(fast, key=lambda i: size_of(trial.given[i]))


def likeliest(firsts: Iterable[First]) -> list[tuple[float, First]]:
    """Return the first edits that bring a program nearer, with their costs.

    Few of those that do the same, which may do so by chance; where nothing comes
    nearer, no second edit helps.
    """
    nearer = (first for first in firsts if first.merit > 0)
    ordered = sorted(nearer, key=lambda first: (first.rank - first.merit, first.rank))
    best = max([first.merit for first in ordered] + [MUCH])
    seen: Counter[Hashable] = Counter()
    found: list[tuple[float, First]] = []
    for first in ordered:
        seen[first.sign] += 1
        if seen[first.sign] <= ALIKE:
            further = FURTHER * (1 - first.merit / best) + STEP * len(found)
            found.append((min(further, first.rank + first.penalty), first))
    return found


# The second edits


def seconds_on(
    trial: Trial,
    written: Written,
    first: First,
    source: EditableSource,
    by_line: dict[int, list[Priced]],
) -> Iterator[Priced]:
    """Yield the second edits on a first one with their costs, the least first."""
    program = trial.made(trial.source, first.edit)
    if program is None:
        return
    line = trial.line if trial.line != first.edit.line else None
    pieces: list[Edit] = []
    if first.merit > 0:
        wrong = trial.task, program, trial.wrong[0], trial.dtype
        line = attempted(lambda: line_after(*wrong)) or line
        pieces = edits_of(trial, written, source, line)
    cost = trial.costs(source, line)
    shift = Shift(trial.source.text, first.edit)
    lines = trial.lines_run(program, source)
    anew = lines - {shift.line(number) for number in by_line}
    changed = sorted_by_line([*pieces, *trial.edits(source, anew, lines)])
    rows = [iter(row) for row in changed.values()]
    rows += [shift.all_elsewhere(row) for row in by_line.values()]
    yield from heapq.merge(
        *(dearer(row, cost) for row in rows), key=lambda pair: pair[0]
    )


def dearer(row: Iterable[Priced], cost: Callable[[int], float]) -> Iterator[Priced]:
    for rank, edit in row:
        yield rank + cost(edit.line), edit


def sorted_by_line(edits: Iterable[Edit]) -> dict[int, list[Priced]]:
    """Return the cheap edits of each line with their costs, the least first."""
    found: dict[int, list[Priced]] = {}
    for edit in sorted(edits, key=lambda edit: edit.cost):
        if edit.cost <= CHEAP:
            found.setdefault(edit.line, []).append((edit.cost, edit))
    return found


def size_of(arguments: Arguments) -> int:
    """How many numbers some arguments hold."""
    return sum(each.numel() for each in parts_of(arguments, Tensor))


def sign_of(outcome: Outcome) -> Hashable:
    """Return what tells an outcome from others."""
    if outcome.error:
        return str(outcome.error)
    tensors = decimal_tensors(outcome.value)
    signs = [signs_of(each.detach().double().numpy())[0] for each in tensors]
    return tuple(signs) or repr(outcome.value)


def right_share(wanted: Any, got: Any) -> float:
    """The share of a result that is right: each of its parts counts the same."""
    if isinstance(wanted, Tensor):
        if not isinstance(got, Tensor) or wanted.shape != got.shape:
            return 0.0
        close = torch.isclose(wanted.double(), got.double(), 1e-4, 1e-6, True)
        return float(close.double().mean()) if close.numel() else 1.0
    if isinstance(wanted, float) and isinstance(got, float):
        return float(math.isclose(wanted, got, rel_tol=1e-5))
    wanted_parts, got_parts = letters(wanted), letters(got)
    if wanted_parts is None or got_parts is None:
        return float(type(wanted) is type(got) and wanted == got)
    shares = [right_share(part, got_parts.get(i)) for i, part in wanted_parts.items()]
    return sum(shares) / (max(len(wanted_parts), len(got_parts)) or 1)


def letters(value: Any) -> dict[Any, Any] | None:
    """Return the parts of a container, or the letters of a text; None for a leaf."""
    text = isinstance(value, str) and len(value) > 1
    return dict(enumerate(value)) if text else parts(value)
