"""Characters and words get the same ids in the page and in Python."""

import random
import re
import sys

import pytest
from helpers import node

from mygpt.tokenizers import CharTokenizer, WordTokenizer

KINDS = {"characters": CharTokenizer, "words": WordTokenizer}
IMPORTS = {"{ tokenizerOf, trainTokenizer }": "train_gpt/tokenizers"}
WHITE = [chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace()]
ALMOST_WHITE = "\u200b\u2060\ufeff\u180e\u200d\x1b\x00\x7f"
RANGES = [
    (0x21, 0x7F),
    (0xA1, 0x250),
    (0x300, 0x370),  # combining marks
    (0x590, 0x700),  # right to left
    (0x4E00, 0x4F00),
    (0xD800, 0xE000),  # surrogates
    (0xE000, 0xE010),
    (0xFF00, 0x10000),
    (0x1F1E6, 0x1F700),  # flags and emoji
]
AS_ONE = re.compile("[\ud800-\udbff][\udc00-\udfff]")  # in JavaScript one character


def random_text(draw):
    few = [chr(draw.randrange(*draw.choice(RANGES))) for _ in range(draw.randint(1, 9))]
    signs = [*few, *draw.sample(WHITE, 3), draw.choice(ALMOST_WHITE), draw.choice("́‍️")]
    text = "".join(draw.choices(signs, k=draw.randrange(1, 40)))
    return AS_ONE.sub("a", AS_ONE.sub("a", text))


@pytest.fixture(scope="module")
def texts():
    draw = random.Random(42)
    return [random_text(draw) for _ in range(10_000)]


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_ten_thousand_texts(kind, texts, tmp_path):
    """Each text has a tokenizer of its own, and ids by that of all texts."""
    tokenizer = KINDS[kind].train(" ".join(texts))
    texts = [text for text in texts if KINDS[kind].pieces(text)]
    first = """
    const whole = tokenizerOf(given.kind, given.tokens);
    const of = (text) => {
      const own = trainTokenizer(given.kind, text);
      const ids = own.encode(text);
      return [own.tokens, ids, whole.encode(text), own.decode(ids)];
    };"""
    given = {"kind": kind, "tokens": tokenizer.tokens, "texts": texts}
    found = node.in_node("given.texts.map(of)", given, tmp_path, IMPORTS, first)
    for text, (tokens, ids, of_all, decoded) in zip(texts, found, strict=True):
        own = KINDS[kind].train(text)
        assert tokens == own.tokens
        assert (ids, of_all) == (own.encode(text), tokenizer.encode(text))
        assert decoded == own.decode(ids)


def test_order_of_all_tokens(texts, tmp_path):
    text = " ".join(texts)
    script = "given.kinds.map((kind) => trainTokenizer(kind, given.text).tokens)"
    given = {"kinds": list(KINDS), "text": text}
    found = node.in_node(script, given, tmp_path, IMPORTS)
    assert found == [kind.train(text).tokens for kind in KINDS.values()]


def test_words_end_where_python_ends_them(tmp_path):
    """Every code point that is white space, and no other."""
    first = """
    const found = [];
    for (let c = 0; c < 0x110000; c += 1) {
      if (piecesOf("words", `a${String.fromCodePoint(c)}b`).length === 2) found.push(c);
    }"""
    imports = {"{ piecesOf }": "train_gpt/tokenizers"}
    assert node.in_node("found", None, tmp_path, imports, first) == list(
        map(ord, WHITE)
    )


UNKNOWN = ["b", "'", '"', "\"'", "\\", "é", "😀", "שלום", "ab", "it's", "\n", "\t"]
NO_TOKEN = [("characters", "", "a"), ("words", " \n\x1c", "a")]


def test_what_has_no_ids_is_refused_as_in_python(tmp_path):
    """An unknown piece, and a text to learn from that has no token."""
    cases = [(kind, "a \x1c", f"a a\x1c{piece}") for kind in KINDS for piece in UNKNOWN]
    first = """
    const said = ([kind, known, text]) => {
      try {
        return trainTokenizer(kind, known).encode(text);
      } catch (error) {
        return error.message;
      }
    };"""
    cases += NO_TOKEN
    found = node.in_node("given.map(said)", cases, tmp_path, IMPORTS, first)
    assert found == [ids_or_error(*case) for case in cases]
    assert all(isinstance(said, str) for said in found[-2:])


def ids_or_error(kind, known, text):
    try:
        return KINDS[kind].train(known).encode(text)
    except ValueError as error:
        return str(error)
