"""A row times a matrix, and softmax."""

import torch
from torch import Tensor

from mygpt.check.locate import parts
from mygpt.check.locate.stage import also, stage
from mygpt.check.reference import Reference, constant, last, same
from mygpt.check.task import Draw, Property, equal_results, probes, sums_to_one


def row_with(
    x: Tensor,
    W: Tensor,
    *,
    multiply=lambda x, W: x[:, None] * W,
    add_up=lambda products: products.sum(0),
) -> Tensor:
    """A row times a matrix in pieces."""
    return add_up(multiply(x, W))


ROW = Reference(
    row_with,
    """
    [multiply] the products = {x}[:, None] * {W} | {x}[{i}] * {W}[{i}, {j}]
    no-weights: the matrix is added up as it is, without x: entry j sums W[i, j]
    added: x[i] and W[i, j] are added where they should be multiplied
    [add_up] the sum = {it}.sum(0) | {inner}.sum(0)
    no-sum: the products x[i] * W[i, j] are not added up
    sum-over-columns: the products are added up over the columns of W instead of its
        rows
    last-entry-missing: the sum stops before the last entry of x
    first-entry-missing: the sum starts at entry 1 of x, not at entry 0
    mean-for-sum: the products are averaged instead of added
    last-row-alone: the sum starts anew in each row: only the last row's products are
        left
    first-row-alone: only the first row's products are there: the function returns too
        early
    whole-sum: the products are added up over the whole matrix, which gives one number
    [whole] the matrix = {x} @ {W}[:, {j}] | {x} * {W}[:, {j}]
    columns-for-rows: W is used transposed: entry j sums x[i] * W[j, i]
    [result] the result
    keeps-an-axis: the result stays a matrix, (1, F)
    """,
    no_weights=last,
    added=lambda x, W: x[:, None] + W,
    no_sum=same,
    sum_over_columns=lambda products: products.sum(1),
    last_entry_missing=lambda products: products[:-1].sum(0),
    first_entry_missing=lambda products: products[1:].sum(0),
    mean_for_sum=lambda products: products.mean(0),
    last_row_alone=lambda products: products[-1],
    first_row_alone=lambda products: products[0],
    whole_sum=torch.sum,
    columns_for_rows=lambda x, W: W @ x,
    keeps_an_axis=lambda row: row[None],
)


def stages_of_row(x, W):
    """The stages of a row times a matrix."""
    products = x[:, None] * W
    also(lambda: products.cumsum(0))
    yield stage("the products x[i] * W[i, j]", products)
    yield stage("their sums over i", products.sum(0))


row_times_matrix = ROW.task(
    "row_times_matrix",
    reference=lambda x, W: x @ W,
    make=lambda draw, C, F: {"x": draw.normal(C, mean=0.5), "W": draw.normal(C, F)},
    stages=stages_of_row,
    least={"C": 2, "F": 2},
    probes=probes("C F", "3 5 | 4 4 | 7 2"),
)


def make_scores(draw: Draw, N: int, V: int, shift=0.0, apart=0.0) -> dict:
    """Make scores whose rows lie `apart`."""
    rows = torch.arange(N)[:, None] * apart
    return {"scores": draw.normal(N, V, mean=0.5, scale=1.5) + shift + rows}


def with_shift(program, arguments):
    """The softmax of scores, and of all of them plus 3."""
    scores = arguments["scores"]
    return [program(scores), program(scores + 3)]


WIDE = ((900.0, -400.0, -900.0, 2.0), (-900.0, -900.0, 2.0, 0.0))


def of_wide_rows(program, arguments):
    """A softmax of rows whose scores lie far apart; no gradient is asked for."""
    return program(torch.tensor(WIDE).to(arguments["scores"]))


def no_overflow(seen, arguments):
    """Whether rows whose scores lie far apart have a softmax."""
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


def largest(scores: Tensor) -> Tensor:
    """Each row's largest score."""
    return scores.amax(-1, keepdim=True)


def softmax_with(
    scores: Tensor,
    *,
    sign=1,
    subtract=largest,
    power=torch.exp,
    divide=lambda powers: powers / powers.sum(-1, keepdim=True),
) -> Tensor:
    """Softmax in pieces."""
    scores = sign * scores
    return divide(power(scores - subtract(scores)))


SOFTMAX = Reference(
    softmax_with,
    """
    [subtract] what is subtracted = {scores}.max(-1, keepdim=True).values
        | {scores} - {scores}.max(-1, keepdim=True).values | {row}.max()
        | {scores}[{i}].max() | {row} - {row}.max()
    overflow = 0: exp is taken of the scores as they are: exp(1000) is too large for a
        float, and exp(-1000) is 0. Subtract each row's largest score first
    maximum-added: each row's largest score is added instead of subtracted, so that exp
        overflows even sooner
    one-maximum: the largest score of the whole tensor is subtracted, not each row's
        own: in a row far below it every exp is 0
    ~ maximum-of-column: the largest score of each column is subtracted, not that of
        each row
    [divide] the division = {powers} / {powers}.sum(-1, keepdim=True)
        | {powers}.sum(-1, keepdim=True) | {powers} / {powers}.sum() | {powers}.sum()
    no-division: nothing is divided by the sum
    divided-by-count: exp is divided by the number of entries, not by their sum
    ~ divided-by-whole-sum: exp is divided by the sum over the whole tensor, not over
        one row
    ~ divided-by-column: exp is divided by the sum of its column (axis 0), not of its
        row
    [power] exp = {inner}.exp()
    powers-of-two: powers of 2 are taken instead of powers of e
    hard-maximum: all the probability goes to the largest score
    [whole] the softmax = {inner}.exp()
    logarithm: the logarithm of the softmax is returned
    sigmoid: each score goes through a sigmoid on its own
    divided-by-other-sum: exp of the score less the row's largest is divided by a sum of
        exp of the scores themselves
    divided-by-sum-of-scores: exp is divided by the sum of the scores, not by the sum of
        their exp
    [sign] the sign
    minus = -1: the scores enter with a minus sign
    [result] the result
    ~ logarithm-taken: the logarithm of the softmax is returned
    ~ softmax-twice: the softmax is applied twice
    [together] the sum = {it}.exp()
    whole-tensor = one-maximum + divided-by-whole-sum: the sum runs over the whole
        tensor instead of one row
    columns = maximum-of-column + divided-by-column: the sum runs down each column (axis
        0) instead of along each row
    no-exp: the scores themselves are divided by their sum, without exp
    """,
    maximum_added=lambda scores: -largest(scores),
    one_maximum=lambda scores: scores.max(),
    maximum_of_column=lambda scores: scores.amax(0),
    no_division=same,
    divided_by_count=lambda powers: powers / powers.shape[-1],
    divided_by_whole_sum=lambda powers: powers / powers.sum(),
    divided_by_column=lambda powers: powers / powers.sum(0),
    powers_of_two=torch.exp2,
    hard_maximum=lambda scores: (scores == 0).to(scores),
    logarithm=lambda scores: torch.log_softmax(scores, -1),
    sigmoid=torch.sigmoid,
    divided_by_other_sum=lambda scores: (
        (scores - largest(scores)).exp() / scores.exp().sum(-1, keepdim=True)
    ),
    divided_by_sum_of_scores=lambda scores: scores.exp() / scores.sum(-1, keepdim=True),
    logarithm_taken=torch.log,
    softmax_twice=lambda y: y.softmax(-1),
    no_exp={"subtract": constant(0), "power": same},
)


def stages_of_softmax(scores):
    """The stages of a softmax."""
    largest = scores.amax(-1, keepdim=True)
    shifted = scores - largest
    yield stage("each row's largest score", largest)
    yield stage("the scores minus their row's largest", shifted)
    powers = shifted.exp()
    yield stage("their exp", powers)
    yield stage("the sums of these over the rows", powers.sum(-1, keepdim=True))
    yield stage("the softmax", parts.softmax(scores))


softmax = SOFTMAX.task(
    "softmax",
    tolerance=2e-4,  # in float32, numbers near 1000 are 6e-5 apart
    reference=lambda scores: torch.softmax(scores, dim=-1),
    make=make_scores,
    stages=stages_of_softmax,
    probes=probes(
        "N V shift apart",
        "2 3 | 5 5 | 2 3 1000.0 | 3 2 -1000.0 | 2 3 400.0 | 2 3 _ 1000.0",
    ),
    properties=[
        sums_to_one("sums to one", "Each row of a softmax adds up to 1; yours do not."),
        equal_results(
            "shift",
            with_shift,
            "Adding 3 to all scores must not change a softmax; it changes yours.",
        ),
        Property("wide rows", of_wide_rows, no_overflow),
    ],
)
