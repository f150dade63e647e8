"""Layer normalisation (Ba, Kiros and Hinton 2016)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mygpt.checks import check_last_axis, check_positive


class LayerNorm(nn.Module):
    """Bring each position's vector to mean 0 and variance 1; then weight and bias."""

    def __init__(self, embed_dim: int, eps: float = 1e-5):
        super().__init__()
        check_positive(embed_dim=embed_dim)
        if not eps >= 0:
            raise ValueError(f"eps must be at least 0, got {eps!r}")
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(embed_dim))
        self.bias = nn.Parameter(torch.zeros(embed_dim))

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
        check_last_axis(x, len(self.weight))
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        variance = x.var(dim=-1, keepdim=True, correction=0)  # (..., 1), population
        normalised = (x - mean) / torch.sqrt(variance + self.eps)
        return self.weight * normalised + self.bias
