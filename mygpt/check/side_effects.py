"""What a file changes for everybody: at its import, and in functions of others."""

import ast
import builtins
import math
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.nn.functional as F

from mygpt.check.process import errors
from mygpt.check.process.errors import is_readers, readers_frame
from mygpt.check.process.run import RANDOM, STATE, change_of, kept_state, state
from mygpt.check.syntax import tree_of

OWNERS = (builtins, math, random, torch, torch.Tensor, torch.autograd, F)
WRITES = set("wax+")  # in the mode of a file that is opened
CHECKER = "mygpt.check"
LINES = 20_000  # of an import, and calls in it, that are followed
Place = tuple[str, int]


def functions() -> dict[str, Any]:
    """Return the functions that a check relies on, by their full names."""
    checker = [m for name, m in sys.modules.items() if name.startswith(CHECKER)]
    return {
        name: value
        for owner in (*OWNERS, *checker)
        for name, value in members(owner).items()
        if callable(value)
    }


def members(owner: Any) -> dict[str, Any]:
    """Return the members of a module, or of a class with those that it inherits."""
    name, kinds = owner.__name__, [owner]
    if isinstance(owner, type):
        name, kinds = f"{owner.__module__}.{name}", owner.__mro__[::-1]
    return {f"{name}.{n}": value for kind in kinds for n, value in vars(kind).items()}


def replaced(before: dict[str, Any]) -> str | None:
    """Return a sentence that names the replaced functions, or None.

    PyTorch itself wraps some of its own when parts of it are imported late.
    """
    now = functions()
    names = [
        name
        for name, value in before.items()
        if now.get(name) is not value
        and not str(getattr(now.get(name), "__module__", "")).startswith("torch.")
    ]
    if not names:
        return None
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"Your program replaces {', '.join(sorted(names)[:3])}{more} for everybody."


def place_of_replacing(before: dict[str, Any], file: str) -> Place | None:
    """Return the first line of a file that gives another's function a new value."""
    now = functions()
    names = {
        name.rpartition(".")[2] for name in before if now.get(name) is not before[name]
    }
    for node in ast.walk(tree_of(file)):
        for target in getattr(node, "targets", ()):
            if isinstance(target, ast.Attribute) and target.attr in names:
                return file, target.lineno
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
            return file, node.lineno
    return None


class Written:
    """The files that the reader's program has opened to write, each with the line."""

    def __init__(self) -> None:
        self.places: dict[Path, Place] = {}
        sys.addaudithook(self.hear)

    def hear(self, event: str, given: tuple) -> None:
        """Note a file that is opened to write, as an audit hook."""
        if (
            event != "open"
            or not isinstance(given[0], str)
            or not WRITES & set(given[1] or "")
        ):
            return
        if frame := readers_frame(sys._getframe(1)):
            place = frame.f_code.co_filename, frame.f_lineno
            self.places.setdefault(Path(given[0]).absolute(), place)

    def hints(self) -> list[str]:
        """Say which files are left."""
        return [
            f"It leaves the file {path.name} behind ({errors.place(*place)})."
            for path, place in self.places.items()
            if path.is_file()
        ]


class Followed:
    """The lines of an import outside functions, and which of them changed PyTorch.

    latest: file and line; changed: file and line of each change.
    """

    def __init__(self) -> None:
        self.state, self.latest, self.left = state(), ("", 0), LINES
        self.changed: dict[str, Place] = {}

    def call(self, frame: FrameType, event: str, _: Any) -> Callable | None:
        """Follow the lines of a module of the reader, as a trace function."""
        self.left -= 1
        if self.left < 0:
            sys.settrace(None)
        code = frame.f_code
        own = code.co_name == "<module>" and is_readers(code.co_filename)
        return self.line if own and self.left > 0 else None

    def line(self, frame: FrameType, event: str, _: Any) -> Callable | None:
        """Note the line that changed the state of PyTorch, as a trace function."""
        if (after := state()) != self.state:
            for (name, *_), was, now in zip(STATE, self.state, after, strict=True):
                if was != now:
                    self.changed[change_of(name, now)] = self.latest
            self.state = after
        self.latest = frame.f_code.co_filename, frame.f_lineno
        self.left -= 1
        return self.line if self.left > 0 else None


@contextmanager
def watched_import(
    name: str,
) -> Iterator[tuple[list[tuple[str, Place | None]], list[str]]]:
    """Restore the global state after an import, and collect what it changed.

    Yield two lists: changes that make other code compute something else, with their
    lines, and hints. The folders on `sys.path` stay there.
    """
    serious: list[tuple[str, Place | None]] = []
    known: list[str] = []
    torch_seed, python_seed, seeded = torch.initial_seed(), random.seed, []
    path, tracer, followed = list(sys.path), sys.gettrace(), Followed()

    def noted(*arguments: Any, **named: Any) -> None:
        seeded.append(arguments)
        python_seed(*arguments, **named)

    random.seed = noted
    try:
        with kept_state() as changes:
            sys.settrace(followed.call)
            try:
                yield serious, known
            finally:
                sys.settrace(tracer)
            if seeded or torch.initial_seed() != torch_seed:
                known.append(
                    f"{name} sets the seed of the random numbers when it is imported, "
                    "for everybody who imports it."
                )
    finally:
        random.seed = python_seed
        sys.path += [folder for folder in path if folder not in sys.path]
    for change in changes:
        if change != RANDOM:
            said = change.removeprefix("Your program ").removesuffix(".")
            serious.append((said, followed.changed.get(said)))
