"""The transformer block: attention, then an MLP, each with a norm and a residual."""

from functools import partial

from jaxtyping import Float
from torch import Tensor, nn

from mygpt.attention import KVCache, MultiHeadAttention
from mygpt.checks import check_choice
from mygpt.feed_forward import MLP
from mygpt.norm import LayerNorm

NORMS = ("pre", "post", "none")


class TransformerBlock(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)).

    `norm` and `residual` change the wiring alone: "pre" is GPT-2's order, "post" puts
    the norm after the addition, norm(x + f(x)), as in Vaswani et al. (2017); Xiong
    et al. (2020) compare them.
    """

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
        check_choice("norm", norm, NORMS)
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
        attention = self.mha if cache is None else partial(self.mha, cache=cache)
        x = self._sublayer(x, self.ln1, attention)
        return self._sublayer(x, self.ln2, self.mlp)

    def _sublayer(self, x, norm, f):
        if self.norm == "post":
            return norm(x + f(x) if self.residual else f(x))
        return x + f(norm(x)) if self.residual else f(norm(x))


class AttentionBlock(nn.Module):
    """A transformer block without its feed-forward half: x + attention(norm(x)).

    Elhage et al. (2021) study models made of such blocks alone.
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


def stages(
    block: TransformerBlock, x: Float[Tensor, "B T C"]
) -> dict[str, Float[Tensor, "B T _"]]:
    """Every vector on its way through a block, by the name of what gave it.

    The last is what the block gives. Only GPT-2's wiring, "pre" with residuals, has
    them; another is a ValueError.
    """
    if block.norm != "pre" or not block.residual:
        raise ValueError(
            f'expected a block of norm "pre" with residuals, got {block.norm!r} and '
            f"residual={block.residual}"
        )
    way = {"x": x, "ln1": block.ln1(x)}
    way["attention"] = block.mha(way["ln1"])
    way["x + attention"] = x + way["attention"]
    way["ln2"] = block.ln2(way["x + attention"])
    way["fc1"] = block.mlp.fc1(way["ln2"])
    way["activation"] = block.mlp.act(way["fc1"])
    way["fc2"] = block.mlp.drop(block.mlp.fc2(way["activation"]))
    way["x + fc2"] = way["x + attention"] + way["fc2"]
    return way
