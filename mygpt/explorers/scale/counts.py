"""What Scale shows, counted by the package from a run alone."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from mygpt.distributed.cost import (
    DATA,
    DEVICES,
    LIMITS,
    MODELS,
    Device,
    Model,
    Plan,
    least_devices,
    memory_per_device,
    step_time,
)
from mygpt.distributed.published_runs import PUBLISHED
from mygpt.explorers.kit.checks import check_member

__all__ = [
    "DATA",
    "DEVICES",
    "LIMITS",
    "MODELS",
    "PUBLISHED",
    "Device",
    "Model",
    "Plan",
    "asdict",
    "least_devices",
    "memory_per_device",
    "run_of",
    "step_time",
    "unnamed",
]
TRAINING = ("tokens", "batch_tokens", "at_once", "share")
SHARE = 0.4  # of the peak, where a run is given by its name


def run_of(state: Mapping[str, Any]) -> Plan:
    """The run of an explorer's traits; a ValueError where they make none."""
    _check_names("training", state["training"], TRAINING)
    numbers = {name: state[name] for name in ("devices", "spread", "kept")}
    model = _made("model", Model, state["model"])
    device = _made("device", Device, state["device"])
    return Plan(model, device, **state["training"], **numbers)


def unnamed(trait: str, value: Any) -> Any:
    """A trait's value that may be given by the name of a preset."""
    if not isinstance(value, str) or trait not in ("model", "device", "training"):
        return value
    every: dict[str, Mapping[str, Any]]
    every = {"model": MODELS, "device": DEVICES, "training": DATA}
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
