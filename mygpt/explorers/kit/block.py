"""The places of a transformer block, and a still of it as kit/block.mjs draws it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from mygpt import plots
from mygpt.explorers.kit.text import drawable

NAMES = {  # of the places, in order, with what stands there when no stage does
    "input": "stream",
    "norm1": "norm",
    "attention": "attention",
    "middle": "sum",
    "norm2": "norm",
    "hidden": "hidden layer",
    "activation": "activation",
    "network": "network",
    "output": "sum",
}
PLACES = tuple(NAMES)
STREAM = ("input", "middle", "output")
ACROSS = 8  # stages in a row, where they make no block
THICKEST = 5.0  # points

Spots = dict[str, tuple[float, float]]
Wires = list[tuple[str, tuple[float, ...], tuple[float, ...]]]  # place, x, y


def draw_block(
    ax: Axes,
    names: Sequence[str],
    places: Sequence[str],
    lengths: Sequence[float],
    stage: int,
) -> Axes:
    """Draw each stage with its length, and lines as thick as the lengths say.

    Stages without places stand in rows.
    """
    ax.set_axis_off()
    spots, wires = _block(places) if all(places) else _rows(len(names))
    order = list(places) if all(places) else list(spots)
    most = max(lengths) or 1.0
    amounts = dict(zip(order, lengths, strict=True))
    for place, xs, ys in wires:
        width = max(0.8, THICKEST * amounts.get(place, 0.0) / most)
        lit = place == order[stage]
        color = plots.SERIES[2] if lit else plots.PALETTE["ink"]
        ax.plot(xs, ys, color=color, alpha=1 if lit else 0.5, lw=width, ls="-")
    said = dict(zip(order, names, strict=True))
    for place, (x, y) in spots.items():
        text = drawable(said.get(place, NAMES.get(place, "")), 14)
        if place in amounts:
            text += f"\n{amounts[place]:.3f}"
        _write(ax, text, x, y, place == order[stage], place in NAMES)
    ax.set_xlim(-0.6, max(x for x, _ in spots.values()) + 0.6)
    ax.set_ylim(min(y for _, y in spots.values()) - 0.9, 1.5)
    return ax


def _write(ax: Axes, text: str, x: float, y: float, lit: bool, block: bool) -> None:
    """Write a stage's text in its box, or below its dot."""
    ink = plots.PALETTE["ink"]
    color = plots.SERIES[2] if lit else ink
    style: dict[str, Any] = {
        "color": "white" if lit else ink,
        "fontsize": 8,
        "parse_math": False,
    }
    face = color if lit else "none"
    if block and y == 1:
        look: dict[str, Any] = {
            "boxstyle": "round,pad=0,rounding_size=0.1",
            "facecolor": face,
        }
        corner = (x - 0.42, y - 0.36)
        ax.add_patch(FancyBboxPatch(corner, 0.84, 0.72, edgecolor=color, **look))
        ax.text(x, y, text, ha="center", va="center", **style)
    else:
        ax.plot([x], [y], marker="o", color=color, markersize=7)
        ground: dict[str, Any] = {
            "boxstyle": "round,pad=0.3",
            "facecolor": face,
            "edgecolor": "none",
        }
        ax.text(x, y - 0.25, text, ha="center", va="top", bbox=ground, **style)


def _block(given: Sequence[str]) -> tuple[Spots, Wires]:
    """The boxes of the branches above, the stages of the stream below."""
    places = [
        place
        for place in PLACES
        if place not in ("hidden", "activation") or place in given
    ]
    spots = {
        place: (float(x), 0.0 if place in STREAM else 1.0)
        for x, place in enumerate(places)
    }
    middle, end = spots["middle"][0], spots["output"][0]
    first = spots["norm1"][0]
    wires: Wires = [
        ("input", (-0.6, middle), (0.0, 0.0)),
        ("middle", (middle, end), (0.0, 0.0)),
        ("output", (end, end + 0.6), (0.0, 0.0)),
        ("input", (first, first), (0.0, 0.6)),
        ("middle", (middle + 1, middle + 1), (0.0, 0.6)),
        ("attention", (middle - 0.58, middle, middle), (1.0, 1.0, 0.0)),
        ("network", (end - 0.58, end, end), (1.0, 1.0, 0.0)),
    ]
    wires += [
        (one, (spots[one][0] + 0.42, spots[following][0] - 0.42), (1.0, 1.0))
        for one, following in pairwise(places)
        if one not in STREAM and following not in STREAM
    ]
    return spots, wires


def _rows(count: int) -> tuple[Spots, Wires]:
    """Stages one after the other, from 0, in rows."""
    spots = {str(i): (i % ACROSS * 1.0, 1.0 - i // ACROSS * 1.2) for i in range(count)}
    wires: Wires = [(name, (x, x + 1), (y, y)) for name, (x, y) in spots.items()]
    return spots, [one for i, one in enumerate(wires) if (i + 1) % ACROSS]
