"""The book's one Sphinx extension: a light site that loads nothing from other hosts."""

import functools
import hashlib
import shutil
from importlib import import_module
from pathlib import Path

import pybtex.plugin
from sphinx.application import Sphinx
from sphinx.config import Config

from tools import executed, patience, states
from website.builders import SCREENS

HERE = Path(__file__).parent
# Those that handle one event do so in this order.
NAMES = """
addresses version formulas text.numbers drawings widgets phrases text.prose
text.second_reading text.claims text.glossary indexes search text.streams launch card
text.counts missing lean pages builders on_paper
"""
PARTS = [import_module(f"website.{name}") for name in NAMES.split()]
# The files that every page depends on.
READ_WITH = (
    "_config.yml",
    "website/**/*.py",
    "website/**/*.js",
    "website/*.mjs",
    "website/heights.json",
    "mygpt/explorers/**/*.mjs",
    "mygpt/explorers/**/*.css",
    "website/static/*",
    "pages/references.bib",
)


def set_keys(app: Sphinx, config: Config) -> None:
    """Notebooks run again when the package changes, pages when the site's code does.

    Neither the notebooks' cache nor Sphinx would notice.
    """
    root = Path(app.srcdir)
    cache = root / "_build" / ".jupyter_cache" / executed.key_of_results(root)
    config.nb_execution_cache_path = str(cache)
    config.book_site_key = executed.key_of_sources(root, READ_WITH)
    executed.fill(cache, root)


def changed_sources(app: Sphinx, env, added, changed, removed) -> list[str]:
    """The pages whose file or states are others than last time.

    Sphinx asks their times, and a clock may be set back.
    """
    digests = {}
    for page in env.found_docs:
        path = Path(env.doc2path(page))
        files = [path, states.place_of(path, Path(app.srcdir))]
        content = b"".join(file.read_bytes() for file in files if file.is_file())
        digests[page] = hashlib.sha256(content).digest()
    known = getattr(env, "book_sources", digests)
    env.book_sources = digests
    return [page for page in digests if known.get(page) != digests[page]]


def name_the_logo(app: Sphinx, config: Config) -> None:
    config.html_theme_options.setdefault(
        "logo", {"text": config.html_title, "alt_text": ""}
    )
    config.html_theme_options.setdefault("use_fullscreen_button", False)


def add_static_folders(app: Sphinx) -> None:
    """Not `_static`, whose scripts jupyter-book would add to every page."""
    app.config.html_static_path += [str(HERE / "static")]


def copy_katex(app: Sphinx, exception: Exception | None) -> None:
    """Copy KaTeX's style sheet and fonts into a folder of their own."""
    if exception is None and app.builder.name in SCREENS:
        target = Path(app.outdir, "_static", "katex")
        shutil.copytree(
            HERE / "katex",
            target,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("*.js", "*.md"),
        )


def setup(app: Sphinx) -> dict:
    patience.mend()  # myst-nb executes the notebooks in this process
    # It reads what every installed package declares again for each citation.
    pybtex.plugin.entry_points = functools.cache(pybtex.plugin.entry_points)
    app.add_config_value("book_site_key", "", "env", [str])
    app.connect("config-inited", set_keys)
    app.connect("config-inited", name_the_logo)
    app.connect("env-get-outdated", changed_sources)
    app.connect("builder-inited", add_static_folders)
    for part in PARTS:
        part.setup(app)
    app.connect("build-finished", copy_katex)
    app.add_css_file("mygpt.css", priority=900)
    app.add_js_file("site.js", loading_method="defer", priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
