"""What a task is: the book's own program, inputs that tell others apart, mistakes."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from mygpt.check.compare import TOLERANCE
from mygpt.check.stages.stage import Stage
from mygpt.check.stages.values import Value
from mygpt.workbook.asked import Asked

Program = Callable[..., Any]
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Mistake:
    """A wrong program with a name.

    `text` completes the sentence "This is what comes out when …"; `form` is the form of
    the right answer that the program departs from, where a task has several; `changes`
    are those of a model's pieces (`mygpt/check/model.py`) that make it.
    """

    name: str
    text: str
    program: Program
    form: str = ""
    changes: Sequence[Any] = ()


@dataclass(frozen=True)
class Probe:
    """Sizes and a seed from which a task makes one set of arguments."""

    seed: int = 0
    sizes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Property:
    """What must hold on its own.

    `seen` runs a program and returns plain data: tensors, numbers, lists of them.
    `broken` returns a sentence if the property does not hold of these, else None.
    `of_calls`: it is about what the program does on the way, not about its result, so
    it is described beside a result of a wrong shape too.
    """

    name: str
    seen: Callable[[Program, Arguments], Any]
    broken: Callable[[Any, Arguments], str | None]
    of_calls: bool = False


@dataclass(frozen=True, eq=False)
class Task(Asked):
    """A function for the reader to write, and how it is checked.

    parts: names of the parts of a result that has several.
    reference: the book's own program; keyword arguments.
    make: arguments from a `Draw` and sizes.
    probes: the inputs, the first one simple.
    mistakes: the catalogue.
    model: the program in pieces; its rare mistakes, those of its parts, and several at
        once are tried when none of these fits.
    forms: other right programs with other numbers, such as another form of GELU.
    differentiable: arguments to which a gradient must flow.
    properties: checked once the values are right, or to describe those that are not.
    observe: runs a program on arguments and returns what is compared.
    sizes: what a class is made with, from the arguments; None: no class accepted.
    weights: arguments that a class holds itself.
    least: smallest sizes to which an input is shrunk, where that is not 1.
    given: lines for the reader about arguments that cannot be printed.
    fixed: arguments whose values are not simplified.
    optional: sizes that a class may leave out, with what they are then.
    tolerance: difference allowed, as a share of the largest expected value.
    praise: what a right program is told, from arguments and results.
    limit: seconds that a whole check may take.
    stages: what a right program makes on its way, from the arguments; looked up after
        a failure among what the reader's program makes.
    values: what a right program of lists has in its variables, from the arguments, in
        order; looked up in the same way.
    """

    reference: Program
    make: Callable[..., Arguments]
    probes: Sequence[Probe]
    mistakes: Sequence[Mistake]
    model: Any = None
    parts: Sequence[str] = ()
    forms: Mapping[str, Program] = field(default_factory=dict)
    differentiable: Sequence[str] = ()
    properties: Sequence[Property] = ()
    observe: Callable[[Program, Arguments], Any] | None = None
    sizes: Callable[[Arguments], dict[str, int]] | None = None
    weights: Sequence[str] = ()
    least: Mapping[str, int] = field(default_factory=dict)
    given: Sequence[str] = ()
    fixed: Sequence[str] = ()
    optional: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = TOLERANCE
    praise: Callable[[list[Arguments], list[Any]], str] | None = None
    limit: int | float = 10.0
    stages: Callable[..., Iterable[Stage]] | None = None
    values: Callable[..., Iterable[Value]] | None = None

    def arguments_of(self, probe: Probe, **sizes: Any) -> Arguments:
        """The arguments of a probe, with some of its sizes replaced."""
        return self.make(Draw(probe.seed), **{**probe.sizes, **sizes})

    def run(self, program: Program, arguments: Arguments) -> Any:
        """Pass a program its arguments by position: their names are the reader's."""
        if self.observe:
            return self.observe(program, arguments)
        return program(*arguments.values())


def result_of(program: Program, arguments: Arguments) -> Any:
    """What most properties are judged by: what the program gives."""
    return program(*arguments.values())


class Draw:
    """Random inputs that are short to print and the same on every machine."""

    def __init__(self, seed: int):
        self.rng = random.Random(f"check {seed}")

    def normal(self, *shape: int, mean: float = 0.0, scale: float = 1.0) -> Tensor:
        """Normal numbers with one decimal, in float64."""
        count = torch.Size(shape).numel()
        numbers = [round(self.rng.gauss(mean, scale), 1) for _ in range(count)]
        return torch.tensor(numbers, dtype=torch.float64).reshape(shape)

    def ids(self, *shape: int, below: int) -> Tensor:
        count = torch.Size(shape).numel()
        numbers = [int(self.rng.random() * below) for _ in range(count)]
        return torch.tensor(numbers, dtype=torch.long).reshape(shape)
