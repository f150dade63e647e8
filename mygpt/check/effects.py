"""What a file changes for everybody: at its import, and in functions of others."""

import builtins
import math
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
import torch.nn.functional as F

from mygpt.check.errors import is_readers
from mygpt.check.run import RANDOM, STATE, kept_state, state

PLACES = {
    "builtins": builtins,
    "math": math,
    "random": random,
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.autograd": torch.autograd,
    "torch.nn.functional": F,
}
CHECKER = "mygpt.check"
LINES = 20_000  # of an import, and calls in it, that are followed
Place = tuple[str, int]


def functions() -> dict[str, Any]:
    """Return the functions that a check relies on, by their full names."""
    places = {
        **PLACES,
        **{n: m for n, m in sys.modules.items() if n.startswith(CHECKER)},
    }
    return {
        f"{place}.{name}": value
        for place, owner in places.items()
        for name, value in members(owner).items()
        if callable(value)
    }


def members(owner: Any) -> dict[str, Any]:
    """Return what a module has, or a class with all that it inherits."""
    if not isinstance(owner, type):
        return dict(vars(owner))
    return {n: v for kind in reversed(owner.__mro__) for n, v in vars(kind).items()}


def replaced(before: dict[str, Any]) -> str | None:
    """Return a sentence that names those of the functions that were replaced, or None.

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


class Followed:
    """The lines outside functions of an import, and which of them changed PyTorch.

    latest: file and line; changed: the same, for what was changed.
    """

    def __init__(self) -> None:
        self.state, self.latest, self.left = state(), ("", 0), LINES
        self.changed: dict[str, Place] = {}

    def call(self, frame: FrameType, event: str, _: Any) -> Callable | None:
        self.left -= 1
        if self.left < 0:
            sys.settrace(None)
        code = frame.f_code
        own = code.co_name == "<module>" and is_readers(code.co_filename)
        return self.line if own and self.left > 0 else None

    def line(self, frame: FrameType, event: str, _: Any) -> Callable | None:
        if (after := state()) != self.state:
            for (*_, said), was, now in zip(STATE, self.state, after, strict=True):
                if was != now:
                    self.changed[said(now)] = self.latest
            self.state = after
        self.latest = frame.f_code.co_filename, frame.f_lineno
        self.left -= 1
        return self.line if self.left > 0 else None


@contextmanager
def watched_import(
    name: str,
) -> Iterator[tuple[list[tuple[str, Place | None]], list[str]]]:
    """Restore the global state after an import, and collect what it changed.

    First what makes others compute something else, and where, then what is only worth
    knowing. What a check needs to find libraries stays there.
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
