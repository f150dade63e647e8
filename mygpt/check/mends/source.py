"""A reader's source: its places, its statements, and what runs with an edit in it."""

import ast
import inspect
import linecache
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

from mygpt.check.syntax import names_in
from mygpt.check.work import count_rounds

FUTURE = 0x1FE0000  # flags of `from __future__` in a code object
DEFINITIONS = ast.FunctionDef | ast.ClassDef
LONGEST = 100_000  # characters of a source that is mended
ATOMS = (
    *(ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set),
    *(ast.ListComp, ast.DictComp, ast.SetComp, ast.JoinedStr, ast.Constant),
)


@dataclass(frozen=True)
class Edit:
    """A replacement in a source.

    start, end: characters of the text; new: what comes in their place.
    line: from 1, where the reader looks for it.
    kind: completes "Line 7 is the only thing wrong: …".
    cost: how unlikely it is that this is meant; the least is tried first.
    """

    start: int
    end: int
    new: str
    line: int
    kind: str
    cost: float

    @property
    def longer(self) -> int:
        """How many characters it adds."""
        return len(self.new) - (self.end - self.start)

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


@dataclass(frozen=True)
class Mend:
    """What makes a program right.

    text: its whole source with all edits; edits: each in the text before it.
    alone: whether no likely edit of another line does the same. unused: a name that
    nothing reads any more, and the line that sets it.
    """

    text: str
    edits: tuple[Edit, ...]
    texts: tuple[str, ...]
    alone: bool = True
    unused: tuple[str, int] | None = None

    @property
    def line(self) -> int:
        return self.edits[0].line


Priced = tuple[float, Edit]  # with what it costs where it is


class SourceText:
    """A text with the offsets of its lines, in characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [f"{line}\n" for line in text.split("\n")]
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        """The offset of a line from 1 and a column from 0, in characters."""
        return min(self.starts[line - 1] + column, len(self.text))

    def at_bytes(self, line: int, column: int) -> int:
        """The same, of a column in bytes of UTF-8, as a syntax tree counts them."""
        row = self.lines[line - 1]
        if not row.isascii():
            column = len(row.encode()[:column].decode())
        return self.starts[line - 1] + column

    def line_at(self, offset: int) -> int:
        """The line of an offset, from 1."""
        return self.text.count("\n", 0, offset) + 1

    def span(self, node: Any) -> tuple[int, int]:
        """The offsets of a node of a syntax tree."""
        return (
            self.at_bytes(node.lineno, node.col_offset),
            self.at_bytes(node.end_lineno, node.end_col_offset),
        )

    def of(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def held(self, node: ast.AST) -> str:
        """The text of a node, in brackets unless it holds together."""
        part = self.of(node)
        return part if isinstance(node, ATOMS) else f"({part})"

    def between(self, first: ast.AST, last: ast.AST) -> str:
        """The text from the end of a node to the beginning of another."""
        return self.text[self.span(first)[1] : self.span(last)[0]]

    def rows(self, *statements: ast.stmt) -> tuple[int, int]:
        """The offsets of the whole lines of statements."""
        first, last = statements[0], statements[-1]
        return self.at(first_line(first), 0), self.at(last_line(last) + 1, 0)

    def replaced(self, within: ast.AST, changes: Mapping[Any, str]) -> str:
        """The text of a node with some nodes in it replaced."""
        start, end = self.span(within)
        parts = [(*self.span(node), new) for node, new in changes.items()]
        return self.changed(start, end, parts)

    def changed(self, start: int, end: int, parts: list[tuple[int, int, str]]) -> str:
        """A part of the text, with replacements from and to some offsets."""
        new = ""
        for first, last, part in sorted(parts):
            new += self.text[start:first] + part
            start = last
        return new + self.text[start:end]


# Statements and their lines


def first_line(statement: ast.stmt) -> int:
    """The line of a statement, or of its first decorator."""
    decorators = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(each.lineno for each in decorators)])


def last_line(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def all_lines(statement: ast.stmt) -> set[int]:
    return set(range(first_line(statement), last_line(statement) + 1))


def own_lines(statement: ast.stmt) -> set[int]:
    """The lines of a statement without those of the statements in it."""
    first, last = first_line(statement), last_line(statement)
    body = getattr(statement, "body", None)
    if body:
        last = max(first, body[0].lineno - 1)
    return set(range(first, last + 1))


def statements_of(tree: ast.AST) -> list[tuple[ast.stmt, set[int]]]:
    """The statements of a tree by their lines, each with its own lines."""
    found = [one for one in ast.walk(tree) if isinstance(one, ast.stmt)]
    return [(one, own_lines(one)) for one in sorted(found, key=lambda one: one.lineno)]


def neighbours(tree: ast.AST, line: int) -> set[int]:
    """The lines near a line: of its statement, and of those before and after it.

    With the lines of the functions that the statement calls.
    """
    rows = [own for _, own in statements_of(tree)]
    at = next((i for i, own in enumerate(rows) if line in own), None)
    if at is None:
        return set()
    calls = (one for one in ast.walk(tree) if isinstance(one, ast.Call))
    called = {getattr(one.func, "id", "") for one in calls if one.lineno in rows[at]}
    found = set().union(*rows[max(0, at - 1) : at + 2])
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef) and one.name in called:
            found |= all_lines(one)
    return found


def lines_apart(before: str, after: str) -> int:
    """How many lines of a text are others, or new, or gone, in another text."""
    match = SequenceMatcher(None, before.split("\n"), after.split("\n"), False)
    parts = [part for part in match.get_opcodes() if part[0] != "equal"]
    return sum(max(part[2] - part[1], part[4] - part[3]) for part in parts)


def parameters(text: str) -> list[str]:
    """The names of the parameters of all functions in a text, in order."""
    return sorted(
        one.arg for one in ast.walk(ast.parse(text)) if isinstance(one, ast.arg)
    )


# A source that runs


class NoSource(Exception):
    """The source of a program cannot be had."""


class EditableSource:
    """A text, by its statements at the outermost level.

    file: its name, as code objects have it; flags: of `from __future__`; anew: the
    names outside functions that an edit gives other values.
    """

    def __init__(
        self, text: str, file: str, flags: int = 0, anew: Set[str] = frozenset()
    ) -> None:
        self.text, self.file, self.flags = SourceText(text), file, flags
        self.tree, self.anew = ast.parse(text), anew

    def edited(self, edit: Edit) -> "EditableSource":
        text, hit = edit.applied(self.text.text), self.text.line_at(edit.start)
        found = EditableSource(text, self.file, self.flags)
        made = [names_in(one) for one in found.tree.body if is_assigned(one, hit)]
        found.anew = self.anew.union(*made)
        return found

    def program(self, name: str, around: dict[str, Any], edit: Edit | None) -> Any:
        """Run the definitions in a copy of a namespace; return what has a name.

        Their loops count their rounds by what the namespace has as `work.COUNTER`. The
        other statements are not run again, unless the edit is in them.
        """
        namespace = dict(around)
        for code in self.codes if edit is None else self.codes_with(edit):
            exec(code, namespace)
        return namespace[name]

    @cached_property
    def codes(self) -> list[CodeType]:
        """The codes of the statements that are run again."""
        return [self.code_of(one) for one in self.again]

    @cached_property
    def again(self) -> list[ast.stmt]:
        """The definitions, and the assignments of what they define."""
        return again_in(self.tree.body, self.anew)

    def codes_with(self, edit: Edit) -> list[CodeType]:
        """The codes with an edit; only the statement that it is in is read anew."""
        for i, one in enumerate(self.again):
            start, end = self.text.rows(one)
            if start <= edit.start and edit.end <= end:
                code = self.code_of(one, edit)
                return [*self.codes[:i], code, *self.codes[i + 1 :]]
        return self.edited(edit).codes

    def code_of(self, statement: ast.stmt, edit: Edit | None = None) -> CodeType:
        """The code of a statement's lines, with an edit of them."""
        start, end = self.text.rows(statement)
        text = self.text.text
        if edit is not None:
            text, end = edit.applied(text), end + edit.longer
        above = first_line(statement) - 1
        return code_of_lines(text[start:end], above, self.file, self.flags)


@lru_cache(256)
def code_of_lines(lines: str, above: int, file: str, flags: int) -> CodeType:
    """The code of some lines, below others; their loops count their rounds."""
    tree = ast.parse("\n" * above + lines)
    count_rounds(tree.body)
    return compile(tree, file, "exec", flags, dont_inherit=True)


def again_in(body: list[ast.stmt], anew: Set[str]) -> list[ast.stmt]:
    """The definitions, what is assigned of them, and what gives some names values."""
    defined = {one.name for one in body if isinstance(one, DEFINITIONS)}
    return [
        one
        for one in body
        if isinstance(one, DEFINITIONS)
        or (isinstance(one, ast.Assign) and defined & {*names_in(one.value)})
        or (isinstance(one, ast.Assign) and anew & {*names_in(one)})
    ]


def is_assigned(one: ast.stmt, line: int) -> bool:
    """Whether a statement gives a name a value, in a line."""
    return isinstance(one, ast.Assign) and line in all_lines(one)


def source_of(program: Any) -> tuple[EditableSource, str, dict[str, Any]]:
    """The source of a function or a class, its name there, and what is around it.

    Unknown where it cannot be had, or where others than it hold its parts.
    """
    plain: Callable = inspect.unwrap(program)
    code = getattr(plain, "__code__", None)
    if isinstance(program, type):
        methods = [one for one in vars(program).values() if hasattr(one, "__code__")]
        plain = methods[0] if methods else plain
        code = methods[0].__code__ if methods else None
    if code is None or (
        getattr(code, "co_freevars", ()) and not isinstance(program, type)
    ):
        raise NoSource
    text = "".join(linecache.getlines(code.co_filename))
    if not text or len(text) > LONGEST:
        raise NoSource
    try:
        source = EditableSource(text, code.co_filename, code.co_flags & FUTURE)
    except (SyntaxError, ValueError):
        raise NoSource from None
    name = program.__name__
    outermost = (one for one in source.tree.body if isinstance(one, DEFINITIONS))
    if all(one.name != name for one in outermost):
        raise NoSource
    return source, name, plain.__globals__
