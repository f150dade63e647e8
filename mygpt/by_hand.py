"""The feed-forward network in plain Python: lists of floats, standard library only.

A matrix is a list of rows. One token is one row, so a text of T tokens of width d is a
T x d matrix, and every function here treats its rows one by one.
"""

import math
import random
from dataclasses import dataclass

Matrix = list[list[float]]


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow for large negative x."""
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return math.exp(x) / (1 + math.exp(x))


def relu(x: float) -> float:
    """The larger of x and 0."""
    return max(0.0, x)


def gelu(x: float) -> float:
    """GELU in its tanh form, the one GPT-2 was trained with."""
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_exact(x: float) -> float:
    """GELU as defined: x times the share of a standard normal that lies below x."""
    return x * 0.5 * (1 + math.erf(x / math.sqrt(2)))


def gelu_matrix(x: Matrix) -> Matrix:
    """`gelu` on every entry."""
    return [[gelu(value) for value in row] for row in x]


def add_bias(x: Matrix, bias: list[float]) -> Matrix:
    """Add the same bias, one number for each column, to every row."""
    _check(
        all(len(row) == len(bias) for row in x), "a bias as wide as the rows", x, [bias]
    )
    return [[value + b for value, b in zip(row, bias, strict=True)] for row in x]


def matrix_multiply(a: Matrix, b: Matrix) -> Matrix:
    """The product of an (n x k) and a (k x m) matrix."""
    _check(
        all(len(row) == len(b) for row in a), "rows of a as long as b has rows", a, b
    )
    columns = list(zip(*b, strict=True))
    return [
        [sum(x * y for x, y in zip(row, col, strict=True)) for col in columns]
        for row in a
    ]


def random_matrix(
    rows: int, cols: int, rng: random.Random, scale: float | None = None
) -> Matrix:
    """Entries uniform on (-scale, scale), by default scale = √(2 / (rows + cols))."""
    if scale is None:
        scale = math.sqrt(2 / (rows + cols))
    return [[rng.uniform(-scale, scale) for _ in range(cols)] for _ in range(rows)]


@dataclass
class FeedForward:
    """The four parameters: w1 (d x 4d), b1 (4d), w2 (4d x d), b2 (d)."""

    w1: Matrix
    b1: list[float]
    w2: Matrix
    b2: list[float]


def make_feed_forward(d_model: int, rng: random.Random) -> FeedForward:
    """Random weights and zero biases; the hidden width is 4 d_model."""
    if d_model < 1:
        raise ValueError(f"d_model must be at least 1, got {d_model}")
    hidden = 4 * d_model
    w1 = random_matrix(d_model, hidden, rng)
    w2 = random_matrix(hidden, d_model, rng)
    return FeedForward(w1, [0.0] * hidden, w2, [0.0] * d_model)


def feed_forward(x: Matrix, params: FeedForward) -> Matrix:
    """FFN(x) = gelu(x W1 + b1) W2 + b2, row by row."""
    hidden = add_bias(matrix_multiply(x, params.w1), params.b1)
    return add_bias(matrix_multiply(gelu_matrix(hidden), params.w2), params.b2)


def demo(seed: int = 8) -> dict[str, tuple[int, int]]:
    """Send three random tokens of width 8 through a random network."""
    rng = random.Random(seed)
    x = random_matrix(3, 8, rng, scale=1.0)
    y = feed_forward(x, make_feed_forward(8, rng))
    return {"output_shape": (len(y), len(y[0]))}


def _check(ok: bool, expected: str, a: Matrix, b: Matrix) -> None:
    if not ok:
        widths = sorted({len(row) for row in a})
        raise ValueError(
            f"expected {expected}; got {len(a)} rows of length {widths} "
            f"and {len(b)} rows of length {sorted({len(row) for row in b})}"
        )
