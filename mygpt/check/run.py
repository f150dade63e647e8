"""Run a reader's program once: in time, on copies, and without lasting effects."""

import ctypes
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from mygpt.check.compare import convert, copy_of, describe, unchanged
from mygpt.check.task import Arguments, Program, Task


class OutOfTime(BaseException):
    """The program has had its time; no Exception, so that programs do not catch it."""


RANDOM = "random numbers were drawn, or a seed set"


@dataclass
class Outcome:
    """What came of one run: a value, or an error, and what else the program did.

    left: the arguments as the program left them.
    """

    value: Any = None
    error: BaseException | None = None
    trouble: str | None = None
    left: Arguments = field(default_factory=dict)


def run_once(
    task: Task, program: Program, arguments: Arguments, dtype: torch.dtype
) -> Outcome:
    """Run a program on copies of the arguments."""
    given = {name: convert(value, dtype) for name, value in arguments.items()}
    copies = copy_of(given)
    outcome = Outcome()
    with kept_state() as changes:
        try:
            outcome.value = in_parts(task, task.run(program, copies))
        except Unusable:
            raise
        except (Exception, SystemExit) as error:
            outcome.error = error
    outcome.left = copies
    if changes:
        outcome.trouble = changes[0]
    for name in given:
        if not unchanged(given[name], copies[name]):
            outcome.trouble = (
                f"Your program changes its argument {name} in place; "
                "the caller may still need it."
            )
    return outcome


def in_parts(task: Task, value: Any) -> Any:
    """Name the parts of a result that has several."""
    if not task.parts or isinstance(value, dict):
        return value
    if not isinstance(value, tuple | list) or len(value) != len(task.parts):
        raise WrongResult(f"expected {task.returns}, got {describe(value)}")
    return dict(zip(task.parts, value, strict=True))


class Unusable(Exception):
    """A program that cannot be run at all; the message is for the reader."""


class WrongResult(Exception):
    """A result that cannot be compared; the message is for the reader."""


@contextmanager
def kept_state() -> Iterator[list[str]]:
    """Restore PyTorch's and Python's global state; collect what was changed."""
    changes: list[str] = []
    dtype, device = torch.get_default_dtype(), torch.get_default_device()
    recording = torch.is_grad_enabled()
    torch_state, python_state = torch.get_rng_state(), random.getstate()
    try:
        yield changes
    finally:
        if torch.get_default_dtype() != dtype:
            torch.set_default_dtype(dtype)
            changes.append("Your program changes PyTorch's default type.")
        if torch.get_default_device() != device:
            torch.set_default_device(device)
            changes.append("Your program changes PyTorch's default device.")
        if torch.is_grad_enabled() != recording:
            torch.set_grad_enabled(recording)
            changes.append("Your program turns gradients off, or on, for everybody.")
        same = torch.equal(torch.get_rng_state(), torch_state)
        if not same or random.getstate() != python_state:
            torch.set_rng_state(torch_state)
            random.setstate(python_state)
            changes.append(RANDOM)


@contextmanager
def time_limit(seconds: int | float) -> Iterator[None]:
    """Raise OutOfTime in the body after some time.

    By a signal where there is one, which also ends a wait; elsewhere between two steps
    of Python.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if hasattr(signal, "setitimer") and in_main:
        with by_signal(seconds, signal.ITIMER_REAL, signal.SIGALRM):
            yield
        return
    thread = threading.get_ident()
    timer = threading.Timer(seconds, interrupt, [thread])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the body after some processor time, if a signal tells it."""
    in_main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not in_main:
        yield
        return
    with by_signal(seconds, signal.ITIMER_PROF, signal.SIGPROF):
        yield


@contextmanager
def by_signal(seconds: int | float, timer: int, number: int) -> Iterator[None]:
    def stop(number, frame):
        raise OutOfTime

    before = signal.signal(number, stop)
    signal.setitimer(timer, seconds, 0.5)  # again, if it is swallowed
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)


def interrupt(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(OutOfTime)
    )
