"""From token ids to vectors."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mygpt.support.arguments import check_ids, check_positive, takes_numbers

VOCAB = ("I", "love", "AI", "!")


def to_ids(tokens: Sequence[str]) -> Int[Tensor, "T"]:
    """The ids of tokens of the running example; `[None]` in front makes a batch."""
    for token in tokens:
        if token not in VOCAB:
            raise ValueError(
                f"expected tokens from the vocabulary {VOCAB}, got {token!r}"
            )
    return torch.tensor([VOCAB.index(token) for token in tokens], dtype=torch.long)


class TokenEmbedding(nn.Module):
    """One learned vector for each token: row i of the table belongs to id i."""

    @takes_numbers
    def __init__(self, vocab_size: int, embed_dim: int):
        super().__init__()
        check_positive(vocab_size=vocab_size, embed_dim=embed_dim)
        self.embedding = nn.Embedding(vocab_size, embed_dim)

    def forward(self, ids: Int[Tensor, "*axes"]) -> Float[Tensor, "*axes C"]:
        try:
            return self.embedding(ids)
        except IndexError:  # a check of our own would wait for a GPU
            check_ids(ids, self.embedding.num_embeddings)
            raise

    def scores(self, states: Float[Tensor, "... C"]) -> Float[Tensor, "... V"]:
        """The product of each vector with every token's: the logits of a tied head."""
        return states @ self.embedding.weight.T
