"""Shapes that do not go together, and axes that are not there."""

import ast
import math
import re
from contextlib import suppress

import torch
from torch import Tensor, nn

from mygpt.check.crashes.error_site import ErrorSite
from mygpt.check.crashes.rules import Rules
from mygpt.check.syntax import NOTHING

RULES = Rules()
PASSED = Rules()  # for errors inside the functions that the check gives
# Reductions drop an axis, unless keepdim is given.
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
    r"shapes cannot be multiplied \(\d+x(?P<columns>\d+) and (?P<rows>\d+)x\d+\)",
    r"size mismatch, got input",
    r"first two dimensions of batch2",
    r"inconsistent tensor size",
)
NEEDS = "A matrix product needs as many columns on the left as rows on the right"

Shape = tuple[int, ...]


def shape_of(tensor: Tensor) -> Shape:
    """Return a shape as a plain tuple."""
    return tuple(tensor.shape)


def axes(count: int | str) -> str:
    """Write a number of axes: "1 axis", "2 axes"."""
    return f"{count} axis" if int(count) == 1 else f"{count} axes"


@RULES.tested(BROADCAST, *PRODUCT, r"\bT`? .*(?:deprecated|only supported)")
def all_axes_turned(site: ErrorSite, match: re.Match[str]) -> str | None:
    """`.T` of a tensor with three axes or more turns them all round."""
    for node in site.sources(site.node, ast.Attribute):
        tensor = site.tensor(node.value) if node.attr == "T" else None
        if tensor is not None and tensor.ndim > 2:
            shape = shape_of(tensor)
            site.made = node.lineno
            return (
                f"{site.text(node)} turns all axes round: {shape} becomes "
                f"{shape[::-1]}. `.mT` swaps the last two alone, as does "
                "`.transpose(-2, -1)`."
            )
    return None


@RULES.tested(
    r"Dimension out of range",
    r"too many indices",
    r"same number of dimensions",
    r"zero-dimensional tensor",
    r"not enough values to unpack",
    BROADCAST,
    *PRODUCT,
)
def last_of_two_axes(site: ErrorSite, match: re.Match[str]) -> str | None:
    """`logits[:, -1]`, as of (B, T, V), of scores that have two axes."""
    for node in site.sources(site.node, ast.Subscript):
        if ast.unparse(node.slice).replace(" ", "").strip("()") != ":,-1":
            continue
        whole, last = site.tensor(node.value), last_column(site, node)
        if last is None and whole is not None and whole.ndim == 2:
            last = whole[:, -1]
        if last is None or last.ndim != 1 or not last.is_floating_point():
            continue
        quoted = site.text(node, "`[:, -1]`")
        if "logits" in site.task.arguments:  # of one position each
            return (
                f"{quoted} gives one number for each row and drops the axis; "
                "`[:, -1:]` keeps it, with size 1."
            )
        return (
            f"{quoted} is taken of a tensor with two axes and gives one number for "
            "each row: its last column. Is it the last position's already?"
        )
    return None


def last_column(site: ErrorSite, node: ast.Subscript) -> Tensor | None:
    """Return the value of a name that was set to its own last column."""
    name = getattr(node.value, "id", "")
    found = site.known.get(name) if site.last_value(name) is node else None
    return found if isinstance(found, Tensor) else None


# Entry by entry


@RULES.tested(BROADCAST)
def product_entry_by_entry(site: ErrorSite, match: re.Match[str]) -> str | None:
    """Scores made by `*` have no axis of keys, which shows at the mask only."""
    if not any(map(is_square, map(site.tensor, ast.walk(site.node)))):
        return None
    for node in site.sources(site.node, ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        a, b = site.tensor(node.left), site.tensor(node.right)
        if a is None or b is None or a.ndim < 3 or a.shape != b.shape or is_square(a):
            continue
        if not product_is_right(site, a, b.mT):
            continue
        site.made = node.lineno
        return (
            f"{site.text(node, 'A product of yours')} multiplies entry by entry and "
            f"has shape {shape_of(a)}: no score for each two positions. Those are a "
            f"matrix product, `{ast.unparse(node.left)} @ "
            f"{ast.unparse(node.right)}.mT`."
        )
    return None


def is_square(tensor: Tensor | None) -> bool:
    """Whether a tensor may be a mask of positions by positions."""
    return tensor is not None and tensor.ndim >= 2 and tensor.shape == tensor.mT.shape


@RULES.tested(BROADCAST)
def not_entry_by_entry(site: ErrorSite, match: re.Match[str]) -> str | None:
    """Two shapes that do not go together entry by entry."""
    sign, left, right = sides(site.node)
    a, b = site.tensor(left), site.tensor(right)
    if a is None or b is None or sign == "@":
        return None
    operands = [(left, shape_of(a)), (right, shape_of(b))]
    orders = operands, operands[::-1]
    for (node, small), (_, large) in orders:
        if said := axis_dropped(site, node, small, large):
            return said
    shapes = f"{shape_of(a)} and {shape_of(b)}"
    if sign == "*" and product_fits(a.shape, b.shape):
        return (
            f"`*` multiplies entry by entry, and the shapes {shapes} do not fit for "
            "that. They fit for a matrix product, `@`."
        )
    for (node, table), (_, rows) in orders:
        if said := too_many_rows(site, node, table, rows):
            return said
    return (
        f"The two sides of `{sign}` have shapes {shapes}. Compared from the last axis "
        "on, two sizes must be equal, or one of them 1."
    )


def sides(node: ast.AST) -> tuple[str, ast.AST, ast.AST]:
    """Return the sign, the left side and the right side of an operation."""
    match node:
        case ast.BinOp(left, sign, right) | ast.AugAssign(left, sign, right):
            return SIGNS.get(type(sign), "?"), left, right
    return "?", NOTHING, NOTHING


def axis_dropped(
    site: ErrorSite, node: ast.AST, small: Shape, large: Shape
) -> str | None:
    """Tell of a reduction without keepdim, whose shape would fit with it."""
    for call in site.sources(node, ast.Call):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if not REDUCTIONS.fullmatch(name) or any(map(keeps_axis, call.keywords)):
            continue
        shape, dim = reduction_of(site, call)
        if dim is None:
            continue
        axis = dim % (len(small) + 1)
        if shape is not None and (*shape[:axis], *shape[axis + 1 :]) != small:
            continue
        kept = (*small[:axis], 1, *small[axis:])
        with suppress(RuntimeError):
            if torch.broadcast_shapes(kept, large) == large:
                site.made = call.lineno
                return (
                    f"`{name}` over axis {dim} drops that axis: a tensor of shape "
                    f"{small} meets one of shape {large}. With `keepdim=True` the axis "
                    f"stays, with size 1: {kept}."
                )
    return None


def keeps_axis(keyword: ast.keyword) -> bool:
    """Whether an argument of a reduction is `keepdim=True`."""
    value = getattr(keyword.value, "value", True)
    return keyword.arg == "keepdim" and value is not False


def reduction_of(site: ErrorSite, call: ast.Call) -> tuple[Shape | None, int | None]:
    """Return the shape that is reduced, and the dim, as far as they are known."""
    arguments = [*owner_and_arguments(site, call), NOTHING]
    tensor = site.tensor(arguments[0])
    named = [each.value for each in call.keywords if each.arg in ("dim", "axis")]
    dim = site.found(next(iter([*named, *arguments[1:]]), NOTHING), int)
    return None if tensor is None else shape_of(tensor), dim


def owner_and_arguments(site: ErrorSite, call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a function, or of a method after its tensor."""
    owner = getattr(call.func, "value", NOTHING)
    return call.args if site.tensor(owner) is None else [owner, *call.args]


def product_fits(a: Shape, b: Shape) -> bool:
    """Whether two shapes, one of them a matrix's at least, have a matrix product."""
    with suppress(RuntimeError):
        torch.empty(a, device="meta") @ torch.empty(b, device="meta")
        return max(len(a), len(b)) > 1
    return False


def product_is_right(site: ErrorSite, a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have a matrix product, and right programs make it."""
    return product_fits(a.shape, b.shape) and site.is_right(a @ b)


def too_many_rows(
    site: ErrorSite, node: ast.AST, table: Shape, rows: Shape
) -> str | None:
    """Tell of a table of positions that is added whole."""
    if len(table) != 2 or len(rows) < 2 or table[1] != rows[-1]:
        return None
    if table[0] <= rows[-2] or rows[-2] == 1:
        return None
    if not re.search("pos|wpe", ast.unparse(node), re.IGNORECASE):
        return None
    return (
        f"{site.text(node, 'The table of positions')} has {table[0]} rows, and the "
        f"text is {rows[-2]} ids long: take the rows of its positions alone, `[:T]` "
        "where it begins at position 0."
    )


# Matrix products


@RULES.tested(*PRODUCT)
def too_few_classes(site: ErrorSite, match: re.Match[str]) -> str | None:
    """`F.one_hot` without the count of the classes."""
    for call in site.sources(site.node, ast.Call):
        counted = len(call.args) > 1 or call.keywords
        if ast.unparse(call.func).endswith("one_hot") and not counted:
            site.made = call.lineno
            return (
                f"{site.text(call, '`one_hot`')} has as many columns as its largest id "
                "asks for, not as there are rows in the table: give it `num_classes`."
            )
    return None


@RULES.tested(*PRODUCT)
def no_matrix_product(site: ErrorSite, match: re.Match[str]) -> str | None:
    """Two shapes that have no matrix product."""
    left, right = factors(site)
    a, b = site.tensor(left), site.tensor(right)
    if a is None or b is None:
        return by_counts(site, **match.groupdict())
    shapes = f"{shape_of(a)} and {shape_of(b)}"
    if isinstance(site.node, ast.Call) and "linear" in ast.unparse(site.node.func):
        if not product_is_right(site, a, b):
            return None
        return (
            f"`F.linear` transposes its weight itself, and {shapes} fit without that: "
            "`x @ W`, or `F.linear(x, W.T)`."
        )
    ways = []
    if b.ndim > 1 and product_is_right(site, a, b.mT):
        ways.append(f"with the right side {other_way(right)}")
    elif a.ndim > 1 and product_is_right(site, a.mT, b):
        ways.append(f"with the left side {other_way(left)}")
    if product_is_right(site, b, a):
        ways.append("the other way round")
    fit = f" They would fit {', or '.join(ways)}." if ways else ""
    return f"{NEEDS}; here the shapes are {shapes}.{fit}"


def other_way(node: ast.AST) -> str:
    """Tell how to take a side that is transposed, or is not."""
    names = ("T", "mT")
    if isinstance(node, ast.Call):
        node, names = node.func, ("transpose", "t", "swapaxes")
    turned = isinstance(node, ast.Attribute) and node.attr in names
    return "without its transpose" if turned else "transposed, by `.mT`"


def by_counts(site: ErrorSite, columns: str | None, rows: str | None) -> str | None:
    """Go by the error's text, where the sides themselves are not known."""
    if not columns:
        return None
    if site.found(getattr(site.node, "func", None), nn.Linear):
        return f"The layer takes rows of {rows} numbers and is given rows of {columns}."
    return f"{NEEDS}; here there are {columns} and {rows}."


def factors(site: ErrorSite) -> tuple[ast.AST, ast.AST]:
    """Return the two sides of a matrix product, written as `@` or as a call."""
    match site.node:
        case ast.Call(ast.Attribute(attr="matmul" | "mm" | "bmm" | "mv" | "linear")):
            arguments = owner_and_arguments(site, site.node)
            if len(arguments) == 2:
                return arguments[0], arguments[1]
    return sides(site.node)[1:]


# Axes


@RULES.tested(r"too many indices for tensor of dimension (\d+)", at=ast.Subscript)
def too_many_indices(site: ErrorSite, match: re.Match[str]) -> str:
    """More indices than the tensor has axes."""
    tensor = site.tensor(site.node.value)
    asked = f"`[{ast.unparse(site.node.slice).strip('()')}]` asks for more."
    if tensor is None:
        return f"The tensor has {axes(match[1])}, and {asked}"
    name = site.text(site.node.value, "The tensor")
    return f"{name} has {axes(tensor.ndim)}, shape {shape_of(tensor)}, and {asked}"


@RULES.tested(r"expected to be in range of \[-(\d+), (-?\d+)\], but got (-?\d+)")
def dim_out_of_range(site: ErrorSite, match: re.Match[str]) -> str:
    """A dim that the tensor does not have."""
    count, high, dim = match.groups()
    return (
        f"The tensor has {axes(count)}, so that a dim lies between -{count} and "
        f"{high}; here it is {dim}."
    )


@RULES.tested(
    r"not enough values to unpack \(expected (\d+)",
    r"too many values to unpack",
)
def unpacked_shape(site: ErrorSite, match: re.Match[str]) -> str | None:
    """More or fewer names than the shape has axes."""
    match site.statement:
        case ast.Assign([ast.Tuple(names), *_], value):
            shape = site.found(value, torch.Size)
            if shape is not None:
                return (
                    f"The line has {len(names)} names for the shape {tuple(shape)}, "
                    f"which has {axes(len(shape))}."
                )
    return None


@RULES.tested(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)")
def out_of_bounds(site: ErrorSite, match: re.Match[str]) -> str:
    """An index beyond the end of an axis."""
    index, dim, size = match.groups()
    return (
        f"Axis {dim} has {size} entries, numbered from 0 to {int(size) - 1}: there is "
        f"no entry {index}."
    )


@RULES.tested(r"same number of dimensions: got (\d+) and (\d+)")
def joined(site: ErrorSite, match: re.Match[str]) -> str:
    """Tensors with different numbers of axes are joined."""
    return (
        f"Tensors with {axes(match[1])} and with {axes(match[2])} cannot be joined; "
        "`[:, None]` gives a row of numbers an axis of size 1."
    )


@RULES.tested(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)")
def another_size(site: ErrorSite, match: re.Match[str]) -> str:
    """A shape for another count of numbers than the tensor holds."""
    wanted, size = match.groups()
    tensor = site.tensor(getattr(getattr(site.node, "func", None), "value", NOTHING))
    text = "" if tensor is None else f" of shape {shape_of(tensor)}"
    count = math.prod(map(int, wanted.split(",")))
    asked = f"asks for {count}" if count >= 0 else "is no way to divide them"
    return f"The tensor{text} holds {size} numbers, and the shape ({wanted}) {asked}."


# Functions that the check gives


@PASSED.tested(
    r"index (\d+) is out of bounds for dimension 0 with size (\d+)", at=ast.Call
)
def passed_wrong_id(site: ErrorSite, match: re.Match[str]) -> str:
    """A function that the check gives was passed an id that is too large."""
    text = (
        f"`{ast.unparse(site.node.func)}`, which the check gives your program, got an "
        f"id of {match[1]}, and ids go from 0 to {int(match[2]) - 1}."
    )
    if any(map(is_flat_argmax, ast.walk(site.function))):
        text += (
            " `argmax` without a dim counts through the whole tensor, not within each "
            "row: give it `dim=-1`."
        )
    return text


def is_flat_argmax(node: ast.AST) -> bool:
    """Whether an expression is an `argmax` without a dim."""
    match node:
        case ast.Call(ast.Attribute(owner, "argmax"), arguments, named):
            tensors = 1 if ast.unparse(owner) == "torch" else 0
            return len(arguments) + len(named) == tensors
    return False


@PASSED.tested("", at=ast.Call)
def passed(site: ErrorSite, match: re.Match[str]) -> str:
    """A function that the check gives stopped with the values that it was passed."""
    known = [(site.text(a), site.tensor(a)) for a in site.node.args]
    shapes = [f"{text} of shape {shape_of(a)}" for text, a in known if a is not None]
    given = f" with {', '.join(shapes)}" if shapes else ""
    return (
        f"`{ast.unparse(site.node.func)}`, which the check gives your program, stops"
        f"{given}: is that what it takes?"
    )


RULES.by_text(
    {
        r"view size is not compatible with input tensor's size and stride": (
            "`view` cannot regroup numbers that `transpose`, `permute` or `expand` has "
            "moved apart in memory; `reshape` can. Are the axes in the order you mean?"
        ),
        r"t\(\) expects a tensor with <= 2 dimensions, but self is (\d)D": (
            "`.t()` is for matrices; of {0} axes, `.mT` swaps the last two."
        ),
        r"\.mT is only supported .* Got 1-D": (
            "A tensor with one axis has no transpose."
        ),
        r"einsum\(\): subscript (\w) has size (\d+) for operand \d+ which does not "
        r"broadcast with previously seen size (\d+)": (
            "In this `einsum`, the letter {0} stands for axes of two sizes, {2} and "
            "{1}."
        ),
        r"except in dimension (\d+)\. Expected size (\d+) but got size (\d+)": (
            "What is joined along axis {0} must agree in all others; here one has {1} "
            "and another {2}."
        ),
        r"Expected target size \[.*\], got": (
            "`cross_entropy` takes the classes on axis 1, of (B, T, V) too: flatten "
            "both, `logits.flatten(0, 1)` and `targets.flatten()`, or give it "
            "`logits.transpose(1, 2)`."
        ),
        "selected index k out of range": (
            "`topk` is asked for more entries than there are: a k that may be larger "
            "is cut, `min(k, logits.shape[-1])`."
        ),
        "index out of range in self": "An id is beyond the last row of the table.",
        r"Target sizes: \[(.*?)\]\.\s+Tensor sizes: \[(.*?)\]": (
            "A tensor of shape ({1}) does not fill one of shape ({0})."
        ),
        r"EOF when reading a line": (
            "`input()` waits for the keyboard, and a check has none: take what is "
            "needed from the arguments."
        ),
        r"stack expects each tensor to be equal size, but got (\[.*?\]) at entry 0 and "
        r"(\[.*?\])": "`stack` takes tensors of one shape; here are {0} and {1}.",
    }
)
