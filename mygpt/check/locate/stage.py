"""A named intermediate tensor of a right program."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Stage:
    """A step of a task's text, in its notation.

    tensors: the forms of the step; a right program makes one of them.
    needs: names of the stages that it is made from; None: the stage before.
    """

    name: str
    tensors: Sequence[Tensor]
    needs: Sequence[str] | None = None


def stage(name: str, *tensors: Tensor, needs: Sequence[str] | None = None) -> Stage:
    return Stage(name, tensors, needs)


BESIDE: list[str] = []  # has an entry while `also` runs


def also(make: Callable[[], object]) -> None:
    """Make tensors that some right programs make, so that they are known as right.

    None of them is tried in the place of a wrong tensor.
    """
    BESIDE.append("beside")
    try:
        make()
    finally:
        BESIDE.pop()
