"""Several mistakes at once: found by their pieces, and never where there are none."""

import itertools
import math

import pytest
import torch

from mygpt import check
from mygpt.check import TASKS, combine, shrink
from mygpt.check.combine import changes_of, in_turn, of_one_part
from mygpt.check.reference import (
    Part,
    Reference,
    build,
    in_one_sentence,
    laid_over,
    places,
)


@pytest.fixture(autouse=True)
def in_little_time(monkeypatch, without_lines):
    """Inputs hardly shrink, and a busy machine has time for all combinations."""
    monkeypatch.setattr(shrink, "TRIES", 2)
    monkeypatch.setattr(combine, "SECONDS", math.inf)


# The model


def bent(x, *, slope=1, power=1):
    return slope * x**power


def shifted(x, *, inner=bent, shift=0):
    return inner(x) + shift


INNER = Reference(bent, "[slope] the slope\nsteep = 2: the slope is 2")
OUTER = Reference(
    shifted,
    "[shift] the shift\nup = 1: 1 is added",
    parts=[Part(INNER, "inner", "in the curve")],
    forms={"": {}, "squared": {"inner": {"power": 2}}},
)


def test_a_whole_has_the_changes_of_its_parts():
    own, inside = OUTER.changes()
    assert (own.name, own.word) == ("up", "the shift")
    assert inside.text == "the slope is 2 (in the curve)"
    assert inside.word == "the slope in the curve"
    assert places(inside.pieces) == {("inner", "slope")}


def test_a_change_is_made_in_every_form():
    both = [OUTER.mistake(*OUTER.changes(), form=form) for form in OUTER.forms]
    assert [each.program(3) for each in both] == [7, 19]
    assert both[0].name == "up+steep"


def test_the_pieces_around_a_program_change_what_goes_in_and_out():
    program = build(bent, {"given": lambda x: (x + 1,), "result": abs, "slope": -1})
    assert program(1) == 2
    assert build(bent, {"whole": lambda x: 5, "result": lambda y: -y})(1) == -5


def test_what_lies_over_a_form_replaces_its_pieces():
    under = {"act": {"whole": bent, "slope": 2}}
    assert laid_over(under, {"act": {"slope": 3}})["act"] == {"whole": bent, "slope": 3}
    assert laid_over(under, {"act": torch.relu}) == {"act": torch.relu}


def test_sentences_are_joined():
    assert in_one_sentence(["a"]) == "a"
    assert in_one_sentence(["a", "b"]) == "a, and also b"
    assert in_one_sentence(["a", "b", "c"]) == "a; b; and also c"


# The order in which combinations are tried


def test_the_first_change_of_each_piece_comes_first():
    changes = [[each] for each in changes_of(TASKS["layer_norm"])]
    first = [each.name for (each,) in in_turn(changes)][:4]
    assert first == [
        "variance-over-n-minus-one",
        "eps-outside-the-root",
        "eps-forgotten",
        "wrong-axis",
    ]


def test_what_lies_in_one_part_is_told():
    inside = [each for each in changes_of(TASKS["block"]) if "first norm," in each.text]
    assert of_one_part(inside[:2])
    assert not of_one_part([inside[0], changes_of(TASKS["block"])[0]])


# Planted


PLANTED = [
    ("softmax", ["minus", "softmax-twice"]),
    ("cross_entropy", ["sum-for-mean", "no-minus"]),
    ("embedding", ["scaled", "position-added-twice"]),
    ("attention", ["no-mask", "no-scale", "keys-for-values"]),
    ("heads", ["no-output-bias", "scale-without-root", "heads-backwards"]),
    ("mlp", ["no-first-bias", "second-bias-subtracted", "silu"]),
    ("mlp", ["relu", "no-first-bias"]),
    ("gelu", ["no-half", "no-root-of-two"]),
    ("gelu_tanh", ["no-half", "square", "no-one"]),
    ("layer_norm", ["variance-over-n-minus-one", "eps-forgotten", "no-weight"]),
    ("layer_norm_gradient", ["no-mean-term", "swapped", "no-weight"]),
    ("wiring", ["no-first-residual", "no-second-norm", "mlp-subtracted"]),
    ("block", ["no-first-residual", "no-scale"]),
    ("block", ["no-mask", "relu"]),
    ("write_facts", ["mean-for-sum", "bias-positive", "second-transposed"]),
    ("gpt", ["no-positions", "relu"]),
    ("adamw_step", ["no-root", "uphill", "no-first-correction"]),
    ("train", ["zero-grad-forgotten", "evaluation-mode"]),
    ("evaluate", ["training-mode", "sum"]),
    ("evaluate", ["training-mode", "perplexity"]),
    ("top_k", ["one-too-many", "not-renormalised"]),
    ("top_p", ["last-one-missing", "least-likely"]),
    ("cached_step", ["positions-from-zero", "no-last-norm"]),
    ("generate", ["unlikeliest", "one-too-few"]),
    ("translate", ["prefix-kept", "cut-along-inputs"]),
    ("rotate", ["start-ignored", "whole-width", "backwards"]),
    ("ring", ["turn-added", "one-turn-too-late", "backwards"]),
    ("ring", ["same-part", "in-place"]),
    ("bpe_train", ["larger-pair", "ids-from-257"]),
    ("bpe_encode", ["lower-case", "ids-from-257", "from-the-right"]),
]


@pytest.mark.parametrize(("name", "mistakes"), PLANTED)
def test_two_and_three_mistakes_at_once_are_all_named(name, mistakes):
    task = TASKS[name]
    by_name = {change.name: change for change in reversed(changes_of(task))}
    for count in range(2, len(mistakes) + 1):
        planted = mistakes[:count]
        form = list(task.model.forms)[-1]
        mistake = task.model.mistake(*map(by_name.get, planted), form=form)
        result = getattr(check, name)(lambda *given, p=mistake.program: p(*given))
        assert set(result.mistake.split("+")) == set(planted)
        assert ", and also " in result.message or "; and also " in result.message


def test_of_two_explanations_the_one_with_fewer_changes_is_told():
    def plain(x, weight, bias, eps):
        x = x - x.mean(-1, keepdim=True)
        return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()

    assert check.layer_norm(plain).mistake == "no-weight-no-bias"


# Not planted


UNNAMED = [
    lambda y: 1.01 * y,
    lambda y: y + 0.01 * y.sin(),
    lambda y: y.tanh() + 0.3 * y.cos(),
    lambda y: y.round(decimals=1) + 0.017,
]
STRANGE = ["softmax", "attention", "heads", "mlp", "layer_norm"]


@pytest.mark.parametrize(
    ("name", "changed"), list(itertools.product(STRANGE, range(len(UNNAMED))))
)
def test_a_mistake_that_nothing_explains_gets_no_name(name, changed):
    right = TASKS[name].reference
    result = getattr(check, name)(lambda *given: UNNAMED[changed](right(*given)))
    assert not result.passed
    assert result.mistake is None


def test_results_without_information_get_no_name():
    """Always empty: also what two mistakes together give, which nobody made."""
    result = check.bpe_train(lambda words, num_merges: [])
    assert not result.passed
    assert result.mistake is None


def test_a_name_that_fits_the_probes_alone_is_not_told():
    task = TASKS["row_times_matrix"]
    listed = {mistake.name: mistake.program for mistake in task.mistakes}
    sizes = {probe.sizes["F"] for probe in task.probes}
    name, planted = next(iter(listed.items()))

    def nearly(x, W):
        return planted(x, W) if W.shape[1] in sizes else planted(x, W) - 1

    assert check.row_times_matrix(planted).mistake == name
    assert check.row_times_matrix(nearly).mistake != name
