"""Where an edit stands after another one."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mygpt.check.mends.source import Edit, Priced, SourceText


class Shift:
    """What a first edit of a text does to the places of others."""

    def __init__(self, text: SourceText, edit: Edit) -> None:
        self.edit = edit
        self.first = text.line_at(edit.start)
        self.last = self.first + text.text.count("\n", edit.start, edit.end)
        self.start, self.end = text.at(self.first, 0), text.at(self.last + 1, 0)
        self.longer = edit.longer
        self.more = edit.new.count("\n") - (self.last - self.first)

    def line(self, number: int) -> int | None:
        """Where a line is after it; None if it is another then."""
        if number < self.first:
            return number
        return number + self.more if number > self.last else None

    def elsewhere(self, edit: Edit) -> Edit | None:
        """Return an edit of other lines in the new text; None if it is in the same."""
        if edit.end <= self.start:
            return edit
        return None if edit.start < self.end else self.after(edit)

    def all_elsewhere(self, edits: Iterable[Priced]) -> Iterator[Priced]:
        for rank, edit in edits:
            if (moved := self.elsewhere(edit)) is not None:
                yield rank, moved

    def after(self, edit: Edit) -> Edit:
        """Return an edit of what stands behind, in the new text."""
        return moved(edit, self.longer, self.more)

    def back(self, edit: Edit) -> Edit:
        """Return an edit of what stands behind in the new text, in the old one."""
        return moved(edit, -self.longer, -self.more)

    def before(self, edit: Edit) -> Edit | None:
        """Return an edit of the new text in the old one; None if it edits the edit."""
        if edit.end <= self.edit.start:
            return edit
        behind = edit.start >= self.edit.start + len(self.edit.new)
        return self.back(edit) if behind else None


def moved(edit: Edit, characters: int, lines: int) -> Edit:
    start, end = edit.start + characters, edit.end + characters
    return replace(edit, start=start, end=end, line=edit.line + lines)
