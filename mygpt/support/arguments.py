"""Checks of arguments; each message says what was expected and what it got.

The limits come first, then the values by keyword: the keyword is the name in the
message. `check_range(0, 1, dropout=dropout)`, `check_choice(NORMS, norm=norm)`.
"""

import math
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np
import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")
LEAST, MOST = -(2**63), 2**64 - 1  # seeds that PyTorch accepts


def check_positive(**values: object) -> None:
    """Raise a ValueError unless every named value is a whole number of at least 1."""
    check_whole(1, **values)


def check_whole(least: int, **values: object) -> None:
    """Raise a ValueError unless every named value is a whole number from `least` up."""
    wanted = f"a whole number of at least {least}"
    check_each(values, lambda x: is_whole(x) and as_number(x) >= least, wanted)


def check_each(values: dict, holds: Callable[[Any], bool], wanted: str) -> None:
    """Raise a ValueError that names the first value of which a test does not hold."""
    for name, value in values.items():
        if not holds(value):
            raise ValueError(f"{name} must be {wanted}, got {value!r}")


def named(config: object, *names: str) -> dict[str, Any]:
    """Return fields of a config by their names, for a check of several."""
    return {name: getattr(config, name) for name in names}


def check_seed(seed: object) -> int:
    """Return the seed if it is a whole number that PyTorch accepts."""
    number = as_number(seed)
    if not is_whole(number) or not LEAST <= number <= MOST:
        raise ValueError(f"seed must be a 64-bit whole number, got {seed!r}")
    return number


def check_flags(**values: object) -> None:
    """Raise a ValueError unless every named value is True or False."""
    check_each(values, lambda x: isinstance(as_number(x), bool), "True or False")


def check_range(low: int | float, high: int | float, **values: object) -> None:
    """Raise a ValueError unless every named value is finite, from `low` to `high`."""

    def holds(value: Any) -> bool:
        return is_real(value) and low <= value <= high and value != math.inf

    check_each(values, holds, f"from {low} to {high}")


def check_below_one(**values: object) -> None:
    """Raise a ValueError unless every named value is at least 0 and below 1."""
    wanted = "at least 0 and below 1"
    check_each(values, lambda x: is_real(x) and 0 <= x < 1, wanted)


def check_above_zero(**values: object) -> None:
    """Raise a ValueError unless every named value is finite and above 0."""
    check_each(values, lambda x: is_real(x) and 0 < x < math.inf, "above 0")


def as_number(value: Any) -> Any:
    """A scalar of NumPy or PyTorch as Python's own number; any other value as it is."""
    scalar = isinstance(value, np.generic | np.ndarray | Tensor) and value.ndim == 0
    return value.item() if scalar and str(value.device) != "meta" else value


def takes_numbers(function: Callable[P, R]) -> Callable[P, R]:
    """Give a function that takes no tensors Python's own numbers for all scalars."""

    @wraps(function)
    def with_numbers(*args: P.args, **kwargs: P.kwargs) -> R:
        named = {name: as_number(value) for name, value in kwargs.items()}
        return function(*map(as_number, args), **named)

    return with_numbers


def store_numbers(config: Any) -> None:
    """Let every field of a frozen dataclass hold Python's own numbers, fit for JSON."""
    for name, value in list(vars(config).items()):
        if isinstance(value, np.ndarray | Tensor):
            value = value.tolist()
        if isinstance(value, tuple | list):
            value = type(value)(map(as_number, value))
        object.__setattr__(config, name, as_number(value))


def is_whole(value: object) -> TypeGuard[int]:
    """Whether `value` is a whole number; True and False are not."""
    value = as_number(value)
    return isinstance(value, int) and not isinstance(value, bool)


def is_real(value: object) -> TypeGuard[int | float]:
    """Whether `value` is a number; True and False are not."""
    value = as_number(value)
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_divisible(**values: int) -> None:
    """Raise a ValueError unless the first of two values is divisible by the other.

    `check_divisible(embed_dim=768, num_heads=12)`: the channels divide into heads.
    """
    (whole, a), (part, b) = values.items()
    if a % b:
        raise ValueError(f"expected {whole} divisible by {part}, got {a} and {b}")


def check_choice(choices: Iterable[str], **values: str) -> None:
    """Raise a ValueError unless every named value is one of `choices`."""
    for name, value in values.items():
        if value not in choices:
            known = ", ".join(choices)
            raise ValueError(f"{name} must be one of {known}; got {value!r}")


def check_axes(x: Tensor, axes: str) -> None:
    """Raise a ValueError unless `x` has the named axes, such as "B T C"."""
    names = axes.split()
    if x.ndim != len(names):
        raise ValueError(f"expected ({', '.join(names)}), got {tuple(x.shape)}")


def as_ids(ids: Tensor) -> Tensor:
    """Ids of any type of whole numbers in the type that an embedding takes."""
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise ValueError(f"expected whole numbers as ids, got {ids.dtype}")
    return ids.long()


def check_ids(ids: Tensor | np.ndarray, vocab_size: int) -> None:
    """Raise a ValueError unless every id is in the vocabulary."""
    if 0 in ids.shape:
        return
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= vocab_size:
        raise ValueError(
            f"expected ids from 0 to {vocab_size - 1}, got {low} to {high}"
        )


def check_last_axis(x: Tensor, **widths: int) -> None:
    """Raise a ValueError unless the last axis of `x` has the named width."""
    ((name, width),) = widths.items()
    if x.ndim == 0 or x.shape[-1] != width:
        raise ValueError(
            f"expected a last axis of {name} = {width}, got shape {tuple(x.shape)}"
        )


def check_length(length: int, max_seq_len: int) -> None:
    """Raise a ValueError when a sequence is longer than max_seq_len."""
    if length > max_seq_len:
        raise ValueError(
            f"expected at most max_seq_len = {max_seq_len} positions, got {length}"
        )
