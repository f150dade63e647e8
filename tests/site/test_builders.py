"""Sphinx's other builders: each writes a small book, and the e-book is complete."""

import os
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pikepdf
import pytest
from helpers.programs import run_python
from helpers.small_book import (
    INTRO,
    build_book,
    widget_notebook,
    write_book,
)

import mygpt
from make import ROOT
from publish.paper import epub, joined, pdf
from publish.paper.joined import OPF, H
from website import formulas

BUILDERS = ("epub", "singlehtml", "dirhtml", "text")
BUILDERS += ("latex", "man", "pseudoxml", "linkcheck")
MORE = """
```{bibliography}
```

:::{glossary}
loss
loss function
  A number.
:::

:::{exercise}
:label: ex-b
Try again.
:::

:::{prf:theorem} Of the mean
:label: th-a
It is in the middle.
:::

{prf:ref}`th-a` is true.
"""
# All in one process, with jupyter-book's own configuration.
RUN = """
import sys
from jupyter_book.cli.main import main
from sphinx.cmd.build import build_main

main(["config", "sphinx", "."], standalone_mode=False)
for builder in sys.argv[1:]:
    # latex warns of SVG files, which it cannot convert without other programs.
    strict = [] if builder in ("latex", "linkcheck") else ["-W", "--keep-going"]
    target = ["-b", builder, "-d", "read", ".", f"out/{builder}"]
    code = build_main(["-q", *strict, *target])
    print(f"built {builder}: {code}", flush=True)
"""


TOC = (
    "parts:\n- caption: One & all\n  chapters:\n"
    "  - file: chapters/05_a\n  - file: chapters/06_b\n"
)


def chapter_with_an_empty_cell():
    """A chapter whose last cell shows neither its source nor an output."""
    notebook = widget_notebook()
    tags = ["varies", "remove-input"]  # and it prints nothing
    notebook.cells.append(nbformat.v4.new_code_cell("t()", metadata={"tags": tags}))
    hidden = nbformat.v4.new_code_cell("print(0)", metadata={"tags": ["hide-input"]})
    hidden.outputs = [nbformat.v4.new_output("stream", text="nought\n")]
    notebook.cells.append(hidden)
    return notebook


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with a folder for each builder, and what was said."""
    folder = tmp_path_factory.mktemp("book")
    files = {
        "intro.md": INTRO + MORE,
        "mygpt/__init__.py": f'__version__ = "{mygpt.__version__}"\n',
    }
    notebook, settings = chapter_with_an_empty_cell(), {"linkcheck_ignore": [".*"]}
    write_book(folder, TOC, notebook, settings, files)
    return folder / "out", build_book(folder, RUN, *BUILDERS)[1]


@pytest.fixture(scope="module")
def book(built):
    """The e-book's files, by name."""
    with zipfile.ZipFile(built[0] / "epub" / "mygpt.epub") as packed:
        return {name: packed.read(name).decode("latin-1") for name in packed.namelist()}


@pytest.fixture(scope="module")
def pages(built):
    """The e-book's pages as trees, by name; a page that is not XML is an error."""
    folder = built[0] / "epub"
    found = sorted(folder.rglob("*.xhtml"))
    return {
        path.relative_to(folder).as_posix(): ElementTree.parse(path).getroot()
        for path in found
    }


def text(tree):
    return " ".join("".join(tree.itertext()).split())


@pytest.mark.parametrize("builder", BUILDERS)
def test_every_builder_writes_the_book(built, builder):
    folder, said = built
    assert f"built {builder}: 0" in said, said
    assert any((folder / builder).iterdir())


def test_the_line_that_says_where_a_chapter_runs_is_xml(built):
    page = built[0] / "dirhtml" / "chapters" / "05_a" / "index.html"
    line = re.search(r'<p class="launch-line">.*?</p>', page.read_text("utf-8"))[0]
    assert text(ElementTree.fromstring(line)).startswith("Run this chapter: Colab")


def test_a_name_of_a_function_in_an_index_is_one_part_of_it():
    formula = ElementTree.fromstring(formulas.typeset(r"p_{\max}", False, "mathml"))
    index = next(one for one in formula.iter() if one.tag.endswith("}msub"))
    assert ["".join(part.itertext()) for part in index] == ["p", "max"]


def test_an_e_book_has_a_title_an_author_a_language_a_version_and_a_cover(book):
    package = ElementTree.fromstring(book["content.opf"])
    said = {one.tag.rpartition("}")[2]: one.text for one in package.iter()}
    assert said["title"].startswith("mygpt: a GPT-2 from nothing")
    assert said["creator"] == "The mygpt developers"
    assert said["language"] == "en"
    assert f"Version {mygpt.__version__}" in book["edition.xhtml"]
    items = package.iter(f"{OPF}item")
    announced = {item.get("href"): item.get("properties") for item in items}
    assert announced["_static/cover.png"] == "cover-image"
    assert announced["chapters/05_a.xhtml"] == "mathml"


def test_an_e_book_holds_no_script_and_nothing_that_only_pages_of_the_site_need(book):
    assert not [name for name in book if name.endswith((".js", ".woff2", ".json"))]
    chapters = "".join(book[name] for name in book if name.startswith("chapters/"))
    for absent in ("<script", "<details", "launch-line", "%pip install", "katex-html"):
        assert absent not in chapters


def test_a_theorem_and_two_exercises_stand_on_a_page_of_the_e_book(pages):
    page = pages["intro.xhtml"]
    ids = [one.get("id") for one in page.iter() if one.get("id")]
    assert len(ids) == len(set(ids))
    said = text(page)
    for part in ("Theorem 1", "Of the mean", "in the middle", "Try.", "Try again."):
        assert part in said


def test_an_explorer_is_a_still_with_a_line_that_leads_to_the_moving_one(pages):
    chapter = pages["chapters/05_a.xhtml"]
    assert [i.get("alt") for i in chapter.iter(f"{H}img")] == ["A line that rises."] * 2
    notes = [one for one in chapter.iter(f"{H}p") if one.get("class") == "output-note"]
    said = "A still: the explorer itself moves on this chapter’s page."
    assert text(notes[0]) == said
    address = notes[0].find(f"{H}a").get("href")
    assert address == "https://mygpt-book.github.io/mygpt/chapters/05_a.html"
    assert text(notes[1]).startswith("A still: its controls need Python. Move them on")


def test_folded_code_is_left_out_and_what_it_prints_is_not(pages):
    shown = text(pages["chapters/05_a.xhtml"])
    assert "nought" in shown
    assert "print(0)" not in shown


def test_solutions_and_the_second_reading_are_open(pages):
    intro, chapter = text(pages["intro.xhtml"]), text(pages["chapters/06_b.xhtml"])
    assert "Solution" in intro
    assert "Done." in intro
    assert "It is, and the loss says so." in chapter


def test_the_contents_name_the_parts_the_chapters_and_their_sections(pages):
    part = pages["nav.xhtml"].findall(f".//{H}nav/{H}ol/{H}li")[-1]
    chapter = part.findall(f"{H}ol/{H}li")[1]
    sections = chapter.findall(f"{H}ol/{H}li")
    assert [text(one.find(f"{H}a")) for one in (part, chapter, *sections)] == [
        "One & all",
        "6. Two readings",
        "Exercises",
        "Stop here, or go deeper",
        "How far it is true",
        "Where it comes from",
    ]


def test_the_joined_book_has_each_id_once_and_every_link_inside_it_leads_to_one(built):
    whole = joined.joined(built[0] / "epub", [], "", "mygpt")
    ids = [one.get("id") for one in whole.iter() if one.get("id")]
    assert len(ids) == len(set(ids))
    links = {one.get("href") for one in whole.iter(f"{H}a")}
    assert {"#p-06_b--exercises", "#p-06_b"} <= links
    assert not [one for one in links if ".xhtml" in one]
    assert {one[1:] for one in links if one.startswith("#")} <= set(ids)


def test_a_joined_formula_is_drawn_and_a_chapter_stands_below_its_part(built):
    whole = joined.joined(built[0] / "epub", [], "", "mygpt")
    chapter = next(one for one in whole.iter() if one.get("id") == "p-05_a")
    assert "katex-html" in ElementTree.tostring(chapter, encoding="unicode")
    assert "annotation" not in ElementTree.tostring(whole, encoding="unicode")
    assert [text(one) for one in chapter.iter(f"{H}h2")] == ["5. A chapter"]


def test_the_printed_book_has_an_outline_and_numbers_in_its_contents(built, tmp_path):
    if pdf.browser() is None and not os.environ.get("MYGPT_REQUIRE_BROWSER"):
        pytest.skip("no Chromium on the PATH")
    target = tmp_path / "book.pdf"
    assert pdf.make(built[0] / "epub", target) == 0
    with pikepdf.open(target) as printed:
        with printed.open_outline() as outline:
            titles = {item.title: item.children for item in outline.root}
        chapters = [one.title for one in titles["One & all"]]
        assert chapters == ["5. A chapter", "6. Two readings"]
        places = pdf.page_numbers(printed)
        assert places["p-part-1"] < places["p-05_a"] < places["p-06_b"]
        assert printed.docinfo["/Author"] == "The mygpt developers"


def test_without_chromium_the_printing_says_so_in_one_line(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    assert pdf.main() == 1
    said = "The PDF is printed by Chromium, and none"
    assert capsys.readouterr().out.startswith(said)


def test_without_epubcheck_the_e_book_is_made_and_a_line_says_so(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("EPUBCHECK_JAR", raising=False)
    assert epub.check(Path("book.epub")) == 0
    assert "was not checked" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["epub", "pdf"])
def test_the_whole_book_is_made(name):
    run_python("-m", f"publish.paper.{name}", cwd=ROOT, timeout=1700)
    assert (ROOT / "_build" / f"mygpt.{name}").stat().st_size > 1e6
