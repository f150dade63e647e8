"""How many tensors a candidate shares with right programs."""

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mygpt.check import work
from mygpt.check.locate.blame import Blame, tells
from mygpt.check.locate.find import right_on, run_on
from mygpt.check.locate.match import MASKED, MOST_SLICES, SLICED, without_ones
from mygpt.check.locate.record import LARGEST, MOST, Light
from mygpt.check.process.run import Outcome
from mygpt.check.task import Program, Task
from mygpt.check.tree import parts_of

SMALL = 64  # numbers of a tensor of which each may be met alone
PATIENCE = 25  # tensors that are no right ones, after which a run is stopped
FINE, TINY = math.pi * 1e5, 1e-20  # of sums, which depend on the order
PART = 0.5  # what a new part counts besides its group
Sign = tuple[int, float, float]


class Lost(BaseException):
    """A run makes nothing that right programs make, for long enough."""


def signs_of(array: np.ndarray, axes: tuple[int, ...] | None = None) -> list[Sign]:
    """Return what tells an array from others, in whatever layout: two rounded sums.

    axes: those over which is summed, so that each part along the others has a sign.
    """
    plain = np.where((array > MASKED) & (array < 1e30), array, 0.0)
    squares = plain * plain
    count = array.size if axes is None else math.prod(array.shape[i] for i in axes)
    square, cube = squares.sum(axes) + TINY, (squares * plain).sum(axes)
    sums = np.stack([np.log(square), cube / square**1.5]).reshape(2, -1)
    return [(count, *pair) for pair in np.rint(FINE * sums).T.tolist()]


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


class SignRecorder(Light):
    """Look up the tensors that are made inside.

    known: the signs of right ones. before: the record of the program without the edit;
    as long as the signs are the same, a run is not stopped. met: the known signs.
    """

    def __init__(
        self, known: dict[Sign, int], before: "SignRecorder | None" = None
    ) -> None:
        super().__init__()
        self.known, self.before = known, before
        self.signs: list[Sign] = []
        self.met: set[Sign] = set()
        self.left = PATIENCE

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in parts_of(out, Tensor):
            if tensor.is_floating_point() and 0 < tensor.numel() <= LARGEST:
                self.look(*signs_of(tensor.detach().double().numpy()))
        return out

    def look(self, sign: Sign) -> None:
        before, place = self.before, len(self.signs)
        self.signs.append(sign)
        work.add(work.SIGN)
        if len(self.signs) > MOST:
            raise Lost
        if sign in self.known and sign not in self.met:
            self.met.add(sign)
            if before is None or sign not in before.met:
                self.left = PATIENCE
                return
        if before is not None and before.signs[place : place + 1] != [sign]:
            self.left -= 1
            if not self.left:
                raise Lost


class Progress:
    """The tensors of right programs on one probe, and how many a wrong one makes.

    known: the signs of these tensors, whole and in parts, each with the number of its
    group: all parts along the same axes. run: what runs a program on a probe.
    """

    def __init__(
        self,
        task: Task,
        program: Program,
        probe: int,
        dtype: torch.dtype,
        run: Callable[[Program, int], Outcome],
    ) -> None:
        self.run, self.probe = run, probe
        arrays = [a for a in right_on(task, probe, dtype).known.arrays if tells(a)]
        groups = (each for a in arrays for each in (signs_of(a), *signs_of_parts(a)))
        self.known: dict[Sign, int] = {}
        for number, group in enumerate(groups):
            for sign in group:
                self.known.setdefault(sign, number)
        self.base = self.watched(program)

    def watched(
        self, program: Program, before: SignRecorder | None = None
    ) -> SignRecorder:
        watch = SignRecorder(self.known, before)
        with suppress(Lost), watch:
            self.run(program, self.probe)
        return watch

    def of(self, program: Program) -> tuple[float, frozenset[Sign]]:
        """Return how many right tensors are new, and what tells a program apart."""
        watch = self.watched(program, self.base)
        new, old = ({self.known[s] for s in one.met} for one in (watch, self.base))
        gain = len(new - old) + PART * len(watch.met - self.base.met)
        return gain, frozenset(watch.signs)


def line_after(
    task: Task, program: Program, probe: int, dtype: torch.dtype
) -> int | None:
    """The line in which a program first makes what no right program makes."""
    run, right = run_on(task, program, probe, dtype), right_on(task, probe, dtype)
    blame = Blame(run, right.known, right.results)
    return next((one.line for one in run.made if blame.is_bad(one)), None)
