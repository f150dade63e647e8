"""A tensor that a right program makes on its way, by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Stage:
    """What a task's text speaks of, in its notation.

    tensors: its forms, of which a right program makes one.
    needs: names of the stages that it is made from; None: the one before.
    """

    name: str
    tensors: Sequence[Tensor]
    needs: Sequence[str] | None = None


def stage(name: str, *tensors: Tensor, needs: Sequence[str] | None = None) -> Stage:
    return Stage(name, tensors, needs)


BESIDE: list[str] = []  # an entry while tensors are made that only may be made


def also(make: Callable[[], object]) -> None:
    """Make tensors that some right programs make, so that they are known as right.

    None of them is put in the place of a wrong one.
    """
    BESIDE.append("beside")
    try:
        make()
    finally:
        BESIDE.pop()
