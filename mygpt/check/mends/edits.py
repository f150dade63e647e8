"""All edits of some lines of a source."""

import ast
import tomllib
from collections.abc import Callable, Iterator, Set
from functools import cache
from pathlib import Path

from mygpt.check.mends import expressions, statements, throughout
from mygpt.check.mends.edit_site import EditSite
from mygpt.check.mends.names import FunctionNames
from mygpt.check.mends.patterns import RuleBook
from mygpt.check.mends.scope import Scope
from mygpt.check.mends.source import Edit, EditableSource, all_lines
from mygpt.check.mends.tokens import token_edits
from mygpt.check.task import NO_HINTS, Hints

# What no pattern describes, by the classes of nodes: in any expression that is read,
# and in functions, whose names are known.
Edits = tuple[Callable[..., Iterator[Edit]], ...]
ANYWHERE: dict[type, Edits] = {
    ast.Call: (
        expressions.exchanged,
        expressions.calls_exchanged,
        expressions.fewer_arguments,
    ),
    ast.Tuple: (expressions.exchanged, expressions.shorter_index),
    ast.List: (expressions.exchanged,),
}
WITH_NAMES: dict[type, Edits] = {
    ast.Name: (statements.other_target,),
    ast.Call: (expressions.moved_call, throughout.counted),
    ast.Subscript: (throughout.all_cut, throughout.counted),
    ast.Assign: (
        statements.two_operations,
        statements.targets_exchanged,
        statements.into_loop,
    ),
    ast.Expr: (statements.into_loop, throughout.restored),
}
NO_NAMES = FunctionNames(ast.parse("def nothing(): pass").body[0])  # type: ignore


@cache
def rule_book(hints: Hints | None = None) -> RuleBook:
    """The rules for all tasks, or those of some hints."""
    rules = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
    words = rules.pop("words")
    return RuleBook(hints.rules if hints else rules, words)


def edits_of(
    source: EditableSource,
    lines: set[int],
    keys: list[str],
    short: Set[int] = frozenset(),
    hints: Hints = NO_HINTS,
) -> Iterator[Edit]:
    """Yield the edits of some lines.

    keys: of the dictionaries that are given; short: lines in which no whole term is
    missing, for which there are too many.
    """
    for one in source.tree.body:
        own = lines & all_lines(one)
        if own and not isinstance(one, ast.Import | ast.ImportFrom | ast.Expr):
            scope = Scope(source, one, keys, hints, short)
            yield from token_edits(scope, own)
            yield from node_edits(scope, own)
            yield from statements.block_edits(scope, own)


def node_edits(scope: Scope, lines: set[int]) -> Iterator[Edit]:
    """Yield the edits of the expressions and statements of some lines."""
    tree = scope.statement
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    inside = {node for one in functions for node in ast.walk(one)}
    for owner in dict.fromkeys((*functions, tree)):
        known = isinstance(owner, ast.FunctionDef)
        names = FunctionNames(owner) if known else NO_NAMES
        parents = {
            child: parent
            for parent in ast.walk(owner)
            for child in ast.iter_child_nodes(parent)
        }
        for node in parents:
            shown = isinstance(node, ast.expr | ast.stmt) and node.lineno in lines
            if shown and (known or node not in inside):
                yield from site_edits(EditSite(scope, names, node, parents), known)


def site_edits(site: EditSite, known: bool) -> Iterator[Edit]:
    """Yield the edits of a node; known: whether what its names stand for is known."""
    node = site.node
    for edits in WITH_NAMES.get(type(node), ()) if known else ():
        yield from edits(site, node)
    if site.is_read:
        if isinstance(site.parent, ast.stmt) and isinstance(node, ast.expr):
            yield from throughout.names_exchanged(site, node)
        yield from rule_book().edits(site)
        yield from rule_book(site.scope.hints).edits(site)
        for edits in ANYWHERE.get(type(node), ()):
            yield from edits(site, node)
    if known and node is site.function.body[0]:
        yield from throughout.exchanged(site)
        yield from throughout.elsewhere(site)
    kept = isinstance(site.parent, ast.Assign | ast.AugAssign | ast.Return)
    if known and kept and getattr(site.parent, "value", None) is node:
        yield from throughout.other_names(site, node)
