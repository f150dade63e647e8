"""Layer normalisation (Ba, Kiros and Hinton 2016)."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from mygpt.support.arguments import (
    check_last_axis,
    check_positive,
    check_range,
    takes_numbers,
)


def normalise(x: Float[Tensor, "... C"], eps: float = 1e-5) -> Float[Tensor, "... C"]:
    """(x - mean) / √(variance + eps), over the last axis: each position by itself.

    The variance is divided by C, not C - 1. An `eps` above 0 keeps a constant
    vector finite.
    """
    mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
    variance = x.var(dim=-1, keepdim=True, correction=0)  # (..., 1), population
    return (x - mean) / torch.sqrt(variance + eps)


class LayerNorm(nn.Module):
    """weight · (x - mean) / √(variance + eps) + bias, over the last axis of x.

    It is `weight * normalise(x, eps) + bias` up to rounding, in one fused operation.
    `weight` and `bias` have shape (C,), C = `embed_dim`, and begin as ones and zeros:
    every channel has a scale and a shift of its own. PyTorch and GPT-2 have the same
    `eps`. x may have any number of axes before the last.
    A last axis that is not C long is a ValueError, and so are a width below 1 and an
    `eps` below 0.
    """

    @takes_numbers
    def __init__(self, embed_dim: int, eps: float = 1e-5):
        super().__init__()
        check_positive(embed_dim=embed_dim)
        check_range(0, math.inf, eps=eps)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(embed_dim))
        self.bias = nn.Parameter(torch.zeros(embed_dim))

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
        check_last_axis(x, embed_dim=len(self.weight))
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)
