"""How far a candidate goes on the way of right programs: which tensors it shares."""

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mygpt.check.run import OutOfTime, run_once, time_limit
from mygpt.check.stages.blame import Blame, tells
from mygpt.check.stages.find import right_on, run_on
from mygpt.check.stages.match import MASKED, MOST_SLICES, SLICED, without_ones
from mygpt.check.stages.record import LARGEST, MOST, Light, parts_of
from mygpt.check.task import Program, Task

SMALL = 64  # numbers of a tensor of which each may be met alone
PATIENCE = 25  # tensors that are no right ones, after which a run is stopped
NEAR, TINY = 1e-6, 1e-20  # of sums, which depend on the order
PART = 0.5  # what a new part counts besides its group
Sign = tuple[int, float, float]


class Lost(BaseException):
    """A run makes nothing that right programs make, for long enough."""


def signs_of(array: np.ndarray, axes: tuple[int, ...] | None = None) -> list[Sign]:
    """Return what tells an array from others, in whatever layout: two sums.

    axes: those over which is summed, so that each part along the others has a sign.
    """
    plain = np.where((array > MASKED) & (array < 1e30), array, 0.0)
    squares = plain * plain
    count = array.size if axes is None else math.prod(array.shape[i] for i in axes)
    sums = squares.sum(axes), (squares * plain).sum(axes)
    pairs = zip(*(np.reshape(each, -1).tolist() for each in sums), strict=True)
    return [(count, square, cube) for square, cube in pairs]


class Known:
    """The tensors that right programs make on one probe, whole and in parts.

    What is found is a number and that of its group: all parts along the same axes.
    """

    def __init__(self, task: Task, probe: int, dtype: torch.dtype) -> None:
        self.found: dict[tuple[int, int], list[tuple[Sign, int, int]]] = {}
        self.numbers = self.groups = 0
        for array in right_on(task, probe, dtype).known.arrays:
            if tells(array):
                self.add(signs_of(array))
                for signs in signs_of_parts(array):
                    self.add(signs)

    def add(self, signs: Sequence[Sign]) -> None:
        self.groups += 1
        for sign in signs:
            self.numbers += 1
            key = sign[0], place_of(sign[1])
            row = self.found.setdefault(key, [])
            if not any(near(sign, known) for known, _, _ in row):
                row.append((sign, self.numbers, self.groups))

    def find(self, sign: Sign) -> tuple[int, int] | None:
        count, square, _ = sign
        for turned in (square * (1 - NEAR), square * (1 + NEAR)):
            for known, number, group in self.found.get((count, place_of(turned)), ()):
                if near(sign, known):
                    return number, group
        return None


def place_of(square: float) -> int:
    return int(math.log(square + TINY) * 1e4)


def near(one: Sign, other: Sign) -> bool:
    allowed = 10 * NEAR * (one[1] + TINY)
    root = math.sqrt(one[1])
    return abs(one[1] - other[1]) <= allowed and (
        abs(one[2] - other[2]) <= allowed * root
    )


def signs_of_parts(array: np.ndarray) -> Iterator[list[Sign]]:
    """Yield the signs of the parts along one axis, or two."""
    array = without_ones(array)
    if array.size > SLICED:
        return
    for number in range(1, min(array.ndim, 2) + 1):
        for axes in itertools.combinations(range(array.ndim), number):
            parts = math.prod(array.shape[i] for i in axes)
            if parts <= MOST_SLICES and (parts < array.size or array.size <= SMALL):
                rest = tuple(i for i in range(array.ndim) if i not in axes)
                yield signs_of(array, rest)


class Watch(Light):
    """Look up what is made inside.

    before: the signs of the program without the edit; as long as they are the same, a
    run is not stopped. met, groups: of the known tensors; signs: of all.
    """

    def __init__(self, known: Known, before: "Watch | None" = None) -> None:
        super().__init__()
        self.known = known
        self.before = before.signs if before else []
        self.old = set(before.met) if before else set()
        self.waits = before is not None
        self.signs: list[Sign] = []
        self.met: set[int] = set()
        self.groups: set[int] = set()
        self.left = PATIENCE

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in parts_of(out, Tensor):
            if tensor.is_floating_point() and 0 < tensor.numel() <= LARGEST:
                self.look(tensor.detach().double().numpy())
        return out

    def look(self, array: np.ndarray) -> None:
        (sign,) = signs_of(array)
        place = len(self.signs)
        self.signs.append(sign)
        if len(self.signs) > MOST:
            raise Lost
        if found := self.known.find(sign):
            number, group = found
            self.met.add(number)
            self.groups.add(group)
            if number not in self.old:
                self.old.add(number)
                self.left = PATIENCE
                return
        if not self.waits or self.before[place : place + 1] == [sign]:
            return
        self.left -= 1
        if not self.left:
            raise Lost


class Way:
    """The way of right programs on one probe, and how far a wrong one follows it."""

    def __init__(
        self, task: Task, program: Program, probe: int, dtype: torch.dtype
    ) -> None:
        self.task, self.dtype = task, dtype
        self.given = task.arguments_of(task.probes[probe])
        self.known = Known(task, probe, dtype)
        self.base = self.watched(program, 2.0)

    def watched(
        self, program: Program, seconds: float, before: Watch | None = None
    ) -> Watch:
        watch = Watch(self.known, before)
        with suppress(Exception, OutOfTime, Lost), time_limit(seconds), watch:
            run_once(self.task, program, self.given, self.dtype)
        return watch

    def of(self, program: Program, seconds: float) -> tuple[float, frozenset[Sign]]:
        """Return how many right tensors are new, and what tells a program apart."""
        watch = self.watched(program, seconds, self.base)
        new = len(watch.groups - self.base.groups)
        return new + PART * len(watch.met - self.base.met), frozenset(watch.signs)


def line_after(
    task: Task, program: Program, probe: int, dtype: torch.dtype
) -> int | None:
    """The line in which a program first makes what no right program makes."""
    run, right = run_on(task, program, probe, dtype), right_on(task, probe, dtype)
    blame = Blame(run, right.known, right.results)
    return next((one.line for one in run.made if blame.is_bad(one)), None)
