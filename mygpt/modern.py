"""What changed after GPT-2, each part by itself, and a model made of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from mygpt.attention import KVCache, causal_attention
from mygpt.embedding import TokenEmbedding
from mygpt.feed_forward import MLP
from mygpt.gpt import LanguageModel
from mygpt.norm import LayerNorm
from mygpt.support.arguments import (
    check_above_zero,
    check_axes,
    check_choice,
    check_divisible,
    check_flags,
    check_last_axis,
    check_positive,
    named,
    store_numbers,
    takes_numbers,
)

NORMS = ("rms", "layer")
POSITIONS = ("rotary", "learned")
MLPS = ("relu2", "swiglu", "gelu")


class RMSNorm(nn.Module):
    """x / √(mean of x² + ε): a layer norm without mean and bias (Zhang, Sennrich 2019).

    Each channel has a learned `weight`, which starts at one.
    """

    @takes_numbers
    def __init__(self, embed_dim: int, eps: float = 1e-6):
        super().__init__()
        check_positive(embed_dim=embed_dim)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(embed_dim))

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
        check_last_axis(x, embed_dim=len(self.weight))
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


def rotary_angles(max_seq_len: int, head_dim: int) -> Float[Tensor, "T half"]:
    """Position times frequency; frequencies fall from 1 to about 1/10,000."""
    if head_dim % 2:
        raise ValueError(f"rotary positions need an even head width, got {head_dim}")
    frequencies = 10_000.0 ** -(torch.arange(0, head_dim, 2) / head_dim)
    return torch.outer(torch.arange(max_seq_len).float(), frequencies)


def rotate(
    x: Float[Tensor, "B H T D"], angles: Float[Tensor, "T half"]
) -> Float[Tensor, "B H T D"]:
    """Rotate the plane of channels i and i + D/2 by the position's i-th angle.

    The product of a query and a key rotated in this way depends on how far apart they
    are, not on where they are (Su et al. 2021).
    """
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class SquaredReLU(nn.Module):
    """fc2(relu(fc1(x))²) without biases (So et al. 2021)."""

    @takes_numbers
    def __init__(self, embed_dim: int, expansion: int = 4):
        super().__init__()
        check_positive(embed_dim=embed_dim, expansion=expansion)
        self.fc1 = nn.Linear(embed_dim, expansion * embed_dim, bias=False)
        self.fc2 = nn.Linear(expansion * embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
        hidden = self.fc1(x)
        return self.fc2(F.relu(hidden) * hidden)  # cheaper backward than a square


class SwiGLU(nn.Module):
    """fc2(silu(gate(x)) · fc1(x)) without biases (Shazeer 2020).

    Three matrices in place of two: the hidden width is 2/3 of expansion · C, rounded
    up to a multiple of 8, so that the parameters stay about the same.
    """

    @takes_numbers
    def __init__(self, embed_dim: int, expansion: int = 4):
        super().__init__()
        check_positive(embed_dim=embed_dim, expansion=expansion)
        hidden_dim = 8 * math.ceil(2 * expansion * embed_dim / 3 / 8)
        self.gate = nn.Linear(embed_dim, hidden_dim, bias=False)
        self.fc1 = nn.Linear(embed_dim, hidden_dim, bias=False)
        self.fc2 = nn.Linear(hidden_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
        return self.fc2(F.silu(self.gate(x)) * self.fc1(x))


def check_heads(embed_dim: int, num_heads: int, num_kv_heads: int) -> None:
    """Raise a ValueError unless the channels and the queries' heads can be shared."""
    check_positive(embed_dim=embed_dim, num_heads=num_heads, num_kv_heads=num_kv_heads)
    check_divisible(embed_dim=embed_dim, num_heads=num_heads)
    check_divisible(num_heads=num_heads, num_kv_heads=num_kv_heads)


class GroupedQueryAttention(nn.Module):
    """Attention in which several heads of queries share one of keys and values.

    From Ainslie et al. (2023). With `qk_norm`, queries and keys are brought to root
    mean square 1 in each head (Henry et al. 2020). If given, `angles` rotate them.
    """

    @takes_numbers
    def __init__(
        self, embed_dim: int, num_heads: int, num_kv_heads: int, qk_norm: bool = False
    ):
        super().__init__()
        check_heads(embed_dim, num_heads, num_kv_heads)
        self.embed_dim, self.qk_norm = embed_dim, qk_norm
        self.head_dim = embed_dim // num_heads
        self.group = num_heads // num_kv_heads
        kv_dim = num_kv_heads * self.head_dim
        self.W_Q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_K = nn.Linear(embed_dim, kv_dim, bias=False)
        self.W_V = nn.Linear(embed_dim, kv_dim, bias=False)
        self.W_O = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        angles: Float[Tensor, "T half"] | None = None,
        *,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """With a `cache`, x holds the positions that follow those in the cache."""
        check_axes(x, "B T C")
        check_last_axis(x, embed_dim=self.embed_dim)
        q, k, v = (
            W(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_V)
        )  # (B, H, T, D), and (B, H / group, T, D) twice
        if self.qk_norm:
            q, k = (F.rms_norm(u, (self.head_dim,)) for u in (q, k))
        if angles is not None:
            q, k = rotate(q, angles), rotate(k, angles)
        if cache is not None:
            k, v = cache.append(k, v)
        if self.group > 1:
            k, v = (u.repeat_interleave(self.group, dim=1) for u in (k, v))
        heads = causal_attention(q, k, v)  # (B, H, T, D)
        return self.W_O(heads.transpose(1, 2).flatten(2))


@dataclass(frozen=True)
class ModernConfig:
    """A GPT after GPT-2; every part can be set back to GPT-2's on its own.

    vocab_size: V, tokens that have an embedding and a score.
    max_seq_len: T, the longest text, in tokens.
    embed_dim: C, channels of the residual stream.
    num_heads: H, heads of queries in each block; it divides embed_dim.
    num_layers: L, blocks.
    num_kv_heads: heads of keys and values, which queries share; None: num_heads.
    norm: rms (RMSNorm) or layer (LayerNorm).
    positions: rotary, or learned as GPT-2's.
    mlp: swiglu, relu2 (squared ReLU) or gelu.
    qk_norm: whether queries and keys are brought to root mean square 1.
    zero_init: whether blocks start as the identity, and the first loss at ln V.
    tied: whether the head's matrix is the embedding's.
    logit_cap: c, where logits become c · tanh(logits / c) (Gemma team 2024), or None.
    """

    vocab_size: int
    max_seq_len: int
    embed_dim: int
    num_heads: int
    num_layers: int
    num_kv_heads: int | None = None
    norm: str = "rms"
    positions: str = "rotary"
    mlp: str = "swiglu"
    qk_norm: bool = False
    zero_init: bool = True
    tied: bool = False
    logit_cap: float | None = 15.0

    def __post_init__(self):
        store_numbers(self)
        check_positive(**named(self, "vocab_size", "max_seq_len", "num_layers"))
        check_heads(self.embed_dim, self.num_heads, self.kv_heads)
        check_choice(NORMS, norm=self.norm)
        check_choice(POSITIONS, positions=self.positions)
        check_choice(MLPS, mlp=self.mlp)
        if self.positions == "rotary":
            rotary_angles(1, self.embed_dim // self.num_heads)
        check_flags(qk_norm=self.qk_norm, zero_init=self.zero_init, tied=self.tied)
        if self.logit_cap is not None:
            check_above_zero(logit_cap=self.logit_cap)

    @property
    def kv_heads(self) -> int:
        return self.num_heads if self.num_kv_heads is None else self.num_kv_heads

    def make_norm(self) -> nn.Module:
        return {"rms": RMSNorm, "layer": LayerNorm}[self.norm](self.embed_dim)

    def make_mlp(self) -> nn.Module:
        if self.mlp == "gelu":
            return MLP(self.embed_dim, bias=False)
        return {"relu2": SquaredReLU, "swiglu": SwiGLU}[self.mlp](self.embed_dim)


class ModernBlock(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, config: ModernConfig):
        super().__init__()
        self.ln1 = config.make_norm()
        self.mha = GroupedQueryAttention(
            config.embed_dim, config.num_heads, config.kv_heads, config.qk_norm
        )
        self.ln2 = config.make_norm()
        self.mlp = config.make_mlp()

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        angles: Float[Tensor, "T half"] | None = None,
        *,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        x = x + self.mha(self.ln1(x), angles, cache=cache)
        return x + self.mlp(self.ln2(x))


class ModernGPT(LanguageModel):
    """A GPT with modern parts; `train` and `generate` take it as they take `GPT`."""

    def __init__(self, config: ModernConfig):
        super().__init__()
        self.config = config
        C, T = config.embed_dim, config.max_seq_len
        self.token = TokenEmbedding(config.vocab_size, C)
        self.blocks = nn.ModuleList(
            ModernBlock(config) for _ in range(config.num_layers)
        )
        self.ln_f = config.make_norm()
        if config.positions == "rotary":
            angles = rotary_angles(T, C // config.num_heads)
            self.register_buffer("angles", angles, persistent=False)
        else:
            self.angles = None
            self.position = nn.Embedding(T, C)
        if not config.tied:
            self.head = nn.Linear(C, config.vocab_size, bias=False)
        initialise(self)

    @property
    def tied(self) -> bool:
        return self.config.tied

    def embed(self, ids: Int[Tensor, "B T"], at: slice) -> Sequence[Tensor | None]:
        """The stream that enters the first block, and the angles of its positions."""
        x = self.token(ids)
        if self.angles is None:
            return x + self.position.weight[at], None
        return x, self.angles[at]

    def logits(self, states: Float[Tensor, "... C"]) -> Float[Tensor, "... V"]:
        """A score for every token, soft-capped if the config has a cap."""
        logits = (self.token.scores if self.tied else self.head)(states)
        if cap := self.config.logit_cap:
            logits = cap * torch.tanh(logits / cap)
        return logits


@torch.no_grad()
def initialise(model: ModernGPT) -> None:
    """Draw normal weights: std 1/√fan-in, for embeddings 1, or 0.02 if tied.

    With `zero_init` the layers that write to the residual stream and the untied head
    start at zero: every block is the identity, and the first loss is ln V.
    """
    config = model.config
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02 if config.tied else 1.0)
    if config.zero_init:
        for block in model.blocks:
            nn.init.zeros_(block.mha.W_O.weight)
            nn.init.zeros_(block.mlp.fc2.weight)
        if not config.tied:
            nn.init.zeros_(model.head.weight)
