"""The numbers in a chapter's prose, each of which one of its cells must print.

    python -m tools.prose [NAME…]    list the numbers that no cell prints

The check counts numbers with a decimal point and integers of three or more digits, in
markdown cells and in the captions and descriptions of figures. It leaves out code,
mathematics, links, citations and other roles, options and labels of directives, HTML
tags, years, versions, and numbers in names (`GPT-2`, `section 3.2`). A number counts as
printed when a stored text output holds one that rounds to it at the prose's precision:
0.94 where 0.9369 is printed. After a minus sign only a negative number will do; without
one the magnitude is enough ("falls by 0.17").

The cell that prints it stands in the same section, from one heading or exercise to the
next, or in a section to which the paragraph links: `[the payoff](#it-works)`, also with
a chapter's file before the `#`. What the cell's own strings hold does not count: a
number is computed. A number from elsewhere names its source:
{sourced}`0.02 <radford2019>`.
"""

import ast
import html
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat

from tools.comparison import NUMBER, unit, value

CODE_DIRECTIVES = {
    "math",
    "code",
    "code-block",
    "code-cell",
    "literalinclude",
    "bibliography",
    "mermaid",
    "raw",
    "eval-rst",
    "toctree",
    "image",
}
TITLED_DIRECTIVES = {
    "admonition",
    "exercise",
    "dropdown",
    "card",
    "tab-item",
    "grid-item-card",
    "note",
    "tip",
    "warning",
    "important",
    "hint",
    "seealso",
    "attention",
    "caution",
    "danger",
    "error",
    "topic",
    "sidebar",
    "margin",
    "prf:theorem",
    "prf:definition",
    "prf:proof",
}
FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,}|:{3,})\s*(?P<info>.*)$")
DIRECTIVE = re.compile(r"\{(?P<name>[\w:-]+)\}\s*(?P<argument>.*)")
SOURCED = re.compile(
    r"\{sourced\}`(?P<text>[^`<]*?)\s*<(?P<key>[^`>]*)>`|\{sourced\}`(?P<bad>[^`]*)`"
)
LEFT_OUT = [
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"<!--[\s\S]*?-->",
        r"^%.*$|^\([\w:-]+\)=$",  # MyST comments and targets
        # roles and code spans, within a paragraph
        r"(?:\{[\w:.-]+\})?(?<!`)(`+)(?!`)(?:(?!\n\s*\n)[\s\S])+?(?<!`)\1(?!`)",
        r"\$\$[\s\S]*?\$\$|\\begin\{(\w+\*?)\}[\s\S]*?\\end\{\1\}",
        r"(?<![\\$])\$(?!\s)(?:\\[\s\S]|(?!\n\s*\n)[^$\\])+?(?<!\s)\$(?!\d)",
    )
]
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<file>[^)\s]*)[^)]*\)")
LINK = re.compile(
    r"\[[^\]]*\]\([^)]*\)|\[[^\]]*\]\[[^\]]*\]|\[\^[^\]]+\]|^\[[^\]]+\]:.*$",
    re.MULTILINE,
)
ADDRESS = re.compile(r"<[^<>\n]+>|\b(?:https?://|www\.)\S+")
HEADING = re.compile(r"#{1,6}\s+(.*)")
SECTION_LINK = re.compile(r"\]\(([\w./-]*\.ipynb)?#([\w-]+)\)")
EMPHASIS = re.compile(r"(?<!\w)_+(?=\S)|(?<=\S)_+(?!\w)")
REFERENCE = re.compile(
    r"(?:\b(?:(?i:chapters?|sections?|figures?|tables?|equations?|pages?|experiments?)|"
    r"Eq\.|pp?\.|arXiv|Python|PyTorch|torch|numpy|version|v)[\s:]+|§\s*)\d[\d.,–-]*"
)
NAMED = re.compile(r"\b[A-Za-z]\w*-\d[\d.]*")
VERSION = re.compile(r"\b\d+(?:\.\d+){2,}")
POWER = re.compile(r"(?P<digits>\d+(?:\.\d+)?)\s*[×·]\s*10(?P<power>[⁺⁻⁰¹²³⁴-⁹]+)")
POWERS = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
COUNTED = re.compile(
    r"(?<![\w.])(?<!\d,)(?P<sign>(?<![\w)\]])[-−–](?=\d))?"
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[-+−]?\d+)?)"
)


@dataclass(frozen=True)
class Number:
    """A number in the prose, and its place."""

    text: str
    place: str
    sentence: str

    def __str__(self):
        return f"{self.text} in {self.place}: …{self.sentence}…"


def plain(source: str) -> str:
    """Markdown without what the check leaves out; line breaks stay."""
    text = without_fences(source)
    for pattern in LEFT_OUT:
        text = pattern.sub(" ", text)
    text = IMAGE.sub(lambda image: f" {image['alt']} ", text)
    for pattern in (LINK, ADDRESS, EMPHASIS, REFERENCE, NAMED, VERSION):
        text = pattern.sub(" ", text)
    return POWER.sub(lambda n: f"{n['digits']}e{n['power'].translate(POWERS)}", text)


def without_fences(source: str) -> str:
    """Markdown without code; a directive keeps its body and its title."""
    kept, open_fences, in_options = [], [], False
    for line in source.splitlines():
        match = FENCE.match(line)
        if (
            open_fences
            and match
            and not match["info"]
            and closes(match["fence"], open_fences[-1][0])
        ):
            open_fences.pop()
            in_options = False
        elif open_fences and open_fences[-1][1]:
            continue
        elif match:
            directive = DIRECTIVE.match(match["info"])
            name = directive["name"] if directive else None
            # Without a directive a colon fence is text and a backtick fence is code.
            is_code = name in CODE_DIRECTIVES or (not name and match["fence"][0] != ":")
            open_fences.append((match["fence"], is_code))
            in_options = True
            if name in TITLED_DIRECTIVES:
                kept.append(directive["argument"])
        elif in_options and re.match(r"\s*:[\w-]+:", line):
            continue
        else:
            in_options = False
            kept.append(line)
    return "\n".join(kept)


def closes(fence: str, opening: str) -> bool:
    return fence[0] == opening[0] and len(fence) >= len(opening)


def numbers_in(source: str, place: str) -> list[Number]:
    """The numbers in a piece of markdown that a cell must print."""
    text = plain(source)
    found = []
    for match in COUNTED.finditer(text):
        number = match["number"]
        digits = re.sub(r"\D", "", number)
        is_year = re.fullmatch(r"(19|20)\d\d|2100", number)
        if is_year or not (re.search(r"[.e]", number) or len(digits) >= 3):
            continue
        sentence = " ".join(text[max(0, match.start() - 40) : match.end() + 20].split())
        found.append(Number(("-" if match["sign"] else "") + number, place, sentence))
    return found


def passages(notebook: nbformat.NotebookNode):
    """Every piece of prose in a chapter, after the name of its place."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield f"cell {cell.id!r}", cell.source
        shown = cell.metadata.get("mystnb", {})
        for part in (
            shown.get("figure", {}).get("caption"),
            shown.get("image", {}).get("alt"),
        ):
            if part:
                yield f"the figure of cell {cell.id!r}", part


def printed_numbers(notebook: nbformat.NotebookNode) -> set[str]:
    """The numbers in the stored text outputs of a chapter, as they are printed."""
    found = set()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            found.update(
                NUMBER.findall(output.get("text", "") + " " + output.get("evalue", ""))
            )
            found.update(NUMBER.findall(data.get("text/plain", "")))
            found.update(NUMBER.findall(data.get("text/markdown", "")))
            page = re.sub(r"<[^>]*>", " ", data.get("text/html", ""))
            found.update(NUMBER.findall(html.unescape(page)))
    return found


def is_printed(number: str, printed: set[str]) -> bool:
    """Whether a printed number rounds to this one at this one's precision."""
    wanted, step = value(number), unit(number)
    for other in printed:
        exact = other.endswith(".")  # torch prints 1. for a whole float
        if unit(other) > step and not exact:
            continue
        size = value(other) if wanted < 0 else abs(value(other))
        if abs(size - wanted) * 2 <= step:
            return True
    return False


def computed_numbers(cell: nbformat.NotebookNode) -> set[str]:
    """The numbers that a cell prints, but for those in its own strings."""
    return printed_numbers(nbformat.from_dict({"cells": [cell]})) - literals(
        cell.source
    )


def literals(source: str) -> set[str]:
    """The numbers in the strings of a cell's source, and those handed to `print`."""
    lines = source.splitlines()
    code = "\n".join("" if line.lstrip().startswith("%") else line for line in lines)
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return set()
    found, waiting = set(), [tree]
    while waiting:
        node = waiting.pop()
        waiting += (
            [node.value]  # without the format
            if isinstance(node, ast.FormattedValue)
            else list(ast.iter_child_nodes(node))
        )
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(NUMBER.findall(node.value))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
            found.update(
                ast.get_source_segment(code, argument) or ""
                for argument in node.args
                if isinstance(argument, ast.Constant)
            )
    return found


@dataclass
class Section:
    """What stands between one heading or exercise and the next."""

    name: str
    passages: list[tuple[str, str]]
    printed: set[str]


def sections(notebook: nbformat.NotebookNode) -> list[Section]:
    found = [Section("", [], set())]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for name, text in split_at_headings(cell.source):
                if name is not None:
                    found.append(Section(name, [], set()))
                found[-1].passages.append((f"cell {cell.id!r}", text))
        else:
            found[-1].printed |= computed_numbers(cell)
        only = nbformat.from_dict({"cells": [cell | {"cell_type": "raw"}]})
        found[-1].passages += passages(only)
    return found


def split_at_headings(source: str) -> list[tuple[str | None, str]]:
    """Pieces of markdown after the name of their heading or exercise."""
    pieces, fence = [(None, [])], None
    lines = source.splitlines()
    for place, line in enumerate(lines):
        opened = FENCE.match(line)
        if fence and opened and not opened["info"] and closes(opened["fence"], fence):
            fence = None
        elif not fence and opened and opened["info"].startswith("{exercise-start}"):
            label = re.search(r":label:\s*(\S+)", "\n".join(lines[place:]))
            pieces.append((label[1] if label else "", []))
            fence = opened["fence"]
        elif not fence and opened:
            fence = opened["fence"]
        elif not fence and (heading := HEADING.match(line)):
            pieces.append((slug(heading[1]), []))
        pieces[-1][1].append(line)
    return [(name, "\n".join(text)) for name, text in pieces if name or text]


def paragraphs(source: str) -> list[str]:
    """Pieces of markdown between blank lines; a fence stays whole."""
    found, fence = [[]], None
    for line in source.splitlines():
        opened = FENCE.match(line)
        if fence and opened and not opened["info"] and closes(opened["fence"], fence):
            fence = None
        elif not fence and opened:
            fence = opened["fence"]
        if not fence and not line.strip():
            found.append([])
        found[-1].append(line)
    return ["\n".join(lines) for lines in found]


def slug(heading: str) -> str:
    """The anchor that MyST gives a heading."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return words.replace(" ", "-")


def unprinted(
    notebook: nbformat.NotebookNode, folder: Path | None = None
) -> list[Number]:
    """The numbers in a chapter's prose that no cell of their section prints.

    Linked chapters are read in `folder`.
    """
    found = sections(notebook)
    return [
        number
        for section in found
        for place, source in section.passages
        for paragraph in paragraphs(source)
        for number in numbers_in(paragraph, place)
        if not is_printed(number.text, section.printed)
        and not is_printed(number.text, linked(paragraph, found, folder))
    ]


def linked(paragraph: str, here: list[Section], folder: Path | None) -> set[str]:
    """What the sections print to which a paragraph links."""
    printed = set()
    for file, anchor in SECTION_LINK.findall(paragraph):
        target = here
        if file:
            path = folder / file if folder else None
            known = path is not None and path.is_file()
            target = sections(nbformat.read(path, as_version=4)) if known else []
        for section in target:
            if section.name == anchor:
                printed |= section.printed
    return printed


def bad_sources(notebook: nbformat.NotebookNode, keys: set[str]) -> list[str]:
    """The {sourced} roles that name no known source or hold no number."""
    wrong = []
    for place, source in passages(notebook):
        for role in SOURCED.finditer(source):
            if role["key"] not in keys or not re.search(r"\d", role["text"] or ""):
                wrong.append(f"{role[0]} in {place}")
    return wrong


def bibliography_keys(references: str) -> set[str]:
    return set(re.findall(r"^\s*@\w+\s*\{\s*([^,\s]+)\s*,", references, re.MULTILINE))


def main(names: list[str]) -> int:
    from tools.execute import chosen

    missing = False
    for path in chosen(names):
        chapter = nbformat.read(path, as_version=4)
        for number in unprinted(chapter, folder=path.parent):
            print(f"{path.stem}: no cell prints {number}")
            missing = True
    return int(missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
