"""The errors of the reader's program, in the reader's lines alone."""

import os
import traceback
from pathlib import Path

import torch

OURS, PYTORCHS = (
    str(Path(file).resolve().parent) + os.sep for file in (__file__, torch.__file__)
)


def too_large(error: BaseException) -> bool:
    """Whether the program asked for more memory than it could have."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def one_line(error: BaseException) -> str:
    """Write an error as one line, with the line of the reader's file where it arose."""
    message = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {message[0]}" if message else type(error).__name__
    for frame in reversed(readers_frames(error)):
        if frame.line:
            name = Path(frame.filename).name
            place = f"line {frame.lineno}: `{frame.line.strip()}`"
            return (
                f"{text} ({name}, {place})"
                if name.endswith(".py")
                else f"{text} ({place})"
            )
    return text


def readers_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of a traceback that are neither ours nor PyTorch's."""
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if is_readers(frame.filename)
    ]


def is_readers(filename: str) -> bool:
    """Whether a file is the reader's: neither the checker's nor PyTorch's."""
    others = is_ours(filename) or os.path.realpath(filename).startswith(PYTORCHS)
    return not others and not filename.startswith("<frozen")


def is_ours(filename: str) -> bool:
    return os.path.realpath(filename).startswith(OURS)


def trace_of(error: BaseException | None) -> str:
    """Return a traceback that begins in the reader's program."""
    if error is None:
        return ""
    frames = traceback.format_list(readers_frames(error))
    last = traceback.format_exception_only(error)
    return "".join(["Traceback (most recent call last):\n", *frames, *last])
