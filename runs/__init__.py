"""Runs that take longer than a chapter may: `python -m runs.NAME` stores one.

`runs/NAME.py` writes `mygpt/data/stored/NAME.json`; chapters read it by `load_runs`.
"""

from collections.abc import Callable, Sequence
from functools import wraps

import numpy as np
import torch
from torch import Tensor


def numbered(pieces: Sequence[str]) -> tuple[list[str], Tensor]:
    """A text's different pieces in alphabetical order, and the text as numbers."""
    names = sorted(set(pieces))
    number = {name: i for i, name in enumerate(names)}
    return names, torch.tensor([number[piece] for piece in pieces])


def of_every_run(told: Callable[[dict], dict]) -> Callable[[list[dict]], dict]:
    """Make `claims` of a function that compares the columns of runs.

    A claim is a comparison, or a tuple or list of several, and must hold of every run.
    """

    @wraps(told)
    def claims(runs: list[dict]) -> dict[str, bool]:
        with np.errstate(all="ignore"):
            told_of = told(columns(runs))
        return {claim: holds(found) for claim, found in told_of.items()}

    return claims


def columns(runs: list):
    """The runs as one: each number becomes an array, whose first axis is the run.

    A number that a run lacks is NaN, of which no comparison holds.
    """
    if isinstance(runs[0], dict):
        return {name: columns([run[name] for run in runs]) for name in runs[0]}
    if isinstance(runs[0], list) and isinstance(runs[0][0], dict):
        return [columns(list(each)) for each in zip(*runs, strict=True)]
    return np.array(runs, None if isinstance(runs[0], str) else float)


def holds(found) -> bool:
    """Whether a comparison, or each of several, holds everywhere."""
    if isinstance(found, tuple | list):
        return all(map(holds, found))
    return bool(np.all(found))


def between(low, found, high):
    """Where the numbers found lie between two others."""
    return (low < found) & (found < high)
