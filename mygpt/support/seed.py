"""One seed for every source of randomness that the chapters use."""

import random

import numpy as np
import torch

from mygpt.support.arguments import check_seed


def set_seed(seed: int = 0) -> None:
    """Seed Python, NumPy and PyTorch, so that a chapter prints the same every time."""
    seed = check_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
