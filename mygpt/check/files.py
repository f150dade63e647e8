"""Check a function in a file, in a process of its own."""

import difflib
import importlib.util
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from mygpt.check.catalogue import TASKS
from mygpt.check.engine import LONGEST, check, failed, one_line, out_of_time, trace_of
from mygpt.check.result import Result
from mygpt.check.run import OutOfTime, time_limit
from mygpt.check.task import Task
from mygpt.check.tasks.answer import answer_task

GRACE = 5.0  # seconds after its limit until a process is killed
# Forked, a check starts at once; elsewhere PyTorch does not survive a fork.
START = "fork" if sys.platform == "linux" else "spawn"


def find_task(name: str, gpt2: str | None = None) -> Task:
    """Give a task by its name; for an unknown one a ValueError that lists them."""
    if name not in TASKS:
        if name.endswith(".py"):
            raise ValueError(
                "expected TASK and FILE; did you mean "
                f"`mygpt check {Path(name).stem} {name}`?"
            )
        near = difflib.get_close_matches(name, TASKS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"no task {name!r}{hint} (see `mygpt check --list`)")
    if gpt2 is None:
        return TASKS[name]
    if name != "answer":
        raise ValueError(f"--gpt2 is for the task answer, not for {name}")
    if not Path(gpt2).is_dir():
        raise ValueError(f"expected a Hugging Face GPT-2 folder, found no {gpt2}")
    return answer_task(gpt2)


def check_file(
    name: str, path: Path, limit: int | float | None = None, gpt2: str | None = None
) -> Result:
    """Check the function of a task's name in a file.

    The file is run in a process of its own; what it prints is in the result.
    """
    task = find_task(name, gpt2)
    if path.is_dir():
        raise ValueError(
            f"{path} is a folder; `mygpt check --all {path}` checks a workbook"
        )
    if not path.is_file():
        raise ValueError(f"expected a Python file, found no {path}")
    if path.suffix != ".py":
        raise ValueError(f"expected a Python file, one that ends in .py; got {path}")
    seconds = limit or task.limit
    context = multiprocessing.get_context(START)
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder, "printed")
        process = context.Process(
            target=in_child, args=(sender, name, path, seconds, gpt2, printed)
        )
        process.start()
        sender.close()
        result = wait_for(process, receiver, task, seconds)
        text = read_text(printed)
    text += result.printed
    result.printed = text if len(text) <= LONGEST else text[:LONGEST] + "…"
    return result


def read_text(path: Path) -> str:
    """Read what was printed, or nothing if the process did not come so far."""
    if not path.is_file():
        return ""
    return path.read_bytes().decode("utf-8", errors="replace")


def wait_for(process: Any, receiver: Any, task: Task, seconds: int | float) -> Result:
    """Wait for a child's result; a child that gives none has been stopped."""
    start = 0 if START == "fork" else 60  # to import PyTorch again
    try:
        if receiver.poll(start + seconds + GRACE):
            found = receiver.recv()
            if isinstance(found, str):
                raise ValueError(found)
            return Result(**found)
        late = True
    except EOFError:
        late = False
    finally:
        if process.is_alive():
            process.join(0.5)
        if process.is_alive():
            process.kill()
        process.join()
    if late:
        return out_of_time(task, seconds)
    return failed(
        task,
        "load",
        f"Your program ended the process itself (exit code {process.exitcode}).",
    )


def in_child(
    sender: Any,
    name: str,
    path: Path,
    seconds: int | float,
    gpt2: str | None,
    printed: Path,
) -> None:
    """Check in this process, print to a file, and send the result."""
    sys.stdout.flush()
    sys.stderr.flush()
    with printed.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    # A parent may have put something else in their places.
    sys.stdout, sys.stderr = map(text_to, (1, 2))
    try:
        found = check_here(find_task(name, gpt2), path, seconds).as_json()
    except (ValueError, OSError, ImportError) as error:
        found = str(error)  # of what the task needs, not of the reader's program
    sys.stdout.flush()
    sys.stderr.flush()
    sender.send(found)
    sender.close()


def text_to(number: int) -> TextIO:
    raw = open(number, "wb", buffering=0, closefd=False)  # noqa: SIM115
    return TextIOWrapper(raw, "utf-8", errors="replace", write_through=True)


def check_here(task: Task, path: Path, seconds: int | float) -> Result:
    """Import a file and check its function."""
    try:
        with time_limit(seconds):
            module = load(path)
    except OutOfTime:
        return out_of_time(task, seconds)
    except BaseException as error:
        # SystemExit and KeyboardInterrupt of the file's own too
        return failed(
            task,
            "load",
            f"{path.name} could not be imported: {one_line(error)}.",
            trace=trace_of(error),
        )
    program = getattr(module, task.name, None)
    if program is None:
        return failed(task, "load", no_function(task, path, module))
    parameters = getattr(module, f"{task.name}_parameters", None)
    if isinstance(program, type) and task.sizes and parameters is None:
        return failed(
            task,
            "load",
            f"{path.name}: {task.name} is a class. Say in the file which of its "
            f"parameters is which weight: {task.name}_parameters = "
            f"{{{task.weights[0]!r}: 'path.of.it', …}}.",
        )
    return check(task, program, parameters, seconds)


def load(path: Path) -> Any:
    """Import a file, which finds its neighbours as if run beside them."""
    path = path.resolve()
    sys.path.insert(0, str(path.parent))
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def no_function(task: Task, path: Path, module: Any) -> str:
    """Say that a function is missing, and which there are."""
    names = [
        name
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", None) == module.__name__
    ]
    near = difflib.get_close_matches(task.name, names, n=1)
    if near:
        return f"{path.name} has no function {task.name}; is it {near[0]}? Rename it."
    has = f"; it has {', '.join(names)}" if names else ""
    return f"{path.name} has no function {task.name}{has}."


def saves(path: Path, pause: float = 0.2) -> Iterator[None]:
    """Yield at once, and after each change of a Python file in the folder."""
    seen = stamps(path.parent)
    yield
    while True:
        time.sleep(pause)
        now = stamps(path.parent)
        if now != seen:
            seen = now
            yield


def stamps(folder: Path) -> dict[Path, tuple[int, int]]:
    found = {}
    for path in folder.glob("*.py"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue  # an editor is just replacing it
        found[path] = (status.st_mtime_ns, status.st_size)
    return found


def as_text(result: Result, trace: bool = False) -> str:
    """Write a result for the terminal; what the program printed stands apart."""
    lines = result.lines()
    if result.trace:
        if trace:
            lines += ["", *result.trace.rstrip().splitlines()]
        else:
            lines += ["", "  (the whole traceback: --traceback)"]
    return "\n".join(lines)


def as_json(results: Result | list[Result]) -> str:
    content = (
        [result.as_json() for result in results]
        if isinstance(results, list)
        else results.as_json()
    )
    return json.dumps(content, indent=2, ensure_ascii=False)
