"""Numbers as the page has them: rounded as it shows them, drawn as it draws them."""

from typing import Any

import numpy as np

Numbers = Any  # an array, a tensor, a list: whatever np.asarray reads as numbers


def as_shown(numbers: Numbers, form: str) -> np.ndarray:
    """The numbers as Python prints them in `form`, so that the page shows the same."""
    flat = np.asarray(numbers, dtype=np.float64)
    rounded = [float(format(one, form)) for one in flat.ravel().tolist()]
    return np.array(rounded, dtype=np.float64).reshape(flat.shape)


def thousandths(shown: np.ndarray) -> bytes:
    """Numbers of three decimals as the page gets them: int32, in thousandths."""
    return np.rint(shown * 1000).astype("<i4").tobytes()


def softmax(numbers: np.ndarray) -> np.ndarray:
    """Softmax over the last axis, of which -inf gets 0."""
    powers = np.exp(numbers - numbers.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def mulberry32(seed: int, numbers: int) -> list[float]:
    """Random numbers from 0 up to 1, the same as the page's for the same seed."""
    mask = 2**32 - 1
    state, found = seed, []
    for _ in range(numbers):
        state = (state + 0x6D2B79F5) & mask
        t = ((state ^ state >> 15) * (state | 1)) & mask
        t ^= (t + (((t ^ t >> 7) * (t | 61)) & mask)) & mask
        found.append((t ^ t >> 14) / 2**32)
    return found
