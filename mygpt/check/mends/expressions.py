"""Edits of expressions that no pattern describes."""

import ast
import itertools
from collections.abc import Iterator

from mygpt.check.mends.edit_site import EditSite
from mygpt.check.mends.names import called, names_read, subject
from mygpt.check.mends.source import Edit

INDEX = "an index in it"
MOVED = "the place of a call in it"
MOST = 5  # names that are tried
NO_FUNCTION = ("append", "extend", "range", "len", "int", "float", "list", "enumerate")


# What is listed, or given to a call


def exchanged(site: EditSite, node: ast.expr) -> Iterator[Edit]:
    """Yield two arguments, indices or entries in each other's places."""
    nodes = node.args if isinstance(node, ast.Call) else getattr(node, "elts", ())
    kind = "the order of what it lists"
    if isinstance(node, ast.Call):
        kind = "the order of arguments in it"
    elif isinstance(site.parent, ast.Subscript):
        kind = INDEX
    for i, j in itertools.combinations(range(len(nodes)), 2):
        one, other = nodes[i], nodes[j]
        new = site.of(other) + site.text.between(one, other) + site.of(one)
        if site.of(one) != site.of(other):
            start, end = site.text.span(one)[0], site.text.span(other)[1]
            yield Edit(start, end, new, site.line, kind, 1.3 + 0.2 * (j > i + 1))


def calls_exchanged(site: EditSite, node: ast.Call) -> Iterator[Edit]:
    """Yield two calls, the one of what the other gives, in each other's places."""
    match node:
        case ast.Call(outer, [ast.Call(inner, [_], []) as within], []):
            parts = {outer: site.of(inner), inner: site.of(outer)}
            if site.of(outer) != site.of(inner) and within.func is inner:
                new = site.text.replaced(node, parts)
                yield site.expression(new, "the order of two calls in it", 1.4)


def fewer_arguments(site: EditSite, node: ast.Call) -> Iterator[Edit]:
    """Yield a call without one of its named arguments, or without the last."""
    given = [*node.args, *node.keywords]
    dropped: list[tuple[ast.expr | ast.keyword, str, float]] = [
        (one, f"the argument `{one.arg}` in it", 1.5) for one in node.keywords
    ]
    if given and not dropped:
        dropped = [(given[-1], "an argument too many in it", 1.6)]
    for one, kind, cost in dropped:
        start, end = site.text.span(one)
        if one is not given[0]:
            start = site.text.text.rindex(",", site.start, start)
        elif len(given) > 1:
            end = site.text.span(given[1])[0]
        yield Edit(start, end, "", site.line, kind, cost)


def shorter_index(site: EditSite, node: ast.Tuple) -> Iterator[Edit]:
    """Yield an index without one of its parts but the first."""
    if isinstance(site.parent, ast.Subscript):
        for one, other in itertools.pairwise(node.elts):
            start, end = site.text.span(one)[1], site.text.span(other)[1]
            yield Edit(start, end, "", site.line, INDEX, 1.8)


# Where a call stands


def moved_call(site: EditSite, node: ast.Call) -> Iterator[Edit]:
    """Yield a call of one thing around another part, here or in the line above."""
    of, rest = subject(node)
    closed = isinstance(of, ast.Constant | ast.Starred)
    if of is None or closed or called(node) in NO_FUNCTION:
        return
    first, last = site.text.span(of)
    parts = site.text.text[site.start : first], site.text.text[last : site.end]
    method = isinstance(node.func, ast.Attribute) and of is node.func.value
    if method:
        parts = "", parts[1][max(parts[1].find("."), 0) :]
    for name in [] if isinstance(of, ast.Name) else list(names_read(of))[:MOST]:
        new = site.text.replaced(of, {name: name.id.join(parts)})
        yield site.expression(new, MOVED, 1.4 + 0.2 * bool(rest))
    above = site.beside(-1)
    if isinstance(above, ast.Assign) and not site.of(of).startswith("("):
        inner = site.held(of) if method else site.of(of)
        start, end = site.text.span(above.value)
        between = site.text.text[end : site.start]
        for name in list(names_read(above.value))[:MOST]:
            value = site.text.replaced(above.value, {name: name.id.join(parts)})
            kind = "the place of a call, which belongs above it"
            new = f"{value}{between}{inner}"
            yield Edit(start, site.end, new, site.line, kind, 1.6)
