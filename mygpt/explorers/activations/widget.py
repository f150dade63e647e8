"""Chapter 6: activation functions and their slopes, at an x that the reader moves."""

from collections.abc import Mapping, Sequence

import numpy as np
import traitlets
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import (
    check_member,
    check_names,
    check_subset,
    checked,
    finite_array,
    one_row,
)
from mygpt.explorers.kit.numbers import Numbers, as_shown
from mygpt.explorers.kit.text import count

MAX_CURVES = 6
MAX_POINTS = 4001
QUANTITIES = ("value", "slope")


class Activations(Explorer):
    """Values and slopes of activation functions on the grid `x`.

    `x` increases in equal steps; `values` and `slopes` hold one array of its length for
    each name, `phi` the normal distribution function on it. `compare` names two curves
    whose difference is magnified. Read-outs show four decimals. Those of the difference
    show two, in units of the power of ten of its largest size, or four where that size
    is 0.1 or more.
    """

    names = traitlets.List(traitlets.Unicode())
    compare = traitlets.List(traitlets.Unicode())
    points = traitlets.Int()
    places = traitlets.Int()
    has_phi = traitlets.Bool()
    exponent = traitlets.Int()
    data = traitlets.Bytes()

    position = traitlets.Float()
    quantity = traitlets.Unicode()
    visible = traitlets.List(traitlets.Unicode())

    def __init__(
        self,
        x: Numbers,
        values: Mapping[str, Numbers],
        slopes: Mapping[str, Numbers],
        phi: Numbers | None = None,
        *,
        compare: Sequence[str] | None = None,
        position: float = 1.0,
        quantity: str = "value",
        visible: Sequence[str] | None = None,
    ) -> None:
        self.x = _grid(x)
        names = check_names("values", values, MAX_CURVES)
        if set(slopes) != set(names):
            raise ValueError(
                f"slopes must have the names of values, {list(names)}, "
                f"got {list(slopes)}"
            )
        shape = self.x.shape
        self.values, self.slopes = (
            {n: finite_array(f"{name}[{n!r}]", arrays[n], shape) for n in names}
            for name, arrays in (("values", values), ("slopes", slopes))
        )
        self.phi = None if phi is None else finite_array("phi", phi, shape)
        compare = () if compare is None else check_names("compare", compare, 2)
        if len(compare) == 1:
            raise ValueError(f"compare must name two curves, got {list(compare)}")
        check_subset("compare", compare, names)
        self.compare = list(compare)
        super().__init__(
            names=list(names),
            compare=self.compare,
            points=len(self.x),
            places=_places(self.x),
            has_phi=phi is not None,
            exponent=self._exponent(),
            data=self._pack(),
            position=position,
            quantity=quantity,
            visible=list(names) if visible is None else visible,
            description=f"Activation functions of x: {', '.join(names)}.",
        )

    def __repr__(self) -> str:
        return f"Activations({count(len(self.values), 'curve')}, {len(self.x)} points)"

    def difference(self) -> np.ndarray:
        """The first curve of `compare` minus the second, on the grid."""
        if not self.compare:
            raise ValueError("compare names no curves, so there is no difference")
        first, second = self.compare
        return self.values[first] - self.values[second]

    def _exponent(self) -> int:
        """The power of ten of the largest difference to three digits; 0 from 0.1 on."""
        most = np.abs(self.difference()).max() if self.compare else 0.0
        power = int(f"{most:.2e}".split("e")[1])
        return power if power < -1 else 0

    def _pack(self) -> bytes:
        curves = [*self.values.values(), *self.slopes.values()]
        curves += [] if self.phi is None else [self.phi]
        shown_x = as_shown(self.x, f".{_places(self.x)}f")
        rows = [shown_x, *(as_shown(row, ".4f") for row in curves)]
        if self.compare:
            exponent = self._exponent()
            scaled = 10.0**-exponent * self.difference()
            rows.append(as_shown(scaled, ".2f" if exponent else ".4f"))
        return np.stack(rows).astype("<f4").tobytes()

    @traitlets.validate("position")
    def _snap(self, proposal) -> float:
        position = finite_array("position", proposal["value"], ())
        grid = np.frombuffer(self.data, "<f4")[: self.points]
        return round(float(grid[np.abs(grid - position).argmin()]), self.places)

    _checked = checked(
        quantity=(check_member, QUANTITIES),
        visible=(check_subset, lambda self: self.names),
    )

    def draw(self, figure: Figure) -> None:
        """The values and, beside them, the magnified difference or else the slopes."""
        left, right = figure.subplots(1, 2)
        plots.curves(left, self.x, self.values, xlabel="x", ylabel="value")
        if self.compare:
            first, second = self.compare
            difference = 10.0**-self.exponent * self.difference()
            unit = f", × {_power_of_ten(self.exponent)}" if self.exponent else ""
            label = f"{first} − {second}{unit}"
            plots.curves(right, self.x, {"": difference}, xlabel="x", ylabel=label)
        else:
            plots.curves(right, self.x, self.slopes, xlabel="x", ylabel="slope")


def _grid(x: Numbers) -> np.ndarray:
    grid = one_row("x", x, 2, MAX_POINTS)
    steps = np.diff(grid)
    step = (grid[-1] - grid[0]) / (len(grid) - 1)
    if step <= 0 or np.abs(steps - step).max() > 1e-3 * step:
        raise ValueError(
            f"x must increase in equal steps, "
            f"got steps from {steps.min():g} to {steps.max():g}"
        )
    return grid


def _power_of_ten(exponent: int) -> str:
    digits = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{digits}"


def _places(grid: np.ndarray) -> int:
    """The fewest decimals, up to four, in which every x can be written."""
    for places in range(4):
        if np.abs(grid - grid.round(places)).max() < 1e-6:
            return places
    return 4
