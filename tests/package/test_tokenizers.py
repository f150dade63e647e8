import json
import random

import pytest
import torch
from helpers.refusals import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, ByteLevelBPETokenizer
from tokenizers import Tokenizer as Library

from mygpt.tokenizers import (
    END_OF_TEXT,
    SIGNS,
    BPETokenizer,
    CharTokenizer,
    WordTokenizer,
    load_tokenizer,
)

TEXTS = {
    "english": "she sells sea shells by the sea shore; the shells she sells aren't "
    "sea shells, I'm sure. " * 3,
    "unicode": "Größe naïve 東京タワー 🙂🙂 Ελλάδα مرحبا ३४५ x²  \n\t "
    "don't we'll\u3000z " * 2,
    "ties": "ab ba cd dc ab ba cd dc abab baba aaaa aaa aa",
    "runs": "aaaaaaaaaaaaaaaa bbbbbbbb aaaa bbbb ababababab",
}


def library(text, vocab_size):
    """The `tokenizers` library, trained on the same text."""
    theirs = ByteLevelBPETokenizer()
    theirs.train_from_iterator(
        [text], vocab_size=vocab_size, min_frequency=2, show_progress=False
    )
    return theirs


def their_merges(theirs):
    return [tuple(pair) for pair in json.loads(theirs.to_str())["model"]["merges"]]


@pytest.fixture(scope="module")
def bpe():
    return BPETokenizer.train(" ".join(TEXTS.values()), 400)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """One tokenizer in GPT-2's files, read by us and by the library."""
    folder = tmp_path_factory.mktemp("bpe")
    BPETokenizer.train(" ".join(TEXTS.values()), 420).save(folder)
    names = [str(folder / name) for name in ("vocab.json", "merges.txt")]
    return BPETokenizer.load(folder), ByteLevelBPETokenizer(*names)


# Byte pairs


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("vocab_size", [256, 263, 400])
def test_training_finds_the_librarys_merges_and_ids(name, vocab_size):
    ours = BPETokenizer.train(TEXTS[name], vocab_size)
    theirs = library(TEXTS[name], vocab_size)
    assert ours.merges == their_merges(theirs)
    assert ours.vocab == theirs.get_vocab()


@settings(deadline=None, max_examples=40)
@given(st.text(alphabet="abcd e'é", max_size=120))
def test_training_finds_the_librarys_merges_on_any_text(text):
    ours = BPETokenizer.train(text, 280)
    assert ours.merges == their_merges(library(text, 280))


@settings(deadline=None, max_examples=150)
@given(st.text())
def test_any_text_has_the_librarys_ids_and_comes_back(pair, text):
    ours, theirs = pair
    ids = ours.encode(text)
    assert ids == theirs.encode(text).ids
    assert ours.decode(ids) == text


def test_every_kind_of_character_is_cut_as_the_library_cuts_it(pair):
    ours, theirs = pair
    draw = random.Random(0)
    points = [*range(0x3000), *(draw.randrange(0x3000, 0x110000) for _ in range(3000))]
    for start in range(0, len(points), 50):
        signs = [chr(p) for p in points[start : start + 50] if not 0xD800 <= p < 0xE000]
        text = "".join(f"a{s}1 {s} {s}b'{s}" for s in signs)
        assert ours.encode(text) == theirs.encode(text).ids, f"from {points[start]:#x}"


@settings(deadline=None)
@given(st.binary())
def test_any_bytes_come_back(bpe, content):
    assert bpe.decode_bytes(bpe.encode_word(content)) == content


def test_half_a_character_is_shown_as_a_replacement(bpe):
    ids = bpe.encode_word("é".encode()[:1])
    assert bpe.decode(ids) == "\N{REPLACEMENT CHARACTER}"


def test_of_a_merge_listed_twice_the_first_place_counts():
    vocab = {token: i for i, token in enumerate([*SIGNS, "ab", "bc"])}
    listed = [("a", "b"), ("b", "c"), ("a", "b")]
    tokenizer = BPETokenizer(vocab, listed)
    assert [tokenizer.decode([i]) for i in tokenizer.encode("abc")] == ["ab", "c"]


def test_a_long_word_is_merged_like_a_short_one(pair):
    ours, theirs = pair
    word = "sheaab" * 3000
    assert ours.encode(word) == theirs.encode(word).ids


def test_the_end_of_a_text_is_an_id_and_not_what_the_text_says(bpe):
    assert bpe.end_of_text is None
    ours = BPETokenizer({**bpe.vocab, END_OF_TEXT: len(bpe.vocab)}, bpe.merges)
    assert ours.end_of_text == len(bpe.vocab)
    assert ours.end_of_text not in ours.encode(END_OF_TEXT)
    assert ours.decode([ours.end_of_text]) == END_OF_TEXT
    assert ours.decode(ours.encode(END_OF_TEXT)) == END_OF_TEXT


def test_training_stops_when_no_pair_occurs_often_enough():
    assert BPETokenizer.train("ab ab", 300).merges == [("a", "b"), ("Ġ", "ab")][:1]
    assert BPETokenizer.train("ab ab", 300, min_count=3).merges == []
    assert BPETokenizer.train("", 300).vocab_size == 256


def test_the_bytes_have_gpt2s_signs():
    assert len(set(SIGNS)) == 256
    assert "".join(SIGNS[b] for b in b"Az~ \n") == "Az~ĠĊ"
    assert SIGNS[0xAD] == "Ń"


# The simple ones


def test_characters_and_words_in_alphabetical_order():
    chars = CharTokenizer.train("to be")
    assert chars.tokens == [" ", "b", "e", "o", "t"]
    assert chars.encode("bet") == [1, 2, 4]
    assert chars.decode([4, 3]) == "to"
    words = WordTokenizer.train("to be or\nnot to be")
    assert words.tokens == ["be", "not", "or", "to"]
    assert words.encode(" not  be ") == [1, 0]
    assert words.decode([1, 0]) == "not be"
    assert words.vocab_size == 4


@given(st.text(min_size=1))
def test_characters_come_back(text):
    tokenizer = CharTokenizer.train(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize(
    "tokenizer",
    [
        CharTokenizer.train("größer \n größe 🙂"),
        WordTokenizer.train("größer \n größe 🙂"),
        BPETokenizer.train("größer \n größe größer", 260),
    ],
    ids=lambda tokenizer: type(tokenizer).__name__,
)
def test_a_saved_tokenizer_comes_back_the_same(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    for loaded in (type(tokenizer).load(tmp_path), load_tokenizer(tmp_path)):
        assert type(loaded) is type(tokenizer)
        assert vars(loaded) == vars(tokenizer)


# Files of other programs

ADDED = ["harbour", "<name>", "<name>s", "né", "東京タワー", "b'", " the"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with a tokenizer.json of the library's, and its tokenizer."""
    folder = tmp_path_factory.mktemp("whole")
    theirs = library(" ".join(TEXTS.values()), 420)
    theirs.add_special_tokens([END_OF_TEXT])
    theirs.add_tokens([AddedToken("n", normalized=False), *ADDED])
    theirs.add_special_tokens(["<|pad|>"])
    theirs.save(str(folder / "tokenizer.json"))
    return folder, theirs


def strange_texts(count):
    """Texts of words, signs, spaces and added tokens, drawn at random."""
    draw = random.Random(0)
    pieces = [*" ".join(TEXTS.values()).split(" "), *ADDED, "\n", "  ", "\ufeff"]
    for _ in range(count):
        chosen = draw.choices(pieces, k=draw.randrange(1, 9))
        signs = (chr(draw.choice([draw.randrange(32, 0xD800), 0x1F642])) for _ in "ab")
        yield draw.choice(["", " "]).join([*chosen, *signs])


@pytest.mark.parametrize("count", [700, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_tokenizer_in_one_file_gives_the_librarys_ids(whole, count):
    folder, theirs = whole
    ours = load_tokenizer(folder)
    assert ours.vocab == theirs.get_vocab(with_added_tokens=True)
    for text in strange_texts(count):
        ids = ours.encode(text)
        assert ids == theirs.encode(text).ids, text
        assert ours.decode(ids) == text


def test_added_tokens_come_back_from_a_saved_tokenizer(whole, tmp_path):
    ours = load_tokenizer(whole[0])
    ours.save(tmp_path)
    again = load_tokenizer(tmp_path)
    theirs = Library.from_file(f"{tmp_path}/tokenizer.json")
    text = "the harbour of <name> in 東京タワー" + END_OF_TEXT
    assert again.encode(text) == ours.encode(text)
    assert theirs.encode("n <name>s né").ids == ours.encode("n <name>s né")
    assert again.vocab == ours.vocab
    ends = [again.end_of_text, again.vocab["<|pad|>"]]
    assert again.decode(ends) == END_OF_TEXT + "<|pad|>"


def edited(whole, folder, place=(), **fields):
    """A copy of the tokenizer.json with other fields in one of its objects."""
    stored = json.loads((whole[0] / "tokenizer.json").read_text("utf-8"))
    inner = stored
    for name in place:
        inner = inner[name]
    inner |= fields
    (folder / "tokenizer.json").write_text(json.dumps(stored), "utf-8")
    return stored


def test_older_and_other_files_of_the_same_tokenizer_give_the_same_ids(whole, tmp_path):
    """Merges as text; a mark before the JSON; the slow tokenizers' files of old."""
    stored = edited(whole, tmp_path)
    vocab, merges = stored["model"]["vocab"], stored["model"]["merges"]
    text = "the harbour of <name> in 東京タワー" + END_OF_TEXT
    expected = load_tokenizer(whole[0]).encode(text)
    edited(whole, tmp_path, ["model"], merges=[" ".join(pair) for pair in merges])
    assert load_tokenizer(tmp_path).encode(text) == expected
    marked = "\ufeff" + (tmp_path / "tokenizer.json").read_text("utf-8")
    (tmp_path / "tokenizer.json").write_text(marked, "utf-8")
    assert load_tokenizer(tmp_path).encode(text) == expected
    lines = "\n".join(["\ufeff#version: 0.2", *map(" ".join, merges)])  # no last end
    (tmp_path / "merges.txt").write_text(lines, "utf-8")
    (tmp_path / "vocab.json").write_text("\ufeff" + json.dumps(vocab), "utf-8")
    assert load_tokenizer(tmp_path).encode(text) == expected  # all three agree
    (tmp_path / "tokenizer.json").unlink()
    added = {token["content"]: token["id"] for token in stored["added_tokens"]}
    (tmp_path / "added_tokens.json").write_text(json.dumps(added))
    listed = {str(token.pop("id")): token for token in stored["added_tokens"]}
    config = json.dumps({"added_tokens_decoder": listed})
    (tmp_path / "tokenizer_config.json").write_text(config)
    assert load_tokenizer(tmp_path).encode(text) == expected
    assert len(load_tokenizer(tmp_path).merges) == len(merges)


TEMPLATE = {"type": "TemplateProcessing", "single": [{}]}
STRIPPED = {"id": 420, "content": "x y", "lstrip": True}


def load_edited(place, fields, *, whole, tmp_path):
    edited(whole, tmp_path, place, **fields)
    load_tokenizer(tmp_path)


test_a_tokenizer_of_another_kind_is_named = refused(
    load_edited,
    ([], {"normalizer": {"type": "NFC"}}, "normalizer = None, got .*NFC"),
    ([], {"truncation": {"max_length": 8}}, "truncation = None"),
    ([], {"padding": {"pad_id": 3}}, "padding = None"),
    ([], {"pre_tokenizer": None}, "pre_tokenizer.type = 'ByteLevel', got None"),
    ([], {"pre_tokenizer": {"type": "Split"}}, "got 'Split'"),
    ([], {"pre_tokenizer": []}, r"an object pre_tokenizer, got \[\]"),
    (["pre_tokenizer"], {"add_prefix_space": True}, "add_prefix_space = False"),
    (["pre_tokenizer"], {"use_regex": False}, "use_regex = True, got False"),
    ([], {"decoder": {"type": "Metaspace"}}, "decoder.type = 'ByteLevel'"),
    ([], {"post_processor": TEMPLATE}, "post_processor.single = .* got"),
    (["model"], {"type": "WordPiece"}, "model.type = 'BPE', got 'WordPiece'"),
    (["model"], {"type": "Unigram", "vocab": []}, "got 'Unigram'"),
    (["model"], {"byte_fallback": True}, "byte_fallback = False, got True"),
    (["model"], {"ignore_merges": True}, "ignore_merges = False, got True"),
    (["model"], {"dropout": 0.1}, r"dropout = None, got 0\.1"),
    (["model"], {"continuing_subword_prefix": "##"}, "got '##'"),
    (["model"], {"end_of_word_suffix": "</w>"}, "got '</w>'"),
    (["model"], {"merges": ["a"]}, "merge 1: expected two tokens, got 'a'"),
    (["model"], {"merges": [["q", "東"]]}, "merge 1, q 東: not in the voc"),
    (["model"], {"merges": None}, "a list of merges, got None"),
    (["model", "vocab"], {"東": 999}, "expected tokens and ids, got '東'"),
    (["model", "vocab"], {"aq": 999}, "expected the ids 0, 1, 2"),
    ([], {"added_tokens": [{"id": 999, "content": "x"}]}, "'x': two ids"),
    ([], {"added_tokens": [{"id": 999, "content": "x y"}]}, "the ids 0, 1, 2"),
    ([], {"added_tokens": [{"id": 5, "content": "x y"}]}, "the ids 0, 1, 2"),
    ([], {"added_tokens": [{"content": "x"}]}, "expected added tokens, got 'id'"),
    ([], {"added_tokens": [STRIPPED]}, "'x y': expected lstrip = False"),
    naming=r"tokenizer\.json",
)


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_files_that_disagree_are_named(whole, tmp_path, name):
    edited(whole, tmp_path)
    other = BPETokenizer.train(TEXTS["english"], 290)
    other.save(tmp_path / "other")
    (tmp_path / "other" / name).rename(tmp_path / name)
    with pytest.raises(ValueError, match=rf"tokenizer\.json and {name} .* different"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("field", ["add_prefix_space", "add_bos_token"])
def test_what_a_config_would_put_before_a_text_is_named(whole, tmp_path, field):
    edited(whole, tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({field: True}))
    with pytest.raises(ValueError, match=f"tokenizer_config.json: expected {field} ="):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("kind", [BPETokenizer, CharTokenizer])
def test_surrogates_are_joined_or_named(kind):
    tokenizer = kind.train("a\ud83d\udc4db", *([257] if kind is BPETokenizer else []))
    assert tokenizer.encode("a\ud83d\udc4d") == tokenizer.encode("a👍")
    for half in ("👍a\ud83d", "👍a\udc4db", "👍a\udc4d\ud83d", "👍a\ud83d\ud83d\udc4d"):
        said = "surrogate, as character 2" if kind is BPETokenizer else "unknown"
        with pytest.raises(ValueError, match=said):
            tokenizer.encode(half)


# Bad input


test_a_piece_never_seen_is_named = refused(
    lambda kind, text: kind.train("to be").encode(text),
    (CharTokenizer, "to x", "unknown character 'x' at index 3 of"),
    (WordTokenizer, "to he", "unknown word 'he' at index 1 of the text"),
)


def test_the_ids_of_a_tensor_are_decoded(bpe):
    ids = bpe.encode("lower and lower")
    assert bpe.decode(torch.tensor(ids)) == "lower and lower"


def test_ids_out_of_range_are_refused(bpe):
    for tokenizer in (bpe, CharTokenizer.train("ab")):
        last = tokenizer.vocab_size - 1
        for wrong in (-1, last + 1):
            with pytest.raises(ValueError, match=f"from 0 to {last}, got {wrong}"):
                tokenizer.decode([0, wrong])


test_nothing_to_train_on_is_refused = refused(
    lambda kind, *given: kind.train(*given),
    (BPETokenizer, "a", 255, "vocab_size must be at least 256, got 255"),
    (CharTokenizer, "", "at least one character"),
    (WordTokenizer, " \n", "at least one word"),
)


def load_damaged(name, content, *, bpe, tmp_path):
    bpe.save(tmp_path)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    load_tokenizer(tmp_path)


test_damaged_files_are_named = refused(
    load_damaged,
    ("vocab.json", "{", r"vocab\.json: expected JSON"),
    ("vocab.json", '{"a": "b"}', r"vocab\.json: .* got 'a': 'b'"),
    ("vocab.json", '{"a b": 3}', r"vocab\.json: .* got 'a b': 3"),
    ("vocab.json", '{"a": 0, "b": 2}', r"vocab\.json: expected the ids 0, 1, 2"),
    ("vocab.json", '{"a": 0}', rf"a token for every byte, none for '{SIGNS[0]}'"),
    ("merges.txt", "#version: 0.2\na b c\n", r"merges\.txt, line 2: .* 'a b c'"),
    ("merges.txt", "#version: 0.2\ns h\nsh", r"merges\.txt, line 3: .* got 'sh'"),
    ("merges.txt", "#version: 0.2\nq q\n", r"merges\.txt: merge 1, q q: not in"),
    ("merges.txt", None, r"a file .*merges\.txt, found none"),
    ("vocab.json", None, r"a file .*vocab\.json, found none"),
    ("chars.json", '{"tokens": ["a", "a"]}', r"chars\.json: .* one of them twice"),
    (
        "chars.json",
        '{"tokens": ["ab"]}',
        r"chars\.json: expected tokens, a list of characters",
    ),
    ("chars.json", '{"words": []}', r"chars\.json: expected tokens"),
    ("chars.json", "[]", r"chars\.json: expected a JSON object"),
)


def test_a_folder_without_a_tokenizer_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"chars\.json, words\.json, tokenizer\.json"):
        load_tokenizer(tmp_path)
