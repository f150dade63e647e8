import math
import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from helpers import node
from helpers.refusals import refused_settings

from mygpt.explorers.kit.numbers import mulberry32
from mygpt.explorers.sampling import widget
from mygpt.explorers.sampling.widget import Sampling
from mygpt.sampling import next_token_probabilities

TEMPERATURES = [0.1, 0.7, 1.0, 2.0]
TOP_PS = [0.01, 0.3, 0.5, 0.65, 0.93, 1.0]


def logit_rows():
    draw = np.random.default_rng(5)
    return {
        "two": [0.0, 0.0],
        "all equal": [1.5] * 4,
        "ties": [3.0, 1.0, 3.0, 1.0, -2.0, 1.0, 0.5],
        "rising": [-2.0, -1.0, 0.0, 1.0, 2.0],
        "many": draw.normal(0, 3, 60).tolist(),
        "rounded": draw.normal(0, 2, 17).round().tolist(),
        "far apart": [90.0, 0.0, -90.0],
    }


def names(count):
    return [f" t{i}" for i in range(count)]


def explorer(**settings):
    logits = logit_rows()["many"]
    return Sampling(logits, names(60), **settings)


def settings_of(V):
    top_ks = [k for k in (1, 2, 3, 5, 13, V) if k <= V]
    return product(TEMPERATURES, [*dict.fromkeys(top_ks), None], TOP_PS)


def every_case():
    for row in logit_rows().values():
        one = Sampling(row, names(len(row)))
        for temperature, top_k, top_p in settings_of(len(row)):
            one.temperature, one.top_k, one.top_p = temperature, top_k, top_p
            yield one


PAGE = {"* as m": "sampling/distribution", "{ mulberry32 }": "kit/numbers"}
in_node = partial(node.in_node, imports=PAGE)


def test_python_and_the_page_compute_the_package_s_probabilities(tmp_path):
    cases, expected = [], []
    for one in every_case():
        logits = np.frombuffer(one.data, "<f4").astype(np.float64)
        case = [logits.tolist(), one.temperature, one.top_k, one.top_p]
        cut = one.temperature, one.top_k, None if one.top_p == 1 else one.top_p
        right = next_token_probabilities(torch.from_numpy(logits)[None], *cut)[0]
        found = one.probabilities()
        np.testing.assert_array_equal(found > 0, right.numpy() > 0, err_msg=str(case))
        np.testing.assert_allclose(found, right, atol=1e-14, err_msg=str(case))
        cases.append(case)
        expected.append([found, one.share(), one.entropy()])
    assert len(cases) > 500
    script = """given.map(([logits, temperature, topK, topP]) => {
        const found = m.distribution(logits, { temperature, topK, topP });
        const { probabilities, share, kept } = found;
        return [probabilities, share, m.entropy(probabilities), kept];
    })"""
    found = in_node(script, cases, tmp_path)
    for case, page, python in zip(cases, found, expected, strict=True):
        probabilities, share, bits, kept = page
        assert [p > 0 for p in probabilities] == (python[0] > 0).tolist(), case
        assert kept == (python[0] > 0).tolist() or min(case[0]) == -90, case
        np.testing.assert_allclose(probabilities, python[0], atol=1e-14)
        assert [share, bits] == pytest.approx(python[1:], abs=1e-12), case


def test_the_page_draws_the_same_tokens(tmp_path):
    one = explorer(temperature=1.7, top_k=23, top_p=0.9, seed=2**32 - 2, draws=997)
    ids = one.drawn()
    assert len(ids) == 997
    assert len(set(ids)) > 5
    given = [one.probabilities().tolist(), mulberry32(one.seed, one.draws)]
    script = """[m.drawCounts(...given), (() => {
        const next = mulberry32(4294967294);
        return given[1].map(next);
    })()]"""
    counts, numbers = in_node(script, given, tmp_path)
    assert counts["counts"] == np.bincount(ids, minlength=60).tolist()
    assert counts["last"] == ids[-1]
    assert numbers == given[1]


def test_the_generator_gives_its_known_numbers():
    first = [0.26642920868471265, 0.0003297457005828619, 0.2232720274478197]
    assert mulberry32(0, 3) == first


def test_draws_are_repeated_and_follow_the_probabilities():
    one = explorer(draws=10_000, seed=7)
    assert one.drawn() == one.drawn()
    shares = np.bincount(one.drawn(), minlength=60) / 10_000
    np.testing.assert_allclose(shares, one.probabilities(), atol=0.02)
    first = one.drawn()
    one.draws = 11
    assert one.drawn() == first[:11]
    one.seed = 8
    assert one.drawn() != first[:11]


def test_share_and_entropy_of_a_distribution_known_by_heart():
    one = Sampling(np.log([4, 2, 1, 1]), ["a", "b", "c", "d"])
    assert one.entropy() == pytest.approx(1.75, abs=1e-6)
    assert one.share() == pytest.approx(1)
    one.top_k = 2
    np.testing.assert_allclose(one.probabilities(), [2 / 3, 1 / 3, 0, 0], atol=1e-7)
    assert one.share() == pytest.approx(0.75, abs=1e-7)
    one.top_k = 3
    assert (one.probabilities() > 0).all(), "ties with the k-th stay"


def test_settings_are_snapped_to_their_scales():
    one = explorer(temperature=0.1 * 7, top_p=0.1 + 0.2)
    assert (one.temperature, one.top_p, one.top_k) == (0.7, 0.3, None)
    for i in range(1, 21):
        one.temperature, one.top_p = 0.1 * i, 0.05 * i
        assert (one.temperature, one.top_p) == (i / 10, i / 20)


BAD = {
    "one logit": ({"logits": [1.0], "tokens": ["a"]}, r"logits must be 2 to 60.*1,"),
    "many logits": (
        {"logits": [1.0] * 61, "tokens": names(61)},
        r"logits must be 2 to 60 numbers in one row, got shape \(61,\)",
    ),
    "two rows": ({"logits": [[1.0, 2.0]]}, r"one row, got shape \(1, 2\)"),
    "NaN": ({"logits": [1, math.nan, 2]}, "finite numbers, got nan at index 1"),
    "infinity": ({"logits": [1, 2, -math.inf]}, "finite numbers, got -inf at index 2"),
    "huge": ({"logits": [1, -1e30, 2]}, r"within ±1,000,000, got -1e\+30"),
    "words": ({"logits": ["a", "b", "c"]}, "logits must be an array of numbers"),
    "few tokens": ({"tokens": ["a", "b"]}, "tokens must be 3 strings.*got 2"),
    "a string": ({"tokens": "abc"}, "tokens must be 3 strings.*got 1"),
    "empty token": ({"tokens": ["a", "", "b"]}, "not empty, got '' at index 1"),
    "number": ({"tokens": ["a", 7, "b"]}, "must be strings.*got 7 at index 1"),
    "twice": ({"tokens": ["a", "b", "a"]}, "tokens must be different, got 'a' twice"),
    "long prompt": ({"prompt": "a" * 501}, "prompt must be a text of at most 500 char"),
    "no temperature": ({"temperature": 0.0}, "temperature must be 0.1 to 2.0"),
    "between": ({"temperature": 0.75}, "in steps of 0.1, got 0.75"),
    "hot": ({"temperature": 2.1}, "temperature must be 0.1 to 2.0.*got 2.1"),
    "NaN temperature": ({"temperature": math.nan}, "temperature must hold finite"),
    "k of 0": ({"top_k": 0}, "top_k must be 1 to 3 or None, got 0"),
    "k of 4": ({"top_k": 4}, "top_k must be 1 to 3 or None, got 4"),
    "p of 0": ({"top_p": 0.0}, "top_p must be 0.01 to 1.0 in steps of 0.01, got 0.0"),
    "p of 2": ({"top_p": 2.0}, "top_p must be 0.01 to 1.0"),
    "seed": ({"seed": -1}, "seed must be 0 to 4,294,967,295, got -1"),
    "draws": ({"draws": 10_001}, "draws must be 0 to 10,000, got 10001"),
}


GIVEN = {"logits": [1, 2, 3], "tokens": ["a", "b", "c"]}
test_an_error_says_what_was_expected_and_what_came = refused_settings(
    lambda **changes: Sampling(**GIVEN | changes), BAD
)


def test_the_still_writes_any_token():
    tokens = ["$x^2$", "\n", "日本", "👩‍👩‍👧", "\u200b", "שלום", "a" * 200, "\0", "$"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Sampling(range(9), tokens).still()[:4] == b"\x89PNG"
    assert widget.shown(" a\u00a0b\n") == "·aU+00A0b↵"
    assert widget.drawable("日a" + "b" * 30) == "□a" + "b" * 15 + "…"
