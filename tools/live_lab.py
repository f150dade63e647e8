"""The picture that stands in for a live lab where there is no kernel."""

import base64
import itertools
from collections.abc import Iterator

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
REFERENCE = "IPY_MODEL_"


def still(outputs: list[dict], widget_state: dict) -> bytes | None:
    """The last PNG that a live lab drew, found from its cell's outputs.

    `outputs` are those of the cell; `widget_state` is the `state` entry of the
    notebook's `metadata.widgets`, by model id.
    """
    pictures = map(_last_png, shown(outputs, widget_state))
    return next(filter(None, reversed([*pictures])), None)


def failure(outputs: list[dict], widget_state: dict) -> str | None:
    """The error that a live lab shows, which no client takes for an error."""
    for one in itertools.chain.from_iterable(shown(outputs, widget_state)):
        if one.get("output_type") == "error":
            return f"{one['ename']}: {one['evalue']}"
    return None


def printed(outputs: list[dict], widget_state: dict) -> str:
    """The text that a live lab shows."""
    every = itertools.chain.from_iterable(shown(outputs, widget_state))
    return "".join(one.get("text", "") for one in every)


def shown(outputs: list[dict], widget_state: dict) -> Iterator[list[dict]]:
    """Yield the outputs of a cell, and those of the widgets that it shows.

    `interact` draws into an Output model below the widget that the cell shows: every
    model reachable from the cell's views is searched.
    """
    waiting = [
        output["data"][VIEW]["model_id"]
        for output in outputs
        if VIEW in output.get("data", {})
    ]
    seen: set[str] = set()
    yield outputs
    while waiting:
        model_id = waiting.pop(0)
        if model_id in seen or model_id not in widget_state:
            continue
        seen.add(model_id)
        state = widget_state[model_id].get("state", {})
        yield state.get("outputs") or []
        waiting += _references(state)


def _last_png(outputs: list[dict]) -> bytes | None:
    pictures = [
        data["image/png"] for o in outputs if "image/png" in (data := o.get("data", {}))
    ]
    if not pictures:
        return None
    return base64.b64decode("".join(pictures[-1]))


def _references(value) -> list[str]:
    if isinstance(value, str):
        return [value.removeprefix(REFERENCE)] if value.startswith(REFERENCE) else []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [name for item in value for name in _references(item)]
    return []
