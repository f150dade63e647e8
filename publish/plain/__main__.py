"""Make the plain edition of every notebook.

    python -m publish.plain FOLDER                  for the site, Colab and Binder
    python -m publish.plain FOLDER --to-work-in     leaves what a reader has changed
    python -m publish.plain FOLDER --package WHAT   their first cell installs WHAT
    python -m publish.plain FOLDER --branch         with what Binder installs

Without a FOLDER nothing is written: it is said whether every notebook can be made.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

import nbformat

from publish.plain.contents import CONTENTS, contents
from publish.plain.labels import read_labels
from publish.plain.marks import NotPlain
from publish.plain.notebook import Writer, links_nowhere, put_anchors
from publish.plain.pictures import png
from publish.plain.sources import Sources
from tools.publication import Publication, publication
from tools.release import SettingError

ROOT = Path(__file__).resolve().parents[2]


MADE = ".made.json"  # digests of the notebooks as they were put into a folder
BINDER = ROOT / ".binder"


def plain_edition(first_cell: str, root: Path = ROOT) -> dict[str, str]:
    """The text of every notebook of the plain edition, by its file's name."""
    paths = sorted((root / "chapters").glob("*.ipynb"))
    read = {path.stem: nbformat.read(path, as_version=4) for path in paths}
    labels, sources = (
        read_labels(root, read),
        Sources(root / "pages" / "references.bib"),
    )
    drawn: dict[str, bytes] = {}

    def picture(path: str) -> bytes:
        if path not in drawn:
            drawn[path] = png(root / "chapters" / path)
        return drawn[path]

    made, linked = {}, set()
    for name, notebook in read.items():
        writer = Writer(name, labels, sources, first_cell, picture)
        made[name] = writer.write(notebook)
        linked |= writer.words.linked | {(name, "Sources")}
    made[CONTENTS] = contents(root, read)
    for name, notebook in made.items():
        put_anchors(notebook, {heading for page, heading in linked if page == name})
        nbformat.validate(notebook)
    if lost := links_nowhere(made):
        raise NotPlain(f"{len(lost)} links lead nowhere, the first in {lost[0]}")
    return {f"{name}.ipynb": text_of(one) for name, one in made.items()}


def text_of(notebook: nbformat.NotebookNode) -> str:
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def write(notebooks: dict[str, str], folder: Path) -> int:
    """Write what has changed; how many files did."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = 0
    for name, text in notebooks.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            changed += 1
    return changed


def put(notebooks: dict[str, str], folder: Path) -> list[str]:
    """Put the notebooks into a folder to work in; the names of those left as they are.

    A notebook that was changed there is the reader's: removed, it comes anew.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / MADE
    before = json.loads(made.read_text("utf-8")) if made.exists() else {}
    left = []
    for name, text in notebooks.items():
        path = folder / name
        if path.exists() and digest(path.read_text("utf-8")) != before.get(name):
            left.append(name)
            continue
        path.write_text(text, "utf-8")
        before[name] = digest(text)
    made.write_text(json.dumps(before, indent=1) + "\n", "utf-8")
    return left


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def add_binder(folder: Path, package: str) -> None:
    """What Binder installs: the package in place of the repository's own folder."""
    (folder / BINDER.name).mkdir(exist_ok=True)
    for path in sorted(BINDER.iterdir()):
        text = path.read_text("utf-8").replace("\n-e .\n", f"\n{package}\n")
        (folder / BINDER.name / path.name).write_text(text, "utf-8")


def main() -> int:
    lines = __doc__.splitlines()
    parser = argparse.ArgumentParser(description=lines[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--to-work-in", action="store_true")
    parser.add_argument("--package", default="")
    parser.add_argument("--branch", action="store_true")
    options = parser.parse_args()
    try:
        found = publication()
        if options.package:
            found = Publication(package=options.package)
        in_folder = options.to_work_in or options.folder is None
        first = found.first_cell() if in_folder else found.downloaded_cell()
        notebooks = plain_edition(first)
    except (NotPlain, SettingError) as cause:
        print(f"Error: {cause}", file=sys.stderr)
        return 1
    if options.branch and not found.package:
        print("Error: _config.yml: published is false: no branch", file=sys.stderr)
        return 1
    if options.folder is None:
        print(f"{len(notebooks)} notebooks can be made")
    elif options.to_work_in:
        left = put(notebooks, options.folder)
        print(f"{len(notebooks)} notebooks in {options.folder}")
        if left:
            print(f"left as you changed them: {', '.join(left)}")
    else:
        changed = write(notebooks, options.folder)
        print(f"{len(notebooks)} notebooks in {options.folder}; {changed} changed")
    if options.branch:
        add_binder(options.folder, found.package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
