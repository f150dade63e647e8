"""Chapter 8: layer normalisation of a vector that the reader moves."""

import math

import numpy as np
import traitlets
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import check_span, checked, finite_array, one_row
from mygpt.explorers.kit.numbers import Numbers
from mygpt.explorers.kit.text import count

MAX_CHANNELS = 12
FARTHEST = 1000.0  # that a moved number may be
PLACES = 1  # decimals of what the reader moves
STEP = 10**-PLACES
SHOWN = 0.3  # share of a bar's band left empty in the still


def _rounded(name: str, number: float, limit: float) -> float:
    number = finite_array(name, number, ()).item()
    if abs(number) > limit:
        raise ValueError(f"{name} must be within ±{limit:g}, got {number:g}")
    return round(number, PLACES) + 0.0


class LayerNorm(Explorer):
    """y = γ (x - mean) / √(variance + ε) + β, for 1 to 12 channels and one γ and β.

    `x` holds numbers within ±`limit`, where the axis ends at first, rounded to one
    decimal; `values` may go to ±1000, and the axis follows. `gamma` and `beta` are
    within ±3, `log10_eps` is a whole number from -8 to 0. Channels count from 0 and
    read-outs show four decimals.
    """

    start = traitlets.List(traitlets.Float())
    limit = traitlets.Float()

    values = traitlets.List(traitlets.Float())
    gamma = traitlets.Float()
    beta = traitlets.Float()
    log10_eps = traitlets.Int()

    def __init__(
        self,
        x: Numbers,
        *,
        gamma: float = 1.0,
        beta: float = 0.0,
        log10_eps: int = -5,
        limit: float = 10.0,
    ) -> None:
        if not STEP <= limit <= FARTHEST:
            raise ValueError(f"limit must be from {STEP} to 1000, got {limit!r}")
        self.limit = limit
        x = _vector("x", x, limit)
        super().__init__(
            start=x,
            values=x,
            gamma=gamma,
            beta=beta,
            log10_eps=log10_eps,
            limit=limit,
            description="Layer normalisation of a vector, before and after.",
        )

    def __repr__(self) -> str:
        return f"LayerNorm({count(len(self.values), 'channel')})"

    def moments(self) -> tuple[float, float]:
        """Mean and population variance of the vector, summed channel by channel."""
        mean = _sum(self.values) / len(self.values)
        variance = _sum([(v - mean) ** 2 for v in self.values]) / len(self.values)
        return mean, variance

    def normalised(self) -> list[float]:
        """The vector before γ and β."""
        mean, variance = self.moments()
        return [
            (v - mean) / math.sqrt(variance + 10.0**self.log10_eps) for v in self.values
        ]

    def result(self) -> list[float]:
        """The vector after γ and β."""
        return [self.gamma * n + self.beta for n in self.normalised()]

    @traitlets.validate("values")
    def _same_channels(self, proposal) -> list[float]:
        values = _vector("values", proposal["value"], FARTHEST)
        if len(values) != len(self.start):
            raise ValueError(
                f"values must keep its {len(self.start)} channels, got {len(values)}"
            )
        return values

    _checked = checked(
        gamma=(_rounded, 3.0),
        beta=(_rounded, 3.0),
        log10_eps=(check_span, -8, 0),
    )

    def draw(self, figure: Figure) -> None:
        """The vector beside its normalised form; mean dashed, one deviation shaded."""
        channels = np.arange(len(self.values))
        titles = ("before", "after")
        for ax, title, bars in zip(
            figure.subplots(1, 2), titles, (self.values, self.result()), strict=True
        ):
            mean, std = float(np.mean(bars)), float(np.std(bars))
            ax.bar(channels, bars, width=1 - SHOWN, color=plots.SERIES[0])
            ax.axhline(mean, color=plots.SERIES[1], linestyle="--")
            ax.axhspan(mean - std, mean + std, color=plots.SERIES[1], alpha=0.18)
            ax.set(title=title, xlabel="channel", xticks=channels)


def _sum(numbers: list[float]) -> float:
    """Add the numbers in order, as the page does."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def _vector(name: str, x: Numbers, limit: float) -> list[float]:
    numbers = one_row(name, x, 1, MAX_CHANNELS).tolist()
    return [_rounded(name, number, limit) for number in numbers]
