"""Links to run a chapter, as far as `_config.yml` says that they are published."""

from html import escape

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from tools.publication import PACKAGES, of_site, wheel_name

UNPUBLISHED = (
    "In the book’s folder, <code>make lab</code> opens every chapter in JupyterLab. "
    "Once the notebooks are published, Colab and Binder will open them from here."
)


class Install(SphinxDirective):
    """{install}: the line that installs the package, and the file that it needs."""

    def run(self) -> list[nodes.Node]:
        found = of_site(self.config)
        line = found.install_line()
        shown = nodes.literal_block(line, line, language="console")
        if found.package:
            return [shown]
        wheel = wheel_name()
        link = f'<a href="{PACKAGES}/{wheel}" download="">{wheel}</a>'
        note = f"<p>Run it in the folder where you saved its file, {link}.</p>"
        on_site = addnodes.only("", nodes.raw("", note, format="html"), expr="not epub")
        return [shown, on_site]


def launch_links(config: Config, docname: str) -> list[tuple[str, str]]:
    """(name, address) of each place where a page's notebook can be run."""
    return of_site(config).launch_links(docname.rpartition("/")[2])


# A chapter is printed as it is unfolded; `site.js` unfolds all of it for this button.
PRINT_ALL = (
    '<button type="button" title="With the second reading, solutions and sources. What '
    'is folded is not printed otherwise.">print all of it</button>'
)


def launch_line(config: Config, docname: str, folded: bool = False) -> str:
    """The line under the title of a chapter, which has a `folded` part or none."""
    links = [
        f'<a href="{escape(url)}">{name}</a>'
        for name, url in launch_links(config, docname)
    ]
    download = f'<a href="{notebook_of(docname)}" download="">download the notebook</a>'
    up = "../" * docname.count("/")
    package = f'<a href="{up}using.html#install-the-package">install the package</a>'
    links += [download, package]
    dot = ' <span aria-hidden="true">·</span> '
    line = f"Run this chapter: {dot.join(links)}"
    if len(links) == 2:
        line += f". {UNPUBLISHED}"
    if folded:
        line += f"{dot}{PRINT_ALL}"
    return f'<p class="launch-line">{line}</p>'


def notebook_of(docname: str) -> str:
    """Where the plain edition of a page's notebook is, from the page."""
    return "../" * docname.count("/") + f"notebooks/{docname.rpartition('/')[2]}.ipynb"


def add_launch_line(app: Sphinx, page: str, _, context: dict, doctree) -> None:
    if context.get("page_source_suffix") == ".ipynb" and "body" in context:
        folded = '<details class="further">' in context["body"]
        line = launch_line(app.config, page, folded)
        context["body"] = context["body"].replace("</h1>", f"</h1>\n{line}", 1)


def plain_buttons(app: Sphinx, page: str, _, context: dict, doctree) -> None:
    """Remove other hosts' logos and inline handlers from the theme's header buttons.

    Colab and Binder open only notebooks, so other pages have no launch group.
    """
    kept = []
    is_notebook = context.get("page_source_suffix") == ".ipynb"
    for button in context.get("header_buttons", []):
        if button.get("label") == "launch-buttons" and not is_notebook:
            continue
        if button.get("label") == "launch-buttons":
            button["buttons"] = launch_buttons(app.config, page)
        elif button["type"] == "group":
            button["buttons"] = [b for b in button["buttons"] if b["type"] == "link"]
            for inner in button["buttons"]:
                if inner.get("url", "").endswith(f"_sources/{page}.ipynb"):
                    inner["url"] = notebook_of(page)
                if not inner.get("icon", "fa").startswith("fa"):
                    inner["icon"] = None
        kept.append(button)
    context["header_buttons"] = kept


def launch_buttons(config: Config, docname: str) -> list[dict]:
    """The header's buttons, to the plain edition in place of the page's source."""
    return [
        {"type": "link", "text": name, "tooltip": f"Open in {name}", "url": url}
        for name, url in launch_links(config, docname)
    ]


def setup(app: Sphinx) -> None:
    app.add_directive("install", Install)
    app.connect("html-page-context", add_launch_line)
    app.connect(
        "html-page-context", plain_buttons, priority=600
    )  # after the theme's own
