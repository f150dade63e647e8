"""The two shipped models know the world; test_experiments.py asks how they know it."""

import math

import pytest
import torch
from helpers.parameters import changed_weights, count

from mygpt.gpt import GPT
from mygpt.inside.hooks import accuracy
from mygpt.inside.world_models import (
    SHIPPED,
    decay_tall_matrices,
    load_world_model,
    save_world_model,
    train_world_model,
    weighted_loss,
)
from mygpt.training import Muon


def test_the_recipe_keeps_the_decay_that_the_shipped_models_were_trained_with():
    """0.1 times the rate, which Muon once raised by √(rows / columns), too."""
    tall = torch.nn.Parameter(torch.ones(4, 1))
    wide = torch.nn.Parameter(torch.ones(3, 3))
    muon = Muon([tall, wide], lr=0.5, weight_decay=0.1)
    decay_tall_matrices(muon)
    for p in (tall, wide):
        p.grad = torch.zeros_like(p)
    muon.step()
    assert tall[0].item() == pytest.approx(1 - 0.5 * math.sqrt(4) * 0.1)
    assert wide[0, 0].item() == pytest.approx(1 - 0.5 * 0.1)


@pytest.mark.parametrize("kind", SHIPPED)
def test_facts_held_out_phrasings_and_stories_are_known(kind):
    made = load_world_model(kind)
    facts = made.world.facts()
    trained = made.prompts([fact for fact in facts if not fact.held_out])
    held_out = made.prompts([fact for fact in facts if fact.held_out])
    assert count(made.model) <= 150_000
    assert len(made.words) < 400
    assert accuracy(made.model, trained) >= 0.99
    assert accuracy(made.model, held_out) >= 0.97
    assert accuracy(made.model, made.stories(500, seed=7)) >= 0.97


def test_the_words_of_the_first_model_stay_as_they_were_drawn():
    options = {"steps": 3, "num_rows": 200, "progress": False}
    for kind, same in (("attention-first", True), ("ordinary", False)):
        drawn = train_world_model(kind, 5, **options | {"steps": 0})
        made = train_world_model(kind, 5, **options)
        words = [one.model.token.embedding.weight for one in (drawn, made)]
        assert torch.equal(*words) == same
        assert made.model.token.embedding.weight.requires_grad
    assert (
        load_world_model().model.token.embedding.weight.std().item()
        == pytest.approx(0.15, rel=0.02)
    )


def test_a_model_is_saved_in_sixteen_bits_and_comes_back(tmp_path, monkeypatch):
    made = train_world_model("ordinary", 3, steps=2, num_rows=300, progress=False)
    again = train_world_model("ordinary", 3, steps=2, num_rows=300, progress=False)
    path = tmp_path / "world-ordinary.safetensors"
    save_world_model(made, "ordinary", 3, path)
    assert path.stat().st_size < 250_000
    monkeypatch.setattr("mygpt.inside.world_models.FOLDER", tmp_path)
    back = load_world_model("ordinary")
    assert back.words == made.words
    for one in (again, back):
        assert changed_weights(made.model, one.model) == set()


def test_rows_of_facts_alone_are_read_without_the_second_attention():
    made = load_world_model("attention-first")
    rows = list(made.world.rows(60, seed=5))
    ids = torch.tensor([made.encode(words) for words, _ in rows])
    kinds = torch.tensor([kinds for _, kinds in rows])
    alone = (kinds <= 1).all(1)
    assert 0 < alone.sum() < 60
    model = GPT(made.model.config)
    cases = ((alone, True, False), (alone, False, True), (~alone, True, True))
    for which, nudge, moves in cases:
        model.zero_grad()
        weighted_loss(model, ids[which], kinds[which], nudge).backward()
        gradient = model.blocks[1].mha.W_O.weight.grad
        assert bool((gradient != 0).any()) == moves


def test_words_of_one_part_in_the_world_are_one_class():
    made = load_world_model("ordinary")
    of = dict(zip(made.words, made.classes().tolist(), strict=True))
    assert of["kenya"] == of["peru"] != of["lima"] == of["paris"] != of["peso"]
    assert of["peso"] == of["euro"] != of["europe"] == of["asia"] != of["urdu"]
    assert of["mia"] == of["leo"] != of["lamp"] == of["drum"] != of["is"] != of["."]
    known = {"kenya", "lima", "peso", "asia", "urdu", "mia", "lamp"}
    others = [n for n in of.values() if n not in {of[word] for word in known}]
    assert len(set(others)) == len(others) > 20


def test_a_word_unknown_to_the_world_is_named():
    with pytest.raises(ValueError, match="'atlantis' is not a word of the world"):
        load_world_model("ordinary").encode("the capital of atlantis is")


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be one of attention-first"):
        load_world_model("small")
