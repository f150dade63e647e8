"""The search that writes pieces of the right program in the place of the reader's.

Where a mistake has a name its pieces come first, two of them where it is two mistakes;
where it has none, those of the task come after the likely edits.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import combinations, product

from mygpt.check.mends.shift import Shift
from mygpt.check.mends.source import (
    Edit,
    EditableSource,
    Mend,
    Priced,
    SourceText,
    neighbours,
)
from mygpt.check.mends.spellings import Written
from mygpt.check.mends.trial import Trial
from mygpt.check.mends.values_by_name import Moments, watching

# Shares of the work that are done afterwards, and that some parts have at most.
SMALLEST, NAMED, UNNAMED = 0.2, 0.4, 0.6
SMALLER, SLOT = 0.15, 0.15  # of each edit that may be smaller, and where none is named
SEVERAL, JOINED = 0.2, 0.65  # where two mistakes are named: one edit, and two
SMALL = 1.7  # the cost of edits that are tried before and after a piece
LISTED, LISTED_AGAIN = 0.6, 0.15  # work in which edits are listed: first, of a pair
FAILING = 2  # probes on which names are watched
MOST = 150  # edits of each of two mistakes


def named(trial: Trial, written: Written) -> Iterator[Mend | None]:
    """Try the pieces of the mistake that is named: one, then one of each.

    A smaller edit is better, so the smallest come before, and others of the same
    lines afterwards.
    """
    if not written.named:
        return
    if not written.several:
        yield from trial.until(SMALLEST, trial.singles(smallest(trial)))
    edits = in_order(trial, written)
    share = SEVERAL if written.several else NAMED
    for found in trial.until(share, trial.singles(edits)):
        yield found and smaller(trial, found)
    if written.several:
        for found in trial.until(JOINED, both(trial, edits)):
            yield found and smaller(trial, found)


def unnamed(trial: Trial, written: Written) -> Iterator[Mend | None]:
    """Try all pieces of the task, if no mistake is named."""
    spent = trial.spent
    if not written.named and spent <= UNNAMED:
        edits = in_order(trial, written)
        yield from trial.until(min(spent + SLOT, UNNAMED), trial.singles(edits))


def smallest(trial: Trial) -> list[Priced]:
    """The edits of a word or a sign near the line."""
    source, line, lines = trial.source, trial.line, trial.lines
    if line is not None:
        lines = lines & neighbours(source.tree, line)
    found = trial.ranked(trial.edits(source, lines), source, line)
    return [pair for pair in found if pair[0] <= SMALL]


def both(trial: Trial, edits: Iterable[Priced]) -> Iterator[Mend | None]:
    """Try an edit of each of two mistakes, without those that let a program fail."""
    failing = {one.edit for one in trial.log if one.outcome and one.outcome.error}
    running = (edit for _, edit in edits if edit not in failing)
    for first, second in joined(running, trial.source.text):
        with suppress(SyntaxError):
            if trial.passes(trial.source.edited(first), second):
                yield trial.mend_of(first, second)
                return
        yield None


def smaller(trial: Trial, mend: Mend) -> Mend:
    """Try usual edits in place of those of a mend, at their lines."""
    edits, text = list(mend.edits), trial.source.text
    for number in reversed(range(len(edits))):
        end = trial.spent + SMALLER
        edit, others = edits[number], edits[:number] + edits[number + 1 :]
        if others and not number:
            others = [Shift(text, edit).back(others[0])]
        source = trial.source.edited(others[0]) if others else trial.source
        usual = trial.edits(source, {edit.line})
        for rank, each in trial.ranked(usual, source, edit.line):
            if trial.spent > end or rank > SMALL:
                break
            known = each.applied(source.text.text) == mend.text
            if known or trial.passes(source, each):
                edits[number] = each
                if others and not number:
                    edits[1] = Shift(text, each).after(others[0])
                break
    return trial.mend_of(*edits)


def in_order(trial: Trial, written: Written) -> list[Priced]:
    """The pieces for the reader's source; a line counts half of what it does else."""
    cost = trial.costs(trial.source, trial.line)
    edits = edits_of(trial, written, trial.source, trial.line, LISTED)
    found = [(2 * edit.cost + cost(edit.line), edit) for edit in edits]
    return sorted(found, key=lambda pair: pair[0])


def edits_of(
    trial: Trial,
    written: Written,
    source: EditableSource,
    line: int | None,
    seconds: float = LISTED_AGAIN,
) -> list[Edit]:
    """List the pieces for a source, up to some work."""
    moments = moments_of(trial, source)
    return list(written.edits(source, line, trial.lines, moments, seconds))


def moments_of(trial: Trial, source: EditableSource) -> Moments:
    """What the names of a source stand for on probes that fail."""
    found = Moments(trial.name, trial.around)
    program = trial.made(source)
    if program is not None:
        for i in (trial.wrong or trial.order)[:FAILING]:
            seen = watching(source.file, found.see)
            with seen:
                trial.outcome(program, i)
    return found


def joined(edits: Iterable[Edit], text: SourceText) -> Iterator[tuple[Edit, Edit]]:
    """Yield edits of two kinds, each in the text before it, the likeliest first.

    edits: in order.
    """
    kinds: dict[str, list[Edit]] = {}
    for edit in edits:
        kinds.setdefault(edit.kind, []).append(edit)
    found = [
        (i + j, one, other)
        for some, others in combinations(kinds.values(), 2)
        for (i, one), (j, other) in product(
            enumerate(some[:MOST]), enumerate(others[:MOST])
        )
    ]
    found.sort(key=lambda each: each[0])
    for _, *pair in found:
        first, second = sorted(pair, key=lambda edit: (edit.start, edit.end))
        if first.end <= second.start:
            yield first, Shift(text, first).after(second)
