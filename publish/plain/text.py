"""The text of a cell in plain Markdown, block by block."""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from publish.plain.labels import EXERCISES
from publish.plain.marks import Block, NotPlain, bare, blocks
from publish.plain.words import Words, anchor

FOLDED = "dropdown"
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
PICTURE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<path>[^)\s]+)\)")


@dataclass
class Cell:
    """Markdown, or code, of a new cell.

    pictures: PNG in base 64, by name. folds: a heading that what follows is folded
    behind.
    """

    parts: list[str] = field(default_factory=list)
    pictures: dict[str, str] = field(default_factory=dict)
    folds: bool = False
    code: bool = False


class Text:
    """Writes the text cells of one notebook, from the first to the last.

    picture: makes a drawing's PNG from its path. solution: what has been read of one;
    it goes on from cell to cell, and becomes one fold of text, its code too, so that
    whoever runs all sees no answer.
    """

    def __init__(self, words: Words, picture: Callable[[str], bytes]):
        self.words, self.picture = words, picture
        self.solution: Cell | None = None
        self.solved = ""  # the number of its exercise

    def cells(self, source: str) -> list[Cell]:
        """The cells that a cell's source becomes."""
        made = [Cell()]
        for block in blocks(source):
            name = block.name if block.kind == "directive" else block.kind
            if name == "solution-start":
                self.solution = Cell()
                self.solved = self.words.place(block.title).number
                place = Cell([f"# Your answer to exercise {self.solved}"], code=True)
                made += [place, Cell()]
            elif name == "solution-end":
                made += [self.fold(), Cell()]
            elif self.solution:
                self.solution.parts.append(self.block(block, self.solution))
            else:
                alone = name in ("figure-md", *EXERCISES)
                if made[-1].parts and alone:
                    made.append(Cell())
                made[-1].parts.append(self.block(block, made[-1]))
                if name == "figure-md":  # its data are long: no text shares the cell
                    made.append(Cell())
        return [one for one in made if any(one.parts)]

    def fold(self) -> Cell:
        """The solution that ends here."""
        if self.solution is None:
            raise NotPlain("a solution ends that has not begun")
        title = f"Solution of exercise {self.solved}"
        made = Cell([folded(title, self.solution.parts)], self.solution.pictures)
        self.solution = None
        return made

    def shown(self, cell: NotebookNode, into: Cell, alt: str = "") -> None:
        """Put a code cell and its outputs into a text."""
        into.parts.append(fenced(cell.source, "python"))
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                into.pictures[cell.id] = data["image/png"].replace("\n", "")
                into.parts.append(f"![{alt}][{cell.id}]")
            elif said := output.get("text") or data.get("text/plain"):
                into.parts.append(fenced(said.rstrip("\n"), "text"))
            else:
                raise NotPlain(f"an output of the kind {output.output_type!r}")

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
        caption = self.words.plain(text[found.end() :].strip())
        number = self.words.place(block.title).number
        name = Path(found["path"]).stem
        data = self.picture(found["path"])
        cell.pictures[name] = base64.b64encode(data).decode("ascii")
        return f"![{found['alt']}][{name}]\n\n{captioned(number, caption)}"


def captioned(number: str, caption: str) -> str:
    return f"**Figure {number}.** {caption}"


def fenced(text: str, language: str) -> str:
    """A block of code in a fence that its text does not close."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)
    return f"{fence}{language}\n{text}\n{fence}"


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
