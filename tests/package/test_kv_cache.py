"""The key-value cache: what it holds, and that nothing else changes with it.

What a model writes with it and without is in `test_sampling.py`.
"""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mygpt import MultiHeadAttention
from mygpt.attention import KVCache
from mygpt.gpt import GPT, GPTConfig

SMALL = GPTConfig(vocab_size=13, max_seq_len=7, embed_dim=15, num_heads=3, num_layers=2)


@st.composite
def splits(draw):
    """How a sequence is cut: the ends of its pieces."""
    length = draw(st.integers(1, 11))
    inner = draw(st.sets(st.integers(1, length - 1))) if length > 1 else set()
    return [0, *sorted(inner), length]


@settings(deadline=None, max_examples=30)
@given(splits(), st.booleans())
def test_attention_in_pieces_equals_the_whole(ends, return_weights):
    attention = MultiHeadAttention(15, 3, max_seq_len=11, qkv_bias=True)
    x = torch.randn(2, ends[-1], 15)
    cache = KVCache(torch.empty(2, 3, 11, 5), torch.empty(2, 3, 11, 5))
    pieces = [
        attention(x[:, start:end], cache=cache, return_weights=return_weights)
        for start, end in itertools.pairwise(ends)
    ]
    if return_weights:
        weights = attention(x, return_weights=True)[1]
        torch.testing.assert_close(pieces[-1][1], weights[:, :, ends[-2] :])
        pieces = [out for out, _ in pieces]
    torch.testing.assert_close(torch.cat(pieces, dim=1), attention(x))
    assert cache.length == ends[-1]


def test_a_full_cache_refuses_more_and_stays_as_it_was():
    cache = KVCache(torch.zeros(1, 1, 3, 2), torch.zeros(1, 1, 3, 2))
    new = torch.ones(1, 1, 2, 2)
    cache.append(new, new)
    with pytest.raises(ValueError, match="at most max_seq_len = 3 positions, got 4"):
        cache.append(new, new)
    assert cache.length == 2
    assert cache.keys[0, 0, 2].tolist() == [0, 0]


@settings(deadline=None, max_examples=20)
@given(st.sets(st.integers(1, 6)))
def test_a_gpt_in_pieces_equals_the_whole(inner):
    model, ids = GPT(SMALL), torch.randint(13, (2, 7))
    cache = model.new_cache(batch=2)
    pieces = [
        model(ids[:, start:end], cache=cache)[0]
        for start, end in itertools.pairwise([0, *sorted(inner), 7])
    ]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(ids)[0])


def test_a_cache_follows_the_models_type():
    cache = GPT(SMALL).to(torch.bfloat16).new_cache(3)
    assert len(cache) == SMALL.num_layers
    assert cache[0].keys.dtype == torch.bfloat16
    assert cache[0].keys.shape == (3, 3, 7, 5)
