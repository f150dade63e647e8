"""Re-execute the chapters in place and store them in their normal form.

    python -m tools.execute              every chapter
    python -m tools.execute 05 08        chapters whose names begin so, or paths
    python -m tools.execute --normalise  the normal form alone, nothing executed
    python -m tools.execute --check      write nothing; name the chapters that are
                                            not in their normal form
    python -m tools.execute --keep       run for the book, two at a time, what it
                                            has not got yet; no notebook is written

A notebook is written only when its content changed, in one step, and never when a cell
raised.
"""

import argparse
import asyncio
import base64
import os
import re
import struct
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import v4

from tools import patience
from tools.executed import is_kept, keep_for_the_book
from tools.live_lab import STATE, VIEW, still
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


class ChapterError(Exception):
    """A chapter that cannot be stored, with the cause in one line."""


def first_cell(root: Path = ROOT) -> str:
    """The code of the setup cell, which finds or installs the package."""
    try:
        return publication(root).first_cell()
    except (OSError, SettingError) as cause:
        raise ChapterError(str(cause)) from None


def execute(
    notebook: nbformat.NotebookNode, folder: Path, *, allow_errors: bool = False
) -> None:
    """Run every cell in a fresh kernel of this environment, in `folder`."""
    client(notebook, folder, allow_errors).execute()


def client(
    notebook: nbformat.NotebookNode, folder: Path, allow_errors: bool = False
) -> NotebookClient:
    patience.mend()
    os.environ.pop("MPLBACKEND", None)  # figures must come back inline
    return NotebookClient(
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


def normalise(notebook: nbformat.NotebookNode, first: str) -> None:
    """Normalise a notebook in place; doing it twice changes nothing."""
    widget_state = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    put_setup_cell(notebook, first)
    number_cells(notebook)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in CELL_METADATA if cell.metadata.get(key)}
        )
        cell.source = cell.source.strip("\n")
        if cell.cell_type == "code":
            cell.source = "\n".join(map(str.rstrip, cell.source.splitlines()))
            cell.outputs = normal_outputs(cell, widget_state)
    fold_second_reading(notebook)
    nbformat.validate(notebook)


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
    """The outputs of a cell without widget views, frames or notes in pictures."""
    if is_setup(cell):
        return []  # what it says depends on the machine
    if "live-lab" in cell.metadata.get("tags", []):
        picture = still(cell.outputs, widget_state)
        if picture is None:
            raise ChapterError(
                f"the live lab of cell {cell.execution_count} drew no figure"
            )
        data = {"image/png": encoded(picture), "text/plain": STILL_TEXT}
        return [v4.new_output("display_data", data)]
    outputs = []
    for output in cell.outputs:
        if "data" in output:
            output.data.pop(VIEW, None)
            if "image/png" in output.data:
                output.data["image/png"] = encoded(
                    base64.b64decode(output.data["image/png"])
                )
            if not output.data:
                continue
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


def write(path: Path, text: str) -> bool:
    """Write `text` in one step if it is not there already; say whether it was."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    handle, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp"
    )
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return True


def chosen(names: list[str], folder: Path = CHAPTERS) -> list[Path]:
    """The notebooks that match the names; every chapter when there is none."""
    chapters = sorted(folder.glob("*.ipynb"))
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


def renewed(path: Path, first: str, run: bool) -> str:
    """What the file at `path` should hold, executed first if `run`."""
    try:
        notebook = nbformat.read(path, as_version=4)
        put_setup_cell(notebook, first)
        if run:
            execute(notebook, path.parent)
        normalise(notebook, first)
    except CellExecutionError as cause:
        raise ChapterError(f"a cell raised\n{cause}") from None
    except (CellTimeoutError, DeadKernelError) as cause:
        raise ChapterError(str(cause)) from None
    return text_of(notebook)


def store(path: Path, first: str, run: bool) -> str:
    """Bring one chapter up to date; say whether it was written."""
    changed = write(path, renewed(path, first, run))
    return "written" if changed else "unchanged"


def check(path: Path, first: str) -> str:
    if renewed(path, first, run=False) != path.read_text(encoding="utf-8"):
        how = f"python -m tools.execute --normalise {path.stem}"
        raise ChapterError(f"not in its normal form: {how}")
    return "in its normal form"


async def keep(path: Path) -> str:
    """Run one chapter for the book, if it has not got it as it stands."""
    if is_kept(path):
        return "kept already"
    notebook = nbformat.read(path, as_version=4)
    try:
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
        first, paths = first_cell(), chosen(options.names)
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
