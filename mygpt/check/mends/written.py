"""Edits that write a piece of the right program in the place of the reader's.

A task's model knows how its pieces are written in a right program, with holes for names
(`Model.written`). When a mistake has a name, its pieces are known.
"""

import ast
import itertools
import re
import string
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from mygpt.check.mends.edit import Edit, Text
from mygpt.check.mends.moments import Moment, Moments, content, kind, same
from mygpt.check.mends.moves import MOVES
from mygpt.check.mends.source import Source, statements_of
from mygpt.check.task import Task

NAMED, UNNAMED = 0.6, 1.4  # costs of pieces of the mistake that is named, and of others
OTHER_SHAPE, UNKNOWN, OTHER_KIND = 0.4, 0.2, 0.8  # added where another thing stood
SAME = 0.3  # added where the same stood
UNLIKE = 0.2  # added where no word stays
AGAIN, TIMES = 0.1, 2  # added to what gives the same as another, and how often
STATEMENT = 0.2  # added where a whole statement is replaced
LATER = 0.01  # added for each filling before, and for each spelling of the piece
MOST = 400  # fillings of one piece at one line
PARTS = ("it", "inner", "left", "right", "value")  # of what is replaced
ADDED = "+ "
SIZE = "size"  # a hole for a whole number or the length of an axis
WHOLE = ("past", "i", "j", "t")  # holes for names of whole numbers
HELD = (
    *(ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict),
    *(ast.ListComp, ast.Constant, ast.Tuple),
)
ANSWERS = (bool, torch.bool)  # types of what a comparison gives
PURE = {
    *("len", "min", "max", "sum", "list", "tuple", "set", "sorted", "range", "zip"),
    *("float", "int", "abs", "str", "bytes", "ord", "dict", "any", "all", "enumerate"),
}
CHANGING = {
    *("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault"),
    *("reverse", "step", "backward", "zero_grad", "train", "eval"),
}


@dataclass(frozen=True)
class Spelling:
    """A right source of a piece.

    text: with holes in braces, or the name of a move; a line that may be missing begins
    with "+ ". word: what a reader calls the piece; number: of those
    of its piece before it.
    """

    text: str
    word: str
    number: int

    @property
    def is_move(self) -> bool:
        return self.text in MOVES

    @property
    def holes(self) -> list[str]:
        parts = string.Formatter().parse(self.text)
        return list(dict.fromkeys(name for _, name, *_ in parts if name))

    @property
    def is_line(self) -> bool:
        return self.text.startswith(ADDED)

    @property
    def is_statement(self) -> bool:
        filled = self.text.format(**dict.fromkeys(self.holes, "x"))
        return not isinstance(ast.parse(filled).body[0], ast.Expr)


@dataclass(frozen=True)
class Filled:
    """A source without holes, and what it gives at some moments: values or nothing."""

    text: str
    values: Sequence[Any]
    cost: float


class Written:
    """The pieces of a task, or those of a mistake, as a right program has them.

    named: whether they are a mistake's; several: whether it is more than one.
    """

    def __init__(self, task: Task, mistake: str | None) -> None:
        self.arguments = list(task.arguments)
        changes = task.model.changes() if task.model else ()
        names = mistake.split("+") if mistake else ()
        chosen = [each for each in changes if each.name in names and each.written]
        self.named = bool(chosen)
        self.several = len({each.name for each in chosen}) > 1
        found = {
            text: Spelling(text, each.word, number)
            for each in (chosen if names else changes)
            for number, text in enumerate(each.written)
        }
        self.spellings = list(found.values())

    def edits(
        self,
        source: Source,
        line: int | None,
        lines: set[int],
        moments: Moments,
        seconds: float,
    ) -> Iterator[Edit]:
        """Yield edits of some lines of a source, for a while: near a line first."""
        end = time.process_time() + seconds
        cost = NAMED if self.named else UNNAMED
        yield from self.moves(source, lines, cost)
        with torch.no_grad():
            found = [each for each in statements_of(source.tree) if each[1] & lines]
            found.sort(key=lambda each: abs(min(each[1]) - (line or 0)))
            for statement, own in found:
                seen = moments.at(sorted(own))
                place = Place(source.text, statement, seen, moments, self.arguments)
                for spelling in self.spellings:
                    if spelling.is_move:
                        continue
                    if time.process_time() > end:
                        return
                    yield from place.edits(spelling, cost)

    def moves(self, source: Source, lines: set[int], cost: float) -> Iterator[Edit]:
        for spelling in filter(lambda each: each.is_move, self.spellings):
            for one in ast.walk(source.tree):
                if not isinstance(one, ast.FunctionDef) or one.lineno not in lines:
                    continue
                changes = MOVES[spelling.text](source.text, one)
                for number, (start, end, new) in enumerate(changes):
                    line = source.text.text.count("\n", 0, start) + 1
                    total = cost + LATER * number
                    yield Edit(start, end, new, line, spelling.word, total)


class Place:
    """A statement of the reader's, where a piece may be written."""

    def __init__(
        self,
        text: Text,
        statement: ast.stmt,
        seen: Sequence[Moment],
        moments: Moments,
        arguments: Sequence[str],
    ) -> None:
        self.text, self.statement, self.seen = text, statement, seen
        self.given = dict(zip(arguments, moments.given.items(), strict=False))
        self.spaces = [{"torch": torch, **moments.around, **moment} for moment in seen]
        self.names = list(dict.fromkeys(n for moment in reversed(seen) for n in moment))
        self.values: dict[str, Sequence[Any]] = {}
        self.chosen: dict[str, list[str]] = {}

    def edits(self, spelling: Spelling, cost: float) -> Iterator[Edit]:
        cost += LATER * spelling.number
        if spelling.is_line:
            yield from self.lines(spelling, cost)
            return
        if spelling.is_statement:
            yield from self.statements(spelling, cost + STATEMENT)
            return
        alone = not set(spelling.holes) & set(PARTS)
        filled = list(self.filled(spelling, {})) if alone else []
        for node, parent in expressions_of(self.statement):
            parts = parts_of(self.text, node)
            if isinstance(node, ast.Name) and node.id not in self.names:
                continue  # a module or a function
            if not set(spelling.holes) & set(PARTS) <= set(parts):
                continue
            old = self.evaluated(self.text.of(node))
            start, end = self.text.span(node)
            was = self.text.text[start:end]
            for each in filled if alone else self.filled(spelling, parts):
                if is_of_no_effect(parent) and is_shift(old, each.values):
                    continue
                if each.text != was and fits(each.values, parent):
                    new = each.text if is_held(each.text, parent) else f"({each.text})"
                    words = 1.0 if "it" in spelling.holes else other_words(was, new)
                    extra = unlike(old, each.values) + UNLIKE * words
                    total = cost + extra + each.cost
                    yield Edit(start, end, new, node.lineno, spelling.word, total)

    def statements(self, spelling: Spelling, cost: float) -> Iterator[Edit]:
        if not isinstance(self.statement, ast.Assign | ast.AugAssign | ast.Expr):
            return
        start, end = self.text.span(self.statement)
        line = self.statement.lineno
        for each in self.filled(spelling, {}):
            if each.text != self.text.of(self.statement):
                yield Edit(start, end, each.text, line, spelling.word, cost + each.cost)

    def lines(self, spelling: Spelling, cost: float) -> Iterator[Edit]:
        """Yield a line above the statement."""
        line = self.statement.lineno
        start = self.text.at(line, 0)
        indent = " " * self.statement.col_offset
        for each in self.filled(spelling, {}):
            new = f"{indent}{each.text.removeprefix(ADDED)}\n"
            yield Edit(start, start, new, line, spelling.word, cost + each.cost)

    # Filling holes

    def filled(self, spelling: Spelling, parts: dict[str, str]) -> Iterator[Filled]:
        """Fill the holes in every way that runs and gives something else."""
        found: dict[Any, int] = {}
        choices = [
            [parts[hole]] if hole in parts else self.choices(hole)
            for hole in spelling.holes
        ]
        number = 0
        for chosen in itertools.islice(itertools.product(*choices), MOST):
            text = spelling.text.format(
                **dict(zip(spelling.holes, chosen, strict=True))
            )
            values = self.evaluated(text)
            given = tuple(content(v) for v in values if v is not FAILED)
            fails = code_of(text) is not UNSAFE and values and not given
            if fails or (given and found.get(given, 0) > TIMES):
                continue
            again = AGAIN * bool(given and given in found)
            found[given] = found.get(given, 0) + 1
            yield Filled(text, values, number * LATER + again)
            number += not again

    def choices(self, hole: str) -> list[str]:
        """What may stand in a hole, worked out once."""
        if hole not in self.chosen:
            self.chosen[hole] = self.candidates(hole)
        return self.chosen[hole]

    def candidates(self, hole: str) -> list[str]:
        """The names of an argument, sizes, or every name, the likeliest first."""
        if hole == SIZE:
            return self.sizes()
        if hole in WHOLE:
            return sorted(self.whole_numbers(), key=lambda each: each != hole)
        if hole in self.given:
            name, value = self.given[hole]
            alike = [
                each
                for each in self.names
                if each != name
                and any(each in one and same(one[each], value) for one in self.seen)
            ]
            return [name] * (name in self.names) + alike
        return sorted(self.names, key=lambda each: each != hole)

    def whole_numbers(self) -> list[str]:
        return [
            name
            for name in self.names
            if any(type(one.get(name)) is int for one in self.seen)
        ]

    def sizes(self) -> list[str]:
        """Texts of whole numbers: names, then lengths of axes, one for each number."""
        names = self.whole_numbers()
        found = {self.numbers(name): name for name in reversed(names)}
        for name in self.names:
            value = next(one[name] for one in self.seen if name in one)
            if isinstance(value, torch.Tensor):
                axes = {0, 1, value.dim() - 2} & set(range(value.dim() - 1))
                for axis in (-1, *sorted(axes)):
                    text = f"{name}.shape[{axis}]"
                    found.setdefault(self.numbers(text), text)
        return [*names, *(each for each in found.values() if each not in names)]

    def numbers(self, text: str) -> tuple[int, ...]:
        return tuple(value for value in self.evaluated(text) if type(value) is int)

    def evaluated(self, text: str) -> Sequence[Any]:
        """What an expression gives at each moment; FAILED where it cannot be had."""
        if text not in self.values:
            code = code_of(text)
            self.values[text] = [value_of(code, space) for space in self.spaces]
        return self.values[text]


FAILED = object()  # the value of what raises an error, or is not run
UNSAFE = object()  # the code of what may change something


@cache
def code_of(text: str) -> Any:
    """The code of an expression, or of the value that a statement gives a name.

    UNSAFE if running it may change something; None if it is no Python.
    """
    try:
        (statement,) = ast.parse(text.removeprefix(ADDED)).body
    except (SyntaxError, ValueError):
        return None
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr):
        return None
    if not is_pure(value):
        return UNSAFE
    return compile(ast.Expression(value), "", "eval")


def is_pure(tree: ast.expr) -> bool:
    """Whether running an expression changes nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield):
            return False
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", None)
            if name is None and getattr(node.func, "id", "") not in PURE:
                return False
            if name and (name.endswith("_") or name in CHANGING):
                return False
    return True


def value_of(code: Any, space: Moment) -> Any:
    if code is UNSAFE or code is None:
        return FAILED
    with suppress(Exception):
        return eval(code, dict(space))
    return FAILED


def fits(values: Sequence[Any], parent: ast.AST) -> bool:
    """Whether a value may stand in a place.

    In a slice stand whole numbers alone, and in a comparison no other one's answer.
    """
    if isinstance(parent, ast.Compare):
        return not any(getattr(one, "dtype", type(one)) in ANSWERS for one in values)
    kinds = {type(value) for value in values if value is not FAILED}
    return not isinstance(parent, ast.Slice) or kinds == {int}


def is_shift(old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Whether tensors differ by one number each."""
    return all(
        isinstance(a, torch.Tensor)
        and isinstance(b, torch.Tensor)
        and a.shape == b.shape
        and a.is_floating_point()
        and b.is_floating_point()
        and bool(torch.isclose(b - a, (b - a).flatten()[:1]).all())
        for a, b in zip(old, new, strict=True)
    )


def is_of_no_effect(parent: ast.AST) -> bool:
    """Whether a shift of what stands there only rounds otherwise."""
    function = parent.func if isinstance(parent, ast.Call) else parent
    name = getattr(function, "attr", getattr(function, "id", ""))
    return name in ("softmax", "log_softmax", "cross_entropy")


def unlike(old: Sequence[Any], new: Sequence[Any]) -> float:
    """The cost of putting a value where another was."""
    pairs = [
        (a, b)
        for a, b in zip(old, new, strict=True)
        if a is not FAILED and b is not FAILED
    ]
    if not pairs:
        return UNKNOWN
    if all(content(a) == content(b) for a, b in pairs):
        return SAME  # where it is seen
    kinds = [(kind(a), kind(b)) for a, b in pairs]
    if any(a == b for a, b in kinds):
        return 0.0
    return OTHER_SHAPE if any(a[0] == b[0] for a, b in kinds) else OTHER_KIND


def expressions_of(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.AST]]:
    """The expressions of a statement that have values, with what holds each.

    Those of the statements in it are left out.
    """
    waiting: list[ast.AST] = [statement]
    while waiting:
        parent = waiting.pop(0)
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.stmt | ast.arguments):
                continue
            unused = isinstance(parent, ast.Expr)
            called = isinstance(parent, ast.Call) and parent.func is node
            loads = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            kinds = (ast.Slice, ast.Starred, ast.JoinedStr)
            index = isinstance(node, ast.Tuple) and isinstance(parent, ast.Subscript)
            loads = loads and not index and not is_word(node)
            if isinstance(node, ast.expr) and loads and not isinstance(node, kinds):
                if not called and not unused:
                    yield node, parent
                elif isinstance(node, ast.Attribute):
                    waiting.append(node)
                    continue
            waiting.append(node)


def is_word(node: ast.AST) -> bool:
    """Whether a node is a constant, but no number."""
    return isinstance(node, ast.Constant) and type(node.value) not in (int, float)


def other_words(old: str, new: str) -> float:
    """The share of the words of two texts that only one of them has."""
    a, b = (set(re.findall(r"\w+", text)) for text in (old, new))
    return 1 - len(a & b) / max(1, len(a | b))


def parts_of(text: Text, node: ast.expr) -> dict[str, str]:
    """The texts of an expression and of what it is made of, by the names of holes."""
    found = {"it": bracketed(text, node)}
    if isinstance(node, ast.BinOp):
        found["left"] = bracketed(text, node.left)
        found["right"] = bracketed(text, node.right)
    if isinstance(node, ast.Compare):
        found["left"] = bracketed(text, node.left)
        found["right"] = bracketed(text, node.comparators[0])
    if isinstance(node, ast.Subscript):
        found["value"] = bracketed(text, node.value)
    if isinstance(node, ast.Call):
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        is_module = getattr(of, "id", "") in ("torch", "F", "math", "nn")
        if of is not None and not is_module and not hasattr(of, "attr"):
            found["inner"] = bracketed(text, of)
        elif node.args:
            found["inner"] = bracketed(text, node.args[0])
    return found


def bracketed(text: Text, node: ast.expr) -> str:
    part = text.of(node)
    is_number = isinstance(node, ast.Constant) and part[0].isdigit()
    return part if isinstance(node, HELD) and not is_number else f"({part})"


def is_held(text: str, parent: ast.AST) -> bool:
    """Whether a text needs no brackets in its place."""
    places = (ast.stmt, ast.keyword, ast.Call, ast.Tuple, ast.List, ast.comprehension)
    if isinstance(parent, (*places, ast.Slice)):
        return True
    (statement,) = ast.parse(text).body
    number = isinstance(parent, ast.Attribute) and text[0].isdigit()
    return isinstance(getattr(statement, "value", None), HELD) and not number
