"""The line at which a wrong program leaves the way of the right ones."""

import ast
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from mygpt.check.stages.again import VIEW, CannotBeDone, again
from mygpt.check.stages.judged import Judged, agree, permuted, tells
from mygpt.check.stages.match import numbers_of
from mygpt.check.stages.origins import place_of_number, place_of_shape, place_of_whole
from mygpt.check.stages.record import Made, Place, parts_of
from mygpt.check.stages.text import assignment, line_of_return, name_written, names_at

SECONDS = 0.3  # of processor time for all of them in one run
DEEPEST = 12  # steps back from what should have been another


class Blame(Judged):
    """The line at which a judged run leaves the way of the right ones.

    wanted: what should be in the place of a tensor that right programs make, too.
    """

    wanted: Tensor | None = None

    def place(self) -> Place | None:
        """Return where the mistake is, as far as the run shows it."""
        if written := self.place_of_writing():
            return written
        found = self.place_of_mistake()
        return self.outward(found) if found else None

    def place_of_writing(self) -> Place | None:
        """Return where an argument that is written to got another name."""
        for one in self.run.made:
            if not one.place or not one.operation.endswith("_") or not one.inputs:
                continue
            root = [*self.views(one.inputs[0])][-1]
            if root.operation == "given" and not root.constant:
                name = name_written(one.place)
                found = assignment(one.place, name) if name else None
                if found and not isinstance(found, ast.BinOp):
                    return replace(one.place, line=found.lineno)
                return one.place
        return None

    def outward(self, place: Place) -> Place:
        """Leave a function that does its work in another call, for its caller."""
        while place.outer and self.works_elsewhere(place):
            place = place.outer
        return place

    def works_elsewhere(self, place: Place) -> bool:
        """Whether what a line makes is right in another call of its function.

        The other call has the same whole numbers, and makes tensors of the same shapes:
        the mistake may be in their use.
        """
        at = place.code, place.instruction
        calls: dict[int, Place] = {}
        shapes: dict[int, set[torch.Size]] = {}
        for one in self.run.made:
            if one.constant or VIEW.fullmatch(one.operation):
                continue
            for each in frames_of(one.place):
                if (each.code, each.instruction) != at:
                    continue
                if each.frame == place.frame or id(one) in self.cleared:
                    calls[each.frame] = each
                    shapes.setdefault(each.frame, set()).add(one.value.shape)
        mine = shapes.get(place.frame, set())
        names = place.code.co_varnames[: place.code.co_argcount]
        return any(
            all(each.plain.get(name) == place.plain.get(name) for name in names)
            for each in calls.values()
            if each.frame != place.frame and mine & shapes[each.frame]
        )

    def place_of_mistake(self) -> Place | None:
        bad = [one for one in self.run.made if self.is_bad(one) and not one.constant]
        hard = [one for one in bad if not self.known.has_like(self.arrays[id(one)])]
        first = (hard or bad or [None])[0]
        one = self.to_replace(first)
        if one is None:
            return self.place_of(first) if first else self.place_of_return()
        if one.place is None:
            return self.place_of_use(one)
        if id(one) in self.good and self.is_result(one) and not self.users.get(id(one)):
            return self.place_of_return()
        if one.constant:
            return self.place_of_value(one) or self.place_of_constant(one)
        if id(one) not in self.good:
            return self.place_of_value(one) or one.place
        return self.place_of_forgotten(one)

    def place_of_forgotten(self, one: Made) -> Place | None:
        """Return where a right tensor was made that another should have followed.

        If that is in a function that did its work, then where this one was called; if
        it has been given another name since, then where.
        """
        users = [each for each in self.users.get(id(one), []) if each.place]
        for user in users:
            if named := self.line_of_name([one], user):
                return named
        if users:
            user = next(filter(self.goes_wrong, users), users[0])
            ends = self.is_ended(one)
            first, second = (user.place, one.place) if ends else (one.place, user.place)
            around = {each.frame for each in frames_of(second)}
            for each in frames_of(first):
                if each.frame in around:
                    return each
        return one.place

    def is_ended(self, one: Made) -> bool:
        """Whether what follows a tensor is wrong, rather than what made it."""
        assert self.wanted is not None
        if self.comes_after(one, self.wanted):
            return True
        return self.known_as_whole(one) and not self.of_one_stage(one, self.wanted)

    def goes_wrong(self, one: Made) -> bool:
        """Whether a tensor is wrong, or one of its views becomes so."""
        if self.is_bad(one) or not VIEW.fullmatch(one.operation):
            return self.is_bad(one)
        return any(self.goes_wrong(each) for each in self.users.get(id(one), []))

    def place_of_use(self, given: Made) -> Place | None:
        """Return where an argument is first used for something that is not right."""
        users = [one for one in self.run.made if given in one.inputs and one.place]
        if not users:
            return None
        user = next(filter(self.leads_astray, users), users[0])
        return self.line_of_name([given], user) or user.place.of_argument(
            given.identity
        )

    def leads_astray(self, one: Made) -> bool:
        """Whether a tensor is wrong, or what is made from it before a right one."""
        if self.is_bad(one):
            return True
        if id(one) in self.good:
            return False
        return any(self.leads_astray(each) for each in self.users.get(id(one), []))

    def to_replace(self, until: Made | None) -> Made | None:
        """Return the tensor in whose place another makes the results right.

        One that right programs make too, if a later step was forgotten or it was taken
        for another; else the first that they do not make, up to a given one.
        """
        got = [one for results in self.run.results for one in results]
        rights = [right for right in self.results if len(right) == len(got)]
        if not rights or not any(tells(numbers_of(one)) for one in rights[0]):
            return None
        self.end = time.process_time() + SECONDS
        numbers = {id(one): i for i, one in enumerate(self.run.made)}
        bad = [one for one in self.run.made if self.is_bad(one)]
        fed = {id(r): r for one in bad for each in one.inputs for r in self.roots(each)}
        right = [
            one
            for one in sorted(fed.values(), key=lambda one: -numbers[id(one)])
            if one.value.numel() and (id(one) in self.good or one.constant)
        ]
        last = numbers[id(until)] if until else -1
        wrong = [o for o in bad if not o.constant and numbers[id(o)] <= last]
        first = None
        for alike in (True, False):
            for one in self.without_repeats(right):
                other = self.mend(numbers[id(one)], one, got, rights, alike)
                if other is not None:
                    self.wanted = other
                    return self.first_of_views(one, other, got, rights)
            for one in self.without_repeats(wrong):
                if one is first:
                    break
                if self.mend(numbers[id(one)], one, got, rights, alike) is not None:
                    first = one
                    break
        return first

    def without_repeats(self, made: list[Made]) -> Iterator[Made]:
        """Leave out what is only another view of its input, in the same shape."""
        for one in made:
            if len(one.inputs) == 1 and one.place == one.inputs[0].place:
                before = one.inputs[0].value
                if before.shape == one.value.shape and torch.equal(before, one.value):
                    continue
            yield one

    def first_of_views(
        self, one: Made, other: Tensor, got: list[Made], rights: list[list[Tensor]]
    ) -> Made:
        """Return the tensor of which one is a view, unless its layout was wrong."""
        numbers = [sorted(each.reshape(-1).tolist()) for each in (one.value, other)]
        if numbers[0] == numbers[1]:
            return one
        for root in list(self.roots(one))[1:]:
            number = self.run.made.index(root)
            if root.place and self.mend(number, root, got, rights, True) is not None:
                one = root
        return one

    def mend(
        self,
        number: int,
        one: Made,
        got: list[Made],
        rights: list[list[Tensor]],
        alike: bool,
    ) -> Tensor | None:
        """Return a tensor that makes the results right in another's place."""
        others = self.known.constants if one.constant else self.known.first_class
        for other in self.instead_of(one) if alike else others:
            if time.process_time() > self.end:
                return None
            values = self.replayed(number, other)
            given = [values.get(id(each), each.value) for each in got]
            if any(all(map(agree, right, given)) for right in rights):
                return other
        return None

    def replayed(self, start: int, other: Tensor) -> dict[int, Tensor]:
        """Return what another tensor in one's place changes."""
        changed = {id(self.run.made[start]): other}
        for one in self.run.made[start + 1 :]:
            if one.call is None or not any(id(each) in changed for each in one.inputs):
                continue
            try:
                changed[id(one)] = again(one, changed)
            except CannotBeDone:
                return {}
        return changed

    def place_of(self, one: Made) -> Place | None:
        """Return the place of a wrong operation, or of what it was wrongly given."""
        repaired = sorted(self.repaired(one), key=lambda pair: self.is_cleared(pair[0]))
        for given, other in repaired:
            if found := self.place_of_layout(given, other):
                return found
            if found := self.place_within(given, other):
                return found
            if found := self.place_of_input(given, one):
                return found
        for root in (root for given, _ in repaired for root in self.roots(given)):
            if one.place and one.place.of_argument(root.identity) is not one.place:
                return one.place.of_argument(root.identity)
        if any(self.pieces_repaired(one)):
            return one.inputs[0].place or one.place
        inputs = [each for each in one.inputs if not each.constant]
        if inputs and not any(map(self.is_cleared, inputs)):
            return self.place_of(inputs[0])
        return self.place_of_value(one) or one.place

    def place_of_value(self, one: Made) -> Place | None:
        """Return where a number was set with which an operation is wrong."""
        whole = place_of_whole(one, lambda tensor: self.is_right(tensor, one.rough))
        return whole or place_of_number(one)

    def place_within(self, one: Made, wanted: Tensor) -> Place | None:
        """Return where a tensor should have been another, if what it is made from."""
        passed = False
        for _ in range(DEEPEST):
            found = self.wrong_input(one, wanted)
            if found is None:
                break
            passed |= not VIEW.fullmatch(one.operation) and len(one.inputs) > 1
            one, wanted = found
        if not passed or one.place is None:
            return None
        if one.constant:
            return self.place_of_constant(one)
        return one.place if id(one) not in self.good else None

    def place_of_constant(self, one: Made) -> Place | None:
        """Return where a mask was made, if what it is made from is wrong already."""
        while len(one.inputs) == 1:
            before = one.inputs[0]
            array = self.arrays[id(before)]
            uniform = len(np.unique(array)) < 2
            if not before.place or uniform or self.known.find(array) == "same":
                break
            one = before
        return one.place

    def place_of_layout(self, given: Made, other: Tensor) -> Place | None:
        """Return where a tensor got its shape, if its numbers are in a wrong order."""
        if given.constant or not permuted(given.value, other):
            return None
        turned = [one for one in self.views(given) if VIEW.fullmatch(one.operation)]
        place = turned[-1].place if turned else None
        return place_of_shape(place) if place else None

    def pieces_repaired(self, one: Made) -> Iterator[bool]:
        """Say whether a wrong joining of tensors is right with others."""
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
                    array = numbers_of(joined)
                    yield tells(array) and bool(self.known.find(array))

    def place_of_input(self, given: Made, user: Made) -> Place | None:
        """Return where a wrong input was made; None if it is right and was mistaken."""
        others = [each for each in parts_of(user.call, Made) if each is not given]
        others_from = {id(root) for each in others for root in self.roots(each)}
        found, path = None, [*self.roots(given)]
        if not given.constant and id(given) not in self.cleared and given.call:
            return self.place_of(given)
        for root in path:
            if root.place is None or id(root) in others_from:
                break
            ends = self.is_used_well(root, user) or self.known_as_whole(root)
            if ends and not self.is_constant_or_bad(root):
                break
            found = root.place
        named = self.line_of_name(path, user)
        return named or (found if found != user.place else None)

    def line_of_name(self, path: list[Made], user: Made) -> Place | None:
        """Return the line in which the name of an input was set to another name."""
        place = user.place
        if place is None:
            return None
        identities = {one.identity for one in path}
        for name in names_at(place):
            if place.tensors.get(name) not in identities:
                continue
            given = path[-1].operation == "given" and not path[-1].constant
            kinds = (ast.Name, ast.Subscript) if given else ast.Name
            found = assignment(place, name, unpacked=given)
            if isinstance(found, kinds):
                return replace(place, line=found.lineno)
        return None

    def place_of_return(self) -> Place | None:
        """Return the place of the last step, or of a `return` of the wrong thing."""
        results = [one for results in self.run.results for one in results]
        placed = [one for one in self.run.made if one.place]
        if not placed or not results:
            return None
        last = placed[-1].place
        assert last is not None
        last = [*frames_of(last)][-1]
        line = line_of_return(last)
        return replace(last, line=line) if line else last


def frames_of(place: Place | None) -> Iterator[Place]:
    """Yield a place, where its function was called, and so on."""
    while place:
        yield place
        place = place.outer
