"""The terms of the glossary, and where the book first uses each of them.

    python -m tools.terms    list the terms that are used before they are explained

A term is explained where a chapter says {define}`loss` (or {define}`losses <loss>`),
once in the book. Its first use, in the book's order, must be that, or a link to it:
{term}`loss`. Headings, code and mathematics do not count as uses.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from markdown_it.tree import SyntaxTreeNode

from tools.bare_parts import chapters_in_order
from tools.prose import parse, passages, plain

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "pages" / "glossary.md"
ENTRIES = re.compile(r":::\{glossary\}\n(?::\w+:.*\n)*((?:.*\n)*?):::")
NAME = re.compile(r"^\S.*", re.M)
MARK = re.compile(r"⟦(define|term):([^⟧]*)⟧")
# Words of everyday English, whose other uses do not count.
EVERYDAY = {
    "axis",
    "batch",
    "bias",
    "channel",
    "context",
    "head",
    "id",
    "key",
    "layer",
    "mean",
    "merge",
    "matrix",
    "model",
    "module",
    "network",
    "null",
    "parameter",
    "query",
    "sampling",
    "score",
    "seed",
    "shape",
    "slope",
    "step",
    "temperature",
    "training",
    "value",
    "weight",
}


def glossary(text: str | None = None) -> list[tuple[list[str], str]]:
    """Return the entries of the glossary: the names of each, and what they mean."""
    text = GLOSSARY.read_text(encoding="utf-8") if text is None else text
    entries = re.split(r"\n\n+(?=\S)", ENTRIES.search(text)[1].strip())
    return [(NAME.findall(one), " ".join(NAME.sub("", one).split())) for one in entries]


def uses(path: Path) -> Iterator[tuple[str, str]]:
    """A chapter's prose, piece by piece, with marks in place of the two roles."""
    for place, source in passages(nbformat.read(path, as_version=4)):
        for block in parse(source).children:
            if block.type != "heading":
                yield place, plain(block, mark)


def mark(role: SyntaxTreeNode) -> str:
    kind, name = role.meta["name"], role.content.rpartition("<")[2].removesuffix(">")
    return f"⟦{kind}:{name}⟧" if kind in ("define", "term") else " "


def problems(paths: list[Path] | None = None, text: str | None = None) -> list[str]:
    """What is wrong with the terms, one sentence each."""
    paths = chapters_in_order() if paths is None else paths
    pieces = [
        (f"{path.stem}, {place}", piece)
        for path in paths
        for place, piece in uses(path)
    ]
    entries = [names for names, _ in glossary(text)]
    known = {name for names in entries for name in names}
    found = [
        f"{place} has the unknown term {name!r}"
        for place, piece in pieces
        for _, name in MARK.findall(piece)
        if name not in known
    ]
    for names in entries:
        found += problems_of(names, pieces)
    return found


def problems_of(names: list[str], pieces: list[tuple[str, str]]) -> Iterator[str]:
    marks = "|".join(map(re.escape, names))
    explained = [
        place
        for place, piece in pieces
        for kind, name in MARK.findall(piece)
        if kind == "define" and name in names
    ]
    if len(explained) != 1:
        where = "; ".join(explained) or "nowhere"
        yield f"{names[0]!r} is explained {len(explained)} times: {where}"
        return
    word = rf"(?<![\w-])(?:{marks})(?:s|es)?(?![\w-])"
    mark = rf"⟦(?:define|term):(?:{marks})⟧"
    everyday = EVERYDAY & set(names)
    pattern = re.compile(mark if everyday else f"{mark}|{word}", re.IGNORECASE)
    for place, piece in pieces:
        if first := pattern.search(piece):
            if not first[0].startswith("⟦"):
                around = " ".join(
                    piece[max(0, first.start() - 30) : first.end() + 30].split()
                )
                yield (
                    f"{names[0]!r} is used before it is explained, "
                    f"in {place}: …{around}…"
                )
            return


def main() -> int:
    found = problems()
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
