"""Train small networks with ReLU, GELU and SiLU, for the comparison of chapter 6.

    python -m runs.activation [--seeds 0 1 2 3 4 5] [--out FILE]

Sixteen networks for each seed, from PyTorch's starting weights and from weights scaled
for each activation; one case also with ReLU's corners spread over the inputs, and with
128 neurons. Two or three minutes of one core.
"""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import torch
import torch.nn.functional as F

from mygpt import MLP, set_seed
from mygpt.support.stored_runs import make_runs
from runs import of_every_run

SEEDS = (0, 1, 2, 3, 4, 5)
RTOL = 0.05  # of a network's error, on another CPU
ACTS = {"ReLU": F.relu, "GELU": F.gelu, "SiLU": F.silu}
TARGETS = {
    "smooth": lambda x: torch.sin(2 * x),
    "corners": lambda x: torch.asin(torch.sin(2 * x)) * 2 / math.pi,
}
CASES = list(product(TARGETS, (0.03, 0.1), (300, 1000)))
TURNED = ("corners", 0.03, 1000)  # the case of the two other starts
POINTS = torch.linspace(-3, 3, 61, dtype=torch.float64)[:, None]


def starts(seed: int, count: int = 16, width: int = 32) -> list[torch.Tensor]:
    """The parameters of networks with one channel and `width` neurons, stacked."""
    set_seed(seed)
    torch.set_default_dtype(torch.float64)
    networks = [MLP(1, expansion=width) for _ in range(count)]
    torch.set_default_dtype(torch.float32)
    groups = zip(*(network.parameters() for network in networks), strict=True)
    return [torch.stack(group).detach() for group in groups]


def gain(act) -> float:
    """1 / the root of the mean of act(z)², for z from the standard normal."""
    z = torch.linspace(-12, 12, 24001, dtype=torch.float64)
    density = torch.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return 1 / math.sqrt(torch.trapezoid(act(z) ** 2 * density, z).item())


def scaled(start: list[torch.Tensor], act) -> list[torch.Tensor]:
    """PyTorch's weights have a third of the wanted variance: scale both matrices."""
    w1, b1, w2, b2 = start
    return [math.sqrt(3) * w1, b1, math.sqrt(3) * gain(act) * w2, b2]


def spread(start: list[torch.Tensor], act) -> list[torch.Tensor]:
    """Scaled, with the corners of ReLU in equal steps from -3 to 3."""
    w1, b1, w2, b2 = scaled(start, act)
    corners = torch.linspace(-3, 3, b1.shape[1], dtype=torch.float64)
    return [w1, -w1[..., 0] * corners, w2, b2]


def errors(start, act, target, rate: float, steps: int) -> torch.Tensor:
    """Train every network; the error of each between the points of the training."""
    parameters = w1, b1, w2, b2 = [p.clone().requires_grad_() for p in start]
    adam = torch.optim.Adam(parameters)

    def squares(x):
        hidden = act(x @ w1.mT + b1[:, None])  # (network, point, neuron)
        out = hidden @ w2.mT + b2[:, None]
        return (out - target(x)).square().mean(dim=(1, 2))

    for step in range(steps):
        adam.param_groups[0]["lr"] = rate * (1 - step / steps)
        adam.zero_grad()
        squares(POINTS).sum().backward()
        adam.step()
    return squares((POINTS[:-1] + POINTS[1:]) / 2).detach().sqrt()


def run(seeds: tuple[int, ...] = SEEDS) -> list[dict]:
    """The errors of all networks, trained at once: a dictionary for each seed."""

    def drawn(width):
        each = [starts(seed, width=width) for seed in seeds]
        return [torch.cat(group) for group in zip(*each, strict=True)]

    narrow, wide = drawn(32), drawn(128)
    begin = {
        "pytorch": lambda act: narrow,
        "own": lambda act: scaled(narrow, act),
        "spread": lambda act: spread(narrow, act),
        "wide": lambda act: wide,
    }
    runs = [{"seed": seed} | {init: {} for init in begin} for seed in seeds]
    for init, (task, rate, steps), name in product(begin, CASES, ACTS):
        if init != "pytorch" and name == "SiLU":
            continue
        if init in ("spread", "wide") and (task, rate, steps) != TURNED:
            continue
        start = begin[init](ACTS[name])
        ended = errors(start, ACTS[name], TARGETS[task], rate, steps)
        case = f"{task} {rate} {steps}"
        for one, part in zip(runs, ended.view(len(seeds), -1), strict=True):
            one[init].setdefault(case, {})[name] = part.tolist()
    return runs


def clear(d: np.ndarray) -> float:
    """A mean difference in standard errors."""
    return d.mean() / d.std(ddof=1) * math.sqrt(d.size)


@of_every_run
def claims(run: dict) -> dict:
    """Each sentence that the chapter says of the stored runs."""
    plain, own = run["pytorch"], run["own"]

    def gaps(init: str) -> np.ndarray:
        """How clearly GELU's errors differ from ReLU's, in each case."""
        pairs = run[init].values()
        return np.array([clear(pair["GELU"] - pair["ReLU"]) for pair in pairs])

    half = len(run["seed"]) // 2
    relus = [case["ReLU"] for case in plain.values()]
    medians = [np.median(case["GELU"]) for case in plain.values()]
    ahead = np.array(medians) - [np.median(relu) for relu in relus]
    last = list(own)[-1]
    relu, gelu, silu = (plain[last][act] for act in ACTS)
    others = np.hstack([gelu, silu])
    return {
        "GELU is lower in the first seven cases": gaps("pytorch")[:-1] < -2,
        "by nine standard errors where it is smooth": gaps("pytorch")[:4] < -9,
        "the last case is undecided": abs(gaps("pytorch")[-1]) < 2,
        "the null finds nothing": [
            abs(clear(one[:half] - one[half : 2 * half])) < 2 for one in relus
        ],
        "with its own gain GELU is lower in all cases": gaps("own") < -2,
        "and ReLU's lead in the last median is gone": np.median(own[last]["ReLU"])
        > 0.8 * np.median(own[last]["GELU"]),
        "ReLU's median is lower in the last case alone": (
            ahead[:-1] <= 0,
            ahead[-1] > 0,
        ),
        "ReLU is lower with its corners spread": gaps("spread") > 2,
        "and with 128 neurons": gaps("wide") > 2,
        "each seed's best network has ReLU": relu.min(1) < others.min(1),
        "each seed's worst network has ReLU": relu.max(1) > others.max(1),
        "ReLU's median is far below GELU's": np.median(relu) < 0.1 * np.median(gelu),
        "each seed has stuck ReLU networks": relu.max(1) > 0.1,
        "no other network is stuck": others < 0.1,
    }


def results(seeds) -> Iterator[tuple[list[dict], list[str]]]:
    torch.set_num_threads(1)
    runs = run(seeds)
    yield runs, [f"{claim}: {held}" for claim, held in claims(runs).items()]


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, results)
