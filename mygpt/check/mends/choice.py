"""Which edit is told where several make a program right, and how sure it is."""

import ast
from collections import Counter
from contextlib import suppress
from dataclasses import replace

from mygpt.check.mends.names import (
    ASSIGNED,
    bound_names,
    lines_that_make,
    names_loaded,
    names_read,
)
from mygpt.check.mends.sentences import idle
from mygpt.check.mends.shift import Shift
from mygpt.check.mends.source import Edit, Mend, SourceText, statements_of
from mygpt.check.mends.statements import TARGETS
from mygpt.check.mends.trial import Trial

LIKELY = 1.8  # the cost up to which an edit of another line speaks against the first
SHARE = 0.15  # of the work of the search is for these
MADE = (  # kinds of edits of the line that gives a name its value
    "a number in it",
    "one that should be True",
    "one that should be False",
    TARGETS,
)
DEARER = 0.6  # what an edit may cost more that only leaves something out,
MAKES = 1.0  # and one of the number that the line reads
MOST = 40  # that are tried in place of one of two


def chosen(trial: Trial, mend: Mend) -> Mend:
    """Return the mend that reads best; note whether other lines have one, too.

    The number that a line reads comes before the line, and what leaves something out
    before what puts something in its place. If an edit leaves a name without use, the
    line that gives the name its value is told.
    """
    if len(mend.edits) > 1:
        return replace(chosen_pair(trial, mend), alone=False)
    (first,), source = mend.edits, trial.source
    makers = lines_that_make(source.tree, first.line)
    found, best, others = [], first, False
    end = trial.spent + SHARE

    def order(edit: Edit) -> tuple[bool, float]:
        near = edit.line == first.line and edit.cost <= first.cost + DEARER
        return not (near or edit.line in makers), edit.cost

    tried = [each for each in trial.cheap if each.cost <= most(each, makers)]
    for edit in sorted(tried, key=order):
        if others := trial.spent > end:
            break
        if trial.passes(source, edit):
            found.append(edit)
    for edit in found:
        makes = edit.line in makers - {best.line} and edit.kind in MADE
        if makes and edit.cost <= first.cost + MAKES:
            best = edit
        elif edit.line == best.line and edit.longer < 0 <= best.longer:
            best = edit if edit.cost <= best.cost + DEARER else best
    lines = {best.line, *makers} if best is not first else {best.line}
    others = others or any(edit.line not in lines for edit in (first, *found))
    unused = left_unused(trial, best) or unpacked(trial, best)
    return replace(trial.mend_of(best), alone=not (others or unused), unused=unused)


def chosen_pair(trial: Trial, mend: Mend) -> Mend:
    """Return a mend of two edits, of which each changes what its line reads, if it can.

    A line that is changed comes before the same line once more.
    """
    text, first = trial.source.text, mend.edits[0]
    second = Shift(text, first).before(mend.edits[1])
    pair = [first, second]
    if second is None:
        return mend
    for k in (0, 1):
        kept, old = pair[1 - k], pair[k]
        source, shift = trial.source.edited(kept), Shift(text, kept)
        for edit in instead(trial, old):
            elsewhere = shift.elsewhere(edit)
            if elsewhere and trial.passes(source, elsewhere):
                pair[k] = edit
                break
    last = Shift(text, pair[0]).elsewhere(pair[1])
    return trial.mend_of(pair[0], last) if last and pair != [first, second] else mend


def instead(trial: Trial, old: Edit) -> list[Edit]:
    """The edits, up to some, that are tried in place of one of two."""
    makers = lines_that_make(trial.source.tree, old.line)
    text, added = trial.source.text, old.new.strip() if "\n" in old.new else None
    found = [
        each
        for each in trial.cheap
        if (each.line in makers and each.kind in MADE)
        or ("\n" not in each.new and line_of(text, each) == added)
    ]
    return sorted(found, key=lambda each: each.cost)[:MOST]


def line_of(text: SourceText, edit: Edit) -> str:
    """The line of an edit, as the edit leaves it."""
    start, end = text.at(edit.line, 0), text.at(edit.line + 1, 0)
    inside = start <= edit.start and edit.end < end
    return text.changed(start, end, [(edit.start, edit.end, edit.new)]).strip() * inside


def most(edit: Edit, makers: set[int]) -> float:
    """The cost up to which an edit is tried."""
    makes = edit.line in makers and edit.kind in MADE
    return LIKELY + MAKES * makes


def left_unused(trial: Trial, edit: Edit) -> tuple[str, int] | None:
    """Return a name that nothing reads any more with an edit, and where it is set.

    None where an edit only leaves something out.
    """
    before = trial.source.tree
    after = ast.parse(edit.applied(trial.source.text.text))
    if count_nodes(after) < count_nodes(before) - 1:
        return None
    if is_sum(trial.source.text.text[edit.start : edit.end]):
        return None  # the names in it may be right
    gone = {*names_loaded(before)} - {*names_loaded(after)}
    for one, own in statements_of(before):
        names = gone & {*bound_names(one)} if isinstance(one, ASSIGNED) else set()
        others = {*bound_names(one)} - names if names else set()
        part = not others or edit.new in others  # of several: another part of the same
        computed = part and names and [*names_read(one)]  # not a number alone
        if computed and edit.line not in own:
            return min(names), min(own)
    return None


def is_sum(text: str) -> bool:
    """Whether a text is a sum, a difference, a product or a quotient."""
    with suppress(SyntaxError):
        match ast.parse(text, mode="eval").body:
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                return True
    return False


def unpacked(trial: Trial, edit: Edit) -> tuple[str, int] | None:
    """Return two names that an edit exchanges, where one call gives both; its line."""
    if edit.kind != "the order of two names in it":
        return None
    for one, own in statements_of(trial.source.tree):
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call):
            names = [name for name in bound_names(one) if name in edit.new]
            if len(names) == 2 and edit.line not in own:
                return "`, `".join(names), min(own)
    return None


def goes_around(mend: Mend) -> bool:
    """Whether edits may leave the mistakes where they are, or read oddly.

    Of two nothing reads some name any more then, a line stands there once more, or the
    second changes what the first has written. One writes a long expression twice.
    """
    first, *more = mend.edits
    for edit in mend.edits:
        long = (ast.unparse(one) for one in calls_in(edit.new))
        if max(Counter(long).values(), default=0) > 1:
            return True
    if not more:
        return False
    start, end = first.start, first.start + len(first.new)
    if start < more[0].end and more[0].start < end and "\n" in first.new:
        return True
    texts = (mend.texts[0], mend.text)
    before, after = (Counter(map(str.strip, one.split("\n"))) for one in texts)
    repeated = any(line in before for line in after - before if len(line) > 5)
    return repeated or bool(idle(mend))


def calls_in(text: str) -> list[ast.Call]:
    """The calls with arguments in a text; none where it is no expression."""
    with suppress(SyntaxError):
        every = ast.walk(ast.parse(text.strip()))
        return [one for one in every if isinstance(one, ast.Call) and len(one.args) > 1]
    return []


def count_nodes(tree: ast.AST) -> int:
    return sum(1 for _ in ast.walk(tree))
