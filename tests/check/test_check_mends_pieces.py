"""A piece of the right program in the place of the reader's."""

import ast

import pytest
import torch
from helpers.cells import edited
from helpers.tables import rows_of

from mygpt import check
from mygpt.check import order
from mygpt.check.mends.moves import apart, kept
from mygpt.check.mends.pieces import in_order, joined, named
from mygpt.check.mends.search import find_mend
from mygpt.check.mends.source import Edit, SourceText
from mygpt.check.mends.spellings import ADDED, Spelling, Written, is_pure
from mygpt.check.mends.trial import Trial
from mygpt.check.process.run import run_once
from mygpt.check.reference import Part, Reference
from mygpt.check.values import differ
from tools.mends.programs import task_of

# A right program, what is written instead of what; an edit, and its kind.
FOUND = rows_of("""
right/adamw_step_difference | decay if parameter.dim() >= 2 else 1 | decay
    | decay * (parameter.dim() >= 2) | what decays
right/attention_tril | math.sqrt(q.shape | math.sqrt(x.shape | W_Q.shape[-1] | the scale
right/bpe_encode_in_place | bytes(text, "utf-8") | map(ord, text)
    | list(text.encode("utf-8")) | the bytes
workbook/bpe_train | min(counts, key=lambda pair: (-counts[pair], pair))
    | max(counts, key=lambda pair: (counts[pair], pair))
    | lambda pair: (-counts[pair], pair), default=None) | the choice
right/evaluate_finally | sum(weighted) / sum(sizes) | sum(losses) / len(losses)
    | zip(losses, batches) | the mean
workbook/generate | logits, cache = | logits, other = | cache | the cache
right/top_p_cumsum | sum(dim=-1) - probabilities | sum(dim=-1)
    | probabilities.cumsum(dim=-1) - probabilities | the sum
right/top_k_threshold | torch.where(logits >= smallest, logits, float("-inf"))
    | logits * (logits >= smallest)
    | logits.masked_fill((logits >= smallest) == 0, float("-inf")) | the cut
""")


def trial_of(source, *texts):
    """A trial of a right program in which texts are replaced, and its pieces."""
    task, program = check.TASKS[task_of(source)], edited(source, *texts)
    result = order.check(task, program)
    trial = Trial(task, program, result.line, None, 60.0)
    return trial, Written(task, result.mistake)


@pytest.mark.parametrize(("source", "old", "wrong", "new", "kind"), FOUND)
def test_a_named_mistake_is_mended_by_what_a_right_program_has_there(
    source, old, wrong, new, kind
):
    trial, written = trial_of(source, old, wrong)
    assert written.named
    edits = [each for _, each in in_order(trial, written) if each.kind == kind]
    fitting = [edit for edit in edits if new in edit.new]
    assert any(trial.passes(trial.source, edit) for edit in fitting)


def test_two_named_mistakes_are_mended_together():
    trial, written = trial_of(
        "right/layer_norm_correction",
        *("dim=2", "dim=1"),
        *("torch.addcmul(bias, normal, weight)", "(normal + bias) * weight"),
    )
    assert written.several
    mend = next(filter(None, named(trial, written)))
    axes, affine = (edit.new for edit in mend.edits)
    assert axes in ("-1", "2")
    assert affine == "normal * weight + bias"


def test_a_mistake_without_a_name_is_found_among_all_pieces():
    letters = "map(ord, text.lower().replace(' ', ''))"
    trial, written = trial_of(
        "right/bpe_encode_in_place", 'bytes(text, "utf-8")', letters
    )
    assert not written.named
    edits = in_order(trial, written)
    assert any(edit.new == 'list(text.encode("utf-8"))' for _, edit in edits)


def test_find_mend_is_given_the_name():
    of_means = ("sum(weighted) / sum(sizes)", "sum(losses) / len(losses)")
    program, task = edited("right/evaluate_finally", *of_means), check.TASKS["evaluate"]
    mistake = order.check(task, program).mistake
    mend = find_mend(task, program, None, mistake=mistake)
    assert mend.edits[0].kind == "the mean"


def spellings(task):
    changes = task.model.changes() if task.model else ()
    texts = {text for change in changes for text in change.written}
    return [Spelling(text, "", 0) for text in sorted(texts) if "@" not in text]


@pytest.mark.parametrize("name", check.TASKS)
def test_every_spelling_is_one_statement_that_changes_nothing(name):
    for spelling in spellings(check.TASKS[name]):
        filled = spelling.text.format(**dict.fromkeys(spelling.holes, "len"))
        (statement,) = ast.parse(filled.removeprefix(ADDED)).body
        assert spelling.is_line or is_pure(statement.value), spelling.text


@pytest.mark.parametrize("name", check.TASKS)
def test_no_spelling_is_the_whole_answer(name):
    task = check.TASKS[name]
    header = f"lambda {', '.join(task.arguments)}: "
    for spelling in spellings(task):
        if spelling.is_line or spelling.is_statement:
            continue
        if not set(spelling.holes) <= set(task.arguments):
            continue
        filled = spelling.text.format(**{hole: hole for hole in spelling.holes})
        program = eval(header + filled, {"torch": torch})
        arguments = task.arguments_of(task.probes[0])
        given = [
            run_once(task, each, arguments, torch.float64)
            for each in (task.reference, program)
        ]
        assert differ(*given, task.tolerance), spelling.text


def test_sources_belong_to_a_piece_or_to_one_of_its_changes():
    def program(x, *, power=2):
        return x**power

    rows = "[power] the power = {x} ** 2", "first = 1: a", "third = 3: b", "= 2 | 3"
    model = Reference(program, "\n".join(rows))
    found = {change.name: change.written for change in model.changes()}
    assert found == {"first": ["{x} ** 2"], "third": ["2", "3"]}
    whole = Reference(
        lambda x, *, of=program: of(x), parts=[Part(model, "of", "in it")]
    )
    assert {change.name: change.written for change in whole.changes()} == found


def function(text):
    return SourceText(text), ast.parse(text).body[0]


def applied(text, changes):
    return [text[:start] + new + text[end:] for start, end, new in changes]


def test_what_a_round_makes_is_kept_for_the_next():
    text = "def f(x):\n    for w in x:\n        y = g(x, w)\n    return y\n"
    made = applied(text, kept(*function(text)))
    assert text.replace("y = g", "x = y = g") in made
    assert text.replace("g(x", "g(y") in made
    both = text.replace("y = g", "a, y = g")
    assert both.replace("a, y", "a, x") in applied(both, kept(*function(both)))


def test_what_is_returned_is_kept_apart():
    text = "def f(m, v):\n    m = m / 2\n    v /= 3\n    return m / v, m, v\n"
    (both, *_) = applied(text, apart(*function(text)))
    made = {}
    exec(both, made)
    assert made["f"](8, 9) == (4 / 3, 8, 9)
    assert list(apart(*function("def f(m):\n    m = 1\n    return m\n"))) == []


def test_edits_of_two_kinds_are_joined_but_not_where_they_overlap():
    edits = [
        Edit(0, 1, "x\ny", 1, "a", 0.2),
        Edit(4, 5, "2", 1, "b", 0.1),
        Edit(0, 5, "3", 1, "b", 0.0),
    ]
    ((first, second),) = joined(edits, SourceText("a + b"))
    assert second.applied(first.applied("a + b")) == "x\ny + 2"
    assert second.line == 2
