import base64
import json

import numpy as np
import pytest
from helpers.arrays import changed
from helpers.node import in_node

from mygpt.explorers.memory.widget import Memory

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
    names = ("data", "trigger_data", "promoted_data")
    given = {name: np.frombuffer(getattr(explorer, name), "<f4") for name in names}
    given = {name: numbers.tolist() for name, numbers in given.items()}
    given |= {name: getattr(explorer, name) for name in ("neurons", "tokens", "texts")}
    first = """
const { data, neurons, tokens, texts } = given;
const rows = tokens.map((_, token) =>
  Float32Array.from(data.slice(token * neurons, (token + 1) * neurons)));
const pairs = (name) => unpackPairs(Float32Array.from(given[name]), neurons, texts)
  .map((list) => list.map(({ text, number }) => [text, fixed(number, 3)]));
"""
    script = """{
  shown: rows.map((row) => Array.from(row, (one) => fixed(one, 3))),
  strongest: rows.map((row) =>
    ranking(row).map((neuron) => [neuron, fixed(row[neuron], 3)])),
  triggers: pairs("trigger_data"),
  promoted: pairs("promoted_data"),
}"""
    imports = {"{ fixed }": "kit/geometry", "{ ranking, unpackPairs }": "kit/neurons"}
    return in_node(script, given, tmp_path, imports, first)


def fixed(value):
    text = f"{abs(value):.3f}"
    return f"−{text}" if value < 0 and float(text) else text


def test_the_page_has_pythons_numbers_to_the_digits_shown(tmp_path):
    explorer = memory()
    page = read_by_node(explorer, tmp_path)
    assert page["shown"] == [[fixed(one) for one in row] for row in activations()]
    for name, given in (("triggers", TRIGGERS), ("promoted", PROMOTED)):
        assert page[name] == [
            [[text, fixed(number)] for text, number in pairs] for pairs in given
        ]
    for token in range(LENGTH):
        assert page["strongest"][token] == [
            [neuron, fixed(value)]
            for neuron, value in explorer.strongest(token, NEURONS)
        ]


def test_half_a_thousandth_and_large_numbers_are_written_as_python_writes_them(
    tmp_path,
):
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
    assert {"token", "neuron", "texts", "description"} <= set(told.get_state())


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
    explorer = memory(
        activations(24, 256), ["word"] * 24, triggers=triggers, promoted=promoted
    )
    assert len(explorer.texts) == 5 * 256 + 300
    state = {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in explorer.get_state().items()
        if name not in ("_esm", "_css", "layout")  # files of their own beside the page
    }
    assert len(json.dumps(state)) < 120_000


def test_a_repeated_text_is_sent_once():
    explorer = memory(
        triggers=[[("same", n)] for n in range(NEURONS)], promoted=TRIGGERS
    )
    assert explorer.texts.count("same") == 1
    assert len(set(explorer.texts)) == len(explorer.texts)


def test_texts_are_not_markup_and_may_be_empty():
    odd = ["<script>alert(1)</script>", "", "", "$x_{$", "日本", "שלום", "a" * 99]
    pairs = [[(text, 1)] for text in odd]
    explorer = memory(activations(7, 7), odd, triggers=pairs, promoted=pairs)
    assert explorer.tokens == odd
    assert explorer.texts == list(dict.fromkeys(odd))
    assert explorer.still().startswith(b"\x89PNG")
    assert "innerHTML" not in explorer._esm


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
    "words alone": (with_pairs(["fox"]), r"triggers\[3\] must be up to 8 pairs"),
    "no list": (with_pairs(None), r"triggers\[3\] must be up to 8.*got None"),
    "numbers first": (with_pairs([(1, 2)]), r"triggers\[3\].*got \(1, 2.0\)"),
    "infinite": (with_pairs([("a", float("inf"))]), r"within ±9999, got \('a', inf\)"),
    "NaN pair": (with_pairs([("a", float("nan"))]), r"got \('a', nan\)"),
    "token": ({"token": 7}, "token must be 0 to 6, got 7"),
    "neuron": ({"neuron": -1}, "neuron must be 0 to 12, got -1"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_error_says_what_was_expected_and_what_came(case):
    arguments, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        memory(**arguments)


def test_later_settings_are_checked_too():
    explorer = memory(token=1)
    with pytest.raises(ValueError, match="token must be 0 to 6, got 7"):
        explorer.token = 7
    with pytest.raises(ValueError, match="token must be 0 to 6, got -1"):
        explorer.strongest(-1)
    with pytest.raises(ValueError, match="count must be at least 1, got 0"):
        explorer.strongest(0, 0)
    assert explorer.token == 1
