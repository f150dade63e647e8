"""The text of a cell in plain Markdown, block by block."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from publish.plain.labels import EXERCISES
from publish.plain.marks import Block, NotPlain, bare, blocks
from publish.plain.words import Words, anchor

FOLDED = "dropdown"
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
PICTURE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<path>[^)\s]+)\)")


@dataclass
class Cell:
    """Markdown of a new cell. pictures: their paths. folds: a heading, what follows."""

    parts: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    folds: bool = False


class Text:
    """Writes the text cells of one notebook, from the first to the last.

    solution: the number of the exercise whose solution goes on from cell to cell, a
    folded section of its own, which the next heading ends.
    """

    def __init__(self, words: Words):
        self.words = words
        self.solution = ""
        self.part = 0
        self.ended = False  # a solution, and no heading has followed

    def cells(self, source: str) -> list[Cell]:
        """The cells that a cell's source becomes."""
        made = [Cell()]
        held: list[str] = []  # of a solution
        for block in blocks(source):
            name = block.name if block.kind == "directive" else block.kind
            if name == "solution-start":
                self.solution = self.words.place(block.title).number
                self.part = 0
                title = self.heading(4, f"Solution of exercise {self.solution}")
                made += [Cell([title], folds=True), Cell()]
            elif name == "solution-end":
                self.unfold(held, made)
                self.solution, self.ended = "", True
                made.append(Cell())
            elif self.solution:
                held.append(self.block(block, made[-1]))
            else:
                self.check_end(name)
                if made[-1].parts and name in EXERCISES:
                    made.append(Cell())
                made[-1].parts.append(self.block(block, made[-1]))
        self.unfold(held, made)
        return [one for one in made if any(one.parts)]

    def check_end(self, name: str) -> None:
        """Raise if what follows a solution would be folded with it."""
        if self.ended and name not in ("heading", "label", *EXERCISES):
            raise NotPlain("a heading or an exercise must follow a solution")
        self.ended = self.ended and name == "label"

    def unfold(self, held: list[str], made: list[Cell]) -> None:
        """Put what was said of a solution into a fold, and forget it."""
        if any(held):
            self.part += 1
            further = f", part {self.part}" if self.part > 1 else ""
            title = f"Solution of exercise {self.solution}{further}"
            made[-1].parts.append(folded(title, held))
        held.clear()

    def block(self, block: Block, cell: Cell) -> str:
        if block.kind == "code":
            return "\n".join(block.lines)
        if block.kind == "label":
            return ""
        if block.kind == "heading":
            return self.heading(block.level, block.title)
        if block.kind == "formula":
            return self.formula(block)
        if block.kind == "text":
            return self.words.plain("\n".join(block.lines).strip("\n"))
        return self.directive(block, cell)

    def heading(self, level: int, title: str) -> str:
        return f"{'#' * level} {self.words.plain(title)}"

    def formula(self, block: Block) -> str:
        number = self.words.place(block.name).number if block.name else ""
        tag = [rf"\tag{{{number}}}"] if number else []
        return "\n".join(["$$", *map(str.strip, block.lines), *tag, "$$"])

    def directive(self, block: Block, cell: Cell) -> str:
        if block.name in EXERCISES:
            number = self.words.place(block.options["label"]).number
            return self.heading(3, f"Exercise {number}: {block.title}")
        if block.name == "exercise-end":
            return ""
        if block.name == "admonition":
            return self.box(block, cell)
        if block.name == "figure-md":
            return self.figure(block, cell)
        raise NotPlain(f"the directive {block.name!r} is not known")

    def box(self, block: Block, cell: Cell) -> str:
        """A quote with a bold title, or a fold."""
        inside = [self.block(one, cell) for one in blocks("\n".join(block.lines))]
        title = self.words.plain(block.title)
        if FOLDED in block.options.get("class", ""):
            return folded(bare(block.title), inside)
        return quoted([f"**{title}**", *inside])

    def figure(self, block: Block, cell: Cell) -> str:
        text = "\n".join(block.lines)
        found = PICTURE.search(text)
        if not found:
            raise NotPlain(f"the figure {block.title!r} has no picture")
        cell.pictures.append(found["path"])
        caption = self.words.plain(text[found.end() :].strip())
        number = self.words.place(block.title).number
        picture = f"![{found['alt']}][{Path(found['path']).stem}]"
        return f"{picture}\n\n{captioned(number, caption)}"


def captioned(number: str, caption: str) -> str:
    return f"**Figure {number}.** {caption}"


def folded(title: str, parts: list[str]) -> str:
    """A fold of HTML; the empty lines let what is inside be Markdown."""
    inside = "\n\n".join(filter(None, parts))
    return f"<details>\n<summary>{title}</summary>\n\n{inside}\n\n</details>"


def quoted(parts: list[str]) -> str:
    """A quote, each paragraph in one line: a formula must not meet a quote's mark."""
    lines = "\n\n".join(filter(None, map(unwrapped, parts))).splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)


def unwrapped(part: str) -> str:
    if part.startswith("$$"):
        return " ".join(part.splitlines())
    if part.startswith(("```", "|", "<details", ">")):
        return part
    made: list[str] = []
    for line in part.splitlines():
        whole = not line.strip() or ITEM.match(line) or not made or not made[-1].strip()
        if whole:
            made.append(line)
        else:
            made[-1] += " " + line.strip()
    return "\n".join(made)


def with_anchors(source: str, headings: set[str]) -> str:
    """An anchor in each heading that a link leads to, where a viewer makes none."""
    lines = source.split("\n")
    fence = False
    for place, line in enumerate(lines):
        fence ^= line.startswith("```")
        title = re.fullmatch(r"#{1,6} (.+)", line)
        if title and not fence and bare(title[1]) in headings:
            lines[place] = f'{line}<a id="{anchor(bare(title[1]))}"></a>'
    return "\n".join(lines)
