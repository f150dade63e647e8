"""What the explorer of descent computes: losses, slopes and rules of steps."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mygpt.explorers.kit.numbers import mulberry32

MAX_STEPS = 2000
MAX_WIDTH = 32
TOO_LARGE = 1e9  # a loss above this is followed no further
RULES = ("plain", "momentum", "adam")
EXAMPLE = (2.0, 6.0)  # x and y
EXAMPLES = np.array([[1.0, 4.0], [2.0, 7.0]])
CURVE_X = np.linspace(-2, 2, 32)
CURVE_Y = np.sin(2 * CURVE_X)

# Loss and slopes of some weights.
Problem = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass
class Course:
    """A descent as far as it got: its weights now, and at each step, with their losses.

    It ends early where the loss exceeds `TOO_LARGE`.
    """

    weights: np.ndarray
    losses: list[float] = field(default_factory=list)
    trail: list[np.ndarray] = field(default_factory=list)


def descend(problem: Problem, start, rule: str, rate: float, steps: int) -> Course:
    """Take up to `steps` steps, as PyTorch's SGD (momentum 0.9) and Adam take them."""
    now = Course(np.array(start, dtype=np.float64))
    mean, square = np.zeros_like(now.weights), np.zeros_like(now.weights)
    for step in range(1, steps + 2):
        loss, slope = problem(now.weights)
        now.losses.append(loss)
        now.trail.append(now.weights)
        if step > steps or not loss <= TOO_LARGE:
            return now
        move = slope
        if rule == "momentum":
            move = mean = 0.9 * mean + slope
        if rule == "adam":
            mean = 0.9 * mean + 0.1 * slope
            square = 0.999 * square + 0.001 * slope**2
            root = np.sqrt(square / (1 - 0.999**step)) + 1e-8
            move = mean / (1 - 0.9**step) / root
        now.weights = now.weights - rate * move
    return now


def one_weight(weights: np.ndarray) -> tuple[float, np.ndarray]:
    """The squared error of w · x for one example."""
    x, y = EXAMPLE
    error = weights[0] * x - y
    return float(error**2), np.array([2 * error * x])


def two_weights(weights: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean squared error of the line w₁ · x + w₂ for two examples."""
    x, y = EXAMPLES.T
    error = weights[0] * x + weights[1] - y
    slope = np.array([(2 * error * x).mean(), (2 * error).mean()])
    return float((error**2).mean()), slope


def _normal(z: np.ndarray) -> np.ndarray:
    """The normal distribution function."""
    return np.array([0.5 * (1 + math.erf(one / math.sqrt(2))) for one in z.flat])


def _gelu(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    below = _normal(z).reshape(z.shape)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return z * below, below + z * density


def _tanh(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    value = np.tanh(z)
    return value, 1 - value**2


# Value and slope of each.
NEURONS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "none": lambda z: (z, np.ones_like(z)),
    "relu": lambda z: (np.maximum(z, 0), (z > 0).astype(float)),
    "tanh": _tanh,
    "gelu": _gelu,
}


def initial_weights(width: int, seed: int) -> np.ndarray:
    """Random weights, as `nn.Linear` has them: into the neurons, biases, out, bias."""
    signed = 2 * np.array(mulberry32(seed, 3 * width + 1)) - 1
    signed[2 * width :] *= 1 / math.sqrt(width)
    return signed


def outputs(weights: np.ndarray, activation: str, x: np.ndarray) -> np.ndarray:
    """What the network makes of the inputs."""
    into, bias, out, last = _split(weights)
    return NEURONS[activation](np.outer(x, into) + bias)[0] @ out + last


def network(activation: str) -> Problem:
    """The mean squared error of a network on the curve."""

    def problem(weights: np.ndarray) -> tuple[float, np.ndarray]:
        into, bias, out, last = _split(weights)
        value, slope = NEURONS[activation](np.outer(CURVE_X, into) + bias)
        error = value @ out + last - CURVE_Y
        share = 2 * error / len(CURVE_X)
        inner = np.outer(share, out) * slope
        parts = (CURVE_X @ inner, inner.sum(0), share @ value, [share.sum()])
        return float((error**2).mean()), np.concatenate(parts)

    return problem


def _split(weights: np.ndarray):
    width = len(weights) // 3
    return (*weights[: 3 * width].reshape(3, width), weights[-1])
