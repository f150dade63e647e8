"""Chapters that were run for their check, taken over by the book."""

import copy

import nbformat
import pytest
from helpers.notebooks import code, notebook
from jupyter_cache import get_cache
from nbformat import v4

from tools import executed
from tools.live_lab import STATE


@pytest.fixture
def root(tmp_path):
    (tmp_path / "mygpt").mkdir()
    (tmp_path / "mygpt" / "a.py").write_text("A = 1\n")
    (tmp_path / "chapters").mkdir()
    return tmp_path


def chapter(output, *tags, source="print(1)"):
    cell = code(source, *tags, outputs=[output], count=1)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook(cell, kernelspec=kernel, widgets=WIDGETS)


WIDGETS = {STATE: {"state": {"a": {}}}}
PRINTED = chapter("1\n")
RAISED = v4.new_output("error", ename="ValueError", evalue="no", traceback=["no"])


def keep(root, made=PRINTED, folder="chapters"):
    place = root / folder / "01_a.ipynb"
    place.parent.mkdir(exist_ok=True)
    nbformat.write(bare(made), place)
    executed.keep_for_the_book(copy.deepcopy(made), place, root)


def bare(chapter):
    """The chapter as the book reads it: without outputs."""
    plain = copy.deepcopy(chapter)
    plain.cells[0].outputs, plain.cells[0].execution_count = [], None
    del plain.metadata["widgets"]
    return plain


def test_the_book_finds_what_the_check_ran_with_its_widgets(root):
    keep(root)
    assert executed.fill(root / "cache", root) == ["01_a.ipynb"]
    cache = get_cache(root / "cache")
    _, merged = cache.merge_match_into_notebook(bare(PRINTED))
    assert merged.cells[0].outputs[0].text == "1\n"
    assert merged.metadata["widgets"] == WIDGETS


def test_a_changed_cell_is_not_found(root):
    keep(root)
    executed.fill(root / "cache", root)
    other = bare(chapter("1\n", source="print(2)"))
    with pytest.raises(KeyError):
        get_cache(root / "cache").match_cache_notebook(other)


def test_a_chapter_with_another_caption_is_found(root):
    keep(root)
    other = bare(PRINTED)
    other.cells[0].metadata["mystnb"] = {"figure": {"caption": "Another."}}
    nbformat.write(other, root / "chapters" / "01_a.ipynb")
    executed.fill(root / "cache", root)
    _, merged = get_cache(root / "cache").merge_match_into_notebook(other)
    assert merged.cells[0].outputs[0].text == "1\n"


@pytest.mark.parametrize(
    "name", ["a.py", "data/corpora/stories.txt", "data/models/a.safetensors"]
)
def test_a_changed_package_has_nothing_kept(root, name):
    keep(root)
    path = root / "mygpt" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("A = 2\n")
    assert executed.fill(root / "cache", root) == []


def test_what_raised_or_is_no_chapter_is_not_kept(root):
    keep(root, chapter(RAISED))
    keep(root, folder="other")
    assert executed.fill(root / "cache", root) == []


def test_an_error_that_a_chapter_shows_is_kept(root):
    keep(root, chapter(RAISED, "raises-exception"))
    assert executed.fill(root / "cache", root) == ["01_a.ipynb"]


@pytest.mark.parametrize("name", executed.SETTINGS)
def test_a_run_under_another_setting_is_neither_kept_for_the_book_nor_taken(
    name, root, monkeypatch
):
    monkeypatch.setenv(name, "1")
    keep(root)
    monkeypatch.delenv(name)
    assert executed.fill(root / "cache", root) == []
    keep(root)
    monkeypatch.setenv(name, "1")
    others = executed.folder_of(root)
    monkeypatch.setenv(name, "2")
    assert executed.fill(root / "cache", root) == []
    assert executed.folder_of(root) != others
