"""The syntax trees of programs, and the node at which a program was."""

import ast
import linecache
from functools import cache, cached_property
from types import CodeType
from typing import Any

NOTHING = ast.Module([], [])  # a node that was not found
Span = tuple[int | None, ...]  # first and last line, first and last column
NEUTRAL = {ast.Mult: 1, ast.Div: 1, ast.Pow: 1, ast.FloorDiv: 1, ast.Add: 0, ast.Sub: 0}
ACTING = ast.Call | ast.Await | ast.Yield | ast.YieldFrom
EITHER_SIDE = ast.Mult | ast.Add | ast.Pow | ast.Sub


@cache
def parsed(text: str) -> ast.AST:
    """Return the tree of a text; it is shared, so change copies of its nodes only."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return NOTHING


def tree_of(file: str) -> ast.AST:
    """Return the tree of a file or of a notebook's cell."""
    return parsed("".join(linecache.getlines(file)))


def span_of(node: ast.AST) -> Span:
    """Return the first and last line and column of a node."""
    names = ("lineno", "end_lineno", "col_offset", "end_col_offset")
    return tuple(getattr(node, name, None) for name in names)


def lines_of(node: ast.AST) -> tuple[int, int]:
    """Return the first and the last line of a node."""
    first = getattr(node, "lineno", 0)
    return first, getattr(node, "end_lineno", None) or first


def innermost(tree: ast.AST, line: int, *kinds: type[ast.AST]) -> ast.AST:
    """Return the innermost node of some kinds around a line; else the whole tree."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kinds) and lines_of(node)[0] <= line <= lines_of(node)[1]
    ]
    return around[-1] if around else tree


def names_in(node: ast.AST) -> list[str]:
    """Return the names in a node."""
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]


def assigned(
    function: ast.AST, name: str, above: int, unpacked: bool = False
) -> ast.expr | None:
    """Return the value that a name was set to last above a line; None if unknown.

    unpacked: whether it may be the value that several names are taken from.
    """
    found = [
        value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and lines_of(node)[1] < above
        for target in node.targets
        for part, value in paired(target, node.value, unpacked)
        if isinstance(part, ast.Name) and part.id == name
    ]
    return max(found, key=span_of, default=None)


def paired(
    target: ast.expr, value: ast.expr, unpacked: bool = False
) -> list[tuple[ast.expr, ast.expr]]:
    """Pair the names of `a, b = c, d` with the values that they are set to."""
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    if isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(each, value) for each in target.elts] if unpacked else []


def passes_on(tree: ast.AST, line: int) -> bool:
    """Whether a line only passes on what is made elsewhere in a file.

    It heads a block, returns a name, or calls what the file defines.
    """
    statement, made = innermost(tree, line, ast.stmt), set()
    match statement:
        case ast.Return(ast.Name()) | ast.For() | ast.While() | ast.With() | ast.If():
            return True
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name) | ast.ClassDef(name):
                made.add(name)
            case ast.Assign([ast.Name(name)], ast.Lambda()) | ast.For(ast.Name(name)):
                made.add(name)
    calls = (one.func for one in ast.walk(statement) if isinstance(one, ast.Call))
    names = {getattr(one, "attr", getattr(one, "id", "")) for one in calls}
    return bool(names & made)


def idle(text: str) -> int:
    """Count what does nothing: `x * 1`, `x + 0`, `1 ** x`, `--x`, `x = x`."""
    return sum(map(is_idle, ast.walk(ast.parse(text))))


def is_idle(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.UnaryOp) and type(node.op) is type(
            node.operand.op
        )
    if isinstance(node, ast.Expr):
        text = isinstance(getattr(node.value, "value", None), str)
        return not (isinstance(node.value, ACTING) or text)
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) == ast.unparse(node.value)
    if not isinstance(node, ast.BinOp):
        return isinstance(node, ast.Pass)
    number = NEUTRAL.get(type(node.op))
    sides = (
        [node.right, node.left] if isinstance(node.op, EITHER_SIDE) else [node.right]
    )
    return number is not None and any(
        isinstance(one, ast.Constant) and one.value == number for one in sides
    )


class Site:
    """Where a program was: a line of its code, and an instruction of it."""

    code: CodeType
    line: int
    instruction: int

    @property
    def span(self) -> Span:
        """The lines and columns of the instruction."""
        return list(self.code.co_positions())[self.instruction // 2]

    @cached_property
    def node(self) -> Any:
        """The expression or statement of the instruction; NOTHING if unknown."""
        tree = tree_of(self.code.co_filename)
        span = self.span
        found = [node for node in ast.walk(tree) if span_of(node) == span]
        return found[-1] if found else NOTHING

    @cached_property
    def function(self) -> ast.AST:
        """The innermost function around the line, or the whole file."""
        tree = tree_of(self.code.co_filename)
        return innermost(tree, self.line, ast.FunctionDef, ast.Lambda)

    @cached_property
    def statement(self) -> ast.AST:
        """The innermost statement around the line."""
        return innermost(tree_of(self.code.co_filename), self.line, ast.stmt)

    def last_value(self, name: str, unpacked: bool = False) -> ast.expr | None:
        """Return the value that a name was set to last above the statement.

        unpacked: whether it may be the value that several names are taken from.
        """
        above = lines_of(self.statement)[0]
        return assigned(self.function, name, above, unpacked)
