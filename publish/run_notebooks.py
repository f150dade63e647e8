"""Run notebooks in this environment, and say what each took; writes none of them.

    python -m publish.run_notebooks FOLDER NOTEBOOK…      where their kernel works
    python -m publish.run_notebooks --setup FOLDER NOTEBOOK

The second form runs alone, twice, the cell of a notebook that installs the package.
"""

import argparse
import re
import sys
import threading
import time
from pathlib import Path

import nbformat
import psutil
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from tools import patience

CELL_SECONDS = 600
LONGEST_SETUP = 60
EVERY = 0.1  # seconds between two looks at the memory
FAILURES = (CellExecutionError, CellTimeoutError, DeadKernelError)


class MemoryWatch(threading.Thread):
    """The most memory that this process's children took together, in megabytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.over = 0.0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(EVERY):
            sizes = map(resident, psutil.Process().children(recursive=True))
            self.peak = max(self.peak, sum(sizes) / 1e6)


def resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:  # it has ended
        return 0


def execute(notebook: nbformat.NotebookNode, folder: Path) -> tuple[float, float]:
    """(seconds, megabytes at most) of a run in a fresh kernel."""
    patience.mend()
    watch, start = MemoryWatch(), time.perf_counter()
    watch.start()
    settings = {"kernel_name": "python3", "timeout": CELL_SECONDS}
    where = {"metadata": {"path": str(folder)}}
    try:
        NotebookClient(notebook, resources=where, **settings).execute()
    finally:
        watch.over.set()
    return time.perf_counter() - start, watch.peak


def setup_of(path: Path) -> nbformat.NotebookNode:
    """A notebook of the setup cell alone."""
    notebook = nbformat.read(path, as_version=4)
    setup = [cell for cell in notebook.cells if cell.id == "setup"]
    if len(setup) != 1 or "%pip install" not in setup[0].source:
        raise SystemExit(f"{path.name}: no cell installs the package")
    notebook.cells = setup
    return notebook


def try_setup(path: Path, folder: Path) -> list[str]:
    """What is wrong with the setup cell, run without the package and then again."""
    first, again = setup_of(path), setup_of(path)
    seconds, _ = execute(first, folder)
    print(f"the setup cell installs the package in {seconds:.1f} s", flush=True)
    wrong = []
    if seconds > LONGEST_SETUP:
        wrong.append(
            f"the setup cell takes {seconds:.0f} s; {LONGEST_SETUP} are allowed"
        )
    seconds, _ = execute(again, folder)
    print(f"where the package is, it takes {seconds:.1f} s", flush=True)
    if printed := printed_by(again.cells[0]):
        wrong.append(f"the setup cell does something where the package is: {printed}")
    return wrong


def printed_by(cell: nbformat.NotebookNode) -> str:
    return " ".join(output.get("text", "").strip() for output in cell.outputs)


def try_notebooks(paths: list[Path], folder: Path, most: float) -> list[str]:
    """What is wrong with the notebooks, run one after the other."""
    wrong, largest = [], 0.0
    for path in paths:
        try:
            notebook = nbformat.read(path, as_version=4)
            seconds, megabytes = execute(notebook, folder)
        except FAILURES as cause:
            wrong.append(f"{path.stem}: {last_line(cause)}")
            print(f"{path.stem}: failed\n{cause}", flush=True)
            continue
        print(f"{path.stem}: {seconds:.0f} s, {megabytes:.0f} MB at most", flush=True)
        largest = max(largest, megabytes)
        if megabytes > most:
            wrong.append(
                f"{path.stem} takes {megabytes:.0f} MB; {most:.0f} are allowed"
            )
    print(f"{len(paths)} notebooks; the largest took {largest:.0f} MB", flush=True)
    return wrong


def last_line(cause: Exception) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(cause))
    return plain.strip().splitlines()[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--setup", action="store_true")
    most = "megabytes that a kernel with its processes may take"
    parser.add_argument("--memory", type=float, default=float("inf"), help=most)
    parser.add_argument("folder", type=Path)
    parser.add_argument("notebooks", type=Path, nargs="+")
    options = parser.parse_args()
    if options.setup:
        wrong = try_setup(options.notebooks[0], options.folder)
    else:
        wrong = try_notebooks(options.notebooks, options.folder, options.memory)
    for line in wrong:
        print(f"Error: {line}", file=sys.stderr)
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
