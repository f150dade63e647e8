"""Which operation comes first, which name is read, and which is given a value."""

import ast
from collections.abc import Iterator, Sequence

from mygpt.check.mends.edit import Edit
from mygpt.check.mends.names import called, subject
from mygpt.check.mends.place import Place, in_block, names_read

ORDER = "the order of two operations in it"
MOVED = "the place of a call in it"
KEPT = "where its result is kept"
READ = "a name that it reads"
MOST = 5  # names that are tried
NO_FUNCTION = ("append", "extend", "range", "len", "int", "float", "list", "enumerate")


def order_edits(place: Place) -> Iterator[Edit]:
    node = place.node
    if isinstance(node, ast.BinOp):
        yield from regrouped(place, node)
    if isinstance(node, ast.Call):
        yield from moved_call(place, node)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield from other_target(place, node)
    valued = isinstance(node, ast.Assign | ast.AugAssign | ast.Return)
    if valued and node.value is not None:
        yield from names_of_statement(place, node.value)
    if isinstance(node, ast.stmt):
        yield from two_statements(place, node)


def regrouped(place: Place, node: ast.BinOp) -> Iterator[Edit]:
    """Yield `a * c + b` for `(a + b) * c`, and the other way round."""
    a, b, c = node.left, node.left, node.right
    if isinstance(node.left, ast.BinOp) and type(node.left.op) is not type(node.op):
        a, b = node.left.left, node.left.right
        first, last = sign(place, node.left), sign(place, node)
        new = f"{place.held(a)} {last} {place.held(c)}"
        if first not in ("+", "-"):
            new = f"({new})"
        yield place.loose(f"{new} {first} {place.held(b)}", ORDER, 1.3)
    if isinstance(node.right, ast.BinOp) and type(node.right.op) is not type(node.op):
        b, c = node.right.left, node.right.right
        first, last = sign(place, node), sign(place, node.right)
        new = f"({place.held(node.left)} {first} {place.held(b)}) {last} "
        yield place.loose(f"{new}{place.held(c)}", ORDER, 1.4)
        new = f"{place.held(b)} {last} ({place.held(node.left)} {first} "
        yield place.loose(f"{new}{place.held(c)})", ORDER, 1.6)


def sign(place: Place, node: ast.BinOp) -> str:
    """The sign of an operation, as its text has it."""
    left, right = place.text.span(node.left), place.text.span(node.right)
    return place.text.text[left[1] : right[0]].strip(" ()\n\\")


def two_statements(place: Place, node: ast.stmt) -> Iterator[Edit]:
    """Yield two assignments in a row that apply each other's operation."""
    last = next_of(place, node)
    if not (isinstance(node, ast.Assign) and len(node.targets) == 1):
        return
    then = getattr(last, "value", None)
    name = place.of(node.targets[0])
    if last is None or not isinstance(then, ast.BinOp):
        return
    here = node.value
    if not isinstance(here, ast.BinOp) or place.of(then.left) != name:
        return
    start = place.text.span(here)[0]
    end = place.text.span(then)[1]
    between = place.text.text[place.text.span(here)[1] : place.text.span(then)[0]]
    one = f"{place.held(here.left)} {sign(place, then)} {place.held(then.right)}"
    two = f"{name} {sign(place, here)} {place.held(here.right)}"
    kind = "the order of two operations, in it and the line below"
    yield Edit(start, end, f"{one}{between}{two}", node.lineno, kind, 1.4)


def next_of(place: Place, node: ast.stmt) -> ast.stmt | None:
    """The statement after another in its block."""
    return beside(place, node, 1)


def beside(place: Place, node: ast.stmt, step: int) -> ast.stmt | None:
    block = in_block(place.parents, node)
    at = block.index(node) + step
    return block[at] if 0 <= at < len(block) else None


def moved_call(place: Place, node: ast.Call) -> Iterator[Edit]:
    """Yield a call of one thing around another part, here or in the line above."""
    of, rest = subject(node)
    method = isinstance(node.func, ast.Attribute) and of is node.func.value
    if of is None or called(node) in NO_FUNCTION or isinstance(of, ast.Constant):
        return
    before, after = around(place, node, of)
    inner = place.held(of) if method else place.of(of)
    for name in [] if isinstance(of, ast.Name) else list(names_read(of))[:MOST]:
        new = place.replaced(of, {name: f"{before}{name.id}{after}"})
        yield place.loose(new, MOVED, 1.4 + 0.2 * bool(rest))
    yield from above(place, node, of, inner)


def above(place: Place, node: ast.Call, of: ast.expr, inner: str) -> Iterator[Edit]:
    """Yield the call around a name that the statement above reads."""
    statement = place.statement
    last = beside(place, statement, -1)
    if isinstance(last, ast.Assign) and not place.text.of(of).startswith("("):
        yield from in_line_above(place, node, inner, last, around(place, node, of))


def around(place: Place, node: ast.Call, of: ast.expr) -> tuple[str, str]:
    """What stands before and after the part that a call is about."""
    first, last = place.text.span(of)
    before = place.text.text[place.start : first]
    after = place.text.text[last : place.end]
    if isinstance(node.func, ast.Attribute) and of is node.func.value:
        return "", after[max(after.find("."), 0) :]
    return before, after


def in_line_above(
    place: Place, node: ast.Call, inner: str, last: ast.Assign, parts: Sequence[str]
) -> Iterator[Edit]:
    start = place.text.span(last.value)[0]
    rest = place.text.text[place.text.span(last.value)[1] : place.start]
    for name in list(names_read(last.value))[:MOST]:
        value = place.replaced(last.value, {name: f"{parts[0]}{name.id}{parts[1]}"})
        kind = "the place of a call, which belongs above it"
        new = f"{value}{rest}{inner}"
        yield Edit(start, place.end, new, place.line, kind, 1.6)


def other_target(place: Place, node: ast.Name) -> Iterator[Edit]:
    """Yield another name in scope that is given the value, alone or too."""
    kinds = place.names.kinds
    statement = place.statement
    if not isinstance(statement, ast.Assign) or node.id == "_":
        return
    looped = {
        one.id
        for loop in place.loops
        if isinstance(loop, ast.For)
        for one in ast.walk(loop.target)
        if isinstance(one, ast.Name)
    }
    wanted = {kinds.get(node.id, "tensor"), "none"}
    names = place.names.before(place.line, *wanted)
    names += [
        one for one in place.names.before(place.line, "tensor") if one not in names
    ]
    read = [one.id for one in names_read(statement.value)]
    for name in names[: 2 * MOST]:
        if name == node.id or name in looped:
            continue
        likely = name in read or name in place.names.optional
        yield place.edit(name, KEPT, 1.3 if likely else 1.8)
        if place.loops and isinstance(place.parent, ast.Assign) and likely:
            yield place.edit(f"{name} = {node.id}", KEPT, 1.3)


def names_of_statement(place: Place, value: ast.expr) -> Iterator[Edit]:
    """Yield the name that a loop makes, and one name for all of another."""
    statement = place.statement
    found = [one for one in names_read(value) if one.id in place.names.kinds]
    if place.loops and isinstance(statement, ast.Assign):
        targets = [one for one in statement.targets if isinstance(one, ast.Name)]
        read = {one.id for one in found}
        for target in targets:
            outside = place.names.bound[target.id] < place.loops[-1].lineno
            if target.id not in read and outside:
                for one in found:
                    yield place.at(one, target.id, READ, 1.1)
    for name in dict.fromkeys(one.id for one in found):
        same = [one for one in found if one.id == name]
        kind = place.names.kinds[name]
        others = place.names.before(place.line, kind)[:MOST]
        if len(same) > 1 and kind != "int":
            for other in others:
                if other != name:
                    for some in (same, same[1:]):
                        new = place.replaced(value, dict.fromkeys(some, other))
                        yield place.at(value, new, READ, 1.7)
