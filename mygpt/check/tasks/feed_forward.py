"""GELU in both forms, and the feed-forward network."""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from mygpt.check.compose import lifted
from mygpt.check.run import kept_state
from mygpt.check.stages.parts import fed, gelu_by_erf, gelu_by_tanh
from mygpt.check.stages.stage import Stage, also, stage
from mygpt.check.task import Arguments, Draw, Mistake, Probe, Program, Property, Task
from mygpt.feed_forward import MLP

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
    """The erf form with one piece replaced."""
    return half * outer(x) * (one + sign * curve(x / inside) / outside)


def wrong_erf(**pieces) -> Program:
    return partial(erf_with, **pieces)


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
    inner: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """The tanh form with one piece replaced."""
    bent = x + coefficient * x**power if inner is None else inner(x)
    return half * outer(x) * (one + sign * curve(factor * bent))


def cubic(x: Tensor) -> Tensor:
    return x + 0.044715 * x**3


def wrong_tanh(**pieces) -> Program:
    return partial(tanh_with, **pieces)


def quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


def ones(x: Tensor) -> Tensor:
    return torch.ones_like(x)


NOT_GELU = [
    Mistake("relu", "it is ReLU, max(x, 0)", lambda x: x.relu()),
    Mistake("silu", "it is SiLU, x sigmoid(x)", lambda x: F.silu(x)),
    Mistake(
        "sigmoid-form",
        "it is the sigmoid approximation, x sigmoid(1.702 x)",
        quick_gelu,
    ),
]


def other_activations() -> list[Mistake]:
    """What is not GELU and is rarely taken for it."""
    return [
        Mistake(f"{name}-for-gelu", f"it is {what}", program)
        for name, what, program in (
            ("leaky-relu", "leaky ReLU", F.leaky_relu),
            ("elu", "ELU", F.elu),
            ("selu", "SELU", F.selu),
            ("softplus", "softplus, ln(1 + exp(x))", F.softplus),
            ("mish", "Mish, x tanh(softplus(x))", F.mish),
            ("hard-swish", "hard swish", F.hardswish),
            ("tanh", "tanh(x)", torch.tanh),
            ("sigmoid", "the sigmoid of x", torch.sigmoid),
            ("relu-squared", "ReLU squared", lambda x: x.relu() ** 2),
            ("absolute-value", "|x|", torch.abs),
        )
    ] + [
        Mistake(
            "other-factor",
            f"it is x sigmoid({factor:g} x), which is no GELU",
            lambda x, factor=factor: x * torch.sigmoid(factor * x),
        )
        for factor in (1.7, 1.6, 1.5, 1.75, 1.072, 1.0702, 17.02, 2)
    ]


def stages_of_erf(x: Tensor) -> Iterator[Stage]:
    """The stages of GELU as defined."""
    inner = x / math.sqrt(2)
    yield stage("x / √2", inner)
    yield stage("erf(x / √2)", torch.erf(inner))
    one_more = 1 + torch.erf(inner)
    yield stage("1 + erf(x / √2)", one_more, one_more / 2)
    yield stage("x/2 · (1 + erf(x / √2))", gelu_by_erf(x))


gelu = Task(
    name="gelu",
    chapter="06_activations",
    label="check-gelu",
    asks="GELU as defined: x Φ(x) = x/2 · (1 + erf(x / √2)), for each entry.",
    arguments={"x": "any shape"},
    returns="a tensor of the shape of x",
    example="""\
>>> gelu(torch.tensor([-1.0, 0.0, 1.0]))
tensor([-0.1587,  0.0000,  0.8413])""",
    reference=erf_form,
    make=make_numbers,
    stages=stages_of_erf,
    probes=NUMBERS,
    differentiable=["x"],
    mistakes=[
        Mistake("tanh-for-erf", "the tanh form is used, not the erf form", tanh_form),
        *NOT_GELU,
        Mistake("no-half", "the factor ½ is missing", wrong_erf(half=1)),
        Mistake(
            "no-root-of-two",
            "x is not divided by √2 inside erf",
            wrong_erf(inside=1),
        ),
        Mistake(
            "halved-inside",
            "x is divided by 2 instead of √2 inside erf",
            wrong_erf(inside=2),
        ),
        Mistake(
            "root-outside",
            "erf(x) is divided by √2, and not x inside erf",
            wrong_erf(inside=1, outside=math.sqrt(2)),
        ),
        Mistake(
            "multiplied-inside",
            "x is multiplied by √2 inside erf, not divided by it",
            wrong_erf(inside=math.sqrt(0.5)),
        ),
        Mistake(
            "no-x",
            "the factor x is missing: this is Φ(x) alone",
            wrong_erf(outer=ones),
        ),
        Mistake(
            "no-one",
            "the 1 beside erf is missing",
            wrong_erf(one=0),
        ),
        Mistake(
            "density",
            "x is multiplied by the normal density instead of Φ",
            lambda x: x * torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
        ),
        Mistake(
            "minus",
            "erf has a minus sign, which gives x Φ(-x)",
            wrong_erf(sign=-1),
        ),
        Mistake(
            "tanh-of-root",
            "tanh(x / √2) stands for erf(x / √2)",
            wrong_erf(curve=torch.tanh),
        ),
        Mistake(
            "no-bracket",
            "the bracket around 1 + erf is missing: x/2 multiplies the 1 alone, and "
            "erf is added",
            lambda x: x / 2 + torch.erf(x / math.sqrt(2)),
        ),
    ],
    more=lambda: [
        Mistake(
            "erfc-for-erf",
            "erfc stands for erf: it is 1 - erf already",
            wrong_erf(curve=torch.erfc),
        ),
        Mistake("x-squared", "the factor x is squared", wrong_erf(outer=torch.square)),
        Mistake("quarter", "the factor is ¼, not ½", wrong_erf(half=0.25)),
        *other_activations(),
    ],
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
COEFFICIENTS = (
    *(0.4, 0.04, 0.05, 0.045, 0.004, 0.0044715, 4.4715, 0.04415, 0.04471, 0.047715),
    *(0.044175, 0.0447, 0.04475, 0.44, 0.447, 0.0004, 0.47715, 0.0047715),
)


def more_of_tanh() -> list[Mistake]:
    """Other numbers in the tanh form, and what is no GELU at all."""
    return [
        *(
            Mistake(
                "other-factor-in-tanh",
                f"{name} stands for √(2/π)",
                wrong_tanh(factor=factor),
            )
            for name, factor in FACTORS.items()
        ),
        *(
            Mistake(
                "other-coefficient",
                f"the coefficient is {number:g} instead of 0.044715",
                wrong_tanh(coefficient=number),
            )
            for number in COEFFICIENTS
        ),
        Mistake(
            "minus-the-cube",
            "the cubic term is subtracted",
            wrong_tanh(coefficient=-0.044715),
        ),
        Mistake("fourth-power", "x⁴ stands for x³", wrong_tanh(power=4)),
        Mistake(
            "coefficient-on-x",
            "0.044715 multiplies x and not x³",
            wrong_tanh(inner=lambda x: 0.044715 * x + x**3),
        ),
        Mistake(
            "cube-of-the-product",
            "0.044715 is cubed too: (0.044715 x)³",
            wrong_tanh(inner=lambda x: x + (0.044715 * x) ** 3),
        ),
        Mistake(
            "coefficient-on-both",
            "0.044715 multiplies x too: 0.044715 (x + x³)",
            wrong_tanh(inner=lambda x: 0.044715 * (x + x**3)),
        ),
        Mistake("no-coefficient", "0.044715 is missing", wrong_tanh(coefficient=1.0)),
        Mistake("erf-of-it", "erf stands for tanh", wrong_tanh(curve=torch.erf)),
        Mistake(
            "sigmoid-of-it",
            "a sigmoid stands for tanh",
            wrong_tanh(curve=torch.sigmoid),
        ),
        Mistake("sine-of-it", "sin stands for tanh", wrong_tanh(curve=torch.sin)),
        Mistake("x-squared", "the factor x is squared", wrong_tanh(outer=torch.square)),
        Mistake("quarter", "the factor is ¼, not ½", wrong_tanh(half=0.25)),
        *other_activations(),
    ]


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
    name="gelu_tanh",
    chapter="06_activations",
    label="check-gelu-tanh",
    asks="GPT-2's form of GELU: x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))).",
    arguments={"x": "any shape"},
    returns="a tensor of the shape of x",
    example="""\
>>> gelu_tanh(torch.tensor([-1.0, 0.0, 1.0]))
tensor([-0.1588,  0.0000,  0.8412])""",
    reference=tanh_form,
    make=make_numbers,
    stages=stages_of_tanh,
    probes=NUMBERS,
    differentiable=["x"],
    mistakes=[
        Mistake("erf-for-tanh", "the erf form is used, not the tanh form", erf_form),
        *NOT_GELU,
        Mistake("no-half", "the factor ½ is missing", wrong_tanh(half=1)),
        Mistake(
            "square",
            "x is squared instead of cubed",
            wrong_tanh(power=2),
        ),
        Mistake(
            "no-root",
            "the root is missing: 2/π for √(2/π)",
            wrong_tanh(factor=2 / math.pi),
        ),
        Mistake(
            "no-factor",
            "√(2/π) is missing",
            wrong_tanh(factor=1.0),
        ),
        Mistake(
            "pi-over-two",
            "√(π/2) stands for √(2/π)",
            wrong_tanh(factor=math.sqrt(math.pi / 2)),
        ),
        Mistake(
            "misplaced-decimal-point",
            "the coefficient is 0.44715 instead of 0.044715",
            wrong_tanh(coefficient=0.44715),
        ),
        Mistake(
            "no-cube",
            "the cubic term is missing",
            wrong_tanh(coefficient=0.0),
        ),
        Mistake(
            "bracket",
            "the bracket is in the wrong place: √(2/π) multiplies x alone",
            wrong_tanh(
                factor=1,
                inner=lambda x: math.sqrt(2 / math.pi) * x + 0.044715 * x**3,
            ),
        ),
        Mistake(
            "no-x",
            "the factor x is missing",
            wrong_tanh(outer=ones),
        ),
        Mistake(
            "no-one",
            "the 1 beside tanh is missing",
            wrong_tanh(one=0),
        ),
        Mistake(
            "minus",
            "tanh has a minus sign, or stands on the wrong side of it",
            wrong_tanh(sign=-1),
        ),
        Mistake(
            "no-bracket",
            "the bracket around 1 + tanh is missing: x/2 multiplies the 1 alone, and "
            "tanh is added",
            lambda x: x / 2 + torch.tanh(math.sqrt(2 / math.pi) * cubic(x)),
        ),
    ],
    more=more_of_tanh,
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
    act: Callable[[Tensor], Tensor] = tanh_form,
    where: str = "between",
    first: int = 1,
    second: int = 1,
    late: int = 0,
    transposed: str = "",
    residual: int = 0,
) -> Tensor:
    """The feed-forward network with one piece replaced.

    where: the places of the activation: "first", "between" or "last".
    first, second, late: how often b1, b2 and b1 after the activation are added.
    """
    h = before(x)
    h = act(h) if "first" in where else h
    h = h @ (W1.T if "1" in transposed else W1) + first * b1
    h = act(h) if "between" in where else h
    h = (h + late * b1 if late else h) @ (W2.T if "2" in transposed else W2)
    h = h + second * b2
    return (act(h) if "last" in where else h) + residual * x


def bent(activation: Callable[[Tensor], Tensor], **pieces) -> Callable[..., Tensor]:
    """A network with this activation; GELU's tanh form is not named as a piece."""
    named = {} if activation is tanh_form else {"act": activation}
    return partial(mlp_with, **named, **pieces)


def in_both_forms(name: str, text: str, **pieces) -> list[Mistake]:
    """Make a mistake with either form of GELU."""
    return [
        Mistake(name, text, bent(tanh_form, **pieces)),
        Mistake(name, text, bent(erf_form, **pieces), ERF),
    ]


def mean_of_positions(x: Tensor) -> Tensor:
    return x.mean(1, keepdim=True).expand_as(x)


def first_position(program: Program, arguments: Arguments) -> list[Tensor]:
    """The first position among the others, and alone."""
    first = {**arguments, "x": arguments["x"][:, :1]}
    return [program(*arguments.values())[:, :1], program(*first.values())]


def each_position_alone(seen: list[Tensor], arguments: Arguments) -> str | None:
    if torch.allclose(*seen, atol=1e-5):
        return None
    return "It is not position-wise: the first position alone gives something else."


def acting(activation: Program) -> Program:
    return bent(activation)


def more_of_mlp() -> list[Mistake]:
    """What is tried when none of the listed mistakes fits."""
    inside = "in the activation"
    return [
        *lifted([*gelu.mistakes[4:], *gelu.more()], acting, inside),
        *lifted([*gelu_tanh.mistakes[4:], *gelu_tanh.more()], acting, inside),
        *in_both_forms(
            "activation-in-three-places",
            "the activation acts on x too, before W1",
            where="first between",
        ),
        *in_both_forms("first-bias-twice", "b1 is added twice", first=2),
        *in_both_forms("second-bias-twice", "b2 is added twice", second=2),
        *in_both_forms(
            "first-bias-again", "b1 is added again after the activation", late=1
        ),
        *in_both_forms("first-transposed", "W1 is used transposed", transposed="1"),
        *in_both_forms("second-transposed", "W2 is used transposed", transposed="2"),
        *in_both_forms(
            "first-bias-subtracted", "b1 is subtracted, not added", first=-1
        ),
        *in_both_forms(
            "second-bias-subtracted", "b2 is subtracted, not added", second=-1
        ),
        *in_both_forms(
            "normed-first",
            "x goes through a layer norm first, which is the block's task",
            before=lambda x: F.layer_norm(x, x.shape[-1:]),
        ),
        *in_both_forms(
            "softmax-first",
            "x goes through a softmax first",
            before=lambda x: x.softmax(-1),
        ),
    ]


def stages_of_mlp(
    x: Tensor, W1: Tensor, b1: Tensor, W2: Tensor, b2: Tensor
) -> Iterator[Stage]:
    """The stages of the feed-forward network."""
    yield from fed(x, {"W1": W1, "b1": b1, "W2": W2, "b2": b2})


mlp = Task(
    name="mlp",
    chapter="05_feed_forward",
    label="check-mlp",
    asks="The feed-forward network: h = x W1 + b1, GELU of h in either form, then "
    "times W2, plus b2; each position on its own.",
    arguments={
        "x": "(B, T, C)",
        "W1": "(C, F)",
        "b1": "(F,)",
        "W2": "(F, C)",
        "b2": "(C,)",
    },
    returns="a tensor of shape (B, T, C)",
    example="""\
>>> one = torch.ones(1, 1)
>>> mlp(torch.tensor([[[0.0], [5.0]]]), one, torch.zeros(1), 2 * one, torch.ones(1))
tensor([[[ 1.0000],
         [11.0000]]])""",
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
    mistakes=[
        Mistake("relu", "the activation is ReLU", bent(torch.relu)),
        Mistake("silu", "the activation is SiLU", bent(F.silu)),
        Mistake(
            "sigmoid-form",
            "the activation is the sigmoid approximation of GELU, x sigmoid(1.702 x)",
            bent(quick_gelu),
        ),
        Mistake(
            "no-activation",
            "there is no activation: two matrices in a row are one matrix",
            bent(same),
        ),
        *in_both_forms(
            "activation-twice",
            "the activation also acts on the result",
            where="between last",
        ),
        *in_both_forms(
            "activation-last",
            "the activation acts after W2 instead of before it",
            where="last",
        ),
        *in_both_forms(
            "activation-first",
            "the activation acts on x, before W1",
            where="first",
        ),
        *in_both_forms("no-first-bias", "b1 is forgotten", first=0),
        *in_both_forms("no-second-bias", "b2 is forgotten", second=0),
        *in_both_forms("no-biases", "both biases are forgotten", first=0, second=0),
        *in_both_forms(
            "bias-after-activation",
            "b1 is added after the activation",
            first=0,
            late=1,
        ),
        *in_both_forms(
            "residual-inside",
            "x is added to the result, which is the block's task",
            residual=1,
        ),
        *in_both_forms(
            "transposed-weights",
            "the matrices are used transposed, x W1ᵀ for x W1",
            transposed="12",
        ),
        *in_both_forms(
            "mean-of-positions",
            "the positions are averaged first",
            before=mean_of_positions,
        ),
    ],
    more=more_of_mlp,
)
