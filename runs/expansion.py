"""Train networks of several expansions on one budget, and measure their errors.

    python -m runs.expansion [--seeds 0 1 2 …] [--out FILE]

Two MLPs between a linear layer in and a linear layer out learn a bent function of four
numbers, at seven shapes, two learning rates and twelve seeds. Three minutes.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from mygpt import MLP, set_seed
from mygpt.support.stored_runs import make_runs
from runs import of_every_run

SEEDS = tuple(range(12))
RATES = (0.02, 0.04)
BUDGETS = {  # what is held equal: the channels of each expansion
    "MLP": {1: 62, 2: 44, 4: 31, 8: 22},
    "block": {1: 44, 2: 38, 4: 31, 8: 24},
}
SHAPES = sorted({(C, e) for shapes in BUDGETS.values() for e, C in shapes.items()})
RTOL = 2e-2  # between processors


class Stack(nn.Module):
    """Two MLPs, each added to its input, between two linear layers."""

    def __init__(self, C: int, expansion: int):
        super().__init__()
        self.way_in, self.way_out = nn.Linear(4, C), nn.Linear(C, 1)
        self.mlps = nn.ModuleList(MLP(C, expansion=expansion) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.way_in(x)
        for mlp in self.mlps:
            x = x + mlp(x)
        return self.way_out(x)


def target(x: Tensor) -> Tensor:
    p, q, r, s = x.split(1, dim=-1)
    return torch.sin(2 * p + q) * (r - s)


def final_error(C: int, expansion: int, seed: int, rate: float, steps: int = 200):
    """The squared error on new inputs after training; 1 is a constant's."""
    set_seed(seed)
    net = Stack(C, expansion).double()
    adam = torch.optim.Adam(net.parameters(), lr=rate)
    shrink = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    for _ in range(steps):
        x = torch.rand(128, 4).double() * 2 - 1
        loss = (net(x) - target(x)).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        shrink.step()
    same_for_all = torch.Generator().manual_seed(99)
    x = torch.rand(4000, 4, generator=same_for_all).double() * 2 - 1
    with torch.no_grad():
        missed = (net(x) - target(x)).square().mean()
    return (missed / target(x).var()).item()


def run(seed: int, rate: float) -> dict:
    """The errors of one seed, at each expansion, for both ways of counting."""
    torch.set_num_threads(1)
    found = {(C, e): final_error(C, e, seed, rate) for C, e in SHAPES}
    errors = {
        name: {str(e): found[C, e] for e, C in shapes.items()}
        for name, shapes in BUDGETS.items()
    }
    return {"seed": seed, "rate": rate, "errors": errors}


@of_every_run
def claims(run: dict) -> dict:
    """What chapter 5 says of these runs, by groups of four seeds."""
    tables = [
        np.stack(list(run["errors"][b].values()), 1)[run["rate"] == rate]
        for rate in RATES
        for b in BUDGETS
    ]  # (seeds, 4) each
    groups = [table.reshape(-1, 4, 4).mean(1) for table in tables]
    orders = 2 ** np.argsort(groups, axis=-1)
    lowest, highest = orders[..., 0], orders[..., -1]  # (table, group)
    return {
        "no row names one three times": (lowest != lowest[:, :1]).any(1),
        "each is lowest somewhere": {*lowest.flat} == {1, 2, 4, 8},
        "4 is lowest in 3 of 12": (lowest == 4).sum() == 3,
        "8 is highest in 9 of 12": ((highest == 8).sum() == 9, highest.size == 12),
        "some hardly learn at 0.04": (
            np.max(tables[:2]) < 0.02,
            np.max(tables[2:]) > 0.5,
        ),
    }


def results(seeds) -> Iterator[tuple[list[dict], list[str]]]:
    for rate in RATES:
        for seed in seeds:
            one = run(seed, rate)
            yield [one], [f"seed {seed}, rate {rate}: {one['errors']}"]


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, results)
