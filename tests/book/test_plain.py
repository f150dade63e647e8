"""The plain edition: no mark of MyST is left, every link leads somewhere."""

import re
from io import BytesIO
from itertools import pairwise

import nbformat
import pytest
from helpers.notebooks import (
    PATHS,
    ROOT,
    code,
    in_solutions,
    notebook,
    read,
    text,
    write,
)
from helpers.refusals import refused

from publish.plain import pictures
from publish.plain.__main__ import add_binder, plain_edition, put
from publish.plain.__main__ import write as write_edition
from publish.plain.marks import CODE, NotPlain, blocks
from publish.plain.notebook import links_nowhere
from publish.plain.text import fenced

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
        name.removesuffix(".ipynb"): nbformat.reads(content, as_version=4)
        for name, content in edition.items()
    }


@pytest.fixture
def book(tmp_path):
    """A book of two chapters, of which the first is written."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "glossary.md").write_text(GLOSSARY)
    (tmp_path / "pages" / "references.bib").write_text(BIB)
    toc = "root: intro\nparts:\n- chapters:\n"
    toc += "  - file: chapters/01_one\n  - file: chapters/02_two\n"
    (tmp_path / "_toc.yml").write_text(toc)

    write(tmp_path / "chapters" / "01_one.ipynb", text(FIRST, id="first"))

    def plain(*cells):
        """The cells that those of the second chapter become."""
        write(tmp_path / "chapters" / "02_two.ipynb", *cells)
        made = plain_edition("", tmp_path)["02_two.ipynb"]
        return nbformat.reads(made, as_version=4).cells

    return plain


START = "```{exercise-start} Do\n:label: ex-two\n```\nDo.\n```{exercise-end}\n```\n"
SOLVED, END = "```{solution-start} ex-two\n```\nSo.", "```{solution-end}\n```"


def written(book, source):
    """The cells that a text of chapter 2 becomes."""
    found = book(text(f"# Two\n\n{source}", id="it"))
    whole = "\n\n".join(cell.source for cell in found)
    return re.sub(r"<a id=[^>]*></a>", "", whole).removeprefix("# Two").strip()


# The whole book


def text_outside_code(notebook):
    for cell in notebook.cells:
        for block in blocks(cell.source) if cell.cell_type == "markdown" else ():
            whole = "\n".join([block.title, *block.lines])
            if block.kind == "directive":
                yield cell.id, f":::{{{block.name}}}"
            elif block.kind != "code":
                yield cell.id, CODE.sub("", whole)


@pytest.mark.parametrize("mark", MARKS)
def test_no_mark_of_the_sites_markdown_is_left(notebooks, mark):
    assert len(notebooks) == 24
    found = [
        (name, cell, match[0])
        for name, notebook in notebooks.items()
        for cell, outside in text_outside_code(notebook)
        for match in re.finditer(MARKS[mark], outside, re.M)
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
    linked = text("# One\n\n[a](#Two) [b](#One) [c](none.ipynb#One)")
    found = links_nowhere({"one": notebook(linked)})
    assert found == ["one: #Two", "one: none.ipynb#One"]


def test_code_and_outputs_are_those_of_the_book(notebooks):
    for path in PATHS:
        cells = read(path).cells
        solved = {cell.id for cell in in_solutions(cells)}
        stored = {cell.id: cell for cell in cells if cell.cell_type == "code"}
        made = notebooks[path.stem].cells
        codes = [cell for cell in made if cell.id in stored.keys() - solved]
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


def test_no_solution_is_seen_unasked(notebooks):
    """Each is one fold of text behind a cell for the answer; running all shows none."""
    found = 0
    for path in PATHS:
        texts = []
        for before, cell in pairwise(notebooks[path.stem].cells):
            if "<summary>Solution" not in cell.source:
                continue
            assert before.source.startswith("# Your answer to exercise ")
            fold = re.sub(r"\n\n(\[[\w-]+\]: data:\S+\n?)+$", "", cell.source)
            assert fold.startswith("<details>")
            assert fold.endswith("</details>")
            assert fold.count("<summary>Solution") == 1
            texts.append(fold)
        for cell in in_solutions(read(path).cells):
            (holder,) = (fold for fold in texts if cell.source in fold)
            for output in cell.outputs:
                assert output.get("text", "") in holder
        found += len(texts)
    assert found == 128


def test_second_readings_are_folded_behind_their_headings(notebooks):
    for name, made in notebooks.items():
        mark = "jp-MarkdownHeadingCollapsed"
        folded = [cell for cell in made.cells if cell.metadata.get(mark)]
        assert all(cell.source.startswith("## ") for cell in folded)
        further = (name[:2].isdigit() or name == "tensors") and name != "00_contents"
        assert bool(folded) == further
        assert all("\n" not in cell.source for cell in folded)
        ids = [cell.metadata.id for cell in folded]
        if name == "00_contents":
            continue
        assert made.metadata.colab.collapsed_sections == ids


def test_every_notebook_is_small(edition):
    assert max(len(content.encode()) for content in edition.values()) < 2e6


def test_a_second_run_changes_no_byte(edition, tmp_path):
    assert write_edition(edition, tmp_path) == 24
    (tmp_path / "mine.ipynb").write_text("{}")
    assert write_edition(plain_edition(FIRST_CELL), tmp_path) == 0
    assert (tmp_path / "mine.ipynb").exists()


def test_what_a_reader_has_changed_is_left(edition, tmp_path):
    assert put(edition, tmp_path) == []
    assert put(edition, tmp_path) == []
    mine, other = tmp_path / "05_feed_forward.ipynb", tmp_path / "06_activations.ipynb"
    mine.write_text("mine")
    other.unlink()
    later = {name: f"{content}\n" for name, content in edition.items()}
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
    for made in notebooks.values():
        for cell in made.cells:
            assert "attachments" not in cell
            shown = re.findall(r"!\[[^\]]{20,}\]\[([\w-]+)\]", cell.source)
            data = r"^\[([\w-]+)\]: data:image/png;base64,iVBOR"
            assert shown == re.findall(data, cell.source, re.M)
            found += len(shown)
    drawings = len(list((ROOT / "chapters" / "schematics").glob("*.svg")))
    assert found == drawings  # one is on the last page, and one solution has a figure


def test_the_contents_lead_to_every_notebook_in_the_books_order(notebooks):
    contents = notebooks["00_contents"].cells[0].source
    links = re.findall(r"\]\((\w+)\.ipynb\)", contents)
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
    end = "Then.\n```{solution-end}\n```\n\n## After"
    found = book(
        text(f"# Two\n\n{START}\n{solution}First.", id="a"),
        code("1 + 1", id="b", outputs=["2 ``\n"]),
        text(end, id="c"),
    )
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
    with pytest.raises(NotPlain, match=r"exercise 2\.1: the solution is not closed"):
        book(text(f"# Two\n\n{START}\n{SOLVED}"))
    with pytest.raises(NotPlain, match="a solution ends that has not begun"):
        book(text(f"# Two\n\n{START}\n{END}"))


@pytest.mark.parametrize(("inside", "ticks"), [("a", 3), ("`a`", 3), ("```a", 4)])
def test_a_fence_is_longer_than_what_it_holds(inside, ticks):
    fence = "`" * ticks
    assert fenced(inside, "text") == f"{fence}text\n{inside}\n{fence}"


test_what_is_not_known_is_named_with_its_cell = refused(
    lambda source, *, book: written(book, source),
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
    error=NotPlain,
    naming="02_two.ipynb, cell 'it': ",
)


def test_two_labels_of_one_name_are_refused(book):
    with pytest.raises(NotPlain, match="the label 'check-one' stands twice"):
        book(text("(check-one)=\n# Two", id="it"))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "chapters" / "schematics").glob("*.svg")), ids=str
)
def test_a_drawing_becomes_a_picture_without_its_variables(path):
    from matplotlib.image import imread

    pixels = imread(BytesIO(pictures.png(path)))
    assert (pixels[..., 3] == 1).all()
    assert (pixels[0, 0, :3] == 1).all()
    shown = len({tuple(row) for row in pixels[::3, ::3, :3].reshape(-1, 3)})
    assert shown > 10


@pytest.mark.parametrize("used", ["a + 1", "[b for b in (a,)]", "def f(): return a"])
def test_what_only_a_solution_makes_is_used_nowhere_else(book, used):
    solved = text("# Two"), text(START + SOLVED), code("import os as a"), text(END)
    with pytest.raises(NotPlain, match="cell 'code-0': uses a as a solution leaves it"):
        book(*solved, code(used, id="code-0"))
    assert book(*solved, code("a = 1"), code(used))
