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

# File and title of the chapters that the tasks belong to.
CHAPTERS = {
    "tensors": "Before you start: tensors",
    "01_tokens": "1. Tokens",
    "02_embeddings": "2. Embeddings, positions, and a first language model",
    "03_attention": "3. Attention",
    "04_heads": "4. Many heads",
    "05_feed_forward": "5. The feed-forward network",
    "06_activations": "6. GELU and ReLU",
    "08_layer_norm": "8. Layer normalisation",
    "09_transformer_block": "9. The transformer block",
    "12_gpt": "12. GPT",
    "13_training": "13. Training",
    "14_generation": "14. Generation",
}

# Titles of the sections that explain the tasks, by label, where not "In code".
HEADINGS = {
    "check-row-times-matrix": "A row times a matrix",
    "check-bpe-train": "Learn the merges",
    "check-bpe-encode": "Encode and decode",
    "check-softmax": "From any numbers to probabilities",
    "check-cross-entropy": "From any numbers to probabilities",
    "check-embedding": "A vector for each place",
    "check-layer-norm-gradient": "The gradient avoids two directions",
    "check-gpt": "Write it yourself",
    "check-adamw": "A step of AdamW, by hand",
    "check-train": "How fast, and how far at most",
    "check-evaluate": "How fast, and how far at most",
    "check-cache": "Keep the keys and values",
    "check-generate": "Keep the keys and values",
    "check-answer": "A whole GPT in one file",
}

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
class Task:
    """A function for the reader to write.

    name: of the function.
    chapter: file of the chapter that explains it, one of CHAPTERS.
    label: of the section that explains it.
    asks: what the function does.
    arguments: their names, in order, with shape or type.
    returns: shape or type of the result.
    parts: names of the parts of a result that has several.
    example: lines of a doctest; `torch` is imported.
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

    name: str
    chapter: str
    label: str
    asks: str
    arguments: Mapping[str, str]
    returns: str
    example: str
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

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})"

    @property
    def heading(self) -> str:
        """Title of the section that explains the task."""
        return HEADINGS.get(self.label, "In code")

    @property
    def section(self) -> str:
        """Titles of the chapter and the section that explain the task."""
        return f"“{CHAPTERS[self.chapter]}”, section “{self.heading}”"

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
