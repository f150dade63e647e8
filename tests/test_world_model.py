"""The two shipped models know the world, and their two halves do different work."""

from functools import cache

import pytest
import torch

from mygpt.editing import (
    log_odds,
    logits_without,
    matched_sets,
    rewrite,
    second_moment,
    strongest,
    written_by,
)
from mygpt.gpt import GPT
from mygpt.memory import attributions, coefficients, values
from mygpt.probes import (
    accuracy,
    class_means,
    feed_forward,
    final_logits,
    heads,
    make_prompts,
    mean_at,
)
from mygpt.world import ANSWERS, PEOPLE, THINGS
from mygpt.world_model import (
    KINDS,
    WorldModel,
    load_world_model,
    save_world_model,
    train_world_model,
    weighted_loss,
)


@cache
def loaded(kind: str) -> WorldModel:
    return load_world_model(kind)


@cache
def tasks(kind: str):
    """Trained phrasings, held-out phrasings, and 500 stories that no row held."""
    made = loaded(kind)
    facts = made.world.facts()
    trained = made.prompts([fact for fact in facts if not fact.held_out])
    held_out = made.prompts([fact for fact in facts if fact.held_out])
    return trained, held_out, made.stories(500, seed=7)


def word_classes(made: WorldModel):
    of = dict.fromkeys(PEOPLE, "person") | dict.fromkeys(THINGS, "thing")
    for (country, relation), answer in ANSWERS.items():
        of |= {country: "country", answer: relation}
    names = [of.get(word, word) for word in made.words]
    return torch.tensor([sorted(set(names)).index(name) for name in names])


@pytest.mark.parametrize("kind", KINDS)
def test_facts_held_out_phrasings_and_stories_are_known(kind):
    trained, held_out, stories = tasks(kind)
    model = loaded(kind).model
    assert sum(p.numel() for p in model.parameters()) <= 150_000
    assert len(loaded(kind).words) < 400
    assert accuracy(model, trained) >= 0.99
    assert accuracy(model, held_out) >= 0.97
    assert accuracy(model, stories) >= 0.97


def test_without_the_feed_forward_network_facts_fall_and_copying_stays():
    made = loaded("attention-first")
    trained, held_out, stories = tasks("attention-first")
    means = class_means(made.model, made.rows(400), feed_forward(1), word_classes(made))
    for prompts in (trained, held_out, stories):
        by_class = {feed_forward(1): lambda out, p=prompts: means[p.ids]}
        for changes in ({feed_forward(1): torch.zeros_like}, by_class):
            share = accuracy(made.model, prompts, changes)
            assert share >= 0.9 if prompts is stories else share <= 0.35


def test_without_the_copying_heads_copying_falls_and_facts_stay():
    made = loaded("attention-first")
    trained, held_out, stories = tasks("attention-first")
    mean = mean_at(made.model, made.rows(400), heads(1))
    changes = {heads(1): lambda out: mean.expand_as(out)}
    assert accuracy(made.model, stories, changes) <= 0.1
    assert accuracy(made.model, trained, changes) >= 0.9
    assert accuracy(made.model, held_out, changes) >= 0.9


def test_a_fact_s_five_neurons_matter_more_than_others_as_strong():
    made = loaded("attention-first")
    model = made.model
    norm = values(model, 1).norm(dim=-1)
    for prompts in tasks("attention-first")[:2]:
        before = log_odds(final_logits(model, prompts), prompts.answers)
        last = torch.arange(len(prompts)), prompts.last
        strength = coefficients(model, prompts.ids)[1][last] * norm
        chosen = strongest(attributions(model, prompts, 1), 5)
        sets = matched_sets(strength, chosen, 200, torch.Generator().manual_seed(0))
        falls = []
        for off in (chosen[None], sets):
            logits = logits_without(model, prompts, written_by(model, prompts, off))
            after = log_odds(logits, prompts.answers.expand(len(off), -1))
            falls.append(before - after)
        assert (falls[0][0] > falls[1].quantile(0.99, dim=0)).float().mean() >= 0.95


def test_a_fact_is_rewritten_and_the_others_stay():
    made = loaded("attention-first")
    facts = made.world.facts()
    moment = second_moment(made.model, made.rows(400), 1)
    new = made.encode("rome")[0]
    france = [f for f in facts if (f.country, f.relation) == ("france", "capital")]
    asked = made.prompts(france)
    once = make_prompts([made.encode(france[0].prompt)], [new])
    edited = rewrite(made.model, once, 1, moment)
    answers = final_logits(edited, asked).argmax(-1)
    assert answers[0] == new
    others = made.prompts([fact for fact in facts if fact not in france])
    assert accuracy(edited, others) >= 0.99
    assert accuracy(edited, tasks("attention-first")[2]) >= 0.99


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
    for which, moves in ((alone, False), (~alone, True)):
        model.zero_grad()
        weighted_loss(model, ids[which], kinds[which]).backward()
        gradient = model.blocks[1].mha.W_O.weight.grad
        assert bool((gradient != 0).any()) == moves


def test_a_word_that_the_world_lacks_is_named():
    with pytest.raises(ValueError, match="'atlantis' is not a word of the world"):
        loaded("ordinary").encode("the capital of atlantis is")


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be one of attention-first"):
        load_world_model("small")
