"""Schematics inlined in the page, so that the page's theme colours them."""

import re
from collections import Counter
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from website.builders import add_transform

LOGGER = logging.getLogger(__name__)
DARK_ROOT = re.compile(
    r"@media\s*\(prefers-color-scheme:\s*dark\)\s*\{\s*:root\s*\{[^}]*\}\s*\}"
)
LIGHT_ROOT = re.compile(r":root\s*\{[^}]*\}")
PROLOGUE = re.compile(r"^\s*(<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|\s)*", re.S)
ROOT_TAG = re.compile(r"<svg\b[^>]*>", re.S)
SPOKEN = re.compile(r"<(title|desc)\b[^>]*>.*?</\1>", re.S)
ID = re.compile(r'\bid="([^"]+)"')


class SchematicError(ValueError):
    """An SVG file that cannot be inlined, with the cause."""


def inline(svg: str, alt: str, copy: int = 1) -> str:
    """The `svg` element for a page, labelled `alt`, with unique ids.

    `copy` counts the times that a page shows the same file.
    """
    svg = PROLOGUE.sub("", svg, count=1)
    tag = ROOT_TAG.match(svg)
    root_id = ID.search(tag.group()) if tag else None
    if root_id is None or "viewBox" not in tag.group():
        raise SchematicError("expected an <svg> element with an id and a viewBox first")
    if re.search(r"<script|\bon\w+=|(href|src)=\"(?!#)", svg):
        raise SchematicError(
            "a script, a handler or a link to another file is not allowed"
        )
    root = root_id.group(1)
    svg = LIGHT_ROOT.sub("", DARK_ROOT.sub("", svg))
    svg = SPOKEN.sub("", svg)  # the label says it; a <title> would pop up
    svg = _own_ids(svg, root, root if copy == 1 else f"{root}-{copy}")
    tag = ROOT_TAG.match(svg).group()
    attributes = re.sub(r'\s(width|height|role|aria-\w+)="[^"]*"', "", tag[4:-1])
    label = escape(" ".join(alt.split()))
    width = float(re.search(r'viewBox="[^"]*?([\d.]+)[ ,]+[\d.]+\s*"', tag).group(1))
    head = f'<svg{attributes} role="img" aria-label="{label}" class="schematic" '
    head += f'style="max-width:{width * 1.25:g}px">'
    return head + re.sub(r"\n\s*", "\n", svg[len(tag) :]).strip()


def _own_ids(svg: str, root: str, new_root: str) -> str:
    """Prefix every id with the root's, and change the references to match."""
    own = {
        name: f"{new_root}-{name.removeprefix(root + '-')}" for name in ID.findall(svg)
    }
    own[root] = new_root
    svg = ID.sub(lambda found: f'id="{own[found.group(1)]}"', svg)
    return re.sub(
        r"#([\w-]+)", lambda found: "#" + own.get(found.group(1), found.group(1)), svg
    )


def inline_schematics(page: SphinxPostTransform) -> None:
    """Replace each image of an SVG file with the drawing itself, on the site only."""
    seen: Counter[str] = Counter()
    for image in list(page.document.findall(nodes.image)):
        uri, alt = image["uri"], image.get("alt", "")
        if not uri.endswith(".svg") or "://" in uri or "jupyter_execute" in uri:
            continue
        seen[uri] += 1
        text = Path(page.env.srcdir, uri).read_text(encoding="utf-8")
        try:
            if not alt.strip():
                raise SchematicError("it has no description")
            html = inline(text, alt, seen[uri])
        except SchematicError as cause:
            LOGGER.warning("%s: %s", uri, cause, location=image, type="schematic")
            continue
        image.replace_self(nodes.raw("", html, format="html"))


def setup(app: Sphinx) -> None:
    add_transform(app, inline_schematics, 300)
