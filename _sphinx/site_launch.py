"""Links to run a chapter; their addresses follow the repository's in `_config.yml`."""

from html import escape

from sphinx.application import Sphinx
from sphinx.config import Config


def launch_links(config: Config, docname: str) -> list[tuple[str, str]]:
    """(name, address) of each place where a page's notebook can be run."""
    theme = config.html_theme_options
    repository = "/".join(theme["repository_url"].rstrip("/").split("/")[-2:])
    branch = theme.get("repository_branch", "main")
    places = theme.get("launch_buttons", {})
    colab, binder = places.get("colab_url", ""), places.get("binderhub_url", "")
    return [
        (
            "Colab",
            f"{colab.rstrip('/')}/github/{repository}/blob/{branch}/{docname}.ipynb",
        ),
        (
            "Binder",
            f"{binder.rstrip('/')}/v2/gh/{repository}/{branch}"
            f"?urlpath=lab/tree/{docname}.ipynb",
        ),
    ]


def launch_line(config: Config, docname: str) -> str:
    """The line under a chapter's title."""
    links = [
        f'<a href="{escape(url)}">{name}</a>'
        for name, url in launch_links(config, docname)
    ]
    source = "../" * docname.count("/") + f"_sources/{docname}.ipynb"
    links.append(f'<a href="{source}" download="">download the notebook</a>')
    dot = ' <span aria-hidden="true">·</span> '
    return f'<p class="launch-line">Run this chapter: {dot.join(links)}</p>'


def add_launch_line(
    app: Sphinx, pagename: str, templatename: str, context: dict, doctree
) -> None:
    if context.get("page_source_suffix") == ".ipynb" and "body" in context:
        line = launch_line(app.config, pagename)
        context["body"] = context["body"].replace("</h1>", f"</h1>\n{line}", 1)


def plain_buttons(
    app: Sphinx, pagename: str, templatename: str, context: dict, doctree
) -> None:
    """Remove other hosts' logos and inline handlers from the theme's header buttons.

    Colab and Binder open only notebooks, so other pages have no launch group.
    """
    kept = []
    is_notebook = context.get("page_source_suffix") == ".ipynb"
    for button in context.get("header_buttons", []):
        if button.get("label") == "launch-buttons" and not is_notebook:
            continue
        if button["type"] == "group":
            button["buttons"] = [b for b in button["buttons"] if b["type"] == "link"]
            for inner in button["buttons"]:
                if not inner.get("icon", "fa").startswith("fa"):
                    inner["icon"] = None
        kept.append(button)
    context["header_buttons"] = kept


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_launch_line)
    app.connect(
        "html-page-context", plain_buttons, priority=600
    )  # after the theme's own
