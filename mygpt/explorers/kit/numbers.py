"""Random numbers that a page and Python draw alike."""


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
