"""A GPT's first loss and what it leads to: what chapter 12 says of it.

    python -m runs.gpt [--seeds 0 1 2 3 4] [--out FILE]

For each seed the first loss of GPT-2 small's shape, sixteen trainings of a small model
on the stories, and two of a deep one. Twelve minutes on one core.
"""

import math
from collections.abc import Iterator
from statistics import mean

import numpy as np
import torch
from torch import Tensor, nn

from mygpt import load_corpus, set_seed
from mygpt.bare import GPT, LayerNorm, cross_entropy, initialise
from mygpt.support.stored_runs import make_runs
from runs import between, numbered, of_every_run

SEEDS = (0, 1, 2, 3, 4)
RATES = (0.003, 0.01)
STARTS = {  # std of the tokens' table, of the places', and of a head of its own
    "tied": (0.02, 0.02, None),
    "tied, std 1": (1, 1, None),
    "tied, std 1, divided": (1, 1, None),  # the logits, by √C
    "tied, places std 1": (0.02, 1, None),
    "untied": (0.02, 0.02, 0.02),
    "untied, head std 1": (0.02, 0.02, 1),
    "untied, std 1": (1, 1, 0.02),
    "untied, PyTorch's": (1, 1, "PyTorch's"),
}
STEPS, T = 300, 32
RTOL = None  # some runs leave a plateau early, some late: only the claims come again


class Untied(GPT):
    """The same model with a head of its own, of that spread or as PyTorch starts it."""

    def __init__(self, V: int, C: int, H: int, L: int, max_T: int, head: float | str):
        super().__init__(V, C, H, L, max_T)
        self.head = nn.Linear(C, V, bias=head == "PyTorch's")
        if head != "PyTorch's":
            nn.init.normal_(self.head.weight, std=head)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.ln_f(self.blocks(self.embedding(ids))))


class Divided(GPT):
    """The same model, its logits divided by √C."""

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids) / self.embedding.tokens.shape[1] ** 0.5


def make(name: str, V: int) -> GPT:
    """A small model from one of STARTS."""
    tokens, places, head = STARTS[name]
    shape = (V, 64, 4, 2, T)
    kind = Divided if name.endswith("divided") else GPT
    model = kind(*shape) if head is None else Untied(*shape, head)
    for table, std in (
        (model.embedding.tokens, tokens),
        (model.embedding.positions, places),
    ):
        if std != 0.02:
            nn.init.normal_(table, std=std)
    return model


def train(model: GPT, ids: Tensor, rate: float, steps: int, texts: int = 16) -> dict:
    """The first loss, and means of twenty losses each, with Adam at one rate."""
    adam, losses = torch.optim.Adam(model.parameters(), lr=rate), []
    for _ in range(steps):
        starts = torch.randint(len(ids) - T, (texts, 1))
        rows = ids[starts + torch.arange(T + 1)]
        logits = model(rows[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return {
        "first": losses[0],
        "curve": [mean(losses[i : i + 20]) for i in range(0, steps, 20)],
    }


def small_gpt2(seed: int) -> dict:
    """What the logits of GPT-2 small's shape are before training, on random ids."""
    set_seed(seed)
    V, C = 50257, 768
    with torch.device("meta"):
        model = GPT(V, C, 12, 12, 1024)
    model = model.to_empty(device="cpu")
    for module in model.modules():
        if isinstance(module, LayerNorm):
            nn.init.ones_(module.weight)
    initialise(model)
    ids = torch.randint(V, (65,))
    with torch.no_grad():
        logits = model(ids[None, :-1])[0]  # (64, V)
    rows = torch.arange(64)
    return {
        "std": logits.std().item(),
        "level": logits.logsumexp(-1).mean().item() - math.log(V),
        "own": logits[rows, ids[:-1]].mean().item(),
        "loss of 16": cross_entropy(logits[:16], ids[1:17]).item() - math.log(V),
        "loss of 64": cross_entropy(logits, ids[1:]).item() - math.log(V),
    }


def run(seed: int) -> dict:
    """Everything that one seed gives."""
    torch.set_num_threads(1)
    characters, ids = numbered(load_corpus("stories"))
    V = len(characters)
    found = {"seed": seed, "GPT-2 small": small_gpt2(seed), "starts": {}, "deep": {}}
    for name in STARTS:
        for rate in RATES:
            set_seed(seed)
            model = make(name, V)
            set_seed(seed)  # the same texts for all
            found["starts"][f"{name}, {rate}"] = train(model, ids, rate, STEPS)
    for name in ("scaled", "unscaled"):
        set_seed(seed)
        model = GPT(V, 32, 4, 12, T)
        if name == "unscaled":
            with torch.no_grad():
                for block in model.blocks:
                    block.heads.W_O.weight *= 24**0.5
                    block.mlp.fc2.weight *= 24**0.5
        set_seed(seed)
        found["deep"][name] = train(model, ids, 0.003, STEPS, texts=8)
    return found


@of_every_run
def claims(run: dict) -> dict:
    """Each sentence that the chapter says of the stored runs."""
    small, starts = run["GPT-2 small"], run["starts"]
    scaled, unscaled = (run["deep"][n]["curve"][:, -1] for n in ("scaled", "unscaled"))

    def first(name: str) -> np.ndarray:
        return starts[f"{name}, 0.003"]["first"]

    def last(name: str, rate: float) -> np.ndarray:
        return starts[f"{name}, {rate}"]["curve"][:, -1]

    def better(name: str) -> np.ndarray:
        return np.minimum(*(last(name, rate) for rate in RATES))

    return {
        "the level is C·0.02²/2": abs(small["level"] - 0.1536) < 0.01,
        "the loss scatters around it": (
            abs(small["loss of 16"] - small["level"]) < 0.6,
            abs(small["loss of 64"] - small["level"]) < 0.3,
        ),
        "its own token scores a little more": between(0.5, small["own"], 2),
        "wide and tied: a first loss near C/√2": between(30, first("tied, std 1"), 55),
        "a wide head, untied: a first loss of half of it": between(
            15, first("untied, head std 1"), 22
        ),
        "wide places do not show in the first loss": abs(
            first("tied, places std 1") - 4.025
        )
        < 0.1,
        "the first steps go into unlearning": [
            starts[f"tied, std 1, {rate}"]["curve"][:, 0]
            > 2 * starts[f"{other}, {rate}"]["curve"][:, 0]
            for rate in RATES
            for other in ("tied", "untied, PyTorch's")
        ],
        "wide and tied is behind, each at its better rate": better("tied, std 1")
        > better("tied"),
        "with divided logits it ends lowest": better("tied, std 1, divided")
        < better("tied"),
        "wide places stay with the letters' frequencies": between(
            2.9, better("tied, places std 1"), 3.05
        ),
        "a wide head, untied, ends behind a head of 0.02": [
            last("untied, head std 1", rate) > last("untied", rate) for rate in RATES
        ],
        "wide input tables end lower at the high rate": [
            last(wide, 0.01) < last(small, 0.01) - 0.4
            for wide in ("untied, std 1", "untied, PyTorch's")
            for small in ("tied", "untied")
        ],
        "for small tables the high rate is too high": [
            last(small, 0.003) < last(small, 0.01) for small in ("tied", "untied")
        ],
        "untied ends below tied on average, at both rates": [
            last("untied", rate).mean() < last("tied", rate).mean() for rate in RATES
        ],
        "the two deep starts differ less than the seeds": abs(
            scaled.mean() - unscaled.mean()
        )
        < np.ptp(scaled),
    }


def results(seeds) -> Iterator[tuple[list[dict], list[str]]]:
    for seed in seeds:
        one = run(seed)
        ends = {name: f"{r['curve'][-1]:.2f}" for name, r in one["starts"].items()}
        yield [one], [f"seed {seed}: {ends}"]


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, results)
