"""The page of claims: the table says what the sections find; each test says both."""

import ast
import re
import textwrap
from functools import cache

import nbformat
import pytest

from tools.execute import chosen
from tools.prose import slug

(PAGE,) = chosen(["claims"])
NOTEBOOK = nbformat.read(PAGE, as_version=4)
ROW = re.compile(
    r"\| \[(?P<claim>[^|]+)\]\(#(?P<anchor>.+?)\) \| \*\*(?P<verdict>[^|]+)\*\* "
    r"\| (?P<measured>[^|]+) \(\[chapter (?P<number>\d+[a-z]?)\]"
    r"\((?P<file>.+)#(?P<section>.+)\)\) \|"
)
HEADING = re.compile(r"^(#{2,3}) (.+)$", re.MULTILINE)
WITHOUT_CLAIMS = {"All claims at a glance", "How a claim is decided", "Exercises"}


def table():
    (cell,) = (cell for cell in NOTEBOOK.cells if cell.id == "table")
    (output,) = cell.outputs
    return output.data["text/markdown"].splitlines()


ROWS = [found.groupdict() for line in table() if (found := ROW.fullmatch(line))]


@cache
def headings(path):
    """The headings of a notebook below its title, with their rank."""
    cells = nbformat.read(path, as_version=4).cells
    return [
        found
        for cell in cells
        if cell.cell_type == "markdown"
        for found in HEADING.findall(cell.source)
    ]


def below_each_heading():
    """The text of the page below each heading, and what the cells there print."""
    heading, found = "", {}
    for cell in NOTEBOOK.cells:
        if cell.cell_type == "markdown":
            for _, heading in HEADING.findall(cell.source):
                found[heading] = ""
        told = "".join(output.get("text", "") for output in cell.get("outputs", []))
        found[heading] = found.get(heading, "") + cell.source + "\n" + told
    return found


def test_the_table_has_each_claim_once_below_its_topic_and_nothing_else():
    lines = [found or line for line in table()[2:] for found in [ROW.fullmatch(line)]]
    assert [line if isinstance(line, str) else line["claim"] for line in lines] == [
        text if rank == "###" else f"| **{text}** |  |  |"
        for rank, text in headings(PAGE)
        if text not in WITHOUT_CLAIMS
    ]


def test_the_page_keeps_to_thirty_claims():
    assert 0 < len(ROWS) <= 30


def test_a_line_gives_the_verdict_and_the_numbers_that_its_section_prints():
    below = below_each_heading()
    for row in ROWS:
        told = " ".join(below[row["claim"]].split())
        assert f" {row['verdict']} {row['measured']} " in told


def test_a_line_leads_to_its_section_and_both_lead_to_one_that_a_chapter_has():
    below = below_each_heading()
    for row in ROWS:
        assert row["anchor"] == slug(row["claim"])
        names = {slug(text) for _, text in headings(PAGE.parent / row["file"])}
        assert row["section"] in names, row
        assert f"]({row['file']}#" in below[row["claim"]], row
        assert row["file"].split("_")[0].removeprefix("0") == row["number"]


class Page:
    """What `claim` needs of the page: a display that keeps what it is shown."""

    def update(self, shown):
        self.shown = shown


@pytest.fixture
def claim():
    """The page's own function, and the rows that it adds to."""
    (cell,) = (cell for cell in NOTEBOOK.cells if cell.id == "claim")
    names = {"rows": [], "table": Page(), "Markdown": str, "textwrap": textwrap}
    exec(compile(cell.source, "claim", "exec"), names)
    return names["claim"], names["rows"]


GOOD, BAD = [True, True], [True, False]
CHAPTER = "03_attention.ipynb#a-section"


@pytest.mark.parametrize(
    ("holds", "settings", "verdict"),
    [
        (GOOD, {"planted": [BAD]}, "true"),
        (BAD, {"planted": [GOOD]}, "false"),
        (BAD, {"planted": [GOOD], "when": "it is wet"}, "false"),
        (GOOD, {"otherwise": [BAD, BAD], "when": "it is wet"}, "true when it is wet"),
    ],
)
def test_the_results_decide_a_verdict(claim, capsys, holds, settings, verdict):
    decide, rows = claim
    decide("It is so", holds, "by 3", CHAPTER, **settings)
    assert capsys.readouterr().out.splitlines() == [verdict, "   by 3"]
    assert rows == [
        f"| [It is so](#it-is-so) | **{verdict}** | by 3 ([chapter 3]({CHAPTER})) |"
    ]


@pytest.mark.parametrize(
    ("holds", "settings"),
    [
        (GOOD, {}),
        (BAD, {}),
        (GOOD, {"planted": [GOOD]}),
        (BAD, {"planted": [BAD]}),
        (BAD, {"planted": [GOOD, BAD]}),
        (GOOD, {"otherwise": [BAD, GOOD], "when": "it is wet"}),
        (BAD, {"otherwise": [BAD], "when": "it is wet"}),
    ],
)
def test_a_test_that_never_says_the_opposite_is_refused(claim, holds, settings):
    decide, rows = claim
    with pytest.raises(ValueError, match="a case in which it says the opposite"):
        decide("It is so", holds, "by 3", CHAPTER, **settings)
    assert rows == []


def calls():
    """Each call of `claim` on the page but the exercise's, with its keywords."""
    for cell in NOTEBOOK.cells:
        if cell.cell_type == "code" and not cell.id.startswith("solution"):
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "claim":
                    yield node.args[0].value, {one.arg for one in node.keywords}


def test_each_claim_has_a_case_with_the_opposite_answer():
    assert [text for text, _ in calls()] == [row["claim"] for row in ROWS]
    for row, (_, keywords) in zip(ROWS, calls(), strict=True):
        by_condition = row["verdict"].startswith("true when")
        assert ("otherwise" if by_condition else "planted") in keywords, row
        assert by_condition == ("when" in keywords), row


DRAWN = (  # the claims whose cells draw random inputs, in several sizes
    *("linear", "order", "root", "collapse", "dead", "dies"),
    *("first-loss", "good-first", "gradient-halves"),
)


@pytest.mark.parametrize("name", DRAWN)
def test_inputs_are_drawn_in_more_than_one_size(name):
    cells = (cell for cell in NOTEBOOK.cells if cell.cell_type == "code")
    text = "\n".join(cell.source for cell in cells if cell.id.startswith(f"{name}-"))
    assert "randn" in text or "ids_of" in text or "thirty" in text
    assert re.search(r"for std in STDS|stds=\(|std=1\)|five\(6, 3\)", text)
