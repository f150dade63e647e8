"""How long a chapter is: its first reading, its exercises, and each further section.

    python -m tools.reading [NAME…]    print the counts

The first reading ends at `## Exercises`; the second begins with the cell tagged
`second-reading`, the box that says what each of its sections shows. An idea is a
heading of the first reading, of second or third rank, that is not one of `USUAL`. Words
are split on spaces; code fences, formulas, comments, the lines of a directive's options
and the marks of headings, lists and tables are left out. Lines of code are those of
cells that the page shows, without those that hold a comment alone. A fold is a cell
whose code the page hides until it is asked for, the set-up left out.
"""

import re
import symtable
import sys
from dataclasses import dataclass, field

import nbformat
from markdown_it.token import Token

from tools.prose import parse, within


@dataclass(frozen=True)
class Limits:
    """How much a first reading may hold."""

    ideas: int = 5
    words: int = 1900
    lines: int = 85
    folds: int = 4


LIMITS = Limits()
EXERCISE_WORDS, EXERCISE_LINES = 1000, 60
SECTION_WORDS = 600
USUAL = {
    "Why",
    "Setup",
    "By hand",
    "In code",
    "Write it yourself",
    "It works",
    "What usually goes wrong",
    "Key points",
    "In the field's words",
    "Exercises",
}
FOLDED = {"hide-cell", "hide-input"}
HIDDEN = {"setup", "remove-cell", "remove-input"} | FOLDED
SPACES = {"math_inline", "math_inline_double", "html_inline", "softbreak", "hardbreak"}


@dataclass
class ChapterPart:
    """A stretch of a chapter."""

    name: str
    cells: list[nbformat.NotebookNode] = field(default_factory=list)

    @property
    def words(self) -> int:
        return sum(words(c.source) for c in self.cells if c.cell_type == "markdown")

    @property
    def lines(self) -> int:
        return sum(lines_of_code(c.source) for c in self.cells if is_shown(c))

    @property
    def ideas(self) -> list[str]:
        texts = (heading for cell in self.cells for heading in headings(cell))
        return [text for text in texts if text not in USUAL]

    @property
    def folds(self) -> int:
        of_code = [set(tags(c)) for c in self.cells if c.cell_type == "code"]
        return sum(bool(FOLDED & each) and "setup" not in each for each in of_code)


def parts(
    notebook: nbformat.NotebookNode,
) -> tuple[ChapterPart, ChapterPart, list[ChapterPart]]:
    """The first reading, its exercises, and the sections of the second reading."""
    first, exercises, further = (
        ChapterPart("first reading"),
        ChapterPart("exercises"),
        [],
    )
    current = first
    for cell in notebook.cells:
        heading = title_of(cell)
        if "second-reading" in tags(cell):
            current = ChapterPart("the box")
        elif current is first and heading == "Exercises":
            current = exercises
        elif heading and current not in (first, exercises):
            current = ChapterPart(heading)
            further.append(current)
        current.cells.append(cell)
    return first, exercises, further


def title_of(cell: nbformat.NotebookNode) -> str:
    """The heading of second rank that a cell begins with."""
    found = re.match(r"## +(.*)", cell.source)
    return found[1].strip() if found and cell.cell_type == "markdown" else ""


def headings(cell: nbformat.NotebookNode) -> list[str]:
    """The headings of second and third rank in a cell, also those in a directive."""
    if cell.cell_type != "markdown":
        return []
    found = within(parse(cell.source), "heading")
    return [
        "".join(map(shown, heading.children[0].token.children)).strip()
        for heading in found
        if heading.tag in ("h2", "h3")
    ]


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def is_shown(cell: nbformat.NotebookNode) -> bool:
    return cell.cell_type == "code" and not HIDDEN & set(tags(cell))


def lines_of_code(source: str) -> int:
    """The lines, without those that hold a comment alone."""
    return sum(not line.lstrip().startswith("#") for line in source.splitlines())


def words(source: str) -> int:
    inlines = (inline.token.children for inline in within(parse(source), "inline"))
    return sum(len("".join(map(shown, children)).split()) for children in inlines)


def shown(token: Token) -> str:
    """The text of a token, with a space for formulas, comments and line breaks."""
    if token.type == "myst_role":
        return token.content.rpartition(" <")[0] or token.content
    return " " if token.type in SPACES else token.content


def too_long(notebook: nbformat.NotebookNode, allowed: Limits = LIMITS) -> list[str]:
    """What is longer than a chapter's form allows, one sentence each."""
    first, exercises, further = parts(notebook)
    limits = [
        (first, len(first.ideas), allowed.ideas, "ideas"),
        (first, first.words, allowed.words, "words"),
        (first, first.lines, allowed.lines, "lines of code"),
        (first, first.folds, allowed.folds, "folded cells"),
        (exercises, exercises.words, EXERCISE_WORDS, "words"),
        (exercises, exercises.lines, EXERCISE_LINES, "lines of code"),
        *((part, part.words, SECTION_WORDS, "words") for part in further),
    ]
    return [
        f"{part.name}: {count:,} {unit}, {limit:,} at most"
        for part, count, limit, unit in limits
        if count > limit
    ]


def used_from_hidden(notebook: nbformat.NotebookNode) -> list[str]:
    """Names that a hidden cell defines and a shown one uses."""
    hidden, shown = set(), set()
    for cell in notebook.cells:
        if cell.cell_type == "code" and "setup" not in tags(cell):
            defined, used = bound_and_used(cell.source)
            if is_shown(cell):
                hidden -= defined
                shown |= used & hidden
            else:
                hidden |= defined
    return sorted(shown)


def bound_and_used(source: str) -> tuple[set[str], set[str]]:
    """The names of the notebook that a cell binds, and those that it uses."""
    code = re.sub(r"^\s*%.*", "", source, flags=re.M)
    bound, used = set(), set()
    waiting = [top := symtable.symtable(code, "cell", "exec")]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        for symbol in table.get_symbols():
            ours = table is top or symbol.is_global()
            if ours and (symbol.is_assigned() or symbol.is_imported()):
                bound.add(symbol.get_name())
            if ours and symbol.is_referenced():
                used.add(symbol.get_name())
    return bound, used


def main(chosen_names: list[str]) -> int:
    from tools.execute import chosen

    for path in chosen(chosen_names):
        notebook = nbformat.read(path, as_version=4)
        first, exercises, further = parts(notebook)
        print(f"{path.stem}")
        for part in (first, exercises, *further):
            print(f"   {part.words:5,} words {part.lines:4} lines  {part.name}")
        print(f"   {first.folds:5} folded cells in the first reading, and its ideas:")
        for idea in first.ideas:
            print(f"         {idea}")
        for problem in too_long(notebook):
            print(f"   too long: {problem}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
