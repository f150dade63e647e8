"""Whether the explorers' states of two runs agree, but for a processor's rounding.

Text, truth values and whole numbers must be equal. Decimals may differ by CLOSE of the
larger, those of an array by CLOSE of its largest; numbers that were rounded to a step,
or are packed as multiples of a unit, by one step or unit more.
"""

import base64
import math
from collections.abc import Iterator

import numpy as np

from tools.comparison import difference
from tools.figures import figures_differ

CLOSE = 1e-3
# How the explorers pack arrays, by class and trait; other bytes must be equal.
FLOATS = (
    *("Activations.data", "Attention.data", "BlockWalk.data", "Depth.data"),
    *("LiveModel.centre_data", "LiveModel.moment_data", "LiveModel.weights"),
    *("Sampling.data", "TrainGPT.weights"),
)
STEPS = {"Activations.data": 1e-4, "Depth.data": math.log10(1.01)}
THOUSANDTHS = ("Memory.data",)
PAIRS = ("Memory.trigger_data", "Memory.promoted_data", "LiveModel.trigger_data")
PACKED_ROWS = {"Memory.value_data": "neurons", "Memory.vector_data": "words"}


def differences(stored: dict, fresh: dict) -> Iterator[tuple[str, str]]:
    """Yield the cells whose explorers disagree, each with the reason."""
    old, new = map(_by_place, (stored, fresh))
    for cell, place in sorted(old.keys() | new.keys()):
        here = cell, place
        if here not in old:
            yield cell, "shows an explorer and none is stored: run `make chapters`"
        elif here not in new:
            yield cell, "shows no explorer where one is stored: run `make chapters`"
        elif why := _model_differs(old[here], new[here]):
            yield cell, f"its explorer's state differs: {why}"
    for cell, outputs in fresh.get("outputs", {}).items():
        if why := difference(
            *map(_printed, (stored["outputs"].get(cell, []), outputs))
        ):
            yield cell, f"printed something else: {why}"
    old, new = (one.get("labs", {}) for one in (stored, fresh))
    for cell in sorted(old.keys() | new.keys()):
        if why := difference(old.get(cell, ""), new.get(cell, "")):
            yield cell, f"its live lab printed something else: {why}"
    old, new = (one.get("figures", {}) for one in (stored, fresh))
    for cell in sorted(old.keys() | new.keys()):
        if why := figures_differ(old.get(cell, []), new.get(cell, [])):
            yield cell, f"its figures' state differs: {why}"
    if _links(stored) != _links(fresh):
        yield fresh["views"][-1][0], "its explorers are linked in another way"


def _by_place(states: dict) -> dict[tuple[str, int], dict]:
    return {(c, place): states["models"][name] for c, place, name in states["views"]}


def _printed(outputs: list[dict]) -> str:
    return "\n".join(one.get("text", "") for one in outputs)


def _links(states: dict) -> dict:
    shown = {name for _, _, name in states["views"]}
    return {n: model for n, model in states["models"].items() if n not in shown}


def _model_differs(old: dict, new: dict) -> str | None:
    kind = old["state"].get("_anywidget_id", "").rpartition(".")[2]
    for trait in sorted(old["state"].keys() | new["state"].keys()):
        ours, theirs = (one["state"].get(trait) for one in (old, new))
        if not agree(ours, theirs):
            return f"{trait} {_short(ours)} became {_short(theirs)}"
    olds, news = map(_buffers, (old, new))
    for trait in sorted(olds.keys() | news.keys()):
        ours, theirs = olds.get(trait, b""), news.get(trait, b"")
        if why := _bytes_differ(f"{kind}.{trait}", ours, theirs, old["state"]):
            return f"{trait}, {why}"
    return None


def _buffers(model: dict) -> dict[str, bytes]:
    return {
        ".".join(map(str, one["path"])): base64.b64decode(one["data"])
        for one in model.get("buffers", [])
    }


def _short(value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def agree(old, new) -> bool:
    """Whether two values of JSON are the same, but for the last digits of decimals."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(agree(old[k], new[k]) for k in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(agree, old, new))
    if type(old) is not type(new):
        return False
    if isinstance(old, float):
        return math.isclose(old, new, rel_tol=CLOSE, abs_tol=CLOSE / 1000)
    return old == new


def _bytes_differ(name: str, old: bytes, new: bytes, state: dict) -> str | None:
    if old == new:
        return None
    if len(old) != len(new):
        return f"{len(old):,} bytes became {len(new):,}"
    unit: np.ndarray | float = STEPS.get(name, 0.0)
    if name in FLOATS:
        kind = "<f2" if state.get("dtype") == "float16" and "weights" in name else "<f4"
        ours, theirs = (np.frombuffer(b, kind).astype(float) for b in (old, new))
    elif name in THOUSANDTHS:
        ours, theirs = (np.frombuffer(b, "<i4").astype(float) for b in (old, new))
        unit = 1.0
    elif name in PAIRS:  # a text's index, which must be equal, and thousandths
        ours, theirs = (np.frombuffer(b, "<i4").reshape(-1, 2) for b in (old, new))
        if (ours[:, 0] != theirs[:, 0]).any():
            return "a text is another"
        ours, theirs = (pairs[:, 1].astype(float) for pairs in (ours, theirs))
        unit = 1.0
    elif name in PACKED_ROWS:
        rows = state[PACKED_ROWS[name]]
        rows = len(rows) if isinstance(rows, list) else rows
        (ours, unit), (theirs, _) = (unpacked(b, rows) for b in (old, new))
    else:
        place = next(i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)
        return f"byte {place:,} of {len(old):,} is another"
    with np.errstate(invalid="ignore"):  # two infinities agree, or two of no number
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        gaps = np.where(same, 0.0, np.abs(ours - theirs))
    finite = np.abs(ours)[np.isfinite(ours)]
    allowed = CLOSE * finite.max(initial=0.0) + unit
    if np.all(gaps <= allowed):
        return None
    worst = np.nanargmax(np.where(np.isnan(gaps), np.inf, gaps - allowed))
    return f"number {worst:,}: {ours.flat[worst]:g} became {theirs.flat[worst]:g}"


def unpacked(data: bytes, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 12-bit multiples of a unit as numbers, and each row's unit.

    The memory explorer packs them: the units, the upper eight bits, the lower four.
    """
    units = np.frombuffer(data, "<f4", rows)[:, None].astype(float)
    size = (len(data) - 4 * rows) * 2 // 3 // rows * rows
    upper = np.frombuffer(data, "i1", size, 4 * rows).astype(int)
    pairs = np.frombuffer(data, "u1", offset=4 * rows + size).astype(int)
    lower = np.stack([pairs & 15, pairs >> 4], axis=1).ravel()[:size]
    return (upper * 16 + lower).reshape(rows, -1) * units, units
