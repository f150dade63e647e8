"""Layer normalisation and its gradient."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from mygpt.check.stages.parts import norm
from mygpt.check.stages.stage import Stage, also, stage
from mygpt.check.task import Arguments, Draw, Mistake, Probe, Program, Property, Task
from mygpt.norm import normalise

CHAPTER = "08_layer_norm"


def make_norm(
    draw: Draw, B: int, T: int, C: int, eps: float, mean: float = 1.0
) -> dict:
    return {
        "x": draw.normal(B, T, C, mean=mean, scale=1.5),
        "weight": draw.normal(C, mean=1.0),
        "bias": draw.normal(C),
        "eps": eps,
    }


def norm_with(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    eps: float,
    *,
    axes: tuple[int, ...] = (-1,),
    correction: int = 0,
    centre: bool = True,
    eps_for: Callable[[float], float] = lambda eps: eps,
    divide: Callable[[Tensor, Tensor, float], Tensor] = lambda x, variance, eps: (
        variance + eps
    ).sqrt(),
    give: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda n, weight, bias: (
        n * weight + bias
    ),
) -> Tensor:
    """Layer norm with one piece replaced."""
    mean = x.mean(axes, keepdim=True)
    variance = x.var(axes, keepdim=True, correction=correction)
    divisor = divide(x, variance, eps_for(eps))
    return give((x - mean if centre else x) / divisor, weight, bias)


def wrong(**pieces) -> Program:
    return partial(norm_with, **pieces)


def std_and_eps(x: Tensor, variance: Tensor, eps: float) -> Tensor:
    return variance.sqrt() + eps


def deviation(x: Tensor) -> Tensor:
    """The mean absolute deviation from the mean."""
    return (x - x.mean(-1, keepdim=True)).abs().mean(-1, keepdim=True)


def root_mean_square(x: Tensor, variance: Tensor, eps: float) -> Tensor:
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


def plainly_normed(program: Program, arguments: Arguments) -> Tensor:
    C = arguments["x"].shape[-1]
    one, zero = torch.ones(C).to(arguments["x"]), torch.zeros(C).to(arguments["x"])
    return program(arguments["x"], one, zero, arguments["eps"])


def mean_zero(y: Tensor, arguments: Arguments) -> str | None:
    if y.mean(-1).abs().max() < 1e-4:
        return None
    return "With weight 1 and bias 0 every position's mean must be 0; yours is not."


FAR_MEAN = 1000.0
DIGITS = 0.02  # right programs in float32 are off by 0.0003, cancelling ones by 0.8


def rows_near(mean: float) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of eight channels in float32, with a weight and a bias."""
    draw = Draw(0)
    x = draw.normal(4, 16, 8, mean=mean, scale=1.0).float()
    return x, draw.normal(8, mean=1.0, scale=0.2).float(), draw.normal(8).float()


def near_and_far(program: Program, arguments: Arguments) -> list[Tensor] | None:
    """A norm in float32 near 0 and near 1000; None if the program takes no float32."""
    try:
        return [program(*rows_near(mean), 1e-5) for mean in (0.0, FAR_MEAN)]
    except RuntimeError:
        return None


def off_near(mean: float, seen: Tensor) -> float:
    """The largest difference from what is right, by rows near this mean."""
    x, weight, bias = (each.double() for each in rows_near(mean))
    return (seen.double() - normalise(x, 1e-5) * weight - bias).abs().max().item()


def keeps_digits(seen: list[Tensor] | None, arguments: Arguments) -> str | None:
    if seen is None or not off_near(0.0, seen[0]) < DIGITS:
        return None  # what is wrong near 0 too loses no digits
    off = off_near(FAR_MEAN, seen[1])
    if off < DIGITS:
        return None
    found = "not numbers" if math.isnan(off) else f"off by {off:.2g}"
    return (
        f"In float32, with numbers near {FAR_MEAN:g}, your values are {found}: digits "
        "are lost. So it is when the variance is mean(x²) - mean(x)², a small "
        "difference of two large numbers. Subtract the mean first, then square: "
        "mean((x - mean)²)."
    )


NORM_PROBES = [
    Probe(0, {"B": 1, "T": 2, "C": 3, "eps": 0.5}),
    Probe(1, {"B": 2, "T": 3, "C": 5, "eps": 0.1}),
    Probe(2, {"B": 3, "T": 1, "C": 2, "eps": 2.0}),
    Probe(3, {"B": 2, "T": 4, "C": 4, "eps": 1e-5}),
    Probe(4, {"B": 3, "T": 3, "C": 3, "eps": 1.0}),
]
FAR = Probe(5, {"B": 2, "T": 2, "C": 3, "eps": 0.1, "mean": 20.0})


def stages_of_norm(
    x: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> Iterator[Stage]:
    """The stages of layer norm."""
    yield from norm(x, eps)
    n = normalise(x, eps)
    yield stage("n * weight + bias", n * weight + bias)


layer_norm = Task(
    name="layer_norm",
    chapter=CHAPTER,
    label="check-layer-norm",
    asks="Bring each position's vector to mean 0 and variance 1: subtract its mean, "
    "divide by √(variance + eps), where the variance divides by C; then times weight, "
    "plus bias. Numbers near 1000 must work in float32 too.",
    arguments={"x": "(B, T, C)", "weight": "(C,)", "bias": "(C,)", "eps": "float"},
    returns="a tensor of shape (B, T, C)",
    example="""\
>>> layer_norm(torch.tensor([[[1.0, 3.0]]]), torch.ones(2), torch.zeros(2), 0.0)
tensor([[[-1.,  1.]]])""",
    reference=lambda x, weight, bias, eps: normalise(x, eps) * weight + bias,
    make=make_norm,
    stages=stages_of_norm,
    probes=[*NORM_PROBES, FAR],
    least={"C": 2},
    fixed=["eps"],
    differentiable=["x", "weight", "bias"],
    properties=[
        Property("mean 0", plainly_normed, mean_zero),
        Property("digits", near_and_far, keeps_digits),
    ],
    sizes=lambda given: {"C": len(given["weight"]), "eps": given["eps"]},
    optional={"eps": 1e-5},
    weights=["weight", "bias"],
    mistakes=[
        Mistake(
            "variance-over-n-minus-one",
            "the variance divides by C - 1, not by C",
            wrong(correction=1),
        ),
        Mistake(
            "eps-outside-the-root",
            "eps is added outside the root, to the standard deviation",
            wrong(divide=std_and_eps),
        ),
        Mistake(
            "n-minus-one-and-eps-outside",
            "the variance divides by C - 1 and eps is added outside the root, as with "
            "`x.std() + eps`",
            wrong(correction=1, divide=std_and_eps),
        ),
        Mistake(
            "eps-forgotten",
            "eps is forgotten",
            wrong(eps_for=lambda eps: 0),
        ),
        Mistake(
            "eps-squared",
            "eps is squared before it is added to the variance",
            wrong(eps_for=lambda eps: eps**2),
        ),
        Mistake(
            "eps-fixed",
            "eps is fixed at 1e-5: the argument is ignored",
            wrong(eps_for=lambda eps: 1e-5),
        ),
        Mistake(
            "no-root",
            "the vector is divided by the variance, not by its root",
            wrong(divide=lambda x, variance, eps: variance + eps),
        ),
        Mistake(
            "wrong-axis",
            "mean and variance are taken over the positions instead of the channels",
            wrong(axes=(1,)),
        ),
        Mistake(
            "batch-axis",
            "mean and variance are taken over the batch",
            wrong(axes=(0,)),
        ),
        Mistake(
            "batch-norm",
            "mean and variance are those of each channel over batch and positions: "
            "this is batch normalisation",
            wrong(axes=(0, 1)),
        ),
        Mistake(
            "two-axes",
            "mean and variance are taken over positions and channels together",
            wrong(axes=(1, 2)),
        ),
        Mistake(
            "whole-tensor",
            "mean and variance are those of the whole tensor",
            wrong(axes=(0, 1, 2)),
        ),
        Mistake(
            "rms-norm",
            "the mean is not subtracted, and the root mean square divides: this is "
            "RMSNorm",
            wrong(centre=False, divide=root_mean_square),
        ),
        Mistake("not-centred", "the mean is not subtracted", wrong(centre=False)),
        Mistake(
            "not-scaled",
            "the mean is subtracted, but nothing is divided",
            wrong(divide=lambda x, variance, eps: 1.0),
        ),
        Mistake(
            "no-weight",
            "weight is forgotten",
            wrong(give=lambda n, weight, bias: n + bias),
        ),
        Mistake(
            "no-bias",
            "bias is forgotten",
            wrong(give=lambda n, weight, bias: n * weight),
        ),
        Mistake(
            "no-weight-no-bias",
            "weight and bias are forgotten",
            wrong(give=lambda n, weight, bias: n),
        ),
        Mistake(
            "weight-and-bias-swapped",
            "weight and bias change places",
            wrong(give=lambda n, weight, bias: n * bias + weight),
        ),
        Mistake(
            "weight-multiplies-bias",
            "weight also multiplies the bias: (normalised + bias) * weight",
            wrong(give=lambda n, weight, bias: (n + bias) * weight),
        ),
        Mistake(
            "n-minus-one-and-no-eps",
            "the variance divides by C - 1 and eps is forgotten, as with `x.std()`",
            wrong(correction=1, eps_for=lambda eps: 0),
        ),
        Mistake(
            "mean-absolute-deviation",
            "the mean absolute deviation divides instead of the standard deviation",
            wrong(divide=lambda x, variance, eps: deviation(x) + eps),
        ),
        Mistake(
            "detached-statistics",
            "mean and variance are cut off from the graph",
            lambda x, weight, bias, eps: (
                (x - x.mean(-1, keepdim=True).detach())
                / (x.var(-1, keepdim=True, correction=0).detach() + eps).sqrt()
                * weight
                + bias
            ),
        ),
    ],
    more=lambda: MORE_OF_NORM,
)

# Tried when none of the listed mistakes fits.
MORE_OF_NORM = [
    *(
        Mistake(
            "eps-fixed-elsewhere",
            f"eps is fixed at {number:g}: the argument is ignored",
            wrong(eps_for=lambda eps, number=number: number),
        )
        for number in (1e-3, 1e-4, 1e-6, 1e-8, 1e-12, 1)
    ),
    Mistake(
        "eps-twice",
        "eps is added twice: to the variance and to its root",
        wrong(divide=lambda x, variance, eps: (variance + eps).sqrt() + eps),
    ),
    Mistake(
        "eps-subtracted",
        "eps is subtracted from the variance",
        wrong(eps_for=lambda eps: -eps),
    ),
    Mistake(
        "eps-as-least",
        "eps is the least variance (`clamp`), and is not added",
        wrong(divide=lambda x, variance, eps: variance.clamp(min=eps).sqrt()),
    ),
    Mistake(
        "eps-as-least-deviation",
        "eps is the least standard deviation (`clamp`), and is not added",
        wrong(divide=lambda x, variance, eps: variance.sqrt().clamp(min=eps)),
    ),
    Mistake(
        "root-of-eps",
        "eps is added after its root has been taken: √variance + √eps",
        wrong(divide=lambda x, variance, eps: variance.sqrt() + eps**0.5),
    ),
    Mistake(
        "multiplied",
        "the vector is multiplied by √(variance + eps), not divided",
        wrong(divide=lambda x, variance, eps: (variance + eps).rsqrt()),
    ),
    Mistake(
        "mean-for-variance",
        "mean and variance change places: `torch.var_mean` gives the variance first",
        lambda x, weight, bias, eps: (
            (x - x.var(-1, keepdim=True, correction=0))
            / (x.mean(-1, keepdim=True) + eps).sqrt()
            * weight
            + bias
        ),
    ),
    Mistake(
        "sum-for-mean",
        "the squares are added up for the variance, and not divided by C",
        wrong(divide=lambda x, v, eps: (v * x.shape[-1] + eps).sqrt()),
    ),
    Mistake(
        "variance-not-centred",
        "the variance is the mean of x², without the mean subtracted",
        wrong(divide=root_mean_square),
    ),
    Mistake(
        "largest-for-deviation",
        "the largest absolute value divides instead of the standard deviation",
        wrong(divide=lambda x, variance, eps: x.abs().amax(-1, keepdim=True) + eps),
    ),
    Mistake(
        "norm-for-deviation",
        "the vector's length divides instead of the standard deviation",
        wrong(divide=lambda x, variance, eps: x.norm(dim=-1, keepdim=True) + eps),
    ),
    Mistake(
        "least-to-largest",
        "the vector is brought between 0 and 1 by its least and largest entry",
        lambda x, weight, bias, eps: (
            (x - x.amin(-1, keepdim=True))
            / (x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True) + eps)
            * weight
            + bias
        ),
    ),
    Mistake(
        "median-for-mean",
        "the median is subtracted instead of the mean",
        lambda x, weight, bias, eps: (
            (x - x.median(-1, keepdim=True).values)
            / (x.var(-1, keepdim=True, correction=0) + eps).sqrt()
            * weight
            + bias
        ),
    ),
    Mistake(
        "mean-added",
        "the mean is added, not subtracted",
        lambda x, weight, bias, eps: (
            (x + x.mean(-1, keepdim=True))
            / (x.var(-1, keepdim=True, correction=0) + eps).sqrt()
            * weight
            + bias
        ),
    ),
    Mistake(
        "divided-before-centred",
        "only the mean is divided: a bracket is missing around x - mean",
        lambda x, weight, bias, eps: (
            (
                x
                - x.mean(-1, keepdim=True)
                / (x.var(-1, keepdim=True, correction=0) + eps).sqrt()
            )
            * weight
            + bias
        ),
    ),
    Mistake(
        "bias-subtracted",
        "bias is subtracted, not added",
        wrong(give=lambda n, weight, bias: n * weight - bias),
    ),
    Mistake(
        "bias-first",
        "bias is added before the division",
        lambda x, weight, bias, eps: (
            (x - x.mean(-1, keepdim=True) + bias)
            / (x.var(-1, keepdim=True, correction=0) + eps).sqrt()
            * weight
        ),
    ),
    Mistake(
        "weight-plus-one",
        "1 is added to weight",
        wrong(give=lambda n, weight, bias: n * (1 + weight) + bias),
    ),
    Mistake(
        "divided-by-weight",
        "weight divides instead of multiplying",
        wrong(give=lambda n, weight, bias: n / weight + bias),
    ),
    Mistake(
        "twice",
        "the vector is normalised twice",
        wrong(
            give=lambda n, weight, bias: F.layer_norm(n, n.shape[-1:]) * weight + bias
        ),
    ),
]


def make_gradient(
    draw: Draw, B: int, T: int, C: int, eps: float, mean: float = 1.0
) -> dict:
    return {
        "dy": draw.normal(B, T, C, mean=0.3),
        "x": draw.normal(B, T, C, mean=mean, scale=1.5),
        "weight": draw.normal(C, mean=1.0),
        "eps": eps,
    }


def reference_gradient(dy, x, weight, eps):
    """Let autograd walk back through the package's own."""
    with torch.enable_grad():
        x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
        bias = torch.zeros_like(weight, requires_grad=True)
        y = F.layer_norm(x, weight.shape, weight, bias, eps)
        return torch.autograd.grad(y, (x, weight, bias), dy)


def gradient_with(
    dy: Tensor,
    x: Tensor,
    weight: Tensor,
    eps: float,
    *,
    weighted: bool = True,
    mean_term: bool = True,
    product_term: bool = True,
    divide: bool = True,
    correction: int = 0,
    sums: tuple[int, ...] | None = (0, 1),
    averaged: bool = False,
    product: str = "normalised",
    swapped: bool = False,
    sign: int = 1,
    add_up: str = "mean",
    beside: bool = True,
    weight_twice: bool = False,
    eps_for: Callable[[float], float] = lambda eps: eps,
    divisor: Callable[[Tensor, float], Tensor] = lambda v, eps: (v + eps).sqrt(),
    axis: int | tuple[int, ...] = -1,
):
    """The gradient by its formula, with one piece replaced."""
    variance = x.var(-1, keepdim=True, correction=correction)
    std = divisor(variance, eps_for(eps))
    n = (x - x.mean(-1, keepdim=True)) / std  # normalised
    g = dy * weight if weighted else dy
    along = getattr(torch, add_up)
    dx = g
    if mean_term:
        dx = dx - along(g, axis, keepdim=True)
    if product_term:
        dx = dx - sign * (n if beside else 1) * along(g * n, axis, keepdim=True)
    if divide:
        dx = dx / std
    factor = {"normalised": n, "x": x, "centred": x - x.mean(-1, keepdim=True)}[product]
    dweight, dbias = (g if weight_twice else dy) * factor, dy
    if sums:
        dweight, dbias = dweight.sum(sums), dbias.sum(sums)
    if averaged:
        count = dy.shape[0] * dy.shape[1]
        dweight, dbias = dweight / count, dbias / count
    return (dx, dbias, dweight) if swapped else (dx, dweight, dbias)


def wrong_gradient(**pieces) -> Program:
    return partial(gradient_with, **pieces)


def weighted_bias(dy: Tensor, x: Tensor, weight: Tensor, eps: float) -> tuple:
    dx, dweight, dbias = gradient_with(dy, x, weight, eps)
    return dx, dweight, dbias * weight


def stages_of_gradient(
    dy: Tensor, x: Tensor, weight: Tensor, eps: float
) -> Iterator[Stage]:
    """The stages of the gradients of layer norm."""
    yield from norm(x, eps)
    normal = "(x - mean) / √(variance + eps)"
    n, std = normalise(x, eps), (x.var(-1, keepdim=True, correction=0) + eps).sqrt()
    g = dy * weight
    yield stage("g = dy * weight", g, needs=())
    mean, product = g.mean(-1, keepdim=True), g * n
    yield stage("mean(g)", mean)
    share = product.mean(-1, keepdim=True)
    yield stage("mean(g * n)", share, needs=("g = dy * weight", normal))
    along = n * share
    yield stage("n * mean(g * n)", along)
    left = g - mean - along
    also(lambda: (g - along, mean + along))
    yield stage(
        "g - mean(g) - n * mean(g * n)", left, needs=("mean(g)", "n * mean(g * n)")
    )
    yield stage("dx", left / std)
    products = dy * n
    also(lambda: (products.sum(0), products.sum(1), dy.sum(0), dy.sum(1)))
    yield stage("dweight", products.sum((0, 1)), needs=(normal,))
    yield stage("dbias", dy.sum((0, 1)), needs=())


layer_norm_gradient = Task(
    name="layer_norm_gradient",
    chapter=CHAPTER,
    label="check-layer-norm-gradient",
    asks="The gradients of layer_norm by formula: from dy, the gradient of the loss "
    "with respect to the result, those with respect to x, weight and bias. With n the "
    "normalised x and g = dy * weight: dx = (g - mean(g) - n * mean(g * n)) / "
    "√(variance + eps), means over the channels; dweight and dbias are sums over "
    "batch and positions.",
    arguments={
        "dy": "(B, T, C)",
        "x": "(B, T, C)",
        "weight": "(C,)",
        "eps": "float",
    },
    returns="a tuple (dx, dweight, dbias) of shapes (B, T, C), (C,), (C,)",
    parts=("dx", "dweight", "dbias"),
    example="""\
>>> dy, x = torch.tensor([[[1.0, 0.0, 0.0]]]), torch.tensor([[[-1.0, 0.0, 1.0]]])
>>> dx, dweight, dbias = layer_norm_gradient(dy, x, torch.ones(3), 0.0)
>>> dweight, dbias
(tensor([-1.2247,  0.0000,  0.0000]), tensor([1., 0., 0.]))""",
    reference=reference_gradient,
    make=make_gradient,
    stages=stages_of_gradient,
    probes=[*NORM_PROBES, FAR],
    least={"C": 2},
    fixed=["eps"],
    mistakes=[
        Mistake(
            "statistics-held-fixed",
            "mean and variance are treated as constants: only g / √(variance + eps) "
            "is left of dx",
            wrong_gradient(mean_term=False, product_term=False),
        ),
        Mistake(
            "no-mean-term",
            "the term - mean(g) is missing from dx",
            wrong_gradient(mean_term=False),
        ),
        Mistake(
            "no-product-term",
            "the term - n * mean(g * n) is missing from dx",
            wrong_gradient(product_term=False),
        ),
        Mistake(
            "product-term-without-n",
            "the last term of dx lacks its factor n: mean(g * n) alone is subtracted",
            wrong_gradient(beside=False),
        ),
        Mistake(
            "weight-in-dweight",
            "dweight is made with g = dy * weight instead of dy",
            wrong_gradient(weight_twice=True),
        ),
        Mistake(
            "product-term-added",
            "the term n * mean(g * n) is added to dx, not subtracted",
            wrong_gradient(sign=-1),
        ),
        Mistake(
            "no-weight", "weight is forgotten in dx", wrong_gradient(weighted=False)
        ),
        Mistake(
            "no-division",
            "dx is not divided by √(variance + eps)",
            wrong_gradient(divide=False),
        ),
        Mistake(
            "sums-for-means",
            "the two means over the channels are sums",
            wrong_gradient(add_up="sum"),
        ),
        Mistake(
            "variance-over-n-minus-one",
            "the variance divides by C - 1, not by C",
            wrong_gradient(correction=1),
        ),
        Mistake(
            "not-summed",
            "dweight and dbias are not added up over batch and positions",
            wrong_gradient(sums=None),
        ),
        Mistake(
            "averaged",
            "dweight and dbias are averages over batch and positions, not sums",
            wrong_gradient(averaged=True),
        ),
        Mistake(
            "x-for-normalised",
            "dweight is made with x instead of the normalised x",
            wrong_gradient(product="x"),
        ),
        Mistake(
            "centred-for-normalised",
            "dweight is made with x - mean, which is not divided yet",
            wrong_gradient(product="centred"),
        ),
        Mistake(
            "swapped",
            "dweight and dbias change places",
            wrong_gradient(swapped=True),
        ),
        Mistake(
            "eps-forgotten",
            "eps is forgotten",
            wrong_gradient(eps_for=lambda eps: 0),
        ),
        Mistake(
            "eps-outside-the-root",
            "eps is added outside the root, to the standard deviation",
            wrong_gradient(divisor=lambda variance, eps: variance.sqrt() + eps),
        ),
    ],
    more=lambda: [
        Mistake(
            "eps-fixed",
            "eps is fixed at 1e-5: the argument is ignored",
            wrong_gradient(eps_for=lambda eps: 1e-5),
        ),
        Mistake(
            "no-root",
            "the variance divides, not its root",
            wrong_gradient(divisor=lambda variance, eps: variance + eps),
        ),
        Mistake(
            "means-over-positions",
            "the two means of dx run over the positions, not over the channels",
            wrong_gradient(axis=-2),
        ),
        Mistake(
            "means-of-everything",
            "the two means of dx are those of the whole tensor, over all its axes",
            wrong_gradient(axis=(0, 1, 2)),
        ),
        Mistake(
            "means-over-the-batch",
            "the two means of dx run over the batch, not over the channels",
            wrong_gradient(axis=0),
        ),
        Mistake(
            "summed-over-positions-alone",
            "dweight and dbias are added up over the positions, not over the batch",
            wrong_gradient(sums=(1,)),
        ),
        Mistake(
            "summed-over-the-batch-alone",
            "dweight and dbias are added up over the batch, not over the positions",
            wrong_gradient(sums=(0,)),
        ),
        Mistake(
            "summed-over-channels",
            "dweight and dbias are added up over the channels",
            wrong_gradient(sums=(2,)),
        ),
        Mistake(
            "weight-in-dbias",
            "dbias is made with g = dy * weight instead of dy",
            weighted_bias,
        ),
    ],
)
