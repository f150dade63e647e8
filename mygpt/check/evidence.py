"""What a program computed, sent out of its process as plain data and judged there.

Inside, a program can replace what the check relies on; a verdict that it is right is
reached outside, by functions that it could not touch.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mygpt.check.catalogue import TASKS
from mygpt.check.classes import with_usual_sizes
from mygpt.check.compare import convert, describe, find_difference, unchanged
from mygpt.check.engine import Checking, Outcome, failed, reason
from mygpt.check.gradients import gradients
from mygpt.check.result import Result
from mygpt.check.run import own_state
from mygpt.check.task import Arguments, Program, Task

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
    )
}
PLAIN = (type(None), bool, int, float, str)
INCOMPLETE = "Your program's process did not send what it computed."
REFUTED = (
    "This was judged outside your program's process; what it says inside counts for "
    "nothing."
)


@dataclass
class Evidence:
    """What a program gave on the probes of its task, in their order.

    dtype: type of the decimal numbers that it was given.
    usual_sizes: whether these were the probes for a class that takes fewer sizes.
    values: its results.
    errors: what stopped it there instead; empty where nothing did.
    left: the arguments as it left them, where they are data.
    gradients: by argument, if the task asks for them.
    seen: what its properties are judged by.
    """

    dtype: str
    usual_sizes: bool
    values: list[Any]
    errors: list[str]
    left: list[Arguments]
    gradients: list[dict[str, Any]]
    seen: list[Any]


class Unknown:
    """Stands for an object that does not travel."""

    def __init__(self, description: str) -> None:
        self.description = description


def evidence_of(checking: Checking) -> Evidence:
    """Collect what a check saw that went to its end."""
    return Evidence(
        dtype=str(checking.dtype).removeprefix("torch."),
        usual_sizes=checking.task is with_usual_sizes(TASKS[checking.task.name]),
        values=[outcome.value for outcome in checking.outcomes],
        errors=[repr(o.error) if o.error else "" for o in checking.outcomes],
        left=[data_of(outcome.left) for outcome in checking.outcomes],
        gradients=checking.gradients,
        seen=checking.seen,
    )


def data_of(arguments: Arguments) -> Arguments:
    return {name: value for name, value in arguments.items() if is_data(value)}


def is_data(value: Any) -> bool:
    """Whether a value travels as it is."""
    if isinstance(value, Mapping):
        return all(map(is_data, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_data, value))
    return isinstance(value, (*PLAIN, Tensor))


# Both ways


def encode(value: Any) -> Any:
    """Turn a value into JSON that gives it back to the bit."""
    if isinstance(value, Tensor):
        plain = value.detach().cpu().to_dense().contiguous()
        name = str(plain.dtype).removeprefix("torch.")
        if name not in DTYPES:
            return {"object": describe(value)}
        raw = plain.reshape(-1).view(torch.uint8).numpy().tobytes()
        return {"tensor": [name, list(plain.shape), base64.b64encode(raw).decode()]}
    if isinstance(value, Mapping):
        return {"dict": [[encode(k), encode(v)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encode(part) for part in value]}
    if isinstance(value, float):
        return {"float": float(value).hex()}
    if isinstance(value, PLAIN):
        return value
    if hasattr(value, "__index__"):
        return int(value)  # numpy's
    if hasattr(value, "__float__"):
        return {"float": float(value).hex()}
    return {"object": describe(value)}


def decode(found: Any) -> Any:
    """Turn such JSON into the value; nothing but data comes out, whatever comes in."""
    if not isinstance(found, dict):
        return found
    ((kind, content),) = found.items()
    if kind == "tensor":
        name, shape, raw = content
        flat = torch.frombuffer(
            bytearray(base64.b64decode(raw) or b"\0" * 8), dtype=DTYPES[name]
        )
        return flat[: torch.Size(shape).numel()].reshape(shape)
    if kind == "float":
        return float.fromhex(content)
    if kind == "dict":
        return {decode(k): decode(v) for k, v in content}
    if kind in ("list", "tuple"):
        return {"list": list, "tuple": tuple}[kind](map(decode, content))
    return Unknown(str(content))


def as_json(evidence: Evidence) -> dict[str, Any]:
    return {name: encode(value) for name, value in vars(evidence).items()}


def from_json(found: dict[str, Any]) -> Evidence:
    """Read what a program's process sent; a ValueError if it is anything else."""
    try:
        return Evidence(**{name: decode(value) for name, value in found.items()})
    except Exception as error:
        raise ValueError(f"expected evidence; got {error}") from error


# The verdict


@own_state()
def verdict(task: Task, evidence: Evidence) -> Result:
    """Judge what a program computed; it is right only if all of it is."""
    if evidence.usual_sizes:
        task = with_usual_sizes(task)
    if evidence.dtype not in ("float64", "float32"):
        return refuted(task, "load", INCOMPLETE)
    checking = Checking(task, gone, DTYPES[evidence.dtype])
    try:
        checking.outcomes = [
            Outcome(value, RuntimeError(error) if error else None)
            for value, error in zip(evidence.values, evidence.errors, strict=True)
        ]
        form, reference = checking.nearest_form()
        wrong = what_is_wrong(checking, reference, evidence)
        return outside(checking.right(form)) if wrong is None else wrong
    except Exception:
        return refuted(task, "load", INCOMPLETE)


def gone(*values: Any) -> Any:
    """Stand in for the program, whose process has ended."""
    raise AssertionError("judged from evidence alone")


def outside(result: Result) -> Result:
    result.judged = "outside"
    return result


def refuted(task: Task, stage: str, sentence: str) -> Result:
    return outside(failed(task, stage, f"{sentence} {REFUTED}"))


def what_is_wrong(
    checking: Checking, reference: Program, evidence: Evidence
) -> Result | None:
    """Compare values, arguments, gradients and properties, in this order."""
    task, arguments = checking.task, checking.arguments
    known = checking.known_outcomes(reference)
    for expected, got in zip(known, checking.outcomes, strict=True):
        if checking.differ(expected, got):
            return refuted(task, *reason(expected, got, task.tolerance))
    given = [convert(each, checking.dtype) for each in arguments]
    for before, after in zip(given, evidence.left, strict=True):
        for name, value in data_of(before).items():
            if not unchanged(value, after[name]):
                sentence = f"Your program changes its argument {name} in place."
                return refuted(task, "effect", sentence)
    asked = arguments if task.differentiable else []
    for each, got in zip(asked, evidence.gradients, strict=True):
        expected = gradients(task, reference, each, checking.dtype)
        if found := find_difference(expected, got, "", task.tolerance):
            sentence = f"A gradient is wrong: {found.sentence}."
            return refuted(task, "gradient", sentence)
    for one, seen in zip(task.properties, evidence.seen, strict=True):
        if sentence := one.broken(seen, given[0]):
            return refuted(task, "property", sentence)
    return None
