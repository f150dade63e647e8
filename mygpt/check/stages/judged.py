"""Which tensors of a program are those of right programs, and which might be."""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import suppress

import numpy as np
import torch
from torch import Tensor

from mygpt.check.stages.again import VIEW, CannotBeDone, again
from mygpt.check.stages.match import MASKED, ROUGH, Pool, equal, numbers_of, size_of
from mygpt.check.stages.record import Made, Run, parts_of
from mygpt.check.stages.stage import Stage

TRIES = 300  # of tensors put in the place of one
STEPS = 4  # from one tensor to another that was made from it
FEW = 3  # different numbers that agree by chance


class Judged:
    """One run of a wrong program, judged by what right programs make.

    known: all that these make; `has_like` of it is what may be a matter of style.
    stages: those of the task, whole steps of a right program.
    """

    def __init__(
        self,
        run: Run,
        known: Pool,
        results: list[list[Tensor]],
        stages: Iterable[Stage] = (),
    ) -> None:
        self.run, self.known, self.results = run, known, results
        self.stages = [*stages]
        forms = (form for stage in self.stages for form in stage.tensors)
        self.whole = Pool((form, False) for form in forms)
        self.arrays = {id(one): numbers_of(one.value) for one in run.made}
        self.users: dict[int, list[Made]] = {}
        for one in run.made:
            for each in one.inputs:
                self.users.setdefault(id(each), []).append(one)
        self.good = {id(one) for one in run.made if self.is_known(one)}
        self.cleared = set(self.good)
        for one in reversed(run.made):
            told = tells(self.arrays[id(one)])
            if id(one) in self.cleared and not one.constant and told:
                self.cleared |= {id(each) for each in one.inputs}
        self.relevant = self.ancestors()

    def is_known(self, one: Made) -> bool:
        if one.operation == "given" or not one.value.numel():
            return True
        return bool(self.known.find(self.arrays[id(one)], one.rough))

    def ancestors(self) -> set[int]:
        """What the results are made from; all, if that is not known."""
        left = [one for results in self.run.results for one in results]
        found: set[int] = set()
        given = False
        while left:
            one = left.pop()
            if id(one) not in found:
                found.add(id(one))
                left += one.inputs
                given |= one.operation == "given" and not one.constant
        return found if given else {id(one) for one in self.run.made}

    def is_bad(self, one: Made) -> bool:
        return (
            id(one) in self.relevant and id(one) not in self.cleared and bool(one.place)
        )

    def views(self, one: Made) -> Iterator[Made]:
        """Yield a tensor, and those whose memory it shares."""
        yield one
        while one.call and one.inputs and VIEW.fullmatch(one.operation):
            one = one.inputs[0]
            yield one

    def known_as_whole(self, one: Made) -> bool:
        """Whether a tensor ends a step, so that what follows it is another one."""
        return self.whole.find(self.arrays[id(one)], one.rough, parts=False) == "same"

    def of_one_stage(self, one: Made, other: Tensor) -> bool:
        """Whether two tensors are forms of one stage."""
        arrays = self.arrays[id(one)], numbers_of(other)
        return any(
            all(form_pool.find(array, one.rough, parts=False) for array in arrays)
            for form_pool in map(pool_of, self.stages)
        )

    def is_result(self, one: Made) -> bool:
        return any(
            one in self.roots(each) for given in self.run.results for each in given
        )

    def comes_after(self, one: Made, other: Tensor) -> bool:
        """Whether a tensor was made from the one that should be in its place."""
        wanted, before = numbers_of(other), one.inputs
        for _ in range(STEPS):
            if any(
                self.arrays[id(each)].size == wanted.size
                and equal(
                    np.sort(self.arrays[id(each)], None), np.sort(wanted, None), ROUGH
                )
                for each in before
            ):
                return True
            before = [each for one in before for each in one.inputs]
        return False

    def wrong_input(self, one: Made, wanted: Tensor) -> tuple[Made, Tensor] | None:
        """Return an input in whose place another makes a tensor the wanted one."""
        for given in dict.fromkeys(parts_of(one.call or (), Made)):
            for other in itertools.islice(self.instead_of(given), TRIES):
                with suppress(CannotBeDone):
                    if agree(wanted, again(one, {id(given): other})):
                        return given, other
        return None

    def is_cleared(self, one: Made) -> bool:
        return id(one) in self.cleared and not one.constant

    def repaired(self, one: Made) -> Iterator[tuple[Made, Tensor]]:
        """Yield the inputs in whose place another tensor makes a result right."""
        for given in dict.fromkeys(parts_of(one.call or (), Made)):
            others = itertools.chain(self.instead_of(given), self.of_kind(given))
            for other in itertools.islice(others, TRIES):
                try:
                    result = again(one, {id(given): other})
                except CannotBeDone:
                    continue
                if self.is_right(result, one.rough):
                    yield given, other
                    break

    def is_right(self, tensor: Tensor, rough: bool) -> bool:
        """Whether right programs make a tensor, and not by chance."""
        array = numbers_of(tensor)
        return tells(array) and bool(self.known.find(array, rough))

    def instead_of(self, given: Made) -> Iterator[Tensor]:
        """Yield what right programs make in a tensor's shape."""
        shape, kind = given.value.shape, given.value.dtype
        seen: set[bytes] = set()
        others = [] if given.constant else self.known.first_class
        for tensor in itertools.chain(others, self.known.constants):
            if tensor.numel() != given.value.numel():
                continue
            if kind != tensor.dtype and not (
                kind.is_floating_point and tensor.is_floating_point()
            ):
                continue
            for turned in turns(tensor, shape):
                key = turned.double().numpy().tobytes()
                if key not in seen:
                    seen.add(key)
                    yield turned.to(kind)

    def of_kind(self, given: Made) -> Iterator[Tensor]:
        """Yield what right programs make of a tensor's type, in any shape."""
        for tensor in self.known.first_class:
            if tensor.dtype == given.value.dtype:
                yield tensor

    def is_constant_or_bad(self, one: Made) -> bool:
        return one.constant or id(one) not in self.cleared

    def roots(self, one: Made) -> Iterator[Made]:
        """Yield a tensor, and those of which it is a view or a copy."""
        yield one
        while len(one.inputs) == 1:
            before = one.inputs[0]
            a, b = self.arrays[id(one)], self.arrays[id(before)]
            if not np.array_equal(np.unique(a), np.unique(b)):
                return
            one = before
            yield one

    def is_used_well(self, one: Made, but: Made) -> bool:
        """Whether something right is made from a tensor elsewhere."""
        for user in self.users.get(id(one), []):
            if user is but:
                continue
            if next(itertools.islice(self.roots(user), 1, None), None) is one:
                if self.is_used_well(user, but):
                    return True
            elif id(user) in self.cleared:
                return True
        return False


def pool_of(stage: Stage) -> Pool:
    return Pool((form, False) for form in stage.tensors)


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
    return bool((np.abs(a - b) <= ROUGH * size_of(a)).all())


def tells(numbers: np.ndarray) -> bool:
    """Whether numbers do not agree with others by chance: the inputs have a decimal."""
    tenths = 10 * numbers[np.abs(numbers) < -MASKED]
    return bool((np.abs(tenths - tenths.round()) > 1e-5).any()) or (
        len(np.unique(tenths)) >= FEW
    )


def turns(tensor: Tensor, shape: torch.Size) -> Iterator[Tensor]:
    """Yield a tensor in another shape, its axes in each order that may be meant."""
    plain = tensor.reshape([size for size in tensor.shape if size > 1])
    wanted = [size for size in shape if size > 1]
    like = sorted(plain.shape) == sorted(wanted)
    if plain.ndim > 4:
        return
    for axes in itertools.permutations(range(plain.ndim)):
        turned = plain.permute(axes)
        if not like or list(turned.shape) == wanted:
            yield turned.reshape(shape)
