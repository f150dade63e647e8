"""The position-wise feed-forward network (Vaswani et al. 2017, equation 2)."""

from jaxtyping import Float
from torch import Tensor, nn

from mygpt.support.arguments import (
    check_below_one,
    check_choice,
    check_last_axis,
    check_positive,
    takes_numbers,
)

ACTIVATIONS = {
    "gelu": nn.GELU,
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "relu": nn.ReLU,
    "silu": nn.SiLU,
}


class MLP(nn.Module):
    """Expand every position's vector to F channels, activate, and contract it again."""

    @takes_numbers
    def __init__(
        self,
        embed_dim: int,
        dropout: float = 0.0,
        *,
        activation: str = "gelu",
        expansion: int = 4,
        bias: bool = True,
    ):
        super().__init__()
        check_positive(embed_dim=embed_dim, expansion=expansion)
        check_below_one(dropout=dropout)
        check_choice(ACTIVATIONS, activation=activation)
        self.embed_dim = embed_dim
        hidden_dim = expansion * embed_dim
        self.fc1 = nn.Linear(embed_dim, hidden_dim, bias=bias)
        self.act = ACTIVATIONS[activation]()
        self.fc2 = nn.Linear(hidden_dim, embed_dim, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
        check_last_axis(x, embed_dim=self.embed_dim)
        hidden = self.act(self.fc1(x))  # (..., F)
        return self.drop(self.fc2(hidden))
