import hashlib
from collections import Counter
from itertools import combinations
from random import Random

import pytest
from helpers.programs import run_python
from hypothesis import given, settings
from hypothesis import strategies as st

from mygpt.world import corpus
from mygpt.world.corpus import CHANT, COPY, FACT, OTHER, STOP, World, draw

TEXT_SHA256 = "bd172fe693fc568e874bb14d4d770aec9d221d6cb7a801b0e2f51a7a7cf2f555"


def sentences(words):
    """The words between full stops."""
    return [tuple(s.split()) for s in " ".join(words).split(STOP) if s.split()]


def as_sentence(fact):
    return fact.words[:-1]


def roles():
    columns = zip(*map(str.split, corpus.COUNTRIES.strip().splitlines()), strict=True)
    phrases = (p for four in corpus.PHRASINGS.values() for p in four)
    return {
        **dict(zip(("country", *corpus.RELATIONS), map(set, columns), strict=True)),
        "person": set(corpus.PEOPLE),
        "thing": set(corpus.THINGS),
        "sentence": {w for p in phrases for w in p.split() if w != "{}"} | {STOP},
    }


def test_the_world_has_40_countries_with_four_facts_in_four_phrasings_each():
    facts = World().facts()
    assert len(facts) == 640
    assert len({f.country for f in facts}) == len({f.words for f in facts}) // 16 == 40
    capitals = [f.answer for f in facts if f.relation == "capital"]
    assert set(Counter(capitals).values()) == {4}


def test_some_facts_that_everybody_can_check():
    said = {" ".join(f.words) for f in World().facts()}
    assert "the capital of australia is canberra ." in said
    assert "people in brazil speak portuguese ." in said
    assert "shops in poland take the zloty ." in said
    assert "kenya is a country in africa ." in said


@pytest.mark.parametrize(
    ("relation", "answer", "countries"),
    [
        ("currency", "peso", "cuba chile colombia"),
        ("currency", "krone", "norway denmark"),
        ("language", "arabic", "iraq egypt morocco"),
        ("language", "german", "germany austria"),
        ("continent", "oceania", "australia samoa"),
        (
            "currency",
            "euro",
            "france germany spain italy portugal greece austria ireland finland",
        ),
    ],
)
def test_the_countries_that_share_an_answer(relation, answer, countries):
    facts = [f for f in World().facts() if (f.relation, f.phrasing) == (relation, 0)]
    assert [f.country for f in facts if f.answer == answer] == countries.split()


def test_no_word_has_two_roles():
    for (one, words), (other, others) in combinations(roles().items(), 2):
        assert not words & others, f"{one} and {other}"
    assert World().words == tuple(sorted(set().union(*roles().values())))
    assert all(w == STOP or (w.isascii() and w.islower()) for w in World().words)
    assert len(corpus.PEOPLE) == len(set(corpus.PEOPLE)) == 30
    assert len(corpus.THINGS) == len(set(corpus.THINGS)) == 30


def test_a_fact_knows_its_prompt_and_its_answer():
    (fact,) = (
        f
        for f in World().facts()
        if (f.country, f.relation, f.phrasing) == ("japan", "language", 2)
    )
    assert fact.prompt == (".", "people", "in", "japan", "speak")
    assert fact.answer == "japanese"
    assert fact.kinds == (OTHER, OTHER, OTHER, OTHER, FACT, OTHER)


def test_half_of_the_facts_have_one_phrasing_held_out():
    for seed in (0, 1, 2):
        held_out = [f for f in World(seed).facts() if f.held_out]
        assert len(held_out) == len({(f.country, f.relation) for f in held_out}) == 80
    zero, one = ([f.held_out for f in World(seed).facts()] for seed in (0, 1))
    assert zero != one


def test_rows_hold_every_other_phrasing_and_never_a_held_out_one():
    tiny = World(3)
    said = {s for words, _ in tiny.rows(2000, seed=5) for s in sentences(words)}
    for fact in tiny.facts():
        assert (as_sentence(fact) in said) is not fact.held_out
    phrasings = {(f.relation, f.phrasing) for f in tiny.facts() if not f.held_out}
    assert len(phrasings) == 16


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_a_row_is_65_words_in_whole_sentences(seed):
    tiny = World(1)
    words, kinds = tiny.row(Random(seed))
    assert len(words) == len(kinds) == corpus.ROW_LENGTH
    assert words[0] == words[-1] == STOP
    assert set(words) <= set(tiny.words)
    facts = {as_sentence(f) for f in tiny.facts() if not f.held_out}
    rest = [s for s in sentences(words) if s not in facts]
    assert len(set(map(len, rest))) <= 1
    assert {w for s in rest for w in s} <= {*corpus.PEOPLE, *corpus.THINGS}


def test_the_kinds_of_rows_have_their_shares():
    rows = list(World().rows(3000, seed=1))
    share = {
        kind: sum(kind in kinds for _, kinds in rows) / len(rows)
        for kind in (FACT, COPY, CHANT)
    }
    assert share[FACT] == 1
    assert abs(share[COPY] - 0.45) < 0.03
    assert abs(share[CHANT] - 0.45) < 0.03


def test_a_marked_fact_is_the_answer_of_its_sentence():
    answers = {f.words[:-2]: f.answer for f in World().facts()}
    for words, kinds in World().rows(50, seed=2):
        start = 1
        for i, (word, kind) in enumerate(zip(words, kinds, strict=True)):
            if kind == FACT:
                assert answers[tuple(words[start:i])] == word
            start = i + 1 if word == STOP else start


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 7), st.integers(1, 11))
def test_a_story_tells_each_answer_once_before_it_asks(seed, pairs, queries):
    story = World.story(Random(seed), pairs, queries)
    assert len(story.words) == 3 * (pairs + queries)
    told = {}
    for i, (person, thing) in enumerate(sentences(story.words)):
        assert (person in told) is (i >= pairs)
        assert told.setdefault(person, thing) == thing
        asked = COPY if i >= pairs else OTHER
        assert story.kinds[3 * i : 3 * i + 3] == (OTHER, asked, OTHER)
    assert len(set(told.values())) == pairs
    assert story.prompt == (STOP, *story.words[:-2])
    assert told[story.prompt[-1]] == story.answer


def test_a_story_asks_for_every_pair_before_it_asks_again():
    for seed in range(20):
        asked = sentences(World.story(Random(seed), 5, 13).words)[5:]
        assert len(set(asked[:5])) == len(set(asked[5:10])) == 5
        assert len(set(asked[10:])) == 3


@pytest.mark.parametrize(("pairs", "queries"), [(0, 1), (31, 1), (3, 0)])
def test_an_impossible_story_is_refused(pairs, queries):
    with pytest.raises(ValueError, match=f"1 to 30 pairs.*got {pairs} and {queries}"):
        World.story(Random(0), pairs, queries)


def test_people_and_things_are_paired_uniformly():
    rng = Random(11)
    pairs = Counter(
        pair
        for _ in range(9000)
        for pair in sentences(World.story(rng, 3, 1).words)[:3]
    )
    expected = 27000 / 900
    chi_squared = sum((pairs[pair] - expected) ** 2 / expected for pair in pairs)
    assert len(pairs) == 900
    assert 700 < chi_squared < 1100  # 899 ± 42 where all are equally likely


def test_a_draw_gives_every_order_equally_often():
    rng = Random(13)
    orders = Counter(tuple(draw(rng, "abcd", 3)) for _ in range(12000))
    assert len(orders) == 24
    assert all(abs(count - 500) < 110 for count in orders.values())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_a_chant_repeats_its_first_line(seed):
    chant = World.chant(Random(seed))
    lines = sentences(chant.words)
    assert len(lines) >= 2
    assert len(set(lines)) == 1
    assert 3 <= len(set(lines[0])) == len(lines[0]) <= 8
    assert 18 <= len(chant.words) <= 46
    period = len(lines[0]) + 1
    for i, (word, kind) in enumerate(zip(chant.words, chant.kinds, strict=True)):
        assert (kind == CHANT) is (i > period and word != STOP)


def test_a_text_is_its_rows_without_the_full_stop_that_opens_them():
    text = World().text(7, seed=3)
    rows = [words for words, _ in World().rows(7, seed=3)]
    assert [line.split() for line in text.splitlines()] == [r[1:] for r in rows]


def test_the_seeds_of_world_and_text_both_matter():
    texts = {World(w).text(5, seed=s) for w in (0, 1) for s in (0, 1)}
    assert len(texts) == 4
    assert World(1).text(5, seed=1) in texts
    assert World().text(5, seed=1).startswith(World().text(2, seed=1))


def test_a_seed_gives_the_same_text_everywhere():
    text = World(5).text(97, seed=7)
    assert hashlib.sha256(text.encode()).hexdigest() == TEXT_SHA256


def test_the_world_needs_nothing_but_the_standard_library():
    path = corpus.__file__
    code = f"import runpy; print(runpy.run_path({path!r})['World']().text(3))"
    out = run_python("-I", "-S", "-c", code).stdout
    assert out.strip() == World().text(3).strip()
