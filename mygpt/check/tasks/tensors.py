"""A row times a matrix, and softmax."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from mygpt.check.model import Model, Piece
from mygpt.check.stages import parts
from mygpt.check.stages.stage import Stage, also, stage
from mygpt.check.task import Arguments, Draw, Probe, Program, Property, Task, result_of
from mygpt.workbook.asked import ASKED


def make_row(draw: Draw, C: int, F: int) -> dict:
    return {"x": draw.normal(C, mean=0.5), "W": draw.normal(C, F)}


def row_with(
    x: Tensor,
    W: Tensor,
    *,
    multiply: Callable[[Tensor, Tensor], Tensor] = lambda x, W: x[:, None] * W,
    add_up: Callable[[Tensor], Tensor] = lambda products: products.sum(0),
) -> Tensor:
    """A row times a matrix in pieces."""
    return add_up(multiply(x, W))


ROW = Model(
    row_with,
    multiply=Piece(
        "the products",
        no_weights=(
            "the matrix is added up as it is, without x: entry j sums W[i, j]",
            lambda x, W: W,
        ),
        added=(
            "x[i] and W[i, j] are added where they should be multiplied",
            lambda x, W: x[:, None] + W,
        ),
    ),
    add_up=Piece(
        "the sum",
        no_sum=("the products x[i] * W[i, j] are not added up", lambda xW: xW),
        sum_over_columns=(
            "the products are added up over the columns of W instead of its rows",
            lambda products: products.sum(1),
        ),
        last_entry_missing=(
            "the sum stops before the last entry of x",
            lambda products: products[:-1].sum(0),
        ),
        first_entry_missing=(
            "the sum starts at entry 1 of x, not at entry 0",
            lambda products: products[1:].sum(0),
        ),
        mean_for_sum=(
            "the products are averaged instead of added",
            lambda products: products.mean(0),
        ),
        last_row_alone=(
            "the sum starts anew in each row: only the last row's products are left",
            lambda products: products[-1],
        ),
        first_row_alone=(
            "only the first row's products are there: the function returns too early",
            lambda products: products[0],
        ),
        whole_sum=(
            "the products are added up over the whole matrix, which gives one number",
            torch.sum,
        ),
    ),
    whole=Piece(
        "the matrix",
        columns_for_rows=(
            "W is used transposed: entry j sums x[i] * W[j, i]",
            lambda x, W: W @ x,
        ),
    ),
    result=Piece(
        "the result",
        keeps_an_axis=("the result stays a matrix, (1, F)", lambda row: row[None]),
    ),
).written(
    multiply=("{x}[:, None] * {W}", "{x}[{i}] * {W}[{i}, {j}]"),
    add_up=("{it}.sum(0)", "{inner}.sum(0)"),
    whole=("{x} @ {W}[:, {j}]", "{x} * {W}[:, {j}]"),
)


def stages_of_row(x: Tensor, W: Tensor) -> Iterator[Stage]:
    """The stages of a row times a matrix."""
    products = x[:, None] * W
    also(lambda: products.cumsum(0))
    yield stage("the products x[i] * W[i, j]", products)
    yield stage("their sums over i", products.sum(0))


row_times_matrix = Task(
    **vars(ASKED["row_times_matrix"]),
    reference=lambda x, W: x @ W,
    make=make_row,
    stages=stages_of_row,
    least={"C": 2, "F": 2},
    probes=[
        Probe(0, {"C": 3, "F": 5}),
        Probe(1, {"C": 4, "F": 4}),
        Probe(2, {"C": 7, "F": 2}),
    ],
    mistakes=ROW.mistakes(),
    model=ROW,
)


def make_scores(
    draw: Draw, N: int, V: int, shift: float = 0.0, apart: float = 0.0
) -> dict:
    """Make scores whose rows lie `apart`."""
    rows = torch.arange(N)[:, None] * apart
    return {"scores": draw.normal(N, V, mean=0.5, scale=1.5) + shift + rows}


def sums_to_one(probabilities: Tensor, arguments: Arguments) -> str | None:
    total = probabilities.sum(-1)
    if torch.allclose(total, torch.ones_like(total), atol=1e-5):
        return None
    return "Each row of a softmax adds up to 1; yours do not."


def with_shift(program: Program, arguments: Arguments) -> list[Tensor]:
    scores = arguments["scores"]
    return [program(scores), program(scores + 3)]


def shift_free(seen: list[Tensor], arguments: Arguments) -> str | None:
    if torch.allclose(*seen, atol=1e-5):
        return None
    return "Adding 3 to all scores must not change a softmax; it changes yours."


WIDE = ((900.0, -400.0, -900.0, 2.0), (-900.0, -900.0, 2.0, 0.0))


def of_wide_rows(program: Program, arguments: Arguments) -> Tensor:
    """A softmax of rows whose scores lie far apart; no gradient is asked for."""
    return program(torch.tensor(WIDE).to(arguments["scores"]))


def no_overflow(seen: Tensor, arguments: Arguments) -> str | None:
    expected = torch.tensor(WIDE).to(seen).softmax(-1)
    if torch.allclose(seen, expected, atol=1e-5):
        return None
    if seen.isfinite().all() and seen.any(-1).all():
        return "In rows with scores as far apart as 900 and -900 it is no softmax."
    return (
        "In a row whose scores lie far apart, such as 900 and -900, exp becomes too "
        "large, or all of them become 0. What must be subtracted is each row's largest "
        "score: not its mean, its first or its smallest."
    )


def by_sum(powers: Tensor) -> Tensor:
    return powers / powers.sum(-1, keepdim=True)


def largest(scores: Tensor) -> Tensor:
    return scores.amax(-1, keepdim=True)


def softmax_with(
    scores: Tensor,
    *,
    sign: int = 1,
    subtract: Callable[[Tensor], Tensor | float] = largest,
    power: Callable[[Tensor], Tensor] = torch.exp,
    divide: Callable[[Tensor], Tensor] = by_sum,
) -> Tensor:
    """Softmax in pieces."""
    scores = sign * scores
    return divide(power(scores - subtract(scores)))


SOFTMAX = Model(
    softmax_with,
    subtract=Piece(
        "what is subtracted",
        overflow=(
            "exp is taken of the scores as they are: exp(1000) is too large for a "
            "float, and exp(-1000) is 0. Subtract each row's largest score first",
            lambda scores: 0,
        ),
        maximum_added=(
            "each row's largest score is added instead of subtracted, so that exp "
            "overflows even sooner",
            lambda scores: -largest(scores),
        ),
        one_maximum=(
            "the largest score of the whole tensor is subtracted, not each row's own: "
            "in a row far below it every exp is 0",
            lambda scores: scores.max(),
        ),
    ).rarely(
        maximum_of_column=(
            "the largest score of each column is subtracted, not that of each row",
            lambda scores: scores.amax(0),
        )
    ),
    together=Piece(
        "the sum",
        whole_tensor=(
            "the sum runs over the whole tensor instead of one row",
            {
                "subtract": lambda scores: scores.max(),
                "divide": lambda powers: powers / powers.sum(),
            },
        ),
        columns=(
            "the sum runs down each column (axis 0) instead of along each row",
            {
                "subtract": lambda scores: scores.amax(0),
                "divide": lambda powers: powers / powers.sum(0),
            },
        ),
        no_exp=(
            "the scores themselves are divided by their sum, without exp",
            {"subtract": lambda scores: 0, "power": lambda scores: scores},
        ),
    ),
    divide=Piece(
        "the division",
        no_division=("nothing is divided by the sum", lambda powers: powers),
        divided_by_count=(
            "exp is divided by the number of entries, not by their sum",
            lambda powers: powers / powers.shape[-1],
        ),
    ).rarely(
        divided_by_whole_sum=(
            "exp is divided by the sum over the whole tensor, not over one row",
            lambda powers: powers / powers.sum(),
        ),
        divided_by_column=(
            "exp is divided by the sum of its column (axis 0), not of its row",
            lambda powers: powers / powers.sum(0),
        ),
    ),
    power=Piece(
        "exp",
        powers_of_two=("powers of 2 are taken instead of powers of e", torch.exp2),
        hard_maximum=(
            "all the probability goes to the largest score",
            lambda scores: (scores == 0).to(scores),
        ),
    ),
    whole=Piece(
        "the softmax",
        logarithm=(
            "the logarithm of the softmax is returned",
            lambda scores: torch.log_softmax(scores, -1),
        ),
        sigmoid=("each score goes through a sigmoid on its own", torch.sigmoid),
        divided_by_other_sum=(
            "exp of the score less the row's largest is divided by a sum of exp of the "
            "scores themselves",
            lambda scores: (
                (scores - largest(scores)).exp() / scores.exp().sum(-1, keepdim=True)
            ),
        ),
        divided_by_sum_of_scores=(
            "exp is divided by the sum of the scores, not by the sum of their exp",
            lambda scores: scores.exp() / scores.sum(-1, keepdim=True),
        ),
    ),
    sign=Piece("the sign", minus=("the scores enter with a minus sign", -1)),
    result=Piece("the result").rarely(
        logarithm_taken=("the logarithm of the softmax is returned", torch.log),
        softmax_twice=("the softmax is applied twice", lambda y: y.softmax(-1)),
    ),
).written(
    subtract=(
        "{scores}.max(-1, keepdim=True).values",
        "{scores} - {scores}.max(-1, keepdim=True).values",
        "{row}.max()",
        "{scores}[{i}].max()",
        "{row} - {row}.max()",
    ),
    together=("{it}.exp()",),
    divide=(
        "{powers} / {powers}.sum(-1, keepdim=True)",
        "{powers}.sum(-1, keepdim=True)",
        "{powers} / {powers}.sum()",
        "{powers}.sum()",
    ),
    power=("{inner}.exp()",),
    whole=("{inner}.exp()",),
)


def stages_of_softmax(scores: Tensor) -> Iterator[Stage]:
    """The stages of a softmax."""
    largest = scores.amax(-1, keepdim=True)
    shifted = scores - largest
    yield stage("each row's largest score", largest)
    yield stage("the scores minus their row's largest", shifted)
    powers = shifted.exp()
    yield stage("their exp", powers)
    yield stage("the sums of these over the rows", powers.sum(-1, keepdim=True))
    yield stage("the softmax", parts.softmax(scores))


softmax = Task(
    **vars(ASKED["softmax"]),
    tolerance=2e-4,  # in float32, numbers near 1000 are 6e-5 apart
    reference=lambda scores: torch.softmax(scores, dim=-1),
    make=make_scores,
    stages=stages_of_softmax,
    probes=[
        Probe(0, {"N": 2, "V": 3}),
        Probe(1, {"N": 5, "V": 5}),
        Probe(2, {"N": 2, "V": 3, "shift": 1000.0}),
        Probe(3, {"N": 3, "V": 2, "shift": -1000.0}),
        Probe(4, {"N": 2, "V": 3, "shift": 400.0}),
        Probe(5, {"N": 2, "V": 3, "apart": 1000.0}),
    ],
    differentiable=["scores"],
    properties=[
        Property("sums to one", result_of, sums_to_one),
        Property("shift", with_shift, shift_free),
        Property("wide rows", of_wide_rows, no_overflow),
    ],
    mistakes=SOFTMAX.mistakes(),
    model=SOFTMAX,
)
