"""Record what a program computes: each tensor, from which others, in which line."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from mygpt.check import work
from mygpt.check.locate.stage import BESIDE
from mygpt.check.process.errors import is_readers
from mygpt.check.syntax import Site
from mygpt.check.tree import mapped, parts_of

MOST = 6000  # tensors that are kept of one run
LARGEST = 20_000  # numbers of a tensor that is kept
BYTES = 2**26  # that all of them take
# Operations that take only the shape of a tensor, not its values.
OF_SHAPE = ("_like", "new_zeros", "new_ones", "new_full", "new_empty", "empty")
FROM_LIST = "lift_fresh"
VIEW = re.compile(
    r"_?view|expand|transpose|t|permute|(un)?squeeze|slice|select|alias|unbind|"
    r"split(_with_sizes)?|diagonal|detach|unfold|as_strided"
)
SEEN = "called_by_the_recorder"


@dataclass(frozen=True)
class CodeSite(Site):
    """Where the reader's program was: a line, and the instruction in its code.

    numbers: the names of numbers there, and of tuples and slices of whole numbers.
    tensors: the names of tensors, each with the tensor's identity.
    outer: where the function was called, if the reader's program called it.
    frame: of this call of the function; another call has another.
    """

    code: CodeType
    line: int
    instruction: int = 0
    numbers: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, int] = field(default_factory=dict)
    outer: "CodeSite | None" = None
    frame: int = 0

    @property
    def file(self) -> str:
        return self.code.co_filename

    def frames(self) -> Iterator["CodeSite"]:
        """Yield a place, where its function was called, and so on."""
        yield self
        if self.outer:
            yield from self.outer.frames()

    def of_argument(self, identity: int) -> "CodeSite":
        """Return where a tensor was first passed on that is an argument here."""
        passed = any(self.tensors.get(name) == identity for name in self.arguments)
        if self.outer is None or not passed:
            return self
        return self.outer.of_argument(identity)

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.code.co_varnames[: self.code.co_argcount]


@dataclass(eq=False)
class Made:
    """A tensor that a program made, as it was then.

    operation: its name in ATen; "given" for arguments and other tensors from outside.
    inputs: the tensors that it was made from.
    call: the function with its arguments, in which `Made` stands for tensors.
    constant: whether no argument of the program is among its ancestors.
    rough: whether it, or one of its ancestors, has less than double precision.
    identity: of the tensor in Python.
    beside: whether not every right program makes it.
    number: its place among the tensors that its call gave.
    """

    value: Tensor
    operation: str
    inputs: list["Made"]
    place: CodeSite | None = None
    call: tuple[Callable, Any, Any] | None = None
    constant: bool = False
    number: int = 0
    rough: bool = False
    identity: int = 0
    beside: bool = False

    @property
    def line(self) -> int | None:
        return self.place.line if self.place else None

    @property
    def is_view(self) -> bool:
        """Whether it shares the memory of the tensor that it was made from."""
        return bool(VIEW.fullmatch(self.operation))


class Enough(BaseException):
    """A run has been followed for long enough."""


class Light(TorchDispatchMode):
    """A mode that starts at once."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Do without a guard that imports PyTorch's compiler, which takes a second."""
        return False


class Recorder(Light):
    """Keep a copy of each tensor that is made inside.

    made: in order; a tensor from outside is added when it is first used.
    """

    def __init__(self, watched: bool = True) -> None:
        super().__init__()
        self.watched = watched
        self.made: list[Made] = []
        self.left = BYTES
        self.by_tensor: dict[int, tuple[Tensor, Made, int]] = {}
        self.written: dict[int, tuple[int, Made]] = {}
        self.frames: dict[int, FrameType] = {}  # kept, so that no other has their id

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if len(self.made) >= MOST or self.left <= 0:
            raise Enough
        kwargs = kwargs or {}
        name = func.__name__.partition(".")[0]
        fresh = name == FROM_LIST

        def stand_in(leaf: Any) -> Any:
            return self.known(leaf, fresh) if isinstance(leaf, Tensor) else leaf

        call = func, mapped(stand_in, args), mapped(stand_in, kwargs)
        out = func(*args, **kwargs)
        inputs = [] if name.endswith(OF_SHAPE) else parts_of(call, Made)
        constant = all(one.constant for one in inputs)
        place = place_at(sys._getframe(1), self.frames) if self.watched else None
        for number, tensor in enumerate(parts_of(out, Tensor)):
            node = Made(snapshot(tensor), name, inputs, place, call, constant, number)
            self.add(tensor, node, written=name.endswith("_"))
        return out

    def known(self, tensor: Tensor, fresh: bool = False) -> Made:
        """Return the record of a tensor; a new one if it has been modified since."""
        storage = storage_of(tensor)
        count, last = self.written.get(storage, (0, None))
        found = self.by_tensor.get(id(tensor))
        if found and found[2] == count:
            return found[1]
        node = Made(snapshot(tensor), "given", [], constant=fresh)
        if found and last:
            node.operation, node.inputs, node.place = (
                "written",
                [found[1], last],
                last.place,
            )
            node.constant = found[1].constant and last.constant
        self.add(tensor, node)
        return node

    def add(self, tensor: Tensor, node: Made, written: bool = False) -> None:
        storage = storage_of(tensor)
        count, _ = self.written.get(storage, (0, None))
        if written:
            count += 1
            self.written[storage] = count, node
        self.by_tensor[id(tensor)] = tensor, node, count
        node.identity, node.beside = id(tensor), bool(BESIDE)
        floating = node.value.is_floating_point()
        narrow = node.value.dtype != torch.float64
        inputs_rough = any(one.rough for one in node.inputs)
        node.rough = floating and (narrow or inputs_rough)
        self.made.append(node)
        work.add(work.RECORD)
        self.left -= node.value.numel() * node.value.element_size()


def storage_of(tensor: Tensor) -> int:
    with suppress(Exception):
        return tensor.untyped_storage()._cdata
    return id(tensor)


def snapshot(tensor: Tensor) -> Tensor:
    """Copy a tensor; an empty one stands for one that is too large."""
    if tensor.numel() > LARGEST or tensor.is_complex():
        return tensor.new_empty(0)
    return tensor.detach().clone()


def place_at(frame: FrameType | None, kept: dict[int, FrameType]) -> CodeSite | None:
    """Return the innermost place in the reader's program; None outside of its run."""
    while frame and not is_readers_file(frame.f_code.co_filename):
        if frame.f_code.co_name == SEEN:
            return None
        frame = frame.f_back
    if frame is None:
        return None
    kept[id(frame)] = frame
    known = frame.f_locals.items()
    return CodeSite(
        frame.f_code,
        frame.f_lineno,
        frame.f_lasti,
        {name: value for name, value in known if is_number(value)},
        {name: id(value) for name, value in known if isinstance(value, Tensor)},
        place_at(frame.f_back, kept),
        id(frame),
    )


def is_number(value: Any) -> bool:
    """Whether a value is a number, or a tuple or slice of whole ones."""
    if isinstance(value, slice):
        value = value.start, value.stop, value.step
    parts = value if isinstance(value, tuple) else (value,)
    whole = value is not None and all(isinstance(part, int | None) for part in parts)
    return whole or isinstance(value, float)


is_readers_file = cache(is_readers)


@dataclass
class RecordedRun:
    """The tensors that a program made in one run, and the results of each call of it.

    whole: whether the run was recorded to its end.
    """

    made: list[Made]
    results: list[list[Made]]
    whole: bool


def recorded(
    run: Callable[[Callable], Any], program: Callable, watched: bool = True
) -> RecordedRun:
    """Run a program under a recorder; an error only ends the record."""
    recorder = Recorder(watched)
    results: list[list[Made]] = []

    def called_by_the_recorder(*given: Any) -> Any:
        value = program(*given)
        results.append([recorder.known(tensor) for tensor in parts_of(value, Tensor)])
        return value

    whole = False
    with suppress(Exception, Enough, SystemExit), recorder:
        run(called_by_the_recorder)
        whole = True
    return RecordedRun(recorder.made, results, whole)
