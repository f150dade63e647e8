"""Where indices, slices and ranges begin and end, by the whole numbers in scope."""

import ast
from collections.abc import Iterator, Sequence

from mygpt.check.mends.edit import Edit
from mygpt.check.mends.names import called
from mygpt.check.mends.place import Place

INDEX = "an index in it"
SIZE = "a size in it"
AXIS = "the axis that it cuts"
START = "where the counting begins in it"
DIAGONAL = "a diagonal in it"
MOST = 6  # whole numbers that are tried
ROOTS = ("sqrt", "rsqrt", "pow")


def index_edits(place: Place) -> Iterator[Edit]:
    node = place.node
    counts = [name for name in place.names.counts(place.line) if name != place.old][
        :MOST
    ]
    if isinstance(node, ast.Subscript):
        yield from index(place, node.slice, counts)
        yield from all_cut(place, node)
    elif isinstance(node, ast.Name) and place.is_read:
        if place.names.kinds.get(node.id) == "int":
            yield from axis_size(place)
        else:
            yield from cut(place, node)
    elif isinstance(node, ast.Call):
        yield from counting(place, node, counts)
    elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
        yield from comparison(place, node, counts)
    if is_scale(place):
        for name in counts:
            if name in place.names.arguments:
                yield place.edit(f"({place.held(node)} // {name})", SIZE, 1.4)
                yield place.edit(f"({place.held(node)} * {name})", SIZE, 1.7)


def is_scale(place: Place) -> bool:
    """Whether a size is what a factor or a root is made of."""
    node, parent = place.node, place.parent
    whole = isinstance(node, ast.Name | ast.Subscript) and place.is_read
    if not whole or place.names.kind_of(node) != "int":
        return False
    if isinstance(parent, ast.Call):
        return called(parent) in ROOTS
    powers = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow | ast.Div)
    return powers or isinstance(parent, ast.Assign)


def axis_size(place: Place) -> Iterator[Edit]:
    """Yield the size of an axis of a tensor for a whole number."""
    if isinstance(place.parent, ast.Slice | ast.Subscript | ast.Assign | ast.Tuple):
        return
    cost = 1.6 if is_scale(place) else 2.0
    for name in place.names.before(place.line, "tensor")[:MOST]:
        for i, axis in enumerate((-1, 1, 0)):
            yield place.edit(f"{name}.shape[{axis}]", SIZE, cost + 0.2 * bool(i))


def index(place: Place, part: ast.expr, counts: Sequence[str]) -> Iterator[Edit]:
    if isinstance(part, ast.Tuple) and place.of(part.elts[0]) == "0":
        last = ", ".join(place.of(one) for one in part.elts[1:])
        yield place.at(part, f":, {last}, None", INDEX, 1.4)
    parts = part.elts if isinstance(part, ast.Tuple) else [part]
    for one in parts:
        if isinstance(one, ast.Slice):
            yield from moved_slice(place, one, counts, one is not parts[-1])
        elif place.of(one).lstrip("-").isdecimal():
            for name in counts:
                yield place.at(one, name, INDEX, 1.3)
        elif isinstance(one, ast.Name) and place.names.kinds.get(one.id) == "int":
            for name in counts:
                if name != one.id:
                    yield place.at(one, f"{one.id} + {name}", INDEX, 1.5)
                    yield place.at(one, f"{name} - {one.id} - 1", INDEX, 1.9)


def moved_slice(
    place: Place, one: ast.Slice, counts: Sequence[str], inner: bool
) -> Iterator[Edit]:
    """Yield a slice that begins, or ends, where a whole number says."""
    low = place.of(one.lower) if one.lower else ""
    high = place.of(one.upper) if one.upper else ""
    if one.step:
        return
    for name in counts:
        if high and name not in (low, high) and not low:
            yield place.at(one, f"{name}:{name} + {high}", INDEX, 1.3)
            yield place.at(one, f"{name}:{high}", INDEX, 1.5)
        elif high and name not in (low, high):
            yield place.at(one, f"{low} + {name}:{high} + {name}", INDEX, 1.7)
        elif not high and not low:
            cost = 1.5 + 0.3 * (not inner)
            new = (f": {name} + 1", f":{name}", f"{name}:", f"{name}:{name} + 1")
            for i, each in enumerate(new):
                yield place.at(one, each, INDEX, cost + 0.1 * i)
    if isinstance(one.lower, ast.Constant) and one.lower.value == 0 and high:
        for name in counts:
            if name != high:
                yield place.at(one, f"{name}:{name} + {high}", INDEX, 1.4)


def cut(place: Place, node: ast.Name) -> Iterator[Edit]:
    """Yield a part of a tensor, up to a whole number that a loop goes through."""
    if isinstance(place.parent, ast.Attribute | ast.Subscript):
        return
    if place.names.kinds.get(node.id) != "tensor" or called(place.parent) == node.id:
        return
    looped = {
        name.id
        for loop in place.loops
        for name in ast.walk(getattr(loop, "target", loop.body[0]))
        if isinstance(name, ast.Name) and place.names.kinds.get(name.id) == "int"
    }
    for name in sorted(looped):
        for new in (f"[: {name} + 1]", f"[{name}]", f"[:{name}]", f"[:, : {name} + 1]"):
            yield place.edit(f"{node.id}{new}", "a slice missing in it", 1.9)


def all_cut(place: Place, node: ast.Subscript) -> Iterator[Edit]:
    """Yield slices of another axis, all those of one name in a statement at once."""
    part = node.slice
    if not isinstance(node.value, ast.Name):
        return
    if isinstance(part, ast.Tuple) and len(part.elts) == 2:
        first, last = part.elts
        whole = isinstance(first, ast.Slice) and place.of(first) == ":"
        if whole and isinstance(last, ast.Slice):
            yield place.at(part, place.of(last), AXIS, 1.7)
        return
    if not isinstance(part, ast.Slice):
        return
    statement = place.statement
    same = [
        one
        for one in ast.walk(statement)
        if isinstance(one, ast.Subscript)
        and isinstance(one.slice, ast.Slice)
        and place.of(one.value) == node.value.id
    ]
    for before, cost in ((":, ", 1.4), ("..., ", 1.9)):
        yield place.at(part, f"{before}{place.of(part)}", AXIS, cost)
        if len(same) > 1 and same[0] is node:
            changes = {one.slice: f"{before}{place.of(one.slice)}" for one in same}
            new = place.replaced(statement, changes)
            yield place.at(statement, new, AXIS, cost)


def counting(place: Place, node: ast.Call, counts: Sequence[str]) -> Iterator[Edit]:
    """Yield ranges and diagonals that begin at a whole number."""
    name, given = called(node), [place.of(one) for one in node.args]
    if name in ("range", "arange") and len(given) == 1:
        function = place.of(node.func)
        for low in counts:
            if low != given[0]:
                new = f"{function}({low}, {low} + {given[0]})"
                yield place.edit(new, START, 1.4)
                yield place.edit(f"{function}({low}, {given[0]})", START, 1.6)
                new = f"{function}({low} - {given[0]}, {low})"
                yield place.edit(new, START, 1.5)
    if name in ("range", "arange") and len(given) == 2:
        high = node.args[1]
        if isinstance(high, ast.BinOp):
            new = f"{place.of(node.func)}({place.of(high.left)})"
            yield place.edit(new, START, 1.3)
    if name == "enumerate" and len(given) == 1:
        for low in counts:
            yield place.edit(f"enumerate({given[0]}, {low})", START, 1.6)
    if name in ("tril", "triu"):
        module = place.of(node.func).startswith("torch.")
        first = f"{given[0]}, " if module and given else ""
        old = [*given[int(module) :], *(place.of(one.value) for one in node.keywords)]
        for low in counts:
            new = [low, f"{low} + 1", f"{low} - 1"]
            new += [f"{low} + {each}" for each in old]
            for each in dict.fromkeys(new):
                call = f"{place.of(node.func)}({first}{each})"
                yield place.edit(call, DIAGONAL, 1.2)
        if not old:
            for low in counts:
                for size in counts[:3]:
                    if low != size:
                        call = f"{place.of(node.func)}({first}{low} - {size})"
                        yield place.edit(call, DIAGONAL, 1.4)


def comparison(
    place: Place, node: ast.Compare, counts: Sequence[str]
) -> Iterator[Edit]:
    """Yield a comparison of two counters with one of them moved."""
    right = node.comparators[0]
    if any(place.names.kind_of(one) != "int" for one in (node.left, right)):
        return
    read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    for name in counts:
        if name not in read:
            for sign in "+-":
                new = f"{place.of(right)} {sign} {name}"
                yield place.at(right, new, "a bound in it", 1.5)
