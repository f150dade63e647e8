"""Texts are read and divided in the page as in Python, and the bigram model is ours."""

import math

import pytest
import torch
from helpers import node
from helpers.page_models import FILES, KINDS, in_base64

from mygpt.data import load_corpus, split
from mygpt.tokenizers import WordTokenizer


def test_stories_are_read_as_python_reads_them(tmp_path):
    """A file with the line ends of Windows and a mark of the byte order."""
    text = load_corpus("stories")[:6000]
    path = tmp_path / "windows.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() + b"\r")
    given = in_base64(path.read_bytes())
    imports = {"{ bytesOf }": FILES, "{ materialOf, readText }": "train_gpt/text"}
    script = "{ text, ...materialOf('words', text, 64) }"
    first = "const { text } = readText(bytesOf(given));"
    found = node.in_node(script, given, tmp_path, imports, first)
    assert found["text"] == load_corpus(path)
    tokenizer = WordTokenizer.train(load_corpus(path))
    assert found["tokenizer"]["tokens"] == tokenizer.tokens
    wanted = split(tokenizer.encode(load_corpus(path)))
    assert (found["training"], found["held"]) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_the_bigram_model_is_that_of_chapter_2(kind, tmp_path):
    text = load_corpus("stories")[:20_000]
    tokenizer = KINDS[kind].train(text)
    V = tokenizer.vocab_size
    ids, held = (torch.tensor(part) for part in split(tokenizer.encode(text)))
    counts = torch.zeros(V, V, dtype=torch.float64)
    ones = torch.ones(len(ids) - 1, dtype=torch.float64)
    counts.index_put_((ids[:-1], ids[1:]), ones, accumulate=True)
    losses = []
    for amount in (1, 0.01):
        shares = (counts + amount) / (counts + amount).sum(dim=1, keepdim=True)
        losses.append(-shares[held[:-1], held[1:]].log().mean().item())
    imports = {"{ materialOf }": "train_gpt/text"}
    script = "materialOf(given.kind, given.text, 64)"
    found = node.in_node(script, {"kind": kind, "text": text}, tmp_path, imports)
    assert found["bigram"] == pytest.approx(min(losses), rel=1e-12)
    assert found["uniform"] == pytest.approx(math.log(V), rel=1e-12)


def test_numbers_of_held_out_ids_are_those_of_split(tmp_path):
    imports = {"{ splitIds }": "train_gpt/text"}
    script = "given.map((count) => splitIds(Array(count).fill(0))[0].length)"
    counts = list(range(1, 3000))
    found = node.in_node(script, counts, tmp_path, imports)
    assert found == [len(split([0] * count)[0]) for count in counts]
