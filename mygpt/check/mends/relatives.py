"""Calls that are taken for one another, and how they are told apart."""

import ast
from collections.abc import Iterator

from mygpt.check.mends.edit import Edit
from mygpt.check.mends.names import called, subject
from mygpt.check.mends.place import Place

CALL = "a call in it"
TIES = "which of equal ones comes first in it"
COPY = "how deep the copy in it goes"
EACH = "what it counts once and what each time"
BYTES = "characters and bytes in it"
SIZES = ("{}.dim()", "{}.numel()", "len({})", "{}.shape[-1]", "{}.shape[0]")
COPIES = (
    "[list(one) for one in {}]",
    "[dict(one) for one in {}]",
    "[one.clone() for one in {}]",
    "[{{k: list(v) for k, v in one.items()}} for one in {}]",
    "[tuple(list(part) for part in one) for one in {}]",
    "{{k: list(v) for k, v in {}.items()}}",
    "{}.clone()",
)
REDUCING = ("argmax", "max", "sum", "mean", "softmax", "log_softmax", "sort", "topk")


def relative_edits(place: Place) -> Iterator[Edit]:
    node = place.node
    if isinstance(node, ast.Call):
        name = called(node)
        for rule in CALLS.get(name, ()):
            yield from rule(place, node)
        yield from unwrapped(place, node)
        yield from joined(place, node)
    elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.For):
        yield from of_characters(place, node)
    elif isinstance(node, ast.DictComp) and len(node.generators) == 1:
        one = node.generators[0]
        if not one.ifs and place.of(node.key) == place.of(one.target):
            value, target = place.of(node.value), place.of(one.target)
            new = f"k: {value} for k, {target} in enumerate({place.of(one.iter)})"
            yield place.edit(f"{{{new}}}", EACH, 1.1)
    elif isinstance(node, ast.SetComp):
        yield place.edit(f"[{place.old[1:-1]}]", EACH, 1.1)
    elif isinstance(node, ast.BinOp) and isinstance(node.left, ast.Call):
        yield from root_of_variance(place, node, node.left)
    elif isinstance(node, ast.If | ast.While):
        yield from again(place, node)
    elif isinstance(node, ast.Assign):
        yield from replaced_list(place, node)
    elif isinstance(node, ast.Subscript):
        yield from most_common(place, node)


def again(place: Place, node: ast.If | ast.While) -> Iterator[Edit]:
    """Yield `while` for `if`, and the other way round."""
    word = place.old.split(maxsplit=1)[0]
    other = {"if": "while", "while": "if"}.get(word)
    if other and not node.orelse:
        end = place.start + len(word)
        kind = "whether it is done once or again and again"
        yield Edit(place.start, end, other, place.line, kind, 1.5)


def replaced_list(place: Place, node: ast.Assign) -> Iterator[Edit]:
    """Yield `found.append(x)` for `found = [x]` and `found = x` in a loop."""
    target, value = place.of(node.targets[0]), node.value
    if place.loops and place.names.kinds.get(target) == "list":
        one = value.elts[0] if isinstance(value, ast.List) and value.elts else value
        new = place.of(one)
        kind = "where its result is kept"
        yield place.edit(f"{target}.append({new})", kind, 1.3)


def likeliest(place: Place, node: ast.Call) -> Iterator[Edit]:
    of, _ = subject(node)
    if of is not None:
        yield place.edit(f"{place.held(of)}.argmax(-1, keepdim=True)", CALL, 1.3)
        yield place.edit(f"{place.held(of)}.argmax(-1)", CALL, 1.6)


def size(place: Place, node: ast.Call) -> Iterator[Edit]:
    of, rest = subject(node)
    if of is None or (rest and called(node) != "size"):
        return
    if called(of) == "shape" and isinstance(of, ast.Attribute):
        of = of.value
    for form in SIZES:
        new = form.format(place.held(of) if form[0] == "{" else place.of(of))
        if new != place.old:
            yield place.edit(new, CALL, 1.4)


def extreme(place: Place, node: ast.Call) -> Iterator[Edit]:
    """Yield the other end, with a part of the key negated, so that ties turn round."""
    other = {"max": "min", "min": "max"}.get(called(node), called(node))
    if not isinstance(node.func, ast.Name) or not node.args:
        return
    key = next((one.value for one in node.keywords if one.arg == "key"), None)
    turned = [one for one in node.keywords if one.arg == "reverse"]
    first = node.args[0]
    changes: dict[ast.expr, str] = {} if turned else {node.func: other}
    for one in turned:
        changes[one.value] = "False" if place.of(one.value) == "True" else "True"
    if isinstance(key, ast.Lambda) and key.args.args:
        part, parameter = key.body, key.args.args[0].arg
    elif isinstance(first, ast.GeneratorExp | ast.ListComp):
        part, parameter = first.elt, ""
    elif isinstance(key, ast.Attribute) and key.attr in ("get", "__getitem__"):
        new = f"lambda one: (-{place.of(key.value)}[one], one)"
        yield place.edit(place.replaced(node, {**changes, key: new}), TIES, 1.1)
        return
    else:
        return
    if isinstance(part, ast.Tuple) and part.elts:
        for i, one in enumerate(part.elts[:2]):
            minus = isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub)
            new = place.of(one.operand) if minus else f"-{place.held(one)}"
            cost = 1.1 + 0.1 * i
            yield place.edit(place.replaced(node, {**changes, one: new}), TIES, cost)
    elif parameter:
        new = f"(-{place.held(part)}, {parameter})"
        yield place.edit(place.replaced(node, {**changes, part: new}), TIES, 1.1)
        new = f"({place.of(part)}, {parameter})"
        yield place.edit(place.replaced(node, {part: new}), TIES, 1.3)


def most_common(place: Place, node: ast.Subscript) -> Iterator[Edit]:
    """Yield the first of the most frequent for `counts.most_common(1)[0][0]`."""
    inner = node.value
    if isinstance(inner, ast.Subscript) and called(inner.value) == "most_common":
        call = inner.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            of = place.of(call.func.value)
            new = f"min({of}, key=lambda one: (-{of}[one], one))"
            yield place.edit(new, TIES, 1.1)


def each_row(place: Place, node: ast.Call) -> Iterator[Edit]:
    """Yield the extreme of each row for that of a whole tensor."""
    of, rest = subject(node)
    plain = isinstance(node.func, ast.Name) or rest or node.keywords
    if of is not None and not plain:
        new = f"{place.held(of)}.a{called(node)}(-1, keepdim=True)"
        yield place.edit(new, "an axis missing in it", 1.2)


def before(place: Place, node: ast.Call) -> Iterator[Edit]:
    """Yield the sum of what comes before each entry, without the entry."""
    of, _ = subject(node)
    if of is not None:
        new = f"({place.old} - {place.held(of)})"
        yield place.edit(new, "what a sum includes in it", 1.3)


def collection(place: Place, node: ast.Call) -> Iterator[Edit]:
    if node.args:
        yield place.edit(f"list({place.of(node.args[0])})", EACH, 1.1)


def copy(place: Place, node: ast.Call) -> Iterator[Edit]:
    of, rest = subject(node)
    given = isinstance(of, ast.Name) and of.id in place.names.arguments
    if given and not rest:
        for i, form in enumerate(COPIES):
            yield place.edit(form.format(place.of(of)), COPY, 1.1 + 0.05 * i)


def mapped(place: Place, node: ast.Call) -> Iterator[Edit]:
    if len(node.args) == 2 and place.of(node.args[0]) == "ord":
        yield place.edit(f'{place.held(node.args[1])}.encode("utf-8")', BYTES, 1.2)


def put_first(place: Place, node: ast.Call) -> Iterator[Edit]:
    if isinstance(node.func, ast.Attribute) and len(node.args) == 2:
        owner, new = place.of(node.func.value), place.of(node.args[1])
        yield place.edit(f"{owner}.append({new})", CALL, 1.3)


def last_alone(place: Place, node: ast.Call) -> Iterator[Edit]:
    """Yield the last entry along an axis for a mean or sum along it."""
    of, rest = subject(node)
    if of is not None and (rest or node.keywords):
        for cut in ("[-1]", "[:, -1]"):
            yield place.edit(f"{place.held(of)}{cut}", CALL, 1.7)


def root_of_variance(place: Place, node: ast.BinOp, left: ast.Call) -> Iterator[Edit]:
    if called(left) == "std" and isinstance(node.op, ast.Add):
        var = place.of(left).replace("std(", "var(", 1)
        new = f"({var} + {place.of(node.right)}).sqrt()"
        yield place.edit(new, "where eps is added in it", 1.2)


def unwrapped(place: Place, node: ast.Call) -> Iterator[Edit]:
    """Yield `E.argmax(-1)` for `int(E[0].argmax())` and `E[0].argmax()`."""
    inner: ast.expr = node
    if called(node) in ("int", "item", "float"):
        inner = subject(node)[0] or node
    if not isinstance(inner, ast.Call) or called(inner) not in REDUCING:
        return
    of, _ = subject(inner)
    if isinstance(of, ast.Subscript) and isinstance(of.slice, ast.Constant):
        of = of.value
    elif inner is node:
        return
    if of is not None:
        for given in ("-1", "-1, keepdim=True"):
            new = f"{place.held(of)}.{called(inner)}({given})"
            yield place.edit(new, "one row for all in it", 1.2)


def joined(place: Place, node: ast.Call) -> Iterator[Edit]:
    """Yield `[f(one) for one in words]` for `[f(" ".join(words))]`."""
    if isinstance(place.parent, ast.List) and len(place.parent.elts) == 1:
        for one in ast.walk(node):
            if isinstance(one, ast.Call) and called(one) == "join" and one.args:
                each = place.replaced(node, {one: "one"})
                new = f"{each} for one in {place.of(one.args[0])}"
                yield place.edit(new, "what is put together in it", 1.1)


def of_characters(
    place: Place, node: ast.ListComp | ast.GeneratorExp | ast.For
) -> Iterator[Edit]:
    """Yield the bytes of a text for the numbers of its characters."""
    loop = node if isinstance(node, ast.For) else node.generators[0]
    if not isinstance(loop.target, ast.Name):
        return
    numbers = {
        one: loop.target.id
        for one in ast.walk(node)
        if isinstance(one, ast.Call)
        and called(one) == "ord"
        and place.of(one.args[0] if one.args else one) == loop.target.id
    }
    if numbers:
        of = {loop.iter: f'{place.held(loop.iter)}.encode("utf-8")'}
        new = place.replaced(node, {**numbers, **of})
        yield place.edit(new, BYTES, 1.2)


CALLS = {
    "multinomial": (likeliest,),
    **dict.fromkeys(("numel", "dim", "ndimension", "len", "size"), (size,)),
    **dict.fromkeys(("max", "min"), (extreme, each_row)),
    "sorted": (extreme,),
    "cumsum": (before,),
    **dict.fromkeys(("set", "frozenset", "fromkeys"), (collection,)),
    **dict.fromkeys(("list", "copy", "dict"), (copy,)),
    "map": (mapped,),
    "insert": (put_first,),
    **dict.fromkeys(("mean", "sum"), (last_alone,)),
}
