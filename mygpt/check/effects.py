"""What a file changes for everybody: at its import, and in functions of others."""

import builtins
import math
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F

from mygpt.check.run import RANDOM, kept_state

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


@contextmanager
def watched_import(name: str) -> Iterator[tuple[list[str], list[str]]]:
    """Restore the global state after an import, and collect what it changed.

    First what makes others compute something else, then what is only worth knowing.
    """
    serious: list[str] = []
    known: list[str] = []
    torch_seed, python_seed, seeded = torch.initial_seed(), random.seed, []

    def noted(*arguments: Any, **named: Any) -> None:
        seeded.append(arguments)
        python_seed(*arguments, **named)

    random.seed = noted
    try:
        with kept_state() as changes:
            yield serious, known
            if seeded or torch.initial_seed() != torch_seed:
                known.append(
                    f"{name} sets the seed of the random numbers when it is imported, "
                    "for everybody who imports it."
                )
    finally:
        random.seed = python_seed
    for change in changes:
        if change != RANDOM:
            text = change.removeprefix("Your program ").removesuffix(".")
            serious.append(f"{name} {text} when it is imported.")
