"""Run a reader's program once: in time, on copies, and without lasting effects."""

import ctypes
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from mygpt.check.compare import convert, copy_of, describe, unchanged
from mygpt.check.task import Arguments, Program, Task


class OutOfTime(BaseException):
    """The program has had its time; no Exception, so that programs do not catch it."""


RANDOM = "random numbers were drawn, or a seed set"
PATIENCE = 3  # times its limit that a program has which waits, or shares a processor
TICK = 0.05  # seconds between two looks at a clock
AGAIN = 0.5  # until the program is stopped again, if it has swallowed that
# How PyTorch's state is read and set, and what a program does that changes it.
STATE = (
    (
        torch.get_default_dtype,
        torch.set_default_dtype,
        lambda _: "changes PyTorch's default type",
    ),
    (
        torch.get_default_device,
        torch.set_default_device,
        lambda _: "changes PyTorch's default device",
    ),
    (
        torch.is_grad_enabled,
        torch.set_grad_enabled,
        lambda on: f"turns gradients {'on' if on else 'off'} for everybody",
    ),
    (
        torch.is_inference_mode_enabled,
        lambda _: None,  # only the guard that set it puts it back
        lambda on: f"turns inference mode {'on' if on else 'off'} for everybody",
    ),
    (
        lambda: torch.is_autocast_enabled("cpu"),
        lambda on: torch.set_autocast_enabled("cpu", on),
        lambda on: f"turns autocast {'on' if on else 'off'} for everybody",
    ),
)


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
    before, depth = state(), sys.getrecursionlimit()
    torch_state, python_state = torch.get_rng_state(), random.getstate()
    try:
        yield changes
    finally:
        sys.setrecursionlimit(max(depth, sys.getrecursionlimit()))
        for (_, put, said), was, now in zip(STATE, before, state(), strict=True):
            if now != was:
                put(was)
                changes.append(f"Your program {said(now)}.")
        same = torch.equal(torch.get_rng_state(), torch_state)
        if not same or random.getstate() != python_state:
            torch.set_rng_state(torch_state)
            random.setstate(python_state)
            changes.append(RANDOM)


def state() -> tuple[Any, ...]:
    """What PyTorch does for everybody in this thread."""
    return tuple(read() for read, _, _ in STATE)


@contextmanager
def own_state() -> Iterator[None]:
    """Give a check the state that it needs, whatever its caller's is."""
    dtype = torch.get_default_dtype()
    with ExitStack() as stack:
        enter = stack.enter_context
        enter(torch.inference_mode(False))
        enter(torch.enable_grad())
        enter(torch.autocast("cpu", enabled=False))
        enter(torch.autograd.set_detect_anomaly(False))
        if torch.get_default_device() != torch.device("cpu"):
            enter(torch.device("cpu"))
        stack.callback(torch.set_default_dtype, dtype)
        torch.set_default_dtype(torch.float32)
        yield


def clock(seconds: int | float, spent: Callable[[], float]) -> Callable[[], str]:
    """Return what is over: processor time, or PATIENCE times as much of any; or "".

    A busy machine takes no time from a program, and one that sleeps has its end too.
    """
    work, wall = spent() + seconds, own_time() + PATIENCE * seconds
    return lambda: "work" if spent() >= work else "wait" if own_time() >= wall else ""


def own_time(process: int | str = "self") -> float:
    """Seconds without those for which a process stood in line for a processor."""
    with suppress(OSError, ValueError, IndexError):  # where the system does not tell
        line = Path(f"/proc/{process}/schedstat").read_text("ascii").split()[1]
        return time.monotonic() - int(line) / 1e9
    return time.monotonic()


@contextmanager
def time_limit(seconds: int | float) -> Iterator[None]:
    """Raise OutOfTime in the body after some processor time.

    By a signal where there is one, which also ends a wait; elsewhere between two steps
    of Python.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if hasattr(signal, "setitimer") and in_main:
        over = clock(seconds, time.thread_time)
        with by_signal(seconds, signal.ITIMER_REAL, signal.SIGALRM, over):
            yield
        return
    thread, done = threading.get_ident(), threading.Event()
    over = clock(seconds, time.process_time)

    def watch() -> None:
        while not done.wait(TICK):
            if over():
                interrupt(thread)
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


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
def by_signal(
    seconds: int | float,
    timer: int,
    number: int,
    over: Callable[[], str] = lambda: "work",
) -> Iterator[None]:
    def stop(number, frame):
        if why := over():
            signal.setitimer(timer, AGAIN, AGAIN)
            raise OutOfTime(why)

    before = signal.signal(number, stop)
    outer = signal.setitimer(timer, seconds, TICK)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)
        signal.setitimer(timer, *outer)


def interrupt(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(OutOfTime)
    )
