"""A small change of a text."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """A replacement in a source.

    start, end: characters of the text; new: what comes in their place.
    line: from 1, where the reader looks for it.
    kind: completes "Line 7 is the only thing wrong: …".
    cost: how unlikely it is that this is meant; the least is tried first.
    """

    start: int
    end: int
    new: str
    line: int
    kind: str
    cost: float

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


Priced = tuple[float, Edit]  # with what it costs where it is


class Text:
    """A source with the offsets of its lines, in characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [f"{line}\n" for line in text.split("\n")]
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        """The offset of a line from 1 and a column from 0, in characters."""
        return min(self.starts[line - 1] + column, len(self.text))

    def at_bytes(self, line: int, column: int) -> int:
        """The same, of a column in bytes of UTF-8, as a syntax tree counts them."""
        row = self.lines[line - 1]
        if not row.isascii():
            column = len(row.encode()[:column].decode())
        return self.starts[line - 1] + column

    def span(self, node) -> tuple[int, int]:
        """The offsets of a node of a syntax tree."""
        return (
            self.at_bytes(node.lineno, node.col_offset),
            self.at_bytes(node.end_lineno, node.end_col_offset),
        )

    def of(self, node) -> str:
        start, end = self.span(node)
        return self.text[start:end]
