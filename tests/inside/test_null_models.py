import pytest
import torch
import torch.nn.functional as F
from helpers.parameters import changed_weights
from helpers.small_gpts import random_gpt
from torch import nn

from mygpt.inside.hooks import feed_forward, final_logits, make_prompts, record_ends
from mygpt.inside.null_models import (
    NULLS,
    dealt_answers,
    own_answers,
    permuted_values,
    random_answers,
    random_network,
    random_values,
)

NETWORK = "blocks.1.mlp."


@pytest.fixture
def model():
    return random_gpt()


def written(model, prompts):
    (out,) = record_ends(model, prompts, feed_forward(1))
    return (out - model.blocks[1].mlp.fc2.bias).square().mean().sqrt()


@pytest.mark.parametrize("name", NULLS)
def test_a_null_writes_as_much_as_the_model_and_something_else(name, model, prompts):
    null = NULLS[name](model, prompts, 3)
    torch.testing.assert_close(written(null, prompts), written(model, prompts))
    louder = NULLS[name](model, prompts, 3, gain=4.0)
    torch.testing.assert_close(written(louder, prompts), 4 * written(model, prompts))
    scores = final_logits(null, prompts)
    assert not torch.allclose(scores, final_logits(model, prompts), atol=0.1)
    both = {NETWORK + "fc1.weight", NETWORK + "fc2.weight"}
    expected = both if "keys" in name else {NETWORK + "fc2.weight"}
    assert changed_weights(model, null) == expected
    again, other = NULLS[name](model, prompts, 3), NULLS[name](model, prompts, 4)
    values = [one.blocks[1].mlp.fc2.weight for one in (null, again, other)]
    assert torch.equal(values[0], values[1])
    assert not torch.equal(values[0], values[2])


@pytest.mark.parametrize("make", [random_values, random_network])
def test_random_values_have_the_trained_norms_up_to_one_factor(make, model, prompts):
    null = make(model, prompts)
    before, after = (m.blocks[1].mlp.fc2.weight for m in (model, null))
    ratio = after.norm(dim=0) / before.norm(dim=0)
    torch.testing.assert_close(ratio, ratio.mean().expand(40))
    cosine = nn.functional.cosine_similarity(before, after, dim=0)
    assert cosine.abs().mean() < 0.5
    if make is random_network:
        before, after = (m.blocks[1].mlp.fc1.weight for m in (model, null))
        torch.testing.assert_close(before.norm(dim=1), after.norm(dim=1))


def test_no_key_of_a_random_network_points_along_its_value(model, prompts):
    """Keys and values drawn from one seed would be the same directions."""
    mlp = random_network(model, prompts, 3).blocks[1].mlp
    cosines = F.cosine_similarity(mlp.fc1.weight, mlp.fc2.weight.T)
    assert abs(cosines.mean()) < 0.2


def test_permuted_values_are_the_same_values_at_other_neurons(model, prompts):
    null = permuted_values(model, prompts)
    before, after = (m.blocks[1].mlp.fc2.weight.T for m in (model, null))
    cosine = nn.functional.cosine_similarity(before[:, None], after[None], dim=-1)
    partner = cosine.argmax(1)
    assert sorted(partner.tolist()) == list(range(40))
    torch.testing.assert_close(cosine.max(1).values, torch.ones(40))
    assert (partner == torch.arange(40)).sum() < 5


def test_own_answers_are_the_likeliest_tokens(model, prompts):
    own = own_answers(model, prompts)
    assert torch.equal(own.ids, prompts.ids)
    assert own.answers.tolist() == final_logits(model, prompts).argmax(-1).tolist()


def test_random_answers_are_shared_by_the_prompts_of_a_fact():
    prompts = make_prompts([[1]] * 400, [2] * 400)
    tokens = torch.tensor([3, 5, 7])
    drawn = random_answers(prompts, tokens, each=4, seed=1).answers.view(100, 4)
    assert (drawn == drawn[:, :1]).all()
    assert set(drawn.unique().tolist()) == {3, 5, 7}
    assert torch.equal(random_answers(prompts, tokens, 4, 1).answers, drawn.flatten())
    other = random_answers(prompts, tokens, 4, 2).answers
    assert not torch.equal(other, drawn.flatten())


def test_dealt_answers_stay_together():
    prompts = make_prompts([[1]] * 40, list(range(40)))
    dealt = dealt_answers(prompts, each=4, seed=1).answers.view(10, 4)
    assert sorted(dealt[:, 0].tolist()) == list(range(0, 40, 4))
    assert (dealt - dealt[:, :1] == torch.arange(4)).all()
    assert dealt[:, 0].tolist() != list(range(0, 40, 4))
