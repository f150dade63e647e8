"""The names and numbers in the text of a program at the place where it was."""

import ast
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from mygpt.check.locate.record import CodeSite
from mygpt.check.syntax import names_in

OF_NUMBERS = (
    *(ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop),
    *(ast.Load, ast.Tuple, ast.Call, ast.Attribute),
)


def name_written(place: CodeSite) -> str:
    """Return the name of a tensor that is modified; empty if it is no plain name."""
    node = place.node
    if isinstance(node, ast.AugAssign):
        node = node.target
    while isinstance(node, ast.Call | ast.Subscript | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def line_of_return(place: CodeSite) -> int | None:
    """Return the line of the last `return` in the function of a place."""
    lines = [
        node.lineno for node in ast.walk(place.function) if isinstance(node, ast.Return)
    ]
    return max(lines, default=None)


def used_elsewhere(place: CodeSite, name: str) -> bool:
    """Whether a name is read in another line of its function."""
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and node.lineno != place.line
        for node in ast.walk(place.function)
    )


def numbers_at(place: CodeSite) -> Iterator[tuple[ast.expr, Any]]:
    """Yield the expressions of numbers where a program was, each with its value.

    Their names stand for numbers, or they are of `math`.
    """
    for part in ast.walk(place.node):
        if isinstance(part, ast.expr) and names_in(part):
            with suppress(Exception):
                yield part, value_of(part, place.numbers)


def value_of(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Evaluate an expression of numbers; a ValueError if it is another."""
    for part in ast.walk(node):
        if not isinstance(part, OF_NUMBERS):
            raise ValueError(f"expected numbers alone, got {part}")
    code = compile(ast.Expression(node), "<numbers>", "eval")
    return eval(code, {"__builtins__": {}, "math": math}, dict(names))
