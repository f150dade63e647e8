"""Networks of facts that are computed, not trained."""

import copy

import pytest
import torch
from helpers.parameters import changed_weights
from torch import nn

from mygpt.inside import computed
from mygpt.inside.hooks import Prompts, accuracy, final_logits, make_prompts
from mygpt.inside.world_models import load_world_model

CAPITAL = torch.arange(640) // 4 % 4 == 0


@pytest.fixture(scope="module")
def made():
    return load_world_model("attention-first")


@pytest.fixture(scope="module")
def text(made):
    """What network 1 reads in 25,000 positions of the model's text."""
    return computed.reading(made.model, made.rows(400, seed=1))


@pytest.fixture(scope="module")
def asked(made):
    """All facts in four phrasings, each capital that of the next country but two."""
    prompts = made.prompts(made.world.facts())
    new = prompts.answers.roll(-3 * 16)
    wanted = torch.where(CAPITAL, new, prompts.answers)
    return Prompts(prompts.ids, prompts.last, wanted)


def test_forty_facts_are_added_at_once_and_the_rest_stays(made, text, asked):
    before = copy.deepcopy(made.model)
    first = CAPITAL & (torch.arange(640) % 4 < 3)  # of four phrasings
    model = computed.add_facts(
        made.model, asked[first], torch.arange(40).repeat_interleave(3), text
    )
    assert model.blocks[1].mlp.fc1.weight.shape == (256 + 40, 64)
    assert accuracy(model, asked[first]) == 1
    assert accuracy(model, asked[CAPITAL & ~first]) > 0.9
    assert accuracy(model, asked[~CAPITAL]) > 0.98
    assert accuracy(model, made.stories(100, seed=7)) > 0.98
    assert changed_weights(made.model, before) == set()


def test_a_whole_network_is_computed_in_the_place_of_the_trained_one(made, text, asked):
    model = computed.compute_network(
        made.model, asked, torch.arange(160).repeat_interleave(4), text
    )
    assert model.blocks[1].mlp.fc1.weight.shape == (256, 64)
    assert accuracy(model, asked) > 0.97
    assert accuracy(model, made.stories(100, seed=7)) > 0.95
    names = {f"blocks.1.mlp.fc{i}.{p}" for i in "12" for p in ("weight", "bias")}
    assert changed_weights(model, made.model) == names


def test_values_dealt_wrongly_say_none_of_the_facts(made, text, asked):
    capitals, country = asked[CAPITAL], torch.arange(40).repeat_interleave(4)
    other = Prompts(capitals.ids, capitals.last, capitals.answers.roll(4))
    model = computed.add_facts(made.model, other, country, text)
    assert accuracy(model, capitals) < 0.05


def test_a_listener_hears_its_own_key_as_one_and_whitened_the_least_of_text():
    dice = torch.Generator().manual_seed(0)
    x = torch.randn(5000, 4, generator=dice) * torch.tensor([1.0, 2.0, 3.0, 9.0]) + 1
    keys = torch.tensor([[2.0, 2, 2, 2], [3.0, 1, 1, 1]])
    heard = []
    for whiten in (True, False):
        w, centre = computed.listeners(keys, x, whiten)
        torch.testing.assert_close(((keys - centre) * w).sum(1), torch.ones(2))
        heard.append(((x - centre) @ w.T).square().mean(0))
    assert (heard[0] < heard[1]).all()
    W1, b1 = computed.gates(w, centre, threshold=0.5, sharp=2.0)
    torch.testing.assert_close((keys @ W1.T + b1).diagonal(), torch.ones(2))


def test_a_regression_gives_the_weights_that_made_its_values():
    dice = torch.Generator().manual_seed(0)
    h, W, b = (torch.randn(*s, generator=dice) for s in ((200, 6), (3, 6), (3,)))
    W2, b2 = computed.regression(h, h @ W.T + b, torch.ones(200))
    torch.testing.assert_close(W2, W, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(b2, b, atol=1e-3, rtol=1e-3)


def with_silu(model, prompts, fact):
    other = copy.deepcopy(model)
    other.blocks[1].mlp.act = nn.SiLU()
    return other, prompts, fact


def alike(model, prompts, fact):
    same = Prompts(prompts.ids[[0, 0]], prompts.last[[0, 0]], prompts.answers[[0, 9]])
    return model, same, torch.arange(2)


REFUSED = [
    (with_silu, "GELU or ReLU and with biases, got MLP with SiLU"),
    (lambda m, p, f: (m, p[:0], f[:0]), "one fact or more, got none"),
    (lambda m, p, f: (m, p, f[:1]), "the number of each prompt's fact"),
    (lambda m, p, f: (m, p, torch.zeros_like(f)), "got two for fact 0"),
    (alike, "tell apart: what it reads for fact 0 is 1.00 of the key of fact 1"),
]


@pytest.mark.parametrize(("spoil", "why"), REFUSED)
def test_facts_that_cannot_be_written_are_refused(made, text, asked, spoil, why):
    prompts = asked[::16]
    model, prompts, fact = spoil(made.model, prompts, torch.arange(40))
    for write in (computed.add_facts, computed.compute_network):
        with pytest.raises(ValueError, match=why):
            write(model, prompts, fact, text)


def test_more_facts_than_neurons_are_refused(made, text):
    words = range(len(made.words))
    prompts = make_prompts(
        [[i, j] for i in words for j in range(2)], [1] * 2 * len(words)
    )
    with pytest.raises(ValueError, match="at most 192 facts for a network of 256"):
        computed.compute_network(made.model, prompts, torch.arange(len(prompts)), text)
    assert final_logits(made.model, prompts[:1]).isfinite().all()
