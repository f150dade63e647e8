"""What the names of a program stand for while it runs, line by line."""

import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, FunctionType, ModuleType
from typing import Any

import torch
from torch import Tensor

FIRST, LAST = 2, 3  # times a line runs that are kept
LONGEST = 100  # of the lists and the texts that are compared

Moment = dict[str, Any]


@contextmanager
def watching(file: str, see: Callable[[FrameType, str], Any]) -> Iterator[None]:
    """Show a function each event of a file's code that runs in the body."""

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        see(frame, event)
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


class Moments:
    """The local names at each line of a file.

    around: what else the file can speak of; given: the arguments of the function of a
    name, as it was first called.
    """

    def __init__(self, name: str, around: Moment) -> None:
        self.name, self.around = name, around
        self.given: Moment = {}
        self.lines: dict[int, list[Moment]] = {}

    def see(self, frame: FrameType, event: str) -> None:
        """Keep the names at an event."""
        code = frame.f_code
        if event == "call" and code.co_name == self.name and not self.given:
            names = code.co_varnames[: code.co_argcount]
            self.given = {name: frame.f_locals[name] for name in names}
        if event == "line":
            found = self.lines.setdefault(frame.f_lineno, [])
            if len(found) == FIRST + LAST:
                del found[FIRST]
            found.append(values_in(frame.f_locals))

    def at(self, lines: Sequence[int]) -> list[Moment]:
        """What was seen at the lines of one statement."""
        return [each for line in lines for each in self.lines.get(line, [])]


def values_in(names: Moment) -> Moment:
    """The names that stand for values: no modules, functions or hidden names."""
    kinds = (ModuleType, FunctionType, type)
    return {
        name: value
        for name, value in names.items()
        if name.isidentifier() and name != "_" and not isinstance(value, kinds)
    }


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal and of one class."""
    return a is b or (type(a) is type(b) and content(a) == content(b))


def content(value: Any) -> Hashable:
    """What is compared of a value: equal for equal ones."""
    if isinstance(value, Tensor):
        plain = value.detach()
        if plain.is_floating_point():
            plain = plain.double() + 0.0  # -0 is 0
        return "tensor", plain.shape, plain.contiguous().numpy().tobytes()
    if isinstance(value, bool | int | float):
        return "number", float(value)
    if isinstance(value, list | tuple) and len(value) <= LONGEST:
        return type(value), tuple(map(content, value))
    if isinstance(value, dict | list | tuple):
        return type(value), id(value)
    return type(value), repr(value)[:LONGEST]


def kind(value: Any) -> tuple:
    """What may stand for one another: tensors of a shape, numbers, lists."""
    if isinstance(value, Tensor):
        return "tensor", value.shape, value.dtype == torch.bool
    if isinstance(value, int | float):
        return ("number",)
    return (type(value).__name__,)
