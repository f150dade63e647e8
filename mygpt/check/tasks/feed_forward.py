"""GELU in both forms, and the feed-forward network."""

import math
from collections.abc import Callable
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from mygpt.check.run import kept_state
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


def tanh_with(
    x: Tensor,
    *,
    coefficient: int | float = 0.044715,
    factor: int | float = math.sqrt(2 / math.pi),
    power: int = 3,
    inner: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    bent = x + coefficient * x**power if inner is None else inner(x)
    return 0.5 * x * (1 + torch.tanh(factor * bent))


NOT_GELU = [
    Mistake("relu", "it is ReLU, max(x, 0)", lambda x: x.relu()),
    Mistake("silu", "it is SiLU, x sigmoid(x)", lambda x: F.silu(x)),
    Mistake(
        "sigmoid-form",
        "it is the sigmoid approximation, x sigmoid(1.702 x)",
        lambda x: x * torch.sigmoid(1.702 * x),
    ),
    Mistake("no-half", "the factor ½ is missing", lambda x: 2 * erf_form(x)),
]

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
    probes=NUMBERS,
    differentiable=["x"],
    mistakes=[
        Mistake("tanh-for-erf", "the tanh form is used, not the erf form", tanh_form),
        *NOT_GELU,
        Mistake(
            "no-root-of-two",
            "x is not divided by √2 inside erf",
            lambda x: 0.5 * x * (1 + torch.erf(x)),
        ),
        Mistake(
            "halved-inside",
            "x is divided by 2 instead of √2 inside erf",
            lambda x: 0.5 * x * (1 + torch.erf(x / 2)),
        ),
        Mistake(
            "no-x",
            "the factor x is missing: this is Φ(x) alone",
            lambda x: 0.5 * (1 + torch.erf(x / math.sqrt(2))),
        ),
        Mistake(
            "no-one",
            "the 1 beside erf is missing",
            lambda x: 0.5 * x * torch.erf(x / math.sqrt(2)),
        ),
        Mistake(
            "density",
            "x is multiplied by the normal density instead of Φ",
            lambda x: x * torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
        ),
        Mistake(
            "minus",
            "erf has a minus sign, which gives x Φ(-x)",
            lambda x: 0.5 * x * (1 - torch.erf(x / math.sqrt(2))),
        ),
    ],
)

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
    probes=NUMBERS,
    differentiable=["x"],
    mistakes=[
        Mistake("erf-for-tanh", "the erf form is used, not the tanh form", erf_form),
        *NOT_GELU[:3],
        Mistake("no-half", "the factor ½ is missing", lambda x: 2 * tanh_form(x)),
        Mistake(
            "square",
            "x is squared instead of cubed",
            lambda x: tanh_with(x, power=2),
        ),
        Mistake(
            "no-root",
            "the root is missing: 2/π for √(2/π)",
            lambda x: tanh_with(x, factor=2 / math.pi),
        ),
        Mistake(
            "no-factor",
            "√(2/π) is missing",
            lambda x: tanh_with(x, factor=1.0),
        ),
        Mistake(
            "pi-over-two",
            "√(π/2) stands for √(2/π)",
            lambda x: tanh_with(x, factor=math.sqrt(math.pi / 2)),
        ),
        Mistake(
            "misplaced-decimal-point",
            "the coefficient is 0.44715 instead of 0.044715",
            lambda x: tanh_with(x, coefficient=0.44715),
        ),
        Mistake(
            "no-cube",
            "the cubic term is missing",
            lambda x: tanh_with(x, coefficient=0.0),
        ),
        Mistake(
            "bracket",
            "the bracket is in the wrong place: √(2/π) multiplies x alone",
            lambda x: tanh_with(
                x,
                factor=1,
                inner=lambda x: math.sqrt(2 / math.pi) * x + 0.044715 * x**3,
            ),
        ),
        Mistake(
            "no-x",
            "the factor x is missing",
            lambda x: tanh_form(x) / torch.where(x == 0, 1, x) + 0.5 * (x == 0),
        ),
        Mistake(
            "no-one",
            "the 1 beside tanh is missing",
            lambda x: tanh_form(x) - 0.5 * x,
        ),
    ],
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


def bent(activation: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda x, W1, b1, W2, b2: activation(x @ W1 + b1) @ W2 + b2


def in_both_forms(
    name: str, text: str, program: Callable[[Callable], Callable]
) -> list[Mistake]:
    """Make a mistake with either form of GELU."""
    return [
        Mistake(name, text, program(tanh_form)),
        Mistake(name, text, program(erf_form), ERF),
    ]


def first_position(program: Program, arguments: Arguments) -> list[Tensor]:
    """The first position among the others, and alone."""
    first = {**arguments, "x": arguments["x"][:, :1]}
    return [program(*arguments.values())[:, :1], program(*first.values())]


def each_position_alone(seen: list[Tensor], arguments: Arguments) -> str | None:
    if torch.allclose(*seen, atol=1e-5):
        return None
    return "It is not position-wise: the first position alone gives something else."


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
            "no-activation",
            "there is no activation: two matrices in a row are one matrix",
            bent(lambda h: h),
        ),
        *in_both_forms(
            "activation-twice",
            "the activation also acts on the result",
            lambda act: lambda x, W1, b1, W2, b2: act(act(x @ W1 + b1) @ W2 + b2),
        ),
        *in_both_forms(
            "activation-last",
            "the activation acts after W2 instead of before it",
            lambda act: lambda x, W1, b1, W2, b2: act((x @ W1 + b1) @ W2 + b2),
        ),
        *in_both_forms(
            "activation-first",
            "the activation acts on x, before W1",
            lambda act: lambda x, W1, b1, W2, b2: (act(x) @ W1 + b1) @ W2 + b2,
        ),
        *in_both_forms(
            "no-first-bias",
            "b1 is forgotten",
            lambda act: lambda x, W1, b1, W2, b2: act(x @ W1) @ W2 + b2,
        ),
        *in_both_forms(
            "no-second-bias",
            "b2 is forgotten",
            lambda act: lambda x, W1, b1, W2, b2: act(x @ W1 + b1) @ W2,
        ),
        *in_both_forms(
            "no-biases",
            "both biases are forgotten",
            lambda act: lambda x, W1, b1, W2, b2: act(x @ W1) @ W2,
        ),
        *in_both_forms(
            "bias-after-activation",
            "b1 is added after the activation",
            lambda act: lambda x, W1, b1, W2, b2: (act(x @ W1) + b1) @ W2 + b2,
        ),
        *in_both_forms(
            "residual-inside",
            "x is added to the result, which is the block's task",
            lambda act: lambda x, W1, b1, W2, b2: x + act(x @ W1 + b1) @ W2 + b2,
        ),
        *in_both_forms(
            "transposed-weights",
            "the matrices are used transposed, x W1ᵀ for x W1",
            lambda act: lambda x, W1, b1, W2, b2: act(x @ W1.T + b1) @ W2.T + b2,
        ),
        *in_both_forms(
            "mean-of-positions",
            "the positions are averaged first",
            lambda act: (
                lambda x, W1, b1, W2, b2: (
                    act(x.mean(1, keepdim=True).expand_as(x) @ W1 + b1) @ W2 + b2
                )
            ),
        ),
    ],
)
