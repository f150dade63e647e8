import pytest
import torch
import torch.nn.functional as F
from helpers.small_gpts import random_gpt

from mygpt.gpt import GPT, GPTConfig
from mygpt.inside import memory
from mygpt.inside.hooks import final_logits, hidden, make_prompts, record
from mygpt.inside.memory import (
    agreement,
    coefficients,
    contributions,
    keys,
    logit_lens,
    patched,
    patterns,
    promoted,
    promotion,
    stream_parts,
    triggers,
    values,
)

CONFIG = GPTConfig(13, 11, 10, 2, 2)


@pytest.fixture(params=[(), (0,)], ids=["whole", "attention first"])
def model(request):
    return random_gpt(attention_only=request.param)


def test_a_network_is_coefficients_times_values(model):
    mlp = model.blocks[1].mlp
    x = torch.randn(3, 10)
    coefficient = F.gelu(x @ keys(model, 1).T + mlp.fc1.bias, approximate="tanh")
    found = coefficient @ values(model, 1) + mlp.fc2.bias
    torch.testing.assert_close(found, mlp(x[None])[0])


def test_coefficients_are_those_of_every_network(model):
    ids = torch.randint(13, (2, 5))
    found = coefficients(model, ids)
    assert list(found) == ([1] if model.config.attention_only else [0, 1])
    for layer, numbers in found.items():
        expected = record(model, ids, [hidden(layer)])[hidden(layer)]
        assert torch.equal(numbers, expected.detach())


def test_a_layer_without_a_network_is_refused():
    model = GPT(GPTConfig(13, 11, 10, 2, 2, attention_only=(0,)))
    for layer in (0, 2, -1):
        with pytest.raises(ValueError, match=rf"among \[1\]; got {layer}"):
            keys(model, layer)


def test_promotion_is_the_change_of_the_scores_up_to_the_norms_factor(model):
    stream, vector = torch.randn(2, 10, dtype=torch.float64)
    model.double()

    def logits(scale):
        return model.logits(model.ln_f(stream + scale * vector))

    # In directions that keep the standard deviation, nothing else changes.
    centred = stream - stream.mean()
    vector = vector - centred * ((vector @ centred) / (centred @ centred))
    (slope,) = torch.autograd.functional.jacobian(logits, (torch.zeros(()).double(),))
    std = (stream.var(correction=0) + model.ln_f.eps).sqrt()
    torch.testing.assert_close(slope, promotion(model, vector) / std)


def test_promoted_tokens_come_in_order(model, monkeypatch):
    monkeypatch.setattr(memory, "AT_ONCE", 7)
    scores, tokens = promoted(model, 1, count=4)
    every = promotion(model, values(model, 1))
    best = every.topk(4)
    torch.testing.assert_close(scores, best.values)
    torch.testing.assert_close(every.gather(1, tokens), scores)


def test_triggers_are_the_strongest_places_with_different_texts(model, monkeypatch):
    rows = torch.randint(3, (23, 7))  # three words: texts recur
    whole = triggers(model, rows, 1, count=5, context=2)
    monkeypatch.setattr("mygpt.inside.hooks.POSITIONS", 30)  # parts of four rows
    parts = triggers(model, rows, 1, count=5, context=2)
    every = record(model, rows, [hidden(1)])[hidden(1)].detach()
    seen, first = set(), torch.zeros(23, 7, dtype=torch.bool)
    for n, t in torch.cartesian_prod(torch.arange(23), torch.arange(7)).tolist():
        text = tuple(rows[n, max(0, t - 1) : t + 1].tolist())
        first[n, t] = text not in seen
        seen.add(text)
    assert len(seen) == first.sum() == 12
    for found in (whole, parts):
        best = every[first].topk(5, dim=0).values.T
        torch.testing.assert_close(found.strength, best)
        there = every[found.row, found.position, torch.arange(40)[:, None]]
        torch.testing.assert_close(there, found.strength)
        assert first[found.row, found.position].all()


def test_triggers_of_a_corpus_of_few_positions_are_all_of_them(model):
    found = triggers(model, torch.tensor([[1, 2, 3]]), 1, count=10)
    assert found.strength.shape == (40, 3)
    assert sorted(found.position[0].tolist()) == [0, 1, 2]


def test_the_pattern_is_the_token_that_most_triggers_share():
    rows = torch.tensor([[5, 1, 9], [5, 2, 9], [7, 3, 9], [5, 4, 0]])
    place = memory.Triggers(
        strength=torch.ones(2, 4),
        row=torch.tensor([[0, 1, 2, 3], [0, 1, 2, 3]]),
        position=torch.tensor([[2, 2, 2, 2], [1, 1, 1, 1]]),
    )
    found = patterns(place, rows)
    assert found.share.tolist() == [0.75, 0.75]
    assert found.token.tolist() == [9, 5]
    assert found.back.tolist() == [0, 1]
    assert patterns(place, rows, reach=0).share.tolist() == [0.75, 0.25]


def test_agreement_counts_values_that_promote_what_follows():
    model = GPT(CONFIG)
    rows = torch.tensor([[1, 2, 3], [4, 5, 6]])
    first = promoted(model, 0, count=1)[1][:, 0]
    row = (torch.arange(40) % 2)[:, None]
    place = memory.Triggers(torch.ones(40, 1), row, torch.ones_like(row))
    expected = (first == rows[row[:, 0], 2]).float().mean()
    assert agreement(model, rows, 0, place) == expected
    at_end = memory.Triggers(torch.ones(40, 1), row, row + 1)  # half of them at 2
    expected = (first[::2] == 3).float().mean()
    assert agreement(model, rows, 0, at_end) == expected


def test_the_logit_lens_ends_at_the_models_own_scores(model, prompts):
    lens = logit_lens(model, prompts)
    first = [] if model.config.attention_only else ["feed-forward 0"]
    names = ["embeddings", "attention 0", *first, "attention 1", "feed-forward 1"]
    assert list(lens) == names
    torch.testing.assert_close(lens["feed-forward 1"], final_logits(model, prompts))
    x = model.token(prompts.ids) + model.position.weight[:5]
    start = model.logits(model.ln_f(x))[torch.arange(4), prompts.last]
    torch.testing.assert_close(lens["embeddings"], start.detach())


def test_contributions_and_the_rest_of_the_stream_add_up_to_the_score(model, prompts):
    model.double()
    found = contributions(model, prompts, 1).sum(-1)
    stream = record(model, prompts.ids, ["ln_f.input", "blocks.1.mlp"])
    at = torch.arange(4), prompts.last
    whole, out = stream["ln_f.input"][at], stream["blocks.1.mlp"][at]
    rest = whole - out + model.blocks[1].mlp.fc2.bias
    std = (whole.var(-1, correction=0, keepdim=True) + model.ln_f.eps).sqrt()
    normed = (rest - rest.mean(-1, keepdim=True)) / std * model.ln_f.weight
    other = model.logits(normed + model.ln_f.bias).gather(1, prompts.answers[:, None])
    score = final_logits(model, prompts).gather(1, prompts.answers[:, None])
    torch.testing.assert_close(found + other[:, 0].detach(), score[:, 0])


def test_the_parts_of_a_model_add_up_to_its_stream(model, prompts):
    places = stream_parts(model)
    alone = bool(model.config.attention_only)
    assert len(places) == (4 if alone else 5)
    total = 0
    for name, (added, stream) in places.items():
        found = record(model, prompts.ids, [added, stream])
        total = total + found[added]
        torch.testing.assert_close(total, found[stream], msg=name)
    final = record(model, prompts.ids, ["ln_f.input"])["ln_f.input"]
    torch.testing.assert_close(total, final)


def test_a_patch_puts_the_donors_stream_in_place(model):
    """By hand, from the embeddings on: the donor's vector at one position of each."""
    prompts = make_prompts([[1, 2, 3, 4], [5, 6, 7]], [0, 0])
    donors = make_prompts([[1, 8, 3, 4], [5, 6, 9]], [0, 0])
    position = torch.tensor([1, 2])
    found = patched(model, prompts, donors, position)
    at = torch.arange(2), position

    def stream(texts):
        T = texts.ids.shape[1]
        return (model.token(texts.ids) + model.position.weight[:T]).detach()

    own, other = stream(prompts), stream(donors)
    expected = {}
    for i, block in enumerate([None, *model.blocks]):
        if block is not None:
            own, other = block(own), block(other)
        put = own.index_put(at, other[at])
        for rest in model.blocks[i:]:
            put = rest(put)
        logits = model.logits(model.ln_f(put))[torch.arange(2), prompts.last]
        last = list(stream_parts(model))[-1]
        where = {0: "embeddings", 2: last}.get(i)
        expected[where] = logits
    for name in ("embeddings", last):
        torch.testing.assert_close(found[name], expected[name])
    # At the last position of all, nothing reads the patch but the last norm.
    torch.testing.assert_close(found[last][0], final_logits(model, prompts)[0])
    torch.testing.assert_close(found[last][1], final_logits(model, donors)[1])


def test_a_patch_after_attention_is_read_by_the_network_alone(model):
    prompts, donors = make_prompts([[1, 2]], [0]), make_prompts([[3, 4]], [0])
    found = patched(model, prompts, donors, torch.tensor([1]))["attention 1"]
    place = "blocks.1.ln2.input"
    other = record(model, donors.ids, [place])[place]
    stream = other + model.blocks[1].mlp(model.blocks[1].ln2(other))
    expected = model.logits(model.ln_f(stream))[:, 1]
    torch.testing.assert_close(found, expected.detach())


def test_donors_of_another_shape_are_refused(model, prompts):
    donors = make_prompts([[1, 2]], [0])
    with pytest.raises(ValueError, match=r"donors of shape \(4, 5\).* got \(1, 2\)"):
        patched(model, prompts, donors, prompts.last)
