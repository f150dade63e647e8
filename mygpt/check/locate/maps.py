"""How a wrong tensor differs from the right one: a factor, or a number added."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mygpt.check.locate.match import PRECISE, ROUGH, Pool, same, size_of
from mygpt.check.tree import is_whole

HUGE = 1e6  # a number that a mask or an error made
NEAR = 1e-6  # of a factor, to be the one that is meant
ROOTS = {"√2": 2, "√3": 3, "√π": math.pi}
# The powers of a size n, and of (n - 1)/n, that are told as a formula.
POWERS = {"√{0}": 0.5, "1/√{0}": -0.5, "{0}": 1, "1/{0}": -1, "{0}²": 2, "1/{0}²": -2}
POWERS_OF_FEWER = {
    "({0} - 1)/{0}": 1,
    "{0}/({0} - 1)": -1,
    "√({0}/({0} - 1))": -0.5,
    "√(({0} - 1)/{0})": 0.5,
}

Map = tuple[str, float]  # "times" or "plus", and the number


def maps_onto(right: np.ndarray, pool: Pool, rough: bool) -> Iterator[Map]:
    """Yield the maps of a right tensor onto the last tensor that it has any onto."""
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
        if any(abs(number - (kind == "times")) < NEAR for kind, number in found):
            continue  # the same tensor
        if found:
            yield from found
            return


def holds(right: np.ndarray, array: np.ndarray, allowed: float) -> bool:
    return bool(same(right, array, allowed * size_of(right)))


def sizes_of(sizes: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes of a probe that a formula may name."""
    found = {
        name: size for name, size in sizes.items() if name.isupper() and is_whole(size)
    }
    if "H" in found and "D" in found:
        found["C"] = found["H"] * found["D"]
    return found


def formulas(sizes: Mapping[str, int]) -> dict[str, float]:
    """Return the factors that a formula tells, simple formulas first."""
    found: dict[str, float] = {}
    for name, n in sizes.items():
        if n > 1:
            found |= {formula.format(name): n**k for formula, k in POWERS.items()}
            fewer = POWERS_OF_FEWER.items()
            found |= {formula.format(name): ((n - 1) / n) ** k for formula, k in fewer}
    return found


def told(maps: list[list[Map]], sizes: list[dict[str, int]]) -> str:
    """Say which map holds on every probe: "× √D", "× 2", "+ 1"; nothing if none."""
    if not maps or not all(maps):
        return ""
    for kind, number in maps[0]:
        if all(has_near((kind, number), found) for found in maps):
            sign = "×" if kind == "times" else "+"
            return f"{sign} {written(number)}".replace("+ -", "- ")
    of_probes = [formulas(each) for each in sizes]
    for name in of_probes[0]:
        factors = [("times", factors.get(name, math.nan)) for factors in of_probes]
        if all(map(has_near, factors, maps)):
            return f"× {name}"
    return ""


def has_near(wanted: Map, found: list[Map]) -> bool:
    kind, number = wanted
    allowed = NEAR * max(1e-3, abs(number))
    return any(k == kind and abs(n - number) <= allowed for k, n in found)


def written(number: float) -> str:
    """Write a factor as a person would: -1, 2, 1/3, 0.044."""
    if abs(number - round(number)) < NEAR:
        return f"{round(number)}"
    turned = 1 / number
    if abs(turned - round(turned)) < NEAR * abs(turned):
        sign = "-" if turned < 0 else ""
        return f"{sign}1/{abs(round(turned))}"
    for name, square in ROOTS.items():
        if abs(number - math.sqrt(square)) < NEAR:
            return name
        if abs(turned - math.sqrt(square)) < NEAR:
            return f"1/{name}"
    return f"{number:.4g}"
