"""What a matplotlib figure holds, in words and numbers that every machine agrees on."""

import matplotlib as mpl
import numpy as np
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from mygpt import plots


def drawing(explorer) -> list[str]:
    """The axes that an explorer draws for its still, and all that is in them.

    It is laid out at the end, where a warning of matplotlib's would come.
    """
    with mpl.rc_context():
        plots.use_style()
        figure = Figure(figsize=(6.8, 3.5))
        explorer.draw(figure)
        lines = [f"figure: {texts(figure)}"]
        for number, axes in enumerate(every_axes(figure)):
            x, y = axes.get_xlim(), axes.get_ylim()
            scales = f"{axes.get_xscale()} {short(x)} by {axes.get_yscale()} {short(y)}"
            labels = [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
            where = short(axes.get_figure(root=False).bbox.bounds)
            where += f" {short(axes.get_position().bounds)}"
            lines.append(f"axes {number}: {where} {scales} {labels} {ticks(axes)}")
            own = [one for one in axes.get_children() if one not in frame(axes)]
            lines += filter(None, map(described, own))
            if legend := axes.get_legend():
                lines.append(f"legend: {[one.get_text() for one in legend.texts]}")
        figure.draw_without_rendering()
        return lines


def every_axes(figure) -> list:
    return list(figure.axes) + [
        axes for part in figure.subfigs for axes in every_axes(part)
    ]


def frame(axes) -> list:
    return [axes.patch, *axes.spines.values(), axes.get_legend()]


def texts(figure) -> list[str]:
    return [one.get_text() for one in figure.texts]


def ticks(axes) -> list:
    """Ticks that were set, with their labels."""
    found = []
    for axis in (axes.xaxis, axes.yaxis):
        fixed = isinstance(axis.get_major_locator(), mpl.ticker.FixedLocator)
        labels = [one.get_text() for one in axis.get_ticklabels()] if fixed else []
        labels += [
            f"turned {one.get_rotation():g}" for one in axis.get_ticklabels()[:1]
        ]
        chosen = fixed or type(axis.get_major_locator()) is MaxNLocator
        found.append([short(axis.get_ticklocs()), labels] if chosen else "free")
    return found


def described(artist) -> str:
    """One artist: what it is, where, and how it looks."""
    look = f"order {short(artist.get_zorder())} alpha {artist.get_alpha()}"
    if isinstance(artist, Line2D):
        dashes = artist._unscaled_dash_pattern  # no public name gives the dashes
        return (
            f"line {short(artist.get_xydata())} {to_hex(artist.get_color())} "
            f"{short(artist.get_linewidth())} {dashes} {artist.get_marker()} "
            f"{short(artist.get_markersize())} {look}"
        )
    if isinstance(artist, Text):
        if not artist.get_text():
            return ""
        return (
            f"text {artist.get_text()!r} {short(artist.get_position())} "
            f"{to_hex(artist.get_color())} {short(artist.get_fontsize())} "
            f"{artist.get_ha()} {artist.get_va()} {look}"
            f"{'' if artist.get_parse_math() else ' no formula'}"
        )
    if isinstance(artist, AxesImage):
        array = np.ma.filled(artist.get_array(), np.nan)
        where = short(artist.get_extent())
        colours = f"{artist.get_cmap().name} {short(artist.get_clim())}"
        colours = colours if array.ndim == 2 else "its own"
        return f"image {array.shape} {short(sums(array))} {colours} {where} {look}"
    if isinstance(artist, Patch):
        box = artist.get_path().transformed(artist.get_patch_transform())
        face = to_hex(artist.get_facecolor(), keep_alpha=True)
        edge = to_hex(artist.get_edgecolor(), keep_alpha=True)
        width = short(artist.get_linewidth())
        return f"patch {short(box.vertices)} {face} {edge} {width} {look}"
    if isinstance(artist, Collection):
        paths = [path.vertices for path in artist.get_paths()][:6]
        faces = [to_hex(one, keep_alpha=True) for one in artist.get_facecolor()[:6]]
        edges = [to_hex(one, keep_alpha=True) for one in artist.get_edgecolor()[:6]]
        points = short(artist.get_offsets())
        widths = short(artist.get_linewidth())
        return f"collection {short(paths)} {points} {faces} {edges} {widths} {look}"
    return ""


def sums(array) -> list[float]:
    """Of an image: its sum, and sums that change when rows or columns are moved."""
    array = np.nan_to_num(np.asarray(array, dtype=float)).reshape(len(array), -1)
    down, across = (np.arange(1, size + 1) / size for size in array.shape)
    return [array.sum(), down @ array.sum(1), array.sum(0) @ across]


def short(numbers) -> str:
    """Three digits of each; of long lists some; none of what is lost in the largest."""
    if isinstance(numbers, list) and numbers and np.ndim(numbers[0]) == 2:
        return " ".join(map(short, numbers))
    flat = np.ma.filled(np.ma.asarray(numbers, dtype=float), np.nan).ravel()
    least = 1e-9 * np.max(np.abs(flat[np.isfinite(flat)]), initial=0)
    places = np.arange(len(flat))
    if len(flat) > 24:
        places = np.linspace(0, len(flat) - 1, 24).astype(int)
    shown = [0.0 if abs(flat[i]) <= least else flat[i] for i in places]
    return f"{len(flat)}: {' '.join(f'{one:.2e}' for one in shown)}"
