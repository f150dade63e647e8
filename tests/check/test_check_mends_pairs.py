"""Two edits: which first ones bring a program nearer, and what is left to edit then."""

from dataclasses import replace

import pytest
import torch

from mygpt import check
from mygpt.check.mends.pairs import mend_of, right_share
from mygpt.check.mends.sentences import as_json
from mygpt.check.mends.shift import Shift
from mygpt.check.mends.source import Edit, EditableSource, Mend, SourceText
from mygpt.check.mends.tensor_signs import Progress
from mygpt.check.mends.trial import Trial
from mygpt.check.process.child import load
from mygpt.check.process.run import run_once

TEXT = """def attention(x, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    T, D = q.shape[1:]
    scores = q @ k.mT * D**0.5
    mask = torch.ones(T, T).tril()
    scores = scores.masked_fill(mask == 0, float("-inf"))
    return scores.softmax(1) @ v
"""


def edit_of(old, new, text=TEXT):
    start = text.index(old)
    line = text.count("\n", 0, start) + 1
    return Edit(start, start + len(old), new, line, "a kind", 1.0)


def attention_with(*edits):
    text = TEXT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    source = EditableSource(text, "attention.py")
    return source.program("attention", {"torch": torch}, None)


@pytest.fixture(scope="module")
def way():
    task = check.TASKS["attention"]

    def run(program, probe):
        given = task.arguments_of(task.probes[probe])
        return run_once(task, program, given, torch.float64)

    return Progress(task, attention_with(), 0, torch.float64, run)


@pytest.mark.parametrize(
    ("old", "new", "nearer"),
    [
        ("* D**0.5", "/ D**0.5", True),
        ("* D**0.5", "- D**0.5", False),
        ("* D**0.5", "", False),  # what is not done is not done wrongly
        ("softmax(1)", "softmax(-1)", False),  # of scores that are wrong still
        ("x @ W_K", "x @ W_Q", False),
        ("tril()", "missing()", False),
    ],
)
def test_an_edit_is_nearer_if_it_makes_more_of_what_is_right(way, old, new, nearer):
    gain, _ = way.of(attention_with((old, new)))
    assert (gain > 0) == nearer


def test_an_edit_is_nearer_in_whatever_layout(way):
    turned = ("q @ k.mT * D**0.5", "(k @ q.mT / D**0.5).mT")
    assert way.of(attention_with(turned))[0] > 0


def test_two_edits_that_do_the_same_are_told_by_their_tensors(way):
    pairs = [("D**0.5", "D**1"), ("D**0.5", "D"), ("D**0.5", "D**2")]
    signs = [way.of(attention_with(pair))[1] for pair in pairs]
    assert signs[0] == signs[1] != signs[2]


def test_a_program_that_never_ends_is_left(way):
    def endless(x, W_Q, W_K, W_V):
        while True:
            x = x + 1

    assert way.of(endless)[0] == 0


@pytest.mark.parametrize(
    ("wanted", "got", "share"),
    [
        (torch.ones(2, 2), torch.tensor([[1.0, 1], [1, 0]]), 0.75),
        (torch.ones(2, 2), torch.ones(4), 0.0),
        ({"dx": torch.ones(8), "dy": torch.ones(1)}, {"dx": torch.zeros(8)}, 0.0),
        ((torch.ones(8), torch.ones(1)), (torch.zeros(8), torch.ones(1)), 0.5),
        ([1, 2, 3, 4], [1, 2, 4], 0.5),
        ("paris", "pairs", 0.6),
        ({"loss": 1.5, "training": True}, {"loss": 1.5, "training": False}, 0.5),
        ([], [], 0.0),
        (True, 1, 0.0),
        (1.5, None, 0.0),
    ],
)
def test_each_part_of_a_result_counts_the_same(wanted, got, share):
    assert right_share(wanted, got) == pytest.approx(share)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("* D**0.5", "/ D**0.5"), ("softmax(1)", "softmax(-1)")),
        (("* D**0.5", "/ D**0.5"), ("x @ W_K", "x @ W_Q")),
        (("    mask = torch.ones(T, T).tril()\n", ""), ("softmax(1)", "softmax(-1)")),
        (("    T, D", "    T = 3\n    T, D"), ("softmax(1)", "softmax(-1)")),
        (("    T, D", "    T = 3\n    T, D"), ("x @ W_K", "x @ W_Q")),
    ],
)
def test_an_edit_elsewhere_stays_the_same_after_another(first, second):
    one = edit_of(*first)
    shift = Shift(SourceText(TEXT), one)
    moved = shift.elsewhere(edit_of(*second))
    assert moved == edit_of(*second, text=one.applied(TEXT))
    assert shift.before(moved) == edit_of(*second)


def test_an_edit_of_an_edit_is_none_without_it():
    first = edit_of("* D**0.5", "/ D**0.5")
    after = first.applied(TEXT)
    shift = Shift(SourceText(TEXT), first)
    assert shift.before(edit_of("/ D", "* D", after)) is None


def test_a_first_edit_that_is_not_needed_is_not_told(tmp_path):
    path = tmp_path / "attention.py"
    text = f"import torch\n{TEXT.replace('* D', '/ D')}"
    path.write_text(text)
    trial = Trial(check.TASKS["attention"], load(path).attention, None, None, 60.0)
    first = edit_of("x @ W_Q", "1 * x @ W_Q", text)
    second = edit_of("softmax(1)", "softmax(-1)", first.applied(text))
    mend = mend_of(trial, first, second)
    assert mend.edits == (edit_of("softmax(1)", "softmax(-1)", text),)


def test_an_edit_in_a_line_that_is_changed_is_another():
    change = Shift(SourceText(TEXT), edit_of("* D**0.5", "/ D**0.5"))
    assert change.elsewhere(edit_of("k.mT", "k.T")) is None
    assert change.line(4) is None


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("a kind", "Probably line 4 is wrong, in two places: a kind, twice."),
        ("a sign", "Probably line 4 is wrong, in two places: a kind and a sign."),
    ],
)
def test_two_edits_of_one_line_are_one_thing(kind, told):
    first = edit_of("* D**0.5", "/ D**0.5")
    text = first.applied(TEXT)
    second = replace(edit_of("k.mT", "v.mT", text), kind=kind)
    mend = Mend(second.applied(text), (first, second), (TEXT, text))
    assert as_json(mend)["only"] == told
