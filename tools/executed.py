"""Chapters that were run before the book is built, kept for it.

The book looks a notebook up by the sources of its cells, in a cache that is named after
everything else that its outputs depend on. What it does not find there it runs itself.
"""

import hashlib
import os
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
# The files that a notebook's outputs depend on.
EXECUTED_WITH = ("mygpt/**/*.py", "mygpt/stored/*.json", "requirements.txt")
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
    named = [f"{name}={os.environ[name]}" for name in SETTINGS if os.environ.get(name)]
    setting = hashlib.sha256("\0".join(named).encode()).hexdigest()[:8]
    return key_of_sources(root) + (f"-{setting}" if named else "")


def folder_of(root: Path) -> Path:
    return root / "_build" / "executed" / key_of_results(root)


def keep_for_the_book(
    notebook: nbformat.NotebookNode, path: Path, root: Path = ROOT
) -> None:
    """Store a chapter that ran without an unexpected error; another notebook is not."""
    if path.resolve().parent != root / "chapters" or has_failed(notebook):
        return
    target = folder_of(root) / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_suffix(".part")
    nbformat.write(notebook, half)
    os.replace(half, target)


def is_kept(path: Path, root: Path = ROOT) -> bool:
    """Whether the chapter was run and kept as it stands."""
    kept = folder_of(root) / path.name
    return kept.is_file() and sources(kept) == sources(path)


def sources(path: Path) -> list[str]:
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


def has_failed(notebook: nbformat.NotebookNode) -> bool:
    return any(
        output.output_type == "error"
        and "raises-exception" not in cell.metadata.get("tags", [])
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )


def fill(cache_folder: Path, root: Path = ROOT) -> list[str]:
    """Put what was kept into the book's cache, and return the names."""
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn

    kept = sorted(folder_of(root).glob("*.ipynb"))
    if kept:
        cache = get_cache(cache_folder)
        for path in kept:
            notebook = nbformat.read(path, as_version=4)
            bundle = CacheBundleIn(notebook, str(root / "chapters" / path.name))
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    return [path.name for path in kept]
