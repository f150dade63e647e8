"""What a chapter's opening says that it builds on.

python -m tools.openings [NAME…]    print it
"""

import re
import sys
from pathlib import Path

import nbformat

BUILDS_ON = re.compile(r"\bbuilds on (.*?\.)(?:\s|$)", re.S)
LINK = re.compile(r"\]\(([\w-]+)\.ipynb(?:#[\w-]*)?\)")


def is_chapter(path: Path) -> bool:
    """Whether a notebook is a chapter, and not one of the pages at the back."""
    return path.stem == "tensors" or path.stem[:2].isdigit()


def builds_on(notebook: nbformat.NotebookNode) -> list[str]:
    """The chapters that a reader is asked to know, by the names of their files."""
    prose = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    found = BUILDS_ON.search(prose.partition("\n## ")[0])
    if not found:
        raise ValueError("expected an opening that says what the chapter builds on")
    return LINK.findall(found[1])


def main(names: list[str]) -> int:
    from tools.execute import chosen

    for path in chosen(names):
        if is_chapter(path):
            needed = builds_on(nbformat.read(path, as_version=4))
            print(f"{path.stem} builds on {', '.join(needed) or 'no other'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
