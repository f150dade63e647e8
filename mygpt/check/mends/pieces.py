"""The search that writes pieces of the right program in the place of the reader's.

Where a mistake has a name its pieces come first, two of them where it is two mistakes;
where it has none, those of the task come after the likely edits.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING

from mygpt.check.mends.edit import Edit, Priced
from mygpt.check.mends.moments import Moments
from mygpt.check.mends.source import Source, neighbours
from mygpt.check.mends.written import Written
from mygpt.check.run import OutOfTime, run_once, time_limit

if TYPE_CHECKING:
    from mygpt.check.mends.search import Mend, Search

# Shares of the time that are gone afterwards, and that some parts have at most.
SMALLEST, NAMED, UNNAMED = 0.12, 0.35, 0.6
SMALLER, SLOT = 0.15, 0.15  # of each edit that may be smaller, and where none is named
SEVERAL, JOINED = 0.2, 0.65  # where two mistakes are named: one edit, and two
SMALL = 1.7  # the cost of edits that are tried before and after a piece
LISTED, LISTED_AGAIN = 0.6, 0.15  # seconds in which edits are listed: first, of a pair
FAILING = 2  # probes on which names are watched
MOST = 150  # edits of each of two mistakes


class Pieces:
    """The part of a search that knows how a right program is written."""

    def __init__(self, search: "Search", mistake: str | None) -> None:
        self.search = search
        self.written = Written(search.task, mistake)

    def named(self) -> "Mend | None":
        """Try the pieces of the mistake that is named: one, then one of each.

        A smaller edit is better, so the smallest come before, and others of the same
        lines afterwards.
        """
        if not self.written.named:
            return None
        search, text = self.search, self.search.source.text.text
        several = self.written.several
        if not several and (found := search.single(self.smallest(), SMALLEST)):
            return found
        edits = self.in_order()
        if found := search.single(edits, SEVERAL if several else NAMED):
            return self.smaller(found)
        failing = {one.edit for one in search.pairs.firsts if one.fails}
        running = (edit for _, edit in edits if edit not in failing)
        for first, second in joined(running, text) if several else ():
            if search.spent > JOINED:
                break
            with suppress(SyntaxError):
                if search.passes(search.source.edited(first), second):
                    return self.smaller(search.mend_of([first, second]))
        return None

    def smallest(self) -> list[Priced]:
        """The edits of a word or a sign near the line."""
        source, line = self.search.source, self.search.line
        lines = self.search.lines
        if line is not None:
            lines = lines & neighbours(source.tree, line)
        found = self.search.ranked(source.edits(lines, self.search.keys), source, line)
        return [pair for pair in found if pair[0] <= SMALL]

    def smaller(self, mend: "Mend") -> "Mend":
        """Try usual edits in place of those of a mend, at their lines."""
        search, edits = self.search, list(mend.edits)
        text = search.source.text.text
        for number in reversed(range(len(edits))):
            end = search.spent + SMALLER
            edit, others = edits[number], edits[:number] + edits[number + 1 :]
            if others and not number:
                others = [shifted(others[0], edit, text, -1)]
            source = search.source.edited(others[0]) if others else search.source
            usual = search.ranked(
                source.edits({edit.line}, search.keys), source, edit.line
            )
            for rank, each in usual:
                if search.spent > end or rank > SMALL:
                    break
                known = each.applied(source.text.text) == mend.text
                if known or search.passes(source, each):
                    edits[number] = each
                    if others and not number:
                        edits[1] = shifted(others[0], each, text)
                    break
        return search.mend_of(edits)

    def unnamed(self) -> "Mend | None":
        """Try all pieces of the task, if no mistake is named."""
        spent = self.search.spent
        if self.written.named or spent > UNNAMED:
            return None
        return self.search.single(self.in_order(), min(spent + SLOT, UNNAMED))

    def in_order(self) -> list[Priced]:
        """The edits of the reader's source; a line counts half of what it does else."""
        source, line = self.search.source, self.search.line
        cost = self.search.costs(source, line)
        edits = self.edits(source, line, LISTED)
        found = [(2 * edit.cost + cost(edit.line), edit) for edit in edits]
        return sorted(found, key=lambda pair: pair[0])

    def of_edited(self, source: Source, line: int | None) -> list[Edit]:
        """The edits of a source that is edited already."""
        if source is self.search.source:
            return []
        return self.edits(source, line, LISTED_AGAIN)

    def edits(self, source: Source, line: int | None, seconds: float) -> list[Edit]:
        moments = self.moments(source)
        return list(
            self.written.edits(source, line, self.search.lines, moments, seconds)
        )

    def moments(self, source: Source) -> Moments:
        """What the names of a source stand for on probes that fail."""
        search = self.search
        found = Moments(source.file, search.name, search.around)
        program = search.made(source, None)
        if program is not None:
            for i in (search.wrong or search.order)[:FAILING]:
                with found, suppress(Exception, OutOfTime), time_limit(1.0):
                    run_once(search.task, program, search.given[i], search.dtype)
        return found


def joined(edits: Iterable[Edit], text: str) -> Iterator[tuple[Edit, Edit]]:
    """Yield edits of two kinds, each in the text before it, the likeliest first.

    edits: in order.
    """
    kinds: dict[str, list[tuple[int, Edit]]] = {}
    for edit in edits:
        some = kinds.setdefault(edit.kind, [])
        if len(some) < MOST:
            some.append((len(some), edit))
    found = [
        (i + j, one, other)
        for some, others in combinations(kinds.values(), 2)
        for (i, one), (j, other) in product(some, others)
    ]
    found.sort(key=lambda each: each[0])
    for _, *pair in found:
        first, second = sorted(pair, key=lambda edit: (edit.start, edit.end))
        if first.end <= second.start:
            yield first, shifted(second, first, text)


def shifted(edit: Edit, first: Edit, text: str, sign: int = 1) -> Edit:
    """An edit in the text that an earlier one makes; with -1, back in the text."""
    old = text[first.start : first.end]
    moved = sign * (len(first.new) - len(old))
    lines = sign * (first.new.count("\n") - old.count("\n"))
    return replace(
        edit, start=edit.start + moved, end=edit.end + moved, line=edit.line + lines
    )
