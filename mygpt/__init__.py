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

import sys
import typing

if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    sys.path.append(sys.path.pop(0))  # a random.py in this folder is no library's

if typing.TYPE_CHECKING:
    from mygpt.attention import MultiHeadAttention, SingleHeadAttention
    from mygpt.block import TransformerBlock
    from mygpt.checkpoint import load_checkpoint, save_checkpoint
    from mygpt.data import load_corpus
    from mygpt.embedding import VOCAB, TokenEmbedding, to_ids
    from mygpt.feed_forward import MLP
    from mygpt.gpt import GPT, GPTConfig
    from mygpt.huggingface import load_gpt2, save_gpt2
    from mygpt.inside.world_models import load_world_model
    from mygpt.norm import LayerNorm
    from mygpt.sampling import generate, generate_stream
    from mygpt.support.seed import set_seed
    from mygpt.tokenizers import BPETokenizer, CharTokenizer, WordTokenizer
    from mygpt.training import TrainingConfig, train

__version__ = "1.0.0"

__all__ = [
    "GPT",
    "MLP",
    "VOCAB",
    "BPETokenizer",
    "CharTokenizer",
    "GPTConfig",
    "LayerNorm",
    "MultiHeadAttention",
    "SingleHeadAttention",
    "TokenEmbedding",
    "TrainingConfig",
    "TransformerBlock",
    "WordTokenizer",
    "generate",
    "generate_stream",
    "load_checkpoint",
    "load_corpus",
    "load_gpt2",
    "load_world_model",
    "save_checkpoint",
    "save_gpt2",
    "set_seed",
    "to_ids",
    "train",
]

# Imported when something of them is first asked for, since the command's help needs
# none, and PyTorch takes seconds.
MODULES = (
    *("attention", "block", "checkpoint", "data", "embedding", "feed_forward", "gpt"),
    *("huggingface", "inference", "inside", "inside.world_models", "modern", "norm"),
    *("sampling", "support", "support.seed", "tokenizers", "training", "world"),
)


def _import_all() -> None:
    from importlib import import_module

    for module in MODULES:
        found = vars(import_module(f"mygpt.{module}"))
        globals().update({name: found[name] for name in __all__ if name in found})


if not typing.TYPE_CHECKING:  # or every name would be known to a type checker

    def __getattr__(name):
        if name in __all__ or name in MODULES:
            _import_all()
            return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        _import_all()
        return sorted(globals())
