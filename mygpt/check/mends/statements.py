"""Edits of statements: one too many, in another place or missing."""

import ast
import textwrap
from collections.abc import Iterator, Sequence

from mygpt.check.mends.edit import Edit, Text
from mygpt.check.mends.expressions import Scope

BLOCKS = ("body", "orelse", "finalbody")
ORDER = "their order"
AGAIN = 0.5  # added to the cost of a line that stands elsewhere already


def statement_edits(
    text: Text, tree: ast.AST, lines: set[int], scope: Scope
) -> Iterator[Edit]:
    for owner in ast.walk(tree):
        for name in BLOCKS:
            block = getattr(owner, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield from block_edits(text, owner, block, lines, scope)
        if isinstance(owner, ast.FunctionDef) and not owner.decorator_list:
            start = text.at(owner.lineno, 0)
            indent = " " * owner.col_offset
            for new in ("@torch.no_grad()", "@torch.inference_mode()"):
                kind = "a decorator missing above it"
                yield Edit(start, start, f"{indent}{new}\n", owner.lineno, kind, 2.0)


def block_edits(
    text: Text, owner: ast.AST, block: Sequence[ast.stmt], lines: set[int], scope: Scope
) -> Iterator[Edit]:
    inner = not isinstance(owner, ast.FunctionDef | ast.Module | ast.ClassDef)
    for i, one in enumerate(block):
        if not lines & set(range(one.lineno, (one.end_lineno or one.lineno) + 1)):
            continue
        start, end = whole(text, one)
        own = text.text[start:end]
        line = one.lineno
        if len(block) > 1 and not isinstance(one, ast.Return | ast.FunctionDef):
            yield Edit(start, end, "", line, "it is one too many", 1.8)
        if isinstance(one, ast.If) and not one.orelse:
            freed = dedented(text, one.body)
            yield Edit(start, end, freed, line, "its condition", 2.0)
        if i + 1 < len(block):
            first, last = whole(text, block[i + 1])
            if first == end:
                new = text.text[first:last] + own
                calls = isinstance(one, ast.Expr) and isinstance(block[i + 1], ast.Expr)
                cost = 1.4 if calls else 1.7
                yield Edit(start, last, new, line, ORDER, cost)
        if inner and i + 1 == len(block):
            moved = textwrap.indent(textwrap.dedent(own), " " * owner.col_offset)
            cost = 1.5 if isinstance(one, ast.Return) else 2.0
            if i:
                yield Edit(start, end, moved, line, "its indentation", cost)
        if i and isinstance(block[i - 1], ast.For | ast.While | ast.If | ast.With):
            inside = textwrap.indent(
                textwrap.dedent(own), " " * block[i - 1].body[0].col_offset
            )
            yield Edit(start, end, inside, line, "its indentation", 2.0)
        yield from missing(text, one, scope)
        if isinstance(one, ast.AugAssign):
            yield from not_in_place(text, one)


def not_in_place(text: Text, one: ast.AugAssign) -> Iterator[Edit]:
    """Yield `x = x - a` for `x -= a`, which changes a tensor that others have too."""
    if not isinstance(one.target, ast.Name):
        return
    start, end = text.span(one)
    name, value = one.target.id, text.of(one.value)
    sign = text.text[text.span(one.target)[1] : text.span(one.value)[0]]
    sign = sign.split("=")[0].strip()
    if not isinstance(one.value, ast.Name | ast.Call | ast.Constant | ast.Subscript):
        value = f"({value})"
    kind = f"it changes `{name}` in place"
    yield Edit(start, end, f"{name} = {name} {sign} {value}", one.lineno, kind, 1.5)


def missing(text: Text, one: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Yield short lines that may be missing above one."""
    start, end = whole(text, one)
    indent = " " * one.col_offset
    names = set(scope.names)
    lines = []
    if "optimizer" in names:
        lines += [f"optimizer.{name}()" for name in ("zero_grad", "step")]
    if "model" in names:
        lines += [f"model.{name}()" for name in ("eval", "train", "zero_grad")]
    usual = len(lines)
    lines += [f"{name}.backward()" for name in ("loss",) if name in names]
    count = [name for name in ("i", "j", "count", "n", "t", "step") if name in names]
    lines += [f"{name} += 1" for name in count]
    lines += [f"{name} = {name}.clone()" for name in scope.names[:3]]
    last = isinstance(one, ast.Return)
    for i, new in enumerate(lines):
        cost = 1.5 if i < usual else 2.4
        cost += AGAIN * (new in text.text)
        kind = "a line missing above it"
        yield Edit(start, start, f"{indent}{new}\n", one.lineno, kind, cost)
        if not last:
            kind = "a line missing below it"
            yield Edit(end, end, f"{indent}{new}\n", one.lineno, kind, cost)
    if not last:
        kind = "a `return` missing in it"
        if isinstance(one, ast.Expr):
            at = start + len(indent)
            yield Edit(at, at, "return ", one.lineno, kind, 1.6)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
            new = f"{indent}return {one.targets[0].id}\n"
            yield Edit(end, end, new, one.lineno, "a `return` missing below it", 2.2)
    if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
        function = one.value.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            at = start + len(indent)
            new = f"{function.value.id} = "
            kind = "its result is not kept"
            yield Edit(at, at, new, one.lineno, kind, 1.5)
    if isinstance(one, ast.Expr) and isinstance(one.value, ast.Attribute):
        at = text.span(one.value)[1]
        yield Edit(at, at, "()", one.lineno, "the brackets of a call are missing", 1.2)


def whole(text: Text, one: ast.stmt) -> tuple[int, int]:
    """The offsets of a statement's lines."""
    first = min([one.lineno, *(d.lineno for d in getattr(one, "decorator_list", ()))])
    return text.at(first, 0), text.at((one.end_lineno or one.lineno) + 1, 0)


def dedented(text: Text, block: Sequence[ast.stmt]) -> str:
    """The lines of a block, as far out as what holds it."""
    start, end = whole(text, block[0])[0], whole(text, block[-1])[1]
    indent = " " * (block[0].col_offset - 4)
    return textwrap.indent(textwrap.dedent(text.text[start:end]), indent)
