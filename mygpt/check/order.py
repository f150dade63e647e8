"""The order of a check: values, then side effects, gradients and properties."""

import ast
import re
import sys
import warnings
from contextlib import redirect_stdout, suppress
from io import StringIO
from typing import Any

import torch

from mygpt.check.classes import first_entry, from_class
from mygpt.check.compare import describe
from mygpt.check.explanation import explain
from mygpt.check.gradients import check_gradients
from mygpt.check.process.errors import one_line, place, readers_frames
from mygpt.check.process.run import PATIENCE, OutOfTime, Unusable, own_state, time_limit
from mygpt.check.process.supervisor import copies_ended
from mygpt.check.properties import check_effects, check_properties
from mygpt.check.result import NotRight, Result, failed
from mygpt.check.slips import slips_with_lines
from mygpt.check.syntax import innermost, lines_of, tree_of
from mygpt.check.task import Program, Task
from mygpt.check.values import Submission, dtype_for

WAITS = re.compile(r"\b(?:sleep|wait|join|select|input)\(")
LONGEST = 2000  # characters of the output of a program
ENDLESS = "is there a loop that never ends?"
WAITED = "in most of them it did not compute: does it sleep, or wait?"
COMPILED = (
    "PyTorch's compiler (`torch.compile`) was at work: leave it out here, or give it "
    "more time with a longer limit."
)
PRINTED = "None (your program prints something; is a `return` missing?)"


def check(
    task: Task,
    program: Any,
    parameters: dict[str, str] | None = None,
    limit: int | float | None = None,
) -> Result:
    """Check a reader's program, up to the first thing that is wrong.

    `parameters` tells which attribute of a class holds which weight. What the program
    prints in its first run is in the result.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on so small inputs a second one only waits
    try:
        return examine(task, program, parameters, limit)[0]
    finally:
        torch.set_num_threads(threads)


def examine(
    task: Task,
    program: Any,
    parameters: dict[str, str] | None = None,
    limit: int | float | None = None,
) -> tuple[Result, Submission | None]:
    """Check a program; return also its values, if the check came that far."""
    seconds = limit or task.limit
    printed, submission = Printed(), None
    with redirect_stdout(printed), copies_ended(), own_state():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the reader's program
                with time_limit(seconds):
                    if parameters is not None:
                        task, program = from_class(task, program, parameters)
                    check_function(task, program)
                    dtype = dtype_for(task, program)
                    printed.end = printed.tell()
                    submission = Submission(task, program, dtype)
                    submission.differences_from(submission.reference)
                with time_limit(PATIENCE * seconds):  # much of this is the checker's
                    result = judged(submission)
        except NotRight as found:
            result = found.result
        except Unusable as error:
            result = failed(task, "load", str(error))
        except OutOfTime as error:
            result = stopped(task, program, seconds, error)
        except SystemExit as error:
            text = f"Your program ends Python itself with {one_line(error)}."
            result = failed(task, "run", text)
    result.printed = printed.first()
    if result.stage == "type" and result.printed.strip():
        result.message = result.message.replace(describe(None), PRINTED)
    return result, submission


def judged(submission: Submission) -> Result:
    """Check the values of a program, and what must hold besides."""
    if submission.differences_from(submission.reference):
        check_effects(submission, random_alone=True)
        return explain(submission)
    check_besides(submission)
    return right(submission)


def check_besides(submission: Submission) -> None:
    """Raise NotRight unless all holds of a program whose values are right."""
    check_effects(submission)
    check_gradients(submission)
    check_properties(submission)


def right(submission: Submission) -> Result:
    """Return the result of a right program: what it did, or which form it has."""
    task, form = submission.task, submission.form
    if task.praise:
        given = [outcome.value for outcome in submission.outcomes]
        form = task.praise(submission.arguments, given)
    return Result(task.name, True, message=form)


def passes(task: Task, program: Program, dtype: torch.dtype) -> bool:
    """Whether a program passes the whole check."""
    submission = Submission(task, program, dtype)
    with suppress(NotRight):
        if not submission.differences_from(submission.reference):
            check_besides(submission)
            return True
    return False


def stopped(task: Task, program: Any, seconds: int | float, error: OutOfTime) -> Result:
    """Return the result of a program that has had its time, with the line it was in."""
    frames = readers_frames(error)
    text = time_over(seconds, error)
    if not frames:
        return failed(task, "time", text)
    file, line = frames[-1].filename, frames[-1].lineno or 0
    if WAITS.search(frames[-1].line or ""):
        return failed(task, "time", f"{text} It is in {place(file, line)}.", line=line)
    for kind in (ast.For, ast.While):  # a `for` loop ends, unless its list grows
        line = lines_of(innermost(tree_of(file), line, kind))[0] or line
    slips = slips_with_lines(program)
    line = slips[0][1] if slips else line
    hints = [slip for slip, _ in slips]
    return failed(task, "time", text, line=line, where=f"line {line}", hints=hints)


def time_over(
    seconds: int | float, error: OutOfTime | None = None, when: str = ""
) -> str:
    """Say that a program was stopped, with the probable reason."""
    waited = error is not None and "wait" in error.args
    why = WAITED if waited else ENDLESS
    why = COMPILED if "torch._inductor" in sys.modules else why
    seconds *= PATIENCE if waited else 1
    return f"Your program was stopped after {seconds:g} seconds; {why}{when}"


class Printed(StringIO):
    """The output of a program: of its first run alone, and no more than fits."""

    end: int | None = None

    def write(self, text: str) -> int:
        """Keep a text while there is room."""
        if self.tell() < LONGEST:
            super().write(text)
        return len(text)

    def first(self) -> str:
        """Return the output of the first run."""
        return self.getvalue()[: self.end]


def check_function(task: Task, program: Any) -> None:
    """Raise Unusable for a program that is not a function."""
    if not callable(program):
        raise Unusable(
            f"Expected a function {task.signature}, got {describe(program)}."
        )
    if isinstance(program, type):
        raise Unusable(
            f"Expected a function {task.signature}, got a class."
            if task.sizes is None
            else "For a class, say which of its parameters is which weight: "
            f"parameters={{{first_entry(task)}, …}}."
        )
