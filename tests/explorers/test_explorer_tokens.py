import random
import sys
import unicodedata
import warnings
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import examples, node
from helpers.refusals import refused_settings

from mygpt import tokenizers
from mygpt.explorers.tokens import widget
from mygpt.explorers.tokens.widget import Tokens
from mygpt.tokenizers import BPETokenizer

MODULE = Path(widget.__file__).with_name("merges.mjs")
PARAGRAPHS = """\
The baker opened the shop before the sun was up. She'd baked bread, and rolls, and
three kinds of cake; the bread was still warm when the first customers came. "Isn't it
early?" they asked. "We've been here since four," she said, "and we'll be here at ten."

Der Bäcker öffnete die Tür, und die Tür ächzte. Le pâtissier a gagné 12 500 francs en
1987, et 13 250 francs en 1988. Пекарь открыл дверь, и дверь открылась. ο αρτοποιός
άνοιξε την πόρτα. 面包师打开了门，门开了。パン屋がドアを開けた。
👩‍🍳 👩‍🍳 baked, 🥐🥐🥐 were eaten.

    def bake(bread, minutes=40):
        for minute in range(minutes):
            bread.warm += 1
        return bread        # and the bread is done
"""
WHITE = [chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace()]
CANDIDATES = [
    *WHITE,
    *map(chr, range(0x21)),
    *"\x7f\x85\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b\u180e",
    *map(chr, range(0x2000, 0x2070)),
    *"\u2800\u3000\u303f\u3164\ufeff\uffa0\ufff9\ufffb\ufffd\U0001d173\U000e0020",
]
SCRIPTS = {
    "Latin": (0x20, 0x250),
    "accents": (0x300, 0x370),
    "Greek and Cyrillic": (0x370, 0x530),
    "Hebrew": (0x590, 0x5F5),
    "Arabic": (0x600, 0x700),
    "Devanagari": (0x900, 0x980),
    "Thai": (0xE00, 0xE5C),
    "Hangul": (0x1100, 0x1200),
    "punctuation to arrows": (0x2000, 0x2200),
    "enclosed numbers": (0x2460, 0x2500),
    "kana": (0x3000, 0x3100),
    "Chinese": (0x4E00, 0x5000),
    "half and full width": (0xFF00, 0xFFEF),
    "letters of mathematics": (0x1D400, 0x1D800),
    "emoji": (0x1F300, 0x1F650),
}
BY_HAND = [
    "",
    " ",
    "   ",
    "bread",
    " bread ",
    "bread   ",
    "  bread\t\tand  rolls \n\n  done  \n",
    "It's we've they'll I'd you're I'm can't CAN'T 'tis ''s 's's'",
    "a\r\nb\r\n\r\nc\r",
    "\ufeffbread\ufeff \ufeff",
    "\x85bread\x85\x85 a",
    "\x1cbread\x1c\x1d\x1e\x1f a\x1c",
    "\xa0bread\xa0\xa0rolls\u3000\u3000",
    "👩‍🍳👩‍👩‍👧‍👦 👍🏽🇫🇷 e\u0301 \u0301",
    "3.14159 x² ½ Ⅻ ٣ 12 500",
    "<script>alert(1)</script> <|endoftext|>",
    "\x00\x01\x7f",
    "=" * 200,
    "aaaaaaaaaaabababab" * 9,
    "🥐" * 100,
]


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(PARAGRAPHS, 373)


def signs_of(first, last):
    """The characters assigned in a Unicode range: the same everywhere."""
    signs = map(chr, range(first, last))
    return [sign for sign in signs if unicodedata.category(sign) != "Cn"]


ALPHABETS = {name: signs_of(*ends) for name, ends in SCRIPTS.items()}


def random_texts():
    """Characters of all kinds mixed, with a fixed seed."""
    rng = random.Random(11)
    kinds = [
        WHITE,
        [" ", " ", "\n"],
        CANDIDATES,
        [chr(c) for c in range(0x20, 0x7F)],
        ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'"],
        PARAGRAPHS.split(),
        ["👩‍🍳", "\u200d", "\ufe0f", "🏽", "👍", "🇫🇷"],
        [sign for signs in ALPHABETS.values() for sign in signs],
        [chr(c) for c in range(0xE000, 0xE010)],
    ]
    for _ in range(1500):
        some = rng.sample(kinds, rng.randint(1, 4))
        yield "".join(rng.choice(rng.choice(some)) for _ in range(rng.randint(1, 40)))


def all_texts():
    scripts = [
        "".join(signs[i : i + 100])
        for signs in ALPHABETS.values()
        for i in range(0, len(signs), 100)
    ]
    spaced = [" ".join(text) for text in scripts]
    white = [
        pattern.replace("_", sign)
        for sign in CANDIDATES
        for pattern in ("_", "a_b", "a__b", "a _ b", "_ ", " _", "_'s 1_2.", "__\n_x")
    ]
    return [*BY_HAND, *scripts, *spaced, *white, *random_texts(), PARAGRAPHS]


def in_node(script, given, tmp_path):
    first = "const encoder = m.makeEncoder(given.data);"
    first += "const read = m.remembering(encoder);"
    return node.in_node(script, given, tmp_path, {"* as m": MODULE}, first)


def test_the_page_gives_the_ids_of_the_package(tokenizer, tmp_path):
    texts = all_texts()
    expected = [tokenizer.encode(text) for text in texts]
    assert len({i for ids in expected for i in ids}) > 320, "few tokens are met"
    given = {"data": Tokens(tokenizer).data, "texts": texts}
    script = (
        "given.texts.map(m.split).map((pieces) => "
        "[pieces.flatMap((one) => read(one).ids), pieces])"
    )
    found = in_node(script, given, tmp_path)
    for text, ids, (page_ids, page_pieces) in zip(texts, expected, found, strict=True):
        assert page_pieces == tokenizers.SPLIT.findall(text), ascii(text)
        assert page_ids == ids, ascii(text)


def test_white_space_is_the_same_in_the_page_and_in_the_package(tokenizer, tmp_path):
    texts = [f"a{sign}{sign}b" for sign in CANDIDATES]
    given = {"data": Tokens(tokenizer).data, "texts": texts}
    pieces = in_node("given.texts.map(m.split)", given, tmp_path)
    cut = [len(one) == 4 for one in pieces]  # a, space, space, b
    expected = [len(tokenizers.SPLIT.findall(text)) == 4 for text in texts]
    assert cut == expected
    by_sign = dict(zip(CANDIDATES, cut, strict=True))
    assert by_sign["\x85"]
    assert not by_sign["\ufeff"], "JavaScript's own \\s has it"
    assert not by_sign["\x1c"], "Python's str.isspace has it"
    assert not by_sign[" "], "the second space belongs to b"
    assert sum(by_sign.values()) == 24, "Unicode has 25 with the space"


def test_python_gives_the_ids_and_pieces_of_the_package(tokenizer):
    one = Tokens(tokenizer)
    for text in all_texts():
        one.text = text[:500]
        assert one.ids() == tokenizer.encode(one.text), ascii(text)
        assert "".join(one.pieces()) == one.text
    assert widget.SPLIT.pattern == tokenizers.SPLIT.pattern
    assert widget._byte_signs() == tokenizers.SIGNS


def test_the_page_merges_step_by_step_like_python(tokenizer, tmp_path):
    one = Tokens(tokenizer)
    pieces = [" bread", " customers", "öffnete", " 👩‍🍳", "=", "abababab", " opened"]
    expected = []
    for piece in pieces:
        one.text = piece
        expected.append([[rank, [p.hex() for p in ps]] for rank, ps in one.steps()])
    given = {"data": one.data, "texts": pieces}
    script = """given.texts.map((piece) => {
        const found = m.remembering(encoder)(piece);
        return m.rowsOf(found).map((ends, row) => [
            row ? found.steps[row - 1].rank : null,
            ends.map((end, i) => found.bytes.subarray(ends[i - 1] ?? 0, end))
                .map((part) => Buffer.from(part).toString("hex")),
        ]);
    })"""
    assert in_node(script, given, tmp_path) == expected
    assert len(expected[0]) > 3


def test_steps_are_merges_of_the_tokenizer_in_order(tokenizer):
    one = Tokens(tokenizer, "She'd baked bread, the bread", piece=5)
    assert one.pieces()[5] == " the"
    steps = one.steps()
    assert steps[0] == (None, [b" ", b"t", b"h", b"e"])
    for (_, before), (rank, after) in pairwise(steps):
        signs = [tokenizers.SIGNS[b] for b in b"".join(before)]
        assert b"".join(before) == b"".join(after)
        pair = tokenizer.merges[rank]
        joined = "".join(pair)
        assert joined in ["".join(tokenizers.SIGNS[b] for b in part) for part in after]
        assert set(joined) <= set(signs)
        assert len(after) == len(before) - 1
    one.piece = 99
    assert one.steps()[0][1] == [bytes([b]) for b in b" bread"]
    one.text = ""
    assert (one.steps(), one.ids(), one.pieces()) == ([], [], [])


def test_a_merge_listed_twice_keeps_its_first_rank(tokenizer, tmp_path):
    rank = tokenizer.merges.index(("e", "r"))
    merges = [*tokenizer.merges, ("e", "r")]
    one = Tokens(SimpleNamespace(vocab=tokenizer.vocab, merges=merges), "er")
    assert one.steps()[1][0] == rank
    given = {"data": one.data}
    script = "m.remembering(encoder)('er').steps[0].rank"
    assert in_node(script, given, tmp_path) == rank


def test_the_data_of_a_thousand_tokens_are_small():
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdefghij", k=7)) for _ in range(400)]
    tokenizer = BPETokenizer.train(" ".join(words * 3), 1000)
    assert tokenizer.vocab_size == 1000
    state = Tokens(tokenizer).get_state()
    assert len(state["data"]) < 6_000
    own = ("data", "text", "piece", "merges_done", "vocab_size", "description")
    assert sum(len(repr(state[name])) for name in own) < 25_000


def test_an_end_of_text_token_like_gpt2s_is_accepted(tokenizer):
    vocab = tokenizer.vocab | {"<|endoftext|>": tokenizer.vocab_size}
    longer = BPETokenizer(vocab, tokenizer.merges)
    text = "bread<|endoftext|>"
    assert Tokens(longer, text).ids() == longer.encode(text)


def bad_tokenizers(good):
    vocab, merges = good.vocab, good.merges
    many = vocab | {f"<{i}>": i for i in range(len(vocab), 5001)}
    shifted = {token: i + 1 for token, i in vocab.items()}
    return {
        "no tokenizer": ("abc", "must have vocab, a dict, and merges.*got str"),
        "many": ((many, merges), "at most 5,000 tokens and as many.*got 5,001 and"),
        "many merges": ((vocab, merges[:1] * 5001), "got 373 and 5,001"),
        "ids": ((shifted, merges), "the ids 0, 1, 2, … once each"),
        "no bytes": (({"a": 0, "b": 1}, []), "a token for every byte, got none for"),
        "a merge": ((vocab, [*merges[:7], ("z", "zz")]), "none for merge 7, z and zz"),
    }


def test_a_tokenizer_that_does_not_fit_is_refused(tokenizer, subtests):
    for case, (given, message) in bad_tokenizers(tokenizer).items():
        if isinstance(given, tuple):
            given = SimpleNamespace(vocab=given[0], merges=given[1])
        with subtests.test(case), pytest.raises(ValueError, match=message):
            Tokens(given)


test_mistakes_are_named = refused_settings(
    examples.tokens,
    ({"text": "a" * 501}, "text must have at most 500 characters, got 501"),
    ({"text": "a\ud800"}, "text must be whole characters, got a surrogate"),
    ({"piece": -1}, "piece must be 0 or more, got -1"),
    ({"merges_done": -2}, "merges_done must be 0 or more, got -2"),
)


@pytest.mark.parametrize("text", ["", "$x^2$ \n", "日本 👩‍🍳 שלום \x00", "ab " * 160])
def test_the_still_writes_any_text(tokenizer, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Tokens(tokenizer, text, piece=1).still()[:4] == b"\x89PNG"


def test_the_texts_have_characters_of_every_category():
    categories = {unicodedata.category(sign)[0] for sign in "".join(all_texts())}
    assert categories == set("LMNPSZC")
    assert all(len(signs) > 60 for signs in ALPHABETS.values())
