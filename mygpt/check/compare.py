"""Compare what a program gives with what is expected: type, shape, then values."""

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mygpt.check.tree import is_decimal, mapped, parts, parts_of

TOLERANCE = 2e-5  # of the largest expected value: float32 passes, the mistakes do not
DIGITS = 4  # significant ones, where no more are needed
NO_TENSOR = " (is there an `.item()` or a `float(…)` too many?)"
MAKES_A_TENSOR = " (`torch.tensor` makes a tensor of numbers, `torch.stack` of tensors)"


@dataclass(frozen=True)
class Difference:
    """The first difference of two values.

    kind: "type", "shape", "nan" or "value".
    sentence: a description for the reader.
    index: the position, such as "[0, 2]" or "loss".
    expected, got: the values at this position.
    """

    kind: str
    sentence: str
    index: str = ""
    expected: Any = None
    got: Any = None


def find_difference(
    expected: Any, got: Any, index: str = "", tolerance: float = TOLERANCE
) -> Difference | None:
    """Return the first difference, or None; NaN equals NaN."""
    if isinstance(expected, Tensor):
        return tensor_difference(expected, got, index, tolerance)
    if isinstance(expected, Mapping):
        return mapping_difference(expected, got, index, tolerance)
    if expected is None or isinstance(expected, str | int):
        return plain_difference(expected, got, index)
    if isinstance(expected, Sequence):
        return sequence_difference(expected, got, index, tolerance)
    return number_difference(expected, got, index, tolerance)


def tensor_difference(
    expected: Tensor, got: Any, index: str, tolerance: float
) -> Difference | None:
    """Compare shape and kind of numbers, then the numbers."""
    wanted = f"a tensor of shape {tuple(expected.shape)}"
    if not isinstance(got, Tensor):
        hint = MAKES_A_TENSOR if isinstance(got, list) else ""
        hint = NO_TENSOR if isinstance(got, int | float) else hint
        sentence = f"expected {wanted}, got {describe(got)}{hint}"
        return Difference("type", sentence, index)
    if got.shape != expected.shape:
        sentence = f"expected {wanted}, got one of shape {tuple(got.shape)}"
        return Difference(
            "shape", sentence, index, tuple(expected.shape), tuple(got.shape)
        )
    if expected.is_floating_point() != got.is_floating_point() or got.is_complex():
        wanted = "decimal numbers" if expected.is_floating_point() else "whole numbers"
        sentence = f"expected {wanted}, got a tensor of {got.dtype}"
        return Difference("type", sentence, index)
    a, b = expected.detach().double(), got.detach().double().cpu()
    same = (
        (a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= tolerance * size_of(a))
    )
    if same.all():
        return None
    place = (~same).nonzero()[0].tolist()
    where = f"{index}{place if place else ''}"
    a_there, b_there = a[tuple(place)].item(), b[tuple(place)].item()
    if not expected.is_floating_point():
        a_there, b_there = int(a_there), int(b_there)
    if math.isnan(b_there):
        sentence = f"got NaN{at(where)}, expected {show_number(a_there)}"
        return Difference("nan", sentence, where, a_there, b_there)
    sentence = "expected {}{}, got {}".format(*apart(a_there, b_there, at(where)))
    return Difference("value", sentence, where, a_there, b_there)


def size_of(expected: Tensor) -> float:
    """Return the largest finite entry, but at least 1."""
    finite = expected[expected.isfinite()].abs()
    return max(1.0, finite.max().item() if len(finite) else 0.0)


def mapping_difference(
    expected: Mapping, got: Any, index: str, tolerance: float
) -> Difference | None:
    """Compare named parts, except those whose name begins with _."""
    for name, value in expected.items():
        if name.startswith("_"):
            continue
        if found := find_difference(value, got[name], f"{index}{name}", tolerance):
            return found
    return None


def sequence_difference(
    expected: Sequence, got: Any, index: str, tolerance: float
) -> Difference | None:
    """Compare the parts of a list or tuple, then the length."""
    wanted = f"a {type(expected).__name__} of length {len(expected)}"
    if not isinstance(got, list | tuple):
        return Difference("type", f"expected {wanted}, got {describe(got)}", index)
    for i, (a, b) in enumerate(zip(expected, got, strict=False)):
        if found := find_difference(a, b, f"{index}[{i}]", tolerance):
            return found
    if len(got) != len(expected):
        short = min(len(got), len(expected))
        sentence = f"expected a list of length {len(expected)}, got {len(got)}"
        ends = [(*each[short:], "nothing more")[0] for each in (expected, got)]
        return Difference("shape", sentence, f"{index}[{short}]", *ends)
    return None


def number_difference(
    expected: int | float, got: Any, index: str, tolerance: float
) -> Difference | None:
    """Compare a decimal number, within the tolerance."""
    if isinstance(got, Tensor) and got.ndim == 0:
        got = got.item()
    if isinstance(got, bool) or not isinstance(got, int | float):
        sentence = f"expected a number, got {describe(got)}"
        return Difference("type", sentence, index)
    close = abs(got - expected) <= tolerance * max(1.0, abs(expected))
    if got == expected or close or (math.isnan(got) and math.isnan(expected)):
        return None
    sentence = "expected {}{}, got {}".format(*apart(expected, got, at(index)))
    kind = "nan" if math.isnan(got) else "value"
    return Difference(kind, sentence, index, expected, got)


def plain_difference(expected: Any, got: Any, index: str) -> Difference | None:
    """Compare a text, a whole number, a truth value or None: it must be equal."""
    kind = type(expected)
    if kind is int and isinstance(got, Tensor) and got.ndim == 0:
        got = got.item()
    if kind is int and isinstance(got, numbers.Integral) and not isinstance(got, bool):
        got = int(got)  # numpy's
    if isinstance(got, bool) != (kind is bool) or not isinstance(got, kind):
        sentence = f"expected {expected!r}{at(index)}, got {describe(got)}"
        return Difference("type", sentence, index)
    if got == expected:
        return None
    sentence = f"expected {expected!r}{at(index)}, got {got!r}"
    if kind is bool:
        sentence = f"{index} should be {expected}, and is {got}"
    return Difference("value", sentence, index, expected, got)


def at(index: str) -> str:
    """Say where a difference is; nothing for the whole value."""
    return f" at {index}" if index else ""


def describe(value: Any) -> str:
    """Describe in a few words what a program returned."""
    if value is None:
        return "None (is a `return` missing?)"
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    kind = type(value)
    if kind.__module__ == "torch.return_types":
        return f"the pair of values and places of `{kind.__name__}` (take `.values`)"
    if isinstance(value, list | tuple):
        return f"a {kind.__name__} of length {len(value)}"
    if isinstance(value, bool | int | float | str):
        return f"the {kind.__name__} {value!r:.40}"
    if kind.__module__ == "numpy":
        return "a NumPy array (return a torch tensor)"
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"an object of type {module}{kind.__name__}"


def apart(a: int | float, b: int | float, between: str) -> tuple[str, str, str]:
    """Write two different numbers with as many digits as tell them apart."""
    digits = digits_apart(a, b)
    return show_number(a, digits), between, show_number(b, digits)


def digits_apart(a: Any, b: Any) -> int:
    """Return how many significant digits tell two numbers apart, at least DIGITS."""
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        return DIGITS
    digits = range(DIGITS, 17)
    return next((n for n in digits if show_number(a, n) != show_number(b, n)), DIGITS)


def show_number(value: int | float, digits: int = DIGITS) -> str:
    """Write a number with at most that many significant digits."""
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    return f"{value + 0.0:.{digits}g}"  # no -0


def show(value: Any, room: int = 12, digits: int = DIGITS) -> list[str]:
    """Write a value in a few lines.

    room: the largest number of lines; digits: significant digits of each number.
    """
    if isinstance(value, Tensor):
        if value.is_floating_point():
            value = value.detach().double()
        if value.numel() > 60:
            return [f"a tensor of shape {tuple(value.shape)}"]
        lines = nested(value.tolist(), digits).split("\n")
    elif isinstance(value, float):
        lines = [show_number(value, digits)]
    elif isinstance(value, list) and value and isinstance(value[0], float):
        lines = [nested(value, digits)]
    elif isinstance(value, list | tuple) and parts_of(value, Tensor):
        lines = [line for part in value for line in show(part, room, digits)]
    elif isinstance(value, Mapping):
        lines = []
        for name, part in value.items():
            if not name.startswith("_"):
                lines += beside(f"{name} = ", show(part, room, digits))
    else:
        lines = [repr(value)] if len(repr(value)) < 200 else [repr(value)[:200] + "…"]
    return lines if len(lines) <= room else [*lines[: room - 1], "…"]


def beside(start: str, lines: list[str]) -> list[str]:
    """Write lines beside a text; those after the first are indented."""
    starts = [start, *[" " * len(start)] * len(lines)]
    return [start + line for start, line in zip(starts, lines, strict=False)]


def nested(value: Any, digits: int, depth: int = 0) -> str:
    """Write nested lists of numbers, one row a line."""
    if not isinstance(value, list):
        return show_number(value, digits)
    if not value or not isinstance(value[0], list):
        return "[" + ", ".join(show_number(part, digits) for part in value) + "]"
    gap = ",\n" + " " * (depth + 1)
    return "[" + gap.join(nested(part, digits, depth + 1) for part in value) + "]"


def copy_of(value: Any) -> Any:
    """Copy nested arguments, so that a program cannot change the originals."""
    return mapped(copy_of_leaf, value)


def copy_of_leaf(leaf: Any) -> Any:
    """Copy a tensor with its requires_grad; return other leaves as they are."""
    if not isinstance(leaf, Tensor):
        return leaf
    return leaf.detach().clone().requires_grad_(leaf.requires_grad)


def convert(value: Any, dtype: torch.dtype) -> Any:
    """Turn the floating-point tensors of nested arguments into another type."""
    return mapped(lambda leaf: leaf.to(dtype) if is_decimal(leaf) else leaf, value)


def unchanged(before: Any, after: Any) -> bool:
    """Whether nested arguments hold the same values as before."""
    kinds = (Tensor, dict, list, tuple)
    if any(isinstance(before, kind) != isinstance(after, kind) for kind in kinds):
        return False
    if isinstance(before, Tensor):
        return before.shape == after.shape and torch.equal(before, after)
    old, new = parts(before), parts(after)
    if old is None:
        return before is after or before == after
    return old.keys() == new.keys() and all(
        unchanged(part, new[key]) for key, part in old.items()
    )


def distance(a: Any, b: Any) -> float:
    """Return the relative distance of two results; inf if their shapes differ."""
    one, other = parts(a), parts(b)
    if one is not None and other is not None:
        pairs = zip(one.values(), other.values(), strict=False)
        shares = [distance(x, y) for x, y in pairs]
        shares += [1.0] * abs(len(one) - len(other))
        return sum(shares) / len(shares) if shares else 0.0
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.shape != b.shape:
            return math.inf
        a, b = a.detach().double(), b.detach().double().cpu()
        size = b.abs().nan_to_num(0.0, 0.0).sum().item() or 1.0
        off = (a - b).abs().sum()
        if not off.isfinite():  # equal infinities and NaN count as equal
            same = (a == b) | (a.isnan() & b.isnan())
            off = torch.where(same, 0.0, (a - b).abs()).sum().nan_to_num(math.inf)
        return off.item() / size
    if isinstance(b, Tensor) and b.ndim == 0:
        b = b.item()
    if isinstance(a, float) and isinstance(b, float | int):
        return abs(a - b) / (abs(b) or 1.0)
    return float(a != b) if type(a) is type(b) else math.inf
