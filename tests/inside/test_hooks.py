import pytest
import torch
from helpers.small_gpts import TEXTS

from mygpt.gpt import GPT, GPTConfig
from mygpt.inside.hooks import (
    accuracy,
    changed,
    class_means,
    feed_forward,
    final_logits,
    heads,
    hidden,
    log_odds,
    make_prompts,
    mean_at,
    memory_layers,
    pattern,
    record,
)

CONFIG = GPTConfig(13, 11, 10, 2, 3, attention_only=(1,))


@pytest.fixture
def model():
    return GPT(CONFIG).eval()


def test_prompts_of_several_lengths_are_read_as_if_each_stood_alone(model):
    prompts = make_prompts(TEXTS, [0, 1, 2, 3])
    together = final_logits(model, prompts)
    alone = [model(torch.tensor([text]))[0][0, -1] for text in TEXTS]
    torch.testing.assert_close(together, torch.stack(alone))
    some = final_logits(model, prompts[torch.tensor([2, 0])])
    torch.testing.assert_close(some, together[[2, 0]])


def test_places_are_recorded(model):
    ids = torch.randint(13, (2, 5))
    assert memory_layers(model) == [0, 2]
    places = [hidden(2), feed_forward(2), heads(1), "blocks.1"]
    found = record(model, ids, places)
    assert list(found) == places
    x = model.token(ids) + model.position.weight[:5]
    x = model.blocks[1](model.blocks[0](x))
    torch.testing.assert_close(found["blocks.1"], x)
    block = model.blocks[2]
    x = x + block.mha(block.ln1(x))
    coefficients = block.mlp.act(block.mlp.fc1(block.ln2(x)))
    torch.testing.assert_close(found[hidden(2)], coefficients)
    torch.testing.assert_close(found[feed_forward(2)], block.mlp.fc2(coefficients))
    out = model.blocks[1].mha.W_O(found[heads(1)])
    before = model.blocks[0](model.token(ids) + model.position.weight[:5])
    torch.testing.assert_close(before + out, found["blocks.1"])


def test_a_change_acts_inside_and_is_gone_outside(model):
    ids = torch.randint(13, (2, 5))
    plain = model(ids)[0]
    with changed(model, {hidden(0): torch.zeros_like, heads(2): torch.zeros_like}):
        without = model(ids)[0]
    assert not torch.allclose(plain, without)
    assert torch.equal(model(ids)[0], plain)
    with (
        pytest.raises(RuntimeError, match="on the way"),
        changed(model, {hidden(0): torch.zeros_like}),
    ):
        raise RuntimeError("on the way")
    assert torch.equal(model(ids)[0], plain)


@pytest.mark.parametrize("place", [hidden(1), heads(3), "blocks.0.mlp.fc3"])
def test_an_unknown_place_is_named(model, place):
    with pytest.raises(ValueError, match=place.removesuffix(".input")):
        record(model, torch.tensor([[1]]), [place])


def test_accuracy_counts_the_answers_that_come_first(model):
    prompts = make_prompts(TEXTS, [0, 0, 0, 0])
    best = final_logits(model, prompts).argmax(-1).tolist()
    half = make_prompts(TEXTS, [best[0], best[1], best[2] - 1, best[3] - 1])
    assert accuracy(model, half) == 0.5


def test_means_are_over_every_position(model):
    rows = torch.randint(13, (600, 5))
    place = feed_forward(0)
    values = record(model, rows, [place])[place].detach()
    torch.testing.assert_close(mean_at(model, rows, place), values.mean((0, 1)))


def test_class_means_are_over_the_positions_of_a_class(model):
    rows = torch.randint(12, (600, 5))  # 12 never occurs
    classes = torch.tensor([0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 4, 4, 5])
    values = record(model, rows, [feed_forward(2)])[feed_forward(2)].detach()
    means = class_means(model, rows, feed_forward(2), classes)
    for token in range(12):
        there = classes[rows] == classes[token]
        torch.testing.assert_close(means[token], values[there].mean(0))
    assert not means[12].any()


@pytest.mark.parametrize(
    ("texts", "answers"), [([], []), ([[1], []], [1, 2]), ([[1], [2]], [1])]
)
def test_prompts_need_a_token_and_an_answer_each(texts, answers):
    with pytest.raises(ValueError, match="expected texts that are not empty"):
        make_prompts(texts, answers)


def test_log_odds():
    logits = torch.randn(4, 13)
    answers = torch.tensor([3, 0, 7, 12])
    p = logits.softmax(-1)[torch.arange(4), answers]
    torch.testing.assert_close(log_odds(logits, answers), (p / (1 - p)).log())


def test_the_pattern_of_a_layer_is_what_its_heads_read(model):
    ids = torch.randint(13, (2, 5))
    for layer in range(3):
        weights = pattern(model, ids, layer)
        assert weights.shape == (2, 2, 5, 5)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 5))
        assert (weights.triu(1) == 0).all()
        place = f"blocks.{layer}.mha"
        found = record(model, ids, [f"{place}.input", heads(layer)])
        attention = model.blocks[layer].mha
        values = attention.W_V(found[f"{place}.input"]).unflatten(-1, (2, 5))
        read = torch.einsum("bhts,bshd->bthd", weights, values).flatten(2)
        torch.testing.assert_close(read, found[heads(layer)])
