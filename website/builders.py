"""Sphinx's builders: which write pages, and the nodes that the others do not know."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxTranslator

SCREENS = ("html", "dirhtml", "singlehtml")  # pages with scripts; the site is the first
PAPER = "epub"  # pages on which nothing moves: the e-book's, and those that are printed


def pass_through(self: SphinxTranslator, node: nodes.Element) -> None:
    """Write what the node holds, and nothing of its own."""


def let_nodes_pass(app: Sphinx) -> None:
    """Give each node that only HTML knows a visitor in this builder's format.

    Sphinx would stop at an unknown node: one of ours, or of an extension.
    """
    builder, known = app.builder, app.registry.translation_handlers
    if builder.format == "html":
        # Visitors under a builder's own name would hide all those of HTML.
        if builder.name in known:
            known[builder.name] = {**known["html"], **known[builder.name]}
        return
    own = known.setdefault(builder.format, {})
    writer = getattr(builder, "default_translator_class", None)
    for name in known["html"].keys() - own.keys():
        if not hasattr(writer, f"visit_{name}"):
            own[name] = (pass_through, pass_through)


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", let_nodes_pass)
