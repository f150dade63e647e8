"""The values of a program under check, and those of programs of the catalogue."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

import torch

from mygpt.check import work
from mygpt.check.compare import (
    TOLERANCE,
    convert,
    copy_of,
    distance,
    find_difference,
)
from mygpt.check.crashes import cause_of
from mygpt.check.other_inputs import fresh_arguments
from mygpt.check.process.errors import one_line, readers_frames
from mygpt.check.process.run import Outcome, in_parts, run_once
from mygpt.check.task import Arguments, Program, Task
from mygpt.check.tree import decimal_tensors

HALVES = (torch.float16, torch.bfloat16)
ROUGH = 0.02  # relative precision of half precision after a few steps
FEW = 3  # numbers that half precision may hold by chance
HALF = (
    "Your result has only the three digits of half precision (float16, or bfloat16): "
    "compute in the type of the arguments."
)
WRONG_TYPES = re.compile(r"dtype|[Ff]loat|[Dd]ouble|scalar type")


@dataclass
class Submission:
    """A program under check, with its values.

    dtype: of the floating-point tensors among its arguments.
    gradients, seen: for each probe, and for each property, as far as they were checked.
    elsewhere: outcomes on inputs that are no probes, as far as they were needed.
    """

    task: Task
    program: Program
    dtype: torch.dtype = torch.float64
    gradients: list[dict[str, Any]] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    elsewhere: list[Outcome] = field(default_factory=list)

    @cached_property
    def arguments(self) -> list[Arguments]:
        """The arguments of each probe."""
        return [self.task.arguments_of(probe) for probe in self.task.probes]

    @property
    def given(self) -> list[Arguments]:
        """The arguments in the type in which the program gets them."""
        return [convert(each, self.dtype) for each in self.arguments]

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """The outcome of the program on each probe."""
        return [self.outcome(arguments) for arguments in self.arguments]

    def outcome(self, arguments: Arguments) -> Outcome:
        """Run the program once."""
        add_run(self.task)
        return run_once(self.task, self.program, arguments, self.dtype)

    def outcomes_of(self, program: Program) -> list[Outcome]:
        """Return the outcomes of a program of the catalogue on the probes."""
        count = range(len(self.task.probes))
        return [outcome_of(self.task, program, i, self.dtype) for i in count]

    def differences_from(self, program: Program) -> list[int]:
        """Return the probes on which a program of the catalogue gives another value."""
        return differences(self.outcomes_of(program), self.outcomes, self.task)

    def agrees(self, program: Program) -> bool:
        """Whether a mistake agrees on every probe, and on one of them with a value."""
        valued = False
        for i, got in enumerate(self.outcomes):
            mistake = outcome_of(self.task, program, i, self.dtype)
            if not same_as_mistake(mistake, got, self.task):
                return False
            valued = valued or mistake.error is None
        return valued

    @property
    def reference(self) -> Program:
        """The right program that the program is nearest to."""
        return self.task.answers[self.form]

    @cached_property
    def form(self) -> str:
        """The name of the form of the right answer that the program is nearest to."""
        return min(self.task.answers, key=self.distance_from)

    def distance_from(self, form: str) -> float:
        """Add up the largest differences from the values of a form."""
        expected = self.outcomes_of(self.task.answers[form])
        return sum(
            (a - b).abs().nan_to_num(0.0).max().item()
            for pair in zip(expected, self.outcomes, strict=True)
            for a, b in zip(*(decimal_tensors(o.value) for o in pair), strict=False)
            if a.shape == b.shape and a.numel()
        )

    def stopped(
        self, error: Exception, when: str, run: Callable[[Program], Any] | None = None
    ) -> str:
        """Say how a program with right values stops.

        run: repeats the failing step with a given program. An error that stops the
        reference too is raised again: it is the checker's.
        """
        if run and not readers_frames(error):
            run(self.task.reference)
        text = f"The values are right, but {when} your program stops with "
        return self.with_cause(error, f"{text}{one_line(error).rstrip('.')}.")

    def with_cause(self, error: BaseException, text: str) -> str:
        """Put plain words before an error's own."""
        return f"{cause_of(error, self.task, self.program)} {text}".strip()


def dtype_for(task: Task, program: Program) -> torch.dtype:
    """Return float32 for a program that makes tensors of PyTorch's default type."""
    arguments = task.arguments_of(task.probes[0])
    error = run_once(task, program, arguments, torch.float64).error
    single = isinstance(error, RuntimeError) and WRONG_TYPES.search(str(error))
    return torch.float32 if single else torch.float64


# Programs of the catalogue


def add_run(task: Task) -> None:
    """Count a run of a program of a task."""
    work.add_run(cost_of(task))


@cache
def cost_of(task: Task) -> Callable[[], float]:
    """Return what counts a run of a task's own program, once."""
    return cache(partial(counted, task))


def counted(task: Task) -> float:
    """What a run of a task's first mistake counts: the mean over the probes."""
    program = next((each.program for each in task.mistakes), task.reference)
    given = [task.arguments_of(probe) for probe in task.probes]
    runs = [lambda each=each: computed(task, program, copy_of(each)) for each in given]
    for run in runs:
        run()  # the first one may import something
    return work.RUN + work.CALL * sum(map(work.calls_in, runs)) / len(runs)


def value_of(task: Task, program: Program, arguments: Arguments) -> Outcome:
    """Run a program of the catalogue; it changes neither its arguments nor a state."""
    add_run(task)
    return computed(task, program, arguments)


def computed(task: Task, program: Program, arguments: Arguments) -> Outcome:
    """Run a program of the catalogue, and count no work: what is kept has no cost."""
    try:
        return Outcome(in_parts(task, task.run(program, arguments)))
    except Exception as error:
        return Outcome(error=error)


def outcome_of(task: Task, program: Program, probe: int, dtype: torch.dtype) -> Outcome:
    """Return the outcome of a program of the catalogue on a probe, run once for all.

    It counts as a run each time, so that the work does not depend on earlier checks.
    """
    add_run(task)
    return kept_outcome(task, program, probe, dtype)


@cache
def kept_outcome(
    task: Task, program: Program, probe: int, dtype: torch.dtype
) -> Outcome:
    """Run a program of the catalogue on a probe, once for all checks."""
    return computed(task, program, arguments_at(task, probe, dtype))


@cache
def arguments_at(task: Task, probe: int, dtype: torch.dtype) -> Arguments:
    """Make a probe's arguments once for all checks."""
    return convert(task.arguments_of(task.probes[probe]), dtype)


@cache
def drawn_inputs(
    task: Task, dtype: torch.dtype
) -> tuple[list[Arguments], Iterator[Arguments]]:
    """Return the inputs beyond the probes that were drawn, and an iterator of more."""
    inputs = (convert(each, dtype) for each in fresh_arguments(task, 1))
    taken = (each for each in inputs if not computed(task, task.reference, each).error)
    return [], taken


def other_input(task: Task, dtype: torch.dtype, number: int) -> Arguments:
    """Return one of these inputs by its number, drawn once for all checks."""
    drawn, rest = drawn_inputs(task, dtype)
    while len(drawn) <= number:
        drawn.append(next(rest))
    return drawn[number]


# Comparison


def differ(expected: Outcome, got: Outcome, tolerance: float = TOLERANCE) -> bool:
    """Whether two outcomes differ; any two errors are the same."""
    if expected.error or got.error:
        return not (expected.error and got.error)
    return find_difference(expected.value, got.value, "", tolerance) is not None


def differences(
    expected: Sequence[Outcome], got: Sequence[Outcome], task: Task
) -> list[int]:
    """Return the positions at which outcomes differ."""
    pairs = enumerate(zip(expected, got, strict=True))
    return [i for i, pair in pairs if differ(*pair, task.tolerance)]


def same_as_mistake(mistake: Outcome, got: Outcome, task: Task) -> bool:
    """Whether an outcome is that of a mistake, and leaves the same trail."""
    return not differ(mistake, got, task.tolerance) and trail(mistake) == trail(got)


def distance_on_first(submission: Submission, mistake: Outcome) -> float:
    """Return how far a mistake's value on the first probe is, as a share."""
    first = submission.outcomes[0]
    if mistake.error or first.error:
        return 0.0 if mistake.error and first.error else float("inf")
    return distance(mistake.value, first.value)


def trail(outcome: Outcome) -> list[Any]:
    """Return the parts that are compared with mistakes, and not with the reference."""
    value = outcome.value
    parts = value.items() if isinstance(value, dict) else ()
    return [part for name, part in parts if name.startswith("_")]


def has_nan(outcome: Outcome) -> bool:
    """Whether a result holds NaN."""
    return any(tensor.isnan().any() for tensor in decimal_tensors(outcome.value))


def is_telling(outcomes: Sequence[Outcome]) -> bool:
    """Whether results tell mistakes apart: no errors, and more than a single number.

    Results that are always empty, or zero, or NaN, fit too many combinations.
    """
    if any(outcome.error for outcome in outcomes):
        return False
    seen: set[Any] = set()
    for outcome in outcomes:
        tensors = decimal_tensors(outcome.value)
        for tensor in tensors:
            seen.update(tensor.nan_to_num().unique().tolist())
        if not tensors:
            seen.add(repr(outcome.value))
    return len(seen) > 1


def in_half_precision(expected: Outcome, got: Outcome) -> bool:
    """Whether a result is of a 16-bit type, or is right to the digits of one."""
    results = decimal_tensors(got.value)
    if any(result.dtype in HALVES for result in results):
        return True
    right = decimal_tensors(expected.value)
    pairs = [(a.double(), b.double()) for a, b in zip(right, results, strict=False)]
    return any(len(b.unique()) > FEW for _, b in pairs) and any(
        all(
            torch.equal(b, b.to(dtype).double())
            and a.shape == b.shape
            and torch.allclose(a, b, rtol=ROUGH, atol=ROUGH)
            for a, b in pairs
        )
        for dtype in HALVES
    )
