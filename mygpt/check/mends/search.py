"""Try edits of a wrong program until it passes everything."""

import ast
import itertools
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from typing import Any

import torch

from mygpt.check.apart import copies_ended
from mygpt.check.classes import from_class
from mygpt.check.compare import find_difference
from mygpt.check.engine import Checking, NotRight, differ, outcome_of
from mygpt.check.fresh import fresh_arguments
from mygpt.check.mends.edit import Edit
from mygpt.check.mends.pairs import Pairs
from mygpt.check.mends.pieces import Pieces
from mygpt.check.mends.source import Source, Unknown, neighbours, own_lines, source_of
from mygpt.check.run import (
    Outcome,
    OutOfTime,
    own_state,
    processor_limit,
    run_once,
    time_limit,
)
from mygpt.check.task import Arguments, Program, Task

SECONDS = 8.0  # for all that is tried
PROCESSOR = 0.75  # of them at most are processor time
LIKELY, SHARE = 2.3, 0.5  # costs of single edits that are tried first, in this share
SLOWER = 10  # times the book's own program, after which a candidate is stopped
PAIRS, NEARER = 0.85, 2.2  # the next: two edits that cost no more together
LEAST = 0.2  # seconds that every candidate has,
LEAST_WORK = 0.04  # and of processor time
TRACED = 0.2  # seconds of a run that is followed line by line
FRESH, FEWEST = 150, 30  # inputs that the task does not list
FRESH_SECONDS = 1.0
NEAR, FAR = 0.4, 0.9  # added to the cost of an edit beside the line, and elsewhere


@dataclass(frozen=True)
class Mend:
    """What makes a program right.

    text: its whole source with all edits; edits: each in the text before it.
    """

    text: str
    edits: tuple[Edit, ...]
    texts: tuple[str, ...]

    @property
    def line(self) -> int:
        return self.edits[0].line


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
    one. Nothing is written, printed or kept.
    """
    with (
        redirect_stdout(StringIO()),
        copies_ended(),
        own_state(),
        warnings.catch_warnings(),
        unraisable_ignored(),
        suppress(Unknown, OutOfTime),
    ):
        warnings.simplefilter("ignore")
        return Search(task, program, line, parameters, seconds, mistake).mend()
    return None


@contextmanager
def unraisable_ignored() -> Iterator[None]:
    """Let nothing be printed of a run that ends while an object is thrown away."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = before


class Search:
    """A search in one program's source."""

    def __init__(
        self,
        task: Task,
        program: Any,
        line: int | None,
        parameters: dict[str, str] | None,
        seconds: float,
        mistake: str | None = None,
    ) -> None:
        self.start, self.started = time.monotonic(), time.process_time()
        self.seconds = seconds
        self.source, self.name, self.around = source_of(program)
        self.task, self.parameters, self.line = task, parameters, line
        if parameters is not None:
            self.task, program = from_class(task, program, parameters)
        self.program = program
        self.pairs = Pairs(self)
        self.pieces = Pieces(self, mistake)
        self.dtype = torch.float64
        with suppress(OutOfTime), time_limit(2.0):
            checking = Checking(self.task, program)
            if checking.needs_float32():
                self.dtype = torch.float32
        self.probes = range(len(self.task.probes))
        self.given = [self.task.arguments_of(probe) for probe in self.task.probes]
        self.forms = [self.task.reference, *self.task.forms.values()]
        self.times = [self.time_of(i) for i in self.probes]
        self.base = [self.outcome(program, i, 4) for i in self.probes]
        self.order = sorted(self.probes, key=self.times.__getitem__)
        self.wrong = [i for i in self.order if not self.right(i, self.base[i])]
        self.lines = self.lines_run(program, self.source)
        self.keys = keys_of(self.given[0])
        self.cheap: list[Edit] = []
        self.seen: set[str] = set()
        self.tried = 0

    def time_of(self, i: int) -> float:
        """Seconds that the book's own program takes for a probe."""
        for form in self.forms:
            outcome_of(self.task, form, i, self.dtype)
        start = time.monotonic()
        run_once(self.task, self.task.reference, self.given[i], self.dtype)
        return time.monotonic() - start

    @property
    def spent(self) -> float:
        """The share of the time that is spent."""
        wall = time.monotonic() - self.start
        processor = time.process_time() - self.started
        return max(wall, processor / PROCESSOR) / max(self.seconds, 1e-9)

    # Running candidates

    def seconds_for(self, i: int) -> float:
        """Seconds that a candidate has for a probe."""
        return max(LEAST, SLOWER * self.times[i])

    def outcome(self, program: Program, i: int, slower: float = 1) -> Outcome:
        work = slower * max(LEAST_WORK, SLOWER * self.times[i])
        try:
            with time_limit(slower * self.seconds_for(i)), processor_limit(work):
                return run_once(self.task, program, self.given[i], self.dtype)
        except (Exception, OutOfTime) as error:
            return Outcome(error=error)

    def right(self, i: int, outcome: Outcome) -> bool:
        """Whether an outcome is that of a form of the right answer."""
        if outcome.error:
            return False
        tolerance = self.task.tolerance
        return any(
            not differ(outcome_of(self.task, f, i, self.dtype), outcome, tolerance)
            for f in self.forms
        )

    def made(self, source: Source, edit: Edit | None) -> Program | None:
        try:
            with time_limit(1.0):
                found = source.program(self.name, self.around, edit)
                if self.parameters is not None:
                    _, found = from_class(self.task, found, self.parameters)
        except (Exception, OutOfTime):
            return None
        return found if callable(found) else None

    def lines_run(self, program: Program, source: Source) -> set[int]:
        """The lines that run on the probes that fail, and those outside functions."""
        found: set[int] = set()
        file = source.file

        def watch(frame: Any, event: str, _: Any) -> Any:
            if frame.f_code.co_filename != file:
                return None
            found.add(frame.f_lineno)
            return watch

        before = sys.gettrace()
        for i in (self.wrong or self.order)[:3]:
            with suppress(Exception, OutOfTime), processor_limit(TRACED):
                try:
                    sys.settrace(watch)
                    run_once(self.task, program, self.given[i], self.dtype)
                finally:
                    sys.settrace(before)
        lines: set[int] = set()
        for statement in ast.walk(source.tree):
            if isinstance(statement, ast.stmt):
                own = own_lines(statement)
                if found & own or statement in source.tree.body:
                    lines |= own
        return lines

    # The search

    def mend(self) -> Mend | None:
        if not self.is_wrong():
            return None
        if found := self.pieces.named():
            return found
        short = self.line and self.lines - {self.line}
        self.cheap = list(self.source.edits(self.lines, self.keys, short or set()))
        ranked = self.ranked(self.cheap, self.source, self.line)
        likely = (pair for pair in ranked if pair[0] <= LIKELY)
        found = self.single(likely, SHARE) or self.pieces.unnamed()
        if found or self.spent > 1:
            return found
        pairs = self.pairs.tries()
        near = itertools.takewhile(lambda one: one[1] or one[0] <= NEARER, pairs)
        found = self.first_of((mend for _, mend in near), PAIRS)
        if found or self.spent > 1:
            return found
        every = self.source.edits(self.lines, self.keys)
        others = self.singles(self.ranked(every, self.source, self.line))
        both = itertools.zip_longest(others, (mend for _, mend in pairs))
        return self.first_of(itertools.chain.from_iterable(both), 1.0)

    def first_of(self, tries: Iterable[Mend | None], share: float) -> Mend | None:
        """Return the first mend of some tries, until a share of the time is spent."""
        for found in tries:
            if found or self.spent > share:
                return found
        return None

    def single(self, edits: Iterable[tuple[float, Edit]], share: float) -> Mend | None:
        """Try edits until a share of the time is spent."""
        return self.first_of(self.singles(edits), share)

    def singles(self, edits: Iterable[tuple[float, Edit]]) -> Iterator[Mend | None]:
        """Try edits one by one; the last that is yielded may be a mend."""
        for rank, edit in edits:
            if self.passes(self.source, edit, rank):
                yield self.mend_of([edit])
                return
            yield None

    def is_wrong(self) -> bool:
        """Whether the source, run again, is the program, and does not pass as it is."""
        program = self.made(self.source, None)
        if program is None or (not self.wrong and self.is_right(program)):
            return False
        i = self.wrong[0] if self.wrong else self.order[0]
        again, once = self.outcome(program, i, 4), self.base[i]
        if again.error or once.error:
            return type(again.error) is type(once.error)
        return find_difference(once.value, again.value) is None

    def ranked(
        self, edits: Iterable[Edit], source: Source, line: int | None
    ) -> list[tuple[float, Edit]]:
        """Return edits with their costs where they are, the least first."""
        cost = self.costs(source, line)
        found = [(edit.cost + cost(edit.line), edit) for edit in edits]
        return sorted(found, key=lambda pair: pair[0])

    def costs(self, source: Source, line: int | None) -> Callable[[int], float]:
        """What an edit costs more in a line than in one that seems wrong."""
        near = neighbours(source.tree, line) if line else set()

        def cost(of: int) -> float:
            if line is None or of == line:
                return 0.0
            return NEAR if of in near else FAR

        return cost

    def passes(self, source: Source, edit: Edit, rank: float | None = None) -> bool:
        """Whether a program with an edit passes everything; each text is tried once.

        An edit of the reader's own text has a rank: a second one may be tried on it.
        """
        text = edit.applied(source.text.text)
        if text in self.seen:
            return False
        self.seen.add(text)
        program = self.made(source, edit)
        if program is None:
            return False
        self.tried += 1
        for i in self.wrong:
            outcome = self.outcome(program, i)
            if not self.right(i, outcome):
                if rank is not None:
                    self.pairs.keep(edit, rank, i, outcome)
                return False
        if self.is_right(program):
            return True
        if rank is not None and self.wrong:
            self.pairs.keep_nearly_right(edit, rank)
        return False

    def is_right(self, program: Program) -> bool:
        others = (i for i in self.order if i not in self.wrong)
        if not all(self.right(i, self.outcome(program, i)) for i in others):
            return False
        seconds = 2.0 + self.task.limit / 5
        try:
            with time_limit(2 * seconds), processor_limit(seconds):
                return self.passes_check(program) and self.passes_fresh(program)
        except (Exception, OutOfTime):
            return False

    def passes_check(self, program: Program) -> bool:
        """Whether a program passes the task's own check."""
        checking = Checking(self.task, program, self.dtype)
        _, reference = checking.nearest_form()
        if checking.trouble_with(reference):
            return False
        try:
            checking.check_effects()
            checking.check_gradients(reference)
            checking.check_properties()
        except NotRight:
            return False
        return True

    def passes_fresh(self, program: Program) -> bool:
        """Whether a program is right on inputs that the task does not list."""
        checking = Checking(self.task, program, self.dtype)
        _, reference = checking.nearest_form()
        end, count = time.process_time() + FRESH_SECONDS, 0
        for arguments in fresh_arguments(self.task, 0):
            expected = run_once(self.task, reference, arguments, self.dtype)
            if expected.error:
                continue
            got = run_once(self.task, program, arguments, self.dtype)
            if differ(expected, got, self.task.tolerance):
                return False
            count += 1
            late = time.process_time() > end
            if count >= FRESH or (late and count >= FEWEST):
                return True
        return False

    def mend_of(self, edits: Sequence[Edit]) -> Mend:
        text, texts = self.source.text.text, []
        for edit in edits:
            texts.append(text)
            text = edit.applied(text)
        return Mend(text, tuple(edits), tuple(texts))


def keys_of(arguments: Arguments) -> list[str]:
    """The keys of all dictionaries among some arguments."""
    found: dict[str, None] = {}

    def look(value: Any) -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                found[str(key)] = None
                look(part)
        elif isinstance(value, list):
            for part in value[:1]:
                look(part)

    for value in arguments.values():
        look(value)
    return list(found)
