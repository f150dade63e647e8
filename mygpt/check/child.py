"""In the process of the reader's program: import a file, check its function."""

import ast
import contextlib
import difflib
import importlib.util
import json
import os
import sys
import tokenize
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from mygpt.check import apart, effects
from mygpt.check.catalogue import find_task
from mygpt.check.classes import first_entry
from mygpt.check.engine import Checking, examine, failed, out_of_time
from mygpt.check.errors import one_line, trace_of
from mygpt.check.evidence import Evidence, evidence_of
from mygpt.check.evidence import as_json as evidence_as_json
from mygpt.check.mends.search import find_mend
from mygpt.check.mends.tell import as_json as mend_as_json
from mygpt.check.mends.tell import is_mendable
from mygpt.check.result import Result
from mygpt.check.run import OutOfTime, Unusable, time_limit
from mygpt.check.task import Task

FORKED = (
    "Your program copies its process (os.fork); each copy was ended at once. Nothing "
    "in this task needs one."
)


def in_child(
    name: str,
    path: Path,
    seconds: int | float,
    gpt2: str | None,
    printed: Path,
    mends: bool,
    sent: Path,
) -> None:
    """Check, print to one file, and write what was found to another.

    If `mends`, what makes a wrong program right follows in a third, if it is found.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with printed.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    # A parent may have put something else in their places.
    sys.stdout, sys.stderr = map(text_to, (1, 2))
    before = effects.functions()
    try:
        task = find_task(name, gpt2)
        found = check_here(task, path, seconds)
    except (ValueError, OSError, ImportError) as error:
        found = {"needs": str(error)}  # in the task, not in the reader's program
    sys.stdout.flush()
    sys.stderr.flush()
    program = found.get("result") and wrong_program(task, path, found["result"])
    if not mends or not program or effects.replaced(before):
        send(found, sent)
        return
    sent.with_name("more").touch()
    send(found, sent)
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    parameters = getattr(sys.modules[path.stem], f"{name}_parameters", None)
    line = found["result"]["line"]
    mistake = found["result"]["mistake"]
    if mend := find_mend(task, program, line, parameters, mistake=mistake):
        send(mend_as_json(mend), sent.with_name("mend"))


def send(found: dict[str, Any], sent: Path) -> None:
    """Write a file that is whole as soon as it is there."""
    half = sent.with_name("half")
    half.write_text(json.dumps(found), encoding="utf-8")
    half.rename(sent)


def wrong_program(task: Task, path: Path, result: dict[str, Any]) -> Any:
    """Return the program of a file that was imported, if a mend may make it right."""
    if not is_mendable(Result(**result)):
        return None
    return getattr(sys.modules.get(path.stem), task.name, None)


def text_to(number: int) -> TextIO:
    raw = open(number, "wb", buffering=0, closefd=False)  # noqa: SIM115
    return TextIOWrapper(raw, "utf-8", errors="replace", write_through=True)


def check_here(task: Task, path: Path, seconds: int | float) -> dict[str, Any]:
    """Import a file and check its function; return the result, with its evidence."""
    before = effects.functions()
    try:
        with time_limit(seconds):
            twice = definitions(source_of(path), task.name)
            with effects.watched_import(path.name) as (serious, known):
                module = load(path)
    except OutOfTime:
        return told(out_of_time(task, seconds))
    except Unusable as error:
        return told(failed(task, "load", str(error)))
    except BaseException as error:
        # also a SystemExit or KeyboardInterrupt that the file itself raises
        ends = isinstance(error, SystemExit)
        what = (
            f"it ends Python itself with {one_line(error)}" if ends else one_line(error)
        )
        text = f"{path.name} could not be imported: {what}."
        return told(failed(task, "load", text, trace=trace_of(error)))
    try:
        result, checking = check_module(task, path, module, seconds)
    except Exception:
        if not effects.replaced(before):
            raise  # ours
        result, checking = failed(task, "effect", ""), None
    troubles = [effects.replaced(before), *serious, FORKED if apart.FORKS else None]
    if trouble := next(filter(None, troubles), None):
        result = failed(task, "effect", trouble, printed=result.printed)
    if len(twice) > 1:
        lines = ", ".join(map(str, twice[:-1])) + f" and {twice[-1]}"
        known.append(
            f"{path.name} defines {task.name} {len(twice)} times, in lines {lines}; "
            "Python keeps the last."
        )
    result.hints += known
    evidence = evidence_of(checking) if result.passed and checking else None
    return told(result, evidence)


def told(result: Result, evidence: Evidence | None = None) -> dict[str, Any]:
    return {
        "result": result.as_json(),
        "evidence": evidence and evidence_as_json(evidence),
    }


def check_module(
    task: Task, path: Path, module: Any, seconds: int | float
) -> tuple[Result, Checking | None]:
    """Check the function, or the class, of a task's name in a module."""
    program = getattr(module, task.name, None)
    if program is None:
        return failed(task, "load", no_function(task, path, module)), None
    parameters = getattr(module, f"{task.name}_parameters", None)
    if isinstance(program, type) and task.sizes and parameters is None:
        text = (
            f"{path.name}: {task.name} is a class. Say in the file which of its "
            f"parameters is which weight: {task.name}_parameters = "
            f"{{{first_entry(task)}, …}}."
        )
        return failed(task, "load", text), None
    return examine(task, program, parameters, seconds)


def source_of(path: Path) -> str:
    """Read a file as Python would; raise Unusable where Python would not read it."""
    content = path.read_bytes()
    with contextlib.suppress(SyntaxError):  # which importing it explains better
        encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
        with contextlib.suppress(UnicodeDecodeError):
            return content.decode(encoding)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise Unusable(
            f"{path.name} is not in UTF-8 (line {line} has the byte "
            f"{content[error.start]:#x}), so Python does not run it. Save it as UTF-8."
        ) from None


def definitions(source: str, name: str) -> list[int]:
    """The lines in which a module defines a name as a function or a class."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return []  # which importing it explains better
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [one.lineno for one in body if isinstance(one, kinds) and one.name == name]


def load(path: Path) -> Any:
    """Import a file; it finds the files beside it as if it were run there."""
    path = path.resolve()
    sys.path.insert(0, str(path.parent))
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def no_function(task: Task, path: Path, module: Any) -> str:
    """Return a sentence: the function is missing, and these are there."""
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
