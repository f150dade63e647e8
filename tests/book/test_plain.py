"""The plain edition: no mark of MyST is left, every link leads somewhere."""

import re
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from publish.plain import pictures
from publish.plain.__main__ import add_binder, plain_edition, put, write
from publish.plain.marks import CODE, NotPlain, blocks
from publish.plain.notebook import links_nowhere
from publish.plain.text import fenced

ROOT = Path(__file__).parents[2]
FIRST_CELL = "import mygpt"
GLOSSARY = """\
:::{glossary}
:sorted:

loss
  How wrong a model is. Smaller is better.

bend
kink
  What a line lacks.
:::
"""
BIB = """\
@misc{ba2016,
  author = {Ba, Jimmy Lei and Kiros, Jamie Ryan and Hinton, Geoffrey E.},
  title = {Layer Normalization}, year = {2016}, eprint = {1607.06450},
}
@misc{meta, author = {{Meta}}, title = {A card}, year = {2024},
  howpublished = {\\url{https://example.org/card}}}
@article{knuth, author = {Knuth, Donald}, title = {Compression}, year = {1994},
  journal = {C Users}}
"""
FIRST = """\
# One

A {define}`loss` and a {define}`kinks <kink>`.

## By hand: two sums

(check-one)=
$$
a = b
$$ (eq-one)

```{exercise-start} Add
:label: ex-one
```
Add.
```{exercise-end}
```
"""
MARKS = {
    "a role": r"\{[a-z][\w:-]*\}`",
    "a directive": r"^\s*(:{3,}|`{3,})\{",
    "a fence of colons": r"^\s*:{3,}",
    "an option": r"^:[\w-]+:( |$)",
    "a label": r"^\([\w-]+\)=",
    "a label of an equation": r"\$\$ *\([\w-]+\)",
    "a substitution": r"\{\{",
    "attributes": r"^\{[.#:]|[\])`]\{[.#]",
    "a name of a label": r"\b(fig|eq|ex|sol)-(\d\d|rewriting|claims)-\w",
}


@pytest.fixture(scope="module")
def edition():
    return plain_edition(FIRST_CELL)


@pytest.fixture(scope="module")
def notebooks(edition):
    return {
        name.removesuffix(".ipynb"): nbformat.reads(text, as_version=4)
        for name, text in edition.items()
    }


@pytest.fixture
def book(tmp_path):
    """A book of two chapters, of which the first is written."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "glossary.md").write_text(GLOSSARY)
    (tmp_path / "references.bib").write_text(BIB)
    toc = "root: intro\nparts:\n- chapters:\n"
    toc += "  - file: chapters/01_one\n  - file: chapters/02_two\n"
    (tmp_path / "_toc.yml").write_text(toc)

    def add(name, *cells):
        notebook = v4.new_notebook(cells=list(cells))
        nbformat.write(notebook, tmp_path / "chapters" / f"{name}.ipynb")
        return tmp_path

    add("01_one", v4.new_markdown_cell(FIRST, id="first"))
    return add


START = "```{exercise-start} Do\n:label: ex-two\n```\nDo.\n```{exercise-end}\n```\n"


def written(book, source):
    """The cells that a text of chapter 2 becomes."""
    root = book("02_two", v4.new_markdown_cell(f"# Two\n\n{source}", id="it"))
    found = nbformat.reads(plain_edition("", root)["02_two.ipynb"], as_version=4)
    text = "\n\n".join(cell.source for cell in found.cells)
    return re.sub(r"<a id=[^>]*></a>", "", text).removeprefix("# Two").strip()


# The whole book


def text_outside_code(notebook):
    for cell in notebook.cells:
        for block in blocks(cell.source) if cell.cell_type == "markdown" else ():
            text = "\n".join([block.title, *block.lines])
            if block.kind == "directive":
                yield cell.id, f":::{{{block.name}}}"
            elif block.kind != "code":
                yield cell.id, CODE.sub("", text)


@pytest.mark.parametrize("mark", MARKS)
def test_no_mark_of_the_sites_markdown_is_left(notebooks, mark):
    assert len(notebooks) == 22
    found = [
        (name, cell, match[0])
        for name, notebook in notebooks.items()
        for cell, text in text_outside_code(notebook)
        for match in re.finditer(MARKS[mark], text, re.M)
    ]
    assert found == []


@pytest.mark.parametrize("mark", MARKS)
def test_each_mark_is_found_where_it_stands(mark):
    left = {
        "a role": "a {term}`loss`",
        "a directive": ":::{note}\nx\n:::",
        "a fence of colons": "x\n:::",
        "an option": ":class: tip",
        "a label": "(here)=",
        "a label of an equation": "$$ a $$ (eq-a)",
        "a substitution": "{{ x }}",
        "attributes": "[x](y){.z}",
        "a name of a label": "see fig-05-expand",
    }
    assert re.search(MARKS[mark], left[mark], re.M)


def test_every_link_leads_somewhere(notebooks):
    assert links_nowhere(notebooks) == []
    cells = [cell for notebook in notebooks.values() for cell in notebook.cells]
    texts = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert len(re.findall(r"\]\((?:[\w-]+\.ipynb|#)", texts)) > 800


def test_a_link_that_leads_nowhere_is_found():
    cells = [v4.new_markdown_cell("# One\n\n[a](#Two) [b](#One) [c](none.ipynb#One)")]
    found = links_nowhere({"one": v4.new_notebook(cells=cells)})
    assert found == ["one: #Two", "one: none.ipynb#One"]


def test_code_and_outputs_are_those_of_the_book(notebooks):
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        notebook = notebooks[path.stem]
        stored = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
        solved = {cell.id for cell in within_solutions(stored.values())}
        stored = {k: cell for k, cell in stored.items() if cell.cell_type == "code"}
        codes = [cell for cell in notebook.cells if cell.id in stored.keys() - solved]
        assert len(codes) + len(solved) == len(stored)
        for cell in codes:
            if cell.id == "setup":
                assert cell.source == FIRST_CELL
                continue
            lines = cell.source.splitlines()
            lines = lines[lines[0].startswith("# @title") :]
            assert lines == stored[cell.id].source.splitlines()
            about = stored[cell.id].metadata.get("mystnb", {})
            if "markdown_format" in about:
                continue
            both = zip(cell.outputs, stored[cell.id].outputs, strict=True)
            for output, before in both:
                alt = output.get("metadata", {}).pop("image/png", {}).get("alt")
                assert output == before
                assert bool(alt) == ("image/png" in output.get("data", {}))


def within_solutions(cells):
    """The code cells that stand in a solution."""
    inside = False
    for cell in cells:
        if cell.cell_type == "code" and inside:
            yield cell
        elif cell.cell_type == "markdown":
            for mark in re.findall(r"\{solution-(start|end)\}", cell.source):
                inside = mark == "start"


def test_no_solution_is_seen_unasked(notebooks):
    """Each is one fold of text behind a cell for the answer; running all shows none."""
    found = 0
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        cells = notebooks[path.stem].cells
        texts = []
        for before, cell in pairwise(cells):
            if "<summary>Solution" not in cell.source:
                continue
            assert before.source.startswith("# Your answer to exercise ")
            text = re.sub(r"\n\n(\[[\w-]+\]: data:\S+\n?)+$", "", cell.source)
            assert text.startswith("<details>")
            assert text.endswith("</details>")
            assert text.count("<summary>Solution") == 1
            texts.append(text)
        inside = within_solutions(nbformat.read(path, as_version=4).cells)
        for cell in inside:
            (holder,) = (text for text in texts if cell.source in text)
            for output in cell.outputs:
                assert output.get("text", "") in holder
        found += len(texts)
    assert found == 125


def test_second_readings_are_folded_behind_their_headings(notebooks):
    for name, notebook in notebooks.items():
        mark = "jp-MarkdownHeadingCollapsed"
        folded = [cell for cell in notebook.cells if cell.metadata.get(mark)]
        assert all(cell.source.startswith("## ") for cell in folded)
        further = (name[:2].isdigit() or name == "tensors") and name != "00_contents"
        assert bool(folded) == further
        assert all("\n" not in cell.source for cell in folded)
        ids = [cell.metadata.id for cell in folded]
        if name == "00_contents":
            continue
        assert notebook.metadata.colab.collapsed_sections == ids


def test_every_notebook_is_small(edition):
    assert max(len(text.encode()) for text in edition.values()) < 2e6


def test_a_second_run_changes_no_byte(edition, tmp_path):
    assert write(edition, tmp_path) == 22
    (tmp_path / "mine.ipynb").write_text("{}")
    assert write(plain_edition(FIRST_CELL), tmp_path) == 0
    assert (tmp_path / "mine.ipynb").exists()


def test_what_a_reader_has_changed_is_left(edition, tmp_path):
    assert put(edition, tmp_path) == []
    assert put(edition, tmp_path) == []
    mine, other = tmp_path / "05_feed_forward.ipynb", tmp_path / "06_activations.ipynb"
    mine.write_text("mine")
    other.unlink()
    later = {name: f"{text}\n" for name, text in edition.items()}
    assert put(later, tmp_path) == [mine.name]
    assert mine.read_text() == "mine"
    assert other.read_text("utf-8") == later[other.name]
    mine.unlink()
    assert put(later, tmp_path) == []
    assert mine.read_text("utf-8") == later[mine.name]


def test_binder_installs_the_package_in_place_of_the_folder(tmp_path):
    add_binder(tmp_path, "mygpt @ https://some.example/mygpt.whl")
    lines = (tmp_path / ".binder" / "requirements.txt").read_text("utf-8").splitlines()
    assert lines[-1] == "mygpt @ https://some.example/mygpt.whl"
    assert "-e ." not in lines


def test_every_drawing_stands_inside_its_cell(notebooks):
    """As data, for Colab shows no attachment."""
    found = 0
    for notebook in notebooks.values():
        for cell in notebook.cells:
            assert "attachments" not in cell
            shown = re.findall(r"!\[[^\]]{20,}\]\[([\w-]+)\]", cell.source)
            data = r"^\[([\w-]+)\]: data:image/png;base64,iVBOR"
            assert shown == re.findall(data, cell.source, re.M)
            found += len(shown)
    drawings = len(list((ROOT / "schematics").glob("*.svg")))
    assert found == drawings + 1  # one solution has a figure


def test_the_contents_lead_to_every_notebook_in_the_books_order(notebooks):
    text = notebooks["00_contents"].cells[0].source
    links = re.findall(r"\]\((\w+)\.ipynb\)", text)
    assert set(links) == notebooks.keys() - {"00_contents"}
    assert links[:3] == ["tensors", "00_numbers_that_learn", "01_tokens"]
    assert min(notebooks) == "00_contents"


# One thing at a time


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{define}`loss`", "**loss**"),
        ("{term}`lost <loss>`", '[lost](01_one.ipynb#One "How wrong a model is.")'),
        ("{term}`bend`", '[bend](01_one.ipynb#One "What a line lacks.")'),
        ("{eq}`eq-one`", "[(1.1)](01_one.ipynb#By-hand:-two-sums)"),
        ("{numref}`ex-one`", "[Exercise 1.1](01_one.ipynb#Exercise-1.1:-Add)"),
        ("{ref}`the one <ex-one>`", "[the one](01_one.ipynb#Exercise-1.1:-Add)"),
        ("[it](01_one.ipynb#by-hand-two-sums)", "[it](01_one.ipynb#By-hand:-two-sums)"),
        ("[it](01_one.ipynb#check-one)", "[it](01_one.ipynb#By-hand:-two-sums)"),
        ("[all](01_one.ipynb)", "[all](01_one.ipynb)"),
        ("[out](https://example.org/a)", "[out](https://example.org/a)"),
        ("[a page](../using.md#train)", "a page"),
        ("`{term}` and $x_{a}$", "`{term}` and $x_{a}$"),
        ("$$ a $$", "$$\na\n$$"),
        ("$$\na\n$$ (eq-two)\n{eq}`eq-two`", "$$\na\n\\tag{2.1}\n$$\n\n(2.1)"),
        ("(a-label)=\n## Three", "## Three"),
        ("```python\n:::{x}\n```", "```python\n:::{x}\n```"),
        (
            ":::{admonition} Mind\n:class: tip\nA $a\n= b$ is\nlong.\n\n$$\na\n$$\n:::",
            "> **Mind**\n>\n> A $a = b$ is long.\n>\n> $$ a $$",
        ),
        (
            ":::{admonition} Hint\n:class: dropdown\nAdd\nthem.\n:::",
            "<details>\n<summary>Hint</summary>\n\nAdd\nthem.\n\n</details>",
        ),
    ],
)
def test_a_mark_becomes_plain(book, source, expected):
    assert written(book, source) == expected


def test_sources_are_cited_linked_and_listed(book):
    source = "{cite:t}`ba2016` {cite:p}`meta,knuth` {sourced}`50,257 <ba2016>`"
    found = written(book, source)
    said, _, listed = found.partition("\n\n## Sources")
    assert said == (
        "[Ba et al. (2016)](https://arxiv.org/abs/1607.06450) "
        "([Meta, 2024](https://example.org/card); [Knuth, 1994](#Sources)) "
        '[50,257](https://arxiv.org/abs/1607.06450 "Ba et al., 2016")'
    )
    lines = listed.splitlines()[2:]
    assert len(lines) == 3
    assert "<https://example.org/card>" in listed
    assert "Donald Knuth" in listed


def test_a_solution_is_folded_from_cell_to_cell(book):
    solution = "```{solution-start} ex-two\n:label: sol-two\n:class: dropdown\n```\n"
    printed = v4.new_output("stream", text="2 ``\n")
    end = "Then.\n```{solution-end}\n```\n\n## After"
    root = book(
        "02_two",
        v4.new_markdown_cell(f"# Two\n\n{START}\n{solution}First.", id="a"),
        v4.new_code_cell("1 + 1", id="b", outputs=[printed]),
        v4.new_markdown_cell(end, id="c"),
    )
    found = nbformat.reads(plain_edition("", root)["02_two.ipynb"], as_version=4).cells
    assert [cell.id for cell in found] == ["a", "a-2", "a-3", "c", "c-2"]
    sources = [cell.source for cell in found]
    assert sources[1] == "### Exercise 2.1: Do\n\nDo."
    assert sources[2] == "# Your answer to exercise 2.1"
    assert sources[3] == (
        "<details>\n<summary>Solution of exercise 2.1</summary>\n\nFirst.\n\n"
        "```python\n1 + 1\n```\n\n```text\n2 ``\n```\n\nThen.\n\n</details>"
    )
    assert sources[4] == "## After"


def test_a_solution_that_is_not_closed_is_refused(book):
    text = f"# Two\n\n{START}\n```{{solution-start}} ex-two\n```\nSo."
    root = book("02_two", v4.new_markdown_cell(text))
    with pytest.raises(NotPlain, match=r"exercise 2\.1: the solution is not closed"):
        plain_edition("", root)
    text = f"# Two\n\n{START}\n```{{solution-end}}\n```"
    with pytest.raises(NotPlain, match="a solution ends that has not begun"):
        plain_edition("", book("02_two", v4.new_markdown_cell(text)))


@pytest.mark.parametrize(("inside", "ticks"), [("a", 3), ("`a`", 3), ("```a", 4)])
def test_a_fence_is_longer_than_what_it_holds(inside, ticks):
    fence = "`" * ticks
    assert fenced(inside, "text") == f"{fence}text\n{inside}\n{fence}"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{unknown}`x`", r"the role 'unknown' is not known: {unknown}`x`"),
        (":::{note}\nx\n:::", "the directive 'note' is not known"),
        (":::{admonition} x\ny", "':::{admonition} x' is not closed"),
        ("$$\na\n", r"the formula '\$\$' is not closed"),
        ("{numref}`fig-none`", "there is no label 'fig-none'"),
        ("{term}`nothing`", "the glossary has no term 'nothing'"),
        ("{cite:p}`nobody`", "references.bib has no 'nobody'"),
        ("[x](03_none.ipynb)", "leads to no notebook"),
        ("[x](01_one.ipynb#none)", "leads to no heading and no label"),
        ("a {{ b }}", "no mark of MyST to be left; got 'a {{ b }}'"),
    ],
)
def test_what_is_not_known_is_named_with_its_cell(book, source, said, tmp_path):
    root = book("02_two", v4.new_markdown_cell(f"# Two\n\n{source}", id="it"))
    with pytest.raises(NotPlain, match=f"02_two.ipynb, cell 'it': .*{said}"):
        plain_edition("", root)


def test_two_labels_of_one_name_are_refused(book):
    root = book("02_two", v4.new_markdown_cell("(check-one)=\n# Two", id="it"))
    with pytest.raises(NotPlain, match="the label 'check-one' stands twice"):
        plain_edition("", root)


@pytest.mark.parametrize("path", sorted((ROOT / "schematics").glob("*.svg")), ids=str)
def test_a_drawing_becomes_a_picture_without_its_variables(path):
    from matplotlib.image import imread

    pixels = imread(BytesIO(pictures.png(path)))
    assert (pixels[..., 3] == 1).all()
    assert (pixels[0, 0, :3] == 1).all()
    shown = len({tuple(row) for row in pixels[::3, ::3, :3].reshape(-1, 3)})
    assert shown > 10


SOLVED = "```{solution-start} ex-two\n```\nSo."


@pytest.mark.parametrize("used", ["a + 1", "[b for b in (a,)]", "def f(): return a"])
def test_what_only_a_solution_makes_is_used_nowhere_else(book, used):
    def chapter(*after):
        solution = v4.new_code_cell("import os as a")
        end = v4.new_markdown_cell("```{solution-end}\n```")
        codes = [v4.new_code_cell(code, id=f"code-{i}") for i, code in enumerate(after)]
        cells = [v4.new_markdown_cell(START + SOLVED), solution, end, *codes]
        return book("02_two", v4.new_markdown_cell("# Two"), *cells)

    with pytest.raises(NotPlain, match="cell 'code-0': uses a as a solution leaves it"):
        plain_edition("", chapter(used))
    assert plain_edition("", chapter("a = 1", used))
