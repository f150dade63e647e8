"""The form of a chapter: lengths, the two readings, the bare parts, the terms."""

import ast
import re

import pytest
from helpers.declared import modules
from helpers.notebooks import code, notebook, read, text, write

from tools import bare_parts, reading, terms
from tools.execute import chosen
from tools.prose import slug

PAGES = ("claims", "gallery", "libraries")
PATHS = [path for path in chosen([]) if path.stem not in PAGES]
WITHOUT_BARE = {"tensors", "10_memory", "11_rewriting", "15_gpt2", "17_many_machines"}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_chapter_is_no_longer_than_its_form_allows(path):
    assert reading.too_long(read(path), reading.LIMITS) == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_chapter_has_its_two_readings(path):
    cells = read(path).cells
    headings = [reading.title_of(cell) for cell in cells if reading.title_of(cell)]
    boxes = [cell for cell in cells if "second-reading" in reading.tags(cell)]
    assert len(boxes) == 1
    assert reading.title_of(boxes[0]) == "Stop here, or go deeper"
    assert ":class: stop-here" in boxes[0].source
    at = [headings.index(name) for name in ("Key points", "Exercises", headings[-1])]
    assert at == sorted(at)
    assert headings[at[1] + 1] == "Stop here, or go deeper"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_box_names_each_section_that_follows(path):
    chapter = read(path)
    further = [part.name for part in reading.parts(chapter)[2]]
    (box,) = (c for c in chapter.cells if "second-reading" in reading.tags(c))
    linked = re.findall(r"\]\(#([\w-]+)\)", box.source)
    assert linked == [slug(name) for name in further]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_no_shown_cell_needs_a_hidden_one(path):
    assert reading.used_from_hidden(read(path)) == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_chapter_has_its_bare_part(path):
    assert bool(bare_parts.bare_cells(path)) == (path.stem not in WITHOUT_BARE)
    lines = map(reading.lines_of_code, bare_parts.bare_cells(path))
    assert all(count <= 20 for count in lines)


def test_the_bare_file_holds_the_chapters_cells():
    assert bare_parts.TARGET.read_text(encoding="utf-8") == bare_parts.bare_text(), (
        "run python -m tools.bare_parts"
    )


def test_the_bare_parts_need_nothing_but_torch_and_name_nothing_twice():
    bare = bare_parts.bare_text()
    assert bare_parts.problems(bare) == []
    exec(compile(bare, "bare.py", "exec"), {"__name__": "bare"})
    assert "mygpt" not in {name.split(".")[0] for name in modules(ast.parse(bare))}


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("import numpy\n", "line 1 imports numpy"),
        ("from mygpt import GPT\n", "line 1 imports mygpt"),
        ("def f(): pass\n\n\ndef f(): pass\n", "f is defined 2 times"),
        ("x = 1\nx = 2\n", "x is defined 2 times"),
        ("for i in ():\n    pass\ni = 1\n", "i is defined 2 times"),
    ],
)
def test_a_bare_part_that_breaks_the_rule_is_named(source, problem):
    assert problem in bare_parts.problems(source)


# The measures themselves


SAMPLE = notebook(
    text("# A chapter\n\nOne two $x + y$ three."),
    code("import torch\nx = 1", "setup"),
    code("x = 2\nprint(x)"),
    code("hidden = 1", "hide-cell"),
    text("## It works\n\n:::{admonition} Predict\n:class: tip\nFour five.\n:::"),
    text("```python\nleft = out\n```"),
    text("## Exercises\n\nSix."),
    code("print(6)"),
    text("## Stop here, or go deeper", "second-reading"),
    text("## Far\n\nSeven eight."),
    code("print(7)"),
    text("## Farther\n\nNine."),
)


def test_words_and_lines_are_counted_in_their_part():
    first, exercises, further = reading.parts(SAMPLE)
    assert first.words == 5 + 2 + 3  # title and text, heading, admonition
    assert first.lines == 2
    assert (exercises.words, exercises.lines) == (2, 1)
    counted = [(part.name, part.words, part.lines) for part in further]
    assert counted == [("Far", 3, 1), ("Farther", 2, 0)]


@pytest.mark.parametrize(
    ("place", "more", "problem"),
    [
        (4, text("word " * 1891), "first reading: 1,901 words, 1,900 at most"),
        (4, code("x\n" * 84), "first reading: 86 lines of code, 85 at most"),
        (4, text("## Why\n\n" + 6 * "### A\n\n"), "first reading: 6 ideas, 5 at most"),
        (7, text("word " * 999), "exercises: 1,001 words, 1,000 at most"),
        (7, code("x\n" * 60), "exercises: 61 lines of code, 60 at most"),
        (10, text("word " * 598), "Far: 601 words, 600 at most"),
    ],
)
def test_what_is_too_long_is_named(place, more, problem):
    longer = notebook(*SAMPLE.cells)
    longer.cells.insert(place, more)
    assert reading.too_long(longer) == [problem]
    assert reading.too_long(SAMPLE) == []


def test_folds_are_counted_without_the_set_up():
    folded = [code("x", "hide-input"), code("y", "hide-cell"), code("z", "hide-cell")]
    setup = code("import torch", "setup", "hide-cell")
    made = notebook(setup, *folded, *SAMPLE.cells)
    assert reading.too_long(made) == []
    made.cells.insert(0, folded[0])
    said = "first reading: 5 folded cells, 4 at most"
    assert reading.too_long(made) == [said]


def test_a_name_that_only_a_hidden_cell_defines_is_found():
    assert reading.used_from_hidden(SAMPLE) == []
    uses = code("print(hidden)")
    assert reading.used_from_hidden(notebook(*SAMPLE.cells, uses)) == ["hidden"]
    again = notebook(*SAMPLE.cells, code("hidden = 2"), uses)
    assert reading.used_from_hidden(again) == []


# Terms


GLOSSARY = """# Glossary

:::{glossary}
loss
  How wrong a model is.

softmax
soft maximum
  Scores into probabilities.

key
  What is compared.
:::
"""


def test_each_term_is_explained_where_it_is_first_used():
    assert terms.problems() == []


FINE = "A {define}`loss` is small. {define}`Soft <softmax>` and hard; a {define}`key`."


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        (FINE, "The loss, the soft maximum.", ""),
        ("# Loss and softmax\n\n`loss` $loss$, a key", FINE, ""),
        ("A {term}`loss` first.", FINE, ""),
        ("Many losses.", FINE, "'loss' is used before it is explained, in one, cell"),
        ("The soft maximum.", FINE, "'softmax' is used before it is explained"),
        ("The soft\nmaximum.", FINE, "'softmax' is used before it is explained"),
        (FINE, "{define}`softmax`", "'softmax' is explained 2 times"),
        ("{define}`loss`, {define}`key`", "", "'softmax' is explained 0 times"),
        (FINE, "A {term}`lens`.", "two, cell 'c' has the unknown term 'lens'"),
    ],
)
def test_a_term_that_is_not_explained_is_named(tmp_path, first, second, problem):
    paths = tmp_path / "one.ipynb", tmp_path / "two.ipynb"
    for path, source in zip(paths, (first, second), strict=True):
        write(path, text(source, id="c"))
    found = terms.problems(paths, GLOSSARY)
    assert [problem in said for said in found] == ([True] if problem else [])
