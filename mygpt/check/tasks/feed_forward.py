"""GELU in both forms, and the feed-forward network."""

import math
from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from mygpt.check.locate.parts import fed, gelu_by_erf, gelu_by_tanh
from mygpt.check.locate.stage import also, stage
from mygpt.check.reference import Part, Pieces, Reference, same, transposed
from mygpt.check.task import Arguments, Draw, Hints, Program, equal_results, probes
from mygpt.check.tasks.package import with_weights
from mygpt.feed_forward import MLP

ERF = "GELU in its erf form; GPT-2 was trained with the tanh form"


def make_numbers(draw: Draw, kind: str, N: int) -> dict:
    """Draw numbers of a kind."""
    if kind == "near":
        return {"x": draw.normal(N, scale=1.5)}
    if kind == "tail":  # where the two forms differ most, and where both end
        return {"x": torch.linspace(-6, 3, N, dtype=torch.float64)}
    if kind == "far":
        return {"x": torch.linspace(-20, 20, N, dtype=torch.float64)}
    return {"x": draw.normal(2, 1, N, scale=3.0)}


NUMBERS = probes("kind N", "'near' 5 | 'tail' 91 | 'matrix' 3 | 'far' 17")


def erf_form(x: Tensor) -> Tensor:
    """GELU as defined."""
    return F.gelu(x)


def tanh_form(x: Tensor) -> Tensor:
    """GELU as in GPT-2."""
    return F.gelu(x, approximate="tanh")


def erf_with(
    x: Tensor,
    *,
    half=0.5,
    outer=same,
    one=1,
    inside: float = math.sqrt(2),
    outside=1,
    curve=torch.erf,
    sign=1,
) -> Tensor:
    """The erf form in pieces."""
    return half * outer(x) * (one + sign * curve(x / inside) / outside)


def cubic(x: Tensor, coefficient: float, power: int) -> Tensor:
    """What the tanh form bends, without its factor."""
    return x + coefficient * x**power


def tanh_with(
    x: Tensor,
    *,
    half=0.5,
    outer=same,
    one=1,
    curve=torch.tanh,
    sign=1,
    coefficient=0.044715,
    factor: float = math.sqrt(2 / math.pi),
    power=3,
    inner=cubic,
) -> Tensor:
    """The tanh form in pieces."""
    bent = factor * inner(x, coefficient, power)
    return half * outer(x) * (one + sign * curve(bent))


def quick_gelu(x: Tensor) -> Tensor:
    """The sigmoid approximation of GELU."""
    return x * torch.sigmoid(1.702 * x)


def by_sigmoid(factor: float) -> Callable[[Tensor], Tensor]:
    """Return the sigmoid approximation with a factor."""
    return lambda x: x * torch.sigmoid(factor * x)


RARELY_GELU = Reference(
    same,
    """
    [whole] GELU
    ~ leaky-relu-for-gelu: it is leaky ReLU
    ~ elu-for-gelu: it is ELU
    ~ selu-for-gelu: it is SELU
    ~ softplus-for-gelu: it is softplus, ln(1 + exp(x))
    ~ mish-for-gelu: it is Mish, x tanh(softplus(x))
    ~ hard-swish-for-gelu: it is hard swish
    ~ tanh-for-gelu: it is tanh(x)
    ~ sigmoid-for-gelu: it is the sigmoid of x
    ~ relu-squared-for-gelu: it is ReLU squared
    ~ absolute-value-for-gelu: it is |x|
    ~ other-factor = 1.7, 1.6, 1.5, 1.75, 1.072, 1.0702, 17.02, 2: it is x sigmoid({}
        x), which is no GELU
    """,
    leaky_relu_for_gelu=F.leaky_relu,
    elu_for_gelu=F.elu,
    selu_for_gelu=F.selu,
    softplus_for_gelu=F.softplus,
    mish_for_gelu=F.mish,
    hard_swish_for_gelu=F.hardswish,
    tanh_for_gelu=torch.tanh,
    sigmoid_for_gelu=torch.sigmoid,
    relu_squared_for_gelu=lambda x: x.relu() ** 2,
    absolute_value_for_gelu=torch.abs,
    other_factor=by_sigmoid,
)
IN_BOTH_FORMS = Reference(
    erf_with,
    """
    [half] the factor ½ = 0.5 * (1 + torch.erf({h} / 2**0.5)) | 0.5 * {it}
    no-half = 1: the factor ½ is missing
    ~ quarter = 0.25: the factor is ¼, not ½
    [outer] the factor x = {h} * {it} | {h}
    no-x: the factor x is missing
    ~ x-squared: the factor x is squared
    """,
    no_x=torch.ones_like,
    x_squared=torch.square,
).pieces
GELU = Reference(
    erf_with,
    """
    [half outer]
    [one] the 1 = 0.5 * (1 + torch.erf({h} / 2**0.5)) | 1 + {it}
    no-one = 0: the 1 beside erf is missing
    [inside] the divisor √2 = torch.erf({h} / 2**0.5) | {h} / 2**0.5
    no-root-of-two = 1: x is not divided by √2 inside erf
    halved-inside = 2: x is divided by 2 instead of √2 inside erf
    multiplied-inside: x is multiplied by √2 inside erf, not divided by it
    [sign] the sign of erf
    minus = -1: erf has a minus sign, which gives x Φ(-x)
    [curve] erf = torch.erf({h} / 2**0.5) | torch.erf({inner})
    tanh-of-root: tanh(x / √2) stands for erf(x / √2)
    ~ erfc-for-erf: erfc stands for erf: it is 1 - erf already
    [whole] GELU = 0.5 * (1 + torch.erf({h} / 2**0.5)) | 0.5 * {h} * (1 + {it})
    density: x is multiplied by the normal density instead of Φ
    no-bracket: the bracket around 1 + erf is missing: x/2 multiplies the 1 alone, and
        erf is added
    [together] √2 = torch.erf({h} / 2**0.5)
    root-outside: erf(x) is divided by √2, and not x inside erf
    """,
    **IN_BOTH_FORMS,
    multiplied_inside=math.sqrt(0.5),
    tanh_of_root=torch.tanh,
    erfc_for_erf=torch.erfc,
    density=lambda x: x * torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
    no_bracket=lambda x: x / 2 + torch.erf(x / math.sqrt(2)),
    root_outside={"inside": 1, "outside": math.sqrt(2)},
)
# Written wrongly, or rounded so far that it shows.
FACTORS = {
    "0.8": 0.8,
    "0.79": 0.79,
    "0.7": 0.7,
    "√2/π": math.sqrt(2) / math.pi,
    "2/√π": 2 / math.sqrt(math.pi),
    "√(2π)": math.sqrt(2 * math.pi),
    "1/√(2π)": 1 / math.sqrt(2 * math.pi),
    "√2": math.sqrt(2),
    "1/√2": math.sqrt(0.5),
    "√π": math.sqrt(math.pi),
    "π/2": math.pi / 2,
}
GELU_TANH = Reference(
    tanh_with,
    """
    [half outer]
    [one] the 1 = 1 + {it}
    no-one = 0: the 1 beside tanh is missing
    [power] the power 3 = {h} ** 3 | 0.044715 * {h} ** 3
    square = 2: x is squared instead of cubed
    ~ fourth-power = 4: x⁴ stands for x³
    [factor] √(2/π) = (2 / torch.pi) ** 0.5 | (2 / torch.pi) ** 0.5 * {it}
    no-root: the root is missing: 2/π for √(2/π)
    no-factor = 1.0: √(2/π) is missing
    pi-over-two: √(π/2) stands for √(2/π)
    ~ other-factor-in-tanh: {} stands for √(2/π)
    [coefficient] the coefficient = 0.044715 | 0.044715 * {h} ** 3
        | {it} + 0.044715 * {h} ** 3
    misplaced-decimal-point = 0.44715: the coefficient is 0.44715 instead of 0.044715
    no-cube = 0.0: the cubic term is missing
    ~ minus-the-cube = -0.044715: the cubic term is subtracted
    ~ no-coefficient = 1.0: 0.044715 is missing
    ~ other-coefficient = 0.4, 0.04, 0.05, 0.045, 0.004, 0.0044715, 4.4715, 0.04415,
        0.04471, 0.047715, 0.044175, 0.0447, 0.04475, 0.44, 0.447, 0.0004, 0.47715,
        0.0047715: the coefficient is {} instead of 0.044715
    [sign] the sign of tanh
    minus = -1: tanh has a minus sign, or stands on the wrong side of it
    [curve] tanh = torch.tanh({inner})
    ~ erf-of-it: erf stands for tanh
    ~ sigmoid-of-it: a sigmoid stands for tanh
    ~ sine-of-it: sin stands for tanh
    [inner] the cubic = 0.044715 * {h} ** 3 | {h} + 0.044715 * {h} ** 3
    ~ coefficient-on-x: 0.044715 multiplies x and not x³
    ~ cube-of-the-product: 0.044715 is cubed too: (0.044715 x)³
    ~ coefficient-on-both: 0.044715 multiplies x too: 0.044715 (x + x³)
    [whole] GELU = 0.5 * {h} * (1 + {it})
        | torch.tanh((2 / torch.pi) ** 0.5 * ({h} + 0.044715 * {h} ** 3))
    no-bracket: the bracket around 1 + tanh is missing: x/2 multiplies the 1 alone, and
        tanh is added
    [together] the bracket = (2 / torch.pi) ** 0.5 * ({h} + 0.044715 * {h} ** 3)
    bracket: the bracket is in the wrong place: √(2/π) multiplies x alone
    """,
    **IN_BOTH_FORMS,
    no_root=2 / math.pi,
    pi_over_two=math.sqrt(math.pi / 2),
    other_factor_in_tanh=[((name,), factor) for name, factor in FACTORS.items()],
    erf_of_it=torch.erf,
    sigmoid_of_it=torch.sigmoid,
    sine_of_it=torch.sin,
    coefficient_on_x=lambda x, a, power: a * x + x**power,
    cube_of_the_product=lambda x, a, power: x + (a * x) ** power,
    coefficient_on_both=lambda x, a, power: a * (x + x**power),
    no_bracket=lambda x: (
        x / 2 + torch.tanh(math.sqrt(2 / math.pi) * cubic(x, 0.044715, 3))
    ),
    bracket={
        "factor": 1,
        "inner": lambda x, a, power: math.sqrt(2 / math.pi) * x + a * x**power,
    },
)


def alone(model: Reference, form: str, other: str, wrong: Program) -> Reference:
    """A form as a task: the other form is a mistake, and so is what is no GELU."""
    own = model.pieces["whole"]
    return model.but(
        f"""
    [whole] GELU = {" | ".join(own[0].written)}
    {other}-for-{form}: the {other} form is used, not the {form} form
    relu: it is ReLU, max(x, 0)
    silu: it is SiLU, x sigmoid(x)
    sigmoid-form: it is the sigmoid approximation, x sigmoid(1.702 x)
    """,
        whole=RARELY_GELU.pieces["whole"] + own,
        relu=torch.relu,
        silu=F.silu,
        sigmoid_form=quick_gelu,
        **{f"{other}_for_{form}": wrong},
    )


ERF_ALONE = alone(GELU, "erf", "tanh", tanh_form)
TANH_ALONE = alone(GELU_TANH, "tanh", "erf", erf_form)


def stages_of_erf(x):
    """The stages of GELU as defined."""
    inner = x / math.sqrt(2)
    yield stage("x / √2", inner)
    yield stage("erf(x / √2)", torch.erf(inner))
    one_more = 1 + torch.erf(inner)
    yield stage("1 + erf(x / √2)", one_more, one_more / 2)
    yield stage("x/2 · (1 + erf(x / √2))", gelu_by_erf(x))


GELU_HINTS = Hints(
    numbers=("0.044715",),
    rules={
        "without the argument `approximate` in it": {
            "$x.gelu(...)": (1.6, '$call(..., approximate="tanh")'),
            "$x.gelu(..., approximate=$y)": (1.4, '$call(..., approximate="tanh")'),
        }
    },
)

gelu = ERF_ALONE.task(
    "gelu",
    hints=GELU_HINTS,
    reference=erf_form,
    make=make_numbers,
    stages=stages_of_erf,
    probes=NUMBERS,
)


def stages_of_tanh(x):
    """The stages of GELU with tanh."""
    cube = x**3
    yield stage("x³", cube, 0.044715 * cube, x * (1 + 0.044715 * x**2))
    inner = x + 0.044715 * cube
    yield stage("x + 0.044715 x³", inner)
    root = math.sqrt(2 / math.pi)
    yield stage("√(2/π) (x + 0.044715 x³)", root * inner, 2 * root * inner)
    bent = torch.tanh(root * inner)
    yield stage("its tanh", bent)
    yield stage("1 + tanh", 1 + bent, (1 + bent) / 2)
    yield stage("x/2 · (1 + tanh)", gelu_by_tanh(x))
    also(lambda: root * x)


gelu_tanh = TANH_ALONE.task(
    "gelu_tanh",
    hints=GELU_HINTS,
    reference=tanh_form,
    make=make_numbers,
    stages=stages_of_tanh,
    probes=NUMBERS,
)


def make_mlp(draw: Draw, C: int, F: int | None, scale=1.0, **sizes: int) -> Arguments:
    """Draw the arguments of the network; its width is 4C for None."""
    table = "x BTC 0.2 scale | W1 CF | b1 F | W2 FC | b2 C"
    return draw.tensors(table, C=C, F=4 * C if F is None else F, scale=scale, **sizes)


def book_mlp(activation: str) -> Program:
    """Return the package's network, with an activation."""

    def mlp(x: Tensor, *values: Tensor) -> Tensor:
        weights, C = dict(zip(WEIGHTS, values, strict=True)), x.shape[-1]
        return with_weights(weights, (x,), MLP, C, of="mlp.", activation=activation)

    return mlp


def mlp_with(
    x: Tensor,
    W1: Tensor,
    b1: Tensor,
    W2: Tensor,
    b2: Tensor,
    *,
    before=same,
    act=tanh_with,
    where="between",
    first=1,
    second=1,
    late=0,
    matrix1=same,
    matrix2=same,
    residual=0,
) -> Tensor:
    """The feed-forward network in pieces.

    where: the places of the activation: "first", "between" or "last".
    first, second, late: how often b1, b2 and b1 after the activation are added.
    """
    h = before(x)
    h = act(h) if "first" in where else h
    h = h @ matrix1(W1) + first * b1
    h = act(h) if "between" in where else h
    h = (h + late * b1 if late else h) @ matrix2(W2)
    h = h + second * b2
    return (act(h) if "last" in where else h) + residual * x


WEIGHTS = ["W1", "b1", "W2", "b2"]
IN_ACTIVATION = "in the activation"
FORMS: Mapping[str, Pieces] = {"": {}, ERF: {"act": {"whole": erf_with}}}
FEED_FORWARD = Reference(
    mlp_with,
    """
    [act] the activation = torch.nn.functional.gelu({it})
        | torch.nn.functional.gelu({inner}) | torch.nn.functional.gelu({h})
    relu: the activation is ReLU
    silu: the activation is SiLU
    sigmoid-form: the activation is the sigmoid approximation of GELU, x sigmoid(1.702
        x)
    no-activation: there is no activation: two matrices in a row are one
    [where] the place of the activation = {inner} | torch.nn.functional.gelu({it})
    activation-twice = "between last": the activation also acts on the result
    activation-last = "last": the activation acts after W2 instead of before it
    activation-first = "first": the activation acts on x, before W1
    ~ activation-in-three-places = "first between": the activation acts on x too, before
        W1
    [first: first-bias] b1 = {it} + {b1}
    [second: second-bias] b2 = {it} + {b2}
    [late] b1 = {left}
    ~ first-bias-again = 1: b1 is added again after the activation
    [residual] the residual connection = {left} | {right}
    residual-inside = 1: x is added to the result, which is the block's task
    [matrix1] W1 = {x} @ {W1}
    ~ first-transposed: W1 is used transposed
    [matrix2] W2 = {h} @ {W2}
    ~ second-transposed: W2 is used transposed
    [before] x = {x}
    mean-of-positions: the positions are averaged first
    ~ normed-first: x goes through a layer norm first, which is the block's task
    ~ softmax-first: x goes through a softmax first
    [together] the weights = {x} @ {W1} + {b1} | {inner} + {b1}
    bias-after-activation = no-first-bias + first-bias-again: b1 is added after the
        activation
    transposed-weights = first-transposed + second-transposed: the matrices are used
        transposed, x W1ᵀ for x W1
    """,
    parts=[
        Part(GELU_TANH, "act", IN_ACTIVATION, ""),
        Part(GELU, "act", IN_ACTIVATION, ERF),
        Part(RARELY_GELU, "act", IN_ACTIVATION, ""),
    ],
    forms=FORMS,
    relu=torch.relu,
    silu=F.silu,
    sigmoid_form=quick_gelu,
    no_activation=same,
    first_transposed=transposed,
    second_transposed=transposed,
    mean_of_positions=lambda x: x.mean(1, keepdim=True).expand_as(x),
    normed_first=lambda x: F.layer_norm(x, x.shape[-1:]),
    softmax_first=lambda x: x.softmax(-1),
)


def first_position(program, arguments):
    """The first position among the others, and alone."""
    first = {**arguments, "x": arguments["x"][:, :1]}
    return [program(*arguments.values())[:, :1], program(*first.values())]


mlp = FEED_FORWARD.task(
    "mlp",
    hints=GELU_HINTS,
    reference=book_mlp("gelu_tanh"),
    forms={ERF: book_mlp("gelu")},
    make=make_mlp,
    stages=lambda x, *weights: fed(x, dict(zip(WEIGHTS, weights, strict=True))),
    probes=probes(
        "B T C F scale", "1 2 3 12 | 2 3 2 8 | 2 1 5 20 | 3 4 4 4 | 2 2 2 8 10.0"
    ),
    properties=[
        equal_results(
            "position-wise",
            first_position,
            "It is not position-wise: the first position alone gives something else.",
        )
    ],
    sizes=lambda given: {"C": given["W1"].shape[0], "F": given["W1"].shape[1]},
    optional={"F": None},
    weights=WEIGHTS,
)
