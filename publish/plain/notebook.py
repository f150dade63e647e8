"""One notebook of the plain edition, made from a committed one."""

import re
from collections.abc import Callable

import nbformat
from nbformat import NotebookNode, v4

from publish.plain.labels import NUMBERED, Labels, named
from publish.plain.marks import HEADING, NotPlain, bare
from publish.plain.names import ShortNames
from publish.plain.sources import Sources
from publish.plain.text import Cell, Text, captioned, with_anchors
from publish.plain.words import Words

COLLAPSED = "jp-MarkdownHeadingCollapsed"
KEPT_TAGS = ("raises-exception",)  # Jupyter goes on behind such a cell
ABOUT = (
    "> **{what} *mygpt*, a GPT-2 from nothing** ([all chapters](00_contents.ipynb)). "
    "Run the cells from the top as you read, or choose *Run all*. Hints and solutions "
    "open at ▸; the code for figures and the sections after *Stop here, or go deeper* "
    "are folded too, and open at their dots or *cells hidden*. A solution's code is "
    "text: to run it, copy it into the cell for your answer. A figure with controls is "
    "a picture until its cell has run."
)
NOTES = {
    "varies": "*This output varies by machine.*",
    "live-lab": "*A picture until this cell has run; then the controls move it.*",
    "raises-exception": "*This error is deliberate: go on with the next cell.*",
}
INNER = re.compile(r"\]\(((?:[\w-]+\.ipynb)?(?:#[^)\s]*)?)[) ]")  # links


class Writer:
    """Writes one notebook; `first_cell` is the code that installs the package."""

    def __init__(
        self,
        name: str,
        labels: Labels,
        sources: Sources,
        first_cell: str,
        picture: Callable[[str], bytes],
    ):
        self.words = Words(name, labels, sources)
        self.text = Text(self.words, picture)
        self.names = ShortNames()
        self.first_cell = first_cell

    def write(self, notebook: NotebookNode) -> NotebookNode:
        made = v4.new_notebook(metadata=dict(notebook.metadata), cells=[])
        for cell in notebook.cells:
            with named(self.words.notebook, cell):
                made.cells += self.cells(cell)
        if self.text.solution:
            where = f"{self.words.notebook}.ipynb: exercise {self.text.solved}"
            raise NotPlain(f"{where}: the solution is not closed")
        if self.words.cited:
            made.cells.append(self.list_of_sources())
        collapsed = [one.id for one in made.cells if one.metadata.get(COLLAPSED)]
        made.metadata["colab"] = {"collapsed_sections": collapsed, "provenance": []}
        return made

    def cells(self, cell: NotebookNode) -> list[NotebookNode]:
        if cell.cell_type == "code":
            return self.code(cell)
        parts = self.text.cells(cell.source)
        if cell.metadata.get(COLLAPSED):
            head, *rest = parts[0].parts
            parts[0].parts = rest
            parts.insert(0, Cell([head], folds=True))
        return [
            written(part, cell.id if number == 0 else f"{cell.id}-{number + 1}")
            for number, part in enumerate(filter(lambda part: any(part.parts), parts))
        ]

    def code(self, cell: NotebookNode) -> list[NotebookNode]:
        tags = cell.metadata.get("tags", [])
        if "setup" in tags:
            return [self.about(), self.code_cell(cell, self.first_cell)]
        mystnb = cell.metadata.get("mystnb", {})
        alt = " ".join(mystnb.get("image", {}).get("alt", "").split())
        figure = mystnb.get("figure")
        number = self.words.place(figure["name"]).number if figure else ""
        below = [words for tag, words in NOTES.items() if tag in tags]
        if figure:
            caption = self.words.plain(figure["caption"].strip())
            below.insert(0, captioned(number, caption))
        if self.text.solution:
            self.names.solution(cell.source)
            self.text.shown(cell, self.text.solution, alt)
            self.text.solution.parts += below
            return []
        self.names.cell(cell.source)
        title = ""
        if "hide-input" in tags or "hide-cell" in tags:
            title = f"Code for figure {number}" if figure else "Code for the text"
        made = self.code_cell(cell, cell.source, title)
        if "hide-cell" in tags:
            made.metadata["collapsed"] = True
            made.metadata["jupyter"]["outputs_hidden"] = True
        if mystnb.get("markdown_format") == "myst":
            for output in made.outputs:
                text = output.data["text/markdown"]
                output.data["text/markdown"] = self.words.plain(text)
        if alt:
            for output in made.outputs:
                if "image/png" in output.get("data", {}):
                    output.metadata["image/png"] = {"alt": alt}
        if not below:
            return [made]
        source = "\n\n".join(below)
        return [made, v4.new_markdown_cell(source, id=f"{cell.id}-caption")]

    def about(self) -> NotebookNode:
        """What the notebook is, and how to use it."""
        found = NUMBERED.match(self.words.notebook)
        what = f"Chapter {found[1].removeprefix('0')} of" if found else "A page of"
        return v4.new_markdown_cell(ABOUT.format(what=what), id="in-this-notebook")

    def code_cell(
        self, cell: NotebookNode, source: str, title: str = ""
    ) -> NotebookNode:
        """The cell, its code folded under a title if there is one."""
        made = nbformat.from_dict(cell)
        tags = [tag for tag in cell.metadata.get("tags", []) if tag in KEPT_TAGS]
        made.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        made.source = source
        if title:
            made.source = f"# @title {title}\n{source}"
            made.metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}
        return made

    def list_of_sources(self) -> NotebookNode:
        cited = [self.words.sources[key] for key in self.words.cited]
        cited.sort(key=lambda source: (source.authors, source.year))
        lines = "\n".join(f"- {source.reference}" for source in cited)
        return v4.new_markdown_cell(f"## Sources\n\n{lines}", id="sources")


def written(part: Cell, name: str) -> NotebookNode:
    """A new cell; drawings stand in it as data, for Colab shows no attachment."""
    pictures = "\n".join(
        f"[{name}]: data:image/png;base64,{data}"
        for name, data in part.pictures.items()
    )
    source = "\n\n".join(filter(None, [*part.parts, pictures]))
    if part.code:
        return v4.new_code_cell(source, id=name)
    made = v4.new_markdown_cell(source, id=name)
    if part.folds:
        made.metadata |= {COLLAPSED: True, "id": name}
    return made


def put_anchors(notebook: NotebookNode, headings: set[str]) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = with_anchors(cell.source, headings)


def links_nowhere(notebooks: dict[str, NotebookNode]) -> list[str]:
    """Links to a heading that is not there, as "notebook: link"."""
    headings = {
        name: {
            bare(title["text"].partition("<a id")[0])
            for cell in notebook.cells
            if cell.cell_type == "markdown"
            for line in cell.source.splitlines()
            if (title := HEADING.fullmatch(line))
        }
        for name, notebook in notebooks.items()
    }
    found = []
    for name, notebook in notebooks.items():
        for cell in notebook.cells:
            if cell.cell_type != "markdown":
                continue
            for to in INNER.findall(cell.source):
                page, _, anchor = to.partition("#")
                target = headings.get(page.removesuffix(".ipynb") or name)
                names = {} if target is None else {h.replace(" ", "-") for h in target}
                if target is None or (anchor and unescaped(anchor) not in names):
                    found.append(f"{name}: {to}")
    return found


def unescaped(anchor: str) -> str:
    return re.sub(r"%([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), anchor)
