"""A clock that goes with the work, so that an answer is the same on every machine.

A search ends after so much work, not after so many seconds: on a machine that is slow,
or busy, it only ends later. Work is counted in the seconds that it takes on a usual
machine. Loops are counted too: a candidate that never ends is stopped in the same round
everywhere.
"""

import ast
import gc
import math
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

TICKS = 10**9  # in a second
# What some steps count, in seconds of a usual machine.
RUN, CALL = 1e-4, 1.5e-6  # of a program, and each call in it
ROUND = 4e-6  # a round of a loop
HANG = 1.0  # a run that something else than its rounds stops
REPLAY = 2e-5  # an operation that is done again
RECORD, SIGN = 8e-5, 3e-5  # a tensor that is recorded, or only looked up
EDIT, MADE = 2e-5, 1.5e-4  # an edit that is listed, and a program that is made with it
VALUE, FILLED = 2.5e-5, 5e-5  # an expression that is evaluated, and put in a place
COUNTER = "_count_a_round"


class OutOfTime(BaseException):
    """The program has had its time; no Exception, so that programs do not catch it."""


class Clock:
    """The work that is done so far, in whole ticks, so that no rounding decides.

    runs: of the programs of tasks, by what tells the work of one.
    """

    def __init__(self) -> None:
        self.ticks = 0
        self.runs: Counter[Callable[[], float]] = Counter()


CLOCK = Clock()


def now() -> int:
    """The time on the clock of work, in ticks."""
    while CLOCK.runs:
        cost, count = CLOCK.runs.popitem()
        CLOCK.ticks += count * round(cost() * TICKS)
    return CLOCK.ticks


def after(seconds: float) -> float:
    """The time on the clock after some more seconds of a usual machine."""
    return now() + (seconds * TICKS if math.isinf(seconds) else round(seconds * TICKS))


def add(seconds: float) -> None:
    """Count some work."""
    CLOCK.ticks += round(seconds * TICKS)


@contextmanager
def uncounted() -> Iterator[None]:
    """Count nothing in the body: what is kept for later checks has no cost."""
    before = CLOCK.ticks
    try:
        yield
    finally:
        CLOCK.ticks = before


def add_run(cost: Callable[[], float]) -> None:
    """Count a run; what it counts is asked when somebody looks at the clock."""
    CLOCK.runs[cost] += 1


def calls_in(run: Callable[[], Any]) -> int:
    """Count the calls of functions in a run, whatever comes of it."""
    count = 0

    def seen(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    with nothing_between():
        sys.setprofile(seen)
        try:
            run()
        finally:
            sys.setprofile(before if callable(before) else None)
    return count


@contextmanager
def nothing_between() -> Iterator[None]:
    """Let no timer and no garbage collection in, whose handlers would be counted."""
    mask = getattr(signal, "pthread_sigmask", None)  # Windows has none
    before = mask and mask(signal.SIG_BLOCK, {signal.SIGALRM})
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
        if mask:
            mask(signal.SIG_SETMASK, before)


class Rounds:
    """Counts the rounds of all loops in a run, and ends it after too many."""

    def __init__(self) -> None:
        self.done, self.most = 0, 0

    def begin(self, most: int) -> None:
        self.done, self.most = 0, most

    def __call__(self) -> None:
        self.done += 1
        if self.done > self.most:
            raise OutOfTime("work")


def count_rounds(statements: Iterable[ast.stmt]) -> None:
    """Let every loop in some statements count its rounds by a function COUNTER."""
    for one in statements:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            count_rounds(getattr(one, name, ()))
        if isinstance(one, ast.For | ast.While):
            call = ast.Call(ast.Name(COUNTER, ast.Load()), [], [])
            first = ast.copy_location(ast.Expr(call), one.body[0])
            ast.copy_location(call.func, ast.copy_location(call, first))
            one.body.insert(0, first)
