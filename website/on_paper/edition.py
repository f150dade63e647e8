"""The first pages of the e-book and of the printed book: a cover, and what differs."""

from html import escape
from pathlib import Path
from string import Template

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from sphinx.config import Config

from website.card import TAGLINE, slopes
from website.palette import palette

COVER = "_static/cover.png"
COVER_ALT = "The title mygpt above the slopes of ReLU, GELU and SiLU."
INCHES, DOTS = (8.27, 11.69), 194  # A4; 1604 pixels wide
EDITION = Path(__file__).with_name("edition.html")


def edition(config: Config) -> str:
    """The page after the cover, without the parts that no setting gives an address."""
    named = {
        "The book’s site": config.site_url,
        "Its repository": config.html_theme_options.get("repository_url", ""),
    }
    links = (
        f'{name}: <a href="{escape(url)}">{escape(url)}</a>.'
        for name, url in named.items()
        if url
    )
    return Template(EDITION.read_text(encoding="utf-8")).substitute(
        title=escape(config.html_title),
        tagline=escape(" ".join(TAGLINE)),
        author=escape(config.author),
        version=escape(config.version),
        places="<br />".join(links),
        rights=f"© {escape(config.copyright)}",
    )


def draw_cover(path: Path, title: str, author: str) -> None:
    """Draw the cover, as a PNG or as an SVG: a name and three slopes from chapter 6."""
    from mygpt import plots

    colours = palette("light")
    with mpl.rc_context():
        plots.use_style()
        mpl.rcParams.update({"font.family": "DejaVu Sans", "svg.hashsalt": title})
        figure = Figure(figsize=INCHES, dpi=DOTS, layout="none")
        write = figure.text
        write(0.1, 0.83, title, size=64, weight="bold", color=colours["ink"])
        for number, line in enumerate(TAGLINE):
            write(0.103, 0.76 - 0.032 * number, line, size=19, color=colours["ink"])
        draw_slopes(figure.add_axes((0.0, 0.17, 1.0, 0.42)), colours)
        write(0.103, 0.07, author, size=14, color=colours["muted"])
        empty = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
        kind = path.suffix[1:]
        figure.savefig(path, facecolor=colours["paper"], metadata=empty[kind])


def draw_slopes(ax, colours: dict[str, str]) -> None:
    """Draw the slopes from edge to edge, each named at its right end."""
    from mygpt import plots

    x = np.linspace(-5, 5, 801)
    for (name, y), colour in zip(slopes(x).items(), plots.SERIES, strict=False):
        ax.plot(x, y, color=colour, linewidth=5, label=name)
    ax.set(xlim=(-5, 5), ylim=(-0.16, 1.2))
    ax.axhline(0, color=colours["line"], linewidth=1.2, zorder=0)
    ax.set_axis_off()
    ax.legend(
        fontsize=17,
        labelcolor=colours["ink"],
        loc="upper left",
        bbox_to_anchor=(0.08, 0.95),
    )
