"""The optimizers of a run: AdamW, and Muon for the matrices inside the blocks."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mygpt.support.arguments import (
    check_below_one,
    check_positive,
    check_range,
    takes_numbers,
)
from mygpt.training.config import TrainingConfig


def orthogonalise(
    matrices: Float[Tensor, "N R C"], steps: int = 5
) -> Float[Tensor, "N R C"]:
    """Bring each matrix's singular values near 1, and keep its singular vectors.

    A quintic Newton-Schulz iteration with the coefficients of Jordan (2024), which
    raise small values fast and end between about 0.7 and 1.2.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    wide = matrices.shape[1] <= matrices.shape[2]
    X = matrices if wide else matrices.mT
    X = X / (X.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(steps):
        A = X @ X.mT
        X = torch.baddbmm(X, torch.baddbmm(A, A, A, beta=b, alpha=c), X, beta=a)
    return X if wide else X.mT


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised, for the matrices inside the blocks (Jordan 2024).

    The update of a (rows, columns) matrix is scaled by √max(1, rows / columns).
    Matrices of one shape are orthogonalised together. The decay is decoupled, and not
    scaled.
    """

    @takes_numbers
    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float = 0.02,
        momentum: float = 0.95,
        steps: int = 5,
        weight_decay: float = 0.0,
    ):
        check_range(0, math.inf, lr=lr, weight_decay=weight_decay)
        check_below_one(momentum=momentum)
        check_positive(steps=steps)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "steps": steps,
            "weight_decay": weight_decay,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(f"expected matrices, got shape {tuple(p.shape)}")

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take a step; a `closure`, if given, computes loss and gradients first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            by_shape = defaultdict(list)
            for p in group["params"]:
                if p.grad is not None:
                    by_shape[p.shape].append((p, p.grad))
            for (rows, columns), pairs in by_shape.items():
                slopes = [self._nesterov(*pair, group["momentum"]) for pair in pairs]
                updates = orthogonalise(torch.stack(slopes), group["steps"])
                lr = group["lr"] * math.sqrt(max(1, rows / columns))
                decay = group["lr"] * group["weight_decay"]
                for (p, _), update in zip(pairs, updates.unbind(), strict=True):
                    p.mul_(1 - decay).sub_(update, alpha=lr)
        return loss

    def _nesterov(self, p: Tensor, gradient: Tensor, momentum: float) -> Tensor:
        state = self.state[p]
        if not state:
            state["momentum"] = torch.zeros_like(p)
        state["momentum"].mul_(momentum).add_(gradient)
        return gradient.add(state["momentum"], alpha=momentum)


def is_hidden_matrix(name: str, parameter: Tensor) -> bool:
    """Whether Muon trains the parameter: by its name, a matrix inside a block."""
    return name.startswith("blocks.") and parameter.ndim == 2


def make_optimizers(
    model: nn.Module, config: TrainingConfig
) -> list[torch.optim.Optimizer]:
    """AdamW that decays only matrices; Muon for the hidden ones if asked.

    The decay is decoupled (Loshchilov and Hutter 2019): lr × decay × weight, apart from
    the gradient.
    """
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    if not named:
        raise ValueError(
            "expected a model to train, got one whose parameters need no gradient, "
            "such as a model for inference"
        )
    hidden = [p for n, p in named if is_hidden_matrix(n, p)]
    if config.optimizer == "adamw":
        hidden = []
    taken = set(map(id, hidden))
    rest = [p for _, p in named if id(p) not in taken]
    groups = [
        {
            "params": [p for p in rest if p.ndim >= 2],
            "weight_decay": config.weight_decay,
        },
        {"params": [p for p in rest if p.ndim < 2], "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=config.betas,
        fused=True,
    )
    optimizers: list[torch.optim.Optimizer] = [adamw]
    if hidden:
        muon = Muon(
            hidden,
            lr=config.matrix_learning_rate,
            momentum=config.momentum,
            weight_decay=config.matrix_weight_decay,
        )
        optimizers.append(muon)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return optimizers
