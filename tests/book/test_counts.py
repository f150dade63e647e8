"""The pages that speak of the book itself: their counts, their plans, their lists."""

import json
import re
from types import SimpleNamespace

import pytest
from helpers.notebooks import ROOT, code, notebook, read, text

from tools import counts, openings
from tools.bare_parts import chapters_in_order
from website.text import counts as book_counts

TEACHERS = (ROOT / "pages" / "teachers.md").read_text(encoding="utf-8")
CHECKED = (ROOT / "pages" / "checked.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHAPTERS = list(filter(openings.is_chapter, chapters_in_order()))
PLAN = re.compile(r"^\| min \|.*\n\| --:.*\n((?:\|.*\n)+)", re.M)
HOURS = {"Two": 2, "Six": 6, "Twelve": 12}


def test_only_numbers_that_are_compared_are_counted(monkeypatch):
    cells = [
        code("1", outputs=["loss 0.25 after 10 steps"]),
        code("1", "varies", outputs=["3.2 s"]),
        code("1", "setup", outputs=["5 installed"]),
        code("1", "rtol-2e-2", outputs=["1.5"]),
        text("```{exercise-start}\n```\n7 of 9"),
    ]
    monkeypatch.setattr(counts, "all_cells", lambda: cells)
    names = ("cells", "numbers", "cells that vary", "exercises")
    assert [counts.COUNTS[name]() for name in names] == [3, 3, 1, 1]
    assert counts.COUNTS["cells with a wider tolerance"]() == 1


def test_every_count_finds_something():
    """A pattern that finds nothing any more would print a silent zero."""
    none = {"cells with a wider tolerance"}  # none today, which is well
    quick = set(counts.COUNTS) - {"claims", "claims tested"} - none
    assert [name for name in quick if counts.COUNTS[name]() < 3] == []


def test_the_claims_of_every_topic_are_counted():
    assert len(counts.claims_of("norm")) > 3
    topics = set((ROOT / "runs").glob("[a-z]*.py"))
    without = {path.stem for path in topics if not counts.has_claims(path)}
    assert without == {"memory"}  # its claims are in test_experiments.py


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_an_opening_says_about_an_hour_as_all_do(path):
    prose = " ".join(cell.source for cell in read(path).cells)
    assert re.search(r"takes\s+about\s+an\s+hour", prose)
    assert not re.search(r"takes\s+about\s+\d+\s+minutes", prose)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_builds_on_chapters_that_come_before_it(path):
    earlier = {one.stem for one in CHAPTERS[: CHAPTERS.index(path)]}
    needed = openings.builds_on(read(path))
    assert set(needed) <= earlier
    assert needed or path.stem == "tensors"


def test_an_opening_that_names_nothing_is_an_error():
    later = notebook(text("# A"), text("## B\nIt builds on x."))
    with pytest.raises(ValueError, match="what the chapter builds on"):
        openings.builds_on(later)


@pytest.mark.parametrize("name", HOURS)
def test_a_courses_minutes_are_its_hours(name):
    """The longest has one plan for each of its eight sessions."""
    section = re.search(rf"^## {name} hours.*?(?=^## )", TEACHERS, re.M | re.S)[0]
    plans = [
        sum(map(int, re.findall(r"^\| (\d+) \|", table, re.M)))
        for table in PLAN.findall(section)
    ]
    sessions = re.findall(r"^\| \d \| \[", section, re.M)
    assert sum(plans) * (len(sessions) or 1) == 60 * HOURS[name]


def test_every_chapter_has_its_goals():
    goals = TEACHERS.partition("## What students can do")[2].partition("\n## ")[0]
    named = re.findall(r"^\[.*\]\(\.\./chapters/(\w+)\.ipynb\)\n: ", goals, re.M)
    assert named == [path.stem for path in CHAPTERS]


def test_every_stored_run_says_how_to_make_it_again():
    for path in sorted((ROOT / "mygpt" / "data" / "stored").glob("*.json")):
        command = json.loads(path.read_text(encoding="utf-8"))["command"]
        assert f"| `{command}` |" in CHECKED, path.name


def test_the_proses_licence_is_there_in_full():
    licence = (ROOT / "LICENSE-prose").read_text(encoding="utf-8")
    sections = re.findall(r"^Section (\d) -- ", licence, re.M)
    assert sections == list("12345678")
    assert licence.rstrip().endswith("may be contacted at creativecommons.org.")


def test_readme_shows_pictures_that_are_there_and_light():
    pictures = re.findall(r'src(?:set)?="([^"]+)"', README)
    assert len(pictures) == 2
    assert all((ROOT / name).stat().st_size < 150_000 for name in pictures)


def test_readme_names_pages_and_commands_that_there_are():
    pages = re.findall(r"`(?:_build/html/|\.\./)?([\w/]+)\.html`", README)
    assert len(pages) > 6
    for page in pages:
        sources = [
            ROOT / folder / f"{page}.{end}"
            for folder in ("pages", "chapters")
            for end in ("md", "ipynb")
        ]
        assert page == "index" or any(path.exists() for path in sources), page
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for command in set(re.findall(r"make (\w+)", README)):
        assert f"# make {command} " in makefile, command


def test_readme_is_short_and_says_what_people_search_for():
    assert len(README.split()) <= 600
    searched = "Jupyter nbval GELU heatmap residual PyTorch GPT-2 transformer MLP"
    assert [word for word in searched.split() if word not in README] == []


def test_a_row_of_the_table_is_in_the_books_order():
    path = next(path for path in CHAPTERS if path.stem.startswith("08"))
    first, needed, words, lines, exercises = book_counts.row(path)[1:-1].split("|")
    assert first.strip() == "8. [](/chapters/08_layer_norm.ipynb)"
    assert re.findall(r"\[(\w+)\]", needed) == ["tensors", "7"]
    assert int(words.replace(",", "")) > int(lines) > int(exercises) > 0


def test_a_page_that_counts_is_read_again_when_what_it_counts_changes(tmp_path):
    app = SimpleNamespace(srcdir=tmp_path)
    now = book_counts.key_of_sources(tmp_path, book_counts.COUNTED)
    pages = {"checked": {"counted": now}, "notation": {}}
    env = SimpleNamespace(metadata=pages)
    assert book_counts.outdated(app, env) == []
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "glossary.md").write_text("one more\n")
    assert book_counts.outdated(app, env) == ["checked"]
