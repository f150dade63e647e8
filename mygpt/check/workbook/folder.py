"""Check a workbook: the tasks of a folder, in the order of the chapters."""

from collections.abc import Iterator
from pathlib import Path

from mygpt.check.catalogue import IN_ORDER
from mygpt.check.process.files import LOOP, check_file, loops
from mygpt.check.result import Result, failed
from mygpt.check.task import Task
from mygpt.check.workbook.progress import MISSING, tasks_of


def check_workbook(
    folder: str | Path, limit: int | float | None = None, chapter: str | None = None
) -> Iterator[Result]:
    """Check the tasks of a folder, or of one chapter, one by one in the book's order.

    A ValueError if there is no such folder or chapter, or no file of the workbook.
    """
    tasks, folder = tasks_of(chapter), Path(folder)
    if loops(folder):
        raise ValueError(f"{folder} is {LOOP}")
    if folder.is_file():
        raise ValueError(f"{folder} is a file; expected a folder")
    if not folder.is_dir():
        raise ValueError(f"expected a folder, found no {folder}")
    files = {task: folder / f"{task.name}.py" for task in IN_ORDER}
    if not any(path.is_file() or loops(path) for path in files.values()):
        where = "this folder" if folder == Path() else folder
        raise ValueError(
            f"{where} has none of the workbook's files; `mygpt workbook FOLDER` "
            "writes them"
        )
    return (check_found(task, files[task], limit) for task in tasks)


def check_found(task: Task, path: Path, limit: int | float | None) -> Result:
    """Check a file of a workbook that may be missing."""
    if loops(path):
        return failed(task, "load", f"{path.name} is {LOOP}")
    if not path.is_file():
        return failed(task, "load", f"{MISSING} {path.name}")
    try:
        return check_file(task.name, path, limit, mends=False)
    except ValueError as error:  # the others are checked all the same
        return failed(task, "load", f"The check could not be made: {error}")
