"""Chapter 17: a training run on many devices, its memory, its traffic, its time."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import check_member
from mygpt.explorers.scale import counts
from mygpt.explorers.scale.counts import cost

TRAITS = ("model", "device", "training", "devices", "spread", "kept")
LOOKS = {  # of the parts of the memory, in the page's order
    "weights": {"color": plots.SERIES[0]},
    "gradients": {"color": plots.SERIES[1]},
    "optimizer": {"color": plots.SERIES[2]},
    "one layer, whole": {"color": plots.SERIES[3]},
    "activations": {"color": plots.PALETTE["ink"], "alpha": 0.4},
}


class Scale(Explorer):
    """What one training run needs on `devices` devices, and what limits it.

    `model` and `device` are names of the MODELS and DEVICES of `distributed.cost`, or a
    Model and a Device of one's own; the other arguments are those of its Plan. Where
    none are given, tokens, batch, sequences at once and what is kept are those of the
    model's DATA, and 512 devices share the batch, or fewer where it has fewer
    sequences. The traits `model`, `device` and `training` take such a name too.
    """

    model = traitlets.Union([traitlets.Dict(), traitlets.Unicode()])
    device = traitlets.Union([traitlets.Dict(), traitlets.Unicode()])
    training = traitlets.Union([traitlets.Dict(), traitlets.Unicode()])
    devices = traitlets.Int()
    spread = traitlets.Unicode()
    kept = traitlets.Unicode()

    def __init__(
        self,
        model: str | cost.Model = "GPT-3 175B",
        device: str | cost.Device = "A100",
        *,
        devices: int | None = None,
        spread: str = "sharded",
        kept: str | None = None,
        tokens: int | None = None,
        batch_tokens: int | None = None,
        at_once: int | None = None,
        share: int | float = 0.4,
    ) -> None:
        data = cost.DATA["GPT-3 175B"]
        if isinstance(model, str):
            name = check_member("model", model, list(cost.MODELS))
            model, data = cost.MODELS[name], cost.DATA[name]
        if isinstance(device, str):
            name = check_member("device", device, list(cost.DEVICES))
            device = cost.DEVICES[name]
        own = {"tokens": tokens, "batch_tokens": batch_tokens, "at_once": at_once}
        own |= {"kept": kept}
        given = {key: one for key, one in own.items() if one is not None}
        run = cost.Plan(
            model,
            device,
            devices=1 if devices is None else devices,
            spread=spread,
            share=share,
            **(data | given),
        )
        if devices is None:
            run = replace(run, devices=min(512, run.sequences))
        super().__init__(
            **_state(run),
            description="Memory, traffic and time of a training run on many devices.",
        )

    def __repr__(self) -> str:
        run = self.run
        names = [_name(cost.MODELS, run.model), _name(cost.DEVICES, run.device)]
        what, on = (name or own for name, own in zip(names, OWN, strict=True))
        return f"Scale({what} on {run.devices:,} × {on}, {run.spread})"

    @property
    def run(self) -> cost.Plan:
        """The run that is shown, for the functions of `mygpt.distributed.cost`."""
        return counts.run_of({name: getattr(self, name) for name in TRAITS})

    @traitlets.validate(*TRAITS)
    def _possible(self, proposal) -> Any:
        """Check a trait beside the others; a smaller batch has fewer devices."""
        name = proposal["trait"].name
        state = {one: counts.unnamed(one, getattr(self, one)) for one in TRAITS}
        state[name] = counts.unnamed(name, proposal["value"])
        if name in ("model", "training"):
            state["devices"] = min(state["devices"], _most_devices(state))
        return _state(counts.run_of(state))[name]

    @traitlets.observe("model", "training")
    def _fewer(self, change) -> None:
        state = {one: getattr(self, one) for one in TRAITS}
        self.devices = min(self.devices, _most_devices(state))

    def draw(self, figure: Figure) -> None:
        """The time of a step by the number of devices, and the memory of one."""
        upper, lower = figure.subplots(2, 1, height_ratios=(4, 1))
        self._draw_times(upper)
        self._draw_memory(lower)

    def _draw_times(self, ax: Axes) -> None:
        run = self.run
        most = _most_devices({name: getattr(self, name) for name in TRAITS})
        grid = np.unique(np.geomspace(1, most, 160).round().astype(int)).tolist()
        times = [cost.step_time(replace(run, devices=n)) for n in grid]
        ax.plot(grid, [one.arithmetic for one in times], label="arithmetic")
        ax.plot(grid, [one.talking or np.nan for one in times], label="talking")
        ax.axvline(run.devices, color=plots.PALETTE["ink"], linewidth=1)
        ax.set(xscale="log", yscale="log", xlabel="devices", ylabel="seconds of a step")
        ax.legend()

    def _draw_memory(self, ax: Axes) -> None:
        run, left = self.run, 0.0
        for part, size in cost.memory_per_device(run).items():
            ax.barh(0, size / 1e9, left=left, label=part, **LOOKS[part])
            left += size / 1e9
        ax.axvline(run.device.memory / 1e9, color=plots.PALETTE["ink"], linestyle="--")
        ax.set(yticks=[], xlabel="gigabytes of one device; dashed: what it has")
        ax.set_xlim(0, 1.05 * max(left, run.device.memory / 1e9))
        ax.grid(visible=False, axis="y")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, fontsize="x-small")


OWN = ("a model", "a device")


def _state(run: cost.Plan) -> dict[str, Any]:
    """The traits of a run."""
    state = asdict(run)
    kept = {name: state.pop(name) for name in counts.TRAINING}
    return state | {"training": kept}


def _most_devices(state: Mapping[str, Any]) -> int:
    """As many as a batch can be split over, at least one."""
    run = counts.run_of({**state, "devices": 1})
    return min(run.sequences, cost.LIMITS["devices"])


def _name(presets: Mapping[str, Any], one: Any) -> str:
    return next((name for name, preset in presets.items() if preset == one), "")
