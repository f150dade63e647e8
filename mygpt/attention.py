"""Causal self-attention (Vaswani et al. 2017, section 3.2)."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from mygpt.checks import check_dropout, check_last_axis, check_length, check_positive


def causal_mask(max_seq_len: int) -> Float[Tensor, "T T"]:
    """Additive: 0 where a position may look (itself and before), -inf elsewhere."""
    return torch.full((max_seq_len, max_seq_len), -math.inf).triu(diagonal=1)


class SingleHeadAttention(nn.Module):
    """Each position reads a weighted average of values, its own and earlier ones."""

    def __init__(
        self, embed_dim: int, head_dim: int, max_seq_len: int = 64, dropout: float = 0.0
    ):
        super().__init__()
        check_positive(embed_dim=embed_dim, head_dim=head_dim, max_seq_len=max_seq_len)
        check_dropout(dropout)
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
        check_last_axis(x, self.embed_dim)
        T = x.shape[-2]
        check_length(T, len(self.causal_mask))
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)  # (B, T, D) each
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (B, T, T)
        weights = torch.softmax(scores + self.causal_mask[:T, :T], dim=-1)
        out = self.W_O(self.drop(weights) @ v)
        return (out, weights) if return_weights else out


class MultiHeadAttention(nn.Module):
    """H heads of width D = C / H, each on its own slice of the same four matrices."""

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
        check_dropout(dropout)
        if embed_dim % num_heads:
            raise ValueError(
                "expected embed_dim divisible by num_heads, "
                f"got {embed_dim} and {num_heads}"
            )
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.max_seq_len = max_seq_len
        self.W_Q = nn.Linear(embed_dim, embed_dim, bias=qkv_bias)
        self.W_K = nn.Linear(embed_dim, embed_dim, bias=qkv_bias)
        self.W_V = nn.Linear(embed_dim, embed_dim, bias=qkv_bias)
        self.W_O = nn.Linear(embed_dim, embed_dim, bias=out_bias)
        self.drop = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "B T C"], *, return_weights: bool = False
    ) -> Float[Tensor, "B T C"] | tuple[Tensor, Tensor]:
        """The output; with `return_weights`, also the weights (B, H, T, T)."""
        check_last_axis(x, self.embed_dim)
        check_length(x.shape[1], self.max_seq_len)
        q, k, v = map(self._split, (self.W_Q(x), self.W_K(x), self.W_V(x)))
        dropout = self.drop.p if self.training else 0.0
        if return_weights:
            weights = attention_weights(q, k)
            heads = F.dropout(weights, dropout) @ v
            return self.drop(self.W_O(self._join(heads))), weights
        heads = F.scaled_dot_product_attention(
            q, k, v, dropout_p=dropout, is_causal=True
        )
        return self.drop(self.W_O(self._join(heads)))

    def _split(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B H T D"]:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def _join(self, heads: Float[Tensor, "B H T D"]) -> Float[Tensor, "B T C"]:
        return heads.transpose(1, 2).flatten(2)


def attention_weights(
    q: Float[Tensor, "... T D"], k: Float[Tensor, "... T D"]
) -> Float[Tensor, "... T T"]:
    """Causal softmax(q kᵀ / √D): row t is what position t reads from each position."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., T, T)
    return torch.softmax(scores + causal_mask(q.shape[-2]).to(q), dim=-1)
