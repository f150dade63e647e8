"""Record what a program computes: each tensor, from which others, in which line."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from mygpt.check.errors import is_readers
from mygpt.check.stages.stage import BESIDE

MOST = 6000  # tensors that are kept of one run
LARGEST = 20_000  # numbers of a tensor that is kept
BYTES = 2**26  # that all of them take
SECONDS = 1.5  # of processor time that one run may take
# What takes only the shape of a tensor, not its values.
OF_SHAPE = ("_like", "new_zeros", "new_ones", "new_full", "new_empty", "empty")
FROM_LIST = "lift_fresh"
SEEN = "called_by_the_recorder"
Part = TypeVar("Part")


@dataclass(frozen=True)
class Place:
    """Where the reader's program was: file, line, and the instruction in its code.

    numbers, tensors: what its names stood for there; a tensor by its identity.
    plain: whole numbers, and tuples and slices of them.
    frame: of this call of the function; another call has another.
    outer: where the function was called, if the reader's program called it.
    """

    file: str
    line: int
    code: CodeType
    instruction: int
    numbers: dict[str, float]
    tensors: dict[str, int]
    outer: "Place | None" = None
    plain: dict[str, Any] = field(default_factory=dict)
    frame: int = 0

    def of_argument(self, identity: int) -> "Place":
        """Return where a tensor was passed on that is an argument here."""
        names = self.code.co_varnames[: self.code.co_argcount]
        passed = any(self.tensors.get(name) == identity for name in names)
        if self.outer is None or not passed:
            return self
        return self.outer.of_argument(identity)


@dataclass(eq=False)
class Made:
    """A tensor that a program made, as it was then.

    operation: its name in ATen; "given" for arguments and other tensors from outside.
    inputs: those that it was made from.
    call: the function with its arguments, in which `Made` stands for tensors.
    constant: whether no argument of the program is among its ancestors.
    rough: whether it, or one of these, is of less than double precision.
    identity: of the tensor in Python.
    beside: whether it is one that right programs only may make.
    number: of those that its call gave.
    """

    value: Tensor
    operation: str
    inputs: list["Made"]
    place: Place | None = None
    call: tuple[Callable, Any, Any] | None = None
    constant: bool = False
    rough: bool = False
    identity: int = 0
    beside: bool = False
    number: int = 0

    @property
    def line(self) -> int | None:
        return self.place.line if self.place else None


class Enough(BaseException):
    """A run has had its time."""


class Light(TorchDispatchMode):
    """A mode that starts at once."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Do without a guard that imports PyTorch's compiler, which takes a second."""
        return False


class Recorder(Light):
    """Keep a copy of each tensor that is made inside.

    made: in order; what was there before comes in when it is first used.
    """

    def __init__(self, watched: bool = True) -> None:
        super().__init__()
        self.watched = watched
        self.made: list[Made] = []
        self.left = BYTES
        self.end = time.process_time() + SECONDS
        self.by_tensor: dict[int, tuple[Tensor, Made, int]] = {}
        self.written: dict[int, tuple[int, Made]] = {}
        self.frames: dict[int, FrameType] = {}  # kept, so that no other has their id

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        late = time.process_time() > self.end
        if late or len(self.made) >= MOST or self.left <= 0:
            raise Enough
        kwargs = kwargs or {}
        name = func.__name__.partition(".")[0]
        fresh = name == FROM_LIST
        call_args = replaced(args, lambda tensor: self.known(tensor, fresh))
        call_kwargs = replaced(kwargs, lambda tensor: self.known(tensor, fresh))
        out = func(*args, **kwargs)
        inputs = list(parts_of((call_args, call_kwargs), Made))
        of_shape = name.endswith(OF_SHAPE)
        before = [] if of_shape else inputs
        constant = all(one.constant for one in before)
        place = place_at(sys._getframe(1), self.frames) if self.watched else None
        for number, tensor in enumerate(parts_of(out, Tensor)):
            node = Made(
                snapshot(tensor),
                name,
                before,
                place,
                (func, call_args, call_kwargs),
                constant,
                number=number,
            )
            self.add(tensor, node, written=name.endswith("_"))
        return out

    def known(self, tensor: Tensor, fresh: bool = False) -> Made:
        """Return what stands for a tensor; anew if it has been written to since."""
        storage = storage_of(tensor)
        count, last = self.written.get(storage, (0, None))
        found = self.by_tensor.get(id(tensor))
        if found and found[2] == count:
            return found[1]
        if found and last:
            node = Made(
                snapshot(tensor),
                "written",
                [found[1], last],
                last.place,
                None,
                found[1].constant and last.constant,
            )
        else:
            node = Made(snapshot(tensor), "given", [], constant=fresh)
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
        self.left -= node.value.numel() * node.value.element_size()


def storage_of(tensor: Tensor) -> int:
    with suppress(Exception):
        return tensor.untyped_storage()._cdata
    return id(tensor)


def snapshot(tensor: Tensor) -> Tensor:
    """Copy a tensor; of one that is too large, nothing."""
    if tensor.numel() > LARGEST or tensor.is_complex():
        return tensor.new_empty(0)
    return tensor.detach().clone()


def place_at(frame: FrameType | None, kept: dict[int, FrameType]) -> Place | None:
    """Return the innermost place in the reader's program, below the recorder's own."""
    while frame and not is_readers_file(frame.f_code.co_filename):
        if frame.f_code.co_name == SEEN:
            return None
        frame = frame.f_back
    if frame is None:
        return None
    kept[id(frame)] = frame
    known = frame.f_locals.items()
    return Place(
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_code,
        frame.f_lasti,
        {name: value for name, value in known if isinstance(value, float)},
        {name: id(value) for name, value in known if isinstance(value, Tensor)},
        place_at(frame.f_back, kept),
        {name: value for name, value in known if is_plain(value)},
        id(frame),
    )


def is_plain(value: Any) -> bool:
    """Whether a value is a whole number, or a tuple or slice of some."""
    if isinstance(value, slice):
        value = value.start, value.stop, value.step
    parts = value if isinstance(value, tuple) else (value,)
    return value is not None and all(isinstance(part, int | None) for part in parts)


FILES: dict[str, bool] = {}


def is_readers_file(file: str) -> bool:
    if file not in FILES:
        FILES[file] = is_readers(file)
    return FILES[file]


def replaced(value: Any, by: Callable[[Tensor], Made]) -> Any:
    """Put what stands for them in the places of tensors."""
    if isinstance(value, Tensor):
        return by(value)
    if isinstance(value, list | tuple):
        return [replaced(part, by) for part in value]
    if isinstance(value, dict):
        return {name: replaced(part, by) for name, part in value.items()}
    return value


def parts_of(value: Any, kind: type[Part]) -> Iterator[Part]:
    """Everything of a kind in nested lists, tuples and dicts."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from parts_of(part, kind)
    elif isinstance(value, dict):
        yield from parts_of(list(value.values()), kind)


@dataclass
class Run:
    """What a program made in one run, and what came out of each call of it.

    whole: whether the run was recorded to its end.
    """

    made: list[Made]
    results: list[list[Made]]
    whole: bool


def recorded(
    run: Callable[[Callable], Any], program: Callable, watched: bool = True
) -> Run:
    """Run a program under a recorder; an error ends the record, no more."""
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
    return Run(recorder.made, results, whole)
