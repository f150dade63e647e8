"""The values of a program, sent out of its process as plain data and judged there.

Inside, a program can replace what the check relies on; a verdict that it is right is
reached outside, by functions that it could not touch.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from mygpt.check.catalogue import TASKS
from mygpt.check.classes import with_usual_sizes
from mygpt.check.compare import find_difference, unchanged
from mygpt.check.explanation import reason
from mygpt.check.gradients import gradients
from mygpt.check.order import right
from mygpt.check.process.run import Outcome, own_state
from mygpt.check.result import Result, failed
from mygpt.check.task import Arguments, Task
from mygpt.check.tree import leaves
from mygpt.check.values import Submission, differences

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
    )
}
PLAIN = (type(None), bool, int, str)
INCOMPLETE = "Your program's process did not send what it computed."
REFUTED = (
    "This was judged outside your program's process; what it says inside counts for "
    "nothing."
)


class UnknownData:
    """Stands for an object that does not travel."""


def evidence_of(submission: Submission) -> Any:
    """Return the values of a program as JSON: what a check saw that went to its end."""
    task = submission.task
    return encode(
        {
            "dtype": str(submission.dtype).removeprefix("torch."),
            "usual_sizes": task is with_usual_sizes(TASKS[task.name]),
            "outcomes": [
                (each.value, repr(each.error) if each.error else "", data_of(each.left))
                for each in submission.outcomes
            ],
            "gradients": submission.gradients,
            "seen": submission.seen,
        }
    )


def received(task: Task, found: Any) -> Submission:
    """Rebuild a submission without its program; an error for any other JSON."""
    values = decode(found)
    if values["dtype"] not in ("float64", "float32"):
        raise ValueError(f"expected float64 or float32, got {values['dtype']}")
    if values["usual_sizes"]:
        task = with_usual_sizes(task)
    dtype, seen = DTYPES[values["dtype"]], values["seen"]
    submission = Submission(task, gone, dtype, values["gradients"], seen)
    submission.outcomes = [
        Outcome(value, RuntimeError(error) if error else None, left=left)
        for value, error, left in values["outcomes"]
    ]
    return submission


def gone(*values: Any) -> Any:
    """Stand in for the program, whose process has ended."""
    raise AssertionError("judged from evidence alone")


def data_of(arguments: Arguments) -> Arguments:
    """Return the arguments that can be sent as they are."""
    return {
        name: value
        for name, value in arguments.items()
        if all(isinstance(leaf, (*PLAIN, float, Tensor)) for _, leaf in leaves(value))
    }


# Both ways


def encode(value: Any) -> Any:
    """Turn a value into JSON that gives it back to the bit."""
    if isinstance(value, Tensor):
        plain = value.detach().cpu().to_dense().contiguous()
        name = str(plain.dtype).removeprefix("torch.")
        if name not in DTYPES:
            return {"object": None}
        raw = plain.reshape(-1).view(torch.uint8).numpy().tobytes()
        return {"tensor": [name, list(plain.shape), base64.b64encode(raw).decode()]}
    if isinstance(value, Mapping):
        return {"dict": [[encode(k), encode(v)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encode(part) for part in value]}
    if isinstance(value, PLAIN):
        return value
    if hasattr(value, "__index__"):
        return int(value)  # numpy's
    if hasattr(value, "__float__"):
        return {"float": float(value).hex()}
    return {"object": None}


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
    return UnknownData()


# The verdict


@own_state()
def verdict(task: Task, found: Any) -> Result:
    """Judge the values that a process sent; right only if all of them are."""
    try:
        submission = received(task, found)
        for stage, sentence in faults(submission):
            return refuted(task, stage, sentence)
        return outside(right(submission))
    except Exception:
        return refuted(task, "load", INCOMPLETE)


def outside(result: Result) -> Result:
    """Note that a verdict was made outside the program's process."""
    result.judged = "outside"
    return result


def refuted(task: Task, stage: str, sentence: str) -> Result:
    """Return the result of a program that was found wrong outside its process."""
    return outside(failed(task, stage, f"{sentence} {REFUTED}"))


def faults(submission: Submission) -> Iterator[tuple[str, str]]:
    """Yield the stage and a sentence of each fault, in the order of a check."""
    task, given = submission.task, submission.given
    known = submission.outcomes_of(submission.reference)
    for i in differences(known, submission.outcomes, task):
        yield reason(known[i], submission.outcomes[i], task.tolerance)
    for before, outcome in zip(given, submission.outcomes, strict=True):
        for name, value in data_of(before).items():
            if not unchanged(value, outcome.left[name]):
                yield "effect", f"Your program changes its argument {name} in place."
    asked = given if task.differentiable else []
    for each, got in zip(asked, submission.gradients, strict=True):
        expected = gradients(task, submission.reference, each)
        if found := find_difference(expected, got, "", task.tolerance):
            yield "gradient", f"A gradient is wrong: {found.sentence}."
    for one, seen in zip(task.properties, submission.seen, strict=True):
        if sentence := one.broken(seen, given[0]):
            yield "property", sentence
