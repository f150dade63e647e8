"""Atomic writes, and clear errors for damaged files."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError, safe_open


def write_atomically(path: str | Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in its place.

    A crash or a full disk leaves what was there before.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError | SafetensorError):
            raise OSError(f"{path}: writing failed: {error}") from error
        raise


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_folder(folder: str | Path) -> None:
    """Raise an OSError unless files can be written to a folder, there or to be made."""
    path = Path(folder).absolute()
    try:
        path = next(place for place in (path, *path.parents) if place.exists())
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise OSError(
            f"{folder}: the folder cannot be made or written: {path}: {error.strerror}"
        ) from error


@contextmanager
def held(folder: str | Path) -> Iterator[None]:
    """Lock the folder until the context or the process ends.

    A folder that another process holds is a ValueError. The lock is the system's, and
    leaves no file; on Windows and on some network drives there is none for folders.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"{folder}: the folder cannot be made: {error}") from error
    if os.name == "nt":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{folder}: another run writes there; wait for its end, stop it, or "
                "name another folder"
            ) from None
        except OSError:
            pass  # a file system without such locks
        yield
    finally:
        os.close(descriptor)


def write_json(path: str | Path, content: object) -> None:
    """Write readable JSON, atomically."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))


def existing(path: str | Path) -> Path:
    """The path of a file; a ValueError if there is none."""
    if not Path(path).is_file():
        raise ValueError(f"expected a file {path}, found none")
    return Path(path)


def read_json(path: str | Path) -> dict:
    """The JSON object in a file; anything else is a ValueError that names the file."""
    path = existing(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, got {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected a JSON object, got {content!r:.60}")
    return content


@contextmanager
def open_tensors(path: str | Path) -> Iterator[safe_open]:
    """A memory-mapped safetensors file; a damaged one is a ValueError that names it."""
    path = existing(path)
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except SafetensorError as error:
        raise ValueError(
            f"{path}: expected a whole safetensors file, got {error}"
        ) from None
