"""A GPT's first loss and what it leads to: what chapter 12 says of it.

    python -m runs.gpt [--seeds 0 1 2 3 4] [--out FILE]

For each seed the first loss of GPT-2 small's shape, sixteen trainings of a small model
on the stories, and two of a deep one. Twelve minutes on one core.
"""

import math
from collections.abc import Iterator
from statistics import mean

import torch
from torch import Tensor, nn

from mygpt import load_corpus, set_seed
from mygpt.bare import GPT, LayerNorm, cross_entropy, initialise
from mygpt.support.stored_runs import make_runs

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


def text() -> tuple[Tensor, int]:
    """The stories as ids of characters, and how many characters there are."""
    stories = load_corpus("stories")
    characters = sorted(set(stories))
    places = {c: i for i, c in enumerate(characters)}
    return torch.tensor([places[c] for c in stories]), len(characters)


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
    ids, V = text()
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


def claims(runs: list[dict]) -> dict[str, bool]:
    """Each sentence that the chapter says of the stored runs."""

    def last(run: dict, name: str) -> float:
        return run["starts"][name]["curve"][-1]

    def better(run: dict, name: str) -> float:
        return min(last(run, f"{name}, {rate}") for rate in RATES)

    def always(test) -> bool:
        return all(test(run) for run in runs)

    shape = [run["GPT-2 small"] for run in runs]
    return {
        "the level is C·0.02²/2": all(abs(s["level"] - 0.1536) < 0.01 for s in shape),
        "the loss scatters around it": all(
            abs(s["loss of 16"] - s["level"]) < 0.6
            and abs(s["loss of 64"] - s["level"]) < 0.3
            for s in shape
        ),
        "its own token scores a little more": all(0.5 < s["own"] < 2 for s in shape),
        "wide and tied: a first loss near C/√2": always(
            lambda run: 30 < run["starts"]["tied, std 1, 0.003"]["first"] < 55
        ),
        "a wide head, untied: a first loss of half of it": always(
            lambda run: 15 < run["starts"]["untied, head std 1, 0.003"]["first"] < 22
        ),
        "wide places do not show in the first loss": always(
            lambda run: (
                abs(run["starts"]["tied, places std 1, 0.003"]["first"] - 4.025) < 0.1
            )
        ),
        "the first steps go into unlearning": always(
            lambda run: all(
                run["starts"][f"tied, std 1, {rate}"]["curve"][0]
                > 2 * run["starts"][f"{other}, {rate}"]["curve"][0]
                for rate in RATES
                for other in ("tied", "untied, PyTorch's")
            )
        ),
        "wide and tied is behind, each at its better rate": always(
            lambda run: better(run, "tied, std 1") > better(run, "tied")
        ),
        "with divided logits it ends lowest": always(
            lambda run: better(run, "tied, std 1, divided") < better(run, "tied")
        ),
        "wide places stay with the letters' frequencies": always(
            lambda run: 2.9 < better(run, "tied, places std 1") < 3.05
        ),
        "a wide head, untied, ends behind a head of 0.02": always(
            lambda run: all(
                last(run, f"untied, head std 1, {rate}") > last(run, f"untied, {rate}")
                for rate in RATES
            )
        ),
        "wide input tables end lower at the high rate": always(
            lambda run: all(
                last(run, f"{wide}, 0.01") < last(run, f"{small}, 0.01") - 0.4
                for wide in ("untied, std 1", "untied, PyTorch's")
                for small in ("tied", "untied")
            )
        ),
        "for small tables the high rate is too high": always(
            lambda run: all(
                last(run, f"{small}, 0.003") < last(run, f"{small}, 0.01")
                for small in ("tied", "untied")
            )
        ),
        "untied ends below tied on average, at both rates": all(
            mean(last(run, f"untied, {rate}") for run in runs)
            < mean(last(run, f"tied, {rate}") for run in runs)
            for rate in RATES
        ),
        "the two deep starts differ less than the seeds": abs(
            mean(ends(runs, "scaled")) - mean(ends(runs, "unscaled"))
        )
        < max(ends(runs, "scaled")) - min(ends(runs, "scaled")),
    }


def ends(runs: list[dict], name: str) -> list[float]:
    """Where the deep models of that kind end, one for each seed."""
    return [run["deep"][name]["curve"][-1] for run in runs]


def results(seeds) -> Iterator[tuple[list[dict], list[str]]]:
    for seed in seeds:
        one = run(seed)
        ends = {name: f"{r['curve'][-1]:.2f}" for name, r in one["starts"].items()}
        yield [one], [f"seed {seed}: {ends}"]


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, results)
