"""How many different sources of a task failed, kept in the user's cache folder."""

import contextlib
import hashlib
import json
import os
import sys
from pathlib import Path

MOST = 200  # files that are remembered
ENOUGH = 5  # tries of one of them


def folder() -> Path:
    """The cache folder: MYGPT_CACHE, or the system's own place for such files."""
    if given := os.environ.get("MYGPT_CACHE"):
        return Path(given)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base, "mygpt")
    if sys.platform == "win32" and (base := os.environ.get("LOCALAPPDATA")):
        return Path(base, "mygpt", "Cache")
    caches = ("Library", "Caches") if sys.platform == "darwin" else (".cache",)
    return Path.home().joinpath(*caches, "mygpt")


def count_failed(name: str, path: Path) -> int:
    """Note that a file failed a task; return how many sources of it have so far."""
    try:
        content = digest(path.read_bytes())
    except OSError:
        return 1
    known = read()
    key = key_of(name, path)
    tries = [each for each in known.pop(key, []) if each != content] + [content]
    known[key] = tries[-ENOUGH:]
    write(known)
    return len(tries)


def forget(name: str, path: Path) -> None:
    """Begin anew after a file has passed."""
    known = read()
    if known.pop(key_of(name, path), None):
        write(known)


def key_of(name: str, path: Path) -> str:
    return digest(f"{name} {path.absolute()}".encode())


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def read() -> dict[str, list[str]]:
    """What is remembered; nothing where the file is damaged or cannot be read."""
    try:
        found = json.loads((folder() / "tries.json").read_text("utf-8"))
        return {
            str(key): [str(each) for each in tries]
            for key, tries in found.items()
            if isinstance(tries, list)
        }
    except (OSError, ValueError, AttributeError, RuntimeError):
        return {}


def write(known: dict[str, list[str]]) -> None:
    """Remember the latest; where nothing can be written, nothing is remembered."""
    latest = dict(list(known.items())[-MOST:])
    with contextlib.suppress(OSError, RuntimeError):
        path = folder() / "tries.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(f"tries.{os.getpid()}")
        half.write_text(json.dumps(latest), encoding="utf-8")
        half.replace(path)
