"""Re-execute the chapters in place and store them in their normal form.

    python -m tools.execute              every chapter
    python -m tools.execute 05 08        chapters whose names begin so, or paths
    python -m tools.execute --normalise  the normal form alone, nothing executed
    python -m tools.execute --check      write nothing; name the chapters that are
                                            not in their normal form
    python -m tools.execute --keep       run for the book, two at a time, what it
                                            has not got yet; no notebook is written

A notebook is written only when its content changed, in one step, and never when a cell
raised. Its explorers' states are stored beside it (see states.py), first; the hash of
what they were made with is stored last. What `make test` has run since the last change
is taken over, not run again.
"""

import argparse
import asyncio
import base64
import json
import os
import re
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import v4

from tools import figures, patience, states
from tools.agreement import differences
from tools.executed import keep_for_the_book, kept_run
from tools.live_lab import STATE, failure, printed, still
from tools.processors import settings
from tools.publication import publication
from tools.release import SettingError

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"


METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}
CELL_METADATA = ("mystnb", "tags")
COLLAPSED = "jp-MarkdownHeadingCollapsed"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_NOTES = (b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf")
STILL_TEXT = "<a still of the live lab: run the notebook to move its controls>"
CELL_SECONDS = 300
AT_ONCE = 2  # notebooks that run for the book
# The last cell of a run says which modules of the package it loaded.
LOADED = f"""import sys; print(*sorted(n for n in sys.modules if n.startswith("mygpt")))
{figures.TELL}"""


class ChapterError(Exception):
    """A chapter that cannot be stored, with the cause in one line."""


def first_cell(root: Path = ROOT) -> str:
    """The code of the setup cell, which finds or installs the package."""
    try:
        return publication(root).first_cell()
    except (OSError, SettingError) as cause:
        raise ChapterError(str(cause)) from None


def execute(
    notebook: nbformat.NotebookNode,
    folder: Path,
    *,
    allow_errors: bool = False,
    begin: Callable[..., None] | None = None,
) -> None:
    """Run every cell in a fresh kernel of this environment, in `folder`.

    `begin` is called with each `cell`, and its `cell_index`, before it runs.
    """
    with noting_modules(notebook):
        runner = client(notebook, folder, allow_errors)
        runner.on_cell_start = begin
        runner.execute()


@contextmanager
def noting_modules(notebook: nbformat.NotebookNode) -> Iterator[None]:
    """Note in a notebook that runs which modules of the package it loads.

    And what its figures draw.
    """
    notebook.cells.append(v4.new_code_cell(LOADED))
    try:
        yield
    finally:
        outputs = notebook.cells.pop().outputs
        names, told = outputs[0].text.split("\n", 1) if outputs else ("", "{}")
        notebook.metadata["loaded"] = sorted(names.split())
        notebook.metadata["figures"] = figures.by_cell(notebook, told)


def client(
    notebook: nbformat.NotebookNode, folder: Path, allow_errors: bool = False
) -> NotebookClient:
    patience.mend()
    os.environ.pop("MPLBACKEND", None)  # figures must come back inline
    runner = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=CELL_SECONDS * (settings.SLOWER if settings.active() else 1),
        allow_errors=allow_errors,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=True,
        extra_arguments=["--log-level=ERROR"],
    )
    runner.on_notebook_start = lambda notebook: runner.kc.execute(
        figures.SEE, silent=True, store_history=False
    )
    return runner


def normalise(notebook: nbformat.NotebookNode, first: str) -> dict:
    """Normalise a notebook in place, and return its explorers' states.

    Doing it twice changes nothing.
    """
    widget_state = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    drawn = notebook.metadata.get("figures", {})
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    put_setup_cell(notebook, first)
    number_cells(notebook)
    labs = {}
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in CELL_METADATA if cell.metadata.get(key)}
        )
        cell.source = cell.source.strip("\n")
        if cell.cell_type == "code":
            cell.source = "\n".join(map(str.rstrip, cell.source.splitlines()))
            if is_lab(cell) and (text := printed(cell.outputs, widget_state)):
                labs[cell.id] = text
            cell.outputs = normal_outputs(cell, widget_state)
    taken = states.take(notebook, widget_state)
    fold_second_reading(notebook)
    nbformat.validate(notebook)
    pictures = figures.pictures(notebook)
    return taken | {"figures": drawn, "labs": labs, "pictures": pictures}


def of_page(notebook: nbformat.NotebookNode) -> dict:
    """The outputs and the explorers' states of a page of text that has run."""
    models = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in codes:
        cell.outputs = normal_outputs(cell, models)
    taken = states.take(notebook, models)
    drawn = notebook.metadata.get("figures", {})
    outputs = {cell.id: cell.outputs for cell in codes}
    return taken | {"outputs": outputs, "figures": drawn, "pictures": {}}


def fold_second_reading(notebook: nbformat.NotebookNode) -> None:
    """Collapse the headings after the box, in JupyterLab too."""
    after = False
    for cell in notebook.cells:
        if after and cell.cell_type == "markdown" and cell.source.startswith("## "):
            cell.metadata[COLLAPSED] = True
        after = after or "second-reading" in cell.metadata.get("tags", [])


def put_setup_cell(notebook: nbformat.NotebookNode, first: str) -> None:
    """Make the generated setup cell the first code cell, below the opening."""
    olds = [cell for cell in notebook.cells if is_setup(cell)]
    place = notebook.cells.index(olds[0]) if olds else 1
    cells = [cell for cell in notebook.cells if not is_setup(cell)]
    setup = olds[0] if olds else v4.new_code_cell(id="setup")
    setup.metadata.tags = ["setup"]
    setup.source = first
    kinds = [cell.cell_type for cell in cells] + ["code"]
    cells.insert(min(place, kinds.index("code")), setup)
    notebook.cells = cells


def is_setup(cell: nbformat.NotebookNode) -> bool:
    return "setup" in cell.metadata.get("tags", [])


def is_lab(cell: nbformat.NotebookNode) -> bool:
    return "live-lab" in cell.metadata.get("tags", [])


def number_cells(notebook: nbformat.NotebookNode) -> None:
    """Unique ids, kept where there are some, and counts from 1 for what has run."""
    used, count = set(), 0
    for index, cell in enumerate(notebook.cells):
        name = cell.get("id") or f"cell-{index + 1}"
        while name in used or not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
            name = f"cell-{index + 1}" if name not in used else f"{name[:60]}-b"
        used.add(name)
        cell.id = name
        if cell.cell_type == "code":
            ran = cell.execution_count is not None and cell.source.strip() != ""
            count += ran
            cell.execution_count = count if ran else None


def normal_outputs(cell: nbformat.NotebookNode, widget_state: dict) -> list:
    """The outputs of a cell without frames or notes in pictures."""
    if is_setup(cell):
        return []  # what it says depends on the machine
    if is_lab(cell):
        if error := failure(cell.outputs, widget_state):
            raise ChapterError(
                f"the live lab of cell {cell.execution_count} raised {error}"
            )
        picture = still(cell.outputs, widget_state)
        if picture is None:
            raise ChapterError(
                f"the live lab of cell {cell.execution_count} drew no figure"
            )
        data = {"image/png": encoded(picture), "text/plain": STILL_TEXT}
        return [v4.new_output("display_data", data)]
    outputs = []
    for output in cell.outputs:
        if "image/png" in output.get("data", {}):
            output.data["image/png"] = encoded(
                base64.b64decode(output.data["image/png"])
            )
        if output.output_type == "execute_result":
            output.execution_count = cell.execution_count
        if output.output_type == "error":  # the frames name files of this machine
            output.traceback = [f"{output.ename}: {output.evalue}"]
        last = outputs[-1] if outputs else None
        if (
            last
            and output.output_type == "stream" == last.output_type
            and output.name == last.name
        ):
            last.text += output.text
        else:
            outputs.append(output)
    return outputs


def encoded(png: bytes) -> str:
    return base64.b64encode(without_notes(png)).decode("ascii")


def without_notes(png: bytes) -> bytes:
    """A PNG without its text and time chunks, which name software and version."""
    if not png.startswith(PNG_SIGNATURE):
        return png
    kept, place = [PNG_SIGNATURE], len(PNG_SIGNATURE)
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        end = place + length + 12  # length, name, data, checksum
        if png[place + 4 : place + 8] not in PNG_NOTES:
            kept.append(png[place:end])
        place = end
    return b"".join(kept)


def text_of(notebook: nbformat.NotebookNode) -> str:
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def write(path: Path, content: bytes) -> bool:
    """Write a file in one step if it is another; say whether it was."""
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(exist_ok=True)
    handle, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp"
    )
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return True


def chosen(
    names: list[str], folder: Path = CHAPTERS, texts: list[Path] | None = None
) -> list[Path]:
    """The notebooks, and of the texts, that match the names; all when there is none."""
    chapters = [*sorted(folder.glob("*.ipynb")), *(texts or [])]
    paths = []
    for name in names:
        if name.endswith(".ipynb") and Path(name).exists():
            paths.append(Path(name).resolve())
            continue
        found = [p for p in chapters if p.name.startswith(Path(name).name)]
        if not found:
            raise ChapterError(
                f"no chapter is called {name!r}; there are {names_of(chapters)}"
            )
        paths += found
    return paths if names else chapters


def names_of(paths: list[Path]) -> str:
    return ", ".join(path.stem for path in paths) or "none"


def renewed(path: Path, first: str, run: bool) -> tuple[str, dict, list[str]]:
    """What the file at `path` should hold, executed first if `run`.

    With it come the explorers' states, and the modules that the run loaded.
    """
    try:
        notebook = run and kept_run(path)
        if not notebook:
            notebook = states.read(path)
            if path.suffix == ".ipynb":
                put_setup_cell(notebook, first)
            if run:
                execute(notebook, path.parent)
        loaded = notebook.metadata.get("loaded", [])
        is_text = path.suffix == ".md"
        taken = of_page(notebook) if is_text else normalise(notebook, first)
    except CellExecutionError as cause:
        raise ChapterError(f"a cell raised\n{cause}") from None
    except (CellTimeoutError, DeadKernelError) as cause:
        raise ChapterError(str(cause)) from None
    return text_of(notebook), taken, loaded


def store(path: Path, first: str, run: bool) -> str:
    """Bring one chapter up to date; say whether it was written."""
    text, taken, loaded = renewed(path, first, run)
    of_the_book = run and path in states.pages()
    changed = of_the_book and store_states(path, taken, loaded)
    if path.suffix == ".ipynb":
        changed = write(path, text.encode()) or changed
    if of_the_book:
        found = states.keys() | {path.stem: states.key_of(path, loaded)}
        stems = {page.stem for page in states.pages()}
        kept = {name: found[name] for name in sorted(stems & found.keys())}
        content = json.dumps(kept, indent=1).encode() + b"\n"
        changed = write(states.folder_of(ROOT) / states.KEYS, content) or changed
    return "written" if changed else "unchanged"


def store_states(path: Path, taken: dict, loaded: list[str]) -> bool:
    """Write a chapter's states unless those that are stored agree; say whether."""
    try:
        stored = states.load(path)
        same = stored["modules"] == loaded and stored["pictures"] == taken["pictures"]
        if same and not any(differences(stored, taken)):
            return False
    except states.StateError:
        pass
    return write(states.place_of(path), states.packed(taken, loaded, path))


def check(path: Path, first: str) -> str:
    if renewed(path, first, run=False)[0] != path.read_text(encoding="utf-8"):
        how = f"python -m tools.execute --normalise {path.stem}"
        raise ChapterError(f"not in its normal form: {how}")
    return "in its normal form"


async def keep(path: Path) -> str:
    """Run one chapter for the book, if it has not got it as it stands."""
    if kept_run(path):
        return "kept already"
    try:
        states.fresh(path)
        return "as stored"
    except states.StateError as cause:
        print(f"{path.stem}: {cause}: it is run for the book", flush=True)
    notebook = states.read(path)
    try:
        with noting_modules(notebook):
            await client(notebook, path.parent).async_execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as cause:
        raise ChapterError(str(cause)) from None
    keep_for_the_book(notebook, path)
    return "run for the book"


async def keep_all(paths: list[Path]) -> int:
    """Run the chapters two at a time; return how many failed."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(path: Path) -> bool:
        async with places:
            start = time.perf_counter()
            try:
                done = await keep(path)
            except ChapterError as cause:
                print(f"{path.stem}: {cause}", file=sys.stderr)
                return False
            took = time.perf_counter() - start
            print(f"{path.stem}: {done} ({took:.1f} s)", flush=True)
            return True

    # The last chapters take longest: they begin, and the short ones fill the gaps.
    return (await asyncio.gather(*map(one, paths[::-1]))).count(False)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: every one")
    parser.add_argument("--normalise", action="store_true", help="execute nothing")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--keep", action="store_true", help="run for the book alone")
    options = parser.parse_args(arguments)
    try:
        texts = [page for page in states.pages() if page.suffix == ".md"]
        outputs_too = not (options.check or options.normalise)
        paths = chosen(options.names, texts=texts if outputs_too else None)
        first = first_cell()
    except ChapterError as cause:
        print(f"execute: {cause}", file=sys.stderr)
        return 1

    if options.keep:
        return int(asyncio.run(keep_all(paths)) > 0)
    failed = False
    for path in paths:
        start = time.perf_counter()
        try:
            if options.check:
                done = check(path, first)
            else:
                done = store(path, first, run=not options.normalise)
            took = time.perf_counter() - start
            print(f"{path.stem}: {done} ({took:.1f} s)", flush=True)
        except ChapterError as cause:
            verb = "" if options.check else "not written: "
            print(f"{path.stem}: {verb}{cause}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
