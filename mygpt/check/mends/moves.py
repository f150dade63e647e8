"""Edits of what a statement keeps: under which name, and for what comes after."""

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

from mygpt.check.mends.names import bound_names, names_read
from mygpt.check.mends.source import Edit, SourceText

Change = tuple[int, int, str]  # from and to which character, and what comes there


def kept(text: SourceText, function: ast.FunctionDef) -> Iterator[Change]:
    """Yield loops that give their next round what a round has made.

    In `new = f(old)` the name `old` stands for `new`, or both are given a value.
    """
    known = bound_names(function)
    loops = (one for one in ast.walk(function) if isinstance(one, ast.For | ast.While))
    inside = (one for loop in loops for part in loop.body for one in ast.walk(part))
    for one in inside:
        if not isinstance(one, ast.Assign) or len(one.targets) != 1:
            continue
        (target,) = one.targets
        made = [node for node in ast.walk(target) if isinstance(node, ast.Name)]
        read = [node for node in names_read(one.value) if node.id in known]
        for new, old in product(made, read):
            if new.id != old.id:
                yield *text.span(old), new.id
                both = f"{old.id} = {new.id}" if new is target else old.id
                yield *text.span(new), both


def apart(text: SourceText, function: ast.FunctionDef) -> Iterator[Change]:
    """Yield functions in which a name is not overwritten, so it can be returned.

    In `m = m / c` the left m gets another name, and so does each m after it but those
    that are returned as they are.
    """
    end = function.body[-1]
    if not isinstance(end, ast.Return) or end.value is None:
        return
    given = end.value.elts if isinstance(end.value, ast.Tuple) else [end.value]
    returned = {one.id: one for one in given if isinstance(one, ast.Name)}
    last: dict[str, int] = {}
    for i, one in enumerate(function.body):
        name = overwritten(one)
        if name in returned:
            last[name] = i
    for names in (*combinations(last, 2), *combinations(last, 1)):
        first = function.body[min(last[name] for name in names)]
        span = text.span(first)[0], text.span(end)[1]
        found: list[Change] = []
        for name in names:
            at = last[name]
            found += renamed(text, name, function.body[at:], returned[name])
        yield *span, text.changed(*span, found)


def without(text: SourceText, function: ast.FunctionDef) -> Iterator[Change]:
    """Yield functions that lack a line."""
    for owner in ast.walk(function):
        body = getattr(owner, "body", None)
        if not isinstance(body, list) or len(body) < 2:
            continue
        for one in body:
            if isinstance(one, ast.Assign | ast.AugAssign | ast.Expr):
                yield *text.rows(one), ""


def overwritten(one: ast.stmt) -> str:
    """The name that a statement gives another value, made from its own; or nothing."""
    target = one.targets[0] if isinstance(one, ast.Assign) else None
    if isinstance(one, ast.AugAssign):
        return one.target.id if isinstance(one.target, ast.Name) else ""
    if not isinstance(one, ast.Assign) or not isinstance(target, ast.Name):
        return ""
    read = (node.id for node in ast.walk(one.value) if isinstance(node, ast.Name))
    return target.id if target.id in read else ""


def renamed(
    text: SourceText, name: str, block: Sequence[ast.stmt], kept: ast.Name
) -> Iterator[Change]:
    """Yield another name for what the first statement of a block makes."""
    new = f"{name}_new"
    first, *rest = block
    if isinstance(first, ast.AugAssign):
        start, end = text.span(first.target)[1], text.span(first.value)[0]
        sign = text.text[start:end].replace("=", "").strip()
        yield text.span(first.target)[0], end, f"{new} = {name} {sign} ("
        yield *[text.span(first.value)[1]] * 2, ")"
    else:
        assert isinstance(first, ast.Assign)
        yield *text.span(first.targets[0]), new
    for one in rest:
        for node in ast.walk(one):
            if isinstance(node, ast.Name) and node.id == name and node is not kept:
                yield *text.span(node), new


MOVES: dict[str, Callable[[SourceText, ast.FunctionDef], Iterator[Change]]] = {
    "@kept": kept,
    "@apart": apart,
    "@without": without,
}
LATER = 0.01  # added to the cost for each change before


def moved(
    name: str, text: SourceText, function: ast.FunctionDef, kind: str, cost: float
) -> Iterator[Edit]:
    """Yield the edits of a move of a name, the likeliest first."""
    for number, (start, end, new) in enumerate(MOVES[name](text, function)):
        yield Edit(start, end, new, text.line_at(start), kind, cost + LATER * number)
