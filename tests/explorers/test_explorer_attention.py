import numpy as np
import pytest
import traitlets
from helpers.arrays import changed
from helpers.node import in_node
from helpers.refusals import refused_settings, refuses

from mygpt.explorers.attention.widget import TEMPERATURES, Attention

HEADS, LENGTH = 3, 17
WORDS = [f"word{i % 5}" for i in range(LENGTH)]


def scores(heads=HEADS, length=LENGTH):
    return 2 * np.random.default_rng(7).standard_normal((heads, length, length))


def attention(array=None, tokens=WORDS, **settings):
    return Attention(scores() if array is None else array, tokens, **settings)


def numbers(explorer):
    flat = np.frombuffer(explorer.data, "<f4").astype(float)
    return flat.reshape(explorer.heads, len(explorer.tokens), len(explorer.tokens))


def softmax(array):
    powers = np.exp(array - array.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def test_the_page_has_the_scores_and_the_words():
    explorer = attention()
    np.testing.assert_array_equal(numbers(explorer), scores().astype("f4"))
    assert explorer.tokens == WORDS
    assert (explorer.heads, explorer.temperatures) == (HEADS, list(TEMPERATURES))
    setting = (explorer.head, explorer.row, explorer.temperature, explorer.causal)
    assert setting == (0, LENGTH - 1, 1.0, True)


def test_weights_are_the_softmax_of_the_head_and_follow_the_setting():
    explorer = attention(head=2, temperature=0.5, causal=False)
    sent = numbers(explorer)
    np.testing.assert_allclose(explorer.weights(), softmax(sent[2] / 0.5), rtol=1e-13)
    np.testing.assert_allclose(explorer.weights(1), softmax(sent[1] / 0.5), rtol=1e-13)
    explorer.causal, explorer.temperature = True, 4
    weights = explorer.weights()
    assert weights.dtype == np.float64
    assert (weights[np.triu_indices(LENGTH, 1)] == 0).all()
    for row in range(LENGTH):
        expected = softmax(sent[2, row, : row + 1] / 4)
        np.testing.assert_allclose(weights[row, : row + 1], expected, rtol=1e-13)


def test_the_extremes_of_float32_have_weights():
    explorer = attention(np.full((1, 2, 2), 3e38) * [[1, -1], [1, 1]], ["a", "a"])
    explorer.temperature, explorer.causal = 0.25, False
    np.testing.assert_array_equal(explorer.weights(), [[1, 0], [0.5, 0.5]])


def read_by_node(explorer, tmp_path):
    """Every row as the page reads it, for all settings."""
    given = {"heads": explorer.heads, "length": len(explorer.tokens)}
    given |= {"data": explorer.data, "temperatures": list(TEMPERATURES)}
    first = """
const { heads, length, temperatures } = given;
const scores = new Float32Array(given.data.buffer);
const out = [];
for (let head = 0; head < heads; head += 1)
  for (const temperature of temperatures)
    for (const causal of [true, false]) {
      const weights = weightsOf(scores, length, head, temperature, causal);
      for (let row = 0; row < length; row += 1) {
        const now = weights.subarray(row * length, (row + 1) * length);
        const shown = Array.from(now, (weight) => fixed(weight, 3));
        out.push([shown, byWeight(now, causal ? row + 1 : length)]);
      }
    }
"""
    names = {"{ byWeight, weightsOf }": "attention/widget", "{ fixed }": "kit/geometry"}
    return in_node("out", given, tmp_path, names, first)


def read_by_python(explorer):
    rows = []
    length = len(explorer.tokens)
    for head in range(explorer.heads):
        for explorer.temperature in TEMPERATURES:
            for explorer.causal in (True, False):
                for row, weights in enumerate(explorer.weights(head)):
                    readable = row + 1 if explorer.causal else length
                    order = np.argsort(-weights[:readable], kind="stable").tolist()
                    rows.append([[f"{one:.3f}" for one in weights], order])
    return rows


def test_the_page_reads_what_python_computes(tmp_path):
    explorer = attention()
    assert read_by_node(explorer, tmp_path) == read_by_python(explorer)


def test_the_page_rounds_a_sixteenth_as_python_does(tmp_path):
    explorer = attention(np.zeros((1, 16, 16)), WORDS[:16])
    rows = read_by_node(explorer, tmp_path)
    assert rows == read_by_python(explorer)
    assert rows[15][0] == ["0.062"] * 16


def test_tokens_are_text_and_may_be_empty_or_come_twice():
    odd = ["<script>alert(1)</script>", "", "", "$x_{$", "日本", "שלום", "a" * 99]
    explorer = attention(scores(1, 7), odd)
    assert explorer.tokens == odd
    assert explorer.still().startswith(b"\x89PNG")


BAD = {
    "two axes": ({"array": np.zeros((3, 3))}, r"shape \[H, T, T\].*got \(3, 3\)"),
    "not square": ({"array": np.zeros((2, 5, 3))}, r"got \(2, 5, 3\)"),
    "no head": ({"array": np.zeros((0, 5, 5))}, "H from 1 to 16"),
    "many heads": ({"array": np.zeros((17, 2, 2))}, r"got \(17, 2, 2\)"),
    "long": ({"array": np.zeros((1, 65, 65))}, r"T from 1 to 64, got \(1, 65, 65\)"),
    "NaN": (
        {"array": changed(scores(), np.nan, 1, 2, 3)},
        r"scores must hold finite numbers, got nan at index 1, 2, 3",
    ),
    "masked already": ({"array": changed(scores(), -np.inf, 0, 0, 1)}, "got -inf"),
    "too large": ({"array": changed(scores(), 1e39, 0, 0, 1)}, "fit into float32"),
    "text": ({"array": "words"}, "scores must be an array of numbers"),
    "few tokens": ({"tokens": WORDS[1:]}, "tokens must be 17 strings, got 16"),
    "one string": ({"tokens": "a" * LENGTH}, "tokens must be 17 strings, got 1"),
    "numbers": ({"tokens": [*WORDS[1:], 3]}, "got 3 among them"),
    "head": ({"head": 3}, "head must be 0 to 2, got 3"),
    "row": ({"row": -1}, "row must be 0 to 16, got -1"),
    "temperature": ({"temperature": 0.0}, "temperature must be one of"),
}


test_an_error_says_what_was_expected_and_what_came = refused_settings(attention, BAD)


def test_later_settings_are_checked_too():
    explorer = attention()
    refuses(explorer, "row must be 0 to 16, got 17", row=LENGTH)
    refuses(explorer, "causal", error=traitlets.TraitError, causal="yes")
    with pytest.raises(ValueError, match="head must be 0 to 2, got 3"):
        explorer.weights(3)
    assert (explorer.row, explorer.head) == (LENGTH - 1, 0)
