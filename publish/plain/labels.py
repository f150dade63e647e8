"""What the notebooks refer to: the numbers and places of all that has a label."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import yaml
from myst_parser.mdit_to_docutils.base import default_slugify

from publish.plain.marks import ROLE, Block, NotPlain, bare, blocks, titled
from tools.terms import glossary

NUMBERED = re.compile(r"(\d\d[a-z]?)_.*")
FIGURES, EXERCISES = ("figure-md", "figure"), ("exercise-start", "exercise")
SENTENCE = re.compile(r"(.+?[.!?])(?=\s|$)", re.S)


@dataclass(frozen=True)
class LabelTarget:
    """Where something stands: the notebook, the heading above it, and its number."""

    notebook: str
    heading: str
    kind: str = ""
    number: str = ""


@dataclass
class Labels:
    """All places by label; headings by notebook and slug; definitions by term.

    headings: by the anchor of the site, the heading's words. meanings: the first
    sentence of a term's entry in the glossary.
    """

    places: dict[str, LabelTarget] = field(default_factory=dict)
    headings: dict[str, dict[str, str]] = field(default_factory=dict)
    defined: dict[str, LabelTarget] = field(default_factory=dict)
    meanings: dict[str, str] = field(default_factory=dict)


@contextmanager
def named(notebook: str, cell: nbformat.NotebookNode) -> Iterator[None]:
    """Name the notebook and the cell of what is not plain."""
    try:
        yield
    except NotPlain as cause:
        raise NotPlain(f"{notebook}.ipynb, cell {cell.id!r}: {cause}") from None


def key_of(term: str) -> str:
    return " ".join(term.split()).lower()


def order(root: Path) -> list[str]:
    """The pages of `_toc.yml`, in the book's order."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    parts = [one["file"] for part in toc["parts"] for one in part["chapters"]]
    return [toc["root"], *parts]


def read_labels(root: Path, notebooks: dict[str, nbformat.NotebookNode]) -> Labels:
    """Read every label of the book; pages without a number are counted together."""
    labels, unnumbered = Labels(), {"figure": 0, "exercise": 0, "equation": 0}
    for page in order(root):
        name = Path(page).name
        if name in notebooks:
            Reader(name, labels, unnumbered).read(notebooks[name])
        elif (path := root / f"{page}.md").exists():
            figures = re.findall(r"^ *figure:$|\{figure", path.read_text("utf-8"), re.M)
            unnumbered["figure"] += len(figures)
    read_glossary((root / "pages" / "glossary.md").read_text("utf-8"), labels)
    return labels


class Reader:
    """Reads one notebook's labels, from its first cell to its last."""

    def __init__(self, name: str, labels: Labels, unnumbered: dict[str, int]):
        self.name, self.labels = name, labels
        found = NUMBERED.fullmatch(name)
        self.chapter = f"{found[1].removeprefix('0')}." if found else ""
        self.counts = dict.fromkeys(unnumbered, 0) if found else unnumbered
        self.heading = ""
        self.slugs = labels.headings.setdefault(name, {})

    def read(self, notebook: nbformat.NotebookNode) -> None:
        for cell in notebook.cells:
            with named(self.name, cell):
                if cell.cell_type == "markdown":
                    self.read_text(cell.source)
                elif figure := cell.metadata.get("mystnb", {}).get("figure"):
                    self.put(figure["name"], "figure")

    def read_text(self, source: str) -> None:
        waiting: list[str] = []
        for block in blocks(source):
            if block.kind == "label":
                waiting.append(block.name)
                continue
            self.read_block(block)
            for label in waiting:
                self.put(label)
            waiting = []

    def read_block(self, block: Block) -> None:
        if block.kind == "heading":
            self.head(bare(block.title))
        elif block.kind == "formula" and block.name:
            self.put(block.name, "equation")
        elif block.kind == "directive" and block.name in FIGURES:
            self.put(block.title or block.options["name"], "figure")
        elif block.kind == "directive" and block.name in EXERCISES:
            self.count("exercise")
            self.heading = f"Exercise {self.number('exercise')}: {block.title}"
            self.put(block.options["label"], "exercise", counted=True)
        if block.kind != "code":
            for role in ROLE.finditer("\n".join([block.title, *block.lines])):
                if role["role"] == "define":
                    place = LabelTarget(self.name, self.heading)
                    term = key_of(titled(role["of"])[1])
                    self.labels.defined.setdefault(term, place)

    def head(self, heading: str) -> None:
        self.heading = heading
        slug = default_slugify(heading)
        number = 1
        while slug in self.slugs:
            slug, number = f"{default_slugify(heading)}-{number}", number + 1
        self.slugs[slug] = heading

    def count(self, kind: str) -> None:
        self.counts[kind] += 1

    def number(self, kind: str) -> str:
        return f"{self.chapter}{self.counts[kind]}"

    def put(self, label: str, kind: str = "", counted: bool = False) -> None:
        if label in self.labels.places:
            raise NotPlain(f"the label {label!r} stands twice")
        if kind and not counted:
            self.count(kind)
        number = self.number(kind) if kind else ""
        self.labels.places[label] = LabelTarget(self.name, self.heading, kind, number)


def read_glossary(text: str, labels: Labels) -> None:
    """Take the meanings, and the places that explain another name of the same thing."""
    for names, meaning in glossary(text):
        terms = list(map(key_of, names))
        first = SENTENCE.match(meaning)
        place = next(filter(None, map(labels.defined.get, terms)), None)
        for term in terms:
            labels.meanings[term] = first[1] if first else meaning
            if place:
                labels.defined.setdefault(term, place)
