"""The line at which a wrong program leaves the way of the right ones."""

import ast
import itertools
import linecache
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mygpt.check.crashes.place import parsed
from mygpt.check.stages.match import MASKED, ROUGH, Pool, numbers_of, size_of
from mygpt.check.stages.record import Made, Place, Run, parts_of

# Operations that are done again with other tensors: each checks what it is given.
SAFE = re.compile(
    r"_?(unsafe_)?view|reshape|expand|transpose|t|permute|(un)?squeeze|slice|select|alias|"
    r"clone|detach|unbind|cat|stack|add|sub|rsub|mul|div|pow|neg|abs|exp|log|sqrt|rsqrt|"
    r"reciprocal|tanh|erf|sigmoid|relu|gelu|sin|cos|sum|mean|amax|amin|cumsum|mm|bmm|"
    r"addmm|mv|dot|masked_fill|where|_softmax|_log_softmax|logsumexp|tril|triu|gather|"
    r"argmax|index|scatter|_to_copy|ge|gt|le|lt|eq|logical_not|bitwise_not"
)
TRIES = 300  # of tensors put in the place of one
SECONDS = 0.3  # of processor time for all of them in one run
FEW = 3  # different numbers that agree by chance


class Blame:
    """One run of a wrong program, judged by what right programs make.

    known: all that these make; `has_like` of it is what may be a matter of style.
    """

    def __init__(self, run: Run, known: Pool, results: list[list[Tensor]]) -> None:
        self.run, self.known, self.results = run, known, results
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

    def place(self) -> Place | None:
        """Return where the mistake is, as far as the run shows it."""
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
        if one.constant or id(one) not in self.good:
            return line_of_number(one) or one.place
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
            around = {each.code for each in frames_of(users[0].place)}
            for each in frames_of(one.place):
                if each.code in around:
                    return each
        return one.place

    def is_result(self, one: Made) -> bool:
        return any(
            one in self.roots(each) for given in self.run.results for each in given
        )

    def place_of_use(self, given: Made) -> Place | None:
        """Return where an argument is first used for something that is not right."""
        for one in self.run.made:
            if given in one.inputs and one.place:
                named = self.line_of_name([given], one)
                return named or one.place.of_argument(given.identity)
        return None

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
        self,
        one: Made,
        other: Tensor,
        got: list[Made],
        rights: list[list[Tensor]],
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
            if not SAFE.fullmatch(one.operation):
                return {}
            function, args, kwargs = one.call
            try:
                result = function(*put(args, changed), **put(kwargs, changed))
            except Exception:
                return {}
            if isinstance(result, tuple | list):
                return {}
            changed[id(one)] = result
        return changed

    def place_of(self, one: Made) -> Place | None:
        """Return the place of a wrong operation, or of what it was wrongly given."""
        repaired = sorted(self.repaired(one), key=self.is_cleared)
        for given in repaired:
            if found := self.place_of_input(given, one):
                return found
        for root in (root for given in repaired for root in self.roots(given)):
            if one.place and one.place.of_argument(root.identity) is not one.place:
                return one.place.of_argument(root.identity)
        if any(self.pieces_repaired(one)):
            return one.inputs[0].place or one.place
        inputs = [each for each in one.inputs if not each.constant]
        if inputs and not any(map(self.is_cleared, inputs)):
            return self.place_of(inputs[0])
        return line_of_number(one) or one.place

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

    def is_cleared(self, one: Made) -> bool:
        return id(one) in self.cleared and not one.constant

    def repaired(self, one: Made) -> Iterator[Made]:
        """Yield the inputs in whose place another tensor makes a result right."""
        if one.call is None or not SAFE.fullmatch(one.operation):
            return
        function, args, kwargs = one.call
        for given in dict.fromkeys(parts_of((args, kwargs), Made)):
            others = itertools.chain(self.instead_of(given), self.of_kind(given))
            for other in itertools.islice(others, TRIES):
                try:
                    instead = {id(given): other}
                    result = function(*put(args, instead), **put(kwargs, instead))
                except Exception:
                    continue
                if isinstance(result, tuple | list):
                    result = result[0]
                array = numbers_of(result)
                if tells(array) and self.known.find(array, one.rough):
                    yield given
                    break

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
            if not self.is_constant_or_bad(root) and self.is_used_well(root, user):
                break
            found = root.place
        named = self.line_of_name(path, user)
        return named or (found if found != user.place else None)

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

    def line_of_name(self, path: list[Made], user: Made) -> Place | None:
        """Return the line in which the name of an input was set to another name."""
        place = user.place
        if place is None:
            return None
        identities = {one.identity for one in path}
        for name in names_at(place):
            if place.tensors.get(name) not in identities:
                continue
            found = assignment(place, name)
            if found and isinstance(found.value, ast.Name | ast.Tuple):
                if isinstance(found.value, ast.Tuple):
                    continue
                return replace(place, line=found.value.lineno)
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


def put(value: Any, instead: dict[int, Tensor]) -> Any:
    """Put tensors back in the places of what stands for them, some of them others."""
    if isinstance(value, Made):
        return instead.get(id(value), value.value).clone()
    if isinstance(value, list):
        return [put(part, instead) for part in value]
    if isinstance(value, dict):
        return {name: put(part, instead) for name, part in value.items()}
    return value


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


# What the text tells


def tree_at(place: Place) -> ast.AST:
    return parsed("".join(linecache.getlines(place.file)))


def function_at(place: Place) -> ast.AST:
    """Return the innermost function around a line, or the whole file."""
    tree = tree_at(place)
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.Lambda)
        and node.lineno <= place.line <= (node.end_lineno or node.lineno)
    ]
    return around[-1] if around else tree


def names_at(place: Place) -> list[str]:
    """Return the names in the expression at which a program was."""
    span = list(place.code.co_positions())[place.instruction // 2]
    for node in ast.walk(function_at(place)):
        here = tuple(
            getattr(node, name, None)
            for name in ("lineno", "end_lineno", "col_offset", "end_col_offset")
        )
        if here == span:
            return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    return []


@dataclass(frozen=True)
class Assignment:
    """The expression to which a name was set."""

    value: ast.expr

    @cached_property
    def computes(self) -> bool:
        kinds = (ast.BinOp, ast.Call)
        return any(isinstance(part, kinds) for part in ast.walk(self.value))


def assignment(place: Place, name: str) -> Assignment | None:
    """Return the last assignment of a name above a line of its function."""
    found = [
        value
        for node in ast.walk(function_at(place))
        if isinstance(node, ast.Assign) and node.lineno < place.line
        for target in node.targets
        for part, value in paired(target, node.value)
        if isinstance(part, ast.Name) and part.id == name
    ]
    return Assignment(max(found, key=lambda value: value.lineno)) if found else None


def paired(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def line_of_number(one: Made) -> Place | None:
    """Return the line in which a decimal number that is used was computed."""
    place = one.place
    if place is None or one.call is None:
        return None
    for name in names_at(place):
        if name not in place.numbers:
            continue
        if found := assignment(place, name):
            return replace(place, line=found.value.lineno)
        if name in place.code.co_varnames[: place.code.co_argcount] and place.outer:
            return place.outer
    return None


def line_of_return(place: Place) -> int | None:
    lines = [
        node.lineno
        for node in ast.walk(function_at(place))
        if isinstance(node, ast.Return)
    ]
    return max(lines, default=None)
