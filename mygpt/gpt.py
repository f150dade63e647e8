"""GPT-2 (Radford et al. 2019): embeddings, blocks, a last norm, and a tied head."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from mygpt.attention import KVCache
from mygpt.block import AttentionBlock, TransformerBlock
from mygpt.embedding import TokenEmbedding
from mygpt.feed_forward import ACTIVATIONS
from mygpt.inference import convert
from mygpt.norm import LayerNorm
from mygpt.support.arguments import (
    check_axes,
    check_below_one,
    check_choice,
    check_divisible,
    check_flags,
    check_length,
    check_positive,
    is_whole,
    named,
    store_numbers,
)

GPT2_SIZES = {  # layers, heads, channels
    "small": (12, 12, 768),
    "medium": (24, 16, 1024),
    "large": (36, 20, 1280),
    "xl": (48, 25, 1600),
}


@dataclass(frozen=True)
class GPTConfig:
    """The shape of a GPT; a shape that cannot be built is a ValueError.

    vocab_size: V, tokens that have an embedding and a score.
    max_seq_len: T, positions that have an embedding; no text is longer.
    embed_dim: C, channels of the residual stream.
    num_heads: H, heads of attention in each block; it divides embed_dim.
    num_layers: L, blocks.
    dropout: share of activations set to 0 in training, wherever GPT-2 has dropout.
    activation: of the feed-forward network: gelu_tanh (GPT-2's), gelu, relu or silu.
    expansion: F / C, the hidden width of the feed-forward network in embed_dims.
    bias: whether the linear layers have biases; the norms always do.
    attention_only: numbers, from 0, of blocks that have no feed-forward network.
    """

    vocab_size: int
    max_seq_len: int
    embed_dim: int
    num_heads: int
    num_layers: int
    dropout: float = 0.0
    activation: str = "gelu_tanh"
    expansion: int = 4
    bias: bool = True
    attention_only: Sequence[int] = ()

    def __post_init__(self):
        store_numbers(self)
        shape = ("vocab_size", "max_seq_len", "embed_dim", "num_heads", "num_layers")
        check_positive(**named(self, *shape, "expansion"))
        check_divisible(embed_dim=self.embed_dim, num_heads=self.num_heads)
        check_below_one(dropout=self.dropout)
        check_choice(ACTIVATIONS, activation=self.activation)
        check_flags(bias=self.bias)
        layers = self.attention_only
        inside = isinstance(layers, Sequence) and all(
            is_whole(i) and 0 <= i < self.num_layers for i in layers
        )
        if not inside or list(layers) != sorted(set(layers)):
            raise ValueError(
                "attention_only must be increasing block numbers from 0 to "
                f"{self.num_layers - 1}; got {self.attention_only!r}"
            )
        object.__setattr__(self, "attention_only", tuple(layers))  # JSON gives a list

    @property
    def kv_heads(self) -> int:
        return self.num_heads

    @classmethod
    def gpt2(cls, size: str = "small", **changes) -> "GPTConfig":
        """The shape of one of the four published models: small, medium, large or xl."""
        check_choice(GPT2_SIZES, size=size)
        layers, heads, channels = GPT2_SIZES[size]
        shape = {
            "vocab_size": 50257,
            "max_seq_len": 1024,
            "embed_dim": channels,
            "num_heads": heads,
            "num_layers": layers,
        }
        return cls(**shape | changes)


class LanguageModel(nn.Module):
    """Token ids in, a score for every possible next token out.

    `train` and `generate` take any such model; a checkpoint holds a GPT or a ModernGPT.
    A subclass has a `config` with vocab_size and max_seq_len, and defines logits and
    embed; or, if it has no blocks and last norm, states and new_cache.
    """

    config: Any
    token: TokenEmbedding
    blocks: nn.ModuleList
    ln_f: nn.Module

    @property
    def tied(self) -> bool:
        """Whether the head's matrix is the token embedding's."""
        return True

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "..."] | None = None,
        *,
        cache: list[KVCache] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """The logits and, given targets, the mean cross-entropy in nats.

        With a `cache`, ids are the positions that follow those in the cache.
        """
        logits = self.logits(self.states(ids, cache))
        return logits, None if targets is None else mean_loss(logits, targets)

    def states(
        self, ids: Int[Tensor, "B T"], cache: list[KVCache] | None = None
    ) -> Float[Tensor, "B T C"]:
        """The output of the last norm at each position, which the scores come from."""
        check_axes(ids, "B T")
        past = cache[0].length if cache else 0
        end = past + ids.shape[1]
        check_length(end, self.config.max_seq_len)
        x, *places = self.embed(ids, slice(past, end))  # (B, T, C)
        for layer, block in enumerate(self.blocks):
            x = block(x, *places, cache=cache[layer] if cache else None)
        return self.ln_f(x)

    def embed(self, ids: Int[Tensor, "B T"], at: slice) -> Sequence[Tensor | None]:
        """The stream that enters the first block, and what every block takes besides.

        at: the positions of the ids
        """
        raise NotImplementedError

    def logits(self, states: Float[Tensor, "... C"]) -> Float[Tensor, "... V"]:
        """A score for every token."""
        raise NotImplementedError

    def new_cache(self, batch: int = 1) -> list[KVCache]:
        """One empty cache for each block, with room for max_seq_len positions."""
        check_positive(batch=batch)
        c = self.config
        shape = (batch, c.kv_heads, c.max_seq_len, c.embed_dim // c.num_heads)
        like = self.token.embedding.weight
        return [
            KVCache(like.new_empty(shape), like.new_empty(shape)) for _ in self.blocks
        ]

    def for_inference(self, form: str = "packed") -> "LanguageModel":
        """A copy that generates text on a CPU, from weights in a form read faster.

        "packed" weights are float32 in another order, and give the same tokens; whether
        they are faster for one text depends on the CPU. "int8" weights are rounded to a
        byte, need widths divisible by 32, and change the text. A tied embedding is kept
        in float32 beside either. The copy cannot be trained, moved, copied or saved. A
        model in training mode, not in float32 on the CPU, or such a copy itself is a
        ValueError.
        """
        return convert(self, form, tied=self.tied)


class GPT(LanguageModel):
    """The model of `config`, with GPT-2's wiring, initialisation and tied head."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        C, T = config.embed_dim, config.max_seq_len
        self.token = TokenEmbedding(config.vocab_size, C)
        self.position = nn.Embedding(T, C)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            make_block(config, layer) for layer in range(config.num_layers)
        )
        self.ln_f = LayerNorm(C)
        initialise(self)

    def embed(self, ids: Int[Tensor, "B T"], at: slice) -> Sequence[Tensor | None]:
        """The stream that enters the first block."""
        return [self.drop(self.token(ids) + self.position.weight[at])]

    def logits(self, states: Float[Tensor, "... C"]) -> Float[Tensor, "... V"]:
        """A score for every token: the product with its embedding."""
        return self.token.scores(states)


def make_block(config: GPTConfig, layer: int) -> TransformerBlock | AttentionBlock:
    """Make the block with that number."""
    shape = (config.embed_dim, config.num_heads, config.max_seq_len, config.dropout)
    biases = {"qkv_bias": config.bias, "out_bias": config.bias}
    if layer in config.attention_only:
        return AttentionBlock(*shape, **biases)
    return TransformerBlock(
        *shape,
        activation=config.activation,
        expansion=config.expansion,
        bias=config.bias,
        **biases,
    )


def mean_loss(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "..."]
) -> Float[Tensor, ""]:
    """The mean cross-entropy in nats; targets of -100 are ignored."""
    if targets.shape != logits.shape[:2]:
        raise ValueError(
            f"expected targets of shape {tuple(logits.shape[:2])}, "
            f"got {tuple(targets.shape)}"
        )
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def initialise(model: GPT) -> None:
    """Initialise as GPT-2 does: weights normal with std 0.02, biases zero.

    The layers that write to the residual stream, two in each block, get 0.02 / √(2L),
    so that their sum over the depth keeps its size (Radford et al. 2019, section 2.3).
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            writes = name.endswith(("mha.W_O", "mlp.fc2"))
            std = 0.02 / math.sqrt(2 * model.config.num_layers) if writes else 0.02
            nn.init.normal_(module.weight, std=std)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
