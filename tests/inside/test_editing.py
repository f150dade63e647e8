import copy

import pytest
import torch
import torch.nn.functional as F
from helpers.parameters import changed_weights
from helpers.small_gpts import TEXTS, any_token_can_win
from torch import nn

from mygpt.gpt import GPT
from mygpt.inside.editing import (
    ablations,
    direction,
    falls,
    logits_without,
    matched_sets,
    output_for,
    pointed_at,
    rank_one,
    rewrite,
    scaled,
    second_moment,
    strongest,
    written_by,
)
from mygpt.inside.hooks import final_logits, hidden, log_odds, make_prompts, record
from mygpt.inside.memory import promoted


@pytest.fixture
def model():
    return any_token_can_win()


@pytest.fixture
def rows():
    return torch.randint(13, (200, 11))


def test_a_neuron_is_switched_off_or_doubled(model, prompts):
    factors = torch.ones(40)
    factors[7], factors[11] = 0, 2
    changes = {hidden(1): scaled(factors)}
    by_hand = GPT(model.config).eval()
    by_hand.load_state_dict(model.state_dict())
    with torch.no_grad():
        by_hand.blocks[1].mlp.fc2.weight *= factors
    found = final_logits(model, prompts, changes)
    torch.testing.assert_close(found, final_logits(by_hand, prompts))


def test_the_scores_without_what_neurons_write_are_those_without_them(model, prompts):
    off = torch.rand(3, 4, 40) < 0.2
    found = logits_without(model, prompts, written_by(model, prompts, off))
    for one, logits in zip(off, found, strict=True):
        changes = {hidden(1): scaled((~one).float()[:, None])}
        torch.testing.assert_close(logits, final_logits(model, prompts, changes))


def test_falls_of_sets_and_of_each_neuron_alone(model, prompts):
    before = log_odds(final_logits(model, prompts), prompts.answers)
    off = torch.rand(3, 4, 40) < 0.2
    found = falls(model, prompts, off)
    for one, fallen in zip(off, found, strict=True):
        changes = {hidden(1): scaled((~one).float()[:, None])}
        after = log_odds(final_logits(model, prompts, changes), prompts.answers)
        torch.testing.assert_close(fallen, before - after, atol=1e-4, rtol=1e-4)
    for layer in (0, 1):
        alone = ablations(model, prompts, layer)
        assert alone.shape == (4, 40)
        factors = torch.ones(40)
        factors[7] = 0
        changes = {hidden(layer): scaled(factors)}
        after = log_odds(final_logits(model, prompts, changes), prompts.answers)
        torch.testing.assert_close(alone[:, 7], before - after, atol=1e-4, rtol=1e-4)
    each = torch.eye(40, dtype=torch.bool)[:, None].expand(40, 4, 40)
    every = falls(model, prompts, each).T
    expected = ablations(model, prompts, 1)
    torch.testing.assert_close(every, expected, atol=1e-4, rtol=1e-4)


def test_the_strongest_are_the_highest():
    scores = torch.tensor([[1.0, 5, 3, -9], [0, 0, 2, 1]])
    expected = [[False, True, True, False], [False, False, True, True]]
    assert strongest(scores, 2).tolist() == expected


def test_matched_sets_are_other_neurons_of_about_the_same_strength():
    strength = torch.randn(6, 40)
    chosen = strongest(strength, 3)
    generator = torch.Generator().manual_seed(1)
    sets = matched_sets(strength, chosen, 50, generator, among=5)
    assert sets.shape == (50, 6, 40)
    assert (sets.sum(-1) == 3).all()
    assert not (sets & chosen).any()
    again = matched_sets(strength, chosen, 50, generator.manual_seed(1), among=5)
    assert torch.equal(sets, again)
    size = strength.abs().log()
    for row in range(6):
        near = set()
        for neuron in chosen[row].nonzero()[:, 0]:
            apart = (size[row] - size[row, neuron]).abs()
            near |= set(apart.masked_fill(chosen[row], 99).argsort()[:5].tolist())
        assert set(sets[:, row].any(0).nonzero()[:, 0].tolist()) == near


def test_the_second_moment_is_the_mean_product_with_a_ridge(model, rows):
    h = record(model, rows, [hidden(0)])[hidden(0)].detach().flatten(0, 1)
    plain = h.T @ h / len(h)
    found = second_moment(model, rows, 0)
    ridge = (found - plain).diagonal()
    torch.testing.assert_close(ridge, ridge.mean().expand(40), rtol=0.02, atol=1e-5)
    assert ridge.mean() == pytest.approx(plain.diagonal().mean().item() / 100, 0.02)
    off_diagonal = found - torch.diag(found.diagonal())
    torch.testing.assert_close(
        off_diagonal, plain - torch.diag(plain.diagonal()), atol=1e-5, rtol=1e-4
    )


def test_a_value_points_along_the_embedding_as_the_last_norm_weighs_it(model):
    nn.init.uniform_(model.ln_f.weight, 2, 14)
    value = pointed_at(model, 8, norm=2.5)
    wanted = model.token.embedding.weight[8] * model.ln_f.weight
    wanted = wanted - wanted.mean()
    assert F.cosine_similarity(value, wanted, dim=0) > 0.9999
    assert value.norm() == pytest.approx(2.5)
    model.blocks[1].mlp.fc2.weight.data[:, 5] = value
    assert promoted(model, 1, count=1)[1][5, 0] == 8


def test_control_sets_that_cannot_be_drawn_are_refused():
    strength = torch.rand(2, 60)
    with pytest.raises(ValueError, match=r"among must be from 21, .* to 39, .* got 20"):
        matched_sets(strength, strongest(strength, 21), draws=3)
    with pytest.raises(ValueError, match=r"among must be from 50, .* to 10, .* got 20"):
        matched_sets(strength, strongest(strength, 50), draws=3)
    sets = matched_sets(strength, strongest(strength, 20), draws=3)
    assert (sets.sum(-1) == 20).all()


def test_a_rank_one_edit_answers_its_key_and_changes_the_corpus_least(model, rows):
    key, change = torch.randn(40), torch.randn(10)
    moment = second_moment(model, rows, 1)
    moment = moment + torch.diag(torch.linspace(0, 9, 40) * moment.trace() / 40)
    edited = rank_one(model, 1, key, change, moment)
    added = edited.blocks[1].mlp.fc2.weight - model.blocks[1].mlp.fc2.weight
    torch.testing.assert_close(added @ key, change, rtol=1e-3, atol=1e-3)
    plain = torch.outer(change, key / (key @ key))
    torch.testing.assert_close(plain @ key, change)

    def moved(matrix):
        return (matrix @ moment * matrix).sum()

    assert moved(added) < 0.9 * moved(plain)
    assert torch.linalg.matrix_rank(added.detach(), atol=1e-4) == 1


def test_the_direction_reads_its_key_and_the_corpus_least():
    draw = {"generator": torch.Generator().manual_seed(3)}
    corpus = torch.randn(200, 7, **draw) @ torch.randn(7, 7, **draw)
    moment = corpus.T @ corpus / len(corpus)
    key = torch.randn(7, **draw)
    w = direction(key, moment)
    assert w.dtype == torch.float64
    assert (w @ key.double()).item() == pytest.approx(1)
    least = (corpus.double() @ w).square().mean()
    for seed in range(20):
        other = torch.randn(7, generator=torch.Generator().manual_seed(seed)).double()
        other = w + 0.1 * (other - (other @ key.double()) * w)
        assert (other @ key.double()).item() == pytest.approx(1)
        assert (corpus.double() @ other).square().mean() > least


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_the_output_found_makes_every_answer_win(layer, seed):
    torch.manual_seed(seed)
    model = any_token_can_win()
    same = make_prompts(TEXTS, [7, 7, 7, 7])
    change = output_for(model, same, layer)
    at = torch.arange(4), same.last

    def add(out):
        return out.index_put(at, out[at] + change)

    found = final_logits(model, same, {f"blocks.{layer}.mlp": add})
    assert (found.softmax(-1)[:, 7] >= 0.996).all()
    assert output_for(model, same, layer, enough=0.5).norm() < change.norm()


def test_a_rewritten_model_gives_the_new_answer_and_the_old_one_is_unchanged(
    model, rows
):
    prompt = make_prompts([[5, 6, 7, 8]], [9])
    before = copy.deepcopy(model)
    edited = rewrite(model, prompt, 1, second_moment(model, rows, 1))
    assert final_logits(edited, prompt).argmax() == 9
    assert changed_weights(model, before) == set()
    assert changed_weights(edited, before) == {"blocks.1.mlp.fc2.weight"}
