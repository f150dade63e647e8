"""What a task is: the book's own program, inputs that tell others apart, mistakes."""

import random
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from mygpt.check.compare import TOLERANCE
from mygpt.check.locate.stage import Stage
from mygpt.check.locate.values import Value
from mygpt.workbook.asked import Asked

Program = Callable[..., Any]
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Mistake:
    """A wrong program with a name.

    `text` completes the sentence "This is what comes out when …"; `form` is the form of
    the right answer that the program departs from, where a task has several; `changes`
    are those of a model's pieces (`mygpt/check/reference.py`) that make it.
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


def probes(names: str, rows: str) -> list[Probe]:
    """Make a probe of each row of sizes, `2 3 | 5 _ 1`; those of `_` are left out."""
    table = [zip(names.split(), row.split(), strict=False) for row in rows.split("|")]
    return [
        Probe(seed, {name: literal_eval(size) for name, size in row if size != "_"})
        for seed, row in enumerate(table)
    ]


@dataclass(frozen=True)
class Property:
    """A condition that a right program fulfils besides its values.

    `seen` runs a program and returns plain data: tensors, numbers, lists of them.
    `broken` returns a sentence if the property does not hold of these, else None.
    `of_calls`: it is about what the program does on the way, not about its result, so
    it is described beside a result of a wrong shape too.
    `alone`: sentences that are true only of a program whose values are right.
    """

    name: str
    seen: Callable[[Program, Arguments], Any]
    broken: Callable[[Any, Arguments], str | None]
    of_calls: bool = False
    alone: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Hints:
    """What the search for a mend may write in programs of a task (`mygpt/check/mends`).

    numbers: as written; lines: that may be missing where a name is known, with their
    cost.
    rules: by kind and pattern, as in `mygpt/check/mends/rules.toml`.
    """

    numbers: Sequence[str] = ()
    lines: Sequence[tuple[str, Sequence[str], float]] = ()
    rules: Mapping[str, Mapping[str, Sequence[float | str]]] = field(
        default_factory=dict
    )

    def __or__(self, other: "Hints") -> "Hints":
        return Hints(
            (*self.numbers, *other.numbers),
            (*self.lines, *other.lines),
            {
                kind: {**self.rules.get(kind, {}), **other.rules.get(kind, {})}
                for kind in {**self.rules, **other.rules}
            },
        )


NO_HINTS = Hints()


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
    hints: what the search for a mend may write, beside what it writes everywhere.
    """

    reference: Program
    make: Callable[..., Arguments]
    probes: Sequence[Probe]
    mistakes: Sequence[Mistake]
    model: Any = None
    parts: Sequence[str] = ()
    forms: Mapping[str, Program] = field(default_factory=dict)
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
    hints: Hints = NO_HINTS

    @property
    def answers(self) -> dict[str, Program]:
        """The forms of the right answer by name; the book's own program has none."""
        return {"": self.reference, **self.forms}

    def arguments_of(self, probe: Probe, **sizes: Any) -> Arguments:
        """The arguments of a probe, with some of its sizes replaced."""
        return self.make(Draw(probe.seed), **{**probe.sizes, **sizes})

    def run(self, program: Program, arguments: Arguments) -> Any:
        """Pass a program its arguments by position: their names are the reader's."""
        if self.observe:
            return self.observe(program, arguments)
        return program(*arguments.values())


# Properties that several tasks have


def result_of(program: Program, arguments: Arguments) -> Any:
    """Return the result of a program, by which most properties are judged."""
    return program(*arguments.values())


def equal_results(
    name: str, seen: Callable[[Program, Arguments], list[Tensor]], sentence: str
) -> Property:
    """Two results that must be equal."""

    def broken(results: list[Tensor], arguments: Arguments) -> str | None:
        return None if torch.allclose(*results, atol=1e-5) else sentence

    return Property(name, seen, broken)


def sums_to_one(name: str, sentence: str) -> Property:
    """Probabilities whose rows must add up to 1."""

    def broken(probabilities: Tensor, arguments: Arguments) -> str | None:
        total = probabilities.sum(-1)
        right = torch.allclose(total, torch.ones_like(total), atol=1e-5)
        return None if right else sentence

    return Property(name, result_of, broken)


def remarks_on_calls(name: str, seen: Callable[[Program, Arguments], str]) -> Property:
    """Sentences on what a program did on the way; none is right."""
    return Property(name, seen, lambda said, arguments: said or None, of_calls=True)


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
        """Draw whole numbers from 0 on."""
        count = torch.Size(shape).numel()
        numbers = [int(self.rng.random() * below) for _ in range(count)]
        return torch.tensor(numbers, dtype=torch.long).reshape(shape)

    def tensors(self, table: str, **sizes: Any) -> Arguments:
        """Draw `x BTC 0.2 1.5 | eps`: names with axes, mean and scale, or a size."""
        rows = [row.split() for row in table.split("|")]
        return {
            name: self.tensor(*drawn, **sizes) if drawn else sizes[name]
            for name, *drawn in rows
        }

    def tensor(
        self, axes: str, mean: str = "0", scale: str = "1", /, **sizes: Any
    ) -> Tensor:
        """Draw a tensor; a number may be the name of a size."""
        numbers = [sizes[n] if n in sizes else float(n) for n in (mean, scale)]
        shape = [sizes[axis] for axis in axes]
        return self.normal(*shape, mean=numbers[0], scale=numbers[1])
