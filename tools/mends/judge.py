"""Check one wrong program as a reader does, and judge what the checker says of it."""

import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mygpt.check.catalogue import TASKS
from mygpt.check.files import check_file
from mygpt.check.result import Result
from mygpt.check.run import OutOfTime, time_limit
from mygpt.check.task import Program, Task
from tools.mends import inputs
from tools.mends.programs import WORKBOOK, Wrong, function_of, text_of

# A mend must be right on inputs that neither the checker nor the making of the sets
# has: on 10,000, and on fewer where one takes milliseconds.
FIRST_INPUT, USUAL_INPUTS = 1_000_000, 10_000
INPUTS = {"answer": 100, "cached_step": 1000, "gpt": 2000, "train": 4000}


@dataclass
class Verdict:
    """What came of a wrong program.

    stage, mistake: as the result has them. line: the one that the checker names; on it:
    whether that is one of those that are wrong. mended: whether the mend that the
    checker offers, the whole source with it, is right; None if it offers none.
    """

    name: str
    task: str
    operators: Sequence[str]
    caught: bool
    stage: str
    mistake: str | None
    line: int | None
    on_it: bool
    mended: bool | None
    seconds: float


def judge(wrong: Wrong) -> Verdict:
    start = time.monotonic()
    result = checked(wrong)
    line, mend = getattr(result, "line", None), getattr(result, "mend", None)
    return Verdict(
        name=wrong.name,
        task=wrong.task,
        operators=wrong.operators,
        caught=not result.passed,
        stage=result.stage,
        mistake=result.mistake,
        line=line,
        on_it=line in wrong.lines,
        mended=is_right(wrong, mend, inputs_for(wrong.task)) if mend else None,
        seconds=round(time.monotonic() - start, 2),
    )


def checked(wrong: Wrong) -> Result:
    """Check a program in a file; one of the workbook beside the others of it."""
    with tempfile.TemporaryDirectory() as folder:
        if wrong.source.startswith("workbook/"):
            for path in WORKBOOK.glob("*.py"):
                shutil.copy(path, folder)
        path = Path(folder, f"{wrong.task}.py")
        path.write_text(wrong.text, encoding="utf-8")
        return check_file(wrong.task, path)


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
    return any(
        inputs.equivalent(task, program, right, numbers)
        for right in right_programs(task, wrong)
    )


def right_programs(task: Task, wrong: Wrong) -> list[Program]:
    """The program that it was made from, or else every form of the right answer."""
    if wrong.source:
        return [function_of(task, text_of(wrong.source))]
    return [task.reference, *task.forms.values()]
