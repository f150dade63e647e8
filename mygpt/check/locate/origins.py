"""The line that set a number with which an operation goes wrong."""

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mygpt.check.locate.again import CannotBeDone, again
from mygpt.check.locate.record import CodeSite, Made
from mygpt.check.locate.text import numbers_at, used_elsewhere, value_of
from mygpt.check.syntax import names_in, tree_of
from mygpt.check.tree import mapped, parts_of

WHOLE = range(-4, 49)  # other values of a whole number that are tried


def place_of_number(one: Made) -> CodeSite | None:
    """Return the line in which a decimal number that is used was computed."""
    if one.place is None or one.call is None:
        return None
    for name in names_in(one.place.node):
        decimal = isinstance(one.place.numbers.get(name), float)
        if decimal and (found := place_of_name(one.place, name)):
            return found
    return place_of_constant(one)


def place_of_constant(one: Made) -> CodeSite | None:
    """Return where an attribute, a global name or a default was set to a number.

    Only if the operation was given that number.
    """
    assert one.place is not None
    assert one.call is not None
    given = {leaf for leaf in parts_of(one.call[1], float) if leaf not in (0.0, 1.0)}
    for node in ast.walk(one.place.node):
        name = getattr(node, "attr", getattr(node, "id", None))
        for value in set_to(tree_of(one.place.file), name):
            with suppress(ValueError, TypeError):  # no number, as it stands there
                if ast.literal_eval(value) in given:
                    return replace(one.place, line=value.lineno)
    return None


def set_to(tree: ast.AST, name: str | None) -> Iterator[ast.expr]:
    """Yield what a name or an attribute is set to in a file, as a default too."""
    for node in ast.walk(tree):
        for target in getattr(node, "targets", ()):
            if name in (getattr(target, "attr", ""), getattr(target, "id", "")):
                yield node.value
        if isinstance(node, ast.arguments):
            last = node.args[len(node.args) - len(node.defaults) :]
            for argument, default in zip(last, node.defaults, strict=True):
                if argument.arg == name:
                    yield default


def place_of_name(place: CodeSite, name: str) -> CodeSite | None:
    """Return where a name was set, or where its number was passed on."""
    if found := place.last_value(name):
        return replace(place, line=found.lineno)
    outer = place.outer
    if name not in place.arguments or outer is None:
        return None
    for each in names_in(outer.node):
        if each in outer.numbers and outer.numbers[each] == place.numbers[name]:
            return place_of_name(outer, each) or outer
    return outer


def place_of_whole(one: Made, is_right: Callable[[Tensor], bool]) -> CodeSite | None:
    """Return the line of a whole number in whose place another makes a tensor right.

    A number that was computed and is used elsewhere does not count, for then its use is
    wrong; nor does a number with which an operation does nothing.
    """
    if one.place is None or one.call is None:
        return None
    for node, value in numbers_at(one.place):
        for name in names_in(node):
            found = one.place.last_value(name)
            if found is None or not isinstance(one.place.numbers.get(name), int):
                continue
            plain = isinstance(found, ast.Constant | ast.UnaryOp)
            if not plain and used_elsewhere(one.place, name):
                continue
            for args in others(one, node, name, value):
                with suppress(CannotBeDone):
                    result = again(one, {}, args)
                    if is_right(result) and not does_nothing(one, result):
                        return replace(one.place, line=found.lineno)
    return None


def place_of_shape(place: CodeSite) -> CodeSite:
    """Return where a tuple was set that a place uses, else the place."""
    for name in names_in(place.node):
        found = place.last_value(name)
        if found and isinstance(place.numbers.get(name), tuple):
            return replace(place, line=found.lineno)
    return place


def does_nothing(one: Made, result: Tensor) -> bool:
    return any(
        each.value.shape == result.shape and torch.allclose(each.value, result)
        for each in one.inputs
        if each.value.dtype == result.dtype
    )


def others(one: Made, node: ast.expr, name: str, value: Any) -> Iterator[tuple]:
    """Yield the arguments of an operation, with other values of a name in a number."""
    assert one.place is not None
    assert one.call is not None
    _, args, _ = one.call
    known = one.place.numbers
    for whole in WHOLE:
        with suppress(Exception):
            other = value_of(node, known | {name: whole})
            changed = mapped(partial(exchanged, value, other), args)
            if whole != known[name] and changed != args:
                yield changed


def exchanged(old: Any, new: Any, leaf: Any) -> Any:
    """Return a new number for an old one; any other leaf as it is."""
    number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
    return new if number and leaf == old else leaf
