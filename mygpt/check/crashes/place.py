"""Where a reader's program stopped: the expression, and what stood in it.

Only what can change nothing is evaluated again: names, indices, and functions of
PyTorch that make a new tensor.
"""

import ast
import builtins
import linecache
import re
from collections.abc import Iterator
from functools import cache, cached_property
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

import torch
from torch import Tensor

from mygpt.check.errors import is_ours, is_readers

# Methods of a tensor, and functions of torch, that only compute.
PURE = re.compile(
    r"a?max|a?min|arange|arg(max|min|sort)|bool|double|float|int|long|to|type_as|"
    r"broadcast_to|cat|chunk|split|stack|unbind|clone|contiguous|detach|clamp|diff|dim|"
    r"numel|size|item|diagonal|flip|expand|repeat|eye|full|(new_)?(ones|zeros)|ones_like|"
    r"zeros_like|embedding|one_hot|linear|matmul|b?mm|mv|outer|(un)?flatten|(un)?squeeze|"
    r"reshape|view|movedim|permute|swapaxes|transpose|t|masked_fill|where|tril|triu|"
    r"abs|cos|sin|exp|log|neg|pow|reciprocal|r?sqrt|square|erf|gelu|relu|sigmoid|tanh|"
    r"(log_)?softmax|logsumexp|cumsum|sort|topk|mean|median|norm|prod|std|sum|sub|var"
)
EVALUATED = (
    *(ast.Load, ast.Store, ast.Name, ast.Constant, ast.Attribute, ast.Subscript),
    *(ast.Slice, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.Call, ast.keyword),
    *(ast.operator, ast.unaryop, ast.Compare, ast.cmpop, ast.Starred),
)
MODULES = ("torch", "torch.nn.functional")
NOTHING = ast.Module([], [])  # an expression that was not found
SHORT = 40  # letters of code that are quoted in a sentence


class NotKnown(Exception):
    """An expression that is not evaluated, or cannot be."""


class Place:
    """The reader's innermost frame under an error, and the expression that it was at.

    entered: whether there is one; if not, this is the innermost frame of all.
    given: whether the error arose further in, in a function that the check gave.
    """

    def __init__(
        self, frame: FrameType, instruction: int, entered: bool, given: bool
    ) -> None:
        self.frame, self.entered, self.given = frame, entered, given
        self.position = position_of(frame.f_code, instruction)
        self.line = self.position[0] or frame.f_lineno
        self.known = {**frame.f_globals, **frame.f_locals}

    @cached_property
    def tree(self) -> ast.AST:
        """The file, or the notebook's cell, that the program was written in."""
        return parsed("".join(linecache.getlines(self.frame.f_code.co_filename)))

    @cached_property
    def node(self) -> ast.AST:
        """The expression at which the program stopped; an empty one if unknown."""
        found = [node for node in ast.walk(self.tree) if span(node) == self.position]
        return found[-1] if found else NOTHING

    @cached_property
    def function(self) -> ast.AST:
        return self.smallest(ast.FunctionDef, ast.Lambda)

    @cached_property
    def statement(self) -> ast.AST:
        return self.smallest(ast.stmt)

    def smallest(self, *kinds: type[ast.AST]) -> ast.AST:
        """Return the innermost node of some kinds around the line."""
        around = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, kinds) and lines_of(node)[0] <= self.line
            if self.line <= lines_of(node)[1]
        ]
        return around[-1] if around else self.tree

    def value(self, node: ast.AST) -> Any:
        """Evaluate an expression where the program stopped; NotKnown if it may act."""
        if not isinstance(node, ast.expr):
            raise NotKnown
        for part in ast.walk(node):
            if not isinstance(part, EVALUATED):
                raise NotKnown
            if isinstance(part, ast.Call):
                self.check_call(part)
        try:
            with torch.no_grad():
                return eval(ast.unparse(node), self.known)
        except Exception:
            raise NotKnown from None

    def check_call(self, call: ast.Call) -> None:
        """Allow what only computes: of tensors, PyTorch's own modules, `min(a, b)`."""
        function = call.func
        if isinstance(function, ast.Name) and len(call.args) > 1:
            chosen = self.known.get(function.id, getattr(builtins, function.id, None))
            if chosen in (builtins.min, builtins.max):
                return
        if not isinstance(function, ast.Attribute):
            raise NotKnown
        if not PURE.fullmatch(function.attr):
            raise NotKnown
        owner = self.value(function.value)
        module = isinstance(owner, ModuleType) and owner.__name__ in MODULES
        if not module and not isinstance(owner, Tensor):
            raise NotKnown

    def tensor(self, node: ast.AST) -> Tensor | None:
        """Evaluate an expression, if it gives a tensor and did so when it was run."""
        if self.is_stale(node):
            return None
        try:
            value = self.value(node)
        except NotKnown:
            return None
        return value if isinstance(value, Tensor) else None

    def is_stale(self, node: ast.AST) -> bool:
        """Whether a name in an earlier expression has been set since."""
        if lines_of(self.statement)[0] <= lines_of(node)[0]:
            return False
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        return any(
            isinstance(part, ast.Name)
            and isinstance(part.ctx, ast.Store)
            and part.id in names
            and lines_of(node)[0] <= part.lineno < lines_of(self.statement)[0]
            for part in ast.walk(self.function)
        )

    def function_of(self, call: ast.Call) -> Any:
        """The function that a call calls, if it has a plain name."""
        try:
            return self.value(call.func)
        except NotKnown:
            return None

    def sources(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield an expression's parts, and those of what its names were last set to."""
        seen: set[str] = set()
        left = [node]
        while left:
            for part in ast.walk(left.pop()):
                yield part
                if isinstance(part, ast.Name) and part.id not in seen:
                    seen.add(part.id)
                    left += self.last_values(part.id)

    def last_values(self, name: str) -> list[ast.AST]:
        """What the nearest statement above sets a name to; empty if none does."""
        above = [
            value
            for node in ast.walk(self.function)
            if isinstance(node, ast.Assign)
            and lines_of(node)[1] < lines_of(self.statement)[0]
            for target in node.targets
            for part, value in paired(target, node.value)
            if isinstance(part, ast.Name) and part.id == name
        ]
        return sorted(above, key=lambda value: lines_of(value))[-1:]

    def text(self, node: ast.AST) -> str:
        """Quote an expression, if it is short."""
        text = ast.unparse(node)
        return f"`{text}`" if len(text) <= SHORT else ""


def place_of(error: BaseException) -> Place:
    """Find the reader's innermost frame under an error that was raised."""
    found: TracebackType | None = None
    given, last = False, error.__traceback__
    assert last is not None
    for traceback in chain(last):
        last, filename = traceback, traceback.tb_frame.f_code.co_filename
        if is_readers(filename):
            found, given = traceback, False
        elif is_ours(filename):
            given = True
    inner = found or last
    return Place(inner.tb_frame, inner.tb_lasti, found is not None, given)


def chain(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback:
        yield traceback
        traceback = traceback.tb_next


def paired(target: ast.AST, value: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """Pair the names of `a, b = c, d` with what each is set to."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def position_of(code: CodeType, instruction: int) -> tuple[int | None, ...]:
    """First line, last line and the columns of an instruction's expression."""
    return list(code.co_positions())[instruction // 2]


def span(node: ast.AST) -> tuple[int | None, ...]:
    names = ("lineno", "end_lineno", "col_offset", "end_col_offset")
    return tuple(getattr(node, name, None) for name in names)


def lines_of(node: ast.AST) -> tuple[int, int]:
    first = getattr(node, "lineno", 0)
    return first, getattr(node, "end_lineno", None) or first


@cache
def parsed(text: str) -> ast.AST:
    try:
        return ast.parse(text)
    except SyntaxError:
        return NOTHING
