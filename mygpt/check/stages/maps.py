"""How a wrong tensor differs from the right one, where that is simple."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mygpt.check.stages.match import PRECISE, ROUGH, Pool, same, size_of

HUGE = 1e6  # a number that a mask or an error made
NEAR = 1e-6  # of a factor, to be the one that is meant

Map = tuple[str, float]  # "times" or "plus", and the number


def maps_onto(right: np.ndarray, pool: Pool, rough: bool) -> Iterator[Map]:
    """Yield the numbers by which the last such tensor is a right one, times or plus."""
    known = pool.entries(right.size, parts=False)
    plain = np.sort(right.reshape(-1))
    if len(known.table) == 0 or len(np.unique(np.abs(plain).round(9))) < 2:
        return
    allowed = ROUGH if rough else PRECISE
    largest = max(abs(plain[0]), abs(plain[-1]))
    if largest > HUGE:
        return
    for array, ordered in zip(reversed(known.arrays), known.table[::-1], strict=True):
        theirs = max(abs(ordered[0]), abs(ordered[-1]))
        if not 0 < theirs < HUGE:
            continue
        found: list[Map] = [
            ("times", factor)
            for factor in (theirs / largest, -theirs / largest)
            if holds(right * factor, array, allowed)
        ]
        added = ordered[0] - plain[0]
        if holds(right + added, array, allowed):
            found.append(("plus", added))
        if any(is_identity(one) for one in found):
            continue
        if found:
            yield from found
            return


def is_identity(one: Map) -> bool:
    kind, number = one
    return abs(number - (kind == "times")) < NEAR


def holds(right: np.ndarray, array: np.ndarray, allowed: float) -> bool:
    return bool(same(right, array, allowed * size_of(right)))


def sizes_of(sizes: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes of a probe that a formula may speak of."""
    found = {
        name: size
        for name, size in sizes.items()
        if name.isupper() and isinstance(size, int) and not isinstance(size, bool)
    }
    if "H" in found and "D" in found:
        found["C"] = found["H"] * found["D"]
    return found


def formulas(sizes: Mapping[str, int]) -> dict[str, float]:
    """Return the factors that are told by a formula, simple ones first."""
    found: dict[str, float] = {}
    for name, size in sizes.items():
        if size < 1:
            continue
        found[f"√{name}"], found[f"1/√{name}"] = math.sqrt(size), 1 / math.sqrt(size)
        found[name], found[f"1/{name}"] = size, 1 / size
        found[f"{name}²"], found[f"1/{name}²"] = size**2, 1 / size**2
        found[f"({name} - 1)/{name}"] = (size - 1) / size
        if size > 1:
            found[f"{name}/({name} - 1)"] = size / (size - 1)
            found[f"√({name}/({name} - 1))"] = math.sqrt(size / (size - 1))
            found[f"√(({name} - 1)/{name})"] = math.sqrt((size - 1) / size)
    return found


def told(maps: list[list[Map]], sizes: list[dict[str, int]]) -> str:
    """Say which map holds on every probe: "× √D", "× 2", "+ 1"; nothing if none."""
    if not maps or not all(maps):
        return ""
    for kind, number in maps[0]:
        if all(any(is_near((kind, number), one) for one in each) for each in maps):
            return f"{'×' if kind == 'times' else '+'} {written(number)}".replace(
                "+ -", "- "
            )
    for name in formulas(sizes[0]) if sizes else ():
        values = [formulas(each).get(name, math.nan) for each in sizes]
        if all(
            any(is_near(("times", value), one) for one in each)
            for value, each in zip(values, maps, strict=True)
        ):
            return f"× {name}"
    return ""


def is_near(a: Map, b: Map) -> bool:
    return a[0] == b[0] and abs(a[1] - b[1]) <= NEAR * max(1e-3, abs(a[1]))


def written(number: float) -> str:
    """Write a factor as a person would: -1, 2, 1/3, 0.044."""
    if abs(number - round(number)) < NEAR:
        return f"{round(number)}"
    turned = 1 / number
    if abs(turned - round(turned)) < NEAR * abs(turned):
        sign = "-" if turned < 0 else ""
        return f"{sign}1/{abs(round(turned))}"
    for whole in (2, 3, math.pi):
        for name, value in ((f"√{whole:.4g}", math.sqrt(whole)),):
            if abs(number - value) < NEAR:
                return name if whole != math.pi else "√π"
            if abs(turned - value) < NEAR:
                return f"1/{name}" if whole != math.pi else "1/√π"
    return f"{number:.4g}"
