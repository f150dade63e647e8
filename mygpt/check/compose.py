"""Wrong programs with two pieces replaced, made of those with one."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations

from mygpt.check.task import Mistake


def in_pairs(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """Yield two mistakes as one, where each replaces other pieces of one program.

    The pieces are the keywords of a `functools.partial`; a piece that both have in the
    same way, such as a form of GELU, is no obstacle.
    """
    made = [m for m in mistakes if isinstance(m.program, partial)]
    for one, other in combinations(made, 2):
        a, b = one.program, other.program
        if one.form != other.form or a.func is not b.func:
            continue
        if all(
            b.keywords.get(key, piece) is piece for key, piece in a.keywords.items()
        ):
            yield Mistake(
                f"{one.name}+{other.name}",
                both(one.text, other.text),
                partial(a.func, **a.keywords, **without(b.keywords, a.keywords)),
                one.form,
            )


def without(pieces: dict, others: dict) -> dict:
    return {key: piece for key, piece in pieces.items() if key not in others}


def both(one: str, other: str) -> str:
    """Join two half sentences that complete "This is what comes out when …"."""
    return f"{one}, and when {other}"
