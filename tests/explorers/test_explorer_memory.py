import json

import numpy as np
import pytest
import torch
from helpers import examples
from helpers.arrays import changed
from helpers.node import in_json, in_node
from helpers.refusals import refused_settings, refuses

from mygpt.explorers.memory.widget import Memory
from mygpt.inside import hooks
from mygpt.inside import memory as measured

LENGTH, NEURONS = 7, 13
WORDS = [f"word{i % 5}" for i in range(LENGTH)]


def activations(length=LENGTH, neurons=NEURONS):
    x = np.random.default_rng(3).standard_normal((length, neurons))
    return 2 * x / (1 + np.exp(-3 * x))


def lists(neurons=NEURONS, most=5, name="text"):
    """Lists of 0 to `most` pairs, of which some have a text in common."""
    return [
        [(f"{name} {(3 * n + i) % 11}", 4.0 - n / 7 - i) for i in range(n % (most + 1))]
        for n in range(neurons)
    ]


TRIGGERS, PROMOTED = lists(), lists(most=2, name="word")


def memory(array=None, tokens=WORDS, **settings):
    settings = {"triggers": TRIGGERS, "promoted": PROMOTED} | settings
    return Memory(activations() if array is None else array, tokens, **settings)


def rounded(array):
    return [[float(f"{one:.3f}") for one in row] for row in np.asarray(array)]


def read_by_node(explorer, tmp_path):
    """What the page makes of the state: rankings, texts and numbers as written."""
    names = "data", "trigger_data", "promoted_data", "neurons", "tokens", "texts"
    given = {name: getattr(explorer, name) for name in names}
    first = """
const { neurons, tokens, texts } = given;
const numbers = (name) => new Int32Array(given[name].buffer);
const rows = tokens.map((_, token) =>
  [...numbers("data").slice(token * neurons, (token + 1) * neurons)]
    .map((one) => one / 1000));
const pairs = (name) => unpackPairs(numbers(name), neurons, texts)
  .map((list) => list.map(({ text, number }) => [text, fixed(number, 3)]));
"""
    script = """{
  shown: rows.map((row) => Array.from(row, (one) => fixed(one, 3))),
  strongest: rows.map((row) =>
    ranking(row).map((neuron) => [neuron, fixed(row[neuron], 3)])),
  triggers: pairs("trigger_data"),
  promoted: pairs("promoted_data"),
}"""
    imports = {"{ fixed }": "kit/geometry"}
    imports["{ ranking, unpackPairs }"] = "kit/parts/neurons"
    return in_node(script, given, tmp_path, imports, first)


def fixed(value):
    text = f"{abs(value):.3f}"
    return f"−{text}" if value < 0 and float(text) else text


def test_the_page_has_pythons_numbers_to_the_digits_shown(tmp_path):
    explorer = memory()
    page = read_by_node(explorer, tmp_path)
    assert page["shown"] == [[fixed(one) for one in row] for row in activations()]
    for name, given in (("triggers", TRIGGERS), ("promoted", PROMOTED)):
        written = [[[text, fixed(number)] for text, number in one] for one in given]
        assert page[name] == written
    for token in range(LENGTH):
        assert page["strongest"][token] == [
            [neuron, fixed(value)]
            for neuron, value in explorer.strongest(token, NEURONS)
        ]


def test_half_a_thousandth_and_large_numbers_are_written_as_in_python(tmp_path):
    odd = [[0.0625, -0.0625, 0.1875, 9998.9995, -9999.0, -0.0001, 1234.5675]]
    explorer = memory(odd, ["a"], triggers=[[]] * 7, promoted=[[]] * 7)
    shown = read_by_node(explorer, tmp_path)["shown"]
    assert shown == [[fixed(one) for one in odd[0]]]
    assert shown[0][0] == "0.062"


def test_the_strongest_neurons_have_the_largest_size_and_of_equals_the_first():
    explorer = memory(changed(activations(), [0.5, -2, 0, 2, -7], 3, slice(0, 5)))
    row = np.array(rounded(explorer.activations)[3])
    ten = explorer.strongest(3)
    assert len(ten) == 10
    assert ten[0] == (4, -7.0)
    assert [abs(value) for _, value in ten] == sorted(abs(row), reverse=True)[:10]
    assert all(row[neuron] == value for neuron, value in ten)
    order = [neuron for neuron, _ in ten]
    assert order.index(1) < order.index(3)
    assert explorer.strongest(3, 2) == ten[:2]
    assert len(explorer.strongest(3, 99)) == NEURONS


def test_it_opens_on_the_largest_activation_or_where_it_is_told():
    array = changed(activations(), -99, 4, 11)
    explorer = memory(array)
    assert (explorer.token, explorer.neuron) == (4, 11)
    told = memory(array, token=2)
    assert (told.token, told.neuron) == (2, told.strongest(2)[0][0])
    assert memory(array, neuron=5).neuron == 5


def test_the_state_of_a_chapter_sized_explorer_is_small():
    contexts, words = range(5 * 256), range(300)
    triggers = [
        [(f"a context of four words {c}", 1.234) for c in contexts[5 * n : 5 * n + 5]]
        for n in range(256)
    ]
    promoted = [
        [(f"word {words[(7 * n + i) % 300]}", -1.234) for i in range(5)]
        for n in range(256)
    ]
    lists = {"triggers": triggers, "promoted": promoted}
    explorer = memory(activations(24, 256), ["word"] * 24, **lists)
    assert len(explorer.texts) == 5 * 256 + 300
    state = explorer.get_state()
    for name in ("_esm", "_css", "layout"):  # files of their own beside the page
        del state[name]
    assert len(json.dumps(state, default=in_json)) < 120_000


def test_a_repeated_text_is_sent_once():
    same = [[("same", n)] for n in range(NEURONS)]
    explorer = memory(triggers=same, promoted=TRIGGERS)
    assert explorer.texts.count("same") == 1
    assert len(set(explorer.texts)) == len(explorer.texts)


def test_texts_are_not_markup_and_may_be_empty():
    odd = ["<script>alert(1)</script>", "", "", "$x_{$", "日本", "שלום", "a" * 99]
    pairs = [[(text, 1)] for text in odd]
    explorer = memory(activations(7, 7), odd, triggers=pairs, promoted=pairs)
    assert explorer.tokens == odd
    assert explorer.texts == list(dict.fromkeys(odd))
    assert explorer.still().startswith(b"\x89PNG")


# With words to write


@pytest.fixture(scope="module")
def france():
    return examples.france()


def test_it_opens_on_the_word_that_gets_most_and_its_first_neuron(france):
    made, asked, explorer = france
    assert explorer.word == made.words[asked.answers.item()] == "paris"
    best = measured.contributions(made.model, asked, 1)[0].argmax().item()
    assert explorer.neuron == best
    assert explorer.order == "adds"


@pytest.mark.parametrize("word", ["paris", "berlin", "french"])
def test_what_is_added_at_the_last_word_are_the_packages_contributions(france, word):
    made, asked, explorer = france
    answer = torch.tensor([made.words.index(word)])
    prompts = hooks.Prompts(asked.ids, asked.last, answer)
    expected = measured.contributions(made.model, prompts, 1)[0].numpy()
    added = explorer.added(word, len(explorer.tokens) - 1)
    np.testing.assert_allclose(added, expected, atol=2e-3, rtol=0)
    first = [neuron for neuron, _ in explorer.writers(word, 5, 3)]
    assert first == np.argsort(-expected)[:3].tolist()


def test_at_other_words_it_is_activation_times_promotion_by_the_norm(france):
    made, asked, explorer = france
    scores = measured.promotion(made.model, measured.values(made.model, 1)).numpy()
    divisor = measured.divisor(made.model, asked.ids)[0].numpy()
    fires = measured.coefficients(made.model, asked.ids)[1][0].numpy()
    for token in range(len(explorer.tokens)):
        for word in ("of", "is"):
            expected = fires[token] * scores[:, made.words.index(word)] / divisor[token]
            found = explorer.added(word, token)
            np.testing.assert_allclose(found, expected, atol=4e-3, rtol=0)


def test_the_nearest_have_the_largest_cosine_of_their_values(france):
    made, _, explorer = france
    values = measured.as_read(made.model, measured.values(made.model, 1)).numpy()
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    cosines = unit @ unit[37]
    for neuron, cosine in explorer.nearest(37):
        assert cosine == pytest.approx(cosines[neuron], abs=6e-3)
    others = np.delete(cosines, 37)
    assert explorer.nearest(37, 1)[0][1] == pytest.approx(others.max(), abs=6e-3)


def test_the_page_sorts_and_adds_as_python_does(france, tmp_path):
    made, _, explorer = france
    names = "data", "trigger_data", "promoted_data", "value_data", "vector_data"
    names += "tokens", "neurons", "texts", "words", "norms", "token", "neuron"
    traits = {name: getattr(explorer, name) for name in names}
    first = """
const traits = { ...given, order: "adds" };
const at = (word, token) => {
  const own = { ...traits, word, token };
  const state = memoryState({ get: (name) => own[name] });
  compute(state);
  return { ranked: state.ranked, added: state.added[0],
    rows: state.rows.map((row) => given.words[row]) };
};
const { channels, values } = memoryState({ get: (name) => traits[name] }).writing;
"""
    script = """{
  paris: at("paris", 5), of: at("of", 2),
  nearest: nearest(values, channels, 37, 5).map(([n, one]) => [n, one]),
  promoted: promotedBy(memoryState({ get: (name) => traits[name] }), 37),
}"""
    imports = {"{ memoryState, compute, nearest, promotedBy }": "memory/state"}
    page = in_node(script, traits, tmp_path, imports, first)
    for word, token in (("paris", 5), ("of", 2)):
        added = explorer.added(word, token)
        np.testing.assert_allclose(page[word]["added"], added, atol=1e-9)
        writers = [n for n, _ in explorer.writers(word, token, 20)]
        assert page[word]["ranked"][:20] == writers
        others = [one for one in explorer.words_most_added(token) if one != word]
        assert page[word]["rows"] == [word, *others[:5]]
    scores = measured.promotion(made.model, measured.values(made.model, 1))[37].numpy()
    best = np.argsort(-scores)[:5]
    assert [made.words.index(one["text"]) for one in page["promoted"]] == best.tolist()
    shown = [one["number"] for one in page["promoted"]]
    np.testing.assert_allclose(shown, scores[best], rtol=1e-3)
    np.testing.assert_allclose([one for _, one in explorer.promoted[37]], shown)
    assert [n for n, _ in page["nearest"]] == [n for n, _ in explorer.nearest(37)]


def test_the_state_with_a_small_worlds_words_is_light(france):
    explorer = france[2]
    sent = len(explorer.value_data) + len(explorer.vector_data)
    assert sent == (4 + 64 * 12 // 8) * (256 + 225)
    assert not explorer.promoted_data  # the page has what they follow from


def test_twelve_bits_lose_less_than_a_4000th_of_a_rows_largest(france):
    made, _, explorer = france
    vectors = made.model.token.embedding.weight.detach().numpy()
    error = np.abs(explorer._vectors - vectors).max(axis=1)
    assert (error <= np.abs(vectors).max(axis=1) / 4000).all()


VALUES = np.ones((NEURONS, 3))
WRITING = {"words": ["a", "b"], "values": VALUES, "vectors": np.eye(2, 3)}
BAD_WRITING = {
    "neither promoted nor values": (
        {"words": None, "values": None, "vectors": None, "promoted": None},
        "promoted must be given where values are not",
    ),
    "words alone": ({"values": None, "vectors": None}, "got no values and no vectors"),
    "no words": ({"words": None}, "must be given together.*got no words"),
    "norms alone": (
        {"words": None, "values": None, "vectors": None, "norms": [1.0] * LENGTH},
        "norms with them",
    ),
    "the same word": ({"words": ["a", "a"]}, "words must be 1 to 512 different names"),
    "few values": ({"values": np.ones((3, 3))}, r"values must have shape \[13, C\]"),
    "no channels": ({"values": np.ones((NEURONS, 0))}, r"got \(13, 0\)"),
    "flat values": ({"values": np.ones(NEURONS)}, r"got \(13,\)"),
    "other channels": ({"vectors": np.ones((2, 4))}, r"vectors must have .* \(2, 3\)"),
    "an infinite value": ({"values": VALUES * np.inf}, "values must hold finite"),
    "few norms": ({"norms": [1.0]}, r"norms must have shape \(7,\)"),
    "a norm of 0": ({"norms": [0.0] * LENGTH}, "norms must be above 0, got 0"),
    "another word": ({"word": "c"}, r"word must be one of \['a', 'b'\], got 'c'"),
    "another order": ({"order": "size"}, r"order must be one of .*got 'size'"),
}


test_an_error_says_what_is_wrong_with_what_is_written = refused_settings(
    lambda **changes: memory(**WRITING | changes), BAD_WRITING
)


def test_word_and_order_are_checked_later_too():
    explorer = memory(**WRITING, word="b")
    explorer.order = "number"
    refuses(explorer, "word must be one of", word="c")
    refuses(explorer, "order must be one of", order="")
    with pytest.raises(ValueError, match="neuron must be 0 to 12, got 13"):
        explorer.nearest(13)
    assert (explorer.word, explorer.order) == ("b", "number")
    with pytest.raises(ValueError, match="order must be one of"):
        memory(order="adds")  # to which word?


def test_values_of_nothing_but_zeros_are_no_problem():
    explorer = memory(**WRITING | {"values": np.zeros((NEURONS, 3))})
    assert explorer.nearest(0, 1) == [(1, 0.0)]
    assert not explorer.added("a", 0).any()


def test_the_still_has_the_chosen_neuron_among_the_first():
    explorer = examples.answering_memory(neuron=4)
    assert explorer.still().startswith(b"\x89PNG")


def with_pairs(pairs):
    return {"triggers": [*TRIGGERS[:3], pairs, *TRIGGERS[4:]]}


BAD = {
    "one axis": ({"array": np.zeros(5)}, r"shape \[T, N\].*got \(5,\)"),
    "no token": ({"array": np.zeros((0, 5))}, r"T from 1 to 64.*got \(0, 5\)"),
    "long": ({"array": np.zeros((65, 5))}, r"got \(65, 5\)"),
    "wide": ({"array": np.zeros((2, 1025))}, r"N from 1 to 1024, got \(2, 1025\)"),
    "no neuron": ({"array": np.zeros((2, 0))}, r"got \(2, 0\)"),
    "NaN": (
        {"array": changed(activations(), np.nan, 2, 3)},
        "activations must hold finite numbers, got nan at index 2, 3",
    ),
    "large": ({"array": changed(activations(), -1e4, 2, 3)}, "±9999, got -10000"),
    "few tokens": ({"tokens": WORDS[1:]}, "tokens must be 7 strings, got 6"),
    "few lists": (
        {"triggers": TRIGGERS[1:]},
        "triggers must hold a list of pairs for each of 13 neurons, got 12",
    ),
    "no lists": ({"promoted": 3}, "promoted must hold a list of pairs"),
    "nine pairs": (with_pairs([("a", 1)] * 9), r"triggers\[3\].*8 pairs.*got 9 of"),
    "neither promoted nor values": (
        {"words": None, "values": None, "vectors": None, "promoted": None},
        "promoted must be given where values are not",
    ),
    "words alone": (with_pairs(["fox"]), r"triggers\[3\] must be up to 8 pairs"),
    "no list": (with_pairs(None), r"triggers\[3\] must be up to 8.*got None"),
    "numbers first": (with_pairs([(1, 2)]), r"triggers\[3\].*got \(1, 2.0\)"),
    "infinite": (with_pairs([("a", float("inf"))]), r"within ±9999, got \('a', inf\)"),
    "NaN pair": (with_pairs([("a", float("nan"))]), r"got \('a', nan\)"),
    "token": ({"token": 7}, "token must be 0 to 6, got 7"),
    "neuron": ({"neuron": -1}, "neuron must be 0 to 12, got -1"),
}


test_an_error_says_what_was_expected_and_what_came = refused_settings(memory, BAD)


def test_later_settings_are_checked_too():
    explorer = memory(token=1)
    refuses(explorer, "token must be 0 to 6, got 7", token=7)
    with pytest.raises(ValueError, match="token must be 0 to 6, got -1"):
        explorer.strongest(-1)
    with pytest.raises(ValueError, match="count must be at least 1, got 0"):
        explorer.strongest(0, 0)
    assert explorer.token == 1
