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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

import nbformat
import yaml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode as Node
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from tools.comparison import NUMBER, unit, value

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
PARSER = create_md_parser(
    MdParserConfig(
        enable_extensions=SETTINGS["parse"]["myst_enable_extensions"],
        dmath_double_inline=SETTINGS["sphinx"]["config"]["myst_dmath_double_inline"],
    ),
    RendererHTML,
)
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
DIRECTIVE = re.compile(r"(?:\{([\w:-]+)\})?\s*(.*)")
OPTION = re.compile(r"\s*:([\w-]+):\s*(.*)")
ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
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


@cache
def parse(source: str) -> Node:
    """The tree of markdown, in which a directive holds its title and its body."""
    return Node(list(tokens(source)))


def tokens(source: str) -> Iterator[Token]:
    """Yield those of the tree; a colon fence is a directive even without a name."""
    for token in PARSER.parse(source):
        name, argument = DIRECTIVE.match(token.info.strip()).groups()
        if not (token.type == "colon_fence" or (token.type == "fence" and name)):
            yield token
            continue
        lines = token.content.splitlines()
        options = list(takewhile(bool, map(OPTION.match, lines)))
        meta = {"name": name, "argument": argument}
        meta["options"] = dict(option.groups() for option in options)
        yield Token("directive_open", "", 1, meta=meta)
        if name not in CODE_DIRECTIVES:
            title = argument if name in TITLED_DIRECTIVES else ""
            yield from tokens("\n".join([title, "", *lines[len(options) :]]))
        yield Token("directive_close", "", -1)


def within(node: Node, kind: str) -> list[Node]:
    """The nodes of a kind: headings, links, images, roles (`myst_role`), directives."""
    return [inner for inner in node.walk() if inner.type == kind]


def plain(node: Node, role: Callable[[Node], str] = lambda role: " ") -> str:
    """The text of markdown, with a space for what the check leaves out.

    `role` gives the text of a role.
    """
    if node.type in ("text", "image"):
        return node.content
    if node.type == "myst_role":
        return role(node)
    inner = () if node.type == "link" else node.children
    return "".join(plain(child, role) for child in inner) + " "


def numbers_in(node: Node, place: str) -> list[Number]:
    """The numbers in a piece of markdown that a cell must print."""
    text = plain(node)
    for pattern in (ADDRESS, REFERENCE, NAMED, VERSION):
        text = pattern.sub(" ", text)
    text = POWER.sub(lambda n: f"{n['digits']}e{n['power'].translate(POWERS)}", text)
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


def passages(notebook: nbformat.NotebookNode) -> Iterator[tuple[str, str]]:
    """Every piece of prose in a chapter, after the name of its place."""
    for cell in notebook.cells:
        yield from passages_of(cell)


def passages_of(cell: nbformat.NotebookNode) -> Iterator[tuple[str, str]]:
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
    blocks: list[tuple[str, Node]]
    printed: set[str]


def sections(notebook: nbformat.NotebookNode) -> list[Section]:
    found = [Section("", [], set())]
    for cell in notebook.cells:
        for place, source in passages_of(cell):
            for block in parse(source).children:
                if (name := section_name(block)) is not None:
                    found.append(Section(name, [], set()))
                found[-1].blocks.append((place, block))
        if cell.cell_type == "code":
            found[-1].printed |= computed_numbers(cell)
    return found


def section_name(block: Node) -> str | None:
    """The name of the section that a block begins: of its heading or exercise."""
    if block.type == "heading":
        return slug(block.children[0].content)
    if block.type == "directive" and block.meta["name"] == "exercise-start":
        return block.meta["options"].get("label", "")
    return None


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
        for place, block in section.blocks
        for number in numbers_in(block, place)
        if not is_printed(number.text, section.printed)
        and not is_printed(number.text, linked(block, found, folder))
    ]


def linked(block: Node, here: list[Section], folder: Path | None) -> set[str]:
    """What the sections print to which a block links."""
    printed = set()
    for link in within(block, "link"):
        file, _, anchor = link.attrs["href"].partition("#")
        if not anchor:
            continue
        target = here
        if file:
            path = folder / file if folder and file.endswith(".ipynb") else None
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
        for role in within(parse(source), "myst_role"):
            text, _, key = role.content.rpartition("<")
            good = key.removesuffix(">") in keys and re.search(r"\d", text)
            if role.meta["name"] == "sourced" and not good:
                wrong.append(f"{{sourced}}`{role.content}` in {place}")
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
