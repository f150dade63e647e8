import copy

import pytest
import torch
import torch.nn.functional as F
from helpers.parameters import changed_weights
from helpers.small_gpts import any_token_can_win

from mygpt.inside.fresh_network import (
    Recovered,
    entering,
    planted,
    recovered,
    relearned,
    relearned_logits,
)
from mygpt.inside.hooks import Prompts, final_logits, make_prompts


@pytest.fixture
def model():
    return any_token_can_win(23)


@pytest.fixture
def prompts():
    texts = [[i, j] for i in range(5) for j in range(23)]
    return make_prompts(texts, [(3 * i + 5 * j) % 23 for i, j in texts])


def test_a_network_learns_again_and_the_rest_is_unchanged(model):
    before = copy.deepcopy(model)
    same = make_prompts([[1, 2], [3, 4]], [5, 6])
    copied = relearned(model, same, steps=200)
    assert (final_logits(copied, same).argmax(-1) == same.answers).all()
    assert changed_weights(model, before) == set()
    names = {f"blocks.1.mlp.fc{i}.{p}" for i in "12" for p in ("weight", "bias")}
    assert changed_weights(copied, before) == names
    assert all(p.grad is None and p.requires_grad for p in copied.parameters())
    again = relearned(model, same, steps=2)
    once = relearned(model, same, steps=2)
    assert torch.equal(again.blocks[1].mlp.fc1.weight, once.blocks[1].mlp.fc1.weight)


def test_both_forms_of_relearning_give_the_same_scores(model, prompts):
    learned = torch.arange(len(prompts)) % 3 > 0
    copied = relearned(model, prompts[learned], steps=20, seed=5)
    found = relearned_logits(model, prompts, learned, steps=20, seed=5)
    torch.testing.assert_close(found, final_logits(copied, prompts))
    assert all(p.grad is None for p in model.parameters())


def test_a_planted_fact_is_found_and_one_that_is_not_there_is_not(model, prompts):
    """Answers that nothing in the model tells, with and without their code."""
    drawn = torch.randint(23, (len(prompts),))
    prompts = Prompts(prompts.ids, prompts.last, drawn)
    learned = torch.arange(len(prompts)) % 3 > 0
    code = planted(model, prompts, seed=2)
    beside = torch.cat([entering(model, prompts)[0], code], dim=-1)
    right = {}
    for name, inputs in (("nothing", None), ("beside", beside), ("alone", code)):
        logits = relearned_logits(model, prompts, learned, inputs)
        right[name] = (logits.argmax(-1) == drawn)[~learned].float().mean().item()
    assert right["nothing"] <= 0.2 < 0.6 <= right["beside"]
    assert right["alone"] >= 0.6


def test_the_planted_code_is_a_rotation_of_the_answer_s_vector(model, prompts):
    code = planted(model, prompts)
    vectors = model.token.embedding.weight[prompts.answers].detach()
    scale = code.norm() / vectors.norm()
    torch.testing.assert_close(code @ code.T, scale**2 * vectors @ vectors.T)
    torch.testing.assert_close(code.norm(), entering(model, prompts)[0].norm())
    assert F.cosine_similarity(code, vectors, dim=-1).abs().mean() < 0.6


def test_met_and_unmet_answers_are_counted_apart():
    learned = torch.tensor([True, True, True, True, False, False, False, False, False])
    answers = torch.tensor([3, 3, 5, 6, 3, 5, 5, 7, 8])
    logits = torch.zeros(9, 10)
    logits[4, 3] = 2  # met, right, and so would the guess be
    logits[5, 5] = 2  # met, right
    logits[6, 3] = 2  # met, wrong
    logits[7, [3, 7]] = torch.tensor([2.0, 1])  # unmet: 7 is first among 7 and 8
    logits[8, [3, 7]] = torch.tensor([2.0, 1])  # unmet, wrong
    expected = Recovered(
        met=3, right=2, guess=1, unmet=2, named=0, chosen=1, chance=1.0
    )
    assert recovered(logits, answers, learned) == expected


def test_without_unmet_answers_there_is_nothing_to_choose_from():
    learned = torch.tensor([True, False])
    found = recovered(torch.eye(3)[:2], torch.tensor([1, 1]), learned)
    assert found == Recovered(
        met=1, right=1, guess=1, unmet=0, named=0, chosen=0, chance=0.0
    )
