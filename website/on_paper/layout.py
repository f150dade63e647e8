"""Pages for paper: what moves or folds on the site stands still and open.

Code that the site folds is left out: it draws the figures, or prepares what a cell
needs. The notebooks have it.
"""

from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import NodeMatcher

from website.builders import PAPER
from website.pages import DENSITY
from website.widgets import explorer

CELLS = NodeMatcher(nodes.container, nb_element="cell_code")
EXPLORER = "A still: the explorer itself moves "
LAB = "A still: its controls need Python. Move them "
PLACE = "on this chapter’s page"
NOWHERE = "on the book’s site"


class StandStill(SphinxPostTransform):
    """Opens what is folded, removes hidden code, and puts stills in place."""

    default_priority = 195  # before myst-nb folds hidden code
    builders = (PAPER,)

    def run(self, **kwargs) -> None:
        for cell in list(self.document.findall(CELLS)):
            self.show_labs(cell)
            remove_hidden(cell)
        for block in self.document.findall(nodes.Admonition):
            block["classes"] = [one for one in block["classes"] if one != "dropdown"]
            for holder in list(block.findall(nodes.section)):
                place = holder.parent.index(holder)  # its id is the same everywhere
                holder.parent[place : place + 1] = holder.children
        for image in list(self.document.findall(explorer)):
            put_note(image, self.note(EXPLORER))
            image.replace_self(image.children)
        for image in self.document.findall(nodes.image):
            give_size(image, Path(self.env.srcdir))

    def show_labs(self, cell: nodes.container) -> None:
        if "live-lab" not in cell["cell_metadata"].get("tags", []):
            return
        for line in list(cell.findall(nodes.raw)):
            if "output-note" in line.astext():
                line.replace_self(self.note(LAB))

    def note(self, words: str) -> nodes.paragraph:
        address = self.config.site_url
        place = nodes.inline("", NOWHERE)
        if address:
            page = f"{address}{self.env.docname}.html"
            place = nodes.reference("", PLACE, refuri=page, internal=False)
        return nodes.paragraph(
            "", "", nodes.Text(words), place, nodes.Text("."), classes=["output-note"]
        )


def put_note(image: explorer, note: nodes.paragraph) -> None:
    """Put a line below a still: after the figure that holds it, if there is one."""
    holder = image
    while isinstance(holder.parent, nodes.figure | nodes.reference):
        holder = holder.parent
    holder.parent.insert(holder.parent.index(holder) + 1, note)


def remove_hidden(cell: nodes.container) -> None:
    """Remove the parts of a cell that the site folds, and a cell that has no others."""
    hidden = {"input": "source", "output": "output"}
    mode = cell.get("hide_mode") or ""
    for part in list(cell.children):
        kind = part.get("nb_element", "").removeprefix("cell_code_")
        if mode == "all" or any(hidden.get(one) == kind for one in mode.split("+")):
            cell.remove(part)
    if not cell.children:
        cell.parent.remove(cell)


def give_size(image: nodes.image, root: Path) -> None:
    """Give a picture the width that it has on the site."""
    path = root / image["uri"].lstrip("/")
    if "width" in image or not path.is_file():
        return
    if path.suffix == ".svg":
        box = ElementTree.parse(path).getroot().get("viewBox", "0 0 480 0").split()
        image["width"] = f"{float(box[2]) * 1.25:g}px"
    elif path.suffix == ".png":
        with Image.open(path) as picture:
            image["width"] = f"{round(picture.width / DENSITY)}px"


def setup(app: Sphinx) -> None:
    app.add_post_transform(StandStill)
