"""What a reader is told of a mend."""

import pytest

from mygpt.check.mends.sentences import as_json, change, with_edit
from mygpt.check.mends.source import Edit, Mend
from mygpt.check.result import Result

TEXT = "def f(x):\n    x = x * 2\n    y = (x +\n         1)\n    return y\n"


def edit_of(old, new):
    start = TEXT.index(old)
    line = TEXT.count("\n", 0, start) + 1
    return Edit(start, start + len(old), new, line, "a kind", 1.0)


def mend_of(old, new, alone=True):
    edit = edit_of(old, new)
    return Mend(edit.applied(TEXT), (edit,), (TEXT,), alone)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("x * 2", "x * 3", "Line 2 is the only thing wrong: a kind."),
        ("x * 2\n    y = (x ", "x\n    y = (x -", "Lines 2 and 3 hold the only thing"),
        ("x * 2\n    y = (x +\n         1", "x\n    y = (x", "Lines 2 to 4 hold"),
        ("x = x * 2\n    y", "z = x * 2\n    y", "Line 2 is the only thing"),
    ],
)
def test_all_lines_that_an_edit_changes_are_told(old, new, told):
    found = as_json(mend_of(old, new))
    assert found["only"].startswith(told)
    assert found["line"] == 2


def test_a_line_is_only_probably_wrong_where_an_edit_of_another_passes():
    found = as_json(mend_of("x * 2", "x * 3", alone=False))
    assert found["only"] == "Probably line 2 is wrong: a kind."


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("a line missing above it", "A line is missing above line 3"),
        ("a line missing below it", "A line is missing below line 3"),
        ("a decorator missing above it", "A decorator is missing above line 3"),
        ("the mode", "A line is missing above line 3 (the mode)"),
    ],
)
def test_no_line_is_called_wrong_where_one_is_missing(kind, told):
    start = TEXT.index("    y =")
    edit = Edit(start, start, "    x = x + 1\n", 3, kind, 1.0)
    found = as_json(Mend(edit.applied(TEXT), (edit,), (TEXT,)))
    assert found["only"] == f"{told}, and nothing else is wrong."


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([("* 2", "* 3"), ("x = x", "z = x")], "`z = x * 3` in place of `x = x * 2`"),
        ([("x = x", "z = x"), ("* 2", "* 3")], "`z = x * 3` in place of `x = x * 2`"),
        (
            [("x * 2", "x"), ("= x\n", "= abs(x)\n")],
            "`x = abs(x)` in place of `x = x * 2`",
        ),
    ],
)
def test_two_edits_of_a_line_are_shown_as_one_of_the_readers_own(changes, told):
    texts, edits, text = [], [], TEXT
    for old, new in changes:
        start = text.index(old)
        texts.append(text)
        edits.append(Edit(start, start + len(old), new, 2, "a kind", 1.0))
        text = edits[-1].applied(text)
    found = as_json(Mend(text, tuple(edits), tuple(texts)))
    assert found["edit"] == f"With {told} it passes everything."


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("x * 2", "x * 3", "with `x = x * 3` in place of `x = x * 2`"),
        ("\n    return", "\nreturn", "with `return y` in line 5 indented by 0, not 4"),
        (
            "2\n    y = (x +",
            "3\n    y = (x -",
            "with `x = x * 3` in place of `x = x * 2` and "
            "with `y = (x -` in place of `y = (x +`",
        ),
    ],
)
def test_an_edit_of_several_lines_is_shown_line_by_line(old, new, told):
    assert change(TEXT, edit_of(old, new)) == told


@pytest.mark.parametrize(
    ("tries", "asked", "told"),
    [
        (1, False, []),
        (1, True, ["Look for it first"]),
        (2, False, ["--mend shows an edit"]),
        (2, True, ["the edit itself"]),
    ],
)
def test_the_edit_is_offered_after_a_second_failed_try(tries, asked, told):
    result = Result("gelu", False, mend="a source", edit="the edit itself")
    hints = with_edit(result, tries, "--mend", asked).hints
    assert len(hints) == len(told)
    assert all(part in hint for part, hint in zip(told, hints, strict=True))
    assert with_edit(Result("gelu", False), tries, "--mend", asked).hints == []


def test_a_line_that_is_only_likely_is_told_as_such():
    assert "  where     probably line 3" in str(Result("gelu", False, where="line 3"))
    told = str(Result("gelu", False, where="no tensor of yours is x (line 3)"))
    assert "probably" not in told
