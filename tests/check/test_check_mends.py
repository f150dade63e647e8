"""The sets of wrong programs, and what `make mends` counts of them."""

import functools
import json
import operator
from collections import Counter

import pytest
import torch
from helpers.tables import rows_of

from mygpt import check
from mygpt.check.mends.edits import edits_of
from mygpt.check.mends.source import EditableSource
from mygpt.check.task import NO_HINTS
from mygpt.check.values import Submission
from tools.mends import __main__ as mends
from tools.mends import inputs
from tools.mends.judge import Verdict, is_named, is_right, judge
from tools.mends.programs import (
    FOLDER,
    StoredEdit,
    Wrong,
    edited,
    family,
    function_of,
    is_program,
    load,
    right_sources,
    task_of,
    text_of,
)

HALVES = ("open", "held")
OPEN = load("open")
# tasks that came after these sets were drawn
YOUNGER = {"write_facts", "translate", "rotate", "ring"}
FEW = range(40)


def test_every_task_has_right_programs_of_four_styles_or_more():
    counts = Counter(task_of(source) for source in right_sources())
    assert counts.keys() == check.TASKS.keys()
    assert min(counts.values()) >= 4


@pytest.mark.parametrize("name", [*HALVES, "pairs"])
def test_every_edit_applies_and_leaves_another_program(name):
    programs = load(name)
    assert len(programs) == (150 if name == "pairs" else 250)
    for wrong in programs:
        assert is_program(wrong.text)
        assert wrong.text != text_of(wrong.source)
        assert len(set(wrong.lines)) == (2 if name == "pairs" else 1)


def test_no_program_stands_in_two_sets():
    texts = [wrong.text for name in (*HALVES, "pairs") for wrong in load(name)]
    assert len(set(texts)) == len(texts)


def test_no_pair_has_a_change_that_is_held_out():
    rows = {
        name: map(
            json.loads, (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
        )
        for name in ("held", "pairs")
    }
    changes = {
        name: {(row["source"], *edit.values()) for row in some for edit in row["edits"]}
        for name, some in rows.items()
    }
    assert not changes["held"] & changes["pairs"]


def test_no_operator_and_no_task_has_too_large_a_share():
    programs = [wrong for name in HALVES for wrong in load(name)]
    operators = Counter(family(each) for wrong in programs for each in wrong.operators)
    assert max(operators.values()) <= 0.20 * len(programs)
    tasks = Counter(wrong.task for wrong in programs)
    assert tasks.keys() == check.TASKS.keys() - YOUNGER
    assert max(tasks.values()) <= 0.08 * len(programs)


@pytest.mark.parametrize("name", [one for one in check.TASKS if one not in YOUNGER])
def test_a_wrong_program_gives_something_else_on_a_probe(name):
    task = check.TASKS[name]
    wrong = next(wrong for wrong in OPEN if wrong.task == name)
    program = function_of(task, wrong.text)
    submission = Submission(task, program)
    assert submission.differences_from(submission.reference)


ROWS = "right/softmax_rows"
TOTAL = StoredEdit(8, 36, "sum", "mean", "?")


def test_lines_are_those_of_the_wrong_text_and_what_is_right_in_them():
    joined = StoredEdit(
        5, 10, " []\n    for row in scores:", " [x for x in\n []]\n    if 1:", "?"
    )
    shorter = StoredEdit(4, 19, ":\n    rows = []", ": rows = []", "?")
    wrong = edited("name", ROWS, [TOTAL, shorter])
    assert wrong.lines == (4, 7)
    assert wrong.text.splitlines()[6].endswith("powers.mean())")
    right = text_of(ROWS).splitlines()
    assert wrong.right == ("\n".join(right[3:5]), right[7])
    longer = edited("name", ROWS, [joined, TOTAL])
    assert longer.lines == (5, 9)
    assert longer.text.splitlines()[8].endswith("powers.mean())")


def test_an_edit_of_another_text_is_refused():
    with pytest.raises(ValueError, match="expected 'max' in line 7 of right/softmax"):
        edited("name", ROWS, [StoredEdit(7, 0, "max", "min", "?")])


def with_k(change):
    right = check.TASKS["top_k"].reference
    return lambda logits, k: right(logits, change(k))


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        (lambda k: k, True),
        (lambda k: 1 if k == 2 else k, False),
        (lambda k: 1 / 0 if k == 2 else k, False),
        (lambda k: torch.zeros(k)[10], False),
    ],
    ids=["right", "another number for one k", "an error for one k", "always an error"],
)
def test_a_difference_on_some_inputs_is_found(change, is_same):
    task = check.TASKS["top_k"]
    found = inputs.first_difference(task, with_k(change), task.reference, FEW)
    assert (found is None) == is_same


def test_a_program_that_never_ends_is_not_equivalent(monkeypatch):
    monkeypatch.setattr(inputs, "SECONDS", 0.05)

    def forever(x):
        while True:
            pass

    task = check.TASKS["gelu"]
    assert inputs.first_difference(task, forever, task.reference, FEW) == 0


@pytest.mark.parametrize("name", check.TASKS)
def test_the_inputs_are_right_for_the_books_program_and_differ(name):
    task = check.TASKS[name]
    given = [inputs.arguments_of(task, number) for number in range(5)]
    outcomes = [inputs.outcome_of(task, task.reference, each) for each in given]
    assert [outcome.error for outcome in outcomes] == [None] * 5
    again = inputs.outcome(task, task.reference, 0)
    assert not inputs.differ(task, outcomes[0], again)
    assert any(inputs.differ(task, outcomes[0], other) for other in outcomes[1:])


def test_a_mend_is_verified_against_the_right_program(monkeypatch):
    monkeypatch.setattr(inputs, "SECONDS", 0.2)
    wrong = edited("name", ROWS, [TOTAL])
    assert not is_right(wrong, wrong.text, FEW)
    assert is_right(wrong, text_of("right/softmax_reciprocal"), FEW)
    assert not is_right(wrong, "def softmax(scores:", FEW)
    assert not is_right(wrong, "while True:\n    pass", FEW)


def test_what_needs_single_precision_is_judged_in_it():
    start = "import torch\ndef row_times_matrix(x, W):\n"
    text = f"{start}    return x @ torch.eye(len(x)) @ W"
    wrong = Wrong("name", "row_times_matrix", text, (3,), ("",))
    assert is_right(wrong, text, FEW)
    assert not is_right(wrong, text.replace("x @", "2 * x @"), FEW)


def test_a_wrong_program_is_judged_in_a_file(monkeypatch):
    monkeypatch.setattr("tools.mends.judge.inputs_for", lambda task: FEW)
    source = "workbook/attention"  # which imports another file of the workbook
    edit = StoredEdit(9, 53, "1", "2", "NumberReplacer")
    verdict = judge(edited("name", source, [edit]))
    assert verdict.caught
    assert verdict.mistake == "mask-off-by-one-ahead"
    assert verdict.on_it
    assert verdict.mended


def test_verdicts_are_kept_but_not_one_that_was_cut_off(tmp_path):
    verdict = Verdict("a", "gelu", [], True, "value", None, 3, False, None, None, 0, 1)
    row = json.dumps({"key": "k", "verdict": vars(verdict)})
    path = tmp_path / "verdicts.jsonl"
    assert mends.kept(path) == {}
    path.write_text(f"{row}\n{row[:20]}")
    assert mends.kept(path) == {"k": verdict}


def test_what_is_held_out_is_opened_only_by_its_name():
    assert not {"held", "written_held"} & mends.chosen([]).keys()
    assert mends.chosen(["held"]).keys() == {"held"}
    few = mends.chosen(["open", "tenth"])["open"]
    assert 0 < len(few) < 60
    assert few == mends.chosen(["tenth"])["open"]
    with pytest.raises(ValueError, match=r"expected some of open, .*; got 'closed'"):
        mends.chosen(["closed"])


def test_a_table_counts_by_task_and_by_operator():
    wrongs = [edited(name, ROWS, [TOTAL]) for name in "ab"]
    verdicts = [
        Verdict(
            "a", "softmax", ["AddNot"], True, "value", "x", 8, True, True, True, 1, 2
        ),
        Verdict(
            "b", "softmax", ["AddNot"], True, "value", "y", 7, False, False, None, 1, 4
        ),
    ]
    lines = list(mends.report("open", wrongs, verdicts))
    for name in ("all", "softmax", "AddNot"):
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert line.split(maxsplit=2)[2].split("  ") != []
        assert line.count("1 (50.0 %)") == 4
    assert "left to the search: 1" in lines
    assert "found by it: 0" in lines
    assert "\nseconds to the verdict: 1.00 in the middle, 1.00 at most" in lines
    assert "seconds with the search: 3.00 in the middle, 4.00 at most" in lines
    assert lines[-2].startswith("falsely named: b right/softmax_rows:8: rows")
    assert lines[-1].startswith("not line, mended, either: b right/softmax_rows:8: ro")


def test_the_counts_of_a_set_are_stored_beside_those_of_others(tmp_path, monkeypatch):
    path = tmp_path / "last_run.json"
    monkeypatch.setattr(mends, "LAST_RUN", path)
    usual = ("gelu", [], True, "value", None, 3)
    named = Verdict("a", *usual, True, True, None, 1, 2, placed=True)
    found = Verdict("b", *usual, True, None, True, 1, 4)
    wrongly = Verdict("c", *usual, False, None, False, 3, 6)
    mends.store({"open": mends.summary([named, found, wrongly])})
    mends.store({"open tenth": mends.summary([named])})
    stored = json.loads(path.read_text())
    assert list(stored) == ["open", "open tenth"]
    assert stored["open"]["programs"] == 3
    assert stored["open"]["line"] == 66.7
    assert (stored["open"]["falsely named"], stored["open"]["falsely mended"]) == (0, 1)
    assert stored["open"]["left to the search"] == 2
    assert stored["open"]["found by it"] == 1
    assert stored["open"]["seconds with the search"] == 4
    assert stored["open tenth"]["left to the search"] == 0


def test_a_name_is_verified_on_inputs_apart():
    wrong = edited(
        "name", "workbook/attention", [StoredEdit(9, 53, "1", "2", "NumberReplacer")]
    )
    assert is_named(wrong, "mask-off-by-one-ahead", FEW)
    assert not is_named(wrong, "no-mask", FEW)
    assert is_named(wrong, "mask-off-by-one-ahead+no-such-name", FEW) is False


# What learners write and what one edit makes of it: a name, the arguments of a program,
# its lines, and the line or lines that are right.
EDITS = rows_of("""
a number for a counter | x, past | y = x[past:]; z = x[0] | z = x[past]
a slice that begins at 0 | x, past, n | y = x[past:]; z = x[:n] | z = x[past:past + n]
the wrong axis cut | x | y, z = x[:-1], x[1:] | y, z = x[:, :-1], x[:, 1:]
a whole axis | x | for t in range(3):;     y = x[:, 2] | y = x[: t + 1, 2]
a slice missing | x | for t in range(3): y = f(x) | y = f(x[: t + 1])
the size of another | x, y | n = x.shape[1]; z = y / n**0.5 | z = y / y.shape[-1]**0.5
a size not divided | x, h | n = x.shape[1] // h; m = n**-0.5 | m = (n // h)**-0.5
a range that begins at 0 | x, n, past | y = x[past:]; z = torch.arange(n); w = x[n:]
    | z = torch.arange(past, past + n)
a mask at the corner | x, n | y = x[n:]; m = torch.ones(4, 4).tril()
    | m = torch.ones(4, 4).tril(n)
a bound without the past | x, past | y = x[past:]; i = 1; j = 2; ok = j > i
    | ok = j > i + past
drawn, not the likeliest | x | y = torch.multinomial(x, num_samples=1)
    | y = x.argmax(-1, keepdim=True)
entries for axes | x | y = x.numel() >= 2 | y = x.dim() >= 2
one row for all | x | y = int(x[0].argmax()) | y = x.argmax(-1)
the larger of equal ones | x | y = max((n, pair) for pair, n in x.items())
    | y = min((-n, pair) for pair, n in x.items())
the first of equal ones | x | y = max(x, key=x.get)
    | y = min(x, key=lambda one: (-x[one], one))
equal ones turned round | x | y = sorted(x, key=lambda p: (x[p], p), reverse=True)
    | y = sorted(x, key=lambda p: (-x[p], p), reverse=False)
ties of the most common | x | y = x.most_common(1)[0][0]
    | y = min(x, key=lambda one: (-x[one], one))
words counted once | x | y = {w: list(w) for w in x}
    | y = {k: list(w) for k, w in enumerate(x)}
a set of words | x | y = set(x) | y = list(x)
characters | x | y = [ord(c) for c in x] | y = [c for c in x.encode("utf-8")]
characters mapped | x | y = map(ord, x) | y = x.encode("utf-8")
all words in one | x | y = [list(" ".join(x).encode())]
    | y = [list(one.encode()) for one in x]
a shallow copy | x | y = list(x) | y = [list(one) for one in x]
put first | x | x.insert(0, 1) | x.append(1)
the mean for the last | x | y = x.mean(dim=0) | y = x[-1]
eps beside a root | x | y = x.std(-1) + 1e-5 | y = (x.var(-1) + 1e-5).sqrt()
one maximum for all | x | y = torch.max(x) | y = x.amax(-1, keepdim=True)
a sum with the entry | x, p | y = x.cumsum(-1); z = y <= p | z = (y - x) < p
a sum before the factor | x, a, b | y = (x + a) * b | y = x * b + a
two lines in each other's place | x, a, b | y = x + a; z = y * b | y = x * b; z = y + a
a call around too much | x, W | y = gelu(x @ W) | y = gelu(x) @ W
a call a line too late | x, W | y = x @ W; z = gelu(y) | y = gelu(x) @ W; z = y
a cache that is not kept | x | cache = None; x, new = step(x, cache)
    | x, cache = step(x, cache)
a result in another name | x | for i in range(3): y = f(x) | x = y = f(x)
a loop that begins anew | x | y = x; for i in range(3): y = f(x) | y = f(y)
a cube of the wrong name | x | y = 3 * x; z = y * y * y | z = y * x * x
an argument without use | x, W, b | y = x @ W | y = x @ W + b
an entry without use | x, w | y = x @ w["W_O"] | y = x @ w["W_O"] + w["b_O"]
a sum without one | x, a | y = f(a); z = g(x) | z = g(x + y)
a share of each | x, h | n = 4 // h; y = 2 * n + x | 2 * n + x / h
a part that is not divided | x | y = x * 2; return y
    | return y / y.sum(-1, keepdim=True)
zeros for a mask | x, m | y = x * m | y = x.masked_fill(m == 0, float("-inf"))
a condition on the axes | x | y = x * 2 | y = x * 2 if x.dim() >= 2 else x
a statement for some | x | x *= 2 | if x.dim() >= 2: x *= 2
the first round | x | c = None; z = x; y = z[-1:] | y = x if c is None else z[-1:]
a loop that ends late | x | while True:;     if not x: break
    | if not x or max(x.values()) < 2: break
no sum with x | x | x = f(x) | x = x + f(x)
a maximum from 0 | x | y = 0 | y = float("-inf")
a sum begun once | x | y = 0; for i in range(2):;     y += i
    | for i in range(2):;     y = 0
a sum begun each time | x | for i in range(2):;     y = 0;     y += i
    | y = 0; for i in range(2):
a line before the loop | x, o | o.zero_grad(); for i in x:;     f(i)
    | for i in x:;     o.zero_grad()
once for again and again | x | if x > 1:;     x = x - 1 | while x > 1
a list that is replaced | x | found = []; for i in x:;     found = [i] | found.append(i)
one row's bound for all | x | y = x[0, -1] | y = x[:, -1, None]
counted from one | x, n | y = torch.arange(1, n + 1) | torch.arange(n)
the same entry each time | x | for i in range(2):;     y = x[-1] | y = x[i]
axes split in the other order | x, n | y = x.view(n, 4, 2)
    | y = x.view(4, n, 2).transpose(0, 1)
a mean that stays | x, s | y = x / s | (x - x.mean(-1, keepdim=True)) / s
two arguments exchanged | x, a, b | y = a * x; z = b + y; w = a - z
    | y = b * x; z = a + y; w = b - z
two keys exchanged | x, w | y = x @ w["W_Q"]; z = x @ w["W_K"]
    | y = x @ w["W_K"]; z = x @ w["W_Q"]
two norms exchanged | x, w | y = norm(x, w, "ln2"); z = norm(y, w, "ln1")
    | y = norm(x, w, "ln1"); z = norm(y, w, "ln2")
a state that is overwritten | m, b | m = m / b; p = 3 * m; return p, m
    | m_new = m / b; p = 3 * m_new; return p, m
a mode that is not given back | model
    | model.eval(); y = model(1); model.train(); return y
    | mode = model.training; model.eval(); y = model(1); model.train(mode)
rows for entries | x, y | t = y * len(x); n = len(x) | t = y * x.numel(); n = x.numel()
""")
HINTS = functools.reduce(
    operator.or_, (task.hints for task in check.TASKS.values()), NO_HINTS
)
KEYS = ["W_Q", "W_K", "W_O", "b_O", "ln1_weight", "ln2_weight"]


@pytest.mark.parametrize(
    ("names", "lines", "right"),
    [row[1:] for row in EDITS],
    ids=[row[0] for row in EDITS],
)
def test_an_edit_is_among_the_candidates(names, lines, right):
    body = lines.replace("; ", "\n    ")
    text = f"def program({names}):\n    {body}\n"
    wanted = right.replace("; ", "\n    ")
    assert wanted not in text
    source = EditableSource(text, "program.py")
    found = edits_of(source, {1, 2, 3, 4, 5}, KEYS, hints=HINTS)
    assert any(wanted in edit.applied(text) and edit.cost <= 2 for edit in found)


def test_a_function_that_is_never_called_is_a_candidate():
    text = "def cube(x):\n    return x**3\n\n\ndef program(x):\n    return x + 1\n"
    found = edits_of(EditableSource(text, "program.py"), {6}, [])
    assert any("return cube(x) + 1" in edit.applied(text) for edit in found)


def test_a_call_is_not_moved_into_a_starred_argument():
    text = "def program(x):\n    return zip(*(one.chunk(2) for one in x))\n"
    found = edits_of(EditableSource(text, "program.py"), {2}, [])
    assert any("for one in range(len(x))" in edit.applied(text) for edit in found)


@pytest.mark.parametrize("source", right_sources()[::4])
def test_every_candidate_is_a_text_that_differs(source):
    text = text_of(source)
    lines = set(range(1, text.count("\n") + 2))
    for edit in edits_of(EditableSource(text, "program.py"), lines, KEYS, lines):
        assert 0 <= edit.start <= edit.end <= len(text)
        assert edit.applied(text) != text
        assert 1 <= edit.cost <= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["open", "pairs", "written"])
def test_a_tenth_of_each_set_is_caught(name):
    programs = mends.chosen([name, "tenth"]).get(name, [])
    passed = [wrong.name for wrong in programs if not judge(wrong).caught]
    assert passed == []
