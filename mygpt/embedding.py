"""From token ids to vectors."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mygpt.checks import check_positive

VOCAB = ("I", "love", "AI", "!")


def to_ids(tokens: Sequence[str]) -> Int[Tensor, "B=1 T"]:
    """The ids of tokens of the running example, as a batch of one."""
    for token in tokens:
        if token not in VOCAB:
            raise ValueError(
                f"expected tokens from the vocabulary {VOCAB}, got {token!r}"
            )
    return torch.tensor([[VOCAB.index(token) for token in tokens]], dtype=torch.long)


class TokenEmbedding(nn.Module):
    """One learned vector for each token: row i of the table belongs to id i."""

    def __init__(self, vocab_size: int, embed_dim: int):
        super().__init__()
        check_positive(vocab_size=vocab_size, embed_dim=embed_dim)
        self.embedding = nn.Embedding(vocab_size, embed_dim)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        vocab_size = self.embedding.num_embeddings
        if ids.numel() and (ids.min() < 0 or ids.max() >= vocab_size):
            raise ValueError(
                f"expected ids from 0 to {vocab_size - 1}, "
                f"got {ids.min()} to {ids.max()}"
            )
        return self.embedding(ids)
