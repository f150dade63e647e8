"""The settings of the e-book, whose pages `publish.paper` also prints."""

from pathlib import Path
from xml.etree import ElementTree

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

from website.builders import PAPER
from website.card import TAGLINE
from website.on_paper.builder import Book
from website.on_paper.edition import COVER

LOGGER = logging.getLogger(__name__)
THEME = Path(__file__).with_name("theme")
# Events whose handlers write or change the pages of the site.
SITE_EVENTS = ("html-page-context", "html-collect-pages", "build-finished")


def name_it(app: Sphinx, config: Config) -> None:
    """Set what every builder has to find equal, or each would read the book again."""
    from mygpt import __version__

    about = " ".join(TAGLINE)
    repository = config.html_theme_options.get("repository_url", "")
    for name, value in {
        "version": __version__,
        "epub_basename": "mygpt",
        "epub_theme": "paper",
        "epub_title": f"{config.html_title}: {about[0].lower()}{about[1:]}",
        "epub_description": about,
        "epub_contributor": config.author,
        "epub_identifier": config.site_url or repository or config.html_title,
        "epub_uid": "book",
        "epub_cover": (COVER, ""),
        "epub_tocscope": "includehidden",
        "epub_tocdup": False,
        "epub_show_urls": "no",
        "epub_use_index": False,
    }.items():
        config[name] = value


def leave_the_site(app: Sphinx) -> None:
    """Let nothing that makes the site's pages change those of the e-book."""
    if app.builder.name == PAPER:
        for event in SITE_EVENTS:
            app.events.listeners.get(event, []).clear()
        app.connect("build-finished", check_pages)


def check_pages(app: Sphinx, exception: Exception | None) -> None:
    """Warn of a page that is not XML: an e-reader would show nothing of it."""
    for page in sorted(Path(app.outdir).rglob("*.xhtml")):
        try:
            ElementTree.parse(page)
        except ElementTree.ParseError as cause:
            LOGGER.warning("%s is not XML: %s", page.name, cause, type="epub")


def setup(app: Sphinx) -> None:
    app.add_builder(Book, override=True)
    app.add_html_theme("paper", str(THEME))
    app.connect("config-inited", name_it)
    app.connect("builder-inited", leave_the_site)
