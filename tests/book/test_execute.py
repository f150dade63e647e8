"""Re-execution and the normal form of a stored chapter."""

import base64
import re
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from unittest.mock import MagicMock

import nbformat
import pytest
from helpers.notebooks import code, notebook, printed, read, text
from nbformat import v4

from tools import execute, executed, patience
from tools.agreement import differences
from tools.execute import ChapterError, normalise, put_setup_cell, text_of
from tools.live_lab import STATE, VIEW, still

FIRST_CELL = "import mygpt  # or else install it"


def chunk(name: bytes, content: bytes = b"") -> bytes:
    checksum = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + checksum


IDAT = chunk(b"IDAT", b"abc")
BARE = execute.PNG_SIGNATURE + chunk(b"IHDR", b"x" * 13) + IDAT + chunk(b"IEND")
NOTES = chunk(b"tEXt", b"Software\0Some 1.2") + chunk(b"tIME", b"1234567")
NOTED = BARE.replace(IDAT, NOTES + IDAT)


def in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def chapter(*cells, **metadata):
    """A chapter as an editor saves it, with a title."""
    for cell in cells:
        cell.metadata.collapsed = True
        if cell.cell_type == "code":
            cell.execution_count = cell.execution_count or 7
    return notebook(text("# A chapter", id="opening"), *cells, **metadata)


def lab_state(picture: bytes) -> dict:
    """The widget state that `interact` leaves: a box, a slider, an output below."""
    figure = v4.new_output("display_data", {"image/png": in_base64(picture)})
    other = v4.new_output("display_data", {"image/png": "AAAA"})
    said = {"output_type": "stream", "text": "hi"}
    children = ["IPY_MODEL_slider", "IPY_MODEL_out"]
    states = {
        "box": {"children": children, "layout": "IPY_MODEL_l"},
        "slider": {"value": 2},
        "out": {"outputs": [said, figure]},
        "other": {"outputs": [other]},
    }
    return {name: {"state": state} for name, state in states.items()}


VIEWED = v4.new_output(
    "display_data", {VIEW: {"model_id": "box"}, "text/plain": "interactive(…)"}
)


# The still of a live lab


def test_the_still_is_the_picture_below_the_widget_that_the_cell_shows():
    assert still([VIEWED], lab_state(BARE)) == BARE


def test_a_lab_that_drew_nothing_has_no_still():
    assert still([VIEWED], {"box": {"state": {"children": []}}}) is None
    assert still([VIEWED], {}) is None
    assert still([], lab_state(BARE)) is None


def test_a_model_that_contains_itself_ends_the_search():
    assert still([VIEWED], {"box": {"state": {"children": ["IPY_MODEL_box"]}}}) is None


# The normal form


def test_only_text_and_time_chunks_are_removed_from_a_picture():
    assert execute.without_notes(NOTED) == BARE
    assert execute.without_notes(BARE) == BARE
    assert execute.without_notes(b"no picture") == b"no picture"


def test_normalising_keeps_text_and_pictures_and_drops_traces_of_the_run():
    out = printed("a\n")
    data = {"image/png": in_base64(NOTED) + "\n", "text/plain": "Depth()"}
    shown = v4.new_output("display_data", {VIEW: {"model_id": "m"}} | data)
    error = v4.new_output("error", ename="E", evalue="e", traceback=["File /a/b.py"])
    result = v4.new_output("execute_result", {"text/plain": "3"}, execution_count=9)
    shows = [out, out, shown, result]
    made = chapter(
        code("x = 1  \n\n", "varies", outputs=shows, count=7, id="kept"),
        code("1 / 0", outputs=[error]),
        widgets={STATE: {"state": {}}},
        kernelspec={"name": "mine", "display_name": "Mine"},
    )
    normalise(made, FIRST_CELL)
    kept, raised = made.cells[2:]
    assert made.metadata == execute.METADATA
    assert kept.id == "kept"
    assert kept.source == "x = 1"
    assert kept.metadata == {"tags": ["varies"]}
    assert kept.outputs[0].text == "a\na\n"
    assert kept.outputs[1].data == data | {"image/png": in_base64(BARE)}
    assert [cell.execution_count for cell in made.cells[1:]] == [None, 1, 2]
    assert kept.outputs[2].execution_count == 1
    assert raised.outputs[0].traceback == ["E: e"]


def test_normalising_twice_changes_nothing():
    made = chapter(
        code("x", "live-lab", outputs=[VIEWED]),
        code("", count=3),
        widgets={STATE: {"state": lab_state(NOTED)}},
    )
    normalise(made, FIRST_CELL)
    once = text_of(made)
    normalise(made, FIRST_CELL)
    assert text_of(made) == once
    assert once.endswith("}\n")


def test_a_live_lab_is_stored_as_its_still():
    lab = code("x", "live-lab", outputs=[VIEWED])
    made = chapter(lab, widgets={STATE: {"state": lab_state(NOTED)}})
    normalise(made, FIRST_CELL)
    (output,) = made.cells[2].outputs
    still_text = {"text/plain": execute.STILL_TEXT}
    assert output.data == {"image/png": in_base64(BARE)} | still_text


def test_a_live_lab_without_a_figure_is_refused():
    with pytest.raises(ChapterError, match="live lab of cell 1 drew no figure"):
        normalise(chapter(code("x", "live-lab")), FIRST_CELL)


def chapter_of_lab(shown):
    state = lab_state(NOTED)
    first = next(iter(state.values()))["state"]
    first["outputs"] = [shown, *first.get("outputs", [])]
    lab = code("x", "live-lab", outputs=[VIEWED], count=1, id="lab")
    return chapter(lab, widgets={STATE: {"state": state}})


def test_the_text_that_a_live_lab_prints_is_compared():
    texts = ("loss 2.31\n", "loss 2.32\n", "loss 2.41\n")
    stored, near, other = (
        normalise(chapter_of_lab({"output_type": "stream", "text": text}), FIRST_CELL)
        for text in texts
    )
    assert not [*differences(stored, near)]
    ((_, why),) = differences(stored, other)
    assert "its live lab printed something else" in why
    assert "2.31 became 2.41" in why


def test_a_live_lab_that_raised_is_refused():
    raised = {"output_type": "error", "ename": "NameError", "evalue": "idz"}
    made = chapter_of_lab(raised)
    with pytest.raises(ChapterError, match="lab of cell 1 raised NameError: idz"):
        normalise(made, FIRST_CELL)


def test_cell_ids_are_kept_and_missing_or_repeated_ones_replaced():
    made = chapter(code("1", id="same"), code("2"))
    made.cells[2].id = "same"
    del made.cells[0]["id"]
    normalise(made, FIRST_CELL)
    ids = [cell.id for cell in made.cells]
    assert ids == ["cell-1", "setup", "same", "same-b"]


def test_the_setup_cell_is_made_anew_and_is_the_first_code_cell():
    made = chapter(text("Words."), code("1"), code("old", "setup"))
    put_setup_cell(made, FIRST_CELL)
    put_setup_cell(made, FIRST_CELL)
    sources = [cell.source for cell in made.cells]
    assert sources == ["# A chapter", "Words.", FIRST_CELL, "1"]
    made.cells[2].outputs = [printed("This machine has a GPU.")]
    normalise(made, FIRST_CELL)
    assert made.cells[2].outputs == []


# Writing


def test_a_file_is_written_only_when_its_content_changed(tmp_path):
    path = tmp_path / "a.ipynb"
    assert execute.write(path, b"1\n")
    before = path.stat().st_mtime_ns
    assert not execute.write(path, b"1\n")
    assert path.stat().st_mtime_ns == before
    assert execute.write(path, b"2\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.ipynb"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.ipynb"
    path.write_text("old")
    full = MagicMock(side_effect=OSError("full"))
    monkeypatch.setattr(execute.os, "replace", full)
    with pytest.raises(OSError, match="full"):
        execute.write(path, b"new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.ipynb"]


def test_an_unknown_chapter_is_named_beside_the_known_ones(tmp_path):
    (tmp_path / "05_one.ipynb").touch()
    assert execute.chosen(["05"], tmp_path) == [tmp_path / "05_one.ipynb"]
    said = "no chapter is called '99'; there are 05_one"
    with pytest.raises(ChapterError, match=said):
        execute.chosen(["99"], tmp_path)


# A real kernel

DRAWS = """\
import matplotlib.pyplot as plt
from ipywidgets import interact


def draw(a=2.0):
    plt.figure(figsize=(1, 1))
    plt.plot([0, a])
    plt.show()"""


def test_an_executed_chapter_is_reproduced_to_the_byte(tmp_path, capsys):
    path = tmp_path / "a.ipynb"
    made = chapter(
        code(DRAWS),
        code("interact(draw, a=(0.0, 3.0));", "live-lab"),
        code("draw()\nprint(0.25)"),
        code("1 / 0", "raises-exception"),
    )
    nbformat.write(made, path)
    assert execute.main([str(path)]) == 0
    first = path.read_text()
    lab, figure, raised = nbformat.reads(first, as_version=4).cells[-3:]
    assert lab.outputs[0].data["image/png"] == figure.outputs[0].data["image/png"]
    assert "Software" not in str(base64.b64decode(figure.outputs[0].data["image/png"]))
    assert figure.outputs[1].text == "0.25\n"
    assert raised.outputs[0].ename == "ZeroDivisionError"
    assert execute.main(["--check", str(path)]) == 0
    assert execute.main([str(path)]) == 0
    assert path.read_text() == first
    assert "a: unchanged" in capsys.readouterr().out


@pytest.mark.slow
def test_a_cell_longer_than_a_slice_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(patience, "SLICE_SECONDS", 0.1)
    path = tmp_path / "a.ipynb"
    slow = "import time\nprint(1)\ntime.sleep(0.6)\nprint(2)"
    nbformat.write(chapter(code(slow), code("print(3)")), path)
    assert execute.main([str(path)]) == 0
    first, second = read(path).cells[-2:]
    assert first.outputs[0].text == "1\n2\n"
    assert second.outputs[0].text == "3\n"
    monkeypatch.setattr(execute, "CELL_SECONDS", 1)
    nbformat.write(chapter(code("import time\ntime.sleep(9)")), path)
    assert execute.main([str(path)]) == 1


def test_chapters_are_run_two_at_a_time_for_the_book(tmp_path, monkeypatch, capsys):
    """Each waits until the other has begun, and a second time nothing runs."""
    # A browser of another test may hold this thread's loop.
    aside = ThreadPoolExecutor(1)
    folder = tmp_path / "chapters"
    folder.mkdir()
    waits = (
        "import time\nfrom pathlib import Path\n"
        "Path('{0}.begun').touch()\n"
        "while not Path('{1}.begun').exists(): time.sleep(0.01)\n"
        "print('{0}')"
    )
    paths = [folder / f"{name}.ipynb" for name in "ab"]
    for path, here, there in zip(paths, "ab", "ba", strict=True):
        nbformat.write(chapter(code(waits.format(here, there))), path)
    before = [path.read_bytes() for path in paths]
    root = {"root": tmp_path}
    monkeypatch.setattr(execute, "kept_run", partial(executed.kept_run, **root))
    keep = partial(executed.keep_for_the_book, **root)
    monkeypatch.setattr(execute, "keep_for_the_book", keep)
    assert aside.submit(execute.main, ["--keep", *map(str, paths)]).result() == 0
    said = capsys.readouterr().out
    assert sorted(re.findall(r"(\w): run for the book", said)) == ["a", "b"]
    kept = read(executed.folder_of(tmp_path) / "a.ipynb")
    assert kept.cells[-1].outputs[0].text == "a\n"
    assert [path.read_bytes() for path in paths] == before
    assert aside.submit(execute.main, ["--keep", *map(str, paths)]).result() == 0
    assert capsys.readouterr().out.count("kept already") == 2
    nbformat.write(chapter(code("oh_no")), paths[0])
    assert aside.submit(execute.main, ["--keep", *map(str, paths)]).result() == 1
    assert "oh_no" in capsys.readouterr().err


def test_a_chapter_whose_cell_raises_is_not_written(tmp_path, capsys):
    path = tmp_path / "a.ipynb"
    nbformat.write(chapter(code("print(1)"), code("oh_no")), path)
    before = path.read_text()
    assert execute.main([str(path)]) == 1
    assert path.read_text() == before
    message = capsys.readouterr().err
    assert "a: not written: a cell raised" in message
    assert "oh_no" in message


def test_a_chapter_out_of_its_normal_form_is_named(tmp_path, capsys):
    path = tmp_path / "a.ipynb"
    nbformat.write(chapter(code("1")), path)
    before = path.read_text()
    assert execute.main(["--check", str(path)]) == 1
    assert "a: not in its normal form: python -m tools" in capsys.readouterr().err
    assert path.read_text() == before
    assert execute.main(["--normalise", str(path)]) == 0
    assert execute.main(["--check", str(path)]) == 0
