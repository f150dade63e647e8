"""In the process of the reader's program: import a file, check its function."""

import ast
import contextlib
import difflib
import gc
import json
import os
import sys
import tokenize
from dataclasses import replace
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import torch

from mygpt.check import side_effects
from mygpt.check.catalogue import find_task
from mygpt.check.classes import first_entry
from mygpt.check.mends.search import find_mend
from mygpt.check.mends.sentences import as_json as mend_as_json
from mygpt.check.mends.sentences import is_mendable
from mygpt.check.order import examine, time_over
from mygpt.check.process import errors, supervisor
from mygpt.check.process.errors import one_line, own_failure, trace_of
from mygpt.check.process.run import OutOfTime, Unusable, time_limit
from mygpt.check.process.transport import evidence_of
from mygpt.check.result import NotRight, Result, failed
from mygpt.check.syntax import passes_on, tree_of
from mygpt.check.task import Task
from mygpt.check.values import Submission

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
    """Check a file; redirect its output to `printed`, and send the findings to `sent`.

    If `mends`, an edit that makes a wrong program right follows in a third file.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with printed.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    # A parent may have put something else in their places.
    sys.stdout, sys.stderr = map(text_to, (1, 2))
    module = None
    gc.freeze()  # what is imported stays, and is not looked through
    if gpt2 is None:
        torch.set_num_threads(1)  # on so small inputs a second one only waits
    try:
        task = find_task(name, gpt2)
        result, evidence, module = check_here(task, path, seconds, sent)
        found = told(without_guess(result, path), evidence)
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


def without_guess(result: Result, path: Path) -> Result:
    """Leave out the line of a named mistake where it only passes values on."""
    guess = result.mistake and result.line and not (result.sure or result.file)
    if guess and passes_on(tree_of(str(path)), result.line):
        return replace(result, line=None, where="")
    return result


def send(found: dict[str, Any], sent: Path) -> None:
    """Write a file atomically: it is complete as soon as it exists."""
    half = sent.with_name("half")
    half.write_text(json.dumps(found), encoding="utf-8")
    half.rename(sent)


def text_to(number: int) -> TextIO:
    """Return a text stream that writes to a file descriptor at once."""
    raw = open(number, "wb", buffering=0, closefd=False)  # noqa: SIM115
    return TextIOWrapper(raw, "utf-8", errors="replace", write_through=True)


def check_here(
    task: Task, path: Path, seconds: int | float, sent: Path
) -> tuple[Result, Any, ModuleType | None]:
    """Import a file and check its function; return the result, with its evidence.

    Where the result is about the function alone, return its module too.
    """
    before, path, evidence = side_effects.functions(), path.resolve(), None
    files = side_effects.Written()
    try:
        module, known = imported(task, path, seconds, sent.with_name(IMPORTING))
    except NotRight as found:
        return found.result, None, None
    try:
        result, submission = check_module(task, path, module, seconds)
        if result.passed and submission:
            evidence = evidence_of(submission)
    except Exception:
        if not side_effects.replaced(before):
            raise  # ours
        result = failed(task, "effect", "")
    place = supervisor.FORKS[0] if supervisor.FORKS else None
    forked = supervisor.FORKS and FORKED.format(written(place))
    if trouble := side_effects.replaced(before) or forked:
        place = place or side_effects.place_of_replacing(before, str(path))
        line = line_of(place, path)
        if place and not forked:
            trouble = f"{trouble} It does so in {errors.place(*place)}."
        result = failed(task, "effect", trouble, printed=result.printed, **line)
    result.hints += known + files.hints()
    return result, evidence, None if trouble else module


def imported(
    task: Task, path: Path, seconds: int | float, importing: Path
) -> tuple[ModuleType, list[str]]:
    """Import a file; return its module, and hints for its author.

    Raise NotRight for an import that fails or that has a serious side effect.
    """
    importing.touch()
    try:
        with time_limit(seconds):
            lines = definitions(source_of(path), task.name)
            with side_effects.watched_import(path.name) as (serious, known):
                module = load(path)
    except OutOfTime as error:
        place = importing_line(error)
        when = WHILE.format(path.name, written(place))
        text = time_over(seconds, error, when)
        raise NotRight(task, "time", text, **line_of(place, path)) from None
    except Unusable as error:
        raise NotRight(task, "load", str(error)) from None
    except BaseException as error:
        # also a SystemExit or KeyboardInterrupt that the file itself raises
        ends = "it ends Python itself with " if isinstance(error, SystemExit) else ""
        text = f"{path.name} could not be imported: {ends}{one_line(error)}."
        frames = errors.readers_frames(error)
        place = (frames[-1].filename, frames[-1].lineno or 0) if frames else None
        known = {"trace": trace_of(error), **line_of(place, path)}
        raise NotRight(task, "load", text, **known) from None
    importing.unlink()
    for change, place in serious:
        text = f"{path.name} {change} when it is imported{written(place)}."
        raise NotRight(task, "effect", text, **line_of(place, path))
    if len(lines) > 1:
        where = f"{', '.join(map(str, lines[:-1]))} and {lines[-1]}"
        known.append(
            f"{path.name} defines {task.name} {len(lines)} times, in lines {where}; "
            "Python keeps the last."
        )
    return module, known


def importing_line(error: OutOfTime) -> side_effects.Place | None:
    """Return the file and line outside functions that an import was stopped in."""
    frames = [f for f in errors.readers_frames(error) if f.name == "<module>"]
    return (frames[-1].filename, frames[-1].lineno or 0) if frames else None


def written(place: side_effects.Place | None) -> str:
    """Write a place in brackets; nothing if there is none."""
    return f" ({errors.place(*place)})" if place else ""


def line_of(place: side_effects.Place | None, path: Path) -> dict[str, Any]:
    """The fields of a result that name a line, of the reader's file or of another."""
    if place is None:
        return {}
    other = Path(place[0])
    return {"line": place[1], "file": "" if other == path else other.name}


def told(result: Result, evidence: Any = None) -> dict[str, Any]:
    """Return the result and the evidence as the JSON that is sent."""
    return {"result": result.as_json(), "evidence": evidence}


def check_module(
    task: Task, path: Path, module: Any, seconds: int | float
) -> tuple[Result, Submission | None]:
    """Check the function, or the class, of a task's name in a module."""
    if not hasattr(module, task.name):
        plain = task.name.replace("_", "")
        named = [one for one in vars(module) if one.replace("_", "").lower() == plain]
        if len(named) != 1 or not isinstance(getattr(module, named[0]), type):
            return failed(task, "load", no_function(task, path, module)), None
        setattr(module, task.name, getattr(module, named[0]))  # LayerNorm, say
    program = getattr(module, task.name)
    parameters = getattr(module, f"{task.name}_parameters", None)
    if isinstance(program, type) and task.sizes and parameters is None:
        text = (
            f"{path.name}: {program.__name__} is a class. Say in the file which of its "
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
        """Return the module of a file in the folder, if the reader's code asks."""
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
    """Say that the function is missing, and which functions the file has."""
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
