"""GELU in both forms, and the feed-forward network."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from mygpt.check.model import Model, Part, Piece, Pieces, alike, numbers, term
from mygpt.check.run import kept_state
from mygpt.check.stages.parts import fed, gelu_by_erf, gelu_by_tanh
from mygpt.check.stages.stage import Stage, also, stage
from mygpt.check.task import Arguments, Draw, Probe, Program, Property, Task
from mygpt.feed_forward import MLP
from mygpt.workbook.asked import ASKED

ERF = "GELU in its erf form; GPT-2 was trained with the tanh form"


def make_numbers(draw: Draw, kind: str, N: int) -> dict:
    if kind == "near":
        return {"x": draw.normal(N, scale=1.5)}
    if kind == "tail":  # where the two forms differ most, and where both end
        return {"x": torch.linspace(-6, 3, N, dtype=torch.float64)}
    if kind == "far":
        return {"x": torch.linspace(-20, 20, N, dtype=torch.float64)}
    return {"x": draw.normal(2, 1, N, scale=3.0)}


NUMBERS = [
    Probe(0, {"kind": "near", "N": 5}),
    Probe(1, {"kind": "tail", "N": 91}),
    Probe(2, {"kind": "matrix", "N": 3}),
    Probe(3, {"kind": "far", "N": 17}),
]


def erf_form(x: Tensor) -> Tensor:
    return F.gelu(x)


def tanh_form(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


def erf_with(
    x: Tensor,
    *,
    half: int | float = 0.5,
    outer: Callable[[Tensor], Tensor] = lambda x: x,
    one: int | float = 1,
    inside: int | float = math.sqrt(2),
    outside: int | float = 1,
    curve: Callable[[Tensor], Tensor] = torch.erf,
    sign: int = 1,
) -> Tensor:
    """The erf form in pieces."""
    return half * outer(x) * (one + sign * curve(x / inside) / outside)


def cubic(x: Tensor, coefficient: float, power: int) -> Tensor:
    return x + coefficient * x**power


def tanh_with(
    x: Tensor,
    *,
    half: int | float = 0.5,
    outer: Callable[[Tensor], Tensor] = lambda x: x,
    one: int | float = 1,
    curve: Callable[[Tensor], Tensor] = torch.tanh,
    sign: int = 1,
    coefficient: int | float = 0.044715,
    factor: int | float = math.sqrt(2 / math.pi),
    power: int = 3,
    inner: Callable[[Tensor, float, int], Tensor] = cubic,
) -> Tensor:
    """The tanh form in pieces."""
    bent = factor * inner(x, coefficient, power)
    return half * outer(x) * (one + sign * curve(bent))


def quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


def by_sigmoid(factor: float) -> Callable[[Tensor], Tensor]:
    return lambda x: x * torch.sigmoid(factor * x)


# What is no GELU; these names and sentences stand wherever a GELU should.
NO_GELU = alike(
    "it is {}",
    relu=("ReLU, max(x, 0)", torch.relu),
    silu=("SiLU, x sigmoid(x)", F.silu),
    sigmoid_form=("the sigmoid approximation, x sigmoid(1.702 x)", quick_gelu),
)
RARELY_GELU = {
    **alike(
        "it is {}",
        leaky_relu_for_gelu=("leaky ReLU", F.leaky_relu),
        elu_for_gelu=("ELU", F.elu),
        selu_for_gelu=("SELU", F.selu),
        softplus_for_gelu=("softplus, ln(1 + exp(x))", F.softplus),
        mish_for_gelu=("Mish, x tanh(softplus(x))", F.mish),
        hard_swish_for_gelu=("hard swish", F.hardswish),
        tanh_for_gelu=("tanh(x)", torch.tanh),
        sigmoid_for_gelu=("the sigmoid of x", torch.sigmoid),
        relu_squared_for_gelu=("ReLU squared", lambda x: x.relu() ** 2),
        absolute_value_for_gelu=("|x|", torch.abs),
    ),
    **numbers(
        "other-factor",
        "it is x sigmoid({} x), which is no GELU",
        *(1.7, 1.6, 1.5, 1.75, 1.072, 1.0702, 17.02, 2),
        of=by_sigmoid,
    ),
}
IN_BOTH_FORMS = {
    "half": Piece("the factor ½", no_half=("the factor ½ is missing", 1)).rarely(
        quarter=("the factor is ¼, not ½", 0.25)
    ),
    "outer": Piece(
        "the factor x", no_x=("the factor x is missing", torch.ones_like)
    ).rarely(x_squared=("the factor x is squared", torch.square)),
}
NO_BRACKET = (
    "the bracket around 1 + {0} is missing: x/2 multiplies the 1 alone, and {0} is "
    "added"
)

GELU = Model(
    erf_with,
    **IN_BOTH_FORMS,
    one=Piece("the 1", no_one=("the 1 beside erf is missing", 0)),
    inside=Piece(
        "the divisor √2",
        no_root_of_two=("x is not divided by √2 inside erf", 1),
        halved_inside=("x is divided by 2 instead of √2 inside erf", 2),
        multiplied_inside=(
            "x is multiplied by √2 inside erf, not divided by it",
            math.sqrt(0.5),
        ),
    ),
    sign=Piece(
        "the sign of erf", minus=("erf has a minus sign, which gives x Φ(-x)", -1)
    ),
    curve=Piece(
        "erf", tanh_of_root=("tanh(x / √2) stands for erf(x / √2)", torch.tanh)
    ).rarely(erfc_for_erf=("erfc stands for erf: it is 1 - erf already", torch.erfc)),
    together=Piece(
        "√2",
        root_outside=(
            "erf(x) is divided by √2, and not x inside erf",
            {"inside": 1, "outside": math.sqrt(2)},
        ),
    ),
    whole=Piece(
        "GELU",
        density=(
            "x is multiplied by the normal density instead of Φ",
            lambda x: x * torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
        ),
        no_bracket=(
            NO_BRACKET.format("erf"),
            lambda x: x / 2 + torch.erf(x / math.sqrt(2)),
        ),
    ),
).written(
    half=("0.5 * (1 + torch.erf({h} / 2**0.5))", "0.5 * {it}"),
    outer=("{h} * {it}", "{h}"),
    one=("0.5 * (1 + torch.erf({h} / 2**0.5))", "1 + {it}"),
    inside=("torch.erf({h} / 2**0.5)", "{h} / 2**0.5"),
    curve=("torch.erf({h} / 2**0.5)", "torch.erf({inner})"),
    together=("torch.erf({h} / 2**0.5)",),
    whole=("0.5 * (1 + torch.erf({h} / 2**0.5))", "0.5 * {h} * (1 + {it})"),
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
GELU_TANH = Model(
    tanh_with,
    **IN_BOTH_FORMS,
    one=Piece("the 1", no_one=("the 1 beside tanh is missing", 0)),
    power=Piece("the power 3", square=("x is squared instead of cubed", 2)).rarely(
        fourth_power=("x⁴ stands for x³", 4)
    ),
    factor=Piece(
        "√(2/π)",
        no_root=("the root is missing: 2/π for √(2/π)", 2 / math.pi),
        no_factor=("√(2/π) is missing", 1.0),
        pi_over_two=("√(π/2) stands for √(2/π)", math.sqrt(math.pi / 2)),
    ).rarely(
        other_factor_in_tanh=[
            (f"{name} stands for √(2/π)", factor) for name, factor in FACTORS.items()
        ]
    ),
    coefficient=Piece(
        "the coefficient",
        misplaced_decimal_point=(
            "the coefficient is 0.44715 instead of 0.044715",
            0.44715,
        ),
        no_cube=("the cubic term is missing", 0.0),
    ).rarely(
        minus_the_cube=("the cubic term is subtracted", -0.044715),
        no_coefficient=("0.044715 is missing", 1.0),
        **numbers(
            "other-coefficient",
            "the coefficient is {} instead of 0.044715",
            *(0.4, 0.04, 0.05, 0.045, 0.004, 0.0044715, 4.4715, 0.04415, 0.04471),
            *(0.047715, 0.044175, 0.0447, 0.04475, 0.44, 0.447, 0.0004, 0.47715),
            0.0047715,
        ),
    ),
    sign=Piece(
        "the sign of tanh",
        minus=("tanh has a minus sign, or stands on the wrong side of it", -1),
    ),
    curve=Piece("tanh").rarely(
        **alike(
            "{} stands for tanh",
            erf_of_it=("erf", torch.erf),
            sigmoid_of_it=("a sigmoid", torch.sigmoid),
            sine_of_it=("sin", torch.sin),
        )
    ),
    inner=Piece("the cubic").rarely(
        coefficient_on_x=(
            "0.044715 multiplies x and not x³",
            lambda x, a, power: a * x + x**power,
        ),
        cube_of_the_product=(
            "0.044715 is cubed too: (0.044715 x)³",
            lambda x, a, power: x + (a * x) ** power,
        ),
        coefficient_on_both=(
            "0.044715 multiplies x too: 0.044715 (x + x³)",
            lambda x, a, power: a * (x + x**power),
        ),
    ),
    together=Piece(
        "the bracket",
        bracket=(
            "the bracket is in the wrong place: √(2/π) multiplies x alone",
            {
                "factor": 1,
                "inner": lambda x, a, power: math.sqrt(2 / math.pi) * x + a * x**power,
            },
        ),
    ),
    whole=Piece(
        "GELU",
        no_bracket=(
            NO_BRACKET.format("tanh"),
            lambda x: (
                x / 2 + torch.tanh(math.sqrt(2 / math.pi) * cubic(x, 0.044715, 3))
            ),
        ),
    ),
).written(
    one=("1 + {it}",),
    power=("{h} ** 3", "0.044715 * {h} ** 3"),
    factor=("(2 / torch.pi) ** 0.5", "(2 / torch.pi) ** 0.5 * {it}"),
    coefficient=("0.044715", "0.044715 * {h} ** 3", "{it} + 0.044715 * {h} ** 3"),
    curve=("torch.tanh({inner})",),
    inner=("0.044715 * {h} ** 3", "{h} + 0.044715 * {h} ** 3"),
    together=("(2 / torch.pi) ** 0.5 * ({h} + 0.044715 * {h} ** 3)",),
    whole=(
        "0.5 * {h} * (1 + {it})",
        "torch.tanh((2 / torch.pi) ** 0.5 * ({h} + 0.044715 * {h} ** 3))",
    ),
)


def alone(model: Model, name: str, text: str, other: Program) -> Model:
    """A form as a task: the other form is a mistake, and so is what is no GELU."""
    piece = Piece("GELU", **{name: (text, other)}, **NO_GELU).rarely(**RARELY_GELU)
    piece.entries += model.pieces["whole"].entries
    piece.sources = model.pieces["whole"].sources
    return model.but(whole=piece)


ERF_ALONE = alone(
    GELU, "tanh-for-erf", "the tanh form is used, not the erf form", tanh_form
)
TANH_ALONE = alone(
    GELU_TANH, "erf-for-tanh", "the erf form is used, not the tanh form", erf_form
)


def stages_of_erf(x: Tensor) -> Iterator[Stage]:
    """The stages of GELU as defined."""
    inner = x / math.sqrt(2)
    yield stage("x / √2", inner)
    yield stage("erf(x / √2)", torch.erf(inner))
    one_more = 1 + torch.erf(inner)
    yield stage("1 + erf(x / √2)", one_more, one_more / 2)
    yield stage("x/2 · (1 + erf(x / √2))", gelu_by_erf(x))


gelu = Task(
    **vars(ASKED["gelu"]),
    reference=erf_form,
    make=make_numbers,
    stages=stages_of_erf,
    probes=NUMBERS,
    differentiable=["x"],
    mistakes=ERF_ALONE.mistakes(),
    model=ERF_ALONE,
)


def stages_of_tanh(x: Tensor) -> Iterator[Stage]:
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


gelu_tanh = Task(
    **vars(ASKED["gelu_tanh"]),
    reference=tanh_form,
    make=make_numbers,
    stages=stages_of_tanh,
    probes=NUMBERS,
    differentiable=["x"],
    mistakes=TANH_ALONE.mistakes(),
    model=TANH_ALONE,
)


def make_mlp(
    draw: Draw, B: int, T: int, C: int, F: int | None, scale: float = 1.0
) -> dict:
    F = 4 * C if F is None else F
    return {
        "x": draw.normal(B, T, C, mean=0.2, scale=scale),
        "W1": draw.normal(C, F),
        "b1": draw.normal(F),
        "W2": draw.normal(F, C),
        "b2": draw.normal(C),
    }


@lru_cache(maxsize=32)
def package_mlp(C: int, activation: str) -> MLP:
    with kept_state():
        return MLP(C, activation=activation)


def book_mlp(activation: str) -> Callable[..., Tensor]:
    def mlp(x, W1, b1, W2, b2):
        layer = package_mlp(x.shape[-1], activation)
        stored = {
            "fc1.weight": W1.T,
            "fc1.bias": b1,
            "fc2.weight": W2.T,
            "fc2.bias": b2,
        }
        return functional_call(layer, stored, (x,))

    return mlp


def same(x: Tensor) -> Tensor:
    return x


def mlp_with(
    x: Tensor,
    W1: Tensor,
    b1: Tensor,
    W2: Tensor,
    b2: Tensor,
    *,
    before: Callable[[Tensor], Tensor] = same,
    act: Callable[[Tensor], Tensor] = tanh_with,
    where: str = "between",
    first: int = 1,
    second: int = 1,
    late: int = 0,
    matrix1: Callable[[Tensor], Tensor] = same,
    matrix2: Callable[[Tensor], Tensor] = same,
    residual: int = 0,
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


def transposed(W: Tensor) -> Tensor:
    return W.mT


IN_ACTIVATION = "in the activation"
FORMS: Mapping[str, Pieces] = {"": {}, ERF: {"act": {"whole": erf_with}}}
FEED_FORWARD = Model(
    mlp_with,
    act=Piece(
        "the activation",
        "",
        **alike(
            "the activation is {}",
            relu=("ReLU", torch.relu),
            silu=("SiLU", F.silu),
            sigmoid_form=(
                "the sigmoid approximation of GELU, x sigmoid(1.702 x)",
                quick_gelu,
            ),
        ),
        no_activation=("there is no activation: two matrices in a row are one", same),
    ),
    where=Piece(
        "the place of the activation",
        activation_twice=("the activation also acts on the result", "between last"),
        activation_last=("the activation acts after W2 instead of before it", "last"),
        activation_first=("the activation acts on x, before W1", "first"),
    ).rarely(
        activation_in_three_places=(
            "the activation acts on x too, before W1",
            "first between",
        )
    ),
    first=term("b1", "first-bias"),
    second=term("b2", "second-bias"),
    late=Piece("b1").rarely(
        first_bias_again=("b1 is added again after the activation", 1)
    ),
    residual=Piece(
        "the residual connection",
        residual_inside=("x is added to the result, which is the block's task", 1),
    ),
    matrix1=Piece("W1").rarely(first_transposed=("W1 is used transposed", transposed)),
    matrix2=Piece("W2").rarely(second_transposed=("W2 is used transposed", transposed)),
    before=Piece(
        "x",
        mean_of_positions=(
            "the positions are averaged first",
            lambda x: x.mean(1, keepdim=True).expand_as(x),
        ),
    ).rarely(
        normed_first=(
            "x goes through a layer norm first, which is the block's task",
            lambda x: F.layer_norm(x, x.shape[-1:]),
        ),
        softmax_first=("x goes through a softmax first", lambda x: x.softmax(-1)),
    ),
    together=Piece(
        "the weights",
        bias_after_activation=(
            "b1 is added after the activation",
            {"first": 0, "late": 1},
        ),
        transposed_weights=(
            "the matrices are used transposed, x W1ᵀ for x W1",
            {"matrix1": transposed, "matrix2": transposed},
        ),
    ),
    parts=[
        Part(GELU_TANH, "act", IN_ACTIVATION, ""),
        Part(GELU, "act", IN_ACTIVATION, ERF),
        Part(
            Model(same, whole=Piece("GELU").rarely(**RARELY_GELU)),
            "act",
            IN_ACTIVATION,
            "",
        ),
    ],
    forms=FORMS,
).written(
    act=(
        "torch.nn.functional.gelu({it})",
        "torch.nn.functional.gelu({inner})",
        "torch.nn.functional.gelu({h})",
    ),
    where=("{inner}", "torch.nn.functional.gelu({it})"),
    first=("{it} + {b1}",),
    second=("{it} + {b2}",),
    late=("{left}",),
    residual=("{left}", "{right}"),
    matrix1=("{x} @ {W1}",),
    matrix2=("{h} @ {W2}",),
    before=("{x}",),
    together=("{x} @ {W1} + {b1}", "{inner} + {b1}"),
)


def first_position(program: Program, arguments: Arguments) -> list[Tensor]:
    """The first position among the others, and alone."""
    first = {**arguments, "x": arguments["x"][:, :1]}
    return [program(*arguments.values())[:, :1], program(*first.values())]


def each_position_alone(seen: list[Tensor], arguments: Arguments) -> str | None:
    if torch.allclose(*seen, atol=1e-5):
        return None
    return "It is not position-wise: the first position alone gives something else."


def stages_of_mlp(
    x: Tensor, W1: Tensor, b1: Tensor, W2: Tensor, b2: Tensor
) -> Iterator[Stage]:
    """The stages of the feed-forward network."""
    yield from fed(x, {"W1": W1, "b1": b1, "W2": W2, "b2": b2})


mlp = Task(
    **vars(ASKED["mlp"]),
    reference=book_mlp("gelu_tanh"),
    forms={ERF: book_mlp("gelu")},
    make=make_mlp,
    stages=stages_of_mlp,
    probes=[
        Probe(0, {"B": 1, "T": 2, "C": 3, "F": 12}),
        Probe(1, {"B": 2, "T": 3, "C": 2, "F": 8}),
        Probe(2, {"B": 2, "T": 1, "C": 5, "F": 20}),
        Probe(3, {"B": 3, "T": 4, "C": 4, "F": 4}),
        Probe(4, {"B": 2, "T": 2, "C": 2, "F": 8, "scale": 10.0}),
    ],
    differentiable=["x", "W1", "b1", "W2", "b2"],
    properties=[Property("position-wise", first_position, each_position_alone)],
    sizes=lambda given: {"C": given["W1"].shape[0], "F": given["W1"].shape[1]},
    optional={"F": None},
    weights=["W1", "b1", "W2", "b2"],
    mistakes=FEED_FORWARD.mistakes(),
    model=FEED_FORWARD,
)
