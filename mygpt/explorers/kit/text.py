"""Texts of an explorer and its still: counted nouns, visible spaces, tokens on axes."""

import unicodedata
from collections.abc import Sequence
from functools import cache

from matplotlib.axis import Axis
from matplotlib.font_manager import FontProperties, findfont, get_font

SIGNS = {" ": "·", "\n": "↵", "\r": "␍", "\t": "⇥"}


def count(number: int, noun: str) -> str:
    """The number with its noun, "1 gain" or "3 gains"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
