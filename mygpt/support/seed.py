"""One seed for every source of randomness that the chapters use."""

import random

import numpy as np
import torch


def set_seed(seed: int = 0) -> None:
    """Seed Python, NumPy and PyTorch, so that a chapter prints the same every time."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
