"""The workbook in a notebook: a task's cell, and how far the reader is."""

import sys
from typing import Any

from mygpt.check.catalogue import IN_ORDER, find_task
from mygpt.check.mends.search import find_mend
from mygpt.check.mends.sentences import is_mendable, with_edit, with_mend
from mygpt.check.mends.source import NoSource, source_of
from mygpt.check.result import Result
from mygpt.check.task import Task
from mygpt.check.workbook.progress import next_task, told_next
from mygpt.support.output import wrapped
from mygpt.workbook.stub import skeleton

LATEST: dict[str, Result] = {}  # what the last check of each task found
TRIES: dict[str, set[str]] = {}  # the sources of each task that failed


class Counted(Result):
    """A result that says, where a notebook shows it, how far the reader is."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"{self!r}\n\n{so_far(self.task)}")


def counted(result: Result) -> Result:
    """Keep a result of this session, the latest last; return it with the count."""
    LATEST.pop(result.task, None)
    LATEST[result.task] = result
    return Counted(**vars(result))


def mended(
    result: Result,
    task: Task,
    program: Any,
    parameters: dict[str, str] | None,
    asked: bool,
) -> Result:
    """Add the line of an edit that makes a program right, in a notebook or if asked.

    The edit itself is told after a second failed try of another source.
    """
    if result:
        TRIES.pop(task.name, None)
    if not is_mendable(result) or not (asked or shell_of_a_notebook()):
        return result
    try:
        text = source_of(program)[0].text.text
    except NoSource:
        return result
    tries = TRIES.setdefault(task.name, set())
    tries.add(text)
    if found := find_mend(
        task, program, result.line, parameters, mistake=result.mistake
    ):
        result = with_mend(result, found)
    return with_edit(result, len(tries), "mend=True", asked)


def so_far(name: str) -> str:
    """Say how many tasks are right in this session, and what follows one that is."""
    right = sum(result.passed for result in LATEST.values())
    lines = [f"{right} of {len(IN_ORDER)} right so far"]
    waiting = next_task(LATEST.values(), after=name)
    if waiting and LATEST[name].passed:
        lines += told_next(waiting, f'check.write("{waiting.name}")')
    return "\n".join(lines)


def cell(name: str) -> str:
    """Return the cell of a task: a function to fill in, and a last line to check it.

    The function's name begins with my_, so that no cell of a chapter is led astray.
    """
    task = find_task(name)
    own = f"my_{task.name}"
    return (
        "import torch\nfrom mygpt import check\n\n\n"
        f"{skeleton(task, own)}\n\ncheck.{task.name}({own})"
    )


def write(name: str | None = None) -> None:
    """Write the cell of a task, to be filled in and run: it checks itself.

    In JupyterLab it takes the place of the cell that asks for it; Colab puts it below.
    Where there is no notebook it is printed. Without a name: the next task that is not
    right, after the one that was checked last. An unknown name is a ValueError.
    """
    last = next(reversed(LATEST), None)
    task = find_task(name) if name else next_task(LATEST.values(), after=last)
    if task is None:
        print(f"All {len(IN_ORDER)} are right.")
        return
    shell = shell_of_a_notebook()
    if shell is None:
        print(f"There is no notebook to write in. Copy this:\n\n{cell(task.name)}")
        return
    number = IN_ORDER.index(task) + 1
    where = f"{task.name}, {number} of {len(IN_ORDER)}, in {task.section}"
    print("\n".join(wrapped(where)))
    below = "google.colab" in sys.modules  # where replacing a cell does nothing
    shell.set_next_input(cell(task.name), replace=not below)
    print(f"Fill in {'the cell below' if below else 'this cell'}, and run it.")
    print(f'Nothing there? Copy what print(check.cell("{task.name}")) shows.')


def shell_of_a_notebook() -> Any:
    """Return IPython's shell if it serves a notebook, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    return shell if hasattr(shell, "kernel") else None
