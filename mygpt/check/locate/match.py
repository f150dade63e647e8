"""Find a tensor among others, whatever its layout."""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

PRECISE, ROUGH = 1e-7, 2e-5  # of the largest number, in float64 and in less
LIKE = 1e-6  # of tensors brought to one size
MASKED = -1e8  # a number that a mask may put for -inf
MOST_AXES = 5
SLICED = 4000  # numbers of a tensor of which parts are looked up too
MOST_SLICES = 400  # of one tensor


def numbers_of(tensor: Tensor) -> np.ndarray:
    """Return a tensor as float64, with a number each for masked entries and NaN."""
    array = tensor.detach().to(torch.float64).cpu().numpy()
    array = np.where(np.isnan(array), 7e77, array)
    return np.minimum(np.where(array <= MASKED / 10, MASKED, array), 1e80)


def tolerance_of(numbers: np.ndarray, rough: bool) -> float:
    return (ROUGH if rough else PRECISE) * size_of(numbers)


def size_of(numbers: np.ndarray) -> float:
    plain = np.abs(numbers[(numbers > MASKED) & (numbers < 7e77)])
    return max(1e-3, float(plain.max())) if len(plain) else 1.0


def equal(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    return bool((np.abs(a - b) <= tolerance).all())


def without_ones(array: np.ndarray) -> np.ndarray:
    return array.reshape([size for size in array.shape if size > 1])


def same(wanted: np.ndarray, found: np.ndarray, tolerance: float) -> str:
    """Say whether a tensor holds the numbers of another, in the same order.

    "same" if its axes are the other's, or some of them merged; "transposed" if its axes
    have been exchanged and have the same sizes; "" if it does not.
    """
    wanted, found = without_ones(wanted), without_ones(found)
    if wanted.shape == found.shape and equal(wanted, found, tolerance):
        return "same"
    if wanted.ndim > MOST_AXES:
        return ""
    like = sorted(wanted.shape) == sorted(found.shape)
    for axes in itertools.permutations(range(wanted.ndim)):
        turned = wanted.transpose(axes)
        if like and turned.shape != found.shape:
            continue
        if equal(turned.reshape(-1), found.reshape(-1), tolerance):
            return "transposed" if like and turned.shape == wanted.shape else "same"
    return ""


def slices(array: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """Yield the parts of an array with a count of numbers, along one axis to three."""
    array = without_ones(array)
    for number in (1, 2, 3):
        for axes in itertools.combinations(range(array.ndim), number):
            sizes = [array.shape[axis] for axis in axes]
            if math.prod(sizes) * count != array.size or math.prod(sizes) > MOST_SLICES:
                continue
            for places in itertools.product(*map(range, sizes)):
                index: list[slice | int] = [slice(None)] * array.ndim
                for axis, place in zip(axes, places, strict=True):
                    index[axis] = place
                yield array[tuple(index)]


class Pool:
    """Tensors among which others are looked up, whole and in parts.

    rough: for each whether it has less than double precision.
    first_class: tensors that may stand in the place of a wrong one.
    constants: tensors that may stand in the place of a wrong constant.
    """

    def __init__(
        self,
        tensors: Iterable[tuple[Tensor, bool]],
        beside: Iterable[Tensor] = (),
        constants: Iterable[Tensor] = (),
    ) -> None:
        self.arrays: list[np.ndarray] = []
        self.first_class: list[Tensor] = []
        self.rough: list[bool] = []
        self.by_count: dict[tuple[int, bool], Entries] = {}
        self.seen: set[bytes] = set()
        for tensor, rough in tensors:
            if self.add(tensor, rough) and tensor.any():
                self.first_class.append(tensor)
        for tensor in beside:
            self.add(tensor, False)
        self.constants = [*constants]
        for tensor in self.constants:
            self.add(tensor, False)

    def add(self, tensor: Tensor, rough: bool) -> bool:
        """Add a tensor unless it is present; return whether it was added."""
        array = numbers_of(tensor)
        key = str((array.shape, rough)).encode() + array.round(10).tobytes()
        if key in self.seen or not array.size:
            return False
        self.seen.add(key)
        self.arrays.append(array)
        self.rough.append(rough)
        return True

    def entries(self, count: int, parts: bool = True) -> "Entries":
        """Return the arrays with a count of numbers."""
        if (count, parts) not in self.by_count:
            found = []
            for array, rough in zip(self.arrays, self.rough, strict=True):
                if array.size == count:
                    found.append((array, rough))
                elif parts and count < array.size <= SLICED:
                    found += ((part, rough) for part in slices(array, count))
            table = [np.sort(array, None) for array, _ in found]
            self.by_count[count, parts] = Entries(
                [array for array, _ in found],
                np.array(table).reshape(len(found), count),
                np.array([tolerance_of(*each) for each in found]),
            )
        return self.by_count[count, parts]

    def find(self, array: np.ndarray, rough: bool = False, parts: bool = True) -> str:
        """Look an array up, and answer as `same` does, with the best match."""
        known = self.entries(array.size, parts)
        if not len(known.table):
            return ""
        ordered = np.sort(array, None)
        allowed = np.maximum(known.tolerances, tolerance_of(array, rough))
        near = np.abs(known.table - ordered).max(1) <= allowed
        best = ""
        for i in np.nonzero(near)[0]:
            best = same(known.arrays[i], array, allowed[i]) or best
            if best == "same":
                return best
        return best

    def has_like(self, array: np.ndarray) -> bool:
        """Whether an array is an affine copy of one that is present."""
        if len(np.unique(array[array > MASKED].round(6))) < 3:
            return True
        known = self.entries(array.size)
        hidden = int((array <= MASKED).sum())
        alike = (known.table <= MASKED).sum(1) == hidden
        indices = np.nonzero(alike)[0]
        mine, middle, spread = standard(np.sort(array, None)[None, hidden:])
        if not len(indices) or not spread[0]:
            return False
        theirs, middles, spreads = standard(known.table[indices][:, hidden:])
        near = np.zeros(len(theirs), bool)
        for turned in (mine, -mine[:, ::-1]):
            near |= (np.abs(theirs - turned).max(1) < LIKE) & (spreads > 0)
        plain = plainly(array, middle[0], spread[0])
        for i in np.nonzero(near)[0]:
            other = known.arrays[indices[i]]
            for sign in (1, -1):
                brought = plainly(other, middles[i], sign * spreads[i])
                if same(brought, plain, LIKE):
                    return True
        return False


def plainly(array: np.ndarray, middle: float, spread: float) -> np.ndarray:
    return np.where(array <= MASKED, MASKED, (array - middle) / spread)


@dataclass(frozen=True)
class Entries:
    """Arrays of one size; their sorted numbers, row by row; their tolerances."""

    arrays: list[np.ndarray]
    table: np.ndarray
    tolerances: np.ndarray


def standard(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bring each row to mean 0 and largest number 1; return means and divisors too."""
    middle = table.mean(1)
    centred = table - middle[:, None]
    spread = np.abs(centred).max(1)
    spread = np.where(spread > 1e-9 * (1 + np.abs(table).max(1)), spread, 0.0)
    return centred / np.where(spread > 0, spread, 1.0)[:, None], middle, spread
