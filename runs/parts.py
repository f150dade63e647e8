"""Train the model that writes in chapter 9 without one part of its blocks; five seeds.

    python -m runs.parts [--seeds 0 1 2 3 4] [--out FILE]

Five minutes of one core.
"""

import torch
from torch import nn

from mygpt import set_seed
from mygpt.bare import Block
from mygpt.support.stored_runs import each_seed, make_runs
from runs import between, of_every_run
from runs.block import BY_LAST, CharModel, end, train

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


def run(seed):
    torch.set_num_threads(1)
    ends = {
        name: end(train(build(name, seed), rate=0.01, texts=32)) for name in WITHOUT
    }
    return {"seed": seed, "end": ends}


@of_every_run
def claims(run):
    """What the chapter says of these runs, each of every seed."""
    whole, attention, network, residuals, norms = (run["end"][n] for n in WITHOUT)
    return {
        "all parts: below 0.3": whole < 0.3,
        "no attention: the last character alone": between(
            BY_LAST - 0.05, attention, BY_LAST + 0.1
        ),
        "no network: a little behind": between(0, network - whole, 0.1),
        "no residuals: frequencies alone": between(2.86, residuals, 2.96),
        "no norms: far behind": norms > 0.6,
    }


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, each_seed(run, "end"))
