"""In the process of the reader's program: import a file, check its function."""

import ast
import contextlib
import difflib
import json
import os
import sys
import tokenize
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import torch

from mygpt.check import apart, effects, errors
from mygpt.check.catalogue import find_task
from mygpt.check.classes import first_entry
from mygpt.check.engine import Checking, examine, failed, out_of_time
from mygpt.check.errors import one_line, own_failure, trace_of
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
    "in this task needs one{}."
)
IMPORTING = "importing"  # a file that is there while the reader's is imported
WHILE = " The time went while {} was imported{}."


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
    module = None
    if gpt2 is None:
        torch.set_num_threads(1)  # on so small inputs a second one only waits
    try:
        task = find_task(name, gpt2)
        result, evidence, module = check_here(task, path, seconds, sent)
        found = told(result, evidence)
    except (ValueError, OSError, ImportError) as error:
        found = {"needs": str(error)}  # in the task, not in the reader's program
    except Exception as error:
        found = {"needs": own_failure(error)}
    if not mends or module is None or not is_mendable(result):
        send(found, sent)
        return
    sent.with_name("more").touch()
    send(found, sent)
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    program = getattr(module, name)
    parameters = getattr(module, f"{name}_parameters", None)
    if mend := find_mend(
        task, program, result.line, parameters, mistake=result.mistake
    ):
        send(mend_as_json(mend), sent.with_name("mend"))


def send(found: dict[str, Any], sent: Path) -> None:
    """Write a file that is whole as soon as it is there."""
    half = sent.with_name("half")
    half.write_text(json.dumps(found), encoding="utf-8")
    half.rename(sent)


def text_to(number: int) -> TextIO:
    raw = open(number, "wb", buffering=0, closefd=False)  # noqa: SIM115
    return TextIOWrapper(raw, "utf-8", errors="replace", write_through=True)


def check_here(
    task: Task, path: Path, seconds: int | float, sent: Path
) -> tuple[Result, Evidence | None, ModuleType | None]:
    """Import a file and check its function; return the result, with its evidence.

    Where the result is about the function alone, return its module too.
    """
    before, path = effects.functions(), path.resolve()
    importing = sent.with_name(IMPORTING)
    importing.touch()
    try:
        with time_limit(seconds):
            twice = definitions(source_of(path), task.name)
            with effects.watched_import(path.name) as (serious, known):
                module = load(path)
    except OutOfTime as error:
        return late_import(task, path, seconds, error), None, None
    except Unusable as error:
        return failed(task, "load", str(error)), None, None
    except BaseException as error:
        # also a SystemExit or KeyboardInterrupt that the file itself raises
        ends = isinstance(error, SystemExit)
        what = (
            f"it ends Python itself with {one_line(error)}" if ends else one_line(error)
        )
        text = f"{path.name} could not be imported: {what}."
        return failed(task, "load", text, trace=trace_of(error)), None, None
    importing.unlink()
    if serious:
        change, place = serious[0]
        text = f"{path.name} {change} when it is imported{written(place)}."
        return failed(task, "effect", text, **line_of(place, path)), None, None
    evidence = None
    try:
        result, checking = check_module(task, path, module, seconds)
        if result.passed and checking:
            evidence = evidence_of(checking)
    except Exception:
        if not effects.replaced(before):
            raise  # ours
        result = failed(task, "effect", "")
    place = apart.FORKS[0] if apart.FORKS else None
    forked = apart.FORKS and FORKED.format(written(place))
    if trouble := effects.replaced(before) or forked:
        line = line_of(place, path)
        result = failed(task, "effect", trouble, printed=result.printed, **line)
    if len(twice) > 1:
        lines = ", ".join(map(str, twice[:-1])) + f" and {twice[-1]}"
        known.append(
            f"{path.name} defines {task.name} {len(twice)} times, in lines {lines}; "
            "Python keeps the last."
        )
    result.hints += known
    return result, evidence, None if trouble else module


def late_import(
    task: Task, path: Path, seconds: int | float, error: OutOfTime
) -> Result:
    """Tell that the time went before any function was checked, and in which line."""
    frames = errors.readers_frames(error)
    outside = [frame for frame in frames if frame.name == "<module>"][-1:]
    place = (outside[0].filename, outside[0].lineno or 0) if outside else None
    when = WHILE.format(path.name, written(place))
    return out_of_time(task, seconds, error, when, **line_of(place, path))


def written(place: effects.Place | None) -> str:
    return f" ({errors.place(*place)})" if place else ""


def line_of(place: effects.Place | None, path: Path) -> dict[str, Any]:
    """The fields of a result that name a line, of the reader's file or of another."""
    if place is None:
        return {}
    other = Path(place[0])
    return {"line": place[1], "file": "" if other == path else other.name}


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


class Beside:
    """Find the files of a folder for the reader's files, and for no library."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> ModuleSpec | None:
        if path is not None or name in sys.stdlib_module_names or not is_asked():
            return None
        spec = PathFinder.find_spec(name, [self.folder])
        # a folder without __init__.py comes last
        whole = spec and (spec.loader or not PathFinder.find_spec(name))
        return spec if whole else None


def is_asked() -> bool:
    """Whether the import that is going on stands in a file of the reader's."""
    frame = sys._getframe(2)
    while not (own := errors.is_readers(file := frame.f_code.co_filename)):
        if frame.f_back is None or "importlib" not in file:
            break
        frame = frame.f_back
    return own


def load(path: Path) -> ModuleType:
    """Import a file as if it were run in its folder; its name takes no library's."""
    sys.path[:] = map(os.path.abspath, sys.path)
    sys.meta_path.insert(0, Beside(path.parent))
    sys.dont_write_bytecode = True
    os.chdir(path.parent)
    name = path.stem.replace(".", "_")  # a dot would ask for a package
    found = PathFinder.find_spec(name)
    library = found and found.origin and not errors.is_readers(found.origin)
    if name in sys.modules or name in sys.stdlib_module_names or library:
        name = f"your {name}"
    spec = spec_from_file_location(name, path)
    module = sys.modules[name] = module_from_spec(spec)
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
