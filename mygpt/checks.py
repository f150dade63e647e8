"""Messages for a reader's mistakes: what was expected, and what came."""

from collections.abc import Iterable

from torch import Tensor


def check_positive(**values: int) -> None:
    """Raise a ValueError unless every named value is a whole number of at least 1."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(
                f"{name} must be a whole number of at least 1, got {value!r}"
            )


def check_dropout(dropout: float) -> None:
    """Raise a ValueError unless 0 <= dropout < 1."""
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout!r}")


def check_divisible(**values: int) -> None:
    """Raise a ValueError unless the first of two values is divisible by the other.

    `check_divisible(embed_dim=768, num_heads=12)`: the width can be cut into heads.
    """
    (whole, a), (part, b) = values.items()
    if a % b:
        raise ValueError(f"expected {whole} divisible by {part}, got {a} and {b}")


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Raise a ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}")


def check_last_axis(x: Tensor, width: int, name: str = "embed_dim") -> None:
    """Raise a ValueError unless the last axis of `x` has the given width."""
    if x.ndim == 0 or x.shape[-1] != width:
        raise ValueError(
            f"expected a last axis of {name} = {width}, got shape {tuple(x.shape)}"
        )


def check_length(length: int, max_seq_len: int) -> None:
    """Raise a ValueError when a sequence is longer than max_seq_len."""
    if length > max_seq_len:
        raise ValueError(
            f"expected at most max_seq_len = {max_seq_len} positions, got {length}"
        )
