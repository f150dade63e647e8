"""Chapters that were run for their check, taken over by the book."""

import copy

import nbformat
import pytest
from jupyter_cache import get_cache
from nbformat import v4

from tools import executed


@pytest.fixture
def root(tmp_path):
    (tmp_path / "mygpt").mkdir()
    (tmp_path / "mygpt" / "a.py").write_text("A = 1\n")
    (tmp_path / "chapters").mkdir()
    return tmp_path


def chapter(*outputs, source="print(1)", tags=()):
    cell = v4.new_code_cell(source, outputs=list(outputs), execution_count=1)
    cell.metadata["tags"] = list(tags)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    widgets = {"application/vnd.jupyter.widget-state+json": {"state": {"a": {}}}}
    return v4.new_notebook(
        cells=[cell], metadata={"kernelspec": kernel, "widgets": widgets}
    )


PRINTED = v4.new_output("stream", name="stdout", text="1\n")
RAISED = v4.new_output("error", ename="ValueError", evalue="no", traceback=["no"])


def keep(root, made=None, folder="chapters"):
    place = root / folder / "01_a.ipynb"
    place.parent.mkdir(exist_ok=True)
    nbformat.write(bare(made or chapter(PRINTED)), place)
    executed.keep_for_the_book(made or chapter(PRINTED), place, root)


def bare(notebook):
    """The notebook as the book reads it: without outputs."""
    plain = copy.deepcopy(notebook)
    plain.cells[0].outputs, plain.cells[0].execution_count = [], None
    del plain.metadata["widgets"]
    return plain


def test_the_book_finds_what_the_check_ran_with_its_widgets(root):
    keep(root)
    assert executed.fill(root / "cache", root) == ["01_a.ipynb"]
    cache = get_cache(root / "cache")
    _, merged = cache.merge_match_into_notebook(bare(chapter(PRINTED)))
    assert merged.cells[0].outputs[0].text == "1\n"
    assert merged.metadata["widgets"] == chapter().metadata["widgets"]


def test_a_changed_cell_is_not_found(root):
    keep(root)
    executed.fill(root / "cache", root)
    other = bare(chapter(PRINTED, source="print(2)"))
    with pytest.raises(KeyError):
        get_cache(root / "cache").match_cache_notebook(other)


def test_a_changed_package_has_nothing_kept(root):
    keep(root)
    (root / "mygpt" / "a.py").write_text("A = 2\n")
    assert executed.fill(root / "cache", root) == []


def test_what_raised_or_is_no_chapter_is_not_kept(root):
    keep(root, chapter(RAISED))
    keep(root, folder="other")
    assert executed.fill(root / "cache", root) == []


def test_an_error_that_a_chapter_shows_is_kept(root):
    keep(root, chapter(RAISED, tags=["raises-exception"]))
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
