"""What all explorers share: module and stylesheet, still picture, checks."""

import base64
import html
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from string import Template
from typing import Any

import anywidget
import matplotlib as mpl
import numpy as np
import traitlets
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from PIL import Image

from mygpt import plots

Numbers = Any  # an array, a tensor, a list: whatever np.asarray reads as numbers

SIGNS = {" ": "·", "\n": "↵", "\r": "␍", "\t": "⇥"}
_KIT = Path(__file__).resolve().parent
_IMPORT = re.compile(r'^import\b[^;]*? from "(\.\.?/[\w/]+\.mjs)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|(?:async )?function)\b)", re.MULTILINE)


def module(name: str) -> str:
    """Join NAME/widget.mjs and all that it imports into one module without imports."""
    texts = [part.read_text("utf-8") for part in parts(name)]
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)


def stylesheet(name: str) -> str:
    """Join the common stylesheet with those that stand beside the module's parts."""
    sheets = [
        _KIT / "explorer.css",
        *(part.with_suffix(".css") for part in parts(name)),
    ]
    return "\n".join(one.read_text("utf-8") for one in sheets if one.is_file())


def parts(name: str) -> tuple[Path, ...]:
    """The files of NAME/widget.mjs and of all that it imports, each after its own."""
    imports: dict[Path, list[Path]] = {}
    waiting = [_KIT.parent / name / "widget.mjs"]
    while waiting:
        part = waiting.pop()
        if part not in imports:
            named = _IMPORT.findall(part.read_text("utf-8"))
            imports[part] = [(part.parent / one).resolve() for one in named]
            waiting += imports[part]
    return tuple(TopologicalSorter(imports).static_order())


class Explorer(anywidget.AnyWidget):
    """An anywidget with a stable repr and a still for readers without JavaScript."""

    description = traitlets.Unicode().tag(sync=True)

    def draw(self, figure: Figure) -> None:
        """Draw the arrays, at the current setting, on a matplotlib figure."""
        raise NotImplementedError

    def still(self) -> bytes:
        """The figure as a small PNG, 128 colours on a transparent background."""
        with mpl.rc_context():
            plots.use_style()
            figure = Figure(figsize=(6.8, 3.5))
            self.draw(figure)
            buffer = io.BytesIO()
            figure.savefig(buffer, dpi=144, transparent=True)
        picture = Image.open(buffer).quantize(128, method=Image.Quantize.FASTOCTREE)
        buffer = io.BytesIO()
        picture.save(buffer, "PNG", optimize=True)
        return buffer.getvalue()

    def write_html(self, path: str | Path) -> None:
        """Write a page that holds this explorer, as it stands, and needs nothing else.

        It works from the disk, in a frame of another page, and without a network.
        """
        every = anywidget.AnyWidget.class_trait_names()
        state = self.get_state(sorted(set(self.class_trait_names()) - set(every)))
        buffers = {
            name: base64.b64encode(value).decode("ascii")
            for name, value in state.items()
            if isinstance(value, bytes)
        }
        plain = {name: one for name, one in state.items() if name not in buffers}
        page = Template((_KIT / "page.html").read_text("utf-8")).substitute(
            title=html.escape(self.description),
            style=self._css,
            still=base64.b64encode(self.still()).decode("ascii"),
            state=_script({"state": plain, "buffers": buffers}),
            module=_script(self._esm),
        )
        Path(path).write_text(page, encoding="utf-8")

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        picture = base64.b64encode(self.still()).decode("ascii")
        return {**data, "text/plain": repr(self), "image/png": picture}, metadata


def _script(value) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(value).replace("<", "\\u003c")


def finite_array(
    name: str, array: Numbers, shape: Sequence[int] | None = None
) -> np.ndarray:
    """Return `array` as float64 numbers, all finite; with `shape`, of that shape."""
    numbers = real_array(name, array, shape)
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} must hold finite numbers, got {_first_strange(numbers)}"
        )
    return numbers


def real_array(
    name: str, array: Numbers, shape: Sequence[int] | None = None
) -> np.ndarray:
    """Return `array` as float64 numbers; with `shape`, of that shape."""
    if hasattr(array, "detach"):
        array = array.detach()  # a tensor whose gradient is not needed here
    try:
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    if shape is not None and numbers.shape != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {numbers.shape}")
    return numbers


def _first_strange(numbers: np.ndarray) -> str:
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
    where = ", ".join(map(str, place))
    return f"{numbers[place]}{where and f' at index {where}'}"


def check_names(name: str, names: Iterable[str], most: int) -> tuple[str, ...]:
    """Return `names` as a tuple of 1 to `most` different, non-empty strings."""
    names = (names,) if isinstance(names, str) else tuple(names)
    good = all(isinstance(one, str) and one.strip() for one in names)
    if not good or len(set(names)) != len(names) or not 1 <= len(names) <= most:
        raise ValueError(
            f"{name} must be 1 to {most} different names, got {list(names)}"
        )
    return names


def check_member(name: str, value, choices: Sequence):
    """Return the member of `choices` that equals `value`."""
    for one in choices:
        if one == value:
            return one
    raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}")


def check_subset(name: str, values: Iterable[str], choices: Sequence[str]) -> list[str]:
    """Return `values` in the order of `choices`, which must hold all of them."""
    values = [values] if isinstance(values, str) else list(values)
    unknown = [value for value in values if value not in choices]
    if unknown:
        raise ValueError(f"{name} must be among {list(choices)}, got {unknown[0]!r}")
    return [one for one in choices if one in values]


def check_index(name: str, index: int, length: int) -> int:
    """Return `index` if it lies within something of that length, counted from 0."""
    if not 0 <= index < length:
        raise ValueError(f"{name} must be 0 to {length - 1}, got {index}")
    return index


def check_tokens(name: str, tokens: Iterable[str], length: int) -> list[str]:
    """Return `tokens` as a list of `length` strings, which may repeat."""
    given = [tokens] if isinstance(tokens, str) else list(tokens)
    strange = [one for one in given if not isinstance(one, str)]
    if strange or len(given) != length:
        got = f"{strange[0]!r} among them" if strange else str(len(given))
        raise ValueError(f"{name} must be {count(length, 'string')}, got {got}")
    return given


def count(number: int, noun: str) -> str:
    """The number with its noun, "1 gain" or "3 gains"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def as_shown(numbers: Numbers, form: str) -> np.ndarray:
    """The numbers as Python prints them in `form`, so that the page shows the same."""
    flat = np.asarray(numbers, dtype=np.float64)
    rounded = [float(format(one, form)) for one in flat.ravel().tolist()]
    return np.array(rounded, dtype=np.float64).reshape(flat.shape)


def label_tokens(axis: Axis, tokens: Sequence[str], most: int) -> None:
    """Write at most `most` of the tokens along a matplotlib axis, as plain text."""
    step = -(-len(tokens) // most)
    labels = [drawable(token, 10) for token in tokens[::step]]
    rotation = 50 if axis.axis_name == "x" else 0
    across = {"ha": "right", "rotation_mode": "anchor"} if rotation else {}
    axis.set_ticks(
        range(0, len(tokens), step),
        labels,
        fontsize="x-small",
        rotation=rotation,
        parse_math=False,
        **across,
    )


def shown(text: str) -> str:
    """The text with a visible sign for each space and control: its own, or its code."""
    return "".join(
        SIGNS.get(sign, f"U+{ord(sign):04X}")
        if unicodedata.category(sign) in ("Cc", "Zs", "Zl", "Zp")
        else sign
        for sign in text
    )


def drawable(text: str, most: int = 18, family: str | None = None) -> str:
    """The text cut to `most` signs, with a box for each that the still's font lacks."""
    known = _font_signs(family)
    text = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(sign if ord(sign) in known else "□" for sign in text)


@cache
def _font_signs(family: str | None) -> frozenset[int]:
    codes = get_font(findfont(FontProperties(family))).get_charmap()
    return frozenset(code for code in codes if chr(code).isprintable())
