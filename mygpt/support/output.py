"""What a command prints: broken into lines, for any encoding and closed pipes."""

import io
import os
import sys
import textwrap
from collections.abc import Callable

CLOSED = 141  # the exit status that a shell gives for a closed pipe
WIDTH = 88
WHOLE_WORDS = {"break_long_words": False, "break_on_hyphens": False}


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


def wrapped(text: str, start: str = "") -> list[str]:
    """Break a text into lines; later ones are indented as far as the first."""
    indents = {"initial_indent": start, "subsequent_indent": " " * len(start)}
    return textwrap.wrap(" ".join(text.split()), WIDTH, **indents, **WHOLE_WORDS)
