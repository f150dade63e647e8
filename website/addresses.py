"""The pages of the folder `pages/` stand at the top of the site.

The folder is for the repository alone: `pages/using.md` is `using.html`.
"""

from sphinx.application import Sphinx

FOLDER = "pages/"


def address(page: str) -> str:
    """Return where a page stands on the site, without a suffix."""
    return page.removeprefix(FOLDER)


def place_pages(app: Sphinx) -> None:
    """Make the site's builder write, and link to, the pages at their addresses."""
    builder = app.builder
    if builder.name != "html":
        return
    file_of, uri_of = builder.get_outfilename, builder.get_target_uri
    builder.get_outfilename = lambda page: file_of(address(page))
    builder.get_target_uri = lambda page, typ=None: uri_of(address(page), typ)


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", place_pages)
