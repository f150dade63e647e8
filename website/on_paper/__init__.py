"""The book on paper: the e-book, and the pages that are printed."""

from sphinx.application import Sphinx

from website.on_paper import epub, layout


def setup(app: Sphinx) -> None:
    layout.setup(app)
    epub.setup(app)
