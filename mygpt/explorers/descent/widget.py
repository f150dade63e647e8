"""Chapter 0: weights that go down a loss, step by step, by the reader's rule."""

from collections.abc import Sequence

import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.descent import steps as maths
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import check_member, check_span, checked, finite_array
from mygpt.explorers.kit.numbers import Numbers
from mygpt.explorers.kit.text import count

VIEWS = {"one": "one weight", "two": "two weights", "network": "a network"}
ACTIVATIONS = tuple(maths.NEURONS)
LIMITS = ((-1.0, 7.0), (-3.0, 5.0))  # of the two weights
LARGEST_RATE = 10.0
MAX_SEED = 99


class Descent(Explorer):
    """Steps down a loss: of one weight, of two, or of a network that learns a curve.

    `view` is "one", "two" or "network". One weight has the loss (2w - 6)², two have the
    mean squared error of the line w₁x + w₂ through the points (1, 4) and (2, 7), and
    the network has two layers of `width` neurons, 1 to 32, with the `activation`
    "none", "relu", "tanh" or "gelu", and learns sin 2x at 32 points; `seed`, 0 to 99,
    gives its first weights. `rule` is "plain", "momentum" or "adam", as in PyTorch's
    SGD and Adam, `rate` above 0 and at most 10. `start` holds two weights, from -1 to 7
    and from -3 to 5, of which one weight takes the first. What is seen is always what
    `steps` steps of this setting give, 0 to 2,000.
    """

    view = traitlets.Unicode()
    rule = traitlets.Unicode()
    rate = traitlets.Float()
    start = traitlets.List(traitlets.Float())
    width = traitlets.Int()
    activation = traitlets.Unicode()
    seed = traitlets.Int()
    steps = traitlets.Int()

    def __init__(
        self,
        view: str = "one",
        *,
        rule: str = "plain",
        rate: float = 0.1,
        start: Numbers = (0.0, 4.0),
        width: int = 8,
        activation: str = "tanh",
        seed: int = 0,
        steps: int = 0,
    ) -> None:
        super().__init__(
            view=view,
            rule=rule,
            rate=rate,
            start=finite_array("start", start, (2,)).tolist(),
            width=width,
            activation=activation,
            seed=seed,
            steps=steps,
            description="A loss brought down step by step.",
        )

    def __repr__(self) -> str:
        return f"Descent({VIEWS[self.view]}, {self.rule}, rate {self.rate:g})"

    def losses(self) -> list[float]:
        """The loss at the start and after each step, as far as it can be followed."""
        return self._descent().losses

    def weights(self) -> np.ndarray:
        """The weights after the last step.

        Those of the network are the weights into its neurons, their biases, the weights
        out of the neurons, and the last bias.
        """
        return self._descent().weights

    def _descent(self) -> maths.Course:
        if self.view == "network":
            start = maths.initial_weights(self.width, self.seed)
            problem = maths.network(self.activation)
        elif self.view == "two":
            start, problem = np.array(self.start), maths.two_weights
        else:
            start, problem = np.array(self.start[:1]), maths.one_weight
        with np.errstate(all="ignore"):
            return maths.descend(problem, start, self.rule, self.rate, self.steps)

    _checked = checked(
        view=(check_member, list(VIEWS)),
        rule=(check_member, maths.RULES),
        activation=(check_member, ACTIVATIONS),
        width=(check_span, 1, maths.MAX_WIDTH),
        seed=(check_span, 0, MAX_SEED),
        steps=(check_span, 0, maths.MAX_STEPS),
    )

    @traitlets.validate("rate")
    def _rate_that_steps(self, proposal) -> float:
        rate = proposal["value"]
        if not 0 < rate <= LARGEST_RATE:
            why = " (no weight would move)" if rate == 0 else ""
            raise ValueError(
                f"rate must be above 0 and at most {LARGEST_RATE:g}, got {rate:g}{why}"
            )
        return rate

    @traitlets.validate("start")
    def _start_in_the_picture(self, proposal) -> list[float]:
        start = finite_array("start", proposal["value"], (2,)).tolist()
        for place, (weight, (low, high)) in enumerate(zip(start, LIMITS, strict=True)):
            if not low <= weight <= high:
                raise ValueError(
                    f"start must be from {low:g} to {high:g} at index {place}, "
                    f"got {weight:g}"
                )
        return start

    def draw(self, figure: Figure) -> None:
        """The loss with the steps on it; of a network the fit and the loss by step."""
        now = self._descent()
        if self.view == "network":
            fit, by_step = figure.subplots(1, 2)
            self._draw_fit(fit, now)
            _draw_losses(by_step, now.losses)
        elif self.view == "two":
            valley, line = figure.subplots(1, 2, width_ratios=(3, 2))
            _draw_valley(valley, now)
            _draw_line(line, now.weights)
        else:
            _draw_curve(figure.subplots(), now)

    def _draw_fit(self, ax: Axes, now: maths.Course) -> None:
        x = np.linspace(-2, 2, 161)
        with np.errstate(all="ignore"):
            y = maths.outputs(now.weights, self.activation, x)
        ax.plot(maths.CURVE_X, maths.CURVE_Y, "o", color=plots.PALETTE["ink"], ms=4)
        ax.plot(x, np.clip(y, -9, 9), color=plots.PALETTE["blue"])
        done = count(len(now.losses) - 1, "step")
        ax.set(xlabel="x", ylabel="y", ylim=(-1.7, 1.7), title=f"after {done}")


def _draw_curve(ax: Axes, now: maths.Course) -> None:
    w = np.linspace(*LIMITS[0], 161)
    loss = np.array([maths.one_weight(np.array([one]))[0] for one in w])
    plots.curves(ax, w, {"loss": loss}, xlabel="w", ylabel="loss")
    ax.set(xlim=LIMITS[0], ylim=(-3, 66))
    _draw_trail(ax, np.array(now.trail)[:, 0], np.array(now.losses))


def _draw_valley(ax: Axes, now: maths.Course) -> None:
    w1, w2 = np.meshgrid(*(np.linspace(*one, 161) for one in LIMITS))
    x, y = maths.EXAMPLES.T[..., None, None]
    loss = ((w1 * x + w2 - y) ** 2).mean(0)
    levels = [0.1, 0.5, 2, 5, 10, 20, 40, 80]
    style = {"colors": plots.PALETTE["blue"], "alpha": 0.7, "linewidths": 1}
    ax.clabel(ax.contour(w1, w2, loss, levels, **style), levels[2:6], fontsize="small")
    ax.set(xlim=LIMITS[0], ylim=LIMITS[1], xlabel="w₁", ylabel="w₂", aspect="equal")
    _draw_trail(ax, *np.array(now.trail).T)


def _draw_trail(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    """The start, the steps up to the last that leaves the figure, and the last one."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    inside = (left <= x) & (x <= right) & (bottom <= y) & (y <= top)
    end = np.flatnonzero(inside).max() + 2
    orange = plots.PALETTE["orange"]
    ax.plot(x[:end], y[:end], "o-", color=orange, ms=3, lw=1)
    ax.plot(x[:1], y[:1], "o", color=orange, ms=8, mfc="none")
    ax.plot(x[-1:], y[-1:], "o", color=orange, ms=8)


def _draw_line(ax: Axes, weights: np.ndarray) -> None:
    """The line that two weights make, and its points."""
    x, y = maths.EXAMPLES.T
    ends = np.array([0.0, 3.0])
    ax.plot(ends, weights[0] * ends + weights[1], color=plots.PALETTE["blue"])
    ax.plot(x, y, "o", color=plots.PALETTE["ink"])
    ax.set(xlabel="x", ylabel="y", xlim=ends, ylim=(-2, 12))


def _draw_losses(ax: Axes, losses: Sequence[float]) -> None:
    numbers = np.array(losses)
    numbers[~np.isfinite(numbers)] = np.nan
    style = "-" if len(numbers) > 1 else "o"
    ax.plot(numbers, style, color=plots.PALETTE["orange"])
    ax.set(xlabel="step", ylabel="loss", yscale="log")
