"""Chapters 7 to 9: a deep stack of feed-forward networks that trains in the page."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import (
    check_above_zero,
    check_keys,
    check_member,
    check_members,
    check_whole,
    checked,
)
from mygpt.explorers.kit.text import count
from mygpt.explorers.train_stack import training

TASKS = tuple(training.POINTS)
ACTIVATIONS = ("relu", "gelu", "silu")
MAX_DEPTH = 40
MAX_SEED = 99
LARGEST = 10.0  # gain and learning rate
REACH = 2.3  # of the picture of the plane
FOLDS = ("settings", "blocks")
SETTINGS: dict[str, Any] = {  # of a stack, each with its check and the limits
    "wiring": (check_member, plots.WIRINGS),
    "depth": (check_whole, 1, MAX_DEPTH),
    "activation": (check_member, ACTIVATIONS),
    "gain": (check_above_zero, LARGEST),
    "rate": (check_above_zero, LARGEST),
    "seed": (check_whole, 0, MAX_SEED),
}
USUAL: dict[str, Any] = {"activation": "relu", "gain": 1.0, "rate": 0.003, "seed": 0}


class TrainStack(Explorer):
    """A stack of feed-forward networks that learns to tell two spirals apart.

    It has `depth` blocks, 1 to 40, of width 8 with 16 neurons each, between a layer
    that reads the two coordinates of a point and one that gives two logits. `wiring` is
    "plain", "residual", "pre-norm" or "post-norm", `activation` "relu", "gelu" or
    "silu". The first weights are drawn from `seed`, 0 to 99, as `nn.Linear` draws them;
    those of the blocks, not the biases, are multiplied by `gain`. Steps are Adam's at
    the learning `rate`; gain and rate are above 0 and at most 10.

    The task "short" has 128 points on the spirals of chapter 7, and each step reads all
    of them. "long" has 512 points on longer spirals, and each step reads 64. `beside`
    holds settings of a second stack that differ: `{"wiring": "plain"}`. What is seen is
    always what `steps` steps of these settings give, 0 to 5,000.

    On a page without a kernel, an explorer at step 0 trains slowly by itself when it
    first comes into view, for 50 steps. `unfolded` names the parts that are open at
    first: "settings", with all but the wiring, and "blocks", with signal and gradient
    at each block.
    """

    task = traitlets.Unicode()
    left = traitlets.Dict()
    right = traitlets.Dict()  # empty where there is one stack
    steps = traitlets.Int()
    unfolded = traitlets.List(traitlets.Unicode())

    def __init__(
        self,
        wiring: str = "residual",
        *,
        depth: int = 20,
        activation: str = "relu",
        gain: float = 1.0,
        rate: float = 0.003,
        seed: int = 0,
        task: str = "short",
        beside: Mapping[str, Any] | None = None,
        steps: int = 0,
        unfolded: Iterable[str] = (),
    ) -> None:
        setting = (wiring, depth, activation, gain, rate, seed)
        left = dict(zip(SETTINGS, setting, strict=True))
        super().__init__(
            task=task,
            left=left,
            right={} if beside is None else left | dict(beside),
            steps=steps,
            unfolded=list(unfolded),
            description="A deep stack that trains in the page.",
        )

    def __repr__(self) -> str:
        return f"TrainStack({' beside '.join(map(_name, self.settings()))})"

    def settings(self) -> list[dict[str, Any]]:
        """The settings of the one stack, or of the two."""
        return [one for one in (self.left, self.right) if one]

    def trained(self) -> list[training.StackCourse]:
        """Train the one stack or the two in PyTorch, as far as the page has."""
        return [
            training.train_stack(self.task, one, self.steps) for one in self.settings()
        ]

    _checked = checked(
        task=(check_member, TASKS),
        steps=(check_whole, 0, training.MAX_STEPS),
        unfolded=(check_members, FOLDS),
    )

    @traitlets.validate("left", "right")
    def _known_setting(self, proposal) -> dict[str, Any]:
        name, given = proposal["trait"].name, proposal["value"]
        if not given and name == "right":
            return given
        return checked_setting(given)

    def draw(self, figure: Figure) -> None:
        """The plane of each stack; loss by step, signal and gradient by block."""
        courses = self.trained()
        columns = [*("plane" for _ in courses), "curves"]
        parts = figure.subfigures(
            1, len(columns), width_ratios=[1] * len(courses) + [1.1]
        )
        for part, one, course in zip(parts, self.settings(), courses, strict=False):
            self._draw_plane(part.subplots(), one, course)
        axes = parts[-1].subplots(3 if self.steps else 2, 1)
        looks = self._looks()
        if self.steps:
            _draw_losses(axes[0], looks, courses)
        _draw_sizes(axes[-2], "signal", looks, [one.signal for one in courses], 0)
        _draw_sizes(axes[-1], "gradient", looks, [one.gradient for one in courses], 1)
        axes[-1].set_xlabel("block")

    def _looks(self) -> list[dict]:
        """The looks of the stacks' curves: those of their wirings, if they differ."""
        wirings = [one["wiring"] for one in self.settings()]
        looks = [plots.looks_of([wiring])[wiring] for wiring in wirings]
        if len(set(wirings)) < len(wirings):
            looks[1] = {"color": plots.PALETTE["ink"], "linestyle": "--"}
        return looks

    def _draw_plane(
        self, ax: Axes, setting: dict, course: training.StackCourse
    ) -> None:
        task = training.spirals(self.task, setting["seed"])
        lean = training.plane(course.stack, REACH, 72)
        colours = np.array([to_rgb(plots.SERIES[k]) for k in (0, 1)])
        sure = np.nan_to_num(0.6 * np.abs(lean))[..., None]
        picture = np.concatenate([colours[(lean > 0).astype(int)], sure], -1)
        ax.imshow(picture, origin="lower", extent=(-REACH, REACH, -REACH, REACH))
        for k, mark in enumerate("o^"):
            points = task.points[task.arm == k].T
            ax.plot(*points, mark, color=plots.SERIES[k], markersize=2)
        end = f"loss {course.losses[-1]:.2g}, {100 * course.right:.0f} % right"
        title = _title(setting, self.settings())
        ax.set(title=title, xlabel=end, xticks=[], yticks=[])
        ax.grid(visible=False)


def _name(setting: Mapping[str, Any]) -> str:
    return f"{setting['wiring']}, {count(setting['depth'], 'block')}"


def _title(setting: Mapping[str, Any], settings: Iterable[Mapping[str, Any]]) -> str:
    """The name of a stack, and below what is unusual in it or not as in the other."""
    others = [USUAL, *settings]
    told = [
        setting[name] if name == "activation" else f"{name} {setting[name]:g}"
        for name in USUAL
        if any(other[name] != setting[name] for other in others)
    ]
    return "\n".join([_name(setting), ", ".join(told)]).strip()


def checked_setting(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting of a stack; raise a ValueError for one that it cannot have."""
    check_keys("a stack has the settings", given, SETTINGS)
    return {
        name: check(name, given[name], *limits)
        for name, (check, *limits) in SETTINGS.items()
    }


def _draw_losses(ax: Axes, looks: list[dict], courses: list) -> None:
    for look, course in zip(looks, courses, strict=True):
        ax.plot(course.losses, **look)
    ax.axhline(np.log(2), color=plots.PALETTE["ink"], linewidth=1, linestyle=":")
    ax.set(ylabel="loss", ylim=(0, 1.1))


def _draw_sizes(
    ax: Axes, name: str, looks: list[dict], lists: list, first: int
) -> None:
    for look, sizes in zip(looks, lists, strict=True):
        sizes = np.array(sizes)
        sizes[~(np.isfinite(sizes) & (sizes > 0))] = np.nan
        style = look if len(sizes) > 1 else look | {"marker": "o"}
        ax.plot(range(first, first + len(sizes)), sizes, **style)
    ax.set(ylabel=name, yscale="log")
