"""Slips that are visible in the source of a program."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from types import FunctionType
from typing import Any

from mygpt.check import syntax
from mygpt.check.pure import BUILTINS, TENSOR_CALLS
from mygpt.check.syntax import paired
from mygpt.check.task import Program

Loop = ast.For | ast.While

# Methods of a tensor that make a new one, but for those that change a list, a set or a
# module.
MAKE_NEW = TENSOR_CALLS - {"add", "bool", "double", "float", "int", "sort", "to"}
OPEN = ast.List | ast.Dict | ast.Set
CHANGING = {"append", "extend", "insert", "add", "update", "setdefault", "pop"}
READ = {"items", "keys", "values", "get", "count"}


def slips(program: Program) -> list[str]:
    """Tell of a `return` in a loop and of lines without effect, at most two.

    Nothing where the source is not known.
    """
    return [text for text, _ in slips_with_lines(program)]


def slips_with_lines(program: Program) -> list[tuple[str, int]]:
    """Tell of such slips, each with its line."""
    tree = tree_of(program)
    if not isinstance(program, FunctionType) or tree is None:
        return []
    above = program.__code__.co_firstlineno - 1
    known: dict[str, Any] = {}
    with suppress(ValueError):  # a variable of an outer function has no value yet
        around = inspect.getclosurevars(program)
        known = {**around.globals, **around.nonlocals}
    found = [*early_returns(tree), *thrown_away(tree, known)][:2]
    return [(text, above + line) for text, line in found]


def tree_of(program: Any) -> ast.FunctionDef | None:
    """Return the syntax tree of a function; None if its source is not known."""
    try:
        text = textwrap.dedent(inspect.getsource(program))
        (tree,) = ast.parse(text).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def last_line(program: Any) -> int | None:
    """Return the first line of a function's last statement."""
    tree = tree_of(program)
    return tree and program.__code__.co_firstlineno + tree.body[-1].lineno - 1


def only_line(program: Any, pattern: str) -> int | None:
    """Return the line of a function in which a pattern is, if it is a single one."""
    with suppress(OSError, TypeError):
        lines, first = inspect.getsourcelines(program)
        found = [i for i, one in enumerate(lines) if re.search(pattern, one)]
        return max(first, 1) + found[0] if len(found) == 1 else None
    return None


def early_returns(tree: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Loops that end in their first round, by a `return` that no `if` guards."""
    for loop in ast.walk(tree):
        if not isinstance(loop, Loop) or not isinstance(loop.body[-1], ast.Return):
            continue
        if any(isinstance(part, ast.Continue) for part in ast.walk(loop)):
            continue
        head = ast.unparse(loop).splitlines()[0]
        yield (
            f"`{ast.unparse(loop.body[-1])}` stands inside the loop `{head}`, which so "
            "ends in its first round: is it indented too far?",
            loop.body[-1].lineno,
        )


def kept_between_calls(program: Program) -> tuple[str, int] | None:
    """Tell of a list or the like that every call changes, with its line.

    It is a default, or stands outside the functions of the program's file.
    """
    code = getattr(inspect.unwrap(program), "__code__", None)
    tree = syntax.tree_of(code.co_filename) if code else syntax.NOTHING
    for name, value, owner in made_once(tree):
        inside = {each for part in ast.walk(owner) for each in changed_by(part)}
        if name in inside - bound_in(owner, name):
            return KEPT.format(f"{name} = {ast.unparse(value)}"), value.lineno
    return None


KEPT = "`{}` is made once, and every call changes the same: make it in the function."


def made_once(tree: ast.AST) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """Yield lists and the like that are no call's own: name, value, and who has it."""
    for node in getattr(tree, "body", ()):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
            node.value, OPEN
        ):
            targets = getattr(node, "targets", None) or [node.target]
            for name in syntax.names_in(ast.Tuple(targets)):
                yield name, node.value, tree
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = node.args
            last = given.args[len(given.args) - len(given.defaults) :]
            for argument, default in zip(last, given.defaults, strict=True):
                if isinstance(default, OPEN):
                    yield argument.arg, default, node


def bound_in(owner: ast.AST, name: str) -> set[str]:
    """The name itself, if a function sets it anew; `name += …` changes a list."""
    inside = [
        part
        for one in ast.walk(owner)
        if isinstance(one, ast.FunctionDef)
        for part in ast.walk(one)
    ]
    added = {part.target for part in inside if isinstance(part, ast.AugAssign)}
    stored = {
        part.id
        for part in inside
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        if part not in added
    }
    return stored & {name}


def changed_by(part: ast.AST) -> Iterator[str]:
    """Yield the names of lists and dictionaries that a part of a function changes."""
    match part:
        case ast.Call(ast.Attribute(ast.Name(name), attr)) if attr in CHANGING:
            yield name
        case ast.Subscript(ast.Name(name), ctx=ast.Store()):
            yield name
        case ast.AugAssign(ast.Name(name)):
            yield name


def thrown_away(
    tree: ast.FunctionDef, known: dict[str, Any]
) -> Iterator[tuple[str, int]]:
    """Tell of calls whose new result nothing keeps, and of methods not called."""
    for statement in ast.walk(tree):
        match statement:
            case ast.Expr(ast.Attribute() as method):
                yield (
                    f"`{ast.unparse(method)}` alone on a line does nothing: a call "
                    f"needs brackets, `{ast.unparse(method)}()`.",
                    statement.lineno,
                )
                continue
            case ast.Expr(ast.BinOp() | ast.Compare() as idle):
                yield (
                    f"`{ast.unparse(idle)}` alone on a line does nothing: its value is "
                    "kept nowhere.",
                    statement.lineno,
                )
                continue
            case ast.Expr(ast.Call(ast.Attribute(attr="no_grad") as function)):
                yield (
                    f"`{ast.unparse(function)}()` alone on a line does nothing: it "
                    "needs `with`, and what it is for indented below it.",
                    statement.lineno,
                )
                continue
            case ast.Expr(ast.Call(ast.Attribute(attr=name)) as call):
                new = name in MAKE_NEW
            case ast.Expr(ast.Call(ast.Name(name)) as call):
                new = only_returns(known.get(name))
            case _:
                continue
        if new:
            yield (
                f"The result of `{ast.unparse(call)}` is thrown away: it makes "
                "something new and changes nothing.",
                call.lineno,
            )


def only_returns(function: Any) -> bool:
    """Whether a function of Python returns something and changes no argument."""
    tree = tree_of(function) if isinstance(function, FunctionType) else None
    parts = list(ast.walk(tree)) if tree else []
    returned = any(isinstance(part, ast.Return) and part.value for part in parts)
    return returned and not any(changes(part, tree) for part in parts)


def changes(part: ast.AST, tree: ast.FunctionDef) -> bool:
    """Whether a part of a function may change something that is not its own."""
    match part:
        case ast.Global() | ast.Nonlocal() | ast.Yield() | ast.YieldFrom():
            return True
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            return True
        case ast.AugAssign(target=ast.Name(name)):
            return name in {argument.arg for argument in tree.args.args}
        case ast.Call(ast.Name(name)):
            return name not in BUILTINS
        case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()) | ast.Call(
            ast.Attribute(owner, "append" | "extend" | "insert")
        ):
            return getattr(owner, "id", None) not in own_lists(tree)
        case ast.Call(ast.Attribute(attr=name)):
            return name not in MAKE_NEW | READ
    return isinstance(part, ast.Call)


def own_lists(tree: ast.FunctionDef) -> set[str]:
    """Names that a function sets to a new list, dictionary or set, and to no other."""
    found, others = set(), {argument.arg for argument in tree.args.args}
    for part in ast.walk(tree):
        for target in part.targets if isinstance(part, ast.Assign) else ():
            for name, value in paired(target, part.value):
                if isinstance(name, ast.Name):
                    new = isinstance(value, ast.List | ast.Dict | ast.Set)
                    (found if new else others).add(name.id)
    return found - others
