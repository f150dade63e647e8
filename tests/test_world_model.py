"""The two shipped models know the world, and their two halves do different work."""

import random
from functools import cache

import pytest
import torch

from mygpt.editing import rewrite, second_moment
from mygpt.gpt import GPT
from mygpt.probes import (
    accuracy,
    class_means,
    feed_forward,
    final_logits,
    heads,
    make_prompts,
    mean_at,
)
from mygpt.relearning import relearned
from mygpt.world import ANSWERS
from mygpt.world_model import (
    SHIPPED,
    WorldModel,
    load_world_model,
    save_world_model,
    train_world_model,
    weighted_loss,
)

FRESH_SEEDS = (41, 42, 43)  # trained in the slow test; none was looked at before


@cache
def loaded(kind: str, seed: int | None = None) -> WorldModel:
    """The shipped model, or one trained from a seed."""
    if seed is None:
        return load_world_model(kind)
    return train_world_model(kind, seed, progress=False)


def models(*kinds):
    """The shipped models of those kinds; slow, three fresh ones of each as well."""
    fresh = [
        pytest.param(kind, seed, marks=pytest.mark.slow)
        for kind in kinds
        for seed in FRESH_SEEDS
    ]
    return pytest.mark.parametrize(
        ("kind", "seed"), [*((kind, None) for kind in kinds), *fresh]
    )


@cache
def tasks(made: WorldModel):
    """Trained phrasings, held-out phrasings, and 500 stories that no row held."""
    facts = made.world.facts()
    trained = made.prompts([fact for fact in facts if not fact.held_out])
    held_out = made.prompts([fact for fact in facts if fact.held_out])
    return trained, held_out, made.stories(500, seed=7)


@models(*SHIPPED)
def test_facts_held_out_phrasings_and_stories_are_known(kind, seed):
    made = loaded(kind, seed)
    trained, held_out, stories = tasks(made)
    assert sum(p.numel() for p in made.model.parameters()) <= 150_000
    assert len(made.words) < 400
    assert accuracy(made.model, trained) >= 0.99
    assert accuracy(made.model, held_out) >= 0.97
    assert accuracy(made.model, stories) >= 0.97


@models("attention-first")
def test_without_the_feed_forward_network_facts_are_lost_and_copying_stays(kind, seed):
    made = loaded(kind, seed)
    means = class_means(made.model, made.rows(400), feed_forward(1), made.classes())
    *facts, stories = tasks(made)
    for prompts in (*facts, stories):
        by_class = {feed_forward(1): lambda out, p=prompts: means[p.ids]}
        for changes in ({feed_forward(1): torch.zeros_like}, by_class):
            share = accuracy(made.model, prompts, changes)
            assert share >= 0.9 if prompts is stories else share <= 0.35


@models("attention-first")
def test_the_rest_of_the_model_names_no_capital(kind, seed):
    """A new network that learns 30 countries names no capital of the other 10."""
    made = loaded(kind, seed)
    asked = made.prompts(made.world.facts())
    learned = torch.arange(640) // 16 % 4 < 3
    capital = torch.arange(640) // 4 % 4 == 0
    copied = relearned(made.model, asked[learned])
    assert accuracy(copied, asked[learned]) >= 0.99
    assert accuracy(copied, asked[capital & ~learned]) <= 0.05
    trained_words = loaded("ordinary")  # whose word vectors are trained
    copied = relearned(trained_words.model, asked[learned])
    assert accuracy(copied, asked[capital & ~learned]) >= 0.9


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


@models("attention-first")
def test_without_the_copying_heads_copying_falls_and_facts_stay(kind, seed):
    made = loaded(kind, seed)
    trained, held_out, stories = tasks(made)
    mean = mean_at(made.model, made.rows(400), heads(1))
    changes = {heads(1): lambda out: mean.expand_as(out)}
    assert accuracy(made.model, stories, changes) <= 0.1
    assert accuracy(made.model, trained, changes) >= 0.9
    assert accuracy(made.model, held_out, changes) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("seed", FRESH_SEEDS)
def test_without_the_nudge_facts_need_the_copying_heads(seed):
    made = train_world_model("attention-first", seed, progress=False, nudge=False)
    facts, stories = tasks(made)[0], tasks(made)[2]
    assert accuracy(made.model, facts) >= 0.99
    assert accuracy(made.model, stories) >= 0.97
    mean = mean_at(made.model, made.rows(400), heads(1))
    changes = {heads(1): lambda out: mean.expand_as(out)}
    assert accuracy(made.model, facts, changes) <= 0.5


@models("attention-first")
def test_facts_are_rewritten_and_the_others_stay(kind, seed):
    """Every eighth fact of the shipped model, all of the fresh ones."""
    made = loaded(kind, seed)
    model, facts = made.model, made.world.facts()
    asked, stories = made.prompts(facts), tasks(made)[2]
    moment = second_moment(model, made.rows(400), 1)
    draw = random.Random(1)
    scores = {"prompt": [], "phrasings": [], "same country": [], "others": []}
    for country, relation in list(ANSWERS)[:: 8 if seed is None else 1]:
        answers = {a for (_, r), a in ANSWERS.items() if r == relation}
        answers = sorted(answers - {ANSWERS[country, relation]})
        new = made.encode([draw.choice(answers)])[0]
        mine = [f.country == country and f.relation == relation for f in facts]
        there = [f.country == country for f in facts]
        mine, there = torch.tensor(mine), torch.tensor(there)
        once = make_prompts([made.encode(facts[mine.nonzero()[0]].prompt)], [new])
        edited = rewrite(model, once, 1, moment)
        found = final_logits(edited, asked).argmax(-1)
        right = (found == asked.answers).float()
        changed = (found == new)[mine].float()
        scores["prompt"].append(changed[0])
        scores["phrasings"].append(changed[1:].mean())
        scores["same country"].append(right[there & ~mine].mean())
        scores["others"].append(right[~there].mean())
    assert accuracy(edited, stories) >= 0.99
    means = {name: torch.stack(found).mean() for name, found in scores.items()}
    assert means["prompt"] >= 0.95
    assert means["phrasings"] >= 0.8
    assert means["same country"] >= 0.85
    assert means["others"] >= 0.95


def test_a_model_is_saved_in_sixteen_bits_and_comes_back_the_same(
    tmp_path, monkeypatch
):
    made = train_world_model("ordinary", 3, steps=2, num_rows=300, progress=False)
    again = train_world_model("ordinary", 3, steps=2, num_rows=300, progress=False)
    path = tmp_path / "world-ordinary.safetensors"
    save_world_model(made, "ordinary", 3, path)
    assert path.stat().st_size < 250_000
    monkeypatch.setattr("mygpt.world_model.FOLDER", tmp_path)
    back = load_world_model("ordinary")
    assert back.words == made.words
    for one in (again, back):
        for name, tensor in made.model.state_dict().items():
            assert torch.equal(one.model.state_dict()[name], tensor)


def test_rows_of_facts_alone_are_read_without_the_second_attention():
    made = loaded("attention-first")
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
    made = loaded("ordinary")
    of = dict(zip(made.words, made.classes().tolist(), strict=True))
    assert of["kenya"] == of["peru"] != of["lima"] == of["paris"] != of["peso"]
    assert of["peso"] == of["euro"] != of["europe"] == of["asia"] != of["urdu"]
    assert of["mia"] == of["leo"] != of["lamp"] == of["drum"] != of["is"] != of["."]
    known = {"kenya", "lima", "peso", "asia", "urdu", "mia", "lamp"}
    others = [n for n in of.values() if n not in {of[word] for word in known}]
    assert len(set(others)) == len(others) > 20


def test_a_word_unknown_to_the_world_is_named():
    with pytest.raises(ValueError, match="'atlantis' is not a word of the world"):
        loaded("ordinary").encode("the capital of atlantis is")


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be one of attention-first"):
        load_world_model("small")
