import pytest
import torch

from mygpt import VOCAB, TokenEmbedding, set_seed, to_ids


def test_the_running_example_has_four_tokens():
    assert VOCAB == ("I", "love", "AI", "!")
    assert to_ids(VOCAB).tolist() == [0, 1, 2, 3]
    assert to_ids(["AI", "I"]).tolist() == [2, 0]


def test_an_unknown_token_is_named():
    with pytest.raises(ValueError, match=r"tokens from the vocabulary.*'hate'"):
        to_ids(["I", "hate"])


def test_a_lookup_is_one_hot_times_the_table():
    embedding = TokenEmbedding(7, 3)
    ids = torch.tensor([[6, 0, 3, 3, 1]])
    one_hot = torch.nn.functional.one_hot(ids, 7).float()
    torch.testing.assert_close(embedding(ids), one_hot @ embedding.embedding.weight)


@pytest.mark.parametrize("bad", [-1, 7])
def test_ids_outside_the_vocabulary_are_refused(bad):
    with pytest.raises(ValueError, match=rf"expected ids from 0 to 6, got .*{bad}"):
        TokenEmbedding(7, 3)(torch.tensor([[2, bad]]))


def test_an_empty_text_gives_no_vectors():
    assert TokenEmbedding(7, 3)(to_ids([])).shape == (0, 3)


def test_the_seed_reaches_python_numpy_and_pytorch():
    import random

    import numpy as np

    draws = []
    for _ in range(2):
        set_seed(5)
        draws.append((random.random(), np.random.rand(), torch.rand(1).item()))
    assert draws[0] == draws[1]
    set_seed(6)
    assert draws[0] != (random.random(), np.random.rand(), torch.rand(1).item())
