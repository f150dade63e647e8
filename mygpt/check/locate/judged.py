"""The tensors of a program, judged by those of right programs."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import numpy as np
import torch
from torch import Tensor

from mygpt.check.locate.again import CannotBeDone, again
from mygpt.check.locate.match import MASKED, ROUGH, Pool, equal, numbers_of, size_of
from mygpt.check.locate.record import Made, RecordedRun
from mygpt.check.locate.stage import Stage
from mygpt.check.tree import parts_of

TRIES = 300  # tensors that are put in the place of another
STEPS = 4  # from one tensor to another that was made from it
FEW = 3  # different numbers that agree by chance


class Judged:
    """One run of a wrong program, judged by the tensors of right programs.

    known: all tensors of right programs; `has_like` of it tells a matter of style.
    rights: the right results, in each form that has as many tensors as `got`.
    good: the tensors that right programs make, too; cleared: these, and the tensors
    that they were made from. relevant: the tensors that the results are made from.
    """

    def __init__(
        self,
        run: RecordedRun,
        known: Pool,
        results: list[list[Tensor]],
        stages: Iterable[Stage] = (),
    ) -> None:
        self.run, self.known = run, known
        self.got = [one for result in run.results for one in result]
        self.rights = [right for right in results if len(right) == len(self.got)]
        self.stages = [
            Pool((form, False) for form in stage.tensors) for stage in stages
        ]
        self.arrays = {one: numbers_of(one.value) for one in run.made}
        self.order = {one: i for i, one in enumerate(run.made)}
        self.users: defaultdict[Made, list[Made]] = defaultdict(list)
        for one in run.made:
            for each in one.inputs:
                self.users[each].append(one)
        self.good = {one for one in run.made if self.is_known(one)}
        self.cleared = set(self.good)
        for one in reversed(run.made):
            if self.is_cleared(one) and tells(self.arrays[one]):
                self.cleared |= {*one.inputs}
        self.relevant = self.ancestors()

    def is_known(self, one: Made) -> bool:
        if one.operation == "given" or not one.value.numel():
            return True
        return bool(self.known.find(self.arrays[one], one.rough))

    def ancestors(self) -> set[Made]:
        """Return what the results are made from; all tensors, if that is not known."""
        left, found = [*self.got], set[Made]()
        while left:
            one = left.pop()
            if one not in found:
                found.add(one)
                left += one.inputs
        given = any(one.operation == "given" and not one.constant for one in found)
        return found if given else {*self.run.made}

    def is_bad(self, one: Made) -> bool:
        return one in self.relevant and one not in self.cleared and bool(one.place)

    def is_cleared(self, one: Made) -> bool:
        return one in self.cleared and not one.constant

    def views(self, one: Made) -> Iterator[Made]:
        """Yield a tensor, and those whose memory it shares."""
        yield one
        while one.call and one.inputs and one.is_view:
            one = one.inputs[0]
            yield one

    def roots(self, one: Made) -> Iterator[Made]:
        """Yield a tensor, and those of which it is a view or a copy."""
        yield one
        while len(one.inputs) == 1:
            before = one.inputs[0]
            numbers = (np.unique(self.arrays[each]) for each in (one, before))
            if not np.array_equal(*numbers):
                return
            one = before
            yield one

    def is_result(self, one: Made) -> bool:
        return any(one in self.roots(each) for each in self.got)

    def known_as_whole(self, one: Made) -> bool:
        """Whether a tensor ends a step, so that the next operation begins another."""
        array = self.arrays[one]
        return any(
            forms.find(array, one.rough, parts=False) == "same" for forms in self.stages
        )

    def of_one_stage(self, one: Made, other: Tensor) -> bool:
        """Whether two tensors are forms of one stage."""
        arrays = self.arrays[one], numbers_of(other)
        return any(
            all(forms.find(array, one.rough, parts=False) for array in arrays)
            for forms in self.stages
        )

    def comes_after(self, one: Made, other: Tensor) -> bool:
        """Whether a tensor was made from the one that should be in its place."""
        wanted, before = np.sort(numbers_of(other), None), one.inputs
        for _ in range(STEPS):
            for each in before:
                array = np.sort(self.arrays[each], None)
                if array.size == wanted.size and equal(array, wanted, ROUGH):
                    return True
            before = [each for one in before for each in one.inputs]
        return False

    def repaired(
        self, one: Made, is_right: Callable[[Tensor], bool], in_shape: bool = False
    ) -> Iterator[tuple[Made, Tensor]]:
        """Yield the inputs in whose place another tensor makes a result right.

        in_shape: whether the other tensor has the shape of the input.
        """
        for given in dict.fromkeys(parts_of(one.call or (), Made)):
            others = itertools.chain(
                self.instead_of(given), () if in_shape else self.of_kind(given)
            )
            for other in itertools.islice(others, TRIES):
                with suppress(CannotBeDone):
                    if is_right(again(one, {given: other})):
                        yield given, other
                        break

    def is_right(self, tensor: Tensor, rough: bool) -> bool:
        """Whether right programs make a tensor, and not by chance."""
        array = numbers_of(tensor)
        return tells(array) and bool(self.known.find(array, rough))

    def instead_of(self, given: Made) -> Iterator[Tensor]:
        """Yield the tensors of right programs, in a tensor's shape."""
        kind = given.value.dtype
        seen: set[bytes] = set()
        others = [] if given.constant else self.known.first_class
        for tensor in itertools.chain(others, self.known.constants):
            decimal = kind.is_floating_point and tensor.is_floating_point()
            if tensor.numel() != given.value.numel():
                continue
            if kind != tensor.dtype and not decimal:
                continue
            for turned in turns(tensor, given.value.shape):
                key = turned.double().numpy().tobytes()
                if key not in seen:
                    seen.add(key)
                    yield turned.to(kind)

    def of_kind(self, given: Made) -> Iterator[Tensor]:
        """Yield the tensors of right programs of a tensor's type, in any shape."""
        for tensor in self.known.first_class:
            if tensor.dtype == given.value.dtype:
                yield tensor

    def is_used_well(self, one: Made, but: Made) -> bool:
        """Whether another user than a given one makes something right of a tensor."""
        return any(
            self.is_used_well(user, but)
            if one in itertools.islice(self.roots(user), 1, 2)
            else user in self.cleared
            for user in self.users[one]
            if user is not but
        )


def permuted(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same numbers in another order."""
    if one.numel() != other.numel() or torch.equal(one.reshape(-1), other.reshape(-1)):
        return False
    orders = [each.double().reshape(-1).sort().values for each in (one, other)]
    return torch.allclose(*orders, rtol=1e-7, atol=1e-9)


def agree(right: Tensor, got: Tensor) -> bool:
    if right.shape != got.shape:
        return False
    a, b = numbers_of(right), numbers_of(got)
    return equal(a, b, ROUGH * size_of(a))


def tells(numbers: np.ndarray) -> bool:
    """Whether numbers do not agree with others by chance: the inputs have a decimal."""
    tenths = 10 * numbers[np.abs(numbers) < -MASKED]
    return bool((np.abs(tenths - tenths.round()) > 1e-5).any()) or (
        len(np.unique(tenths)) >= FEW
    )


def turns(tensor: Tensor, shape: torch.Size) -> Iterator[Tensor]:
    """Yield a tensor in another shape, its axes in each order that may be meant."""
    plain = tensor.squeeze()
    wanted = [size for size in shape if size > 1]
    like = sorted(plain.shape) == sorted(wanted)
    if plain.ndim > 4:
        return
    for axes in itertools.permutations(range(plain.ndim)):
        turned = plain.permute(axes)
        if not like or list(turned.shape) == wanted:
            yield turned.reshape(shape)
