"""Edits that write a piece of the right program in the place of the reader's.

A task's model knows how its pieces are written in a right program, with holes for names
(the rows of a `Catalogue`). When a mistake has a name, its pieces are known.
"""

import ast
import itertools
import re
import string
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

import torch

from mygpt.check import work
from mygpt.check.mends.edit_site import bracketed, holds
from mygpt.check.mends.moves import LATER, MOVES, moved
from mygpt.check.mends.names import called, subject
from mygpt.check.mends.source import (
    DEFINITIONS,
    Edit,
    EditableSource,
    SourceText,
    statements_of,
)
from mygpt.check.mends.values_by_name import Moment, Moments, content, kind, same
from mygpt.check.pure import BUILTINS
from mygpt.check.task import Task
from mygpt.check.tree import is_decimal

NAMED, UNNAMED = 0.6, 1.4  # costs of pieces of the mistake that is named, and of others
OTHER_SHAPE, UNKNOWN, OTHER_KIND = 0.4, 0.2, 0.8  # added where another thing stood
SAME = 0.3  # added where the same stood
UNLIKE = 0.2  # added where no word stays
AGAIN, TIMES = 0.1, 2  # added to what gives the same as another, and how often
STATEMENT = 0.2  # added where a whole statement is replaced
MOST = 400  # fillings of one piece at one line
PARTS = ("it", "inner", "left", "right", "value")  # of what is replaced
ADDED = "+ "
SIZE = "size"  # a hole for a whole number or the length of an axis
WHOLE = ("past", "i", "j", "t")  # holes for names of whole numbers
ANSWERS = (bool, torch.bool)  # types of what a comparison gives
CHANGING = {
    *("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault"),
    *("reverse", "step", "backward", "zero_grad", "train", "eval"),
}


@dataclass(frozen=True)
class Spelling:
    """A right source of a piece.

    text: with holes in braces, or the name of a move; a line that may be missing
    begins with "+ ". word: what a reader calls the piece; number: of the spellings of
    its piece before it.
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
        source: EditableSource,
        line: int | None,
        lines: set[int],
        moments: Moments,
        seconds: float,
    ) -> Iterator[Edit]:
        """Yield edits of some lines of a source, near a line first, up to some work."""
        end = work.after(seconds)
        cost = NAMED if self.named else UNNAMED
        yield from self.moves(source, lines, cost)
        with torch.no_grad():
            found = [
                (one, own)
                for one, own in statements_of(source.tree)
                if own & lines and not isinstance(one, DEFINITIONS)
            ]
            found.sort(key=lambda each: abs(min(each[1]) - (line or 0)))
            for statement, own in found:
                seen = moments.at(sorted(own))
                place = Hole(source.text, statement, seen, moments, self.arguments)
                for spelling in self.spellings:
                    if spelling.is_move:
                        continue
                    if work.now() > end:
                        return
                    yield from place.edits(spelling, cost)

    def moves(
        self, source: EditableSource, lines: set[int], cost: float
    ) -> Iterator[Edit]:
        """Yield the moves among the pieces, of the functions in some lines."""
        for spelling in filter(lambda each: each.is_move, self.spellings):
            for one in ast.walk(source.tree):
                if isinstance(one, ast.FunctionDef) and one.lineno in lines:
                    word = spelling.word
                    yield from moved(spelling.text, source.text, one, word, cost)


class Hole:
    """A statement of the reader's, where a piece may be written."""

    def __init__(
        self,
        text: SourceText,
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
        if spelling.is_line or spelling.is_statement:
            yield from self.statements(spelling, cost)
            return
        needed = set(spelling.holes) & set(PARTS)
        filled = [] if needed else list(self.filled(spelling, {}))
        for node, parent in expressions_of(self.statement):
            parts = parts_of(self.text, node)
            module = isinstance(node, ast.Name) and node.id not in self.names
            if module or not needed <= parts.keys():
                continue
            was = self.text.of(node)
            old, (start, end) = self.evaluated(was), self.text.span(node)
            for each in self.filled(spelling, parts) if needed else filled:
                work.add(work.FILLED)
                rounds = is_of_no_effect(parent) and is_shift(old, each.values)
                if not rounds and each.text != was and fits(each.values, parent):
                    new = bracketed(each.text, holds(parent, node))
                    words = 1.0 if "it" in needed else other_words(was, new)
                    extra = unlike(old, each.values) + UNLIKE * words
                    total = cost + extra + each.cost
                    yield Edit(start, end, new, node.lineno, spelling.word, total)

    def statements(self, spelling: Spelling, cost: float) -> Iterator[Edit]:
        """Yield a line above the statement, or another statement in its place."""
        line, indent = self.statement.lineno, " " * self.statement.col_offset
        start, end = self.text.span(self.statement)
        if spelling.is_line:
            start = end = self.text.at(line, 0)
        elif not isinstance(self.statement, ast.Assign | ast.AugAssign | ast.Expr):
            return
        for each in self.filled(spelling, {}):
            new, total = each.text, cost + each.cost + STATEMENT
            if spelling.is_line:
                new = f"{indent}{each.text.removeprefix(ADDED)}\n"
                total -= STATEMENT
            yield Edit(start, end, new, line, spelling.word, total)

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
        seen = self.seen
        whole = [n for n in self.names if any(type(m.get(n)) is int for m in seen)]
        if hole == SIZE:
            return self.sizes(whole)
        if hole in self.given:
            name, value = self.given[hole]
            return [name] * (name in self.names) + [
                each
                for each in self.names
                if each != name
                and any(each in m and same(m[each], value) for m in seen)
            ]
        names = whole if hole in WHOLE else self.names
        return sorted(names, key=lambda each: each != hole)

    def sizes(self, whole: Sequence[str]) -> list[str]:
        """Texts of whole numbers: names, then lengths of axes, one for each number."""
        axes = [f"{name}.shape[{i}]" for name in self.names for i in (-1, 0, 1, -2)]
        found: dict[Any, str] = {}
        for text in (*whole, *axes):
            numbers = tuple(n for n in self.evaluated(text) if type(n) is int)
            if numbers:
                found.setdefault(numbers, text)
        return [*whole, *(text for text in found.values() if text not in whole)]

    def evaluated(self, text: str) -> Sequence[Any]:
        """What an expression gives at each moment; FAILED where it cannot be had."""
        if text not in self.values:
            code = code_of(text)
            work.add(work.VALUE * len(self.spaces))
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
            if name is None and getattr(node.func, "id", "") not in BUILTINS:
                return False
            if name and (name.endswith("_") or name in CHANGING):
                return False
    return True


def value_of(code: Any, space: Moment) -> Any:
    with suppress(Exception):
        if isinstance(code, CodeType):
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
    pairs = list(zip(old, new, strict=True))
    alike = all(
        is_decimal(a) and is_decimal(b) and a.shape == b.shape for a, b in pairs
    )
    moves = (b - a for a, b in pairs if alike)
    return alike and all(
        torch.isclose(move, move.flatten()[:1]).all() for move in moves
    )


def is_of_no_effect(parent: ast.AST) -> bool:
    """Whether a shift of what stands there only rounds otherwise."""
    return called(parent) in ("softmax", "log_softmax", "cross_entropy")


def unlike(old: Sequence[Any], new: Sequence[Any]) -> float:
    """The cost of putting a value where another was."""
    both = zip(old, new, strict=True)
    pairs = [(a, b) for a, b in both if a is not FAILED and b is not FAILED]
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
    for parent in waiting:  # which grows
        for node in ast.iter_child_nodes(parent):
            if not isinstance(node, ast.stmt | ast.arguments):
                waiting.append(node)
                if isinstance(node, ast.expr) and has_value(node, parent):
                    yield node, parent


def has_value(node: ast.expr, parent: ast.AST) -> bool:
    """Whether a program reads the value of an expression, but for texts and words."""
    called = isinstance(parent, ast.Call) and parent.func is node
    index = isinstance(node, ast.Tuple) and isinstance(parent, ast.Subscript)
    word = isinstance(node, ast.Constant) and type(node.value) not in (int, float)
    closed = isinstance(node, ast.Slice | ast.Starred | ast.JoinedStr)
    loads = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    unused = called or isinstance(parent, ast.Expr)
    return loads and not (unused or index or word or closed)


def other_words(old: str, new: str) -> float:
    """The share of the words of two texts that only one of them has."""
    a, b = (set(re.findall(r"\w+", text)) for text in (old, new))
    return 1 - len(a & b) / max(1, len(a | b))


def parts_of(text: SourceText, node: ast.expr) -> dict[str, str]:
    """The texts of an expression and of what it is made of, by the names of holes."""
    found: dict[str, ast.expr | None] = {"it": node}
    if isinstance(node, ast.BinOp):
        found |= {"left": node.left, "right": node.right}
    elif isinstance(node, ast.Compare):
        found |= {"left": node.left, "right": node.comparators[0]}
    elif isinstance(node, ast.Subscript):
        found["value"] = node.value
    elif isinstance(node, ast.Call):
        found["inner"], _ = subject(node)
    return {name: text.held(part) for name, part in found.items() if part}
