"""Check one wrong program as a reader does, and judge what the checker says of it."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from mygpt.check.catalogue import TASKS
from mygpt.check.combine import changes_of
from mygpt.check.process.files import check_file
from mygpt.check.process.run import OutOfTime, time_limit
from mygpt.check.result import Result
from mygpt.check.task import Program, Task
from mygpt.check.values import differ, dtype_for
from tools.mends import inputs
from tools.mends.programs import WORKBOOK, Wrong, function_of, text_of

# A mend must be right on inputs that neither the checker nor the making of the sets
# has: on 10,000, and on fewer where one takes milliseconds.
# A name, which accuses and changes nothing, on a tenth of them.
FIRST_INPUT, USUAL_INPUTS = 1_000_000, 10_000
INPUTS = {"answer": 100, "cached_step": 1000, "gpt": 2000, "train": 4000}
MOST_PROGRAMS = 60  # of those that one name may stand for


@dataclass
class Verdict:
    """What came of a wrong program.

    stage, mistake: as the result has them. line: the one that the checker names; on it:
    whether that is one of those that are wrong. named: whether a program with the
    mistake that the checker names does the same everywhere; None if it names none.
    mended: whether the mend that the checker offers, the whole source with it, is
    right; None if it offers none. shown: seconds until the verdict is shown; seconds:
    until the search for a mend has ended, too. placed: whether the line that is shown
    before the search is one of those that are wrong.
    """

    name: str
    task: str
    operators: Sequence[str]
    caught: bool
    stage: str
    mistake: str | None
    line: int | None
    on_it: bool
    named: bool | None
    mended: bool | None
    shown: float
    seconds: float
    placed: bool = False


def judge(wrong: Wrong) -> Verdict:
    start = time.monotonic()
    shown: list[tuple[float, Result]] = []
    result = checked(wrong, lambda one: shown.append((time.monotonic() - start, one)))
    seconds = time.monotonic() - start
    (first, before), *_ = *shown, (seconds, result)
    line, name, mend = result.line, result.mistake, result.mend
    numbers = inputs_for(wrong.task)
    return Verdict(
        name=wrong.name,
        task=wrong.task,
        operators=wrong.operators,
        caught=not result.passed,
        stage=result.stage,
        mistake=name,
        line=line,
        on_it=line in wrong.lines,
        named=is_named(wrong, name, numbers[::10]) if name else None,
        mended=is_right(wrong, mend, numbers) if mend else None,
        shown=round(first, 2),
        seconds=round(seconds, 2),
        placed=before.line in wrong.lines,
    )


def checked(wrong: Wrong, first: Callable[[Result], None] | None = None) -> Result:
    """Check a program in a file; one of the workbook beside the others of it."""
    with tempfile.TemporaryDirectory() as folder:
        if wrong.source.startswith("workbook/"):
            for path in WORKBOOK.glob("*.py"):
                shutil.copy(path, folder)
        path = Path(folder, f"{wrong.task}.py")
        path.write_text(wrong.text, encoding="utf-8")
        return check_file(wrong.task, path, first=first)


def inputs_for(task: str) -> range:
    return range(FIRST_INPUT, FIRST_INPUT + INPUTS.get(task, USUAL_INPUTS))


def is_right(wrong: Wrong, mended: str, numbers: Iterable[int]) -> bool:
    """Whether a mended source gives what is right on the inputs of some numbers."""
    task = TASKS[wrong.task]
    try:
        with time_limit(inputs.SECONDS):
            program = function_of(task, mended)
    except (Exception, OutOfTime):
        return False
    dtype = dtype_for(task, program)
    return any(
        inputs.first_difference(task, program, right, numbers, dtype) is None
        for right in right_programs(task, wrong)
    )


def right_programs(task: Task, wrong: Wrong) -> list[Program]:
    """The program that it was made from, and every form of the right answer."""
    made = [function_of(task, text_of(wrong.source))] if wrong.source else []
    return [*made, task.reference, *task.forms.values()]


def is_named(wrong: Wrong, name: str, numbers: Iterable[int]) -> bool:
    """Whether a mistake of a name does on some inputs what a wrong program does."""
    task = TASKS[wrong.task]
    program = function_of(task, wrong.text)
    dtype = dtype_for(task, program)
    left = list(islice(programs_called(task, name), MOST_PROGRAMS))
    for number in numbers:
        got = inputs.outcome(task, program, number, dtype)
        given = [inputs.outcome(task, each, number, dtype) for each in left]
        left = [
            each
            for each, one in zip(left, given, strict=True)
            if not differ(one, got, task.tolerance)
        ]
        if not left:
            return False
    return True


def programs_called(task: Task, name: str) -> Iterator[Program]:
    """The wrong programs of the catalogue that have a name, in every form."""
    yield from (each.program for each in task.mistakes if each.name == name)
    if task.model is None:
        return
    named = [
        [change for change in changes_of(task) if change.name == part]
        for part in name.split("+")
    ]
    for changes in product(*named):
        for form in task.model.forms_of(list(changes)):
            if mistake := task.model.mistake(*changes, form=form):
                yield mistake.program
