"""What a command prints, whatever takes it: any encoding, a pipe that closes."""

import io
import os
import sys
from collections.abc import Callable

CLOSED = 141  # the exit status that a shell gives for a closed pipe


def to_any_output(work: Callable[[], int]) -> int:
    """Do what prints, and return its exit status; signs without a code are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            return work()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        with open(os.devnull, "wb") as nothing:  # for what Python flushes at its end
            os.dup2(nothing.fileno(), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return CLOSED
        print(f"mygpt: the output cannot be written: {error}", file=sys.stderr)
        return 1
