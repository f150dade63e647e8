"""A reader's source, with an edit or two, as a program."""

import ast
import inspect
import linecache
from collections.abc import Callable, Iterator, Set
from functools import lru_cache
from types import CodeType
from typing import Any

from mygpt.check.mends.edit import Edit, Text
from mygpt.check.mends.expressions import Scope, expression_edits
from mygpt.check.mends.place import Whole
from mygpt.check.mends.rules import rule_edits
from mygpt.check.mends.statements import statement_edits
from mygpt.check.mends.tokens import token_edits

FUTURE = 0x1FE0000  # flags of `from __future__` in a code object
MOST_ITERABLES = 120
DEFINITIONS = ast.FunctionDef | ast.ClassDef
LONGEST = 100_000  # characters of a source that is mended


class Unknown(Exception):
    """The source of a program cannot be had."""


class Source:
    """A text, by its statements at the outermost level.

    file: its name, as code objects have it; flags: of `from __future__`.
    """

    def __init__(self, text: str, file: str, flags: int = 0) -> None:
        self.text, self.file, self.flags = Text(text), file, flags
        self.tree = ast.parse(text)
        self.spans = [statement_span(self.text, one) for one in self.tree.body]

    def edited(self, edit: Edit) -> "Source":
        return Source(edit.applied(self.text.text), self.file, self.flags)

    def program(self, name: str, around: dict[str, Any], edit: Edit | None) -> Any:
        """Run the definitions in a copy of a namespace; return what has a name.

        The other statements are not run again, unless the edit is in them.
        """
        namespace = dict(around)
        defined = {one.name for one in self.tree.body if isinstance(one, DEFINITIONS)}
        for one, (start, end) in zip(self.tree.body, self.spans, strict=True):
            hit = edit is not None and start <= edit.start and edit.end <= end
            again = isinstance(one, DEFINITIONS) or (
                isinstance(one, ast.Assign)
                and (hit or bool(names_in(one.value) & defined))
            )
            if not again:
                continue
            text = self.text.text[start:end]
            if hit and edit is not None:
                cut = edit.start - start, edit.end - start
                text = text[: cut[0]] + edit.new + text[cut[1] :]
            first = self.text.text.count("\n", 0, start)
            exec(compiled("\n" * first + text, self.file, self.flags), namespace)
        return namespace[name]

    def edits(
        self, lines: set[int], keys: list[str], short: Set[int] = frozenset()
    ) -> Iterator[Edit]:
        """Yield the edits of some lines.

        keys: of the dictionaries that are given; short: lines in which no whole term
        is missing, for which there are too many.
        """
        whole = Whole(self.text, self.tree, keys)
        for one in self.tree.body:
            if isinstance(one, ast.Import | ast.ImportFrom | ast.Expr):
                continue
            scope = scope_of(self.text, one, self.tree, keys)
            first = min(
                [one.lineno, *(d.lineno for d in getattr(one, "decorator_list", ()))]
            )
            own = lines & set(range(first, (one.end_lineno or first) + 1))
            if own:
                names = [*scope.names, *outer_names(self.tree)]
                yield from rule_edits(whole, one, own)
                yield from token_edits(self.text, own, names, scope.strings)
                yield from expression_edits(self.text, one, own - short, scope)
                few = Few(scope.names, scope.strings, scope.iterables, scope.parts)
                yield from expression_edits(self.text, one, own & short, few)
                yield from statement_edits(self.text, one, own, scope)


class Few(Scope):
    """What edits of single words and signs may speak of."""

    def cuts(self) -> list[str]:
        return []

    def terms(self) -> list[str]:
        return []


@lru_cache(maxsize=64)
def compiled(text: str, file: str, flags: int) -> CodeType:
    return compile(text, file, "exec", flags=flags, dont_inherit=True)


def statement_span(text: Text, one: ast.stmt) -> tuple[int, int]:
    first = min([one.lineno, *(d.lineno for d in getattr(one, "decorator_list", ()))])
    return text.at(first, 0), text.at((one.end_lineno or first) + 1, 0)


def statements_of(tree: ast.AST) -> Iterator[tuple[ast.stmt, set[int]]]:
    """The statements of functions, each with its own lines, without those in it."""
    for one in ast.walk(tree):
        if isinstance(one, ast.stmt) and not isinstance(one, DEFINITIONS):
            yield one, own_lines(one)


def own_lines(statement: ast.stmt) -> set[int]:
    """The lines of a statement without those of the statements in it."""
    first = min(
        [
            statement.lineno,
            *(d.lineno for d in getattr(statement, "decorator_list", ())),
        ]
    )
    last = statement.end_lineno or first
    body = getattr(statement, "body", None)
    if body:
        last = max(first, body[0].lineno - 1)
    return set(range(first, last + 1))


def neighbours(tree: ast.AST, line: int) -> set[int]:
    """The lines of the statement at a line, and of those before and after it."""
    spans = sorted(
        (one.lineno, own_lines(one))
        for one in ast.walk(tree)
        if isinstance(one, ast.stmt)
    )
    for i, (_, own) in enumerate(spans):
        if line in own:
            near = spans[max(0, i - 1) : i + 2]
            called = functions_called(tree, own)
            return set().union(*(lines for _, lines in near), called)
    return set()


def functions_called(tree: ast.AST, lines: set[int]) -> set[int]:
    """The lines of the functions of a source that are called in some of its lines."""
    names = {
        one.func.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Name)
        and one.lineno in lines
    }
    found: set[int] = set()
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef) and one.name in names:
            found |= set(range(one.lineno, (one.end_lineno or one.lineno) + 1))
    return found


def names_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def outer_names(tree: ast.Module) -> list[str]:
    """The names that the statements at the outermost level define."""
    found = [one.name for one in tree.body if isinstance(one, DEFINITIONS)]
    for one in tree.body:
        if isinstance(one, ast.Assign):
            found += [each.id for each in one.targets if isinstance(each, ast.Name)]
    return found


def scope_of(text: Text, one: ast.stmt, tree: ast.Module, keys: list[str]) -> Scope:
    """Collect what may stand in the edits of a statement at the outermost level."""
    names: dict[str, None] = {}
    strings: dict[str, None] = {}
    dictionaries: dict[str, None] = {}
    loops: dict[str, None] = {}
    for node in ast.walk(one):
        if isinstance(node, ast.arg):
            names[node.arg] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = None
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            if isinstance(node.slice.value, str) and isinstance(node.value, ast.Name):
                dictionaries[node.value.id] = None
                strings[f'"{node.slice.value}"'] = None
        elif isinstance(node, ast.For | ast.comprehension):
            loops[text.of(node.iter)] = None
    given = [f'"{key}"' for key in keys] if dictionaries else []
    strings.update(dict.fromkeys(given))
    parts = [f"{name}[{key}]" for name in dictionaries for key in strings]
    parts += list(dict.fromkeys(short_calls(text, one)))
    return Scope(
        [name for name in names if name != "_"],
        list(strings),
        iterables(list(names), list(loops), parts),
        parts,
    )


def short_calls(text: Text, one: ast.stmt) -> Iterator[str]:
    """The calls in a statement that say something of a name, such as `x.numel()`."""
    for node in ast.walk(one):
        if isinstance(node, ast.Call) and not node.keywords and len(node.args) <= 1:
            told = [*node.args, getattr(node.func, "value", node.func)]
            if all(isinstance(each, ast.Name) for each in told):
                yield text.of(node)


def iterables(names: list[str], loops: list[str], parts: list[str]) -> list[str]:
    """What a loop may go over, the likeliest first."""
    names = [name for name in names if name != "_"]
    found = [loop for loop in loops if loop not in ("[]", "()")]
    found += names
    found += [f"range({name})" for name in names]
    found += [f"range(len({name}))" for name in names]
    found += [f"range({name}.shape[{i}])" for i in (0, 1, -1) for name in names]
    found += [f"enumerate({name})" for name in names]
    found += [f"enumerate({part})" for part in (*parts, *loops)]
    found += parts
    found += [f"range(1, {name})" for name in names]
    found += [f"range({name}.numel())" for name in names]
    found += [f"range(len({name}) - 1)" for name in names]
    found += [f"enumerate({name}, start=256)" for name in names]
    found += [f"zip({a}, {b})" for a in names[:6] for b in names[:6] if a != b]
    found += [f"{name}.items()" for name in names]
    found += [f"{name}.{end}" for end in ("tolist()", "unbind(0)") for name in names]
    found += [f"range(1, len({name}))" for name in names]
    found += [f"range({name} - 1)" for name in names]
    found += [f"range({name} + 1)" for name in names]
    found += [f"range(1, {name}.shape[{i}])" for i in (0, 1, -1) for name in names]
    return list(dict.fromkeys(found))[: MOST_ITERABLES * 3]


def source_of(program: Any) -> tuple[Source, str, dict[str, Any]]:
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
        raise Unknown
    text = "".join(linecache.getlines(code.co_filename))
    if not text or len(text) > LONGEST:
        raise Unknown
    try:
        source = Source(text, code.co_filename, code.co_flags & FUTURE)
    except (SyntaxError, ValueError):
        raise Unknown from None
    around = plain.__globals__
    name = program.__name__
    for one in source.tree.body:
        if isinstance(one, DEFINITIONS) and one.name == name:
            break
    else:
        raise Unknown
    return source, name, around
