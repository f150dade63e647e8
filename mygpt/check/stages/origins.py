"""The line that set a number with which an operation went wrong."""

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from mygpt.check.stages.again import CannotBeDone, again
from mygpt.check.stages.record import Made, Place
from mygpt.check.stages.text import (
    assignment,
    is_argument,
    names_at,
    names_in,
    numbers_at,
    used_elsewhere,
    value_of,
)

WHOLE = range(-4, 49)  # other values of a whole number that are tried


def place_of_number(one: Made) -> Place | None:
    """Return the line in which a decimal number that is used was computed."""
    if one.place is None or one.call is None:
        return None
    for name in names_at(one.place):
        if name in one.place.numbers and (found := place_of_name(one.place, name)):
            return found
    return None


def place_of_name(place: Place, name: str) -> Place | None:
    """Return where a name was set, or where what it stands for was passed on."""
    if found := assignment(place, name):
        return replace(place, line=found.lineno)
    if not is_argument(place, name) or place.outer is None:
        return None
    known = place.numbers | place.plain
    outside = place.outer.numbers | place.outer.plain
    for each in names_at(place.outer):
        if each in outside and outside[each] == known[name]:
            return place_of_name(place.outer, each) or place.outer
    return place.outer


def place_of_whole(one: Made, is_right: Callable[[Tensor], bool]) -> Place | None:
    """Return the line of a whole number in whose place another makes a tensor right.

    Not one that was computed and is used elsewhere, for then its use is wrong; nor one
    with which an operation does nothing.
    """
    if one.place is None or one.call is None:
        return None
    for node, value in numbers_at(one.place):
        for name in names_in(node):
            if not isinstance(one.place.plain.get(name), int):
                continue
            found = assignment(one.place, name)
            if found is None:
                continue
            plain = isinstance(found, ast.Constant | ast.UnaryOp)
            if not plain and used_elsewhere(one.place, name):
                continue
            for args in others(one, node, name, value):
                with suppress(CannotBeDone):
                    found_right = again(one, {}, args)
                    if is_right(found_right) and not does_nothing(one, found_right):
                        return replace(one.place, line=found.lineno)
    return None


def place_of_shape(place: Place) -> Place:
    """Return where a tuple was set that a place speaks of, else the place."""
    for name in names_at(place):
        if isinstance(place.plain.get(name), tuple) and (
            found := assignment(place, name)
        ):
            return replace(place, line=found.lineno)
    return place


def does_nothing(one: Made, result: Tensor) -> bool:
    return any(
        each.value.shape == result.shape and torch.allclose(each.value, result)
        for each in one.inputs
        if each.value.dtype == result.dtype
    )


def others(one: Made, node: ast.expr, name: str, value: Any) -> Iterator[list]:
    """Yield the arguments of an operation, with other values of a name in a number."""
    assert one.place is not None
    assert one.call is not None
    _, args, _ = one.call
    known = one.place.plain | one.place.numbers
    for whole in WHOLE:
        if whole == known[name]:
            continue
        with suppress(Exception):
            other = value_of(node, known | {name: whole})
            changed = with_number(args, value, other)
            if changed != args:
                yield changed


def with_number(args: Any, old: Any, new: Any) -> Any:
    if isinstance(args, list):
        return [with_number(part, old, new) for part in args]
    same = isinstance(args, int | float) and not isinstance(args, bool) and args == old
    return new if same else args
