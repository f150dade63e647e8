"""What may be forgotten: a term, a call, a condition, a sum to divide by."""

import ast
from collections.abc import Iterator

from mygpt.check.mends.edit import Edit
from mygpt.check.mends.names import called, subject
from mygpt.check.mends.place import Place, is_of, names_read

TERM = "a term or factor missing in it"
CONDITION = "a condition missing in it"
CALL = "a call missing in it"
TOTAL = "a division by a sum missing in it"
BEGIN = "what it begins with"
KINDS = ("tensor", "none", "list", "dict")
MOST = 5  # names that are tried
ENDING = ast.Break | ast.Return
SIGNS: dict[type[ast.cmpop], str] = {ast.LtE: "<", ast.Gt: ">="}  # the other at a tie


def forgotten_edits(place: Place) -> Iterator[Edit]:
    node = place.node
    if isinstance(node, ast.Name) and place.is_read:
        yield from sums(place, node)
        yield from before(place, node)
        yield from centred(place, node)
    if isinstance(node, ast.Name | ast.BinOp | ast.Call) and place.is_read:
        yield from terms(place)
        yield from totals(place)
        yield from calls(place)
    if isinstance(node, ast.Subscript | ast.BinOp | ast.Name) and place.is_read:
        yield from shares(place)
    if isinstance(node, ast.Subscript) and isinstance(place.parent, ast.Call):
        yield from only_later(place, node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from hidden(place, node)
    if isinstance(node, ast.Assign | ast.Return) and node.value is not None:
        yield from conditions(place, node.value)
        yield from beginnings(place, node)
    if isinstance(node, ast.Assign):
        yield from residual(place, node)
    if isinstance(node, ast.Expr | ast.AugAssign):
        yield from guarded(place, node)
    if isinstance(node, ast.If):
        yield from endings(place, node)
    if isinstance(node, ast.stmt):
        yield from into_loop(place, node)


def sums(place: Place, node: ast.Name) -> Iterator[Edit]:
    """Yield the sum of a name with a tensor made before, where a call is given one."""
    names = place.names
    alone = isinstance(place.parent, ast.Call) and place.parent.func is not node
    if names.kinds.get(node.id) != "tensor" or not alone:
        return
    for i, name in enumerate(names.before(place.line, "tensor")[: 2 * MOST]):
        if name != node.id:
            yield place.edit(f"{node.id} + {name}", TERM, 1.3 + 0.1 * min(i, 3))


def centred(place: Place, node: ast.Name) -> Iterator[Edit]:
    """Yield a tensor without its mean."""
    operand = isinstance(place.parent, ast.BinOp | ast.Call)
    function = getattr(place.parent, "func", None)
    if operand and function is not node and place.names.is_tensor(node):
        new = f"{node.id} - {node.id}.mean(-1, keepdim=True)"
        yield place.loose(new, "a mean that is not subtracted in it", 1.5)


def before(place: Place, node: ast.Name) -> Iterator[Edit]:
    """Yield the sum of what comes before each entry for one that includes it."""
    if node.id in place.names.sums:
        of, _ = subject(place.names.sums[node.id])
        if of is not None:
            new = f"({node.id} - {place.held(of)})"
            kind = "what a sum includes in it"
            yield place.edit(new, kind, 1.3)
            parent = place.parent
            if isinstance(parent, ast.Compare) and type(parent.ops[0]) in SIGNS:
                sign = SIGNS[type(parent.ops[0])]
                bound = place.of(parent.comparators[0])
                yield place.at(parent, f"{new} {sign} {bound}", kind, 1.4)


def terms(place: Place) -> Iterator[Edit]:
    """Yield a term that the program is given and that its text never uses."""
    whole = isinstance(place.parent, ast.stmt | ast.keyword | ast.Call)
    term = isinstance(place.parent, ast.BinOp) and isinstance(place.node, ast.BinOp)
    if not (whole and place.is_free) and not term:
        return
    node = place.node
    if place.names.kind_of(node) == "int":
        return
    for new in place.names.unused:
        for sign in "+*@-/":
            yield place.loose(
                f"{place.operand(node, sign)} {sign} {new}",
                TERM,
                1.2 + 0.1 * (sign != "+"),
            )
    dictionaries = place.names.before(place.line, "dict")[:3]
    for key in place.whole.unused:
        for name in dictionaries:
            entry = f'{name}["{key}"]'
            for i, sign in enumerate("+*@"):
                new = f"{place.operand(node, sign)} {sign} {entry}"
                yield place.loose(new, TERM, 1.4 + 0.2 * i)
    for weight, bias in pairs_of(place.whole.unused):
        for name in dictionaries:
            new = f'{place.held(node)} @ {name}["{weight}"] + {name}["{bias}"]'
            yield place.loose(new, TERM, 1.6)


def shares(place: Place) -> Iterator[Edit]:
    """Yield a term divided by a whole number that the function is given."""
    summed = isinstance(place.parent, ast.BinOp | ast.Return | ast.AugAssign)
    if not summed or place.names.kind_of(place.node) == "int":
        return
    for name in place.names.counts(place.line):
        if name in place.names.arguments:
            yield place.loose(f"{place.held(place.node)} / {name}", TERM, 1.7)


def pairs_of(keys: list[str]) -> Iterator[tuple[str, str]]:
    for key in keys:
        if key.startswith("W"):
            bias = f"b{key[1:]}"
            if bias in keys:
                yield key, bias


def totals(place: Place) -> Iterator[Edit]:
    """Yield a result that is divided by its sum."""
    if isinstance(place.parent, ast.Return | ast.Assign):
        held = place.held(place.node)
        cost = 1.4 if isinstance(place.parent, ast.Return) else 1.8
        for axis in ("-1, keepdim=True", ""):
            yield place.edit(f"{held} / {held}.sum({axis})", TOTAL, cost)


def hidden(place: Place, node: ast.BinOp) -> Iterator[Edit]:
    """Yield a mask with minus infinity for a product with a mask."""
    if isinstance(node.left, ast.Constant) or isinstance(node.right, ast.Constant):
        return
    left, right = place.held(node.left), place.held(node.right)
    for scores, mask in ((left, right), (right, left)):
        new = f'{scores}.masked_fill({mask} == 0, float("-inf"))'
        yield place.edit(new, "what a mask puts in it", 1.6)


def calls(place: Place) -> Iterator[Edit]:
    """Yield a call that stands elsewhere, with keys that the source never uses."""
    if not isinstance(place.node, ast.Name) or isinstance(place.parent, ast.Attribute):
        return
    if place.names.kinds.get(place.node.id) != "tensor":
        return
    function = getattr(place.parent, "func", None)
    if function is place.node:
        return
    dictionaries = place.names.before(place.line, "dict")[:3]
    for new in other_calls(place, dictionaries):
        yield place.edit(new.replace("\0", place.node.id), CALL, 1.4)
    for name in place.whole.never_called:
        yield place.edit(f"{name}({place.node.id})", CALL, 1.3)


def other_calls(place: Place, dictionaries: list[str]) -> Iterator[str]:
    """The calls of a source with other keys, about a name that is left open."""
    whole = place.whole
    for node in ast.walk(whole.tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        strings = [
            one
            for one in ast.walk(node)
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]
        of, _ = subject(node)
        within = {id(one) for one in ast.walk(of)} if of is not None else set()
        strings = [one for one in strings if id(one) not in within]
        for old, new in whole.heads:
            named = [one for one in strings if is_of(one.value, old)]
            if not named or len(named) < len(strings) or of is None:
                continue
            changes: dict[ast.expr, str] = {of: "\0"}
            for one in named:
                changes[one] = f'"{new}{one.value[len(old) :]}"'
            for owners in owners_in(node, within):
                for name in dictionaries:
                    changed = {**changes, **dict.fromkeys(owners, name)}
                    yield place.replaced(node, changed)


def owners_in(call: ast.Call, within: set[int]) -> list[list[ast.Name]]:
    """The names of the dictionaries in a call; where none shows, each name alone."""
    names = [
        one
        for one in ast.walk(call)
        if isinstance(one, ast.Name) and id(one) not in within
    ]
    owners = [one for one in names if is_owner(one, call)]
    return [owners] if owners else [[one] for one in names if one in call.args]


def is_owner(name: ast.Name, call: ast.Call) -> bool:
    """Whether an entry of a name is among the arguments of a call."""
    return any(
        isinstance(one, ast.Subscript) and one.value is name for one in ast.walk(call)
    )


def conditions(place: Place, value: ast.expr) -> Iterator[Edit]:
    """Yield a value that another takes the place of, where a condition holds."""
    if isinstance(value, ast.IfExp | ast.Constant | ast.Tuple | ast.List):
        return
    read = list(dict.fromkeys(one.id for one in names_read(value)))
    tensors = [one for one in read if place.names.kinds.get(one) == "tensor"]
    for name in tensors[:3]:
        new = f"{place.of(value)} if {name}.dim() >= 2 else {name}"
        yield place.at(value, new, CONDITION, 1.6)
    for name in list(optional(place))[:2]:
        for other in place.names.before(place.line, "tensor")[:MOST]:
            if other != name:
                new = f"{other} if {name} is None else {place.of(value)}"
                yield place.at(value, new, CONDITION, 1.6)


def only_later(place: Place, node: ast.Subscript) -> Iterator[Edit]:
    """Yield an argument in full as long as nothing is kept, and then its part."""
    for name in optional(place):
        new = f"{place.of(node.value)} if {name} is None else {place.old}"
        yield place.edit(new, CONDITION, 1.5)


def optional(place: Place) -> Iterator[str]:
    """Yield the names of what may be None where a statement stands."""
    for name in place.names.before(place.line + 1, *KINDS):
        if name in place.names.optional:
            yield name


def guarded(place: Place, node: ast.Expr | ast.AugAssign) -> Iterator[Edit]:
    """Yield a statement that holds only of a tensor with two axes or more."""
    target = node.target if isinstance(node, ast.AugAssign) else node.value
    if isinstance(target, ast.Call):
        target = subject(target)[0] or target
    if "\n" not in place.old and place.names.is_tensor(target):
        new = f"if {place.of(target)}.dim() >= 2: {place.old}"
        yield place.edit(new, CONDITION, 1.7)


def endings(place: Place, node: ast.If) -> Iterator[Edit]:
    """Yield one more reason to end a loop: that nothing is counted twice."""
    if isinstance(node.body[-1], ENDING):
        for one in list(names_read(node.test))[:2]:
            new = f"{place.of(node.test)} or max({one.id}.values()) < 2"
            yield place.at(node.test, new, CONDITION, 1.7)


def residual(place: Place, node: ast.Assign) -> Iterator[Edit]:
    """Yield `x = x + f(x)` for `x = f(x)`."""
    target = place.of(node.targets[0])
    made = isinstance(node.value, ast.Call | ast.BinOp)
    if made and target in place.names.before(node.lineno, "tensor"):
        new = f"{target} + {place.operand(node.value, '+')}"
        yield place.at(node.value, new, TERM, 1.3)


def beginnings(place: Place, node: ast.Assign | ast.Return) -> Iterator[Edit]:
    """Yield what the search for an extreme begins with, for a zero."""
    value = node.value
    zero = isinstance(value, ast.Constant) and value.value in (0, 0.0)
    if isinstance(node, ast.Return) or value is None or isinstance(value, ast.Name):
        return
    tensor = called(value) == "zeros" or (
        called(value) == "tensor" and place.of(value)[-3:] in ("(0)", "0.)", ".0)")
    )
    if zero or tensor:
        for sign in ("-inf", "inf"):
            new = f'float("{sign}")'
            new = f"torch.tensor({new})" if tensor else new
            yield place.at(value, new, BEGIN, 1.6 + 0.2 * (sign == "inf"))


def into_loop(place: Place, node: ast.stmt) -> Iterator[Edit]:
    """Yield a statement above a loop, inside it, and the other way round."""
    block = getattr(place.parent, "body", None)
    alone = isinstance(node, ast.Assign | ast.Expr)
    if not alone or not isinstance(block, list):
        return
    if node not in block:
        return
    at = block.index(node)
    own = place.rows(node)
    text = place.text.text
    for i, loop in enumerate(block[at + 1 : at + 4], start=at + 1):
        if isinstance(loop, ast.For | ast.While):
            inside = place.rows(loop.body[0])[0]
            between = text[own[1] : inside]
            step = " " * (loop.body[0].col_offset - node.col_offset)
            new = f"{between}{step}{text[own[0] : own[1]]}"
            single = node.lineno == node.end_lineno
            if single and place.rows(loop)[0] < inside:
                kind = "its place: before the loop or in it"
                cost = 1.4 + 0.2 * (i > at + 1)
                yield Edit(own[0], inside, new, node.lineno, kind, cost)
    if at == 0 and isinstance(place.parent, ast.For | ast.While) and len(block) > 1:
        first = place.text.at(place.parent.lineno, 0)
        outside = " " * place.parent.col_offset + text[own[0] : own[1]].lstrip(" ")
        new = outside + text[first : own[0]]
        kind = "its place: before the loop or in it"
        yield Edit(first, own[1], new, node.lineno, kind, 1.6)
