"""The signal and its gradient on the way through many layers."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mygpt.feed_forward import MLP
from mygpt.norm import LayerNorm
from mygpt.support.arguments import check_choice, check_positive


def _norm(x: Tensor) -> Tensor:
    return LayerNorm(x.shape[-1]).to(x)(x)


WIRINGS = {
    "plain": lambda f, x: f(x),
    "residual": lambda f, x: x + f(x),
    "pre-norm": lambda f, x: x + f(_norm(x)),
    "post-norm": lambda f, x: _norm(x + f(x)),
}
KINDS = tuple(WIRINGS)


@dataclass(frozen=True)
class DepthTrace:
    """The signal and the gradient in a stack of L layers.

    `std[0]` belongs to the input, `std[l]` to the output of layer l: the standard
    deviation over all elements (Bessel-corrected). `grad_norm[l - 1]` is the Euclidean
    norm, in float64, of the gradient with respect to the watched weight of layer l,
    `input_grad_norm` with respect to the input.
    """

    std: Float[Tensor, "L_and_input"]
    grad_norm: Float[Tensor, "L"]
    input_grad_norm: float


def mlp_stack(
    num_layers: int, embed_dim: int, *, gain: float = 1.0, bias: bool = True
) -> list[MLP]:
    """Random MLPs in evaluation mode, their weights (not the biases) times `gain`."""
    check_positive(num_layers=num_layers)
    stack = [MLP(embed_dim, bias=bias).eval() for _ in range(num_layers)]
    for mlp in stack:
        with torch.no_grad():
            mlp.fc1.weight.mul_(gain)
            mlp.fc2.weight.mul_(gain)
    return stack


def states(
    stack: Sequence[nn.Module], x: Float[Tensor, "B T C"], kind: str = "plain"
) -> list[Float[Tensor, "B T C"]]:
    """The input and the output of every layer, wired as `kind` says."""
    check_choice(KINDS, kind=kind)
    xs = [x]
    for layer in stack:
        xs.append(WIRINGS[kind](layer, xs[-1]))
    return xs


def trace(
    stack: Sequence[nn.Module],
    x: Float[Tensor, "B T C"],
    kind: str = "plain",
    *,
    direction: Float[Tensor, "B T C"] | None = None,
    watch: Callable[[nn.Module], Tensor] = lambda mlp: mlp.fc1.weight,
) -> DepthTrace:
    """Send `x` through the stack, and the gradient of sum(output * direction) back.

    `direction` is one fixed random tensor unless given. The plain sum of the output is
    a bad choice behind a layer norm: it is constant, so its gradient is rounding noise.
    """
    if direction is None:
        direction = fixed_direction(x)
    x = x.detach().requires_grad_()
    xs = states(stack, x, kind)
    watched = [x, *map(watch, stack)]
    grads = torch.autograd.grad((xs[-1] * direction).sum(), watched)
    input_norm, *norms = [grad.double().norm() for grad in grads]
    std = torch.stack([state.std() for state in xs]).detach()
    return DepthTrace(std, torch.stack(norms), input_norm.item())


def fixed_direction(x: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """Standard normal numbers in the shape of `x`, the same ones at every call."""
    return torch.randn(x.shape, generator=torch.Generator().manual_seed(12345)).to(x)


@dataclass(frozen=True)
class DepthSweep:
    """Traces of every combination, in log10 (the gradients leave float32's range).

    The axes are kind, gain, width, bias, depth and layer. Layer 0 is the input. It is
    NaN in `log_grad`, which belongs to the layers' weights; so are entries beyond a
    stack's own depth.
    """

    kinds: tuple[str, ...]
    gains: tuple[float, ...]
    widths: tuple[int, ...]
    biases: tuple[bool, ...]
    depths: tuple[int, ...]
    log_std: Float[Tensor, "kind gain width bias depth layer"]
    log_grad: Float[Tensor, "kind gain width bias depth layer"]


def sweep(
    *,
    kinds: Sequence[str] = KINDS,
    gains: Sequence[float] = (0.5, 1.0, 2.0, 3.0),
    widths: Sequence[int] = (16, 64),
    biases: Sequence[bool] = (True, False),
    depths: Sequence[int] = (10, 30, 100),
    seed: int = 0,
) -> DepthSweep:
    """Trace stacks of every combination in float64, each made from the same seed."""
    shape = [len(axis) for axis in (kinds, gains, widths, biases, depths)]
    log_std = torch.full((*shape, max(depths) + 1), math.nan, dtype=torch.float64)
    log_grad = log_std.clone()
    settings = itertools.product(*map(enumerate, (gains, widths, biases, depths)))
    for (g, gain), (w, width), (b, bias), (d, depth) in settings:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            stack = [
                mlp.double() for mlp in mlp_stack(depth, width, gain=gain, bias=bias)
            ]
            x = torch.randn(1, 8, width).double()
        for k, kind in enumerate(kinds):
            result = trace(stack, x, kind)
            log_std[k, g, w, b, d, : depth + 1] = result.std.log10()
            log_grad[k, g, w, b, d, 1 : depth + 1] = result.grad_norm.log10()
    return DepthSweep(
        *map(tuple, (kinds, gains, widths, biases, depths)),
        log_std=log_std,
        log_grad=log_grad,
    )
