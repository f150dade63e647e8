"""What a GPT's shape costs: its parameters, its work for a token, its memory.

Nothing is built: the counts follow from the config alone, and every part has a name.
"""

from mygpt.gpt import GPTConfig
from mygpt.support.arguments import check_length, check_positive

FLOAT32 = 4  # bytes


def parameters_by_part(config: GPTConfig) -> dict[str, int]:
    """The numbers that training changes, by the part that holds them.

    The head is tied: it is the token embedding, and adds none.
    """
    C, L, F = config.embed_dim, config.num_layers, config.expansion * config.embed_dim
    networks = _networks(config)
    return {
        "token embedding": config.vocab_size * C,
        "positions": config.max_seq_len * C,
        "attention": L * (4 * C * C + 4 * C * config.bias),
        "feed-forward": networks * (2 * C * F + (F + C) * config.bias),
        "norms": (L + networks + 1) * 2 * C,
    }


def flops_per_token(config: GPTConfig, length: int) -> dict[str, int]:
    """Additions and multiplications of a forward pass for one token, by part.

    The token is the last of `length` positions; the keys and values of the others are
    in the cache. Matrix products alone are counted, a multiplication and an addition as
    two: biases, norms, activations and the softmax are not. Training costs three times
    as much for each token of texts of `length`: a backward pass is two forward passes,
    and attention that is written out scores every position against the whole text,
    what the mask hides too.
    """
    _check_length(config, length)
    C, L, F = config.embed_dim, config.num_layers, config.expansion * config.embed_dim
    return {
        "attention's matrices": L * 8 * C * C,
        "scores and values": L * 4 * C * length,
        "feed-forward": _networks(config) * 4 * C * F,
        "head": 2 * config.vocab_size * C,
    }


def memory(config: GPTConfig, length: int, bytes_each: int = FLOAT32) -> dict[str, int]:
    """The bytes of what a model holds, by what it is for.

    The weights, and the key-value cache of one text of `length`, have `bytes_each` for
    a number: 4 or 2. Gradients and AdamW's two averages, which only training needs, are
    float32. Activations come on top and are not counted.
    """
    _check_length(config, length)
    if bytes_each not in (2, FLOAT32):
        raise ValueError(f"bytes_each must be 2 or {FLOAT32}, got {bytes_each!r}")
    parameters = sum(parameters_by_part(config).values())
    cached = 2 * config.num_layers * config.embed_dim * length
    return {
        "weights": parameters * bytes_each,
        "gradients": parameters * FLOAT32,
        "AdamW's averages": parameters * 2 * FLOAT32,
        "key-value cache": cached * bytes_each,
    }


def _networks(config: GPTConfig) -> int:
    """How many blocks have a feed-forward network."""
    return config.num_layers - len(config.attention_only)


def _check_length(config: GPTConfig, length: int) -> None:
    check_positive(length=length)
    check_length(length, config.max_seq_len)
