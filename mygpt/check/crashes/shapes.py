"""Shapes that do not go together, and axes that are not there."""

import ast
import math
import re

import torch
from torch import Tensor, nn

from mygpt.check.crashes.place import NOTHING, NotKnown, Place
from mygpt.check.crashes.rules import Crash, always, rule
from mygpt.check.task import Task

# Those that drop an axis, unless keepdim is given.
REDUCTIONS = re.compile("a?max|a?min|logsumexp|mean|median|norm|prod|std|sum|var")
SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
}
BROADCAST = r"size of tensor a \(\d+\) must match the size of tensor b"
PRODUCT = (
    r"shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)",
    r"size mismatch, got input",
    r"first two dimensions of batch2",
    r"inconsistent tensor size",
)
NEEDS = "A matrix product needs as many columns on the left as rows on the right"

Shape = tuple[int, ...]


def shape_of(tensor: Tensor) -> Shape:
    return tuple(tensor.shape)


@rule(BROADCAST, *PRODUCT, r"\bT`? .*(?:deprecated|only supported)")
def all_axes_turned(crash: Crash) -> str | None:
    """`.T` of a tensor with three axes or more turns them all round."""
    place = crash.place
    for node in place.sources(place.node):
        if isinstance(node, ast.Attribute) and node.attr == "T":
            tensor = place.tensor(node.value)
            if tensor is not None and tensor.ndim > 2:
                shape = shape_of(tensor)
                return (
                    f"{place.text(node)} turns all axes round: {shape} becomes "
                    f"{shape[::-1]}. `.mT` swaps the last two alone, as does "
                    "`.transpose(-2, -1)`."
                )
    return None


# Entry by entry


@rule(BROADCAST)
def not_entry_by_entry(crash: Crash) -> str | None:
    place = crash.place
    sign, left, right = sides(place)
    a, b = place.tensor(left), place.tensor(right)
    if a is None or b is None or sign == "@":
        return None
    pairs = [(left, a, right, b), (right, b, left, a)]
    for one, small, _, large in pairs:
        if said := axis_dropped(place, one, shape_of(small), shape_of(large)):
            return said
    shapes = f"{shape_of(a)} and {shape_of(b)}"
    if sign == "*" and product_fits(a.shape, b.shape):
        return (
            f"`*` multiplies entry by entry, and the shapes {shapes} do not fit for "
            "that. They fit for a matrix product, `@`."
        )
    for one, table, _, rows in pairs:
        if said := too_many_rows(place, one, shape_of(table), shape_of(rows)):
            return said
    return (
        f"The two sides of `{sign}` have shapes {shapes}. Compared from the last axis "
        "on, two sizes must be equal, or one of them 1."
    )


def sides(place: Place) -> tuple[str, ast.AST, ast.AST]:
    """The sign, the left side and the right side of an operation."""
    node = place.node
    if isinstance(node, ast.BinOp):
        return SIGNS.get(type(node.op), "?"), node.left, node.right
    if isinstance(node, ast.AugAssign):
        return SIGNS.get(type(node.op), "?"), node.target, node.value
    return "?", NOTHING, NOTHING


def axis_dropped(place: Place, node: ast.AST, small: Shape, large: Shape) -> str | None:
    """A sum, mean or the like without keepdim, which would fit with it."""
    for call in place.sources(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        name, dim = call.func.attr, dim_of(place, call)
        if not REDUCTIONS.fullmatch(name) or dim is None:
            continue
        if any(k.arg == "keepdim" and is_true(k.value) for k in call.keywords):
            continue
        whole = len(small) + 1
        axis = dim % whole
        if not drops(place, call, axis, small):
            continue
        kept = (*small[:axis], 1, *small[axis:])
        if broadcast(kept, large) == large:
            return (
                f"`{name}` over axis {dim} drops that axis: a tensor of shape {small} "
                f"meets one of shape {large}. With `keepdim=True` the axis stays, with "
                f"size 1: {kept}."
            )
    return None


def is_true(node: ast.AST) -> bool:
    return not (isinstance(node, ast.Constant) and node.value is False)


def dim_of(place: Place, call: ast.Call) -> int | None:
    """The dim that a reduction is given, if it is one number."""
    named = [k.value for k in call.keywords if k.arg in ("dim", "axis")]
    method = isinstance(call.func, ast.Attribute) and place.tensor(call.func.value)
    first = call.args if isinstance(method, Tensor) else call.args[1:]
    for node in [*named, *first[:1]]:
        try:
            value = place.value(node)
        except NotKnown:
            return None
        return value if isinstance(value, int) else None
    return None


def drops(place: Place, call: ast.Call, axis: int, small: Shape) -> bool:
    """Whether a reduction's tensor loses an axis to get a shape, as far as is known."""
    assert isinstance(call.func, ast.Attribute)
    before = place.tensor(call.func.value)
    if before is None and call.args:
        before = place.tensor(call.args[0])
    if before is None:
        return True
    shape = shape_of(before)
    return (*shape[:axis], *shape[axis + 1 :]) == small


def broadcast(a: Shape, b: Shape) -> Shape | None:
    try:
        return tuple(torch.broadcast_shapes(a, b))
    except RuntimeError:
        return None


def product_fits(a: Shape, b: Shape) -> bool:
    """Whether two shapes, one of them a matrix's at least, have a matrix product."""
    if max(len(a), len(b)) < 2:
        return False
    try:
        torch.empty(a, device="meta") @ torch.empty(b, device="meta")
    except RuntimeError:
        return False
    return True


def too_many_rows(place: Place, node: ast.AST, table: Shape, rows: Shape) -> str | None:
    """A table of which the first rows alone are meant."""
    if len(table) != 2 or len(rows) < 2 or table[1] != rows[-1]:
        return None
    if table[0] <= rows[-2] or rows[-2] == 1:
        return None
    if not re.search("pos|wpe", ast.unparse(node), re.IGNORECASE):
        return None
    return (
        f"{place.text(node) or 'The table of positions'} has {table[0]} rows, and the "
        f"text is {rows[-2]} ids long: take the rows of its positions alone, `[:T]` "
        "where it begins at position 0."
    )


@rule(BROADCAST)
def product_entry_by_entry(crash: Crash) -> str | None:
    """Scores made by `*` have no axis of keys, which shows at the mask only."""
    place = crash.place
    masks = [place.tensor(part) for part in ast.walk(place.node)]
    if not any(mask is not None and is_square(mask) for mask in masks):
        return None
    for node in place.sources(place.node):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        a, b = place.tensor(node.left), place.tensor(node.right)
        if a is None or b is None or a.ndim < 3 or a.shape != b.shape:
            continue
        if a.shape[-1] == a.shape[-2]:
            continue
        return (
            f"{place.text(node) or 'A product of yours'} multiplies entry by entry and "
            f"has shape {shape_of(a)}: no score for each two positions. Those are a "
            f"matrix product, `{ast.unparse(node.left)} @ "
            f"{ast.unparse(node.right)}.mT`."
        )
    return None


def is_square(mask: Tensor) -> bool:
    """Whether a tensor may be a mask of positions by positions."""
    return mask.ndim >= 2 and mask.shape[-1] == mask.shape[-2]


# Matrix products


@rule(*PRODUCT)
def no_matrix_product(crash: Crash) -> str | None:
    place = crash.place
    left, right = factors(place)
    a, b = place.tensor(left), place.tensor(right)
    if a is None or b is None:
        return by_counts(crash)
    by_linear = isinstance(place.node, ast.Call) and "linear" in ast.unparse(
        place.node.func
    )
    shapes = f"{shape_of(a)} and {shape_of(b)}"
    if by_linear:
        if not product_fits(a.shape, b.shape):
            return None
        return (
            f"`F.linear` transposes its weight itself, and {shapes} fit without that: "
            "`x @ W`, or `F.linear(x, W.T)`."
        )
    ways = []
    for node, side, fits in (
        (right, "right", b.ndim > 1 and product_fits(a.shape, b.mT.shape)),
        (left, "left", a.ndim > 1 and product_fits(a.mT.shape, b.shape)),
    ):
        if fits:
            how = "without its transpose" if turned(node) else "transposed, by `.mT`"
            ways.append(f"with the {side} side {how}")
            break
    if product_fits(b.shape, a.shape):
        ways.append("the other way round")
    fit = f" They would fit {', or '.join(ways)}." if ways else ""
    return f"{NEEDS}; here the shapes are {shapes}.{fit}"


def by_counts(crash: Crash) -> str | None:
    """Go by the error's text, where the sides themselves are not known."""
    columns, rows = crash.group(1), crash.group(2)
    if not columns:
        return None
    node = crash.place.node
    layer = crash.place.function_of(node) if isinstance(node, ast.Call) else None
    if isinstance(layer, nn.Linear):
        return f"The layer takes rows of {rows} numbers and is given rows of {columns}."
    return f"{NEEDS}; here there are {columns} and {rows}."


def factors(place: Place) -> tuple[ast.AST, ast.AST]:
    """The two sides of a matrix product, written as `@` or as a call."""
    node = place.node
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return sides(place)[1:]
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return NOTHING, NOTHING
    if node.func.attr not in ("matmul", "mm", "bmm", "mv", "linear"):
        return NOTHING, NOTHING
    if place.tensor(node.func.value) is not None and node.args:
        return node.func.value, node.args[0]
    if len(node.args) != 2:
        return NOTHING, NOTHING
    return node.args[0], node.args[1]


def turned(node: ast.AST) -> bool:
    """Whether an expression ends in a transpose."""
    called = isinstance(node, ast.Call)
    part = node.func if isinstance(node, ast.Call) else node
    names = ("transpose", "t", "swapaxes") if called else ("T", "mT")
    return isinstance(part, ast.Attribute) and part.attr in names


# Axes


@rule(
    r"Dimension out of range",
    r"too many indices",
    r"same number of dimensions",
    r"zero-dimensional tensor",
    r"not enough values to unpack",
    BROADCAST,
    *PRODUCT,
)
def last_of_two_axes(crash: Crash) -> str | None:
    """`logits[:, -1]`, as of (B, T, V), of scores that have two axes."""
    place = crash.place
    for node in place.sources(place.node):
        if not isinstance(node, ast.Subscript) or not is_last(node.slice):
            continue
        whole, last = place.tensor(node.value), last_column(place, node)
        if last is None and whole is not None and whole.ndim == 2:
            last = whole[:, -1]
        if last is not None and last.ndim == 1 and last.is_floating_point():
            if not has_positions(crash.task):
                return (
                    f"{place.text(node) or '`[:, -1]`'} gives one number for each row "
                    "and drops the axis; `[:, -1:]` keeps it, with size 1."
                )
            return (
                f"{place.text(node) or '`[:, -1]`'} is taken of a tensor with two axes "
                "and gives one number for each row: its last column. Is it the last "
                "position's already?"
            )
    return None


def has_positions(task: Task) -> bool:
    """Whether a task is about texts of several positions."""
    return "logits" not in task.arguments


def is_last(index: ast.AST) -> bool:
    return ast.unparse(index).replace(" ", "").strip("()") == ":,-1"


def last_column(place: Place, node: ast.Subscript) -> Tensor | None:
    """What a name holds since it was set to its own last column."""
    name = node.value
    if isinstance(name, ast.Name) and place.last_values(name.id) == [node]:
        found = place.known.get(name.id)
        return found if isinstance(found, Tensor) else None
    return None


@rule(r"too many indices for tensor of dimension (\d+)")
def too_many_indices(crash: Crash) -> str | None:
    node = crash.place.node
    tensor = crash.place.tensor(node.value) if isinstance(node, ast.Subscript) else None
    if not isinstance(node, ast.Subscript):
        return None
    if tensor is None:
        asked = ast.unparse(node.slice).strip("()")
        count = int(crash.group())
        return f"The tensor has {axes(count)}, and `[{asked}]` asks for more."
    return (
        f"{crash.place.text(node.value) or 'The tensor'} has {axes(tensor.ndim)}, "
        f"shape {shape_of(tensor)}, and `[{ast.unparse(node.slice).strip('()')}]` asks "
        "for more."
    )


def axes(count: int) -> str:
    return f"{count} axis" if count == 1 else f"{count} axes"


@rule(r"expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)")
def dim_out_of_range(crash: Crash) -> str:
    low, high, dim = (int(crash.group(i)) for i in (1, 2, 3))
    return (
        f"The tensor has {axes(high + 1)}, so that a dim lies between {low} and "
        f"{high}; here it is {dim}."
    )


@rule(r"not enough values to unpack \(expected (\d+)", r"too many values to unpack")
def unpacked_shape(crash: Crash) -> str | None:
    place = crash.place
    statement = place.statement
    if not isinstance(statement, ast.Assign) or not isinstance(
        statement.targets[0], ast.Tuple
    ):
        return None
    try:
        value = place.value(statement.value)
    except NotKnown:
        return None
    if not isinstance(value, torch.Size):
        return None
    return (
        f"The line has {len(statement.targets[0].elts)} names for the shape "
        f"{tuple(value)}, which has {axes(len(value))}."
    )


@rule(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)")
def out_of_bounds(crash: Crash) -> str | None:
    index, dim, size = (int(crash.group(i)) for i in (1, 2, 3))
    return (
        f"Axis {dim} has {size} entries, numbered from 0 to {size - 1}: there is no "
        f"entry {index}."
    )


@rule(r"index (\d+) is out of bounds for dimension 0 with size (\d+)")
def passed_wrong_id(crash: Crash) -> str | None:
    """A function that the check gives was passed an id that is too large."""
    node = crash.place.node
    if not isinstance(node, ast.Call):
        return None
    text = (
        f"`{ast.unparse(node.func)}`, which the check gives your program, got an id of "
        f"{crash.group(1)}, and ids go from 0 to {int(crash.group(2)) - 1}."
    )
    if flat_argmax(crash.place.function):
        text += (
            " `argmax` without a dim counts through the whole tensor, not within each "
            "row: give it `dim=-1`."
        )
    return text


@rule("")
def passed(crash: Crash) -> str | None:
    """A function that the check gives stopped with what it was passed."""
    node = crash.place.node
    if not isinstance(node, ast.Call):
        return None
    known = [(crash.place.text(a), crash.place.tensor(a)) for a in node.args]
    shapes = [f"{text} of shape {shape_of(a)}" for text, a in known if a is not None]
    given = f" with {', '.join(shapes)}" if shapes else ""
    return (
        f"`{ast.unparse(node.func)}`, which the check gives your program, stops"
        f"{given}: is that what it takes?"
    )


def flat_argmax(function: ast.AST) -> bool:
    """Whether there is an `argmax` without a dim."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "argmax"
        and not node.keywords
        and len(node.args) == (ast.unparse(node.func.value) == "torch")
        for node in ast.walk(function)
    )


@rule(r"same number of dimensions: got (\d+) and (\d+)")
def joined(crash: Crash) -> str:
    return (
        f"Tensors with {axes(int(crash.group(1)))} and with {axes(int(crash.group(2)))}"
        " cannot be joined; `[:, None]` gives a row of numbers an axis of size 1."
    )


# Views


@rule(r"view size is not compatible with input tensor's size and stride")
def a_view_of_moved_axes(crash: Crash) -> str:
    return (
        "`view` cannot regroup numbers that `transpose`, `permute` or `expand` has "
        "moved apart in memory; `reshape` can. Are the axes in the order you mean?"
    )


@rule(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)")
def another_size(crash: Crash) -> str:
    wanted, text = crash.group(1), ""
    node = crash.place.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        tensor = crash.place.tensor(node.func.value)
        text = f" of shape {shape_of(tensor)}" if tensor is not None else ""
    count = math.prod(map(int, wanted.split(",")))
    asked = f"asks for {count}" if count >= 0 else "is no way to divide them"
    return (
        f"The tensor{text} holds {crash.group(2)} numbers, and the shape ({wanted}) "
        f"{asked}."
    )


PASSED = [passed_wrong_id, passed]
RULES = [
    all_axes_turned,
    last_of_two_axes,
    product_entry_by_entry,
    not_entry_by_entry,
    no_matrix_product,
    too_many_indices,
    dim_out_of_range,
    unpacked_shape,
    out_of_bounds,
    joined,
    a_view_of_moved_axes,
    another_size,
    always(
        r"t\(\) expects a tensor with <= 2 dimensions, but self is (\d)D",
        "`.t()` is for matrices; of {0} axes, `.mT` swaps the last two.",
    ),
    always(
        r"\.mT is only supported .* Got 1-D", "A tensor with one axis has no transpose."
    ),
    always(
        r"einsum\(\): subscript (\w) has size (\d+) for operand \d+ which does not "
        r"broadcast with previously seen size (\d+)",
        "In this `einsum`, the letter {0} stands for axes of two sizes, {2} and {1}.",
    ),
    always(
        r"except in dimension (\d+)\. Expected size (\d+) but got size (\d+)",
        "What is joined along axis {0} must agree in all others; here one has {1} and "
        "another {2}.",
    ),
    always(
        r"Expected target size \[.*\], got",
        "`cross_entropy` takes the classes on axis 1, of (B, T, V) too: flatten both, "
        "`logits.flatten(0, 1)` and `targets.flatten()`, or give it "
        "`logits.transpose(1, 2)`.",
    ),
    always(
        "selected index k out of range",
        "`topk` is asked for more entries than there are: a k that may be larger is "
        "cut, `min(k, logits.shape[-1])`.",
    ),
    always("index out of range in self", "An id is beyond the last row of the table."),
    always(
        r"Target sizes: \[(.*?)\]\.\s+Tensor sizes: \[(.*?)\]",
        "A tensor of shape ({1}) does not fill one of shape ({0}).",
    ),
    always(
        r"stack expects each tensor to be equal size, but got (\[.*?\]) at entry 0 and "
        r"(\[.*?\])",
        "`stack` takes tensors of one shape; here are {0} and {1}.",
    ),
]
