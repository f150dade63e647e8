"""The page of claims: its table says what its sections find."""

import re
from functools import cache

import nbformat

from tools.execute import chosen
from tools.prose import slug

(PAGE,) = chosen(["claims"])
NOTEBOOK = nbformat.read(PAGE, as_version=4)
ROW = re.compile(
    r"\| \[(?P<claim>[^|]+)\]\(#(?P<anchor>.+?)\) \| \*\*(?P<verdict>[^|]+)\*\* "
    r"\| (?P<measured>[^|]+) \(\[chapter (?P<number>\d+)\]"
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
        assert int(row["file"].split("_")[0]) == int(row["number"])
