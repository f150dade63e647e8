"""mygpt: a GPT-2 from nothing, one short module for each chapter's idea.

The letters used everywhere, in code and in formulas:

    B  batch: how many texts at once
    T  positions: how many tokens in each text
    C  channels: the width of the vector that stands for one token (embed_dim)
    H  heads of attention
    D  width of one head
    F  hidden width of the feed-forward network, 4C by default
    V  vocabulary size
    L  layers (transformer blocks)

The running example is a text of four tokens, which are also the whole vocabulary.
"""

from mygpt.attention import MultiHeadAttention, SingleHeadAttention
from mygpt.block import TransformerBlock
from mygpt.embedding import VOCAB, TokenEmbedding, to_ids
from mygpt.feed_forward import MLP
from mygpt.norm import LayerNorm
from mygpt.seed import set_seed

__version__ = "0.1.0"

__all__ = [
    "MLP",
    "VOCAB",
    "LayerNorm",
    "MultiHeadAttention",
    "SingleHeadAttention",
    "TokenEmbedding",
    "TransformerBlock",
    "set_seed",
    "to_ids",
]
