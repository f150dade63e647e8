"""Causal self-attention (Vaswani et al. 2017, section 3.2)."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from mygpt.support.arguments import (
    check_axes,
    check_below_one,
    check_divisible,
    check_last_axis,
    check_length,
    check_positive,
    takes_numbers,
)


def causal_mask(max_seq_len: int) -> Float[Tensor, "T T"]:
    """Additive mask: 0 for the position itself and those before, -inf for the rest."""
    return torch.full((max_seq_len, max_seq_len), -math.inf).triu(diagonal=1)


class SingleHeadAttention(nn.Module):
    """Each position reads a weighted average of its own and earlier values."""

    @takes_numbers
    def __init__(
        self, embed_dim: int, head_dim: int, max_seq_len: int = 64, dropout: float = 0.0
    ):
        super().__init__()
        check_positive(embed_dim=embed_dim, head_dim=head_dim, max_seq_len=max_seq_len)
        check_below_one(dropout=dropout)
        self.embed_dim = embed_dim
        self.W_Q = nn.Linear(embed_dim, head_dim, bias=False)
        self.W_K = nn.Linear(embed_dim, head_dim, bias=False)
        self.W_V = nn.Linear(embed_dim, head_dim, bias=False)
        self.W_O = nn.Linear(head_dim, embed_dim, bias=False)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("causal_mask", causal_mask(max_seq_len), persistent=False)

    def forward(
        self, x: Float[Tensor, "B T C"], *, return_weights: bool = False
    ) -> Float[Tensor, "B T C"] | tuple[Tensor, Tensor]:
        """The output; with `return_weights`, also the weights (B, T, T)."""
        check_axes(x, "B T C")
        check_last_axis(x, embed_dim=self.embed_dim)
        T = x.shape[1]
        check_length(T, len(self.causal_mask))
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)  # (B, T, D) each
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (B, T, T)
        weights = torch.softmax(scores + self.causal_mask[:T, :T], dim=-1)
        out = self.W_O(self.drop(weights) @ v)
        return (out, weights) if return_weights else out


class KVCache:
    """One layer's keys and values so far, in memory allocated once.

    `length` counts the positions held. A sequence longer than `max_seq_len` is a
    ValueError; nothing stored is ever computed again.
    """

    def __init__(
        self, keys: Float[Tensor, "B H T D"], values: Float[Tensor, "B H T D"]
    ):
        self.keys, self.values = keys, values
        self.length = 0

    def append(
        self, keys: Float[Tensor, "B H T D"], values: Float[Tensor, "B H T D"]
    ) -> tuple[Tensor, Tensor]:
        """Store the keys and values of new positions; return those of all positions."""
        end = self.length + keys.shape[2]
        check_length(end, self.keys.shape[2])
        self.keys[:, :, self.length : end] = keys
        self.values[:, :, self.length : end] = values
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]


class MultiHeadAttention(nn.Module):
    """H heads of width D = C / H, each on its own slice of the same four matrices."""

    @takes_numbers
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        max_seq_len: int = 64,
        dropout: float = 0.0,
        *,
        qkv_bias: bool = False,
        out_bias: bool = False,
    ):
        super().__init__()
        check_positive(
            embed_dim=embed_dim, num_heads=num_heads, max_seq_len=max_seq_len
        )
        check_below_one(dropout=dropout)
        check_divisible(embed_dim=embed_dim, num_heads=num_heads)
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.max_seq_len = max_seq_len
        self.W_Q = nn.Linear(embed_dim, embed_dim, bias=qkv_bias)
        self.W_K = nn.Linear(embed_dim, embed_dim, bias=qkv_bias)
        self.W_V = nn.Linear(embed_dim, embed_dim, bias=qkv_bias)
        self.W_O = nn.Linear(embed_dim, embed_dim, bias=out_bias)
        self.drop = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        *,
        cache: KVCache | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "B T C"] | tuple[Tensor, Tensor]:
        """The output; with `return_weights`, also the weights (B, H, T, T).

        With a `cache`, x holds the positions that follow those in the cache.
        """
        check_axes(x, "B T C")
        check_last_axis(x, embed_dim=self.embed_dim)
        check_length(x.shape[1], self.max_seq_len)
        q, k, v = map(self._split, (self.W_Q(x), self.W_K(x), self.W_V(x)))
        if cache is not None:
            k, v = cache.append(k, v)
        dropout = self.drop.p if self.training else 0.0
        if return_weights:
            weights = attention_weights(q, k)
            heads = F.dropout(weights, dropout) @ v
            return self.drop(self.W_O(self._join(heads))), weights
        heads = causal_attention(q, k, v, dropout)
        return self.drop(self.W_O(self._join(heads)))

    def _split(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B H T D"]:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def _join(self, heads: Float[Tensor, "B H T D"]) -> Float[Tensor, "B T C"]:
        return heads.transpose(1, 2).flatten(2)


def attention_weights(
    q: Float[Tensor, "... T D"], k: Float[Tensor, "... S D"]
) -> Float[Tensor, "... T S"]:
    """Causal softmax(q kᵀ / √D): row t is what position t reads from each position.

    The T queries are the last T of the S positions.
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., T, S)
    return torch.softmax(scores + _mask(q, k), dim=-1)


def causal_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H S D"],
    v: Float[Tensor, "B H S D"],
    dropout: float = 0.0,
) -> Float[Tensor, "B H T D"]:
    """`attention_weights(q, k) @ v` in one fused operation that stores no weights."""
    T, S = q.shape[-2], k.shape[-2]
    mask = None if T in (1, S) else _mask(q, k)
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, dropout_p=dropout, is_causal=T == S
    )


def _mask(q: Tensor, k: Tensor) -> Tensor:
    """The last T rows of `causal_mask(S)`."""
    T, S = q.shape[-2], k.shape[-2]
    full = torch.full((T, S), -math.inf, dtype=q.dtype, device=q.device)
    return full.triu(diagonal=S - T + 1)
