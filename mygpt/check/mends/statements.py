"""Edits of statements: one too many, in another place, missing or kept elsewhere."""

import ast
import itertools
import textwrap
from collections.abc import Iterator, Sequence

from mygpt.check.mends.edit_site import EditSite
from mygpt.check.mends.names import names_read
from mygpt.check.mends.scope import Scope
from mygpt.check.mends.source import Edit, SourceText, all_lines

BLOCKS = ("body", "orelse", "finalbody")
ORDER = "their order"
INDENTATION = "its indentation"
LOOP = "its place: before the loop or in it"
KEPT = "where its result is kept"
TARGETS = "the order of the names in it"
ABOVE, BELOW = "a line missing above it", "a line missing below it"
AGAIN = 0.5  # added to the cost of a line that stands elsewhere already
MOST = 10  # names that are tried
COUNTERS = ("i", "j", "count", "n", "t", "step")


# Statements of a block, at the outermost level too


def block_edits(scope: Scope, lines: set[int]) -> Iterator[Edit]:
    """Yield edits of whole statements in some lines."""
    text = scope.text
    for owner in ast.walk(scope.statement):
        for field in BLOCKS:
            block = getattr(owner, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                for i, one in enumerate(block):
                    if lines & all_lines(one):
                        yield from in_block(text, owner, block, i)
                        yield from missing(scope, one)
        if isinstance(owner, ast.FunctionDef) and not owner.decorator_list:
            start = text.at(owner.lineno, 0)
            indent = " " * owner.col_offset
            for new in ("@torch.no_grad()", "@torch.inference_mode()"):
                kind = "a decorator missing above it"
                yield Edit(start, start, f"{indent}{new}\n", owner.lineno, kind, 2.0)


def in_block(
    text: SourceText, owner: ast.AST, block: Sequence[ast.stmt], i: int
) -> Iterator[Edit]:
    """Yield a statement left out, behind the next, out of its block or in one."""
    one = block[i]
    line, (start, end) = one.lineno, text.rows(one)
    own = text.text[start:end]
    if len(block) > 1 and not isinstance(one, ast.Return | ast.FunctionDef):
        yield Edit(start, end, "", line, "it is one too many", 1.8)
    if isinstance(one, ast.Break | ast.Continue):
        new = "continue" if isinstance(one, ast.Break) else "break"
        yield Edit(*text.span(one), new, line, f"`{text.of(one)}`", 1.4)
    if isinstance(one, ast.If) and not one.orelse:
        inside = text.text[slice(*text.rows(*one.body))]
        freed = indented(inside, one.body[0].col_offset - 4)
        yield Edit(start, end, freed, line, "its condition", 2.0)
    if i + 1 < len(block):
        first, last = text.rows(block[i + 1])
        if first == end:
            calls = isinstance(one, ast.Expr) and isinstance(block[i + 1], ast.Expr)
            new = text.text[first:last] + own
            yield Edit(start, last, new, line, ORDER, 1.4 if calls else 1.7)
    inner = not isinstance(owner, ast.FunctionDef | ast.Module | ast.ClassDef)
    if inner and i and i + 1 == len(block):
        outside = indented(own, getattr(owner, "col_offset", 0))
        cost = 1.5 if isinstance(one, ast.Return) else 2.0
        yield Edit(start, end, outside, line, INDENTATION, cost)
    before = block[i - 1] if i else None
    if isinstance(before, ast.For | ast.While | ast.If | ast.With):
        within = indented(own, before.body[0].col_offset)
        yield Edit(start, end, within, line, INDENTATION, 2.0)


def indented(lines: str, columns: int) -> str:
    return textwrap.indent(textwrap.dedent(lines), " " * columns)


def missing(scope: Scope, one: ast.stmt) -> Iterator[Edit]:
    """Yield short lines that may be missing beside a statement."""
    text, line, last = scope.text, one.lineno, isinstance(one, ast.Return)
    (start, end), indent = text.rows(one), " " * one.col_offset
    for new, cost in short_lines(scope):
        cost += AGAIN * (new in text.text)
        yield Edit(start, start, f"{indent}{new}\n", line, ABOVE, cost)
        if not last:
            yield Edit(end, end, f"{indent}{new}\n", line, BELOW, cost)
    if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
        new = f"{indent}return {one.targets[0].id}\n"
        yield Edit(end, end, new, line, "a `return` missing below it", 2.2)


def short_lines(scope: Scope) -> Iterator[tuple[str, float]]:
    names = scope.names
    for name, lines, cost in scope.hints.lines:
        if name in names:
            yield from ((line, cost) for line in lines)
    yield from ((f"{name} += 1", 2.4) for name in COUNTERS if name in names)
    yield from ((f"{name} = {name}.clone()", 2.4) for name in names[:3])


# Statements of a function, by what its names stand for


def two_operations(site: EditSite, node: ast.Assign) -> Iterator[Edit]:
    """Yield two assignments in a row that apply each other's operation."""
    last, text = site.beside(1), site.text
    here, then = node.value, getattr(last, "value", None)
    name = site.of(node.targets[0])
    both = isinstance(here, ast.BinOp) and isinstance(then, ast.BinOp)
    if len(node.targets) > 1 or not both or site.of(then.left) != name:
        return
    signs = [text.between(one.left, one.right).strip(" ()\n\\") for one in (here, then)]
    start, end = text.span(here)[0], text.span(then)[1]
    one = f"{site.held(here.left)} {signs[1]} {site.held(then.right)}"
    two = f"{name} {signs[0]} {site.held(here.right)}"
    kind = "the order of two operations, in it and the line below"
    new = f"{one}{text.between(here, then)}{two}"
    yield Edit(start, end, new, site.line, kind, 1.4)


def other_target(site: EditSite, node: ast.Name) -> Iterator[Edit]:
    """Yield another name in scope that is given the value."""
    statement, names = site.statement, site.names
    if site.is_read or not isinstance(statement, ast.Assign) or node.id == "_":
        return
    likely = names.before(site.line, names.kinds.get(node.id, "tensor"), "none")
    found = dict.fromkeys([*likely, *site.tensors()])
    read = [one.id for one in names_read(statement.value)]
    for name in list(found)[:MOST]:
        if name != node.id:
            usual = name in read or name in names.optional
            yield site.edit(name, KEPT, 1.3 if usual else 1.8)


def targets_exchanged(site: EditSite, node: ast.Assign) -> Iterator[Edit]:
    """Yield two names that are given the parts of a value, in each other's places."""
    names = getattr(node.targets[0], "elts", ())
    if isinstance(node.value, ast.Tuple) or site.of(node.value).endswith("shape"):
        return
    for one, other in itertools.combinations(names, 2):
        start, end = site.text.span(one)[0], site.text.span(other)[1]
        new = site.of(other) + site.text.between(one, other) + site.of(one)
        yield Edit(start, end, new, site.line, TARGETS, 1.5)


def into_loop(site: EditSite, node: ast.stmt) -> Iterator[Edit]:
    """Yield a statement above a loop, inside it, and the other way round."""
    text, block = site.text.text, getattr(site.parent, "body", ())
    if not isinstance(block, list) or node not in block:
        return
    at, (start, end) = block.index(node), site.text.rows(node)
    for i, loop in enumerate(block[at + 1 : at + 4]):
        if isinstance(loop, ast.For | ast.While) and node.lineno == node.end_lineno:
            inside = site.text.rows(loop.body[0])[0]
            step = " " * (loop.body[0].col_offset - node.col_offset)
            if site.text.rows(loop)[0] < inside:
                new = f"{text[end:inside]}{step}{text[start:end]}"
                yield Edit(start, inside, new, node.lineno, LOOP, 1.4 + 0.2 * (i > 0))
    if at == 0 and isinstance(site.parent, ast.For | ast.While) and len(block) > 1:
        first = site.text.at(site.parent.lineno, 0)
        outside = " " * site.parent.col_offset + text[start:end].lstrip(" ")
        new = outside + text[first:start]
        yield Edit(first, end, new, node.lineno, LOOP, 1.6)
