"""An expression or a statement of a function, with what is around it."""

import ast
import re
from collections.abc import Iterator, Sequence

from mygpt.check.mends.edit import Edit, Text
from mygpt.check.mends.names import Names, in_order

ATOMS = (
    *(ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict),
    *(ast.ListComp, ast.JoinedStr, ast.Constant),
)
FREE = ast.stmt | ast.keyword | ast.Call | ast.List


class Whole:
    """A whole source, and the keys of the dictionaries that a program is given.

    known: the keys and their beginnings; unused: the keys that stand nowhere in it.
    heads: beginnings of keys with the same ends, one in use and one never used.
    never_called: its functions of one argument that nothing calls.
    """

    def __init__(self, text: Text, tree: ast.Module, keys: Sequence[str]) -> None:
        self.text, self.tree, self.keys = text, tree, keys
        strings = {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        self.unused = [key for key in keys if key not in strings]
        self.known = {*keys, *(key.rpartition("_")[0] for key in keys)}
        self.heads = heads_of(keys, strings)
        read = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        self.never_called = [
            one.name
            for one in tree.body
            if isinstance(one, ast.FunctionDef)
            and len(one.args.args) == 1
            and one.name not in read
        ]


class Place:
    """A node of a function's tree. statement: the innermost one that it is in."""

    def __init__(
        self,
        whole: Whole,
        names: Names,
        node: ast.expr | ast.stmt,
        parents: dict[ast.AST, ast.AST],
    ) -> None:
        self.whole, self.text, self.names = whole, whole.text, names
        self.node, self.parents = node, parents
        self.parent = parents[node]
        self.start, self.end = self.text.span(node)
        self.old = self.text.text[self.start : self.end]
        self.line = node.lineno

    @property
    def function(self) -> ast.FunctionDef:
        """The outermost function that it is in."""
        found: ast.AST = self.node
        while found in self.parents:
            found = self.parents[found]
        assert isinstance(found, ast.FunctionDef)
        return found

    @property
    def statement(self) -> ast.stmt:
        found: ast.AST = self.node
        while not isinstance(found, ast.stmt):
            found = self.parents[found]
        return found

    @property
    def loops(self) -> list[ast.For | ast.While]:
        """The loops around it, the innermost first."""
        found, node = [], self.parents.get(self.node)
        while node is not None:
            if isinstance(node, ast.For | ast.While):
                found.append(node)
            node = self.parents.get(node)
        return found

    @property
    def is_free(self) -> bool:
        """Whether any expression may stand here without brackets."""
        function = getattr(self.parent, "func", None)
        return isinstance(self.parent, FREE) and function is not self.node

    @property
    def is_read(self) -> bool:
        return not isinstance(getattr(self.node, "ctx", None), ast.Store | ast.Del)

    def of(self, node: ast.AST) -> str:
        return self.text.of(node)

    def held(self, node: ast.AST) -> str:
        """The text of a node, in brackets unless it holds together."""
        part = self.text.of(node)
        return part if isinstance(node, ATOMS) else f"({part})"

    def operand(self, node: ast.AST, sign: str) -> str:
        """The text of a node as what stands before a sign."""
        loose = sign in ("+", "-") and isinstance(node, ast.BinOp)
        return self.of(node) if loose else self.held(node)

    def edit(self, new: str, kind: str, cost: float) -> Edit:
        """Put an expression that holds together in its place."""
        return Edit(self.start, self.end, new, self.line, kind, cost)

    def loose(self, new: str, kind: str, cost: float) -> Edit:
        """Put an expression in its place, in brackets where they are needed."""
        return self.edit(new if self.is_free else f"({new})", kind, cost)

    def at(self, node: ast.AST, new: str, kind: str, cost: float) -> Edit:
        """Put a text in the place of another node."""
        start, end = self.text.span(node)
        return Edit(start, end, new, getattr(node, "lineno", self.line), kind, cost)

    def replaced(self, within: ast.AST, changes: dict[ast.expr, str]) -> str:
        """The text of a node with some nodes in it replaced."""
        start, end = self.text.span(within)
        new, last = "", start
        for node in sorted(changes, key=lambda one: self.text.span(one)[0]):
            first, after = self.text.span(node)
            new += self.text.text[last:first] + changes[node]
            last = after
        return new + self.text.text[last:end]

    def rows(self, *statements: ast.stmt) -> tuple[int, int]:
        """The offsets of the whole lines of statements."""
        first, last = statements[0], statements[-1]
        return (
            self.text.at(first.lineno, 0),
            self.text.at((last.end_lineno or last.lineno) + 1, 0),
        )


def in_block(parents: dict[ast.AST, ast.AST], node: ast.stmt) -> list[ast.stmt]:
    """The statements among which one stands."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parents.get(node), name, None)
        if isinstance(block, list) and node in block:
            return block
    return [node]


def is_of(key: str, head: str) -> bool:
    return key == head or key.startswith(f"{head}_")


def heads_of(keys: Sequence[str], used: set[str]) -> list[tuple[str, str]]:
    """Pairs of beginnings of keys with the same ends: one in use, one never used."""
    ends: dict[str, set[str]] = {}
    for key in keys:
        head, _, end = key.rpartition("_")
        if re.search(r"\d|ln|norm", head):
            ends.setdefault(head, set()).add(end)
    live = [head for head in ends if any(is_of(each, head) for each in used)]
    return [
        (old, new)
        for old in live
        for new in ends
        if new not in live and ends[new] == ends[old]
    ]


def names_read(node: ast.AST) -> Iterator[ast.Name]:
    """The names that an expression reads, without what it calls."""
    functions = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    for one in (node, *in_order(node)):
        read = isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
        if read and id(one) not in functions:
            yield one
