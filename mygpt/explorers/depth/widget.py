"""Chapter 7: signal and gradient in stacks of layers, for every setting at once."""

import math
from collections.abc import Sequence

import numpy as np
import traitlets
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import (
    check_index,
    check_member,
    check_names,
    check_subset,
    checked,
    real_array,
)
from mygpt.explorers.kit.numbers import Numbers, as_shown
from mygpt.explorers.kit.text import count

MAX_KINDS = 6
MAX_NUMBERS = 16_384
MAX_LOG = 300
QUANTITIES = ("activations", "gradients")


class Depth(Explorer):
    """Standard deviation and gradient by layer, for stacks wired in several ways.

    `log_std` and `log_grad` are log10 of the two, of shape [kind, gain, width, bias,
    depth, layer], the axes in the order of `kinds`, `gains`, `widths`, `biases` and
    `depths`. The layer axis is max(depths) + 1 long: entry l belongs to layer l and
    entry 0 to the input; entries beyond a stack's own depth are ignored. Entry 0 may be
    NaN in all stacks if the input has no such number. Read-outs show three significant
    digits.
    """

    kinds = traitlets.List(traitlets.Unicode())
    gains = traitlets.List(traitlets.Float())
    widths = traitlets.List(traitlets.Int())
    biases = traitlets.List(traitlets.Bool())
    depths = traitlets.List(traitlets.Int())
    data = traitlets.Bytes()

    gain = traitlets.Float()
    width = traitlets.Int()
    bias = traitlets.Bool()
    depth = traitlets.Int()
    quantity = traitlets.Unicode()
    layer = traitlets.Int()
    visible = traitlets.List(traitlets.Unicode())

    def __init__(
        self,
        log_std: Numbers,
        log_grad: Numbers,
        *,
        kinds: Sequence[str],
        gains: Sequence,
        widths: Sequence,
        depths: Sequence,
        biases: Sequence = (True, False),
        gain: float | None = None,
        width: int | None = None,
        depth: int | None = None,
        bias: bool | None = None,
        quantity: str = "activations",
        layer: int | None = None,
        visible: Sequence[str] | None = None,
    ) -> None:
        axes = {
            "kinds": list(check_names("kinds", kinds, MAX_KINDS)),
            "gains": _scale("gains", gains, float),
            "widths": _scale("widths", widths, int),
            "biases": _scale("biases", biases, bool),
            "depths": _scale("depths", depths, int),
        }
        self.log_std = _stacks("log_std", log_std, axes)
        self.log_grad = _stacks("log_grad", log_grad, axes)
        depth = axes["depths"][0] if depth is None else depth
        super().__init__(
            **axes,
            data=b"".join(
                _pack(s, axes["depths"]) for s in (self.log_std, self.log_grad)
            ),
            gain=axes["gains"][0] if gain is None else gain,
            width=axes["widths"][0] if width is None else width,
            bias=axes["biases"][0] if bias is None else bias,
            depth=depth,
            quantity=quantity,
            layer=depth // 2 if layer is None else layer,
            visible=axes["kinds"] if visible is None else visible,
            description=f"Signal and gradient by layer: {', '.join(axes['kinds'])}.",
        )

    def __repr__(self) -> str:
        nouns = ("kind", "gain", "width", "depth")
        counts = [count(len(getattr(self, f"{noun}s")), noun) for noun in nouns]
        return f"Depth({', '.join(counts)})"

    def curves(self, quantity: str) -> dict[str, np.ndarray]:
        """log10 of one quantity at the current setting, by layer, for each kind."""
        stacks = self.log_std if quantity == "activations" else self.log_grad
        at = (
            self.gains.index(self.gain),
            self.widths.index(self.width),
            self.biases.index(self.bias),
            self.depths.index(self.depth),
        )
        return {
            kind: stacks[(k, *at)][: self.depth + 1]
            for k, kind in enumerate(self.kinds)
        }

    _checked = checked(
        gain=(check_member, lambda self: self.gains),
        width=(check_member, lambda self: self.widths),
        bias=(check_member, lambda self: self.biases),
        depth=(check_member, lambda self: self.depths),
        quantity=(check_member, QUANTITIES),
        layer=(check_index, lambda self: max(self.depths) + 1),
        visible=(check_subset, lambda self: self.kinds),
    )

    def draw(self, figure: Figure) -> None:
        """Both quantities at the current setting, with a curve for every kind."""
        labels = ("std of the activations", "length of the gradient")
        layers = np.arange(self.depth + 1)
        for ax, quantity, label in zip(
            figure.subplots(1, 2), QUANTITIES, labels, strict=True
        ):
            curves = {kind: 10**curve for kind, curve in self.curves(quantity).items()}
            plots.curves(ax, layers, curves, xlabel="layer", ylabel=label, log=True)
            ax.xaxis.set_major_locator(
                MaxNLocator(5, integer=True, steps=[1, 2, 5, 10])
            )
            if quantity == "activations" and len(curves) > 1:
                ax.get_legend().remove()


def _scale(name: str, values: Sequence, kind: type) -> list:
    """The settings of one control as a list of different numbers of the wanted kind."""
    given = list(values)
    try:
        wanted = [kind(value) for value in given]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, got {given}") from error
    positive = kind is bool or all(math.isfinite(one) and one > 0 for one in wanted)
    if not wanted or wanted != given or len(set(wanted)) != len(wanted) or not positive:
        what = "True and False" if kind is bool else "different positive numbers"
        raise ValueError(f"{name} must be {what}, got {given}")
    return wanted


def _stacks(name: str, array: Numbers, axes: dict[str, list]) -> np.ndarray:
    depths = axes["depths"]
    shape = (*(len(axis) for axis in axes.values()), max(depths) + 1)
    numbers = real_array(name, array, shape)
    if np.prod(shape[:-2]) * sum(depth + 1 for depth in depths) > MAX_NUMBERS:
        raise ValueError(
            f"{name} must hold at most {MAX_NUMBERS:,} numbers, got shape {shape}"
        )
    for d, depth in enumerate(depths):
        inside = numbers[..., d, : depth + 1]
        if np.isnan(numbers[..., 0]).all():
            inside = inside[..., 1:]
        if not (np.abs(inside) <= MAX_LOG).all():
            strange = inside[~(np.abs(inside) <= MAX_LOG)][0]
            raise ValueError(
                f"{name} must be finite and within ±{MAX_LOG} (it is a log10) "
                f"in the {depth} layers of a stack, got {strange}"
            )
    return numbers


def _pack(stacks: np.ndarray, depths: Sequence[int]) -> bytes:
    """float32 log10 of the numbers as shown, without the unused entries."""
    rows = [stacks[..., d, : depth + 1] for d, depth in enumerate(depths)]
    return (
        np.log10(as_shown(10.0 ** np.concatenate(rows, axis=-1), ".2e"))
        .astype("<f4")
        .tobytes()
    )
