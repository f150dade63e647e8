"""Chapter 12: what a GPT's shape costs, by part: parameters, FLOPs, memory."""

from collections.abc import Mapping
from typing import Any

import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import check_keys, check_member, check_whole, checked
from mygpt.explorers.shapes import counts

LIMITS = {
    "vocab_size": 2_000_000,
    "max_seq_len": 2_000_000,
    "embed_dim": 100_000,
    "num_heads": 100_000,
    "num_layers": 1000,
}
SCALES = ("", "thousand ", "million ", "billion ", "trillion ", "quadrillion ")
BARS = ("amounts", "shares")
PARTS = (
    "token embedding",
    "positions",
    "attention",
    "scores and values",
    "feed-forward",
    "norms",
)
LOOKS = {  # of the parts, in the page's order
    "token embedding": {"color": plots.SERIES[1]},
    "head": {"color": plots.SERIES[1]},
    "positions": {"color": plots.SERIES[3]},
    "attention": {"color": plots.SERIES[0]},
    "attention's matrices": {"color": plots.SERIES[0]},
    "scores and values": {"color": plots.SERIES[0], "alpha": 0.4},
    "feed-forward": {"color": plots.SERIES[2]},
    "norms": {"color": plots.PALETTE["ink"]},
}


class Shapes(Explorer):
    """The parameters, FLOPs and memory of a GPT of the reader's shape, by part.

    `size` is one of GPT-2's, "small", "medium", "large" or "xl"; the numbers given
    beside it take the place of its own. V and T are at most 2,000,000, C and H 100,000,
    L 1,000. `length` is that of the text whose last token is counted, `max_seq_len`
    where none is given. A second bar shows the size `compare`, "" for none. `bars` are
    "amounts" or "shares". `part`, one of PARTS, is what the sentence is about.
    """

    shape = traitlets.Dict()
    length = traitlets.Int()
    compare = traitlets.Unicode()
    bars = traitlets.Unicode()
    part = traitlets.Unicode("feed-forward")

    def __init__(
        self,
        size: str = "small",
        *,
        vocab_size: int | None = None,
        max_seq_len: int | None = None,
        embed_dim: int | None = None,
        num_heads: int | None = None,
        num_layers: int | None = None,
        length: int | None = None,
        compare: str = "small",
        bars: str = "amounts",
        part: str = "feed-forward",
    ) -> None:
        own = (vocab_size, max_seq_len, embed_dim, num_heads, num_layers)
        given = zip(LIMITS, own, strict=True)
        shape = counts.size_of(check_member("size", size, counts.SIZES))
        shape |= {name: value for name, value in given if value is not None}
        shape = checked_shape(shape)
        super().__init__(
            shape=shape,
            length=shape["max_seq_len"] if length is None else length,
            compare=compare,
            bars=bars,
            part=part,
            description="Parameters, FLOPs and memory of a GPT, by part.",
        )

    def __repr__(self) -> str:
        numbers = zip("VTCHL", self.shape.values(), strict=True)
        own = ", ".join(f"{letter} = {number}" for letter, number in numbers)
        return f"Shapes({f'GPT-2 {self._size()}' if self._size() else own})"

    def parameters(self) -> dict[str, int]:
        """The parameters of every part."""
        return counts.parameters(self.shape)

    def flops(self) -> dict[str, int]:
        """The FLOPs of the last token of the text, by part."""
        return counts.flops(self.shape, self.length)

    def memory(self, bytes_each: int = 4) -> dict[str, int]:
        """The bytes of what the model holds, as `mygpt.sizes.memory` counts them."""
        return counts.bytes_of(self.shape, self.length, bytes_each)

    def _size(self) -> str:
        """The name of GPT-2's size that has this shape, or nothing."""
        sizes = [one for one in counts.SIZES if counts.size_of(one) == self.shape]
        return "".join(sizes)

    _checked = checked(
        shape=(lambda name, shape: checked_shape(shape),),
        length=(check_whole, 1, lambda self: self.shape["max_seq_len"]),
        compare=(check_member, (*counts.SIZES, "")),
        bars=(check_member, BARS),
        part=(check_member, PARTS),
    )

    @traitlets.observe("shape")
    def _shorten(self, change) -> None:
        """Keep the text within the positions that the shape has."""
        self.length = min(self.length or 1, self.shape["max_seq_len"])

    def draw(self, figure: Figure) -> None:
        """Stacked bars of the parameters and of the FLOPs, the shape on top."""
        size = self._size()
        shapes = [(f"GPT-2 {size}" if size else "your shape", self.shape)]
        if self.compare:
            beside = counts.size_of(self.compare)
            shapes.insert(0, (f"GPT-2 {self.compare}", beside))  # bars go upwards
        held = {name: counts.parameters(shape) for name, shape in shapes}
        work = {name: self._work(shape) for name, shape in shapes}
        upper, lower = figure.subplots(2, 1)
        self._draw_bars(upper, held, "parameters")
        self._draw_bars(lower, work, f"FLOPs of one token, the last of {self.length:,}")

    def _work(self, shape: Mapping[str, int]) -> dict[str, int]:
        """The FLOPs of the token, or of the last that the shape has a position for."""
        return counts.flops(shape, min(self.length, shape["max_seq_len"]))

    def _draw_bars(self, ax: Axes, rows: dict[str, dict[str, int]], label: str) -> None:
        most = max(sum(parts.values()) for parts in rows.values())
        power = min((len(str(most)) - 1) // 3, len(SCALES) - 1)
        scale = "% of the " if self.bars == "shares" else SCALES[power]
        for row, parts in rows.items():
            whole = sum(parts.values()) / 100 if self.bars == "shares" else 1000**power
            left = 0.0
            for part in filter(parts.__contains__, LOOKS):
                size = parts[part] / whole
                ax.barh(row, size, left=left, label=part, **LOOKS[part])
                left += size
        ax.set_xlim(left=0)
        ax.set_xlabel(scale + label)
        ax.grid(visible=False, axis="y")
        handles, labels = ax.get_legend_handles_labels()
        each = dict(zip(labels, handles, strict=True))  # once
        ax.legend(each.values(), each, loc="center left", bbox_to_anchor=(1, 0.5))


def checked_shape(given: Mapping[str, Any]) -> dict[str, int]:
    """Return a shape; raise a ValueError for one that no model or no page can have."""
    check_keys("a shape has the numbers", given, LIMITS)
    shape = {
        name: check_whole(name, given[name], 1, most) for name, most in LIMITS.items()
    }
    C, H = shape["embed_dim"], shape["num_heads"]
    if C % H:
        raise ValueError(f"expected embed_dim divisible by num_heads, got {C} and {H}")
    return shape
