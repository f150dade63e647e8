"""The transformer block: attention, then an MLP, each with a norm and a residual."""

from jaxtyping import Float
from torch import Tensor, nn

from mygpt.attention import KVCache, MultiHeadAttention
from mygpt.feed_forward import MLP
from mygpt.norm import LayerNorm
from mygpt.support.arguments import check_choice

NORMS = ("pre", "post", "none")


class TransformerBlock(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)).

    `norm` and `residual` change the wiring alone, and make the block a `RewiredBlock`:
    "post" puts the norm after the addition, norm(x + f(x)), as in Vaswani et al.
    (2017); Xiong et al. (2020) compare it with "pre", GPT-2's order.
    """

    def __new__(cls, *sizes, norm: str = "pre", residual: bool = True, **settings):
        usual = norm == "pre" and residual
        return super().__new__(cls if usual else RewiredBlock)

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
        x = x + self.attend(self.ln1(x), cache)
        return x + self.mlp(self.ln2(x))

    def attend(
        self, x: Float[Tensor, "B T C"], cache: KVCache | None
    ) -> Float[Tensor, "B T C"]:
        return self.mha(x) if cache is None else self.mha(x, cache=cache)


OTHER_WIRINGS = {  # half a block, by `norm` and `residual`
    ("pre", False): lambda f, norm, x: f(norm(x)),
    ("post", True): lambda f, norm, x: norm(x + f(x)),
    ("post", False): lambda f, norm, x: norm(f(x)),
    ("none", True): lambda f, norm, x: x + f(x),
    ("none", False): lambda f, norm, x: f(x),
}


class RewiredBlock(TransformerBlock):
    """A block with its norms elsewhere, or without residuals, to compare with."""

    def forward(
        self, x: Float[Tensor, "B T C"], *, cache: KVCache | None = None
    ) -> Float[Tensor, "B T C"]:
        half = OTHER_WIRINGS[self.norm, self.residual]
        x = half(lambda x: self.attend(x, cache), self.ln1, x)
        return half(self.mlp, self.ln2, x)


class AttentionBlock(nn.Module):
    """A transformer block without its feed-forward half: x + attention(norm(x)).

    Elhage et al. (2021) study models made only of such blocks.
    """

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
        self.ln1 = LayerNorm(embed_dim)
        self.mha = MultiHeadAttention(
            embed_dim,
            num_heads,
            max_seq_len,
            dropout,
            qkv_bias=qkv_bias,
            out_bias=out_bias,
        )

    def forward(
        self, x: Float[Tensor, "B T C"], *, cache: KVCache | None = None
    ) -> Float[Tensor, "B T C"]:
        return x + self.mha(self.ln1(x), cache=cache)
