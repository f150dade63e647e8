"""Chapters that were run before the book is built, kept for it.

The book looks a notebook up by the sources of its cells, in a cache that is named after
everything else that its outputs depend on. What was not run is taken as it is stored,
in the notebook and in states.py's files. What the book does not find it runs itself.
"""

import hashlib
import os
import sys
from pathlib import Path

import nbformat

from tools import states

ROOT = Path(__file__).resolve().parents[1]
# The files that a notebook's outputs depend on.
DATA = tuple(f"mygpt/data/{pattern}" for pattern in states.DATA)
EXECUTED_WITH = ("mygpt/**/*.py", *DATA, *states.PINS)
# What makes a run another than the plain one: see tools/processors.
SETTINGS = (
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "MYGPT_ROUNDING_NOISE",
    "MYGPT_THREADS",
    "ONEDNN_MAX_CPU_ISA",
)


def key_of_sources(root: Path, patterns: tuple[str, ...] = EXECUTED_WITH) -> str:
    """A hash of the names and contents of the files that match."""
    digest = hashlib.sha256()
    for path in sorted(found for pattern in patterns for found in root.glob(pattern)):
        name = path.relative_to(root).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def key_of_results(root: Path) -> str:
    """A hash of what outputs depend on; under another setting it is another one."""
    named = settings_named()
    setting = hashlib.sha256("\0".join(named).encode()).hexdigest()[:8]
    return key_of_sources(root) + (f"-{setting}" if named else "")


def settings_named() -> list[str]:
    return [f"{name}={os.environ[name]}" for name in SETTINGS if os.environ.get(name)]


def folder_of(root: Path) -> Path:
    return root / "_build" / "executed" / key_of_results(root)


def keep_for_the_book(
    notebook: nbformat.NotebookNode, path: Path, root: Path = ROOT
) -> None:
    """Store a page that ran without an unexpected error; another notebook is not."""
    folders = (root / "pages", root / "chapters")
    if path.resolve().parent not in folders or has_failed(notebook):
        return
    target = folder_of(root) / f"{path.stem}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_suffix(".part")
    nbformat.write(notebook, half)
    os.replace(half, target)


def kept_run(path: Path, root: Path = ROOT) -> nbformat.NotebookNode | None:
    """The chapter as it ran for the book, if it stands as it did."""
    kept = folder_of(root) / f"{path.stem}.ipynb"
    if not kept.is_file():
        return None
    notebook, now = nbformat.read(kept, as_version=4), states.read(path)
    if sources(notebook) != sources(now):
        return None
    codes = ((c for c in n.cells if c.cell_type == "code") for n in (notebook, now))
    for old, new in zip(*codes, strict=True):
        old.metadata = new.metadata  # captions, which jupyter-cache looks at too
    return notebook


def sources(notebook: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def has_failed(notebook: nbformat.NotebookNode) -> bool:
    return any(
        output.output_type == "error"
        and "raises-exception" not in cell.metadata.get("tags", [])
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )


def fill(cache_folder: Path, root: Path = ROOT) -> list[str]:
    """Put what was run or is stored into the book's cache, and return the names."""
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn

    paths = states.pages(root)
    found = {path: kept_run(path, root) or stored(path, root) for path in paths}
    known = {path: notebook for path, notebook in found.items() if notebook}
    if known:
        cache = get_cache(cache_folder)
        for path, notebook in known.items():
            bundle = CacheBundleIn(notebook, str(path))
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    return [path.name for path in known]


def stored(path: Path, root: Path) -> nbformat.NotebookNode | None:
    """The chapter as stored, unless it must be run."""
    try:
        return None if settings_named() else states.fresh(path, root)
    except states.StateError:
        return None


def main() -> int:
    """Name the chapters that the book must run, each with the reason."""
    stale = 0
    for path in states.pages():
        try:
            kept_run(path) or states.fresh(path)
        except states.StateError as cause:
            print(f"{path.stem}: {cause}")
            stale += 1
    print(f"{stale} to run" if stale else "all that the pages need is stored")
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main())
