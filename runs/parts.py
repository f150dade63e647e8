"""Train the model that writes in chapter 9 without one part of its blocks; five seeds.

    python -m runs.parts [--seeds 0 1 2 3 4] [--out FILE]

Five minutes of one core.
"""

from collections.abc import Iterator

import torch
from torch import nn

from mygpt import set_seed
from mygpt.bare import Block
from mygpt.support.stored_runs import make_runs
from runs.block import BY_LAST, IDS, CharModel

SEEDS = (0, 1, 2, 3, 4)
RTOL = 0.3  # on another CPU: without norms rounding grows into other digits


class NoAttention(Block):
    def forward(self, x):
        return x + self.mlp(self.ln2(x))


class NoNetwork(Block):
    def forward(self, x):
        return x + self.heads(self.ln1(x))


class NoResiduals(Block):
    def forward(self, x):
        return self.mlp(self.ln2(self.heads(self.ln1(x))))


class NoNorms(Block):
    def forward(self, x):
        x = x + self.heads(x)
        return x + self.mlp(x)


WITHOUT = {
    "nothing": Block,
    "attention": NoAttention,
    "feed-forward network": NoNetwork,
    "residual connections": NoResiduals,
    "layer norms": NoNorms,  # nor the last one
}


def build(without, seed):
    set_seed(seed)
    model = CharModel([WITHOUT[without](64, 4) for _ in range(3)], C=64)
    if without == "layer norms":
        model.norm = nn.Identity()
    return model


def train(model, steps=200, rate=0.01, texts=32):
    """The loss at each step."""
    adam, losses = torch.optim.Adam(model.parameters(), lr=rate, fused=True), []
    for _ in range(steps):
        cut = IDS[torch.randint(len(IDS) - 32, (texts, 1)) + torch.arange(33)]
        logits = model(cut[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), cut[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses


def run(seed):
    torch.set_num_threads(1)
    ends = {}
    for without in WITHOUT:
        losses = train(build(without, seed))
        ends[without] = sum(losses[-20:]) / 20
    return {"seed": seed, "end": ends}


def claims(runs):
    """What the chapter says of these runs, each of every seed."""
    end = {name: [run["end"][name] for run in runs] for name in WITHOUT}
    whole, network = end["nothing"], end["feed-forward network"]
    attention, residuals = end["attention"], end["residual connections"]
    close = [0 < b - a < 0.1 for a, b in zip(whole, network, strict=True)]
    return {
        "all parts: below 0.3": max(whole) < 0.3,
        "no attention: the last character alone": all(
            BY_LAST - 0.05 < loss < BY_LAST + 0.1 for loss in attention
        ),
        "no network: a little behind": all(close),
        "no residuals: frequencies alone": all(
            2.86 < loss < 2.96 for loss in residuals
        ),
        "no norms: far behind": min(end["layer norms"]) > 0.6,
    }


def results(seeds) -> Iterator[tuple[list[dict], list[str]]]:
    for seed in seeds:
        one = run(seed)
        yield [one], [f"seed {seed}: {one['end']}"]


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, results)
