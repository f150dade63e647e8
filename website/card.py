"""What other sites show when a page is shared: its title, a summary, a drawn card.

They need absolute addresses. Without `site_url` there is none, and the card is named
relative to the page.
"""

import re
from html import escape, unescape
from math import erf, sqrt
from pathlib import Path

import matplotlib as mpl
import numpy as np
from docutils import nodes
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.config import Config

from website.addresses import address
from website.builders import SCREENS
from website.palette import palette

CARD = "_static/card.png"
SIZE = (1200, 630)
TAGLINE = (
    "A GPT-2 from nothing,",
    "and the half of the transformer block",
    "that others hurry past",
)
PARTS = "feed-forward network · activation · residual connections · layer normalisation"
ALT = "The title mygpt beside the slopes of ReLU, GELU and SiLU."
LONGEST_SUMMARY = 200


def summary(doctree: nodes.document | None) -> str:
    """The first paragraph, with the list that it introduces, as one line."""
    paragraph = doctree and next(iter(doctree.findall(nodes.paragraph)), None)
    if not paragraph:
        return ""
    text = paragraph.astext()
    following = paragraph.next_node(descend=False, siblings=True)
    if isinstance(following, nodes.bullet_list) and not text.rstrip().endswith("."):
        text += " " + " ".join(item.astext() for item in following)
    text = " ".join(text.split())
    if len(text) <= LONGEST_SUMMARY:
        return text
    return text[:LONGEST_SUMMARY].rpartition(" ")[0].rstrip(" ,;:") + " …"


def tags(config: Config, page: str, title: str, description: str) -> str:
    """The page's meta elements."""
    site, page = config.site_url, address(page)
    properties = {
        "og:type": "website",
        "og:site_name": config.html_title,
        "og:title": title,
        "og:description": description,
        "og:image": (site or "../" * page.count("/")) + CARD,
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
        "og:image:alt": ALT,
    }
    if site:
        properties["og:url"] = f"{site}{page}.html"
    names = {"description": description, "twitter:card": "summary_large_image"}
    return "".join(
        f'\n    <meta {kind}="{key}" content="{escape(value)}" />'
        for kind, pairs in (("property", properties), ("name", names))
        for key, value in pairs.items()
    )


def add_tags(app: Sphinx, page: str, _, context: dict, doctree) -> None:
    config = app.config
    title = unescape(re.sub("<[^>]+>", "", context.get("title") or config.html_title))
    about = summary(doctree) or " ".join(TAGLINE)
    context["metatags"] = context.get("metatags", "") + tags(config, page, title, about)


def draw(path: Path, title: str) -> None:
    """Draw the card: the book's name and subject beside three slopes from chapter 6."""
    from mygpt import plots

    colours = palette("light")
    with mpl.rc_context():
        plots.use_style()
        mpl.rcParams["font.family"] = "DejaVu Sans"  # comes with matplotlib
        figure = Figure(figsize=(12, 6.3), dpi=100, layout="none")
        write = figure.text
        write(0.06, 0.72, title, size=62, weight="bold", color=colours["ink"])
        for number, line in enumerate(TAGLINE):
            write(0.06, 0.6 - 0.075 * number, line, size=22, color=colours["ink"])
        write(0.06, 0.09, PARTS, size=16.5, color=colours["muted"])
        ax = figure.add_axes((0.6, 0.24, 0.34, 0.6))
        x = np.linspace(-4, 4, 401)
        for (name, y), style, colour in zip(
            slopes(x).items(), plots.DASHES, plots.SERIES, strict=False
        ):
            ax.plot(x, y, label=name, linestyle=style, color=colour, linewidth=4)
        ax.set(xlim=(-4, 4), ylim=(-0.2, 1.25), xticks=(-4, 0, 4), yticks=(0, 1))
        ax.tick_params(labelsize=16, length=0)
        ax.legend(
            fontsize=17, labelcolor=colours["ink"], loc="upper left", borderaxespad=0
        )
        figure.savefig(path, facecolor=colours["paper"], metadata={"Software": None})


def slopes(x: np.ndarray) -> dict[str, np.ndarray]:
    gate = np.array([(1 + erf(value / sqrt(2))) / 2 for value in x])
    logistic = 1 / (1 + np.exp(-x))
    return {
        "ReLU": np.heaviside(x, np.nan),
        "GELU": gate + x * np.exp(-(x**2) / 2) / sqrt(2 * np.pi),
        "SiLU": logistic * (1 + x * (1 - logistic)),
    }


def write_card(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.name in SCREENS:
        draw(Path(app.outdir, CARD), app.config.html_title)


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_tags)
    app.connect("build-finished", write_card)
