"""Attention weights of every head, word by word, by temperature and mask."""

from collections.abc import Sequence

import numpy as np
import traitlets
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import (
    check_index,
    check_member,
    check_tokens,
    checked,
    finite_array,
)
from mygpt.explorers.kit.numbers import Numbers, softmax
from mygpt.explorers.kit.text import count, label_tokens

MAX_HEADS = 16
MAX_TOKENS = 64
TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0)
SHADES = (0, 0.05, 0.2, 0.5, 1)  # that the still's scale shows
NUMBERED = 8  # words up to which the still's cells have numbers


class Attention(Explorer):
    """softmax(scores / temperature) by head, with the causal mask or without it.

    `scores`, of shape [H, T, T], are q·k/√D before mask and softmax: head, position
    that reads, position that is read; H is 1 to 16 and T 1 to 64. `tokens` are the T
    words of the text, which may occur more than once. Heads and positions count from 0;
    `row` is the position that reads, at first the last. Read-outs show three decimals.
    """

    heads = traitlets.Int()
    tokens = traitlets.List(traitlets.Unicode())
    temperatures = traitlets.List(traitlets.Float())
    data = traitlets.Bytes()

    head = traitlets.Int()
    row = traitlets.Int()
    temperature = traitlets.Float()
    causal = traitlets.Bool()

    def __init__(
        self,
        scores: Numbers,
        tokens: Sequence[str],
        *,
        head: int = 0,
        row: int | None = None,
        temperature: float = 1.0,
        causal: bool = True,
    ) -> None:
        sent = _scores(scores)
        self.scores = sent.astype(np.float64)
        heads, length, _ = sent.shape
        names = check_tokens("tokens", tokens, length)
        super().__init__(
            heads=heads,
            tokens=names,
            temperatures=list(TEMPERATURES),
            data=sent.tobytes(),
            head=head,
            row=length - 1 if row is None else row,
            temperature=temperature,
            causal=causal,
            description=(
                f"Attention weights of {count(heads, 'head')} "
                f"over {count(length, 'word')}."
            ),
        )

    def __repr__(self) -> str:
        heads, length, _ = self.scores.shape
        return f"Attention({count(heads, 'head')}, {count(length, 'word')})"

    def weights(self, head: int | None = None) -> np.ndarray:
        """[T, T] float64 at the current temperature and mask; every row sums to 1.

        `head` is by default the current one. A head out of range is a ValueError.
        """
        heads = len(self.scores)
        head = self.head if head is None else check_index("head", head, heads)
        scores = self.scores[head] / self.temperature
        return softmax(np.where(self._readable(), scores, -np.inf))

    def _readable(self) -> np.ndarray:
        """[T, T] bool: which positions each may read."""
        length = len(self.tokens)
        return np.tri(length, k=0 if self.causal else length, dtype=bool)

    _checked = checked(
        head=(check_index, lambda self: self.heads),
        row=(check_index, lambda self: len(self.tokens)),
        temperature=(check_member, TEMPERATURES),
    )

    def draw(self, figure: Figure) -> None:
        """The weights of the head, masked ones blank, and those of the chosen row."""
        weights = self.weights()
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        shades = np.sqrt(weights)  # tells small weights from none
        plots.heatmap(left, shades, xlabel="is read", ylabel="reads")
        (image,) = left.images
        image.set_data(np.where(self._readable(), shades, np.nan))
        image.set_clim(-1, 1)
        image.colorbar.ax.set_ylim(0, 1)
        image.colorbar.set_ticks(np.sqrt(SHADES), labels=[f"{one:g}" for one in SHADES])
        if len(self.tokens) <= NUMBERED:
            middle = {"ha": "center", "va": "center", "color": "black"}
            for row, column in np.argwhere(self._readable()):
                number = f"{weights[row, column]:.2f}"
                left.text(column, row, number, size="x-small", **middle)
        label_tokens(left.xaxis, self.tokens, 12)
        label_tokens(left.yaxis, self.tokens, 24)
        plots.bars(right, [""] * len(self.tokens), weights[self.row])
        right.set_ylabel(f"weight in row {self.row}")
        label_tokens(right.xaxis, self.tokens, 12)


def _scores(scores: Numbers) -> np.ndarray:
    numbers = finite_array("scores", scores)
    shape = numbers.shape
    right = (
        len(shape) == 3
        and shape[1] == shape[2]
        and 1 <= shape[0] <= MAX_HEADS
        and 1 <= shape[1] <= MAX_TOKENS
    )
    if not right:
        raise ValueError(
            f"scores must have shape [H, T, T] with H from 1 to {MAX_HEADS} and T from "
            f"1 to {MAX_TOKENS}, got {shape}"
        )
    largest = np.abs(numbers).max()
    if largest > np.finfo(np.float32).max:
        raise ValueError(f"scores must fit into float32, got {largest:g}")
    return numbers.astype("<f4")
