"""Stages that several tasks share, in every form that right programs give them."""

import math
from collections.abc import Iterator, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from mygpt.check.locate.stage import Stage, also, stage


def future(T: int, S: int | None = None) -> Tensor:
    """Return which positions (column) lie ahead of a position (row); S in all."""
    S = S or T
    return torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)


def masks(T: int, S: int | None = None) -> None:
    """Make the forms of a mask, so that a right one is known."""
    ahead = future(T, S)
    plain = torch.zeros(ahead.shape, dtype=torch.float64)
    also(lambda: [mask.clone() for mask in (ahead, ~ahead, ahead[None])])
    also(lambda: (ahead.double(), (~ahead).double()))
    also(lambda: [plain.masked_fill(ahead, number) for number in (-math.inf, 1.0)])


def softmax(scores: Tensor, axis: int = -1) -> Tensor:
    """Return a softmax, made step by step in each way."""
    shifted = scores - scores.amax(axis, keepdim=True)
    also(lambda: [ways_of_softmax(each, axis) for each in (scores, shifted)])
    return scores.softmax(axis)


def ways_of_softmax(scores: Tensor, axis: int) -> tuple[Tensor, ...]:
    powers = scores.exp()
    total = powers.sum(axis, keepdim=True)
    return (
        powers.cumsum(axis),
        powers / total,
        scores - total.log(),
        scores.logsumexp(axis),
        scores.log_softmax(axis),
    )


def mixing(
    q: Tensor, k: Tensor, v: Tensor, made: Sequence[str] = ("q", "k", "v"), at: str = ""
) -> Iterator[Stage]:
    """Yield the stages of attention of (..., T, D); the last are the mixed values.

    made: names of the stages that q, k and v are.
    """
    D, T, S = q.shape[-1], q.shape[-2], k.shape[-2]
    masks(T, S)
    products = q @ k.mT
    scores = products / D**0.5
    also(lambda: (q / D**0.5 @ k.mT, q @ (k / D**0.5).mT))
    also(lambda: q / D**0.25 @ (k / D**0.25).mT)
    yield stage(f"q kᵀ / √D{at}", scores, needs=made[:2])
    ahead = future(T, S)
    masked = scores.masked_fill(ahead, -math.inf)
    yield stage(f"the scores with the future masked{at}", masked)
    weights = softmax(masked)
    powers = scores.exp().masked_fill(ahead, 0.0)
    also(lambda: powers / powers.sum(-1, keepdim=True))
    yield stage(f"their softmax{at}", weights)
    mixed = weights @ v
    also(lambda: powers @ v)
    yield stage(
        f"the weighted values{at}", mixed, needs=(f"their softmax{at}", made[2])
    )


def norm(
    x: Tensor, eps: float, needs: Sequence[str] = (), at: str = ""
) -> Iterator[Stage]:
    """Yield the stages of a normalised vector, without weight and bias."""
    mean = x.mean(-1, keepdim=True)
    also(lambda: (x.sum(-1, keepdim=True), x.cumsum(-1)))
    yield stage(f"the mean{at}", mean, needs=needs)
    centred = x - mean
    yield stage(f"x - mean{at}", centred)
    squares = centred**2
    also(
        lambda: (squares.sum(-1, keepdim=True), (x**2).mean(-1, keepdim=True), mean**2)
    )
    also(lambda: (x.sum(-1, keepdim=True) ** 2, (x**2).sum(-1, keepdim=True)))
    variance = squares.mean(-1, keepdim=True)
    also(lambda: x.std(-1, keepdim=True, correction=0))
    also(lambda: variance + eps)
    std = (variance + eps).sqrt()
    yield stage(f"the variance{at}", variance)
    yield stage(f"√(variance + eps){at}", std, 1 / std)
    also(lambda: (x / std, mean / std))
    yield stage(
        f"(x - mean) / √(variance + eps){at}",
        centred / std,
        needs=(f"x - mean{at}", f"√(variance + eps){at}"),
    )


def normalised(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    n = F.layer_norm(x, x.shape[-1:], eps=eps)
    for _ in norm(x, eps):
        pass
    return n * weight + bias


def geluish(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return both forms of GELU, made step by step in each way."""
    return gelu_by_erf(x), gelu_by_tanh(x)


def gelu_by_erf(x: Tensor) -> Tensor:
    also(lambda: (x / math.sqrt(2), x / 2))
    bent = torch.erf(x / math.sqrt(2))
    halves = (1, x, 0.5, x / 2)
    also(lambda: [(half * bent, half * (1 + bent)) for half in halves])
    also(lambda: bent / 2 + 0.5)
    return F.gelu(x)


def gelu_by_tanh(x: Tensor) -> Tensor:
    root = math.sqrt(2 / math.pi)
    cube = x**3
    also(
        lambda: (x**2, 1 + 0.044715 * x**2, x * (1 + 0.044715 * x**2), root * x, x / 2)
    )
    inner = x + 0.044715 * cube
    also(lambda: (0.044715 * x**2, 0.044715 * x * x, root * 0.044715 * cube))
    also(lambda: (root * inner, 2 * root * inner))
    bent = torch.tanh(root * inner)
    halves = (1, x, 0.5, x / 2)
    also(lambda: [(half * bent, half * (1 + bent)) for half in halves])
    also(lambda: torch.sigmoid(2 * root * inner))
    return F.gelu(x, approximate="tanh")


def attended(
    x: Tensor,
    weights: Mapping[str, Tensor],
    num_heads: int,
    needs: Sequence[str] = (),
    at: str = "",
) -> Iterator[Stage]:
    """Yield the stages of attention with many heads."""
    parts = []
    for name in "QKV":
        product = x @ weights[f"W_{name}"]
        whole = product + weights[f"b_{name}"]
        parts.append(whole.unflatten(-1, (num_heads, -1)).transpose(1, 2))
        yield stage(f"{name.lower()}{at}", parts[-1], needs=needs)
    yield from mixing(*parts, made=[f"{name}{at}" for name in "qkv"], at=at)
    mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
    product = mixed.transpose(1, 2).flatten(2) @ weights["W_O"]
    yield stage(f"the heads side by side, times W_O{at}", product)
    yield stage(f"what attention gives{at}", product + weights["b_O"])


def fed(
    x: Tensor, weights: Mapping[str, Tensor], needs: Sequence[str] = (), at: str = ""
) -> Iterator[Stage]:
    """Yield the stages of the feed-forward network, in both forms of GELU."""
    product = x @ weights["W1"]
    h = product + weights["b1"]
    yield stage(f"h = x W1 + b1{at}", h, needs=needs)
    forms = geluish(h)
    yield stage(f"GELU of h{at}", *forms)
    products = [form @ weights["W2"] for form in forms]
    yield stage(f"GELU(h) W2{at}", *products)
    ends = [product + weights["b2"] for product in products]
    yield stage(f"GELU(h) W2 + b2{at}", *ends)


def losses(
    logits: Tensor, targets: Tensor, needs: Sequence[str] = ()
) -> Iterator[Stage]:
    """Yield the stages of the cross-entropy of (N, V)."""
    softmax(logits)
    rows = torch.arange(len(targets))
    largest = logits.amax(-1, keepdim=True)
    logs = logits.log_softmax(-1)
    totals = logits.logsumexp(-1)
    shifted = logits - largest
    also(lambda: (shifted[rows, targets], logits[rows, targets]))
    also(lambda: (totals.mean(), totals.sum(), logits[rows, targets].mean()))
    also(lambda: (shifted.exp().sum(-1).log(), logits.softmax(-1)[rows, targets]))
    each = -logs[rows, targets]
    also(lambda: (-each, each.sum(), each.cumsum(0), (-each).cumsum(0), -each.mean()))
    yield stage("the targets' losses", each, -each, needs=needs)
    yield stage("their mean", each.mean())
