"""An expression or a statement of a function, with what is around it."""

import ast
import string
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import permutations
from typing import Any

from mygpt.check.mends.names import (
    FunctionNames,
    bound_names,
    names_read,
    subject,
)
from mygpt.check.mends.scope import Scope
from mygpt.check.mends.source import ATOMS, Edit

MOST = 6  # names that are tried
DICTIONARIES = 3
CAPITALS = frozenset(string.ascii_uppercase)  # names of sizes
KINDS = ("tensor", "none", "list", "dict")
ARITHMETIC = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.FloorDiv, ast.Mod),
    ast.Pow,
)
ANY, SUM, ATOM = range(3)  # what may stand in a place without brackets


def holds(parent: ast.AST, node: ast.AST) -> int:
    """What may stand in the place of a node without brackets: ANY, SUM or ATOM."""
    if isinstance(parent, ast.BinOp):
        loose = parent.left is node or isinstance(parent.op, ast.Add)
        return SUM if loose and isinstance(parent.op, ast.Add | ast.Sub) else ATOM
    if isinstance(parent, ast.Compare):
        return SUM
    if isinstance(parent, ast.Attribute | ast.UnaryOp | ast.Starred):
        return ATOM
    if isinstance(parent, ast.Call):
        return ATOM if parent.func is node else ANY
    return ATOM if isinstance(parent, ast.Subscript) and parent.value is node else ANY


def fits(node: ast.AST, place: int) -> bool:
    """Whether a node may stand in a place without brackets."""
    if place == ANY or isinstance(node, ATOMS):
        return True
    number = isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC)
    return place == SUM and number


def bracketed(text: str, place: int) -> str:
    """The text of an expression for a place, in brackets where they are needed."""
    return text if fits(parsed_expression(text), place) else f"({text})"


@lru_cache(1000)
def parsed_expression(text: str) -> ast.expr:
    return ast.parse(f"({text})", mode="eval").body


class EditSite:
    """A node of a tree.

    names: those of the function that it is in. parents: of each node of the function.
    """

    def __init__(
        self,
        scope: Scope,
        names: FunctionNames,
        node: ast.expr | ast.stmt,
        parents: dict[ast.AST, ast.AST],
    ) -> None:
        self.scope, self.text, self.names = scope, scope.text, names
        self.node, self.parents = node, parents
        self.parent = parents[node]
        self.start, self.end = self.text.span(node)
        self.old = self.text.text[self.start : self.end]
        self.line = node.lineno
        self.of, self.held = self.text.of, self.text.held
        self.place = holds(self.parent, node)
        self.chosen: dict[str, Sequence[str]] = {}

    @property
    def above(self) -> Iterator[ast.AST]:
        """Yield the nodes that it is in, the innermost first."""
        node = self.parents.get(self.node)
        while node is not None:
            yield node
            node = self.parents.get(node)

    @property
    def function(self) -> ast.FunctionDef:
        """The outermost function that it is in."""
        *_, found = self.above
        assert isinstance(found, ast.FunctionDef)
        return found

    @property
    def statement(self) -> ast.stmt:
        if isinstance(self.node, ast.stmt):
            return self.node
        return next(each for each in self.above if isinstance(each, ast.stmt))

    @cached_property
    def loops(self) -> list[ast.For | ast.While]:
        """The loops around it, the innermost first."""
        return [each for each in self.above if isinstance(each, ast.For | ast.While)]

    def beside(self, step: int) -> ast.stmt | None:
        """The statement just before its own in the block, or just after."""
        statement = self.statement
        for name in ("body", "orelse", "finalbody"):
            block = getattr(self.parents.get(statement), name, ())
            if isinstance(block, list) and statement in block:
                return dict(enumerate(block)).get(block.index(statement) + step)
        return None

    @property
    def is_read(self) -> bool:
        return not isinstance(getattr(self.node, "ctx", None), ast.Store | ast.Del)

    # Edits

    def edit(self, new: str, kind: str, cost: float) -> Edit:
        """Put a text in its place."""
        return Edit(self.start, self.end, new, self.line, kind, cost)

    def expression(self, new: str, kind: str, cost: float) -> Edit:
        """Put an expression in its place, in brackets where they are needed."""
        return self.edit(bracketed(new, self.place), kind, cost)

    # What may be spoken of

    def choices(self, hole: str) -> Sequence[str]:
        """The texts that may stand in a hole of a replacement, the likeliest first."""
        if hole not in self.chosen:
            self.chosen[hole] = CHOICES[hole](self)
        return self.chosen[hole]

    def tensors(self) -> list[str]:
        return self.names.before(self.line, "tensor")

    def counts(self) -> list[str]:
        found = self.names.before(self.line, "int")
        return [name for name in found if name != self.old][:MOST]

    def dictionaries(self) -> list[str]:
        return self.names.before(self.line, "dict")[:DICTIONARIES]

    def entries(self) -> list[str]:
        """The entries of dictionaries that stand nowhere in the source."""
        return [
            f'{name}["{key}"]'
            for key in self.scope.unused
            for name in self.dictionaries()
        ]

    def optional(self) -> list[str]:
        """The names of what may be None where its statement stands."""
        found = self.names.before(self.line + 1, *KINDS)
        return [name for name in found if name in self.names.optional]

    def target(self) -> list[str]:
        """The tensor, known before, to which its statement gives its value."""
        targets = getattr(self.statement, "targets", [])
        return [name for name in map(self.of, targets) if name in self.tensors()]

    def rounds(self) -> list[str]:
        """The whole numbers that the loops around it count."""
        targets = (getattr(loop, "target", loop.body[0]) for loop in self.loops)
        names = {name for target in targets for name in bound_names(target)}
        return sorted(each for each in names if self.names.kinds.get(each) == "int")

    def summands(self) -> list[str]:
        """What the cumulative sums that it reads first are made of."""
        names = [one.id for one in names_read(self.node)][:1]
        calls = [self.names.sums[name] for name in names if name in self.names.sums]
        return [self.held(of) for of, _ in map(subject, calls) if of is not None]

    def sizes(self) -> list[str]:
        """The whole numbers that it reads."""
        found = dict.fromkeys(one.id for one in names_read(self.node))
        return [one for one in found if self.names.kinds.get(one) == "int"]

    def read(self) -> list[str]:
        """The tensors that it reads."""
        found = dict.fromkeys(one.id for one in names_read(self.node))
        return [one for one in found if self.names.kinds.get(one) == "tensor"]


CHOICES: dict[str, Callable[[EditSite], Sequence[str]]] = {
    "tensor": lambda site: site.tensors()[:MOST],
    "other": lambda site: site.tensors()[: 2 * MOST],
    "count": EditSite.counts,
    "size": lambda site: [n for n in site.counts() if n in site.names.arguments],
    "entry": EditSite.entries,
    "optional": lambda site: site.optional()[:2],
    "round": EditSite.rounds,
    "target": EditSite.target,
    "mentioned": lambda site: [each.id for each in names_read(site.node)][:2],
    "apart": lambda site: [f"{a} - {b}" for a, b in permutations(site.sizes(), 2)],
    "few": lambda site: site.counts()[:3],
    "read": lambda site: site.read()[:3],
    "unused": lambda site: site.names.unused,
    "never_called": lambda site: site.scope.never_called,
    "name": lambda site: site.scope.names,
    "one": lambda site: site.scope.names[:6],
    "another": lambda site: site.scope.names[:6],
    "term": lambda site: [*site.scope.names, *site.scope.parts],
    "dimension": lambda site: [n for n in site.scope.names if n in CAPITALS],
    "part": lambda site: site.scope.parts,
    "loop": lambda site: list(site.scope.loops),
    "summand": EditSite.summands,
}


# Places that a pattern may ask for

Place = Callable[[EditSite], bool]
CLOSED = ast.Tuple | ast.List | ast.Dict | ast.Lambda | ast.Slice | ast.Constant
WHOLE = ast.stmt | ast.keyword | ast.Call
USUAL = ast.BinOp | ast.Call | ast.Name


def is_called(site: EditSite) -> bool:
    return isinstance(site.parent, ast.Call) and site.parent.func is site.node


def place(
    nodes: Any = ast.expr, within: Any = ast.AST, outside: Any = (), whole: bool = True
) -> Place:
    """Where something may be added to expressions of some classes.

    within, outside: classes of what holds them; whole: also to whole numbers.
    """

    def is_in(site: EditSite) -> bool:
        node, parent = site.node, site.parent
        closed = isinstance(node, CLOSED) or isinstance(parent, outside)
        owned = isinstance(parent, ast.Attribute | ast.JoinedStr) or is_called(site)
        open_to = isinstance(node, nodes) and isinstance(parent, within)
        plain = open_to and not (closed or owned)
        return plain and (whole or site.names.kind_of(node) != "int")

    return is_in


def is_size(site: EditSite) -> bool:
    """Whether a whole number has a name, and is neither an index nor listed."""
    named = isinstance(site.node, ast.Name | ast.Subscript) and site.is_read
    whole = named and site.names.kind_of(site.node) == "int"
    return whole and not isinstance(site.parent, ast.Slice | ast.Subscript | ast.Tuple)


def index_of(site: EditSite) -> ast.Subscript | None:
    """The subscript in whose index an expression is a part."""
    node, owner = site.node, site.parent
    if isinstance(owner, ast.Tuple):
        node, owner = owner, site.parents.get(owner)  # type: ignore
    found = isinstance(owner, ast.Subscript) and owner.slice is node
    return owner if found else None  # type: ignore


def is_index_read(site: EditSite) -> bool:
    owner = index_of(site)
    return owner is not None and isinstance(owner.ctx, ast.Load)


def is_last(site: EditSite) -> bool:
    """Whether an expression is the only index, or the last one."""
    parts = getattr(site.parent, "elts", [site.node])
    return index_of(site) is not None and parts[-1] is site.node


ANYWHERE = place()
PARTS = ast.Slice | ast.Tuple
FACTOR = place(ast.BinOp, ast.BinOp, whole=False)
KEPT = place(within=ast.Assign | ast.Return)
TERM = place(USUAL, WHOLE, whole=False)
PLACES: dict[str, Place] = {
    "any": ANYWHERE,
    "whole": place(within=WHOLE),
    "part": place(outside=WHOLE),
    "argument": place(within=ast.Call),
    "value": lambda site: KEPT(site) and not isinstance(site.node, ast.IfExp),
    "term": lambda site: TERM(site) or FACTOR(site),
    "assigned": lambda site: site.is_read and isinstance(site.parent, ast.Assign),
    "uncalled": lambda site: not is_called(site),
    "test": lambda site: getattr(site.parent, "test", None) is site.node,
    "size": is_size,
    "index": lambda site: index_of(site) is not None,
    "last": is_last,
    "inner": lambda site: index_of(site) is not None and not is_last(site),
    "cell": lambda site: is_index_read(site) and not isinstance(site.node, PARTS),
    "span": lambda site: is_index_read(site) and isinstance(site.node, ast.Slice),
    "loop": lambda site: bool(site.loops),
    "done": lambda site: isinstance(site.parent, ast.Expr),
    "over": lambda site: getattr(site.parent, "iter", None) is site.node,
}
