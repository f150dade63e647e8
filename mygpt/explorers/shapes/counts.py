"""What Shapes shows, counted by the package from the shape alone."""

from collections.abc import Mapping

from mygpt.gpt import GPT2_SIZES, GPTConfig
from mygpt.sizes import flops_per_token, memory, parameters_by_part

SIZES = tuple(GPT2_SIZES)
SHAPE = ("vocab_size", "max_seq_len", "embed_dim", "num_heads", "num_layers")


def size_of(name: str) -> dict[str, int]:
    """The shape of one of GPT-2's sizes."""
    config = GPTConfig.gpt2(name)
    return {name: getattr(config, name) for name in SHAPE}


def parameters(shape: Mapping[str, int]) -> dict[str, int]:
    """The parameters of every part."""
    return parameters_by_part(GPTConfig(**shape))


def flops(shape: Mapping[str, int], length: int) -> dict[str, int]:
    """The FLOPs of the last token of a text of `length`, by part."""
    return flops_per_token(GPTConfig(**shape), length)


def bytes_of(shape: Mapping[str, int], length: int, each: int) -> dict[str, int]:
    """The memory with `each` bytes for a number of the weights and the cache."""
    return memory(GPTConfig(**shape), length, each)
