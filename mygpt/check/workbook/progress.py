"""How far a reader is: what is right, what is not yet, and which task is next."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from mygpt.check.catalogue import IN_ORDER, TASKS
from mygpt.check.result import Result
from mygpt.check.task import Task
from mygpt.support.output import wrapped
from mygpt.workbook.asked import CHAPTERS, asked_in

BEGIN = "begin"  # the stage of a task that is not begun
NOT_BEGUN = "Your program goes where the line `raise NotImplementedError` stands."
MISSING = "there is no"
# The end of a traceback: the line of a stub, and the function in which it stands.
STUB = re.compile(
    r", in (\w+)\n\s+raise NotImplementedError\b.*\n\s*NotImplementedError"
)


def tasks_of(chapter: str | None) -> Sequence[Task]:
    """Return the tasks of a chapter, named by its number; all of them for None."""
    return [TASKS[asked.name] for asked in asked_in(chapter)]


def with_stub_named(result: Result) -> Result:
    """Say of a stub that it is not begun, and of a program that calls one, which."""
    stub = STUB.search(result.trace) if result.stage == "run" else None
    if not stub:
        return result
    if result.trace.count("\n  File ") == 1:
        return replace(result, stage=BEGIN, message=NOT_BEGUN, input=[], trace="")
    text = f"It calls {stub[1]}, which is not begun."
    return replace(result, message=text, input=[])


def next_task(results: Iterable[Result], after: str | None = None) -> Task | None:
    """Return the first task that is not right, looking first behind a task's name."""
    right = {result.task for result in results if result.passed}
    start = 0 if after is None else IN_ORDER.index(TASKS[after]) + 1
    ahead = [*IN_ORDER[start:], *IN_ORDER[:start]]
    return next((task for task in ahead if task.name not in right), None)


def by_chapter(results: Iterable[Result]) -> Iterator[str]:
    """Write a table of each chapter as soon as its results are there."""
    width = max(map(len, TASKS))
    title_width = max(map(len, CHAPTERS.values()))
    for chapter, group in groupby(results, lambda one: TASKS[one.task].chapter):
        found = list(group)
        right = sum(result.passed for result in found)
        lines = [f"{CHAPTERS[chapter]:{title_width}}  {right} of {len(found)}"]
        lines += [f"  {result.task:{width}}  {state(result)}" for result in found]
        yield "\n".join([*lines, ""])


def summary(results: Sequence[Result], command: Callable[[str], str]) -> str:
    """Count what is right; say what is next, and by which command it is checked."""
    right = sum(result.passed for result in results)
    lines = [f"{right} of {len(results)} right"]
    if not all(results):
        waiting = next(TASKS[result.task] for result in results if not result)
        lines += told_next(waiting, command(waiting.name))
    elif results and results[-1].task == IN_ORDER[-1].name:
        lines += [results[-1].message.partition("\n")[0]]  # the reward
    return "\n".join(lines)


def told_next(task: Task, command: str) -> list[str]:
    """Say what is next, where the book explains it, and how to go on."""
    return [*wrapped(f"{task.name}, in {task.section}", "next: "), f"      {command}"]


def state(result: Result) -> str:
    """Say in a few words how far a task is."""
    if result.passed:
        return "right"
    if result.stage == BEGIN:
        return "not begun"
    if result.message.startswith(MISSING):
        return result.message
    text = result.message.removeprefix("This is what comes out when ")
    return f"not yet: {text if len(text) <= 60 else text[:59] + '…'}"
