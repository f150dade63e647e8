"""What the figures of a run draw: the arrays that their plots were given, in short.

Pictures differ by fonts and processors, byte by byte; what was drawn does not. A kernel
that runs `SEE` first notes each figure that a cell shows: of every line, image, bar and
other artist its class and a few numbers (how many, mean, spread, ends), and its texts.
"""

import hashlib
import json
from decimal import Decimal

import nbformat

from tools.comparison import difference

NEAR = 0.02  # of an artist's largest number, by which one may differ
IN_TEXT = Decimal("0.05")  # of a number in a text

SEE = """
def _see():
    import numpy as np
    from matplotlib.backend_bases import FigureCanvasBase as Canvas

    ip, plain, drawn, now = get_ipython(), Canvas.print_figure, {}, [0]

    def numbers(array):
        given = np.ma.filled(np.ma.asarray(array, dtype=float), np.nan).ravel()
        known = given[np.isfinite(given)]
        if not known.size:
            return [given.size]
        place = known @ np.linspace(0, 1, known.size) / known.size
        ends = known.min(), known.max(), known[0], known[-1]
        found = known.mean(), known.std(), place, *ends
        return [given.size, *(float(f"{one:.6g}") for one in found)]

    def of(artist):
        for name in ("get_xydata", "get_offsets", "get_array", "get_xy", "get_bbox"):
            try:
                found = getattr(artist, name, lambda: None)()
                found = getattr(found, "bounds", found)
                if found is not None and np.size(found):
                    yield numbers(found)
            except (TypeError, ValueError):
                continue
        for path in getattr(artist, "get_paths", lambda: ())()[:20]:
            yield numbers(path.vertices)

    def parts(axes):
        artists = axes.lines, axes.collections, axes.images, axes.patches
        for artist in sum(map(list, artists), []):
            yield [type(artist).__name__, *of(artist)]

    def seen(figure):
        texts = [one.get_text() for axes in figure.axes for one in (
            axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts,
            *getattr(axes.get_legend(), "texts", ()))]
        artists = [list(parts(axes)) for axes in figure.axes]
        return {"texts": [text for text in texts if text], "artists": artists}

    def print_figure(self, *given, **named):
        drawn.setdefault(now[0], []).append(seen(self.figure))
        return plain(self, *given, **named)

    def begin():
        now[0] += 1

    Canvas.print_figure, ip.drawn_figures = print_figure, drawn
    ip.events.register("pre_execute", begin)

_see()
"""
TELL = "import json; print(json.dumps(get_ipython().drawn_figures))"


def by_cell(notebook: nbformat.NotebookNode, told: str) -> dict[str, list]:
    """The figures of a run by the ids of its cells, from what `TELL` gave."""
    drawn = json.loads(told)
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    counts = {cell.id: str(cell.execution_count) for cell in cells}
    return {name: drawn[count] for name, count in counts.items() if count in drawn}


def pictures(notebook: nbformat.NotebookNode) -> dict[str, list[str]]:
    """Hashes of the pictures that a notebook stores, by cell."""
    found: dict[str, list[str]] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            for kind, data in sorted(output.get("data", {}).items()):
                if kind.startswith("image/"):
                    digest = hashlib.sha256(f"{kind}\0{data}".encode()).hexdigest()
                    found.setdefault(cell.id, []).append(digest[:16])
    return found


def figures_differ(stored: list, fresh: list) -> str | None:
    """Say what a cell's figures draw otherwise; numbers may differ by rounding."""
    if len(stored) != len(fresh):
        return f"{len(stored)} figures became {len(fresh)}"
    for number, (old, new) in enumerate(zip(stored, fresh, strict=True), 1):
        texts = ("\n".join(one["texts"]) for one in (old, new))
        if why := difference(*texts, IN_TEXT):
            return f"figure {number}, a text: {why}"
        ours, theirs = (
            [a for axes in one["artists"] for a in axes] for one in (old, new)
        )
        kinds = [
            [[a[0], *(row[0] for row in a[1:])] for a in one] for one in (ours, theirs)
        ]
        if [*map(len, old["artists"])] != [*map(len, new["artists"])] or (
            kinds[0] != kinds[1]
        ):
            return f"figure {number} draws other parts"
        for before, after in zip(ours, theirs, strict=True):
            if why := numbers_differ(before[1:], after[1:]):
                return f"figure {number}, {before[0]}: {why}"
    return None


def numbers_differ(old: list[list[float]], new: list[list[float]]) -> str | None:
    """Say which of an artist's numbers became another."""
    for before, after in zip(old, new, strict=True):
        largest = max(map(abs, before[1:]), default=0.0)
        for ours, theirs in zip(before[1:], after[1:], strict=True):
            if abs(ours - theirs) > NEAR * largest + 1e-9:
                return f"{ours:g} became {theirs:g}"
    return None
