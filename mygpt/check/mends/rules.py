"""Edits that take into account what the names of a function stand for."""

import ast
from collections.abc import Callable, Iterator

from mygpt.check.mends.edit import Edit
from mygpt.check.mends.forgotten import forgotten_edits
from mygpt.check.mends.indices import index_edits
from mygpt.check.mends.names import Names
from mygpt.check.mends.order import order_edits
from mygpt.check.mends.place import Place, Whole
from mygpt.check.mends.relatives import relative_edits
from mygpt.check.mends.throughout import edits_throughout

RULES: tuple[Callable[[Place], Iterator[Edit]], ...] = (
    index_edits,
    relative_edits,
    order_edits,
    forgotten_edits,
    edits_throughout,
)


def rule_edits(whole: Whole, tree: ast.AST, lines: set[int]) -> Iterator[Edit]:
    """Yield the edits of some lines in the functions of a tree."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = Names(function)
        parents = {
            child: parent
            for parent in ast.walk(function)
            for child in ast.iter_child_nodes(parent)
        }
        for node in parents:
            shown = getattr(node, "lineno", None)
            if isinstance(node, ast.expr | ast.stmt) and shown in lines:
                place = Place(whole, names, node, parents)
                for rule in RULES:
                    yield from rule(place)
