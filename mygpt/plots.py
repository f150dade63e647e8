"""Arrays in, matplotlib Axes out; and the palette shared with the explorers.

Figures have no background of their own, and ink in middle tones, so that they can be
read on a light page and on a dark one.
"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

PALETTE = {
    "blue": "#2f86d6",
    "orange": "#d9700a",
    "green": "#12976f",
    "purple": "#b65fb0",
    "ink": "#6b7480",
}
SERIES = tuple(PALETTE[name] for name in ("blue", "orange", "green", "purple"))
DASHES = ("-", "--", "-.", (0, (1, 1.2)))
# A wiring of layers looks the same in the whole book, explorers included.
WIRINGS = ("plain", "residual", "pre-norm", "post-norm")
# Zero is a middle grey, since a white cell would glare on a dark page.
DIVERGING = LinearSegmentedColormap.from_list(
    "mygpt_diverging", [PALETTE["blue"], "#b7bdc4", PALETTE["orange"]]
)


def use_style() -> None:
    """Make every later figure follow the book's style."""
    ink = PALETTE["ink"]
    mpl.rcParams.update(
        {
            "figure.figsize": (5.4, 3.4),
            "figure.dpi": 144,
            "figure.facecolor": "none",
            "figure.constrained_layout.use": True,
            "savefig.facecolor": "none",
            "axes.facecolor": "none",
            "axes.edgecolor": ink,
            "axes.labelcolor": ink,
            "axes.titlecolor": ink,
            "axes.titlesize": "medium",
            "legend.fontsize": "small",
            "axes.grid": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": mpl.cycler(color=SERIES, linestyle=DASHES),
            "grid.color": ink,
            "grid.alpha": 0.25,
            "grid.linewidth": 0.6,
            "font.size": 11.5,
            "text.color": ink,
            "xtick.color": ink,
            "ytick.color": ink,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
            "svg.hashsalt": "mygpt",
        }
    )


def looks_of(names: Sequence[str]) -> dict[str, dict]:
    """The colour and dashes of each name, as arguments of `plot`."""
    left = [i for i in range(4) if WIRINGS[i] not in names] or list(range(4))
    others = [name for name in names if name not in WIRINGS]
    places = {name: left[i % len(left)] for i, name in enumerate(others)}
    places |= {name: WIRINGS.index(name) for name in names if name in WIRINGS}
    return {
        name: {"color": SERIES[places[name]], "linestyle": DASHES[places[name]]}
        for name in names
    }


def curves(
    ax: Axes,
    x: np.ndarray,
    ys: Mapping[str, np.ndarray],
    *,
    xlabel: str = "",
    ylabel: str = "",
    log: bool = False,
) -> Axes:
    """One line for each named array, told apart by colour and dashes.

    Those of WIRINGS keep their look; others take one that is left, in order.
    """
    looks = looks_of(list(ys))
    for name, y in ys.items():
        ax.plot(x, y, label=name, **looks[name])
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if log:
        ax.set_yscale("log")
    if len(ys) > 1:
        ax.legend()
    return ax


def bars(
    ax: Axes,
    labels: Sequence[str],
    values: np.ndarray,
    *,
    ylabel: str = "",
    color: str = "blue",
) -> Axes:
    """One bar for each label, from zero."""
    ax.bar(range(len(labels)), values, color=PALETTE[color], width=0.7)
    ax.axhline(0, color=PALETTE["ink"], linewidth=0.8)
    ax.set_xticks(range(len(labels)), labels)
    ax.grid(visible=False, axis="x")
    ax.set_ylabel(ylabel)
    return ax


def heatmap(
    ax: Axes,
    matrix: np.ndarray,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    digits: int | None = None,
) -> Axes:
    """Coloured cells, blue below zero and orange above; `digits` writes the numbers."""
    matrix = np.asarray(matrix)
    limit = np.abs(matrix).max() or 1.0
    image = ax.imshow(matrix, cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto")
    if rows is not None:
        ax.set_yticks(range(len(rows)), rows)
    if columns is not None:
        ax.set_xticks(range(len(columns)), columns)
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    if digits is None:
        ax.figure.colorbar(image, ax=ax, shrink=0.9).outline.set_visible(False)
    else:
        for (i, j), value in np.ndenumerate(matrix):
            ax.text(
                j, i, f"{value:.{digits}f}", ha="center", va="center", color="#1f2328"
            )
    return ax
