import math
import pydoc
from inspect import signature

import pytest
import torch
from helpers.gpt2_checkpoints import their_model, written
from helpers.parameters import lively
from helpers.refusals import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.generation.logits_process import (
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from mygpt import set_seed
from mygpt.gpt import GPT, GPTConfig
from mygpt.huggingface import load_gpt2
from mygpt.sampling import (
    generate,
    generate_stream,
    next_token_probabilities,
    penalise_repetition,
)

V, T = 23, 7


@pytest.fixture(scope="module")
def model():
    """A model whose choices depend on everything that it sees."""
    torch.manual_seed(0)
    return lively(GPT(GPTConfig(V, T, 15, 3, 2)).eval(), 0.5)


def prompt(batch=3, length=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(V, (batch, length), generator=generator)


def test_with_p_of_1_no_token_is_cut():
    """Of many shares, rounded sums reach 1 before the last token."""
    logits = 4 * torch.randn(20, 1000, generator=torch.Generator().manual_seed(0))
    assert (next_token_probabilities(logits, top_p=1.0) > 0).all()


def random_logits(batch=5):
    return 2 * torch.randn(batch, V)


# Choosing


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(
    ("top_k", "top_p"), [(None, None), (5, None), (None, 0.7), (7, 0.6)]
)
def test_probabilities_equal_hugging_faces(temperature, top_k, top_p):
    logits = random_logits()
    expected = TemperatureLogitsWarper(temperature)(None, logits)
    if top_k:
        expected = TopKLogitsWarper(top_k)(None, expected)
    if top_p:
        expected = TopPLogitsWarper(top_p)(None, expected)
    got = next_token_probabilities(logits, temperature, top_k, top_p)
    torch.testing.assert_close(got, expected.softmax(-1))


def test_the_repetition_penalty_equals_hugging_faces():
    logits, seen = random_logits(3), prompt(3, 6)
    expected = RepetitionPenaltyLogitsProcessor(1.7)(seen, logits.clone())
    torch.testing.assert_close(penalise_repetition(logits, seen, 1.7), expected)
    assert torch.equal(penalise_repetition(logits, seen, 1.0), logits)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=17),
    st.floats(0.05, 5),
    st.none() | st.integers(1, 20),
    st.none() | st.floats(0.01, 1),
)
def test_probabilities_are_a_smallest_nucleus(scores, temperature, top_k, top_p):
    logits = torch.tensor([scores])
    full = next_token_probabilities(logits, temperature)[0]
    kept = next_token_probabilities(logits, temperature, top_k, top_p)[0]
    assert kept.sum().item() == pytest.approx(1, abs=1e-5)
    assert (kept[full == full.max()] > 0).any()  # the likeliest, one of equals
    support = kept > 0
    outside = full[~support]
    if len(outside):
        assert full[support & (full > 0)].min() >= outside.max() - 1e-7
    if top_k is not None and top_p is None and len(set(scores)) == len(scores):
        assert support.sum() <= top_k
    if top_p is not None and top_k is None:
        share = full[support].sum().item()
        assert share >= min(top_p, 1) - 1e-5
        least = full[support].min().item()
        assert share - least < top_p + 1e-5


def test_of_equal_scores_the_smaller_ids_are_in_the_nucleus():
    probabilities = next_token_probabilities(torch.zeros(1, 4), top_p=0.5)
    assert probabilities.tolist() == [[0.5, 0.5, 0, 0]]
    probabilities = next_token_probabilities(torch.zeros(1, 4), top_p=0.51)
    torch.testing.assert_close(probabilities, torch.tensor([[1, 1, 1, 0]]) / 3)


def test_tokens_are_drawn_as_often_as_their_probability_says(model):
    ids = prompt(1, 3).expand(5000, -1)
    new = generate(model, ids, 1, temperature=1.3, top_k=5, seed=0)[:, -1]
    with torch.no_grad():
        logits = model(ids[:1])[0][:, -1]
    expected = next_token_probabilities(logits, 1.3, 5)[0]
    counts = torch.bincount(new, minlength=V)
    assert ((counts > 0) == (expected > 0)).all()
    spread = (expected * (1 - expected) / 5000).sqrt()
    assert ((counts / 5000 - expected).abs() <= 4 * spread).all()


# Going on


@pytest.mark.parametrize("length", [1, 3, 6, 7])
@pytest.mark.parametrize("settings", [{"greedy": True}, {"seed": 5, "top_p": 0.9}])
def test_with_and_without_a_cache_the_tokens_are_the_same(model, length, settings):
    """Across the end of the context, several times."""
    ids = prompt(3, length)
    cached = generate(model, ids, 23, **settings)
    assert cached.shape == (3, length + 23)
    assert torch.equal(cached[:, :length], ids)
    assert torch.equal(cached, generate(model, ids, 23, use_cache=False, **settings))


@pytest.mark.parametrize(("length", "penalty"), [(5, 1.0), (3, 50.0)])
def test_a_full_context_is_read_again_from_its_last_half(model, length, penalty):
    """By hand: of 7 positions the last 3 stay, and what has left is still penalised."""
    ids = window = prompt(2, length)
    for _ in range(12):
        logits = penalise_repetition(model(window)[0][:, -1], ids, penalty)
        token = logits.argmax(-1)[:, None]
        window = window[:, -3:] if window.shape[1] == 7 else window
        window, ids = torch.cat([window, token], 1), torch.cat([ids, token], 1)
    settings = {"greedy": True, "repetition_penalty": penalty}
    assert torch.equal(generate(model, prompt(2, length), 12, **settings), ids)


def test_greedy_text_equals_hugging_faces_over_a_hundred_tokens(tmp_path):
    theirs = their_model(n_positions=131)
    ids = torch.randint(53, (3, 11))
    asked = {"max_new_tokens": 100, "do_sample": False, "pad_token_id": 0}
    expected = theirs.generate(ids, attention_mask=torch.ones_like(ids), **asked)
    ours = load_gpt2(written(theirs, tmp_path))
    got = generate(ours, ids, 100, greedy=True)
    assert torch.equal(got, expected)
    assert len(set(got[0].tolist())) > 5


def test_a_seed_repeats_the_draws_and_leaves_the_global_state_alone(model):
    ids = prompt()
    before = torch.get_rng_state()
    first = generate(model, ids, 11, seed=3)
    assert torch.equal(first, generate(model, ids, 11, seed=3))
    assert not torch.equal(first, generate(model, ids, 11, seed=4))
    assert torch.equal(torch.get_rng_state(), before)


def test_without_a_seed_pytorchs_own_generator_is_used(model):
    texts = []
    for _ in range(2):
        set_seed(5)
        texts.append(generate(model, prompt(), 11))
    assert torch.equal(*texts)
    assert not torch.equal(texts[0], generate(model, prompt(), 11))


def test_a_row_that_stopped_is_padded(model):
    ids = prompt(3, 2)
    free = generate(model, ids, 12, greedy=True)
    stop = free[1, 5].item()
    ended = generate(model, ids, 12, greedy=True, stop=[stop], pad_id=22)
    for row, whole in zip(ended.tolist(), free.tolist(), strict=True):
        new = whole[2:]
        end = new.index(stop) + 1 if stop in new else 12
        assert row[2:] == new[:end] + [22] * (12 - end)


def test_the_stream_ends_when_every_row_has_stopped(model):
    ids = prompt(1, 2)
    free = generate(model, ids, 12, greedy=True)[0, 2:].tolist()
    stop = free[3]
    end = free.index(stop) + 1
    steps = list(generate_stream(model, ids, 12, greedy=True, stop=[stop]))
    assert [step.tolist() for step in steps] == [[token] for token in free[:end]]
    out = generate(model, ids, 12, greedy=True, stop=[stop], pad_id=1)
    assert out[0, 2:].tolist() == free[:end] + [1] * (12 - end)


def test_no_new_tokens_give_the_prompt(model):
    assert torch.equal(generate(model, prompt(), 0), prompt())


def test_every_parts_mode_comes_back_even_while_a_stream_is_suspended(model):
    model.train()
    model.blocks[0].eval()
    stream = generate_stream(model, prompt(), 5)
    for _ in range(2):
        next(stream)
        assert model.training
        assert model.blocks[1].mlp.training
        assert not model.blocks[0].mlp.training
        assert torch.is_grad_enabled()
    generate(model, prompt(), 3)
    assert model.training
    assert not model.blocks[0].mlp.training
    model.eval()


def test_help_shows_every_promised_setting_of_generate(model):
    parameters = signature(generate).parameters.values()
    assert {p.name: p.default for p in parameters if p.kind == p.KEYWORD_ONLY} == {
        "temperature": 1.0,
        "top_k": None,
        "top_p": None,
        "greedy": False,
        "repetition_penalty": 1.0,
        "stop": (),
        "pad_id": 0,
        "seed": None,
        "use_cache": True,
    }
    assert not [p for p in parameters if p.kind == p.VAR_KEYWORD]
    assert "repetition_penalty: float = 1.0" in pydoc.render_doc(generate)
    with pytest.raises(TypeError, match="temperatures"):
        generate(model, prompt(), 1, temperatures=2.0)


test_invalid_settings_are_refused_at_the_call = refused(
    lambda change: generate_stream(
        GPT(GPTConfig(V, T, 15, 3, 2)), prompt(), 5, **change
    ),
    ({"temperature": 0.0}, r"temperature must be above 0, got 0\.0 .*greedy=True"),
    ({"temperature": -1.0}, r"temperature must be above 0, got -1\.0"),
    ({"temperature": math.nan}, "temperature must be above 0, got nan"),
    ({"top_k": 0}, "top_k must be .* at least 1, got 0"),
    ({"top_p": 0.0}, r"top_p must be above 0 and at most 1, got 0\.0"),
    ({"top_p": 1.1}, r"top_p must be above 0 and at most 1, got 1\.1"),
    ({"top_p": math.nan}, "top_p must be above 0 and at most 1, got nan"),
    ({"repetition_penalty": 0.0}, "repetition_penalty must be above 0"),
    ({"stop": [23]}, "stop must be an id from 0 to 22, got 23"),
    ({"pad_id": -1}, "pad_id must be an id from 0 to 22, got -1"),
)


test_invalid_prompts_are_refused_at_the_call = refused(
    lambda ids, count: generate_stream(GPT(GPTConfig(V, T, 15, 3, 2)), ids, count),
    (prompt(1, 8), 5, "1 to max_seq_len = 7 ids, got 8"),
    (prompt(1, 0), 5, "1 to max_seq_len = 7 ids, got 0"),
    (torch.tensor([[3, 23]]), 5, "ids from 0 to 22, got 3 to 23"),
    (prompt(), -1, r"max_new_tokens must be .* got -1"),
)


@pytest.mark.parametrize("settings", [{"top_k": 3}, {"top_p": 0.5}, {"greedy": True}])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_model_that_gives_no_finite_scores_is_named(model, settings, value):
    broken = GPT(model.config)
    broken.ln_f.weight.data.fill_(value)
    with pytest.raises(ValueError, match="the model gave NaN or infinity"):
        generate(broken, prompt(), 2, **settings)


# Extremes


@pytest.mark.parametrize(
    "settings",
    [
        *({"temperature": value} for value in (1e-30, 1e-40, 1e-45, 1e-46, 5e-324)),
        {"temperature": 1e-40, "top_k": 5, "top_p": 0.9},
        {"top_p": 1e-45},
        {"top_p": 5e-324, "temperature": 1e30},
        {"top_k": 1, "temperature": 1e308},
    ],
)
def test_at_the_limit_the_likeliest_token_is_drawn(model, settings):
    expected = generate(model, prompt(), 9, greedy=True)
    assert torch.equal(generate(model, prompt(), 9, **settings), expected)


@pytest.mark.parametrize("penalty", [5e-324, 1e-40, 1e-30, 1e30, 1e40, 1e308])
def test_a_penalty_at_the_limit_keeps_scores_finite_and_zero_at_zero(model, penalty):
    logits, seen = torch.tensor([[2.0, -2.0, 0.0, 1.0]]), torch.tensor([[0, 1, 2]])
    scores = penalise_repetition(logits, seen, penalty)
    assert scores.isfinite().all()
    assert scores.argmax() == (0 if penalty < 1 else 3)
    assert scores[0, 2:].tolist() == [0, 1]
    assert generate(model, prompt(), 5, repetition_penalty=penalty).max() < V


@pytest.mark.parametrize(
    ("scores", "temperature", "expected"),
    [
        ([3e38, -3e38, 0.0], 1.0, [1, 0, 0]),
        ([3e38, 3e38, 0.0], 0.5, [0.5, 0.5, 0]),
        ([-3e38, -2e38, -math.inf], 1e-3, [0, 1, 0]),
        ([7.0, 7.0, 5.0], 1e-45, [0.5, 0.5, 0]),
        ([7.0, -math.inf, 5.0], 1e308, [0.5, 0, 0.5]),
    ],
)
def test_scores_that_would_overflow_keep_their_order(scores, temperature, expected):
    got = next_token_probabilities(torch.tensor([scores]), temperature)
    assert got[0].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("top_k", [None, 2])
@pytest.mark.parametrize("scores", [[1, math.nan], [1, math.inf], [-math.inf] * 2])
def test_scores_without_a_finite_largest_are_refused(scores, top_k):
    with pytest.raises(ValueError, match="expected finite scores"):
        next_token_probabilities(torch.tensor([scores]), top_k=top_k)


test_only_a_temperature_of_0_is_told_of_greedy = refused(
    next_token_probabilities, (torch.zeros(1, 3), math.inf, r"got inf$")
)
