"""What the text of a program tells of the place at which it was."""

import ast
import linecache
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from mygpt.check.crashes.place import parsed
from mygpt.check.stages.record import Place

OF_NUMBERS = (
    *(ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop),
    *(ast.Load, ast.Tuple, ast.Call, ast.Attribute),
)
SPAN = ("lineno", "end_lineno", "col_offset", "end_col_offset")


def tree_at(place: Place) -> ast.AST:
    return parsed("".join(linecache.getlines(place.file)))


def function_at(place: Place) -> ast.AST:
    """Return the innermost function around a line, or the whole file."""
    tree = tree_at(place)
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.Lambda)
        and node.lineno <= place.line <= (node.end_lineno or node.lineno)
    ]
    return around[-1] if around else tree


def node_at(place: Place) -> ast.AST | None:
    """Return the expression or statement at which a program was."""
    span = list(place.code.co_positions())[place.instruction // 2]
    for node in ast.walk(function_at(place)):
        if tuple(getattr(node, name, None) for name in SPAN) == span:
            return node
    return None


def names_at(place: Place) -> list[str]:
    """Return the names in the expression at which a program was."""
    node = node_at(place)
    return names_in(node) if node else []


def names_in(node: ast.AST) -> list[str]:
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]


def name_written(place: Place) -> str:
    """Return the name of what a line writes to; nothing if that is no plain name."""
    for node in ast.walk(function_at(place)):
        if getattr(node, "lineno", 0) != place.line:
            continue
        if isinstance(node, ast.AugAssign):
            return base_of(node.target)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            return base_of(node.targets[0])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return base_of(node.func.value)
    return ""


def base_of(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def assignment(place: Place, name: str, unpacked: bool = False) -> ast.expr | None:
    """Return to what a name was set last above a line of its function.

    unpacked: whether that may be what several names are taken from.
    """
    found = [
        value
        for node in ast.walk(function_at(place))
        if isinstance(node, ast.Assign) and node.lineno < place.line
        for target in node.targets
        for part, value in paired(target, node.value, unpacked)
        if isinstance(part, ast.Name) and part.id == name
    ]
    return max(found, key=lambda value: value.lineno, default=None)


def paired(
    target: ast.expr, value: ast.expr, unpacked: bool
) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    if isinstance(target, ast.Tuple) and unpacked:
        return [(each, value) for each in target.elts]
    return [(target, value)]


def line_of_return(place: Place) -> int | None:
    lines = [
        node.lineno
        for node in ast.walk(function_at(place))
        if isinstance(node, ast.Return)
    ]
    return max(lines, default=None)


def is_argument(place: Place, name: str) -> bool:
    return name in place.code.co_varnames[: place.code.co_argcount]


def used_elsewhere(place: Place, name: str) -> bool:
    """Whether a name is read in another line of its function."""
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and node.lineno != place.line
        for node in ast.walk(function_at(place))
    )


def numbers_at(place: Place) -> Iterator[tuple[ast.expr, Any]]:
    """Yield the expressions of numbers where a program was, each with its value.

    Only names that stood for numbers are in them, and what `math` has.
    """
    node = node_at(place)
    for part in ast.walk(node) if node else ():
        if isinstance(part, ast.expr) and names_in(part):
            with suppress(Exception):
                yield part, value_of(part, place.plain | place.numbers)


def value_of(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Evaluate an expression of numbers; a ValueError if it is another."""
    for part in ast.walk(node):
        if not isinstance(part, OF_NUMBERS):
            raise ValueError(f"expected numbers alone, got {part}")
    code = compile(ast.Expression(node), "<numbers>", "eval")
    return eval(code, {"__builtins__": {}, "math": math}, dict(names))
