"""What the edits of a source may speak of: keys, names, sizes and loops."""

import ast
from collections.abc import Iterator, Sequence, Set
from functools import cached_property

from mygpt.check.mends.names import bound_names, names_loaded, strings_in
from mygpt.check.mends.source import DEFINITIONS, EditableSource
from mygpt.check.task import NO_HINTS, Hints


class Scope:
    """What the edits of a statement at the outermost level may speak of.

    keys: of the dictionaries that the program is given; unused: those that stand
    nowhere in the source. hints: of the task. short: lines in which no whole term is
    missing, for which there are too many. names: of arguments and locals; strings:
    texts of strings, as written. loops: what loops go over.
    """

    def __init__(
        self,
        source: EditableSource,
        statement: ast.stmt,
        keys: Sequence[str] = (),
        hints: Hints = NO_HINTS,
        short: Set[int] = frozenset(),
    ) -> None:
        self.text, self.tree, self.statement = source.text, source.tree, statement
        self.keys, self.hints, self.short = keys, hints, short
        written = {one.value for one in strings_in(source.tree)}
        self.unused = [key for key in keys if key not in written]
        self.names = [name for name in bound_names(statement) if name != "_"]
        entries = [
            one
            for one in ast.walk(statement)
            if isinstance(one, ast.Subscript)
            and isinstance(one.value, ast.Name)
            and isinstance(one.slice, ast.Constant)
            and isinstance(one.slice.value, str)
        ]
        self.dictionaries = dict.fromkeys(self.text.of(one.value) for one in entries)
        used = [one.slice.value for one in entries]
        known = [*used, *keys] if entries else []
        self.strings = list(dict.fromkeys(f'"{key}"' for key in known))
        self.loops = dict.fromkeys(
            self.text.of(one.iter)
            for one in ast.walk(statement)
            if isinstance(one, ast.For | ast.comprehension)
        )

    @cached_property
    def parts(self) -> list[str]:
        """Entries of dictionaries, and the calls that say something of a name."""
        found = [
            f"{owner}[{key}]" for owner in self.dictionaries for key in self.strings
        ]
        return [*found, *dict.fromkeys(self.short_calls())]

    def short_calls(self) -> Iterator[str]:
        """The calls in the statement that say something of a name: `x.dim()`."""
        for node in ast.walk(self.statement):
            if isinstance(node, ast.Call) and not node.keywords and len(node.args) < 2:
                told = [*node.args, getattr(node.func, "value", node.func)]
                if all(isinstance(each, ast.Name) for each in told):
                    yield self.text.of(node)

    @property
    def outer_names(self) -> Iterator[str]:
        """The names that the source defines at the outermost level."""
        for one in self.tree.body:
            if isinstance(one, DEFINITIONS):
                yield one.name
            elif isinstance(one, ast.Assign):
                yield from bound_names(one)

    @cached_property
    def never_called(self) -> list[str]:
        """The functions of one argument that nothing in the source calls."""
        read = set(names_loaded(self.tree))
        return [
            one.name
            for one in self.tree.body
            if isinstance(one, ast.FunctionDef)
            and len(one.args.args) == 1
            and one.name not in read
        ]
