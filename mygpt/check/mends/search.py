"""Try edits of a wrong program until it passes everything."""

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from typing import Any

from mygpt.check.mends import pairs, pieces
from mygpt.check.mends.choice import chosen, goes_around
from mygpt.check.mends.source import Mend, NoSource
from mygpt.check.mends.spellings import Written
from mygpt.check.mends.trial import Trial
from mygpt.check.process.run import OutOfTime, guarded, own_state
from mygpt.check.process.supervisor import copies_ended
from mygpt.check.task import Task

SECONDS = 4.8  # of work for all that is tried
HANGS = 2.0  # seconds after which a candidate is given up
LIKELY, SHARE = 2.3, 0.5  # costs of single edits that are tried first, in this share
PAIRS, NEARER = 0.85, 2.2  # the next: two edits that cost no more together


def likely(trial: Trial, _: Written) -> Iterator[Mend | None]:
    """Try the edits that cost little at the line that seems wrong, or near it."""
    ranked = trial.ranked(trial.cheap, trial.source, trial.line)
    edits = itertools.takewhile(lambda pair: pair[0] <= LIKELY, ranked)
    return trial.until(SHARE, trial.singles(edits))


def the_rest(trial: Trial, written: Written) -> Iterator[Mend | None]:
    """Try pairs of edits, the nearer ones first, then each with a single edit."""
    two = pairs.tries(trial, written)
    near = itertools.takewhile(lambda one: one[1] or one[0] <= NEARER, two)
    yield from trial.until(PAIRS, (mend for _, mend in near))
    edits = trial.edits(trial.source, trial.lines)
    others = trial.singles(trial.ranked(edits, trial.source, trial.line))
    both = itertools.zip_longest(others, (mend for _, mend in two))
    yield from itertools.chain.from_iterable(both)


STAGES: tuple[Callable[[Trial, Written], Iterator[Mend | None]], ...] = (
    pieces.named,
    likely,
    pieces.unnamed,
    the_rest,
)


def find_mend(
    task: Task,
    program: Any,
    line: int | None = None,
    parameters: dict[str, str] | None = None,
    seconds: float = SECONDS,
    mistake: str | None = None,
) -> Mend | None:
    """Find one edit, or two, with which a wrong program passes everything.

    line: where the mistake seems to be; mistake: its name in the catalogue, if it has
    one; seconds: of work. Nothing is written, printed or kept.
    """
    with (
        redirect_stdout(StringIO()),
        copies_ended(),
        own_state(),
        warnings.catch_warnings(),
        unraisable_ignored(),
        suppress(NoSource, OutOfTime),
        guarded(HANGS) as begin,
    ):
        warnings.simplefilter("ignore")
        trial = Trial(task, program, line, parameters, seconds, begin)
        if trial.is_wrong():
            return first_of_all(trial, Written(trial.task, mistake))
    return None


def first_of_all(trial: Trial, written: Written) -> Mend | None:
    """Return the first mend of all stages, up to some work."""
    tries = (stage(trial, written) for stage in STAGES)
    found = trial.until(1.0, itertools.chain.from_iterable(tries))
    mend = next((one for one in found if one and not goes_around(one)), None)
    best = mend and chosen(trial, mend)
    return best if best and trial.is_right_anew(best) else None


@contextmanager
def unraisable_ignored() -> Iterator[None]:
    """Let nothing be printed of a run that ends while an object is thrown away."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = before
