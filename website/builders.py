"""Sphinx's builders: which write pages, and the nodes that the others do not know."""

from collections.abc import Callable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxTranslator
from sphinx.util.nodes import NodeMatcher

SCREENS = ("html", "dirhtml", "singlehtml")  # pages with scripts; the site is the first
PAPER = "epub"  # pages on which nothing moves: the e-book's, and those that are printed
CELL = NodeMatcher(nodes.container, nb_element="cell_code")


def add_transform(
    app: Sphinx,
    change: Callable[[SphinxPostTransform], None],
    priority: int,
    builders: tuple[str, ...] = SCREENS,
) -> None:
    """Let a function change every page that one of these builders writes; () is all."""
    members = {
        "default_priority": priority,
        "builders": builders,
        "run": lambda self, **kwargs: change(self),
    }
    app.add_post_transform(type(change.__name__, (SphinxPostTransform,), members))


def element(tag: str, suffix: str = "", **attributes: str) -> tuple[Callable, Callable]:
    """Visitors that write a node as an element of HTML."""

    def visit(self: SphinxTranslator, node: nodes.Element) -> None:
        self.body.append(self.starttag(node, tag, suffix, **attributes))

    def depart(self: SphinxTranslator, node: nodes.Element) -> None:
        self.body.append(f"</{tag}>{suffix}")

    return visit, depart


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
