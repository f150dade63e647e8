"""The errors of the reader's program, in the reader's lines alone."""

import linecache
import os
import site
import sysconfig
import traceback
from pathlib import Path
from types import FrameType

import torch

OURS = str(Path(__file__).resolve().parents[1]) + os.sep
LIBRARIES = tuple(
    str(Path(folder).resolve()) + os.sep
    for folder in (
        Path(torch.__file__).parent,
        *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
    )
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
            return f"{text} ({place(frame.filename, frame.lineno)})"
    return text


def place(file: str, line: int | None) -> str:
    """Write a place: the file's name, unless it is a notebook's cell, and the line."""
    name, code = Path(file).name, linecache.getline(file, line or 0).strip()
    start = f"{name}, " if name.endswith(".py") else ""
    return f"{start}line {line}: `{code}`"


def readers_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the reader's, from a frame outwards."""
    while frame and not is_readers(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def own_failure(error: BaseException) -> str:
    """Tell of an error that is the checker's, or a library's, and not the reader's."""
    return f"the check itself failed, not your program: {type(error).__name__}: {error}"


def readers_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of a traceback that are neither ours nor a library's."""
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if is_readers(frame.filename)
    ]


def is_readers(filename: str) -> bool:
    """Whether a file is the reader's: neither the checker's nor a library's."""
    others = os.path.realpath(filename).startswith((OURS, *LIBRARIES))
    return not others and not filename.startswith("<frozen")


def is_ours(filename: str) -> bool:
    """Whether a file is the checker's."""
    return os.path.realpath(filename).startswith(OURS)


def trace_of(error: BaseException | None) -> str:
    """Return a traceback that begins in the reader's program."""
    if error is None:
        return ""
    frames = traceback.format_list(readers_frames(error))
    last = traceback.format_exception_only(error)
    return "".join(["Traceback (most recent call last):\n", *frames, *last])
