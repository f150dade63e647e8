"""Run candidates: what a program with an edit gives, and whether it is right."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch

from mygpt.check import work
from mygpt.check.classes import from_class
from mygpt.check.compare import TOLERANCE, convert, copy_of, find_difference
from mygpt.check.mends.edits import edits_of
from mygpt.check.mends.names import lines_that_make
from mygpt.check.mends.source import (
    Edit,
    EditableSource,
    Mend,
    NoSource,
    Priced,
    lines_apart,
    neighbours,
    parameters,
    source_of,
    statements_of,
)
from mygpt.check.mends.values_by_name import watching
from mygpt.check.order import passes
from mygpt.check.other_inputs import scaled, wider
from mygpt.check.process.errors import too_large
from mygpt.check.process.run import Outcome, OutOfTime, in_parts, kept_state, run_once
from mygpt.check.syntax import idle
from mygpt.check.task import Arguments, Program, Task
from mygpt.check.tree import leaves
from mygpt.check.values import (
    Submission,
    computed,
    differ,
    dtype_for,
    kept_outcome,
    other_input,
)

# What may draw random numbers, or change PyTorch's state: else it need not be kept.
STATE = re.compile(r"rand|seed|drop|nomial|bernoulli|normal|uniform|shuffle|nn\.|set_")
ROUNDS = 10_000  # of all loops in a run of the reader's own program
MORE = 10  # times as many rounds as that, or LEAST, end a candidate
LEAST = 1000
OTHERS, FEWEST = 150, 30  # inputs that the task does not list
OTHERS_SECONDS = 1.0
WHOLE = 10  # times as long as a run, a whole check may take
CHECKS = 6  # runs on each probe that a whole check takes
MOST_LINES = 3  # that a mend may change, add or leave out
SCALED = 6  # of these that are tried larger and smaller, too
NEAR, FAR = 0.4, 0.9  # added to the cost of an edit beside the line, and elsewhere
Made = TypeVar("Made")


@dataclass(frozen=True)
class Failed:
    """An edit of the reader's own source that does not make everything right.

    rank: its cost where it is. probe: the first of the failing probes that still fails,
    with the outcome; None if none fails.
    """

    edit: Edit
    rank: float
    probe: int | None = None
    outcome: Outcome | None = None


class Trial:
    """A wrong program, its source, and the work of the search for its mend.

    line: where the mistake seems to be. seconds: of work for the search. begin: is
    called before each run. own: the program, made of its source. base: its outcomes;
    works: what a run on each probe counts; wrong: the probes that fail, the shortest
    first. lines: those that run on them. log: the edits that were tried on the reader's
    own source and failed.
    """

    def __init__(
        self,
        task: Task,
        program: Any,
        line: int | None,
        parameters: dict[str, str] | None,
        seconds: float,
        begin: Callable[..., None] = lambda longer=1.0: None,
    ) -> None:
        self.start, self.seconds, self.begin = work.now(), seconds, begin
        self.source, self.name, around = source_of(program)
        self.state = kept_state if STATE.search(self.source.text.text) else nullcontext
        self.rounds = work.Rounds()
        self.around = {**around, work.COUNTER: self.rounds}
        self.task, self.parameters, self.line = task, parameters, line
        if parameters is not None:
            self.task, program = from_class(task, program, parameters)
        self.program = program
        self.own = own = self.made(self.source)
        if own is None:
            raise NoSource
        self.rounds.begin(ROUNDS)
        self.dtype = attempted(lambda: dtype_for(self.task, own)) or torch.float64
        given = [self.task.arguments_of(probe) for probe in self.task.probes]
        self.given = [convert(each, self.dtype) for each in given]
        self.forms = [self.task.reference, *self.task.forms.values()]
        probes = range(len(given))
        self.works, self.most = [work.RUN] * len(given), [ROUNDS] * len(given)
        self.base = [self.first_outcome(i) for i in probes]
        self.order = sorted(probes, key=self.works.__getitem__)
        self.wrong = [i for i in self.order if not self.right(i, self.base[i])]
        self.lines = self.lines_run(own, self.source)
        paths = (path for path, _ in leaves(given[0]))
        keys = (key for path in paths for key in path[1:] if isinstance(key, str))
        self.keys = list(dict.fromkeys(keys))
        self.seen = {self.source.text.text}
        self.log: list[Failed] = []

    def first_outcome(self, i: int) -> Outcome:
        """Run the program on a probe, then once more to count its calls and rounds.

        The first run may import something, or fill a library's cache.
        """
        found = self.outcome(self.own, i)
        if isinstance(found.error, OutOfTime):
            self.works[i], self.most[i] = work.RUN + work.CALL * ROUNDS, LEAST
            return found
        calls = work.calls_in(lambda: self.outcome(self.own, i))
        self.works[i] = work.RUN + work.CALL * calls
        self.most[i] = max(LEAST, MORE * self.rounds.done)
        return found

    @property
    def spent(self) -> float:
        """The share of the work that is done."""
        return (work.now() - self.start) / (work.TICKS * max(self.seconds, 1e-9))

    def until(
        self, share: float, tries: Iterable[Mend | None]
    ) -> Iterator[Mend | None]:
        """Pass on tries until a share of the work is done."""
        for found in tries:
            yield found
            if self.spent > share:
                return

    # Running candidates

    def outcome(self, program: Program, i: int) -> Outcome:
        """What a program gives on a probe, without what holds much memory."""
        work.add(self.works[i])
        self.rounds.begin(self.most[i])
        self.begin()
        try:
            with self.state():
                value = self.task.run(program, copy_of(self.given[i]))
                return Outcome(in_parts(self.task, value))
        except (Exception, SystemExit, OutOfTime) as error:
            endless = self.rounds.done > self.most[i]
            stopped = isinstance(error, OutOfTime) and not endless
            work.add(work.HANG * (stopped or too_large(error)))
            return Outcome(error=error.with_traceback(None))
        finally:
            work.add(work.ROUND * self.rounds.done)

    def right(self, i: int, outcome: Outcome) -> bool:
        """Whether an outcome is that of a form of the right answer."""
        tolerance = self.task.tolerance
        return not outcome.error and any(
            not differ(kept_outcome(self.task, f, i, self.dtype), outcome, tolerance)
            for f in self.forms
        )

    def made(self, source: EditableSource, edit: Edit | None = None) -> Program | None:
        """The program of a source with an edit; None if it cannot be had."""
        work.add(work.MADE)

        def program() -> Any:
            self.rounds.begin(LEAST)
            found = source.program(self.name, self.around, edit)
            if self.parameters is not None:
                _, found = from_class(self.task, found, self.parameters)
            return found if callable(found) else None

        self.begin()
        return attempted(program)

    def lines_run(self, program: Program, source: EditableSource) -> set[int]:
        """The lines that run on the probes that fail, and those outside functions."""
        found: set[int] = set()
        for i in (self.wrong or self.order)[:3]:
            seen = watching(source.file, lambda frame, _: found.add(frame.f_lineno))
            with seen:
                self.outcome(program, i)
        lines: set[int] = set()
        classes = (one for one in source.tree.body if isinstance(one, ast.ClassDef))
        outer = {*source.tree.body, *(each for one in classes for each in one.body)}
        for statement, own in statements_of(source.tree):
            if found & own or statement in outer:
                lines |= own
        return lines

    # What edits cost, and whether a program with them is right

    @cached_property
    def cheap(self) -> list[Edit]:
        """The edits of the source, without the many terms beside the line."""
        short = self.line and self.lines - {self.line}
        return list(self.edits(self.source, self.lines, short or set()))

    def edits(
        self, source: EditableSource, lines: set[int], short: Set[int] = frozenset()
    ) -> Iterator[Edit]:
        """Yield the edits of some lines; in short ones no whole term is missing."""
        return edits_of(source, lines, self.keys, short, self.task.hints)

    def costs(self, source: EditableSource, line: int | None) -> Callable[[int], float]:
        """What an edit costs more in a line than in one that seems wrong."""
        near = neighbours(source.tree, line) if line else set()
        near |= lines_that_make(source.tree, line, plain=True) if line else set()

        def cost(of: int) -> float:
            if line is None or of == line:
                return 0.0
            return NEAR if of in near else FAR

        return cost

    def ranked(
        self, edits: Iterable[Edit], source: EditableSource, line: int | None
    ) -> list[Priced]:
        """Return edits with their costs where they are, the least first."""
        cost = self.costs(source, line)
        found = [(edit.cost + cost(edit.line), edit) for edit in edits]
        work.add(work.EDIT * len(found))
        return sorted(found, key=lambda pair: pair[0])

    def singles(self, edits: Iterable[Priced]) -> Iterator[Mend | None]:
        """Try edits of the reader's own source; the last that is yielded may mend."""
        for rank, edit in edits:
            if self.passes(self.source, edit, rank):
                yield self.mend_of(edit)
                return
            yield None

    def passes(
        self, source: EditableSource, edit: Edit, rank: float | None = None
    ) -> bool:
        """Whether a program with an edit passes everything; each text is tried once.

        An edit with a rank goes into the log if it fails.
        """
        text = edit.applied(source.text.text)
        if text in self.seen:
            return False
        self.seen.add(text)
        program = self.made(source, edit)
        if program is None:
            return False
        outcomes = ((i, self.outcome(program, i)) for i in self.wrong)
        wrong = next((pair for pair in outcomes if not self.right(*pair)), ())
        if not wrong and self.reads_well(text) and self.is_right(program):
            return True
        if rank is not None and self.wrong:
            self.log.append(Failed(edit, rank, *wrong))
        return False

    def reads_well(self, text: str) -> bool:
        """Whether an edited source is near the reader's, with nothing idle in it."""
        own = self.source.text.text
        near = idle(text) <= idle(own) and lines_apart(own, text) <= MOST_LINES
        return near and parameters(own) == parameters(text)

    def is_wrong(self) -> bool:
        """Whether the source, run again, is the program, and does not pass as it is."""
        if not self.wrong:
            return not self.is_right(self.own)
        i = self.wrong[0]
        if isinstance(self.base[i].error, OutOfTime):
            return True
        self.begin()
        run = self.task, self.program, self.given[i], self.dtype
        once = attempted(lambda: run_once(*run))
        return once is not None and alike(self.base[i], once)

    def is_right(self, program: Program) -> bool:
        """Whether a program that is right where the reader's fails is so everywhere."""
        others = (i for i in self.order if i not in self.wrong)
        if not all(self.right(i, self.outcome(program, i)) for i in others):
            return False
        work.add(CHECKS * sum(self.works))
        self.rounds.begin(ROUNDS * len(self.works))

        def right() -> bool:
            book = passes(self.task, program, self.dtype)
            return book and self.passes_others(program)

        self.begin(WHOLE)
        return bool(attempted(right))

    def passes_others(self, program: Program) -> bool:
        """Whether a program is right on inputs that the task does not list."""
        reference = Submission(self.task, program, self.dtype).reference
        end = work.after(OTHERS_SECONDS)
        for number in range(OTHERS):
            if number >= FEWEST and work.now() > end:
                break
            given = other_input(self.task, self.dtype, number)
            larger = scaled(given) if number < SCALED else ()
            if not all(self.agrees(program, reference, e) for e in (given, *larger)):
                return False
        given = (convert(each, self.dtype) for each in wider(self.task))
        return all(self.agrees(program, reference, each) for each in given)

    def agrees(self, program: Program, reference: Program, given: Arguments) -> bool:
        """Whether two programs give the same; so, too, where the second one fails."""
        work.add(2 * self.works[0])
        self.rounds.begin(ROUNDS)
        self.begin(WHOLE)
        expected = computed(self.task, reference, copy_of(given))
        if expected.error:
            return True
        got = run_once(self.task, program, given, self.dtype)
        return not differ(expected, got, self.task.tolerance)

    def is_right_anew(self, mend: Mend) -> bool:
        """Whether a mended file is right when all of it runs; no cell is run again."""
        if not Path(self.source.file).is_file():
            return True
        space = dict(self.around)

        def right() -> bool:
            exec(compile(mend.text, self.source.file, "exec"), space)
            program = space[self.name]
            if self.parameters is not None:
                _, program = from_class(self.task, program, self.parameters)
            return passes(self.task, program, self.dtype)

        self.begin(WHOLE)
        return bool(attempted(right))

    def mend_of(self, *edits: Edit) -> Mend:
        """Return the mend of edits, each in the text before it."""
        text, texts = self.source.text.text, []
        for edit in edits:
            texts.append(text)
            text = edit.applied(text)
        return Mend(text, edits, tuple(texts))


def attempted(make: Callable[[], Made]) -> Made | None:
    """What a function returns; None if it raises, or is stopped."""
    with suppress(Exception, SystemExit, OutOfTime):
        return make()
    return None


def alike(one: Outcome, other: Outcome, tolerance: float = TOLERANCE) -> bool:
    """Whether two outcomes are the same value, or errors of a class."""
    if one.error or other.error:
        return type(one.error) is type(other.error)
    return find_difference(one.value, other.value, "", tolerance) is None
