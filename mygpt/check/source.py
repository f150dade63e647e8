"""Slips that stand in a program's text, whatever it computes."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from types import CellType, FunctionType
from typing import Any

from mygpt.check.task import Program

Loop = ast.For | ast.While

# Methods of a tensor, and functions of torch, that make a new one.
MAKE_NEW = (
    "masked_fill", "softmax", "log_softmax", "transpose", "permute", "view", "reshape",
    "unsqueeze", "squeeze", "flatten", "tril", "triu", "clamp", "cumsum", "scatter",
    "expand", "contiguous",
)  # fmt: skip
FILL = ("append", "extend", "insert")  # methods that change a list
READ = ("items", "keys", "values", "get", "count", "index")
PURE = (
    "len", "range", "tuple", "list", "dict", "set", "min", "max", "sum", "zip", "int",
    "enumerate", "sorted", "reversed", "isinstance", "float", "str", "bool", "abs",
)  # fmt: skip


def slips(program: Program) -> list[str]:
    """Tell of a `return` in a loop and of lines without effect, at most two.

    Nothing where the source is not known.
    """
    tree = tree_of(program)
    if not isinstance(program, FunctionType) or tree is None:
        return []
    cells = zip(program.__code__.co_freevars, program.__closure__ or (), strict=False)
    around = {name: cell.cell_contents for name, cell in cells if holds(cell)}
    known = {**program.__globals__, **around}
    return [*early_returns(tree), *thrown_away(tree, known)][:2]


def holds(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # nothing yet
        return False


def tree_of(program: Any) -> ast.FunctionDef | None:
    try:
        text = textwrap.dedent(inspect.getsource(program))
        (tree,) = ast.parse(text).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def early_returns(tree: ast.FunctionDef) -> Iterator[str]:
    """Loops that end in their first round, by a `return` that no `if` guards."""
    for loop in ast.walk(tree):
        if not isinstance(loop, Loop) or not isinstance(loop.body[-1], ast.Return):
            continue
        if any(isinstance(part, ast.Continue) for part in ast.walk(loop)):
            continue
        head = ast.unparse(loop).splitlines()[0]
        yield (
            f"`{ast.unparse(loop.body[-1])}` stands inside the loop `{head}`, which so "
            "ends in its first round: is it indented too far?"
        )


def thrown_away(tree: ast.FunctionDef, known: dict[str, Any]) -> Iterator[str]:
    """Calls that only make something new, which nothing keeps, and methods uncalled."""
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.Expr):
            continue
        call = statement.value
        if isinstance(call, ast.Attribute):
            yield (
                f"`{ast.unparse(call)}` alone on a line does nothing: a call needs "
                f"brackets, `{ast.unparse(call)}()`."
            )
        if not isinstance(call, ast.Call):
            continue
        function = call.func
        if isinstance(function, ast.Attribute):
            new = function.attr in MAKE_NEW
        elif isinstance(function, ast.Name):
            new = only_returns(known.get(function.id))
        else:
            new = False
        if new:
            yield (
                f"The result of `{ast.unparse(call)}` is thrown away: it makes "
                "something new and changes nothing."
            )


def only_returns(function: Any) -> bool:
    """Whether a function of Python returns something and changes no argument."""
    tree = tree_of(function) if isinstance(function, FunctionType) else None
    if tree is None:
        return False
    returned = False
    for part in ast.walk(tree):
        if isinstance(part, ast.Return) and part.value is not None:
            returned = True
        if changes(part, tree):
            return False
    return returned


def changes(part: ast.AST, tree: ast.FunctionDef) -> bool:
    """Whether a part of a function may change something that is not its own."""
    if isinstance(part, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom):
        return True
    if isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load):
        return True
    if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
        return not is_own(part.value, tree)
    if isinstance(part, ast.AugAssign):
        parameters = {argument.arg for argument in tree.args.args}
        return isinstance(part.target, ast.Name) and part.target.id in parameters
    if not isinstance(part, ast.Call):
        return False
    if isinstance(part.func, ast.Name):
        return part.func.id not in PURE
    if not isinstance(part.func, ast.Attribute):
        return True
    if part.func.attr in FILL:
        return not is_own(part.func.value, tree)
    return part.func.attr not in (*MAKE_NEW, *READ)


def is_own(node: ast.AST, tree: ast.FunctionDef) -> bool:
    return isinstance(node, ast.Name) and node.id in own_lists(tree)


def own_lists(tree: ast.FunctionDef) -> set[str]:
    """Names that a function sets to a new list, dictionary or set."""
    found, others = set(), {argument.arg for argument in tree.args.args}
    for part in ast.walk(tree):
        if isinstance(part, ast.Assign):
            for target, value in pairs(part):
                if isinstance(target, ast.Name):
                    new = isinstance(value, ast.List | ast.Dict | ast.Set)
                    (found if new else others).add(target.id)
    return found - others


def pairs(statement: ast.Assign) -> Iterator[tuple[ast.AST, ast.AST]]:
    for target in statement.targets:
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            yield from zip(target.elts, statement.value.elts, strict=False)
        else:
            yield target, statement.value
