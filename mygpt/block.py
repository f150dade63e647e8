"""The transformer block: attention, then an MLP, each with a norm and a residual."""

from collections.abc import Callable
from functools import partial
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from mygpt.attention import KVCache, MultiHeadAttention
from mygpt.feed_forward import MLP
from mygpt.norm import LayerNorm
from mygpt.support.arguments import check_choice, check_flags, takes_numbers

NORMS = ("pre", "post", "none")


class TransformerBlock(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)).

    `norm` and `residual` change the wiring alone: "pre" is GPT-2's order, "post" puts
    the norm after the addition, norm(x + f(x)), as in Vaswani et al. (2017); Xiong
    et al. (2020) compare them. "none" leaves the norms out, `residual=False` the
    additions. `qkv_bias` and `out_bias` are the attention's; `activation`, `expansion`
    and `bias` are the MLP's. x and what `forward` returns have the same shape.
    """

    @takes_numbers
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        max_seq_len: int = 64,
        dropout: float = 0.0,
        *,
        norm: str = "pre",
        residual: bool = True,
        activation: str = "gelu",
        expansion: int = 4,
        bias: bool = True,
        qkv_bias: bool = False,
        out_bias: bool = False,
    ):
        super().__init__()
        check_choice(NORMS, norm=norm)
        check_flags(residual=residual)
        self.norm, self.residual = norm, residual
        self.ln1 = nn.Identity() if norm == "none" else LayerNorm(embed_dim)
        self.mha = MultiHeadAttention(
            embed_dim,
            num_heads,
            max_seq_len,
            dropout,
            qkv_bias=qkv_bias,
            out_bias=out_bias,
        )
        self.ln2 = nn.Identity() if norm == "none" else LayerNorm(embed_dim)
        self.mlp = MLP(
            embed_dim, dropout, activation=activation, expansion=expansion, bias=bias
        )

    def forward(
        self, x: Float[Tensor, "B T C"], *, cache: KVCache | None = None
    ) -> Float[Tensor, "B T C"]:
        # Without a cache, an attention of the reader's own need not know of one.
        attention = self.mha if cache is None else partial(self.mha, cache=cache)
        x = self.half(x, self.ln1, attention)
        return self.half(x, self.ln2, self.mlp)

    def half(self, x: Tensor, norm: nn.Module, layer: Callable) -> Tensor:
        """x + layer(norm(x)), or what the block's wiring makes of it."""
        post = self.norm == "post"
        change = layer(x if post else norm(x))
        out = x + change if self.residual else change
        return norm(out) if post else out


class AttentionBlock(nn.Module):
    """A transformer block without its feed-forward half: x + attention(norm(x)).

    Elhage et al. (2021) study models made only of such blocks. The arguments are those
    of `MultiHeadAttention`.
    """

    def __init__(self, embed_dim: int, *shape: Any, **biases: bool):
        super().__init__()
        self.ln1 = LayerNorm(embed_dim)
        self.mha = MultiHeadAttention(embed_dim, *shape, **biases)

    def forward(
        self, x: Float[Tensor, "B T C"], *, cache: KVCache | None = None
    ) -> Float[Tensor, "B T C"]:
        return x + self.mha(self.ln1(x), cache=cache)
