"""What Scale shows, counted by the package from a run alone."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from mygpt.distributed import cost
from mygpt.explorers.kit.checks import check_member

TRAINING = ("tokens", "batch_tokens", "at_once", "share")
SHARE = 0.4  # of the peak, where a run is given by its name


def run_of(state: Mapping[str, Any]) -> cost.Plan:
    """The run of an explorer's traits; a ValueError where they make none."""
    _check_names("training", state["training"], TRAINING)
    numbers = {name: state[name] for name in ("devices", "spread", "kept")}
    model = _made("model", cost.Model, state["model"])
    device = _made("device", cost.Device, state["device"])
    return cost.Plan(model, device, **state["training"], **numbers)


def unnamed(trait: str, value: Any) -> Any:
    """A trait's value that may be given by the name of a preset."""
    if not isinstance(value, str) or trait not in ("model", "device", "training"):
        return value
    every: dict[str, Mapping[str, Any]]
    every = {"model": cost.MODELS, "device": cost.DEVICES, "training": cost.DATA}
    presets = every[trait]
    check_member(trait, value, list(presets))
    if trait != "training":
        return asdict(presets[value])
    data = dict(presets[value])
    del data["kept"]
    return data | {"share": SHARE}


def _made(name: str, kind: Any, given: Mapping[str, Any]) -> Any:
    _check_names(name, given, [one.name for one in fields(kind)])
    return kind(**given)


def _check_names(name: str, given: Mapping[str, Any], names: Any) -> None:
    if set(given) != set(names):
        raise ValueError(f"{name} has the numbers {list(names)}, got {list(given)}")
