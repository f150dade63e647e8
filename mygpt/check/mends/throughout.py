"""Edits at several places of a function at once."""

import ast
import itertools
from collections.abc import Iterator

from mygpt.check.mends.edit import Edit
from mygpt.check.mends.names import called
from mygpt.check.mends.place import Place, in_block, names_read

SWAPPED = "two arguments in each other's place, from it on"
KEYS = "two keys in each other's place, from it on"
SIZES = "what is counted, from it on"
LOST = "what it overwrites"
MODE = "the mode in which the model is left"
COUNTED = ("len", "numel", "size")
MOST = 4  # names that are tried


def edits_throughout(place: Place) -> Iterator[Edit]:
    node = place.node
    if node is place.function.body[0]:
        yield from arguments(place)
        yield from keys(place)
    if isinstance(node, ast.Assign):
        yield from overwritten(place, node)
    elif isinstance(node, ast.Expr) and called(node.value) == "eval":
        yield from restored(place, node)
    elif isinstance(node, ast.Call | ast.Subscript) and place.is_read:
        yield from counted(place, node)


def several(place: Place, changes: dict[ast.expr, str]) -> tuple[int, int, str]:
    """One text for the changes of several nodes, and where it goes."""
    spans = [place.text.span(one) for one in changes]
    start, end = min(spans)[0], max(spans)[1]
    first = place.text.span(place.function)[0]
    new = place.replaced(place.function, changes)
    left = len(place.text.of(place.function)) - (end - first)
    return start, end, new[start - first : len(new) - left]


def arguments(place: Place) -> Iterator[Edit]:
    """Yield the function with two of its arguments exchanged wherever they are read."""
    body = place.function.body
    read = [one for part in body for one in names_read(part)]
    same = place.names.kinds.get
    for one, other in itertools.combinations(place.names.arguments, 2):
        if same(one) != same(other) or same(one) == "dict":
            continue
        changes = {
            each: other if each.id == one else one
            for each in read
            if each.id in (one, other)
        }
        if len({each.lineno for each in changes}) > 1:
            yield from exchange(place, changes, SWAPPED)


def keys(place: Place) -> Iterator[Edit]:
    """Yield the function with two keys, or beginnings of keys, exchanged."""
    strings = [
        one
        for one in ast.walk(place.function)
        if isinstance(one, ast.Constant) and one.value in place.whole.known
    ]
    found = sorted({str(one.value) for one in strings})
    for one, other in itertools.combinations(found, 2):
        if alike(one, other):
            both = {one: other, other: one}
            changes = {
                each: f'"{both[each.value]}"' for each in strings if each.value in both
            }
            if len({each.lineno for each in changes}) > 1:
                yield from exchange(place, changes, KEYS)
    for one, other in itertools.combinations(("1", "2"), 2):
        changes = {}
        for each in strings:
            head = each.value[:3]
            if head in (f"ln{one}", f"ln{other}"):
                new = f"ln{other if head[2] == one else one}{each.value[3:]}"
                changes[each] = f'"{new}"'
        if len({each.value[:3] for each in changes}) > 1:
            yield from exchange(place, changes, KEYS)


def alike(one: str, other: str) -> bool:
    """Whether two keys differ in one letter."""
    return len(one) == len(other) and sum(map(str.__ne__, one, other)) == 1


def exchange(place: Place, changes: dict[ast.expr, str], kind: str) -> Iterator[Edit]:
    line = min(one.lineno for one in changes)
    yield Edit(*several(place, changes), line, kind, 1.8)


def overwritten(place: Place, node: ast.Assign) -> Iterator[Edit]:
    """Yield a name of its own for what overwrites a value that is still returned."""
    block = in_block(place.parents, node)
    target = node.targets[0]
    own = isinstance(target, ast.Name) and target.id in [
        one.id for one in names_read(node.value)
    ]
    if not own or not isinstance(target, ast.Name):
        return
    later = block[block.index(node) + 1 :]
    returned = [one for one in later if isinstance(one, ast.Return)]
    kept = any(one.id == target.id for part in returned for one in names_read(part))
    changes: dict[ast.expr, str] = {
        one: f"{target.id}_new"
        for part in later
        if not isinstance(part, ast.Return)
        for one in names_read(part)
        if one.id == target.id
    }
    if changes and kept:
        changes[target] = f"{target.id}_new"
        yield Edit(*several(place, changes), node.lineno, LOST, 1.3)


def restored(place: Place, node: ast.Expr) -> Iterator[Edit]:
    """Yield the model's mode kept, and given back before the function ends."""
    function = getattr(node.value, "func", None)
    block = in_block(place.parents, node)
    if not isinstance(function, ast.Attribute) or place.parent is not place.function:
        return
    model, last = place.of(function.value), block[-1]
    if not isinstance(last, ast.Return):
        return
    own, end = place.rows(node)[0], place.rows(last)
    indent = " " * node.col_offset
    between = place.text.text[own : end[0]]
    lines = between.splitlines(keepends=True)
    plain = [one for one in lines if one.strip() != f"{model}.train()"]
    new = f"{indent}mode = {model}.training\n{''.join(plain)}"
    new += f"{indent}{model}.train(mode)\n"
    yield Edit(own, end[0], new, node.lineno, MODE, 1.2)


def counted(place: Place, node: ast.Call | ast.Subscript) -> Iterator[Edit]:
    """Yield the entries of a tensor for a number that stands at several places."""
    shape = isinstance(node, ast.Subscript) and called(node.value) == "shape"
    if not shape and (isinstance(node, ast.Subscript) or called(node) not in COUNTED):
        return
    same = [
        one
        for one in ast.walk(place.function)
        if isinstance(one, type(node)) and place.of(one) == place.old
    ]
    if len(same) < 2 or min(same, key=place.text.span) is not node:
        return
    for name in place.names.before(place.line, "tensor")[:MOST]:
        for new in (f"{name}.numel()", f"{name}[:, 1:].numel()", f"len({name})"):
            if new != place.old:
                yield Edit(
                    *several(place, dict.fromkeys(same, new)), place.line, SIZES, 1.6
                )
