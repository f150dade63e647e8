"""Checks of what an explorer is given: each returns it as the explorer holds it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import traitlets

from mygpt.explorers.kit.numbers import Numbers
from mygpt.explorers.kit.text import count


def finite_array(
    name: str, array: Numbers, shape: Sequence[int] | None = None
) -> np.ndarray:
    """Return `array` as float64 numbers, all finite; with `shape`, of that shape."""
    numbers = real_array(name, array, shape)
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} must hold finite numbers, got {_first_strange(numbers)}"
        )
    return numbers


def real_array(
    name: str, array: Numbers, shape: Sequence[int] | None = None
) -> np.ndarray:
    """Return `array` as float64 numbers; with `shape`, of that shape."""
    if hasattr(array, "detach"):
        array = array.detach()  # a tensor whose gradient is not needed here
    try:
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    if shape is not None and numbers.shape != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {numbers.shape}")
    return numbers


def one_row(name: str, array: Numbers, low: int, high: int) -> np.ndarray:
    """Return `array` as `low` to `high` finite float64 numbers in one row."""
    numbers = finite_array(name, array)
    if numbers.ndim != 1 or not low <= len(numbers) <= high:
        raise ValueError(
            f"{name} must be {low} to {high} numbers in one row, "
            f"got shape {numbers.shape}"
        )
    return numbers


def _first_strange(numbers: np.ndarray) -> str:
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
    where = ", ".join(map(str, place))
    return f"{numbers[place]}{where and f' at index {where}'}"


def check_names(name: str, names: Iterable[str], most: int) -> tuple[str, ...]:
    """Return `names` as a tuple of 1 to `most` different, non-empty strings."""
    names = (names,) if isinstance(names, str) else tuple(names)
    good = all(isinstance(one, str) and one.strip() for one in names)
    if not good or len(set(names)) != len(names) or not 1 <= len(names) <= most:
        raise ValueError(
            f"{name} must be 1 to {most} different names, got {list(names)}"
        )
    return names


def check_member(name: str, value, choices: Sequence):
    """Return the member of `choices` that equals `value`."""
    for one in choices:
        if one == value:
            return one
    raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}")


def check_members(name: str, values: Iterable, choices: Sequence) -> list:
    """Return `values`, all of which must be members of `choices`."""
    return [check_member(name, value, choices) for value in values]


def check_subset(name: str, values: Iterable[str], choices: Sequence[str]) -> list[str]:
    """Return `values` in the order of `choices`, which must hold all of them."""
    values = [values] if isinstance(values, str) else list(values)
    unknown = [value for value in values if value not in choices]
    if unknown:
        raise ValueError(f"{name} must be among {list(choices)}, got {unknown[0]!r}")
    return [one for one in choices if one in values]


def check_index(name: str, index: int, length: int) -> int:
    """Return `index` if it lies within something of that length, counted from 0."""
    if not 0 <= index < length:
        raise ValueError(f"{name} must be 0 to {length - 1}, got {index}")
    return index


def check_span(name: str, number: int, low: int, high: int) -> int:
    """Return `number` if it lies within a span."""
    if not low <= number <= high:
        raise ValueError(f"{name} must be {low} to {high:,}, got {number}")
    return number


def check_tokens(name: str, tokens: Iterable[str], length: int) -> list[str]:
    """Return `tokens` as a list of `length` strings, which may repeat."""
    given = [tokens] if isinstance(tokens, str) else list(tokens)
    strange = [one for one in given if not isinstance(one, str)]
    if strange or len(given) != length:
        got = f"{strange[0]!r} among them" if strange else str(len(given))
        raise ValueError(f"{name} must be {count(length, 'string')}, got {got}")
    return given


def check_keys(what: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Refuse keys that are not exactly those that a kind of thing has."""
    odd = [name for name in given if name not in names]
    missing = [name for name in names if name not in given]
    if odd or missing:
        which = f"no {odd[0]!r} is known" if odd else f"{missing[0]!r} is missing"
        raise ValueError(f"{what} {list(names)}: {which}")


def check_whole(name: str, value: object, low: int, high: int) -> int:
    """Return `value` if it is a whole number in that span."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not low <= value <= high:
        span = f"from {low} to {high:,}"
        raise ValueError(f"{name} must be a whole number {span}, got {value!r}")
    return value


def check_above_zero(name: str, value: object, largest: float) -> float:
    """Return `value` if it is a number above 0 and at most the largest."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= largest:
        raise ValueError(
            f"{name} must be above 0 and at most {largest:g}, got {value!r}"
        )
    return float(value)


def checked(**traits: tuple | Callable) -> traitlets.traitlets.ValidateHandler:
    """Validate traits of an explorer, each by a check of this module and its limits.

    A limit that follows from the explorer is a function of it, and so may the check be.
    """

    @traitlets.validate(*traits)
    def check(self, proposal) -> Any:
        name = proposal["trait"].name
        given = traits[name]
        of_one, *limits = given if isinstance(given, tuple) else (given(self),)
        limits = [each(self) if callable(each) else each for each in limits]
        return of_one(name, proposal["value"], *limits)

    return check
