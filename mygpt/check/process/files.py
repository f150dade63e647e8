"""Check a function in a file, in a process of its own."""

import errno
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mygpt.check.catalogue import find_task
from mygpt.check.mends.sentences import with_mend
from mygpt.check.order import LONGEST, time_over
from mygpt.check.process.child import IMPORTING, WHILE, in_child
from mygpt.check.process.supervisor import MEMORY, Job, never, supervised
from mygpt.check.process.transport import INCOMPLETE, verdict
from mygpt.check.result import Result, failed
from mygpt.check.task import Task
from mygpt.check.workbook.progress import BEGIN, NOT_BEGUN, with_stub_named
from mygpt.workbook.stub import is_untouched

OPTIONAL = {"mistake": str | None, "mend": str | None, "line": int | None}
# A warning of PyTorch's own, with the time at which it came.
LOGGED = re.compile(r"^\[[A-Z]\d{4} [\d:.]+ .*\n?", re.MULTILINE)
SEARCH = 120.0  # seconds after which the slowest machine gives up the search
LOOP = "a link that leads back to itself"


def check_file(
    name: str,
    path: Path,
    limit: int | float | None = None,
    gpt2: str | None = None,
    mends: bool = True,
    first: Callable[[Result], None] | None = None,
    over: Callable[[], bool] | None = None,
) -> Result:
    """Check the function of a task's name in a file.

    The file is run in a process of its own, and what it computed is judged outside
    that process; what it prints is in the result. If `mends`, an edit is searched that
    makes a wrong program right, until one is found or it is `over`; `first` gets the
    result before that.
    """
    task = find_task(name, gpt2)
    if loops(path):
        raise ValueError(f"{path} is {LOOP}")
    if path.is_dir():
        raise ValueError(
            f"{path} is a folder; `mygpt check --all {path}` checks a workbook"
        )
    if not path.is_file():
        raise ValueError(f"expected a Python file, found no {path}")
    if path.suffix != ".py":
        raise ValueError(f"expected a Python file, one that ends in .py; got {path}")
    if is_untouched(task, path):
        return failed(task, BEGIN, NOT_BEGUN)
    gpt2 = gpt2 and str(Path(gpt2).absolute())
    seconds = limit or task.limit
    with tempfile.TemporaryDirectory() as folder:
        printed, mend = Path(folder, "printed"), Path(folder, "mend")

        def whole(result: Result) -> Result:
            result = with_stub_named(result)
            text = read_text(printed) + result.printed
            result.printed = text if len(text) <= LONGEST else text[:LONGEST] + "…"
            return result

        job = Job(
            partial(in_child, name, path, seconds, gpt2, printed, mends),
            partial(conclude, task, seconds, Path(folder)),
            Path(folder),
            seconds,
            MEMORY + 6 * size_of(gpt2),
            SEARCH,
            over or never,
        )
        result = supervised(job, first and (lambda found: first(whole(found))))
        if result is None:
            text = "Your program ended the process that checks it."
            result = failed(task, "load", text)
        result = whole(result)
        return with_mend(result, mend.read_bytes()) if mend.is_file() else result


def loops(path: Path) -> bool:
    """Whether a path is a link that never ends."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def size_of(folder: str | None) -> int:
    """The bytes of a folder's files; 0 if there is no folder."""
    files = Path(folder).iterdir() if folder else ()
    return sum(path.stat().st_size for path in files if path.is_file())


def read_text(path: Path) -> str:
    """Read the beginning of a file; nothing if there is no file."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        text = file.read(4 * LONGEST).decode("utf-8", errors="replace")
    return LOGGED.sub("", text)


def conclude(
    task: Task,
    seconds: int | float,
    folder: Path,
    content: bytes | None,
    late: bool,
    code: int | None,
) -> Result:
    """Make a result of the findings of a process; right only with its evidence."""
    if late:
        imports = (folder / IMPORTING).is_file()
        when = WHILE.format("the file", "") if imports else ""
        return failed(task, "time", time_over(seconds, when=when))
    if content is None:
        return failed(
            task, "load", f"Your program ended the process itself (exit code {code})."
        )
    try:
        found = json.loads(content)
        needs = found.get("needs")
        result = failed(task, "", "") if needs else read_result(found["result"])
        judged = verdict(task, found["evidence"]) if result.passed else result
    except Exception:
        return failed(task, "load", INCOMPLETE)
    if needs:  # the task could not be checked at all
        raise ValueError(needs)
    if result.passed:
        judged.hints, judged.printed = judged.hints + result.hints, result.printed
    return judged


def read_result(found: dict[str, Any]) -> Result:
    """Read a result; a TypeError if it is not one."""
    result, plain = Result(**found), Result("", False)
    for name, value in vars(result).items():
        usual = getattr(plain, name)
        kinds = OPTIONAL.get(name, type(usual))
        lines = value if isinstance(value, list) else []
        if not isinstance(value, kinds) or not all(isinstance(s, str) for s in lines):
            raise TypeError(f"expected {name} of another type, got {value!r}")
    result.judged = "inside"
    return result


def saves(path: Path, pause: float = 0.2) -> Iterator[Callable[[], bool]]:
    """Yield at once, and after each change of a Python file in the folder.

    Each value is a function that tells whether a file has changed since.
    """
    seen = stamps(path.parent)

    def changed() -> bool:
        return stamps(path.parent) != seen

    yield changed
    while True:
        time.sleep(pause)
        if changed():
            seen = stamps(path.parent)
            yield changed


def stamps(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return the time and size of each Python file of a folder."""
    found = {}
    for path in folder.glob("*.py"):
        try:
            status = path.stat()
        except OSError:
            continue  # an editor is just replacing it, or a link leads nowhere
        found[path] = (status.st_mtime_ns, status.st_size)
    return found


def as_text(result: Result, trace: bool = False) -> str:
    """Write a result for the terminal; the output of the program stands apart."""
    more = result.trace.rstrip() if trace else "  (the whole traceback: --traceback)"
    return "\n".join([*result.lines(), *(["", more] if result.trace else [])])


def as_json(results: Result | list[Result]) -> str:
    """Write one result, or several, as JSON for a grader."""
    # ASCII: right wherever it is read
    return json.dumps(results, indent=2, default=Result.as_json)
