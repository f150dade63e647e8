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
    """Each position's vector, brought to mean 0 and variance 1."""
    mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
    variance = x.var(dim=-1, keepdim=True, correction=0)  # (..., 1), population
    return (x - mean) / torch.sqrt(variance + eps)


class LayerNorm(nn.Module):
    """`weight * normalise(x, eps) + bias`, in one fused operation."""

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
