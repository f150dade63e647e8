"""Mistakes that no task lists: those of its parts, and two at once.

Most wrong programs of a catalogue are a `functools.partial` of the right program, with
some of its pieces replaced. Two that replace different pieces make a third.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from mygpt.check.task import Mistake, Program, Task

MOST = 1000  # pairs that are tried
SECONDS = 1.0  # of processor time for all that is tried here


def unlisted_mistake(
    task: Task, fits: Callable[[Program], bool], pairs: bool = True
) -> Mistake | None:
    """Return the first mistake that fits, of the task's parts or two at once."""
    end = time.process_time() + SECONDS
    for mistake in itertools.chain(of_parts(task), two_at_once(task) if pairs else ()):
        if fits(mistake.program):
            return mistake
        if time.process_time() > end:
            break
    return None


@cache
def of_parts(task: Task) -> Sequence[Mistake]:
    return (*exchanged(task), *task.more())


def exchanged(task: Task) -> Iterator[Mistake]:
    """Make mistakes of a right result whose parts stand in another order."""
    for form, right in {"": task.reference, **task.forms}.items():
        for order in list(itertools.permutations(range(len(task.parts))))[1:]:
            parts = ", ".join(task.parts[i] for i in order)
            yield Mistake(
                "parts-exchanged",
                f"the results are returned in the order ({parts})",
                partial(in_order, right, order),
                form,
            )


def in_order(right: Program, order: Sequence[int], /, *given: Any) -> tuple:
    result = right(*given)
    return tuple(result[i] for i in order)


@cache
def two_at_once(task: Task) -> Sequence[Mistake]:
    """Make pairs, those of each piece's first mistakes first."""
    mistakes = [*task.mistakes, *of_parts(task)]
    return tuple(itertools.islice(pairs(in_turn(mistakes)), MOST))


def in_turn(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Sort what has pieces: the first mistake of each piece, each one's second, …"""
    before: Counter = Counter()
    ranked = []
    for each in mistakes:
        if isinstance(each.program, partial):
            piece = (each.form, *sorted(each.program.keywords))
            ranked.append((before[piece], each))
            before[piece] += 1
    return [each for _, each in sorted(ranked, key=lambda pair: pair[0])]


def pairs(mistakes: Sequence[Mistake]) -> Iterator[Mistake]:
    for total in range(1, 2 * len(mistakes)):
        for i in range(max(0, total - len(mistakes) + 1), (total + 1) // 2):
            first, second = mistakes[i], mistakes[total - i]
            program = merged(first.program, second.program)
            if program is None or first.form != second.form:
                continue
            yield Mistake(
                f"{first.name}+{second.name}",
                f"{first.text}, and besides {second.text}",
                program,
                first.form,
            )


def merged(a: Any, b: Any) -> Any:
    """Return what has the pieces of both, or None if they replace the same piece."""
    if isinstance(a, partial) and isinstance(b, partial):
        if a.func is not b.func or a.args != b.args:
            return None
        pieces = merged(a.keywords, b.keywords)
        return None if pieces is None else partial(a.func, *a.args, **pieces)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        both = {**a, **b}
        for name in a.keys() & b.keys():
            both[name] = merged(a[name], b[name])
            if both[name] is None:
                return None
        return both
    return a if a is b else None


def lifted(
    mistakes: Sequence[Mistake], whole: Callable[[Program], Program], where: str
) -> list[Mistake]:
    """Make mistakes of a whole from those of a part; `where` is "in the" part."""
    return [
        replace(each, text=placed(each.text, where), program=whole(each.program))
        for each in mistakes
    ]


def placed(text: str, where: str) -> str:
    """Add to a mistake's text where it lies: "(in the norms of the blocks)"."""
    if text.endswith(")") and " (in " in text:
        return f"{text[:-1]} of {where.removeprefix('in ')})"
    return f"{text} ({where})"
