"""404.html, which needs no other file: it may be shown at any depth."""

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import quote, urlsplit

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from website.addresses import address
from website.pages import THEME_AT_ONCE
from website.palette import as_variables

HERE = Path(__file__).parent
LOGO = HERE / "static" / "favicon.svg"
PAGE = HERE / "missing.html"


def contents(env: BuildEnvironment, docname: str) -> Iterator[tuple[str, str]]:
    """(page, numbered title) of every page below one, in order."""
    for child in env.toctree_includes.get(docname, []):
        title = env.titles[child]
        number = ".".join(map(str, title.get("secnumber") or ()))
        yield (
            f"{address(child)}.html",
            f"{number}. {title.astext()}" if number else title.astext(),
        )
        yield from contents(env, child)


def missing_page(book: str, home: str, pages: list[tuple[str, str]], path: str) -> str:
    """The page for wrong addresses; `path` is the site's path on its host."""
    logo = LOGO.read_text(encoding="utf-8").strip()
    links = (
        f'<li><a href="{quote(page)}">{escape(title)}</a></li>' for page, title in pages
    )
    return Template(PAGE.read_text(encoding="utf-8")).substitute(
        book=escape(book),
        home=quote(home),
        icon=quote(logo),
        logo=logo.replace("<svg ", '<svg aria-hidden="true" ', 1),
        pages="\n".join(links),
        path=json.dumps(path),
        light=as_variables("light"),
        dark=as_variables("dark"),
        theme=THEME_AT_ONCE.strip(),
    )


def write_page(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    root = app.config.root_doc
    html = missing_page(
        app.config.html_title,
        f"{address(root)}.html",
        list(contents(app.env, root)),
        urlsplit(app.config.site_url).path or "/",
    )
    Path(app.outdir, "404.html").write_text(html, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", write_page)  # before the last pass adds the policy
