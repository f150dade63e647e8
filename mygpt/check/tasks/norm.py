"""Layer normalisation and its gradient."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from mygpt.check.locate.parts import norm
from mygpt.check.locate.stage import also, stage
from mygpt.check.reference import Reference, last, same
from mygpt.check.task import Draw, Hints, Property, probes
from mygpt.norm import normalise


def norm_with(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    eps: float,
    *,
    axes=(-1,),
    correction=0,
    eps_for=same,
    middle=last,
    divide=lambda x, variance, eps: (variance + eps).sqrt(),
    weigh=torch.mul,
    shift=1,
    give=None,
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
    """What RMSNorm divides by."""
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


def plain(x: Tensor, eps: float) -> Tensor:
    """√(variance + eps)."""
    return (x.var(-1, keepdim=True, correction=0) + eps).sqrt()


NORM = Reference(
    norm_with,
    """
    [correction] the variance = {y}.var(-1, keepdim=True, correction=0)
        | (({y} - {y}.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True) | {it} ** 2
    variance-over-n-minus-one = 1: the variance divides by C - 1, not by C
    [divide] the division = ({variance} + {eps}) ** 0.5 | ({variance} + {eps}) ** -0.5
        | {it} / ({variance} + {eps}) ** 0.5 | {variance} ** 0.5
        | {y}.var(-1, keepdim=True, correction=0)
    eps-outside-the-root: eps is added outside the root, to the standard deviation
    no-root: the vector is divided by the variance, not by its root
    not-scaled = 1.0: the mean is subtracted, but nothing is divided
    mean-absolute-deviation: the mean absolute deviation divides instead of the standard
        deviation
    ~ eps-twice: eps is added twice: to the variance and to its root
    ~ eps-as-least: eps is the least variance (`clamp`), and is not added
    ~ eps-as-least-deviation: eps is the least standard deviation (`clamp`), and is not
        added
    ~ root-of-eps: eps is added after its root has been taken: √variance + √eps
    ~ multiplied: the vector is multiplied by √(variance + eps), not divided
    ~ sum-for-mean: the squares are added up for the variance, and not divided by C
    ~ variance-not-centred: the variance is the mean of x², without the mean subtracted
    ~ largest-for-deviation: the largest absolute value divides instead of the standard
        deviation
    ~ norm-for-deviation: the vector's length divides instead of the standard deviation
    [eps_for] eps = {eps} | {it} + {eps}
    eps-forgotten = 0: eps is forgotten
    eps-squared: eps is squared before it is added to the variance
    eps-fixed = 1e-5: eps is fixed at 1e-5: the argument is ignored
    ~ eps-fixed-elsewhere = 0.001, 0.0001, 1e-06, 1e-08, 1e-12, 1: eps is fixed at {}:
        the argument is ignored
    ~ eps-subtracted: eps is subtracted from the variance
    [axes] the axes of mean and variance = -1
    wrong-axis = (1,): mean and variance are taken over the positions instead of the
        channels
    batch-axis = (0,): mean and variance are taken over the batch
    two-axes = (1, 2): mean and variance are taken over positions and channels together
    whole-tensor = (0, 1, 2): mean and variance are those of the whole tensor
    batch-norm = (0, 1): mean and variance are those of each channel over batch and
        positions: this is batch normalisation
    [middle] the mean = {y} - {y}.mean(-1, keepdim=True) | {y}.mean(-1, keepdim=True)
    not-centred = 0: the mean is not subtracted
    ~ mean-added: the mean is added, not subtracted
    ~ median-for-mean: the median is subtracted instead of the mean
    [weigh] weight = {it} * {weight}
    no-weight: weight is forgotten
    ~ weight-plus-one: 1 is added to weight
    ~ divided-by-weight: weight divides instead of multiplying
    ~ weight-twice: weight multiplies twice
    ~ twice: the vector is normalised twice
    [shift: bias] bias = {it} + {bias}
    [give] weight and bias = {n} * {weight} + {bias}
    weight-and-bias-swapped: weight and bias change places
    weight-multiplies-bias: weight also multiplies the bias: (normalised + bias) *
        weight
    [whole] layer norm
    ~ least-to-largest: the vector is brought between 0 and 1 by its least and largest
        entry
    ~ divided-before-centred: only the mean is divided: a bracket is missing around x -
        mean
    ~ bias-first: bias is added before the division
    [together] layer norm = {x} - {x}.mean(-1, keepdim=True)
        | {x}.var(-1, keepdim=True, correction=0) | {it} * {weight} + {bias}
    no-weight-no-bias = no-weight + no-bias: weight and bias are forgotten
    rms-norm = not-centred + variance-not-centred: the mean is not subtracted, and the
        root mean square divides: this is RMSNorm
    detached-statistics: mean and variance are cut off from the graph
    ~ mean-for-variance: mean and variance change places: `torch.var_mean` gives the
        variance first
    """,
    eps_outside_the_root=lambda x, variance, eps: variance.sqrt() + eps,
    no_root=lambda x, variance, eps: variance + eps,
    mean_absolute_deviation=lambda x, variance, eps: deviation(x) + eps,
    eps_twice=lambda x, variance, eps: (variance + eps).sqrt() + eps,
    eps_as_least=lambda x, variance, eps: variance.clamp(min=eps).sqrt(),
    eps_as_least_deviation=lambda x, variance, eps: variance.sqrt().clamp(min=eps),
    root_of_eps=lambda x, variance, eps: variance.sqrt() + eps**0.5,
    multiplied=lambda x, variance, eps: (variance + eps).rsqrt(),
    sum_for_mean=lambda x, v, eps: (v * x.shape[-1] + eps).sqrt(),
    variance_not_centred=root_mean_square,
    largest_for_deviation=lambda x, variance, eps: x.abs().amax(-1, keepdim=True) + eps,
    norm_for_deviation=lambda x, variance, eps: x.norm(dim=-1, keepdim=True) + eps,
    eps_squared=lambda eps: eps**2,
    eps_subtracted=lambda eps: -eps,
    mean_added=lambda x, mean: -mean,
    median_for_mean=lambda x, mean: x.median(-1, keepdim=True).values,
    no_weight=same,
    weight_plus_one=lambda n, weight: n * (1 + weight),
    divided_by_weight=torch.div,
    weight_twice=lambda n, weight: n * weight**2,
    twice=lambda n, weight: F.layer_norm(n, n.shape[-1:]) * weight,
    weight_and_bias_swapped=lambda n, weight, bias: n * bias + weight,
    weight_multiplies_bias=lambda n, weight, bias: (n + bias) * weight,
    least_to_largest=lambda x, weight, bias, eps: (
        (x - x.amin(-1, keepdim=True))
        / (x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True) + eps)
        * weight
        + bias
    ),
    divided_before_centred=lambda x, weight, bias, eps: (
        (x - x.mean(-1, keepdim=True) / plain(x, eps)) * weight + bias
    ),
    bias_first=lambda x, weight, bias, eps: (
        (x - x.mean(-1, keepdim=True) + bias) / plain(x, eps) * weight
    ),
    detached_statistics={
        "middle": lambda x, mean: mean.detach(),
        "divide": lambda x, variance, eps: (variance + eps).sqrt().detach(),
    },
    mean_for_variance={
        "middle": lambda x, mean: x.var(-1, keepdim=True, correction=0),
        "divide": lambda x, variance, eps: (x.mean(-1, keepdim=True) + eps).sqrt(),
    },
)


def plainly_normed(program, arguments):
    """The norm with weight 1 and bias 0."""
    C = arguments["x"].shape[-1]
    one, zero = torch.ones(C).to(arguments["x"]), torch.zeros(C).to(arguments["x"])
    return program(arguments["x"], one, zero, arguments["eps"])


def mean_zero(y, arguments):
    """Whether every position's mean is 0."""
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


def near_and_far(program, arguments):
    """A norm in float32 near 0 and near 1000; None if the program takes no float32."""
    try:
        return [program(*rows_near(mean), 1e-5) for mean in (0.0, FAR_MEAN)]
    except RuntimeError:
        return None


def off_near(mean: float, seen: Tensor) -> float:
    """The largest difference from what is right, by rows near this mean."""
    x, weight, bias = (each.double() for each in rows_near(mean))
    return (seen.double() - normalise(x, 1e-5) * weight - bias).abs().max().item()


def keeps_digits(seen, arguments):
    """Whether rows far from 0 are as precise as those near it."""
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


NORM_PROBES = probes(
    "B T C eps mean",
    "1 2 3 0.5 | 2 3 5 0.1 | 3 1 2 2.0 | 2 4 4 1e-05 | 3 3 3 1.0 | 2 2 3 0.1 20.0",
)


def stages_of_norm(x, weight, bias, eps):
    """The stages of layer norm."""
    yield from norm(x, eps)
    n = normalise(x, eps)
    yield stage("n * weight + bias", n * weight + bias)


EPS_HINTS = Hints(
    numbers=("1e-5",),
    rules={
        "where `eps` is added in it": {
            "$x / ($name + $e)": (1.5, "$x / ($name ** 2 + $e) ** 0.5")
        }
    },
)

layer_norm = NORM.task(
    "layer_norm",
    hints=EPS_HINTS,
    reference=lambda x, weight, bias, eps: normalise(x, eps) * weight + bias,
    make=lambda draw, mean=1.0, **sizes: draw.tensors(
        "x BTC mean 1.5 | weight C 1 | bias C | eps", mean=mean, **sizes
    ),
    stages=stages_of_norm,
    probes=NORM_PROBES,
    least={"C": 2},
    fixed=["eps"],
    properties=[
        Property("mean 0", plainly_normed, mean_zero),
        Property("digits", near_and_far, keeps_digits),
    ],
    sizes=lambda given: {"C": len(given["weight"]), "eps": given["eps"]},
    optional={"eps": 1e-5},
    weights=["weight", "bias"],
)


def reference_gradient(dy, x, weight, eps):
    """Let autograd walk back through the package's own."""
    with torch.enable_grad():
        x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
        bias = torch.zeros_like(weight, requires_grad=True)
        y = F.layer_norm(x, weight.shape, weight, bias, eps)
        # given dy, `grad` would import a library of symbols, which takes a second
        return torch.autograd.grad((y * dy).sum(), (x, weight, bias))


def gradient_with(
    dy: Tensor,
    x: Tensor,
    weight: Tensor,
    eps: float,
    *,
    weighted=True,
    mean_term=1,
    product_term=1,
    divide=True,
    correction=0,
    sums=(0, 1),
    averaged=False,
    product=same,
    add_up="mean",
    beside=True,
    of_weight=same,
    of_bias=same,
    eps_for=same,
    divisor=lambda v, eps: (v + eps).sqrt(),
    axis=-1,
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


GRADIENT = Reference(
    gradient_with,
    """
    [mean_term] the term - mean(g) = {it} - {g}.mean(-1, keepdim=True)
    no-mean-term = 0: the term - mean(g) is missing from dx
    ~ mean-term-added = -1: mean(g) is added to dx, not subtracted
    [product_term] the term - n * mean(g * n)
        = {it} - {n} * ({g} * {n}).mean(-1, keepdim=True)
        | {n} * ({g} * {n}).mean(-1, keepdim=True)
    no-product-term = 0: the term - n * mean(g * n) is missing from dx
    product-term-added = -1: n * mean(g * n) is added to dx, not subtracted
    [beside] the factor n = {n} * {it}
    product-term-without-n = False: the last term of dx lacks its factor n: mean(g * n)
        alone is subtracted
    [of_weight] dy in dweight = {dy} * {n}
    weight-in-dweight: dweight is made with dy * weight, not with dy
    [of_bias] dy in dbias = {dy}
    ~ weight-in-dbias: dbias is made with dy * weight, not with dy
    [weighted] weight = {dy} * {weight}
    no-weight = False: weight is forgotten in dx
    [divide] the division = {it} / ({variance} + {eps}) ** 0.5
    no-division = False: dx is not divided by √(variance + eps)
    [add_up] the two means = {it} / {x}.shape[-1] | {inner}.mean(-1, keepdim=True)
    sums-for-means = "sum": the two means over the channels are sums
    [correction]
    [averaged] dweight and dbias
    averaged = True: dweight and dbias are means over batch and positions, not sums
    [sums] the sums of dweight and dbias = {it}.sum((0, 1)) | {inner}.sum((0, 1))
    not-summed = None: dweight and dbias are not summed over batch and positions
    ~ summed-over-positions-alone = (1,): dweight and dbias are added up over the
        positions, not over the batch
    ~ summed-over-the-batch-alone = (0,): dweight and dbias are added up over the batch,
        not over the positions
    ~ summed-over-channels = (2,): dweight and dbias are added up over the channels
    [product] the normalised x in dweight = ({g} * {n}).mean(-1, keepdim=True) | {n}
    x-for-normalised: dweight is made with x instead of the normalised x
    centred-for-normalised: dweight is made with x - mean, which is not divided yet
    [result] the results
    swapped: dweight and dbias change places
    [eps_for]
    [divisor] the root = ({variance} + {eps}) ** 0.5
    eps-outside-the-root: eps is added outside the root, to the standard deviation
    ~ no-root: the variance divides, not its root
    [axis] the axis of the two means
    ~ means-over-positions = -2: the two means of dx run over the positions, not the
        channels
    ~ means-over-the-batch = 0: the two means of dx run over the batch, not the channels
    ~ means-of-everything = (0, 1, 2): the two means of dx are those of the whole
        tensor, over all its axes
    [together] mean and variance = {it} - {n} * ({g} * {n}).mean(-1, keepdim=True)
        | {it} - {g}.mean(-1, keepdim=True)
    statistics-held-fixed = no-mean-term + no-product-term: mean and variance are
        treated as constants: only g / √(variance + eps) is left of dx
    """,
    weight_in_dweight=last,
    weight_in_dbias=last,
    correction=NORM.pieces["correction"],
    x_for_normalised=lambda normalised, x, centred: x,
    centred_for_normalised=last,
    swapped=lambda found: (found[0], found[2], found[1]),
    eps_for=NORM.pieces["eps_for"],
    eps_outside_the_root=lambda variance, eps: variance.sqrt() + eps,
    no_root=lambda v, eps: v + eps,
)


def stages_of_gradient(dy, x, weight, eps):
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


layer_norm_gradient = GRADIENT.task(
    "layer_norm_gradient",
    hints=EPS_HINTS,
    parts=("dx", "dweight", "dbias"),
    reference=reference_gradient,
    make=lambda draw, mean=1.0, **sizes: draw.tensors(
        "dy BTC 0.3 | x BTC mean 1.5 | weight C 1 | eps", mean=mean, **sizes
    ),
    stages=stages_of_gradient,
    probes=NORM_PROBES,
    least={"C": 2},
    fixed=["eps"],
)
