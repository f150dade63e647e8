"""The sets of wrong programs, with what is wrong in each."""

import ast
import json
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from mygpt.check.catalogue import TASKS
from mygpt.check.task import Program, Task

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "check" / "mends"
WORKBOOK = ROOT / "tests" / "check" / "workbook"
FOLDERS = {"right": ROOT / "tests" / "check" / "right", "workbook": WORKBOOK}
HELD = ("held", "written_held")
SETS = ("open", "held", "pairs", "written", "written_held")


@dataclass(frozen=True)
class StoredEdit:
    """A change of a right source: at a line from 1 and a column from 0, in characters.

    operator: the name that the tool gives to what made it.
    """

    line: int
    column: int
    old: str
    new: str
    operator: str


@dataclass(frozen=True)
class Wrong:
    """A wrong program.

    lines: of its text, where it is wrong; right: what should stand there.
    operators: that made it. source: name of the right program; empty if there is none.
    """

    name: str
    task: str
    text: str
    lines: tuple[int, ...]
    right: tuple[str, ...]
    operators: tuple[str, ...] = ()
    source: str = ""


def family(operator: str) -> str:
    """Put together what replaces one kind of operator by another of its kind."""
    kind = re.match(r"Replace(Binary|Comparison|Unary)Operator", operator)
    return kind[0] if kind else operator


def task_of(source: str) -> str:
    """The task of a right program: the longest name with which its file's begins."""
    stem = source.partition("/")[2]
    return max((name for name in TASKS if f"{stem}_".startswith(f"{name}_")), key=len)


def right_sources() -> list[str]:
    """The names of the right programs, such as right/top_k_loop."""
    return [
        f"{folder}/{path.stem}"
        for folder, place in FOLDERS.items()
        for path in sorted(place.rglob("*.py"))
    ]


@cache
def text_of(source: str) -> str:
    folder, _, stem = source.partition("/")
    return next(FOLDERS[folder].rglob(f"{stem}.py")).read_text("utf-8")


def load(set_name: str) -> list[Wrong]:
    """The programs of a set; none if its file is not there."""
    path = FOLDER / f"{set_name}.jsonl"
    if not path.exists():
        return []
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [wrong_of(row) for row in rows]


def wrong_of(row: dict[str, Any]) -> Wrong:
    """Read a row: edits of a right source, or a whole text with what is wrong."""
    if "edits" in row:
        edits = [StoredEdit(**each) for each in row["edits"]]
        return edited(row["name"], row["source"], edits)
    lines, right = tuple(row["lines"]), tuple(row["right"])
    return Wrong(row["name"], row["task"], row["text"], lines, right)


def edited(name: str, source: str, edits: list[StoredEdit]) -> Wrong:
    """Apply edits to a right source; a ValueError where their old text is not."""
    rows = text_of(source).splitlines(keepends=True)
    text, shift, lines, right = "".join(rows), 0, [], []
    moved = 0
    for edit in sorted(edits, key=lambda each: (each.line, each.column)):
        start = sum(map(len, rows[: edit.line - 1])) + edit.column + moved
        end = start + len(edit.old)
        if text[start:end] != edit.old:
            raise ValueError(
                f"expected {edit.old!r} in line {edit.line} of {source}, "
                f"got {text[start:end]!r}"
            )
        text = text[:start] + edit.new + text[end:]
        moved += len(edit.new) - len(edit.old)
        spanned = edit.old.count("\n")
        lines.append(edit.line + shift)
        right.append("".join(rows[edit.line - 1 : edit.line + spanned]).rstrip("\n"))
        shift += edit.new.count("\n") - spanned
    task = task_of(source)
    operators = tuple(each.operator for each in edits)
    return Wrong(name, task, text, tuple(lines), tuple(right), operators, source)


def function_of(task: Task, text: str) -> Program:
    """Run a source and return the function of the task's name.

    It finds the files of the workbook beside it.
    """
    namespace: dict[str, Any] = {"__name__": task.name}
    with beside_the_workbook():
        exec(compiled(text, f"{task.name}.py"), namespace)
    return namespace[task.name]


@contextmanager
def beside_the_workbook() -> Iterator[None]:
    before = set(sys.modules)
    sys.path.insert(0, str(WORKBOOK))
    try:
        yield
    finally:
        sys.path.remove(str(WORKBOOK))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).parent == WORKBOOK:
                del sys.modules[name]


def compiled(text: str, file: str = "program.py") -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as of `is` with a number
        return compile(text, file, "exec")


def is_program(text: str) -> bool:
    try:
        compiled(text)
    except (SyntaxError, ValueError):
        return False
    return True


def same_syntax(one: str, other: str) -> bool:
    """Whether two texts are the same program but for spaces and comments."""
    if not (is_program(one) and is_program(other)):
        return False
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
