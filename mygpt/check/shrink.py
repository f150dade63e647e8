"""Shrink an input that fails to one that a person can check by hand."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from mygpt.check import work
from mygpt.check.task import Arguments, Probe, Task
from mygpt.check.tree import exchanged, is_whole, leaves

TRIES = 250
SECONDS = 0.6  # of work for all tries
FEW = 12  # numbers of a tensor that are replaced one by one

Fails = Callable[[Arguments], bool]


class NoMoreTries(Exception):
    """The search has used up its runs, or has done enough work."""


def shrink(task: Task, probe: Probe, fails: Fails) -> Arguments:
    """Return the smallest arguments found for which `fails` still holds."""
    search = Shrinker(task, probe, fails)
    try:
        search.sizes()
        search.values()
    except NoMoreTries:
        pass
    return search.best


class Shrinker:
    """A greedy search: first the sizes, then the numbers and letters."""

    def __init__(self, task: Task, probe: Probe, fails: Fails):
        self.task, self.probe, self.fails = task, probe, fails
        self.left = TRIES
        self.end = work.after(SECONDS)
        self.best = task.arguments_of(probe)

    def accept(self, arguments: Arguments) -> bool:
        """Take arguments as the best so far if they fail too."""
        if not self.left or work.now() > self.end:
            raise NoMoreTries
        self.left -= 1
        if not self.fails(arguments):
            return False
        self.best = arguments
        return True

    def sizes(self) -> None:
        """Make one size after the other as small as it can be, twice."""
        found: dict[str, Any] = {}
        for _ in range(2):
            for name, size in self.probe.sizes.items():
                least = self.task.least.get(name, 1)
                for smaller in range(least, size) if is_whole(size) else ():
                    try:
                        tried = self.task.arguments_of(
                            self.probe, **{**found, name: smaller}
                        )
                    except (ValueError, IndexError):
                        continue  # sizes that do not go together
                    if self.accept(tried):
                        found[name] = smaller
                        break

    def values(self) -> None:
        """Replace each argument by simpler ones."""
        for name in list(self.best):
            if name in self.task.fixed:
                continue
            while any(
                self.accept({**self.best, name: simpler})
                for simpler in simpler_forms(self.best[name])
            ):
                pass


def simpler_forms(value: Any) -> Iterator[Any]:
    """Yield forms of a value that are easier to read, the simplest first."""
    if isinstance(value, Tensor) and value.is_floating_point():
        yield from simpler_tensors(value)
    elif isinstance(value, str):
        yield from shorter(value)
    elif isinstance(value, dict):
        yield from simpler_weights(value)
    elif isinstance(value, list):
        yield from shorter(value)
        for i, part in enumerate(value):
            if isinstance(part, str):
                for simpler in shorter(part):
                    if simpler:
                        yield [*value[:i], simpler, *value[i + 1 :]]


def shorter(value: Any) -> Iterator[Any]:
    """Leave out a half, then a quarter, and so on down to one."""
    step = len(value) // 2
    while step:
        for start in range(0, len(value), step):
            yield value[:start] + value[start + step :]
        step //= 2


def simpler_weights(weights: dict) -> Iterator[dict]:
    """Replace one tensor of nested weights by zeros or by ones."""
    for _, part in leaves(weights):
        for simple in (torch.zeros_like(part), torch.ones_like(part)):
            if complexity(simple) < complexity(part):
                yield exchanged(weights, part, simple)


def simpler_tensors(value: Tensor) -> Iterator[Tensor]:
    """Replace all numbers by zeros, ones or whole ones, or a single number."""
    for simple in (torch.zeros_like(value), torch.ones_like(value), value.round()):
        if complexity(simple) < complexity(value):
            yield simple
    if value.numel() > FEW:
        return
    for i in range(value.numel()):
        for number in (0.0, 1.0):
            simple = value.clone()
            simple.view(-1)[i] = number
            if complexity(simple) < complexity(value):
                yield simple


def complexity(value: Tensor) -> int:
    """Count how much there is to read: a zero costs nothing, a decimal most."""
    whole = value == value.round()
    costs = torch.where(value == 0, 0, torch.where(value == 1, 1, 2))
    return int(torch.where(whole, costs, 4).sum())
