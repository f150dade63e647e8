"""What must hold of a program besides its values: no side effects, and properties."""

import inspect
import random
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

import torch

from mygpt.check.compare import convert, copy_of, find_difference, unchanged
from mygpt.check.mends.values_by_name import watching
from mygpt.check.process.run import RANDOM, in_parts, kept_state, state
from mygpt.check.result import NotRight, shapes
from mygpt.check.task import Arguments, Program, Property
from mygpt.check.values import HALF, Submission, has_nan, in_half_precision

DRAWN = "Your program's result is random; nothing in this task is."
OWN_WEIGHTS = (
    " A layer that is made inside it, such as `nn.Linear`, draws weights of its own: "
    "compute with those that are given."
)
SEEDED = "Your program sets the seed of the random numbers for everybody."
MOST = 2  # properties that are told beside another failure


def check_effects(submission: Submission, random_alone: bool = False) -> None:
    """Raise NotRight for a side effect; `random_alone`: of a random result alone."""
    for arguments, outcome in zip(
        submission.arguments, submission.outcomes, strict=True
    ):
        trouble = outcome.trouble
        if trouble == RANDOM:
            trouble = None if outcome.error else random_trouble(submission, arguments)
        elif random_alone:
            continue
        if trouble:
            line = line_of_effect(submission, arguments)
            place = (
                {"line": line, "where": f"line {line}", "sure": True} if line else {}
            )
            text = shapes(arguments)
            raise NotRight(submission.task, "effect", trouble, input=text, **place)


def line_of_effect(submission: Submission, arguments: Arguments) -> int | None:
    """Return the line after which an argument, or a global state, is another."""
    code = getattr(inspect.unwrap(submission.program), "__code__", None)
    given = convert(arguments, submission.dtype)
    copies, lines, before = copy_of(given), [], []

    def see(frame: FrameType, event: str) -> None:
        before[:] = before or [all_state()]  # in what decorates the program, too
        if not lines or lines[-1] is not None:
            same = unchanged(given, copies) and [all_state()] == before
            lines.append(frame.f_lineno if same else None)

    with suppress(Exception), kept_state(), watching(code.co_filename, see):
        submission.task.run(submission.program, copies)
    return lines[-2] if lines[-1:] == [None] and len(lines) > 1 else None


def all_state() -> tuple[Any, ...]:
    """Return what a program may change for everybody, random numbers too."""
    return (*state(), torch.get_rng_state().tolist(), random.getstate())


def random_trouble(submission: Submission, arguments: Arguments) -> str | None:
    """Say what is wrong with the random numbers; unused random weights are fine."""
    task, states, values = submission.task, [], []
    for seed in (1, 2):
        with kept_state():
            torch.manual_seed(seed)
            random.seed(seed)
            given = copy_of(convert(arguments, submission.dtype))
            values.append(in_parts(task, task.run(submission.program, given)))
            states.append((torch.get_rng_state().tolist(), random.getstate()))
    if find_difference(*values):
        return DRAWN + (OWN_WEIGHTS if task.weights else "")
    same = any(first == second for first, second in zip(*states, strict=True))
    return SEEDED if same else None


def check_properties(submission: Submission) -> None:
    """Raise NotRight at the first property that does not hold."""
    task = submission.task
    for each in task.properties:
        try:
            submission.seen.append(seen(submission, each, submission.program))
            sentence = each.broken(submission.seen[-1], submission.given[0])
        except Exception as error:
            again = partial(broken, submission, each)
            sentence = submission.stopped(error, "with other inputs", again)
        if sentence:
            known = submission.outcomes_of(task.reference)
            if any(map(in_half_precision, known, submission.outcomes)):
                sentence = HALF
            input = shapes(submission.arguments[0])
            raise NotRight(task, "property", sentence, input=input)


def seen(submission: Submission, one: Property, program: Program) -> Any:
    """Return the data by which a property of a program is judged."""
    return convert(one.seen(program, submission.given[0]), submission.dtype)


def broken(submission: Submission, one: Property, program: Program) -> str | None:
    """Return a sentence if a property does not hold of a program."""
    return one.broken(seen(submission, one, program), submission.given[0])


def broken_properties(submission: Submission, stage: str) -> list[str]:
    """Return a sentence for each property that is broken beside another failure.

    Beside a wrong shape or type, only those of the calls, not of the result.
    """
    sentences: list[str] = []
    if any(map(has_nan, submission.outcomes)):
        return sentences  # nothing equals NaN
    for each in submission.task.properties:
        if each.of_calls or stage not in ("shape", "type"):
            with suppress(Exception):  # the error has been told already
                sentence = broken(submission, each, submission.program)
                if sentence and sentence not in each.alone:
                    sentences.append(sentence)
    return sentences[:MOST]
