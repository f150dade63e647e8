"""Ctrl-C and SIGTERM: held back where work must be whole."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def handled_by(handler: Callable[..., Any], *numbers: int) -> Iterator[None]:
    """Handle signals in the block, but those that are ignored.

    Python delivers signals to the main thread alone: elsewhere nothing changes.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in numbers}
    before = {n: old for n, old in before.items() if old not in (None, signal.SIG_IGN)}
    try:
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def deferred() -> Iterator[list[int]]:
    """Hold back Ctrl-C and SIGTERM until the block ends; yield those that came."""
    came: list[int] = []
    try:
        with handled_by(lambda number, frame: came.append(number), *STOPS):
            yield came
    finally:
        if came:
            signal.raise_signal(came[0])
