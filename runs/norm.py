"""Train with a norm and without, and with the wrong one: what chapter 8 says of it.

    python -m runs.norm [--seeds 0 1 2 3 4] [--out FILE]

For each seed seventeen trainings of thirty layers, and six on tosses of a coin.
Four minutes on one core.
"""

import math
from statistics import mean

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mygpt import MLP, LayerNorm, set_seed
from mygpt.support.stored_runs import each_seed, make_runs
from runs import between, of_every_run

SEEDS = (0, 1, 2, 3, 4)
RATES = (0.03, 0.1, 0.3, 0.5, 1.0, 2.0)
LONG = {"without": 0.03, "with": 0.3}  # these also at 800 steps
HALVES = (("in layers only", 0.1), ("in layers only", 0.5), ("last only", 0.5))
TOSSES = {  # the axes of the mean, tosses that the model reads, steps
    "channels, 2 tosses": (-1, 2, 300),
    "channels, 4 tosses": (-1, 4, 300),
    "both, 2 tosses": ((-2, -1), 2, 300),
    "both, 4 tosses": ((-2, -1), 4, 300),
    "both, 16 tosses": ((-2, -1), 16, 300),
    "both, 16 tosses, longer": ((-2, -1), 16, 3000),
}
RTOL = 0.3  # on another CPU; with the norm at a rate of 1 even more
NORMS = {  # in the layers, before the last
    "without": (nn.Identity, nn.Identity),
    "with": (LayerNorm, LayerNorm),
    "in layers only": (LayerNorm, nn.Identity),
    "last only": (nn.Identity, LayerNorm),
}


class Layer(nn.Module):
    def __init__(self, norm: type):
        super().__init__()
        self.norm, self.mlp = norm(16), MLP(16)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.mlp(self.norm(x))


def batch(n: int) -> tuple[Tensor, Tensor]:
    """Rows, and which of the first four numbers is farthest from zero."""
    x = torch.randn(n, 16)
    return x, x[:, :4].abs().argmax(-1)


def train(name: str, rate: float, seed: int, steps: int = 200) -> nn.Sequential:
    """The trained network; once the loss is NaN, so are the weights."""
    set_seed(seed)
    norm, last = NORMS[name]
    layers = [Layer(norm) for _ in range(30)]
    net = nn.Sequential(*layers, last(16), nn.Linear(16, 4))
    sgd = torch.optim.SGD(net.parameters(), lr=rate)
    broken = False
    for _ in range(steps):
        x, answers = batch(32)
        if not broken:
            loss = F.cross_entropy(net(x), answers)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            broken = loss.isnan().item()
    return net


def stream(net: nn.Sequential) -> dict:
    """The standard deviation behind the thirty layers, on new rows."""
    with torch.no_grad():
        return {"stream": known(net[:30](batch(2000)[0]).std().item())}


def result(net: nn.Sequential) -> dict:
    """Loss and share of right answers on new rows."""
    x, answers = batch(2000)
    with torch.no_grad():
        logits = net(x)
    loss = F.cross_entropy(logits, answers).item()
    right = (logits.argmax(-1) == answers).float().mean().item()
    return {"loss": known(loss), "right": right}


def known(number: float) -> float | None:
    """The number, or None for one that JSON cannot hold."""
    return number if math.isfinite(number) else None


class Tosses(nn.Module):
    """Three layers that read tosses of a coin, with the norm's mean over some axes."""

    def __init__(self, T: int, axes: int | tuple[int, ...]):
        super().__init__()
        self.axes, self.embedding = axes, nn.Embedding(2, 16)
        self.positions = nn.Parameter(0.1 * torch.randn(T, 16))
        self.mlps = nn.ModuleList(MLP(16) for _ in range(3))
        self.head = nn.Linear(16, 2)

    def norm(self, x: Tensor) -> Tensor:
        mean = x.mean(self.axes, keepdim=True)
        variance = x.var(self.axes, keepdim=True, correction=0)
        return (x - mean) / (variance + 1e-5).sqrt()

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids) + self.positions[: ids.shape[1]]
        for mlp in self.mlps:
            x = x + mlp(self.norm(x))
        return self.head(self.norm(x))


def toss(
    axes: int | tuple[int, ...], T: int, steps: int, seed: int
) -> tuple[float, float]:
    """Loss on whole texts, and where each toss is predicted from those before it."""
    set_seed(seed)
    net = Tosses(T, axes)
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(steps):
        if step == 2000:
            adam.param_groups[0]["lr"] = 0.002
        tosses = torch.randint(2, (64, T + 1))
        adam.zero_grad()
        F.cross_entropy(net(tosses[:, :-1]).mT, tosses[:, 1:]).backward()
        adam.step()
    tosses = torch.randint(2, (4000, T + 1))
    whole = F.cross_entropy(net(tosses[:, :-1]).mT, tosses[:, 1:]).item()
    begun = [net(tosses[:, :t])[:, -1] for t in range(1, T + 1)]
    pairs = enumerate(begun, start=1)
    return whole, mean(F.cross_entropy(y, tosses[:, t]).item() for t, y in pairs)


def run(seed: int) -> dict:
    """Everything that one seed gives; a number that is not finite becomes None."""
    torch.set_num_threads(1)
    found = {"seed": seed}
    for name in ("without", "with"):
        for rate in RATES:
            found[f"{name}, {rate:g}"] = result(train(name, rate, seed))
        for steps in (0, 1, 2, 3):
            found[f"{name}, {steps} steps"] = stream(train(name, 0.5, seed, steps))
        found[f"{name}, 800 steps"] = result(train(name, LONG[name], seed, 800))
    for name, rate in HALVES:
        found[f"{name}, {rate}"] = result(train(name, rate, seed))
    for name, (axes, T, steps) in TOSSES.items():
        whole, begun = toss(axes, T, steps, seed)
        found[name] = {"whole": whole, "begun": begun}
    return found


@of_every_run
def claims(run: dict) -> dict:
    """Each sentence that the chapter says of the stored runs."""
    guess = math.log(2)

    def breaks(name: str) -> np.ndarray:
        return np.isnan(run[name]["loss"])

    def learns(name: str, share: float = 0.5) -> tuple:
        return ~breaks(name), run[name]["right"] > share

    def above(one: str, other: str, key: str = "right") -> np.ndarray:
        return run[one][key] > run[other][key]

    def near(name: str) -> list:
        return [between(-0.01, x - guess, 0.03) for x in run[name].values()]

    four, sixteen, longer = (
        run[f"both, {tosses}"]
        for tosses in ("4 tosses", "16 tosses", "16 tosses, longer")
    )
    return {
        "NaN without": [breaks(f"without, {rate}") for rate in (0.3, 0.5, 1, 2)],
        "at least half with": [learns(f"with, {rate}") for rate in (0.1, 0.3, 0.5)],
        "no NaN with a norm at 1, but little": (
            ~breaks("with, 1"),
            run["with, 1"]["right"] < 0.55,
        ),
        "NaN with a norm at 2": breaks("with, 2"),
        "three steps suffice": np.isnan(run["without, 3 steps"]["stream"]),
        "each step more than the one before": [
            above(f"without, {n} steps", f"without, {n - 1} steps", "stream")
            for n in (1, 2)
        ],
        "with the norm the stream stays small": run["with, 3 steps"]["stream"] < 4,
        "both learn at 0.1": learns("without, 0.1"),
        "small steps suit the network without": above("without, 0.03", "with, 0.03"),
        "at 800 steps the network without is ahead": above(
            "without, 800 steps", "with, 800 steps"
        ),
        "in the layers alone it breaks at 0.5": breaks("in layers only, 0.5"),
        "but not at 0.1": learns("in layers only, 0.1"),
        "before the last alone it does not, and learns less": (
            ~breaks("last only, 0.5"),
            above("with, 0.5", "last only, 0.5"),
        ),
        "nobody can know a toss": [near(f"channels, {n} tosses") for n in (2, 4)],
        "all but the last of four": four["whole"] < 0.3 * guess,
        "worse than a guess": four["begun"] > 1.5 * guess,
        "a little of sixteen": between(0.8, sixteen["whole"] / guess, 0.99),
        "more of it with time": longer["whole"] < 0.8 * guess,
        "worse there too": [x["begun"] > 1.02 * guess for x in (sixteen, longer)],
    }


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, each_seed(run, "with, 0.5"))
