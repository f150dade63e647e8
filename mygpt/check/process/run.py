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
from functools import partial
from pathlib import Path
from typing import Any

import torch

from mygpt.check.compare import convert, copy_of, describe, unchanged
from mygpt.check.task import Arguments, Program, Task
from mygpt.check.work import OutOfTime

RANDOM = "random numbers were drawn, or a seed set"
PATIENCE = 3  # times its limit that a program has which waits, or shares a processor
TICK = 0.05  # seconds between two looks at a clock
AGAIN = 0.5  # until the program is stopped again, if it has swallowed that
# PyTorch's state: its name, and how it is read and set.
STATE: tuple[tuple[str, Callable[[], Any], Callable[[Any], Any]], ...] = (
    ("default type", torch.get_default_dtype, torch.set_default_dtype),
    ("default device", torch.get_default_device, torch.set_default_device),
    ("gradients", torch.is_grad_enabled, torch.set_grad_enabled),
    # only the guard that turned inference mode on turns it off
    ("inference mode", torch.is_inference_mode_enabled, lambda _: None),
    (
        "autocast",
        partial(torch.is_autocast_enabled, "cpu"),
        partial(torch.set_autocast_enabled, "cpu"),
    ),
)


@dataclass
class Outcome:
    """The outcome of one run: a value or an error, and its side effect.

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
    """Restore the global state of PyTorch and Python; collect the changes."""
    changes: list[str] = []
    before, depth = state(), sys.getrecursionlimit()
    torch_state, python_state = torch.get_rng_state(), random.getstate()
    try:
        yield changes
    finally:
        sys.setrecursionlimit(max(depth, sys.getrecursionlimit()))
        for (name, _, put), was, now in zip(STATE, before, state(), strict=True):
            if now != was:
                put(was)
                changes.append(f"Your program {change_of(name, now)}.")
        same = torch.equal(torch.get_rng_state(), torch_state)
        if not same or random.getstate() != python_state:
            torch.set_rng_state(torch_state)
            random.setstate(python_state)
            changes.append(RANDOM)


def state() -> tuple[Any, ...]:
    """Return PyTorch's state in this thread."""
    return tuple(read() for _, read, _ in STATE)


def change_of(name: str, now: Any) -> str:
    """Say what a program does that changes a part of PyTorch's state."""
    if isinstance(now, bool):
        return f"turns {name} {'on' if now else 'off'} for everybody"
    return f"changes PyTorch's {name}"


@contextmanager
def own_state() -> Iterator[None]:
    """Set the state that a check needs, whatever the state of its caller is."""
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
    """Return a function that tells which limit is over: "work", "wait", or "" for none.

    "work" is processor time, "wait" PATIENCE times as much of any: a busy machine takes
    no time from a program, and a program that sleeps is stopped too.
    """
    work, wall = spent() + seconds, own_time() + PATIENCE * seconds
    return lambda: "work" if spent() >= work else "wait" if own_time() >= wall else ""


def own_time(process: int | str = "self") -> float:
    """Return the time in seconds, without the waits of a process for a processor."""
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
    if has_signals():
        over = clock(seconds, time.thread_time)
        with by_signal(seconds, signal.ITIMER_REAL, signal.SIGALRM, over):
            yield
        return
    thread, done = ctypes.c_ulong(threading.get_ident()), threading.Event()
    over = clock(seconds, time.process_time)

    def watch() -> None:
        while not done.wait(TICK):
            if over():
                error = ctypes.py_object(OutOfTime)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


@contextmanager
def guarded(seconds: float) -> Iterator[Callable[[float], None]]:
    """Raise OutOfTime in the body if one of its parts takes too long.

    Yield a function that begins a part; it is given how many times as long the part may
    take. Only where a signal can tell the time.
    """
    begun = seen = 0
    times, since = 1.0, own_time()

    def begin(longer: float = 1.0) -> None:
        nonlocal begun, times
        begun, times = begun + 1, longer

    def over() -> str:
        nonlocal seen, since
        if seen != begun:
            seen, since = begun, own_time()
        return "work" if own_time() - since > times * seconds else ""

    if has_signals():
        with by_signal(TICK, signal.ITIMER_REAL, signal.SIGALRM, over):
            yield begin
    else:
        yield begin


def has_signals() -> bool:
    """Whether this thread can be interrupted by the signal of a timer."""
    in_main = threading.current_thread() is threading.main_thread()
    return hasattr(signal, "setitimer") and in_main


@contextmanager
def by_signal(
    seconds: int | float,
    timer: int,
    number: int,
    over: Callable[[], str],
) -> Iterator[None]:
    """Raise OutOfTime in the body by a timer's signal, once the time is over."""

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
