"""How long a cell waits for a reply that has come, in each client of a kernel.

    python -m bench.kernel_waits [--rounds 200] [--plain]

Three clients run the chapters: `make chapters` (nbclient), nbval, and the book's
executor (nbclient inside jupyter-cache). Each runs a notebook of so many short cells,
twice:

- answer: every cell prints into an output widget, and nbclient answers it on the socket
  of the reply, a little late, as on a busy machine. nbval answers no widget.
- unseen: a poll for the reply notices it only when its time is over.

A cell's time is that from its start to the next one's, in the kernel. `--plain` leaves
the clients as they are installed. A cell's whole time, 300 s in the book and 2,000 s in
nbval, is 8 s here; a slice is 0.2 s.
"""

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from unittest.mock import MagicMock

import nbclient.output_widget
import nbformat
import pytest
import zmq.asyncio
from jupyter_cache.executors.utils import single_nb_execution
from nbformat import v4

import website
from tools import execute, patience

ROOT = Path(__file__).resolve().parents[1]


CELL_SECONDS = 8
SLICE_SECONDS = 0.2
LATE_SECONDS = 0.02
LONG = 1.0  # seconds
FIRST = "import json, time, ipywidgets\nout, starts = ipywidgets.Output(), []"
CELL = "starts.append(time.monotonic())\nwith out: print(1)"
LAST = "json.dump(starts, open('starts.json', 'w'))"


def by_make_chapters(notebook: nbformat.NotebookNode, folder: Path) -> None:
    execute.CELL_SECONDS = CELL_SECONDS
    execute.execute(notebook, folder)


def by_the_book(notebook: nbformat.NotebookNode, folder: Path) -> None:
    website.setup(MagicMock())
    single_nb_execution(notebook, str(folder), CELL_SECONDS, allow_errors=False)


def by_nbval(notebook: nbformat.NotebookNode, folder: Path) -> None:
    for name in ("conftest.py", "comparison.py"):
        shutil.copy(ROOT / "chapters" / name, folder)
    nbformat.write(notebook, folder / "a.ipynb")
    options = f"-q -p no:cacheprovider --nbval --nbval-cell-timeout {CELL_SECONDS}"
    with open(folder / "log", "w") as log:
        os.dup2(log.fileno(), 1)
    pytest.main(["-c", os.devnull, "--rootdir", folder, *options.split(), folder])


def answer_late() -> None:
    send = nbclient.output_widget.OutputWidget.send

    def send_late(widget, *content):
        time.sleep(LATE_SECONDS)  # the reply comes meanwhile
        send(widget, *content)

    nbclient.output_widget.OutputWidget.send = send_late


def see_nothing() -> None:
    """Polls of the socket of replies that look only when their time is over."""
    look, look_async = zmq.Socket.poll, zmq.asyncio.Socket.poll

    def late(socket, timeout, flags=zmq.POLLIN):
        if socket.type != zmq.DEALER:
            return look(socket, timeout, flags)
        time.sleep(timeout / 1000)
        return look(socket, 0, flags)

    async def late_async(socket, timeout, flags=zmq.POLLIN):
        if socket.type != zmq.DEALER:
            return await look_async(socket, timeout, flags)
        await asyncio.sleep(timeout / 1000)
        return await look_async(socket, 0, flags)

    zmq.Socket.poll, zmq.asyncio.Socket.poll = late, late_async


CLIENTS = {"chapters": by_make_chapters, "book": by_the_book, "nbval": by_nbval}
SITUATIONS = {"answer": answer_late, "unseen": see_nothing}


def waits(client: str, situation: str, rounds: int, plain: bool) -> list[float]:
    """Seconds from each cell's start to the next one's."""
    patience.SLICE_SECONDS = SLICE_SECONDS
    if plain:
        patience.mend = lambda: None
    SITUATIONS[situation]()
    sources = [FIRST, *[CELL] * (rounds + 1), LAST]
    cells = [v4.new_code_cell(source, execution_count=1) for source in sources]
    for cell in cells:
        cell.metadata.tags = ["nbval-ignore-output"]
    with tempfile.TemporaryDirectory() as folder:
        CLIENTS[client](v4.new_notebook(cells=cells), Path(folder))
        starts = json.loads(Path(folder, "starts.json").read_text())
    return [later - start for start, later in itertools.pairwise(starts)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--plain", action="store_true", help="without the mend")
    options = parser.parse_args()
    print(f"client    situation  cells   median  longest  > {LONG} s")
    for situation in SITUATIONS:
        for client in CLIENTS:
            work = (client, situation, options.rounds, options.plain)
            # A process each: what is mended or broken in one is not so in the next.
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                times = pool.apply(waits, work)
            print(
                f"{client:10}{situation:10}{len(times):6}"
                f"{statistics.median(times):8.3f}s{max(times):8.3f}s"
                f"{sum(seconds > LONG for seconds in times):7}",
                flush=True,
            )


if __name__ == "__main__":
    main()
