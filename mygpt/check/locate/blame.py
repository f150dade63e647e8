"""The line at which a wrong program diverges from the right ones."""

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from mygpt.check import work
from mygpt.check.locate.again import CannotBeDone, again
from mygpt.check.locate.judged import Judged, agree, permuted, tells
from mygpt.check.locate.match import numbers_of
from mygpt.check.locate.origins import place_of_number, place_of_shape, place_of_whole
from mygpt.check.locate.record import CodeSite, Made
from mygpt.check.locate.text import line_of_return, name_written
from mygpt.check.syntax import names_in
from mygpt.check.tree import parts_of

SECONDS = 0.3  # of work for the replays of one run
DEEPEST = 12  # steps back from a wrong tensor


class Blame(Judged):
    """The line at which a judged run diverges from the right ones.

    wanted: the tensor that should be in the place of a right one.
    """

    wanted: Tensor | None = None

    def place(self) -> CodeSite | None:
        """Return where the mistake is, as far as the run shows it."""
        if aliased := self.place_of_alias():
            return aliased
        found = self.place_of_mistake()
        return self.outward(found) if found else None

    def place_of_alias(self) -> CodeSite | None:
        """Return where the modified argument was aliased."""
        for one in self.run.made:
            if not one.place or not one.operation.endswith("_") or not one.inputs:
                continue
            root = [*self.views(one.inputs[0])][-1]
            if root.operation == "given" and not root.constant:
                found = one.place.last_value(name_written(one.place))
                if found and not isinstance(found, ast.BinOp):
                    return replace(one.place, line=found.lineno)
                return one.place
        return None

    def outward(self, place: CodeSite) -> CodeSite:
        """Return the caller of a function that is right in another call."""
        while place.outer and self.works_elsewhere(place):
            place = place.outer
        return place

    def works_elsewhere(self, place: CodeSite) -> bool:
        """Whether a line makes a right tensor in another call of its function.

        The other call has the same numbers as arguments, and makes tensors of the same
        shapes: the mistake may be in their use.
        """
        own: set[torch.Size] = set()
        others: list[tuple[CodeSite, torch.Size]] = []
        for one in self.run.made:
            if not one.place or one.constant or one.is_view:
                continue
            for each in one.place.frames():
                if (each.code, each.instruction) != (place.code, place.instruction):
                    continue
                if each.frame == place.frame:
                    own.add(one.value.shape)
                elif one in self.cleared:
                    others.append((each, one.value.shape))
        return any(
            shape in own
            and all(
                each.numbers.get(name) == place.numbers.get(name)
                for name in place.arguments
            )
            for each, shape in others
        )

    def place_of_mistake(self) -> CodeSite | None:
        bad = [one for one in self.run.made if self.is_bad(one) and not one.constant]
        hard = [one for one in bad if not self.known.has_like(self.arrays[one])]
        first = next(iter(hard or bad), None)
        one = self.to_replace(first)
        if one is None:
            return self.place_of(first) if first else self.place_of_return()
        if one.place is None:
            return self.place_of_use(one)
        if one in self.good and self.is_result(one) and not self.users[one]:
            return self.place_of_return()
        if one in self.good and not one.constant:
            return self.place_of_forgotten(one)
        found = self.place_of_value(one)
        return found or (self.place_of_constant(one) if one.constant else one.place)

    def place_of_forgotten(self, one: Made) -> CodeSite | None:
        """Return where a right tensor was made that another should have followed.

        If that is in a function that is right, it is where the function was called; if
        the tensor has been given another name since, it is there.
        """
        users = [each for each in self.users[one] if each.place]
        for user in users:
            if named := self.line_of_name([one], user):
                return named
        if users:
            user = self.first_wrong(users, lambda each: each.is_view)
            places = one.place, user.place
            first, second = reversed(places) if self.is_ended(one) else places
            around = {each.frame for each in second.frames()}
            for each in first.frames():
                if each.frame in around:
                    return each
        return one.place

    def is_ended(self, one: Made) -> bool:
        """Whether the use of a tensor is wrong, rather than how it was made."""
        assert self.wanted is not None
        if self.comes_after(one, self.wanted):
            return True
        return self.known_as_whole(one) and not self.of_one_stage(one, self.wanted)

    def first_wrong(self, ones: list[Made], passes: Callable[[Made], bool]) -> Made:
        """Return the first of some tensors that is wrong, or is the only one.

        One that passes a test is wrong, too, if a tensor that was made from it is.
        """

        def is_wrong(one: Made) -> bool:
            later = self.users[one] if passes(one) else ()
            return self.is_bad(one) or any(map(is_wrong, later))

        return next(filter(is_wrong, ones), ones[0])

    def place_of_use(self, given: Made) -> CodeSite | None:
        """Return where an argument is first used for something that is not right."""
        users = [each for each in self.users[given] if each.place]
        if not users:
            return None
        user = self.first_wrong(users, lambda one: one not in self.good)
        named = self.line_of_name([given], user)
        return named or user.place.of_argument(given.identity)

    def to_replace(self, until: Made | None) -> Made | None:
        """Return the tensor in whose place another makes the results right.

        It is one that right programs make too, if a later step was forgotten or it was
        mistaken for another; else the first that they do not make, up to a given one.
        """
        if not self.rights or not any(
            tells(numbers_of(each)) for each in self.rights[0]
        ):
            return None
        self.end = work.after(SECONDS)
        bad = [one for one in self.run.made if self.is_bad(one)]
        fed = {root for one in bad for each in one.inputs for root in self.roots(each)}
        right = [
            one
            for one in sorted(fed, key=self.order.__getitem__, reverse=True)
            if one.value.numel() and (one in self.good or one.constant)
        ]
        last = self.order[until] if until else -1
        wrong = [o for o in bad if not o.constant and self.order[o] <= last]
        first = None
        for others in (self.instead_of, self.any_known):
            for one, other in self.mended(right, others):
                self.wanted = other
                return self.first_of_views(one, other)
            for first, _ in self.mended(wrong, others):
                wrong = wrong[: wrong.index(first)]
                break
        return first

    def mended(
        self, ones: Iterable[Made], others: Callable[[Made], Iterable[Tensor]]
    ) -> Iterator[tuple[Made, Tensor]]:
        """Yield the tensors in whose place another makes the results right."""
        for one in ones:
            if len(one.inputs) == 1 and one.place == one.inputs[0].place:
                before = one.inputs[0].value
                if before.shape == one.value.shape and torch.equal(before, one.value):
                    continue  # it only repeats its input
            other = self.mend(one, others(one))
            if other is not None:
                yield one, other

    def any_known(self, one: Made) -> list[Tensor]:
        return self.known.constants if one.constant else self.known.first_class

    def mend(self, one: Made, others: Iterable[Tensor]) -> Tensor | None:
        """Return the first tensor that makes the results right in another's place."""
        for other in others:
            if work.now() > self.end:
                return None
            values = self.replayed(one, other)
            given = [values.get(each, each.value) for each in self.got]
            if any(all(map(agree, right, given)) for right in self.rights):
                return other
        return None

    def replayed(self, start: Made, other: Tensor) -> dict[Made, Tensor]:
        """Return the tensors that change with another in the place of one."""
        changed = {start: other}
        for one in self.run.made[self.order[start] + 1 :]:
            if one.call and any(each in changed for each in one.inputs):
                try:
                    changed[one] = again(one, changed)
                except CannotBeDone:
                    return {}
        return changed

    def first_of_views(self, one: Made, other: Tensor) -> Made:
        """Return the tensor of which one is a view, unless its layout was wrong."""
        numbers = [sorted(each.reshape(-1).tolist()) for each in (one.value, other)]
        if numbers[0] == numbers[1]:
            return one
        for root in list(self.roots(one))[1:]:
            if root.place and self.mend(root, self.instead_of(root)) is not None:
                one = root
        return one

    def place_of(self, one: Made) -> CodeSite | None:
        """Return the place of a wrong operation, or of a wrong input of it."""
        found = self.repaired(one, lambda tensor: self.is_right(tensor, one.rough))
        repaired = sorted(found, key=lambda pair: self.is_cleared(pair[0]))
        for given, other in repaired:
            place = (
                self.place_of_layout(given, other)
                or self.place_within(given, other)
                or self.place_of_input(given, one)
            )
            if place:
                return place
        for root in (root for given, _ in repaired for root in self.roots(given)):
            if one.place and one.place.of_argument(root.identity) is not one.place:
                return one.place.of_argument(root.identity)
        if any(self.pieces_repaired(one)):
            return one.inputs[0].place or one.place
        inputs = [each for each in one.inputs if not each.constant]
        if inputs and not any(map(self.is_cleared, inputs)):
            return self.place_of(inputs[0])
        return self.place_of_value(one) or one.place

    def place_of_value(self, one: Made) -> CodeSite | None:
        """Return where a number was set with which an operation is wrong."""
        whole = place_of_whole(one, lambda tensor: self.is_right(tensor, one.rough))
        return whole or place_of_number(one)

    def place_within(self, one: Made, wanted: Tensor) -> CodeSite | None:
        """Return the place of a wrong ancestor that makes a tensor the wrong one."""
        passed = False
        for _ in range(DEEPEST):
            agrees = partial(agree, wanted)
            found = next(self.repaired(one, agrees, in_shape=True), None)
            if found is None:
                break
            passed |= not one.is_view and len(one.inputs) > 1
            one, wanted = found
        if not passed or one.place is None:
            return None
        if one.constant:
            return self.place_of_constant(one)
        return one.place if one not in self.good else None

    def place_of_constant(self, one: Made) -> CodeSite | None:
        """Return where a mask was made, or its first ancestor that is wrong."""
        while True:
            wrong = [
                each
                for each in one.inputs
                if each.place
                and len(np.unique(self.arrays[each])) > 1
                and self.known.find(self.arrays[each]) != "same"
            ]
            if len(wrong) != 1:
                return one.place
            one = wrong[0]

    def place_of_layout(self, given: Made, other: Tensor) -> CodeSite | None:
        """Return where a tensor got its shape, if its numbers are in a wrong order."""
        if given.constant or not permuted(given.value, other):
            return None
        turned = [one for one in self.views(given) if one.is_view]
        place = turned[-1].place if turned else None
        return place_of_shape(place) if place else None

    def pieces_repaired(self, one: Made) -> Iterator[bool]:
        """Yield whether a wrong concatenation is right with other inputs."""
        if one.call is None or one.operation not in ("cat", "stack"):
            return
        function, args, _ = one.call
        pieces = [each.value for each in args[0]]
        for axis in range(pieces[0].ndim):
            with suppress(Exception):
                if self.known.find(numbers_of(function(pieces, axis))):
                    return
        for other in self.known.first_class:
            for axis in range(other.ndim):
                with suppress(Exception):
                    joined = function(other.chunk(len(pieces), axis), *args[1:])
                    yield self.is_right(joined, False)

    def place_of_input(self, given: Made, user: Made) -> CodeSite | None:
        """Return where a wrong input was made; None if it is right and was mistaken."""
        if not given.constant and given not in self.cleared and given.call:
            return self.place_of(given)
        others = [each for each in parts_of(user.call, Made) if each is not given]
        others_from = {root for each in others for root in self.roots(each)}
        found, path = None, [*self.roots(given)]
        for root in path:
            if root.place is None or root in others_from:
                break
            ends = self.is_used_well(root, user) or self.known_as_whole(root)
            if ends and self.is_cleared(root):
                break
            found = root.place
        named = self.line_of_name(path, user)
        return named or (found if found != user.place else None)

    def line_of_name(self, path: list[Made], user: Made) -> CodeSite | None:
        """Return the line in which the name of an input was set to another name."""
        place = user.place
        if place is None:
            return None
        identities = {one.identity for one in path}
        given = path[-1].operation == "given" and not path[-1].constant
        kinds = (ast.Name, ast.Subscript) if given else ast.Name
        for name in names_in(place.node):
            if place.tensors.get(name) in identities:
                found = place.last_value(name, unpacked=given)
                if isinstance(found, kinds):
                    return replace(place, line=found.lineno)
        return None

    def place_of_return(self) -> CodeSite | None:
        """Return the place of the last step, or of a `return` of the wrong thing."""
        placed = [one.place for one in self.run.made if one.place]
        if not placed or not self.got:
            return None
        last = [*placed[-1].frames()][-1]
        line = line_of_return(last)
        return replace(last, line=line) if line else last
