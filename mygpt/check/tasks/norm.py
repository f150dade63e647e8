"""Layer normalisation and its gradient."""

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from mygpt.check.model import Model, Piece, alike, constant, numbers, term
from mygpt.check.stages.parts import norm
from mygpt.check.stages.stage import Stage, also, stage
from mygpt.check.task import Arguments, Draw, Probe, Program, Property, Task
from mygpt.norm import normalise
from mygpt.workbook.asked import ASKED


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
    eps_for: Callable[[float], float] = lambda eps: eps,
    middle: Callable[[Tensor, Tensor], Tensor | float] = lambda x, mean: mean,
    divide: Callable[[Tensor, Tensor, float], Tensor] = lambda x, variance, eps: (
        variance + eps
    ).sqrt(),
    weigh: Callable[[Tensor, Tensor], Tensor] = lambda n, weight: n * weight,
    shift: int = 1,
    give: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
) -> Tensor:
    """Layer norm in pieces."""
    mean = x.mean(axes, keepdim=True)
    variance = x.var(axes, keepdim=True, correction=correction)
    n = (x - middle(x, mean)) / divide(x, variance, eps_for(eps))
    return give(n, weight, bias) if give else weigh(n, weight) + shift * bias


def deviation(x: Tensor) -> Tensor:
    """The mean absolute deviation from the mean."""
    return (x - x.mean(-1, keepdim=True)).abs().mean(-1, keepdim=True)


def root_mean_square(x: Tensor, variance: Tensor, eps: float) -> Tensor:
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


def plain(x: Tensor, eps: float) -> Tensor:
    return (x.var(-1, keepdim=True, correction=0) + eps).sqrt()


INSTEAD = "{} divides instead of the standard deviation"
NORM = Model(
    norm_with,
    correction=Piece(
        "the variance",
        variance_over_n_minus_one=("the variance divides by C - 1, not by C", 1),
    ),
    divide=Piece(
        "the division",
        eps_outside_the_root=(
            "eps is added outside the root, to the standard deviation",
            lambda x, variance, eps: variance.sqrt() + eps,
        ),
        no_root=(
            "the vector is divided by the variance, not by its root",
            lambda x, variance, eps: variance + eps,
        ),
        not_scaled=(
            "the mean is subtracted, but nothing is divided",
            lambda x, variance, eps: 1.0,
        ),
        mean_absolute_deviation=(
            INSTEAD.format("the mean absolute deviation"),
            lambda x, variance, eps: deviation(x) + eps,
        ),
    ).rarely(
        eps_twice=(
            "eps is added twice: to the variance and to its root",
            lambda x, variance, eps: (variance + eps).sqrt() + eps,
        ),
        eps_as_least=(
            "eps is the least variance (`clamp`), and is not added",
            lambda x, variance, eps: variance.clamp(min=eps).sqrt(),
        ),
        eps_as_least_deviation=(
            "eps is the least standard deviation (`clamp`), and is not added",
            lambda x, variance, eps: variance.sqrt().clamp(min=eps),
        ),
        root_of_eps=(
            "eps is added after its root has been taken: √variance + √eps",
            lambda x, variance, eps: variance.sqrt() + eps**0.5,
        ),
        multiplied=(
            "the vector is multiplied by √(variance + eps), not divided",
            lambda x, variance, eps: (variance + eps).rsqrt(),
        ),
        sum_for_mean=(
            "the squares are added up for the variance, and not divided by C",
            lambda x, v, eps: (v * x.shape[-1] + eps).sqrt(),
        ),
        variance_not_centred=(
            "the variance is the mean of x², without the mean subtracted",
            root_mean_square,
        ),
        largest_for_deviation=(
            INSTEAD.format("the largest absolute value"),
            lambda x, variance, eps: x.abs().amax(-1, keepdim=True) + eps,
        ),
        norm_for_deviation=(
            INSTEAD.format("the vector's length"),
            lambda x, variance, eps: x.norm(dim=-1, keepdim=True) + eps,
        ),
    ),
    eps_for=Piece(
        "eps",
        eps_forgotten=("eps is forgotten", lambda eps: 0),
        eps_squared=(
            "eps is squared before it is added to the variance",
            lambda eps: eps**2,
        ),
        eps_fixed=("eps is fixed at 1e-5: the argument is ignored", lambda eps: 1e-5),
    ).rarely(
        **numbers(
            "eps-fixed-elsewhere",
            "eps is fixed at {}: the argument is ignored",
            *(1e-3, 1e-4, 1e-6, 1e-8, 1e-12, 1),
            of=constant,
        ),
        eps_subtracted=("eps is subtracted from the variance", lambda eps: -eps),
    ),
    axes=Piece(
        "the axes of mean and variance",
        **alike(
            "mean and variance are {}",
            wrong_axis=("taken over the positions instead of the channels", (1,)),
            batch_axis=("taken over the batch", (0,)),
            two_axes=("taken over positions and channels together", (1, 2)),
            whole_tensor=("those of the whole tensor", (0, 1, 2)),
        ),
        batch_norm=(
            "mean and variance are those of each channel over batch and positions: "
            "this is batch normalisation",
            (0, 1),
        ),
    ),
    middle=Piece(
        "the mean", not_centred=("the mean is not subtracted", lambda x, mean: 0)
    ).rarely(
        mean_added=("the mean is added, not subtracted", lambda x, mean: -mean),
        median_for_mean=(
            "the median is subtracted instead of the mean",
            lambda x, mean: x.median(-1, keepdim=True).values,
        ),
    ),
    weigh=Piece(
        "weight", no_weight=("weight is forgotten", lambda n, weight: n)
    ).rarely(
        weight_plus_one=("1 is added to weight", lambda n, weight: n * (1 + weight)),
        divided_by_weight=(
            "weight divides instead of multiplying",
            lambda n, weight: n / weight,
        ),
        weight_twice=("weight multiplies twice", lambda n, weight: n * weight**2),
        twice=(
            "the vector is normalised twice",
            lambda n, weight: F.layer_norm(n, n.shape[-1:]) * weight,
        ),
    ),
    shift=term("bias", "bias"),
    give=Piece(
        "weight and bias",
        weight_and_bias_swapped=(
            "weight and bias change places",
            lambda n, weight, bias: n * bias + weight,
        ),
        weight_multiplies_bias=(
            "weight also multiplies the bias: (normalised + bias) * weight",
            lambda n, weight, bias: (n + bias) * weight,
        ),
    ),
    whole=Piece("layer norm").rarely(
        least_to_largest=(
            "the vector is brought between 0 and 1 by its least and largest entry",
            lambda x, weight, bias, eps: (
                (x - x.amin(-1, keepdim=True))
                / (x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True) + eps)
                * weight
                + bias
            ),
        ),
        divided_before_centred=(
            "only the mean is divided: a bracket is missing around x - mean",
            lambda x, weight, bias, eps: (
                (x - x.mean(-1, keepdim=True) / plain(x, eps)) * weight + bias
            ),
        ),
        bias_first=(
            "bias is added before the division",
            lambda x, weight, bias, eps: (
                (x - x.mean(-1, keepdim=True) + bias) / plain(x, eps) * weight
            ),
        ),
    ),
    together=Piece(
        "layer norm",
        no_weight_no_bias=(
            "weight and bias are forgotten",
            {"weigh": lambda n, weight: n, "shift": 0},
        ),
        rms_norm=(
            "the mean is not subtracted, and the root mean square divides: this is "
            "RMSNorm",
            {"middle": lambda x, mean: 0, "divide": root_mean_square},
        ),
        detached_statistics=(
            "mean and variance are cut off from the graph",
            {
                "middle": lambda x, mean: mean.detach(),
                "divide": lambda x, variance, eps: (variance + eps).sqrt().detach(),
            },
        ),
    ).rarely(
        mean_for_variance=(
            "mean and variance change places: `torch.var_mean` gives the variance "
            "first",
            {
                "middle": lambda x, mean: x.var(-1, keepdim=True, correction=0),
                "divide": lambda x, variance, eps: (
                    x.mean(-1, keepdim=True) + eps
                ).sqrt(),
            },
        )
    ),
).written(
    correction=(
        "{y}.var(-1, keepdim=True, correction=0)",
        "(({y} - {y}.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True)",
        "{it} ** 2",
    ),
    divide=(
        "({variance} + {eps}) ** 0.5",
        "({variance} + {eps}) ** -0.5",
        "{it} / ({variance} + {eps}) ** 0.5",
        "{variance} ** 0.5",
        "{y}.var(-1, keepdim=True, correction=0)",
    ),
    eps_for=("{eps}", "{it} + {eps}"),
    axes=("-1",),
    middle=("{y} - {y}.mean(-1, keepdim=True)", "{y}.mean(-1, keepdim=True)"),
    weigh=("{it} * {weight}",),
    shift=("{it} + {bias}",),
    give=("{n} * {weight} + {bias}",),
    together=(
        "{x} - {x}.mean(-1, keepdim=True)",
        "{x}.var(-1, keepdim=True, correction=0)",
        "{it} * {weight} + {bias}",
    ),
)


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
    **vars(ASKED["layer_norm"]),
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
    mistakes=NORM.mistakes(),
    model=NORM,
)


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
    mean_term: int = 1,
    product_term: int = 1,
    divide: bool = True,
    correction: int = 0,
    sums: tuple[int, ...] | None = (0, 1),
    averaged: bool = False,
    product: Callable[..., Tensor] = lambda normalised, x, centred: normalised,
    add_up: str = "mean",
    beside: bool = True,
    of_weight: Callable[[Tensor, Tensor], Tensor] = lambda dy, g: dy,
    of_bias: Callable[[Tensor, Tensor], Tensor] = lambda dy, g: dy,
    eps_for: Callable[[float], float] = lambda eps: eps,
    divisor: Callable[[Tensor, float], Tensor] = lambda v, eps: (v + eps).sqrt(),
    axis: int | tuple[int, ...] = -1,
):
    """The gradient by its formula, in pieces."""
    variance = x.var(-1, keepdim=True, correction=correction)
    std = divisor(variance, eps_for(eps))
    centred = x - x.mean(-1, keepdim=True)
    n = centred / std  # normalised
    g = dy * weight if weighted else dy
    along = getattr(torch, add_up)
    dx = g - mean_term * along(g, axis, keepdim=True)
    dx = dx - product_term * (n if beside else 1) * along(g * n, axis, keepdim=True)
    if divide:
        dx = dx / std
    dweight, dbias = of_weight(dy, dy * weight) * product(n, x, centred), dy
    dbias = of_bias(dy, dy * weight)
    if sums:
        dweight, dbias = dweight.sum(sums), dbias.sum(sums)
    if averaged:
        count = dy.shape[0] * dy.shape[1]
        dweight, dbias = dweight / count, dbias / count
    return dx, dweight, dbias


GRADIENT = Model(
    gradient_with,
    mean_term=Piece(
        "the term - mean(g)", no_mean_term=("the term - mean(g) is missing from dx", 0)
    ).rarely(mean_term_added=("mean(g) is added to dx, not subtracted", -1)),
    product_term=Piece(
        "the term - n * mean(g * n)",
        no_product_term=("the term - n * mean(g * n) is missing from dx", 0),
        product_term_added=("n * mean(g * n) is added to dx, not subtracted", -1),
    ),
    beside=Piece(
        "the factor n",
        product_term_without_n=(
            "the last term of dx lacks its factor n: mean(g * n) alone is subtracted",
            False,
        ),
    ),
    of_weight=Piece(
        "dy in dweight",
        weight_in_dweight=(
            "dweight is made with dy * weight, not with dy",
            lambda dy, g: g,
        ),
    ),
    of_bias=Piece("dy in dbias").rarely(
        weight_in_dbias=("dbias is made with dy * weight, not with dy", lambda dy, g: g)
    ),
    weighted=Piece("weight", no_weight=("weight is forgotten in dx", False)),
    divide=Piece(
        "the division", no_division=("dx is not divided by √(variance + eps)", False)
    ),
    add_up=Piece(
        "the two means",
        sums_for_means=("the two means over the channels are sums", "sum"),
    ),
    correction=NORM.pieces["correction"],
    averaged=Piece(
        "dweight and dbias",
        averaged=(
            "dweight and dbias are means over batch and positions, not sums",
            True,
        ),
    ),
    sums=Piece(
        "the sums of dweight and dbias",
        not_summed=("dweight and dbias are not summed over batch and positions", None),
    ).rarely(
        **alike(
            "dweight and dbias are added up over the {}",
            summed_over_positions_alone=("positions, not over the batch", (1,)),
            summed_over_the_batch_alone=("batch, not over the positions", (0,)),
            summed_over_channels=("channels", (2,)),
        )
    ),
    product=Piece(
        "the normalised x in dweight",
        x_for_normalised=(
            "dweight is made with x instead of the normalised x",
            lambda normalised, x, centred: x,
        ),
        centred_for_normalised=(
            "dweight is made with x - mean, which is not divided yet",
            lambda normalised, x, centred: centred,
        ),
    ),
    result=Piece(
        "the results",
        swapped=(
            "dweight and dbias change places",
            lambda found: (found[0], found[2], found[1]),
        ),
    ),
    eps_for=NORM.pieces["eps_for"],
    divisor=Piece(
        "the root",
        eps_outside_the_root=(
            "eps is added outside the root, to the standard deviation",
            lambda variance, eps: variance.sqrt() + eps,
        ),
    ).rarely(no_root=("the variance divides, not its root", lambda v, eps: v + eps)),
    axis=Piece("the axis of the two means").rarely(
        **alike(
            "the two means of dx {}",
            means_over_positions=("run over the positions, not the channels", -2),
            means_over_the_batch=("run over the batch, not the channels", 0),
            means_of_everything=(
                "are those of the whole tensor, over all its axes",
                (0, 1, 2),
            ),
        )
    ),
    together=Piece(
        "mean and variance",
        statistics_held_fixed=(
            "mean and variance are treated as constants: only g / √(variance + "
            "eps) is left of dx",
            {"mean_term": 0, "product_term": 0},
        ),
    ),
).written(
    mean_term=("{it} - {g}.mean(-1, keepdim=True)",),
    product_term=(
        "{it} - {n} * ({g} * {n}).mean(-1, keepdim=True)",
        "{n} * ({g} * {n}).mean(-1, keepdim=True)",
    ),
    beside=("{n} * {it}",),
    of_weight=("{dy} * {n}",),
    of_bias=("{dy}",),
    weighted=("{dy} * {weight}",),
    divide=("{it} / ({variance} + {eps}) ** 0.5",),
    add_up=("{it} / {x}.shape[-1]", "{inner}.mean(-1, keepdim=True)"),
    sums=("{it}.sum((0, 1))", "{inner}.sum((0, 1))"),
    product=("({g} * {n}).mean(-1, keepdim=True)", "{n}"),
    divisor=("({variance} + {eps}) ** 0.5",),
    together=(
        "{it} - {n} * ({g} * {n}).mean(-1, keepdim=True)",
        "{it} - {g}.mean(-1, keepdim=True)",
    ),
)


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
    **vars(ASKED["layer_norm_gradient"]),
    parts=("dx", "dweight", "dbias"),
    reference=reference_gradient,
    make=make_gradient,
    stages=stages_of_gradient,
    probes=[*NORM_PROBES, FAR],
    least={"C": 2},
    fixed=["eps"],
    mistakes=GRADIENT.mistakes(),
    model=GRADIENT,
)
