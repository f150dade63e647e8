"""The first notebook of the folder: the book's contents, in the order of reading."""

import re
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode, v4

CONTENTS = "00_contents"  # before all others by name
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
NUMBERED = re.compile(r"(\d\d[a-z]?)_")
OPENING = """\
# mygpt: a GPT-2 from nothing

The book's notebooks, in the order of reading. Open one, and run it with *Run all*: \
its figures then move, and its numbers are computed before your eyes. Its first cell \
looks for the book's package, and says how to install it. What you change here is \
yours."""


def contents(root: Path, notebooks: dict[str, NotebookNode]) -> NotebookNode:
    """A notebook of links, part by part."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    parts = [OPENING]
    for part in toc["parts"]:
        names = [Path(one["file"]).name for one in part["chapters"]]
        links = [link(name, notebooks[name]) for name in names if name in notebooks]
        if links:
            parts.append(f"## {part.get('caption', 'Chapters')}\n\n" + "\n".join(links))
    cell = v4.new_markdown_cell("\n\n".join(parts), id="contents")
    return v4.new_notebook(cells=[cell], metadata=metadata(notebooks))


def link(name: str, notebook: NotebookNode) -> str:
    found = NUMBERED.match(name)
    number = f"{found[1].removeprefix('0')}. " if found else ""
    title = TITLE.search(notebook.cells[0].source)[1]
    return f"- [{number}{title}]({name}.ipynb)"


def metadata(notebooks: dict[str, nbformat.NotebookNode]) -> dict:
    return dict(next(iter(notebooks.values())).metadata)
