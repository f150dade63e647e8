"""Where a reader's program stopped: the expression, and the values in it.

Only expressions that can change nothing are evaluated again: names, indices, and
functions of PyTorch that make a new tensor.
"""

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any, TypeVar

import torch
from torch import Tensor

from mygpt.check.process.errors import is_ours, is_readers
from mygpt.check.pure import TENSOR_CALLS
from mygpt.check.syntax import Site, lines_of, names_in
from mygpt.check.task import Task

EVALUATED = (
    *(ast.Load, ast.Store, ast.Name, ast.Constant, ast.Attribute, ast.Subscript),
    *(ast.Slice, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.keyword),
    *(ast.operator, ast.unaryop, ast.Compare, ast.cmpop, ast.Starred),
)
MODULES = ("torch", "torch.nn.functional")
SHORT = 40  # letters of code that are quoted in a sentence
Node = TypeVar("Node", bound=ast.AST)


IsRight = Callable[[Tensor], bool]


def likely(tensor: Tensor) -> bool:
    """Take a tensor for a right one, where nobody can tell."""
    return True


class NotKnown(Exception):
    """An expression that is not evaluated, or cannot be."""


class ErrorSite(Site):
    """The reader's innermost frame under an error, and the expression that it was at.

    message: the type of the error, and its text.
    entered: whether there is such a frame; if not, this is the innermost frame of all.
    given: whether the error arose further in, in a function that the check gave.
    is_right: whether right programs make a tensor. made: the line that caused it, if a
    rule finds another than that of the error.
    """

    made: int | None = None

    def __init__(
        self, error: BaseException, task: Task, is_right: IsRight = likely
    ) -> None:
        self.is_right = is_right
        self.message, self.task = f"{type(error).__name__}: {error}", task
        self.entered = self.given = False
        inner = each = error.__traceback__
        while each:
            filename = each.tb_frame.f_code.co_filename
            if is_readers(filename):
                self.entered, self.given, inner = True, False, each
            elif not self.entered:
                inner = each
            self.given |= is_ours(filename)
            each = each.tb_next
        assert inner is not None
        frame = inner.tb_frame
        self.code, self.instruction = frame.f_code, inner.tb_lasti
        self.line = self.span[0] or frame.f_lineno
        self.known = {**frame.f_globals, **frame.f_locals}

    def is_in(self, program: Any) -> bool:
        """Whether it is in the file of a program."""
        code = getattr(inspect.unwrap(program), "__code__", None)
        same = code is not None and code.co_filename == self.code.co_filename
        return self.entered and same

    def value(self, node: ast.AST) -> Any:
        """Evaluate an expression where the program stopped; NotKnown if it may act."""
        if not isinstance(node, ast.expr) or not all(map(self.is_safe, ast.walk(node))):
            raise NotKnown
        try:
            with torch.no_grad():
                return eval(ast.unparse(node), self.known)
        except Exception:
            raise NotKnown from None

    def is_safe(self, part: ast.AST) -> bool:
        """Whether evaluating a part again changes nothing.

        A call must be of a tensor, of PyTorch's own modules, or be `min(a, b)`.
        """
        match part:
            case ast.Call(ast.Name(name), [_, _, *_]):
                chosen = self.known.get(name, getattr(builtins, name, None))
                return chosen in (builtins.min, builtins.max)
            case ast.Call(ast.Attribute(owner, name)) if name in TENSOR_CALLS:
                made = self.value(owner)
                module = isinstance(made, ModuleType) and made.__name__ in MODULES
                return module or isinstance(made, Tensor)
        return isinstance(part, EVALUATED)

    def found(self, node: ast.AST, kind: type = object) -> Any:
        """Evaluate an expression; None if it is not known or not of a kind."""
        with suppress(NotKnown):
            value = self.value(node)
            return value if isinstance(value, kind) else None
        return None

    def tensor(self, node: ast.AST) -> Tensor | None:
        """Evaluate an expression, if it gives a tensor and did so when it was run."""
        return None if self.is_stale(node) else self.found(node, Tensor)

    def is_stale(self, node: ast.AST) -> bool:
        """Whether a name in an earlier expression has been set since."""
        start, end = lines_of(node)[0], lines_of(self.statement)[0]
        names = names_in(node)
        return any(
            isinstance(part, ast.Name)
            and isinstance(part.ctx, ast.Store)
            and part.id in names
            and start <= part.lineno < end
            for part in ast.walk(self.function)
        )

    def sources(self, node: ast.AST, kind: type[Node]) -> Iterator[Node]:
        """Yield the parts of a kind in an expression, and in its names' last values."""
        seen: set[str] = set()
        left = [node]
        while left:
            for part in ast.walk(left.pop()):
                if isinstance(part, kind):
                    yield part
                if isinstance(part, ast.Name) and part.id not in seen:
                    seen.add(part.id)
                    if value := self.last_value(part.id):
                        left.append(value)

    def text(self, node: ast.AST, otherwise: str = "") -> str:
        """Quote an expression, if it is short."""
        text = ast.unparse(node)
        return f"`{text}`" if len(text) <= SHORT else otherwise
