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

from website.addresses import address
from website.builders import CELL, PAPER, add_transform
from website.pages import DENSITY
from website.widgets import explorer

EXPLORER = "A still: the explorer itself moves "
LAB = "A still: its controls need Python. Move them "
PLACE = "on this chapter’s page"
NOWHERE = "on the book’s site"


def stand_still(page: SphinxPostTransform) -> None:
    """Open what is folded, remove hidden code, and put stills in place."""
    for cell in list(page.document.findall(CELL)):
        for line in list(cell.findall(nodes.raw)):
            if "output-note" in line.astext():  # below a live lab
                line.replace_self(note(page, LAB))
        remove_hidden(cell)
    for block in page.document.findall(nodes.Admonition):
        block["classes"] = [one for one in block["classes"] if one != "dropdown"]
        for holder in list(block.findall(nodes.section)):
            place = holder.parent.index(holder)  # its id is the same everywhere
            holder.parent[place : place + 1] = holder.children
    for image in list(page.document.findall(explorer)):
        put_note(image, note(page, EXPLORER))
        image.replace_self(image.children)
    for image in page.document.findall(nodes.image):
        give_size(image, Path(page.env.srcdir))


def note(page: SphinxPostTransform, words: str) -> nodes.paragraph:
    """The line that says where a still moves."""
    site, place = page.config.site_url, nodes.inline("", NOWHERE)
    if site:
        there = f"{site}{address(page.env.docname)}.html"
        place = nodes.reference("", PLACE, refuri=there, internal=False)
    parts = nodes.Text(words), place, nodes.Text(".")
    return nodes.paragraph("", "", *parts, classes=["output-note"])


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
    # before myst-nb folds hidden code
    add_transform(app, stand_still, 195, (PAPER,))
