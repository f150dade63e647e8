"""What TrainStack trains, in PyTorch: the same points, weights, batches and steps."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils import vector_to_parameters

from mygpt.explorers.kit.numbers import mulberry32
from mygpt.feed_forward import MLP
from mygpt.norm import LayerNorm

WIDTH = 8
EXPANSION = 2
NEW_POINTS = 256
MAX_STEPS = 5000
TOO_LARGE = 1e9  # a loss above this is followed no further
NOISE = 0.03
BATCH = 64  # of the long task; a step of the short one reads all points
POINTS = {"short": 128, "long": 512}
WINDING = {"short": 2, "long": 3}  # radians for each unit of the radius, up to 3


class StackBlock(nn.Module):
    """A feed-forward network of 16 neurons, wired as the name says."""

    def __init__(self, wiring: str, activation: str):
        super().__init__()
        self.wiring = wiring
        if wiring.endswith("norm"):
            self.norm = LayerNorm(WIDTH)
        self.mlp = MLP(WIDTH, activation=activation, expansion=EXPANSION)

    def forward(self, x: Float[Tensor, "B C"]) -> Float[Tensor, "B C"]:
        if self.wiring == "plain":
            return self.mlp(x)
        if self.wiring == "residual":
            return x + self.mlp(x)
        if self.wiring == "pre-norm":
            return x + self.mlp(self.norm(x))
        return self.norm(x + self.mlp(x))


class Stack(nn.Module):
    """Blocks of width 8 between a layer that reads coordinates and one that answers.

    With pre-norm a last norm stands before the answer.
    """

    def __init__(self, depth: int, wiring: str, activation: str):
        super().__init__()
        self.first = nn.Linear(2, WIDTH)
        blocks = [StackBlock(wiring, activation) for _ in range(depth)]
        self.blocks = nn.ModuleList(blocks)
        if wiring == "pre-norm":
            self.norm = LayerNorm(WIDTH)
        self.last = nn.Linear(WIDTH, 2)

    def states(self, points: Float[Tensor, "B 2"]) -> list[Float[Tensor, "B C"]]:
        """What enters the first block, and what leaves each."""
        xs = [self.first(points)]
        for block in self.blocks:
            xs.append(block(xs[-1]))
        return xs

    def forward(self, points: Float[Tensor, "B 2"]) -> Float[Tensor, "B 2"]:
        x = self.states(points)[-1]
        return self.last(self.norm(x) if hasattr(self, "norm") else x)


@dataclass(frozen=True)
class StackTask:
    """Points of two spirals in float64, those to be learnt and new ones."""

    points: Float[Tensor, "N 2"]
    arm: Int[Tensor, "N"]
    new_points: Float[Tensor, "M 2"]
    new_arm: Int[Tensor, "M"]


def spirals(task: str, seed: int) -> StackTask:
    """Draw the points of "short" or "long", as the page draws them."""
    count = POINTS[task]
    draws = torch.tensor(
        mulberry32(seed + 1000, 3 * (count + NEW_POINTS)), dtype=torch.float64
    )
    u, v, w = draws.view(-1, 3).T
    radius, arm = 3 * u, torch.cat([torch.arange(count), torch.arange(NEW_POINTS)]) % 2
    angle = WINDING[task] * radius + math.pi * arm.double()  # not in float32
    far, way = NOISE * (-2 * (1 - v).log()).sqrt(), 2 * math.pi * w
    places = torch.stack([angle.cos(), angle.sin()], 1) * radius[:, None] / 1.5
    places += torch.stack([way.cos(), way.sin()], 1) * far[:, None]
    return StackTask(places[:count], arm[:count], places[count:], arm[count:])


def first_stack(setting: Mapping[str, Any]) -> Stack:
    """Build a stack with the first weights of the page, in float64."""
    stack = Stack(setting["depth"], setting["wiring"], setting["activation"]).double()
    size = sum(p.numel() for name, p in stack.named_parameters() if "norm" not in name)
    draws = 2 * torch.tensor(mulberry32(setting["seed"], size), dtype=torch.float64) - 1
    parts, at = [], 0
    for name, parameter in stack.named_parameters():
        if "norm" in name:
            parts.append(parameter.detach().flatten())
            continue
        layer = stack.get_submodule(name.rpartition(".")[0])
        times = setting["gain"] if "mlp" in name and name.endswith("weight") else 1.0
        part = draws[at : at + parameter.numel()]
        at += parameter.numel()
        parts.append(part * (1 / math.sqrt(layer.in_features)) * times)
    vector_to_parameters(torch.cat(parts), stack.parameters())
    return stack


def batches(task: str, seed: int, steps: int) -> Iterator[Int[Tensor, "B"]]:
    """Yield the places of the points that each step reads."""
    count = POINTS[task]
    if task == "short":
        for _ in range(steps):
            yield torch.arange(count)
        return
    draws = torch.tensor(mulberry32(seed + 2000, BATCH * steps), dtype=torch.float64)
    yield from (draws.view(steps, BATCH) * count).long()


@dataclass(frozen=True)
class StackCourse:
    """A training as far as it got; it ends early where the loss exceeds `TOO_LARGE`.

    `signal[0]` is the standard deviation of what enters the first block, the others of
    what leaves each; `gradient` has the length of the gradient of each `fc1.weight`.
    Both are those of the last batch. `right` is the share of the new points that the
    stack puts on their spiral.
    """

    stack: Stack
    losses: list[float]
    signal: list[float]
    gradient: list[float]
    right: float


def train_stack(task: str, setting: Mapping[str, Any], steps: int) -> StackCourse:
    """Take up to `steps` steps of Adam; there is one loss more than steps."""
    stack, points = first_stack(setting), spirals(task, setting["seed"])
    adam = torch.optim.Adam(stack.parameters(), lr=setting["rate"])
    losses: list[float] = []
    for rows in batches(task, setting["seed"], steps + 1):
        adam.zero_grad()
        x = points.points[rows]
        loss = F.cross_entropy(stack(x), points.arm[rows])
        loss.backward()
        losses.append(loss.item())
        if len(losses) > steps or not losses[-1] <= TOO_LARGE:
            break
        adam.step()
    with torch.no_grad():
        signal = [state.std().item() for state in stack.states(x)]
    grads = [block.mlp.fc1.weight.grad for block in stack.blocks]
    gradient = [grad.norm().item() for grad in grads]
    return StackCourse(stack, losses, signal, gradient, share_right(stack, points))


@torch.no_grad()
def plane(stack: Stack, reach: float, places: int) -> np.ndarray:
    """How surely the stack says the second spiral, from -1 to 1, at places of a square.

    The rows go up from y = -reach, the columns from x = -reach.
    """
    side = torch.linspace(-reach, reach, places, dtype=torch.float64)
    logits = stack(torch.cartesian_prod(side, side))
    lean = torch.tanh((logits[:, 1] - logits[:, 0]) / 2)
    return lean.reshape(places, places).T.numpy()


@torch.no_grad()
def share_right(stack: Stack, task: StackTask) -> float:
    """The share of the new points that the stack puts on their spiral."""
    answers = stack(task.new_points).argmax(-1)
    return (answers == task.new_arm).double().mean().item()
