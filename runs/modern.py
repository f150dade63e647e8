"""Change GPT-2's recipe one part at a time, and count the steps to the same loss.

    python -m runs.modern [--seeds 0 1 2 3 4] [--out FILE]

Small models learn characters of the stories. Every variant of a seed reads the same
batches, and has a learning rate that was chosen at other seeds. About 45 minutes of one
core.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mygpt import GPT, GPTConfig, TrainingConfig, load_corpus, set_seed
from mygpt.data import split
from mygpt.gpt import LanguageModel
from mygpt.gpt import initialise as start_as_gpt2
from mygpt.modern import ModernConfig, ModernGPT, rotate
from mygpt.support.modes import evaluating
from mygpt.support.stored_runs import make_runs
from mygpt.training import Run, next_token_loss
from runs import between, numbered, of_every_run

SEEDS = (0, 1, 2, 3, 4)
TUNING_SEEDS = (10, 11)  # for the whole grid
MORE_SEEDS = (12, 13)  # for the best of the grid, and for half of it
RTOL = None  # steps to a loss are whole numbers, and rates come from a grid
T, B, C, H, L = 64, 12, 48, 4, 2
STEPS, TARGET_AT, SHORT, EVERY = 600, 500, 300, 20
LONG_STEPS, LONG = 1500, ("GPT-2", "rotary", "Muon", "all")
GPT2 = {  # of ModernConfig, and what else a variant may change
    "norm": "layer",
    "positions": "learned",
    "mlp": "gelu",
    "num_kv_heads": None,
    "qk_norm": False,
    "zero_init": False,
    "optimizer": "adamw",
    "start": "GPT-2",
}
PARTS = {
    "RMSNorm": {"norm": "rms"},
    "rotary": {"positions": "rotary"},
    "SwiGLU": {"mlp": "swiglu"},
    "shared keys": {"num_kv_heads": 2},
    "QK-norm": {"qk_norm": True},
    "zero init": {"zero_init": True},
    "Muon": {"optimizer": "muon"},
}
LARGER = {"start": "1 / root of the fan-in"}  # of all matrices in the blocks
TODAY = GPT2 | {name: value for part in PARTS.values() for name, value in part.items()}
ALONE = (
    {"GPT-2": GPT2}
    | {name: GPT2 | part for name, part in PARTS.items()}
    | {"squared ReLU": GPT2 | {"mlp": "relu2"}, "all": TODAY}
    | {"SwiGLU, larger start": GPT2 | PARTS["SwiGLU"] | LARGER}
    | {"GPT-2, larger start": GPT2 | LARGER}
)
WITHOUT = {
    f"without {name}": TODAY | {key: GPT2[key] for key in part}
    for name, part in PARTS.items()
}
GRIDS = {"adamw": (0.002, 0.004, 0.008), "muon": (0.01, 0.02, 0.04)}
NULLS = ("other weights", "biases", "decay", "twice the rate")
HIGH = (0.032, 0.128)
SHARPER = 1.5  # times each query and key; the best of 1, 1.5 and 2 at seeds 5 and 6
LENGTH, BUCKET = 256, 32  # positions of the longer texts, and of a mean over some
EXPERTS, CHOSEN, BALANCE = 8, 2, 0.01


CHARACTERS, STORIES = numbered(load_corpus("stories"))
LEARN, HELD = split(STORIES)


def build(parts: dict, seed: int, length: int = T) -> ModernGPT:
    """A model with a tied head that starts as GPT-2 does, without biases."""
    set_seed(seed)
    other = ("optimizer", "start")
    own = {key: value for key, value in parts.items() if key not in other}
    shape = ModernConfig(len(CHARACTERS), length, C, H, L, tied=True, logit_cap=None)
    model = ModernGPT(replace(shape, **own))
    start_as_gpt2(model)
    if parts["start"] != "GPT-2":
        for p in model.blocks.parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=p.shape[1] ** -0.5)
    if parts["zero_init"]:
        for block in model.blocks:
            nn.init.zeros_(block.mha.W_O.weight)
            nn.init.zeros_(block.mlp.fc2.weight)
    return model


def settings(parts: dict, rates: dict, steps: int, seed: int, **more) -> TrainingConfig:
    """A constant rate after the warmup: no timetable knows how long the run will be."""
    constant = {"schedule": "linear", "flat_share": 1.0}
    plain = {"batch_size": B, "weight_decay": 0.0, "warmup_steps": 20}
    optimizer = {"optimizer": parts["optimizer"], "progress": False, "seed": seed}
    return TrainingConfig(steps, **plain | optimizer | constant | rates | more)


def learn(model: LanguageModel, config: TrainingConfig, loss=next_token_loss, skip=0):
    """The held-out loss every 20 steps, without the first `skip`; None if it broke."""
    run = Run(model, LEARN, config, loss)
    while run.step < config.steps:
        try:
            run.take_step()
        except FloatingPointError:
            return None
        if run.step % EVERY == 0 and run.step > skip:
            run.evaluate(HELD)
    return run.history.val_loss


def last_three(curve: list[float] | None) -> float:
    return math.inf if curve is None else sum(curve[-3:]) / 3


def score(parts: dict, rates: dict, steps: int, seeds=TUNING_SEEDS) -> float:
    """The mean over some seeds of the last three evaluations."""
    total = 0.0
    for seed in seeds:
        config = settings(parts, rates, steps, seed)
        total += last_three(learn(build(parts, seed), config, skip=steps - 60))
    return total / len(seeds)


def tuned_rate(parts: dict) -> str:
    return {"adamw": "learning_rate", "muon": "matrix_learning_rate"}[
        parts["optimizer"]
    ]


def best(parts: dict, fixed: dict, steps: int = TARGET_AT) -> tuple[dict, dict]:
    """The best rate of a grid that is widened while the best stands at its edge."""
    name = tuned_rate(parts)
    found: dict[float, float] = {}
    tries = list(GRIDS[parts["optimizer"]])
    while tries:
        for rate in tries:
            found[rate] = score(parts, fixed | {name: rate}, steps)
        chosen = min(found, key=lambda rate: found[rate])
        edges = {min(found): chosen / 2, max(found): chosen * 2}
        tries = [edges[chosen]] if chosen in edges else []
    table = {str(rate): finite(found[rate]) for rate in sorted(found)}
    return fixed | {name: chosen}, table


def finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def or_half(parts: dict, rates: dict, table: dict) -> tuple[dict, dict]:
    """The best rate of the grid or half of it: the lower loss at four seeds."""
    name, losses = tuned_rate(parts), {}
    for rate in (rates[name], rates[name] / 2):
        two = score(parts, rates | {name: rate}, TARGET_AT, MORE_SEEDS)
        losses[rate] = (table[str(rate)] + two) / 2
    chosen = min(losses, key=lambda rate: losses[rate])
    return rates | {name: chosen}, {str(rate): losses[rate] for rate in losses}


def tune() -> tuple[dict, dict]:
    """The rates of every variant, and what each rate that was tried gave."""
    grid, rates, tables = {}, {}, {}
    for name, parts in ALONE.items():
        fixed = grid["GPT-2"] if parts["optimizer"] == "muon" else {}
        grid[name], found = best(parts, fixed)
        rates[name], four = or_half(parts, grid[name], found)
        tables[name] = {"two seeds": found, "four seeds": four}
    name = "without Muon"
    rates[name], found = best(WITHOUT[name], {}, SHORT)
    tables[name] = {"two seeds": found}
    return rates, tables


def work(model: ModernGPT, parts: dict) -> dict[str, float]:
    """Parameters, FLOPs of a training step, and of Muon's matrices, in millions."""
    count = sum(p.numel() for p in model.parameters())
    matrices = [p for p in model.blocks.parameters() if p.ndim == 2]
    weights = sum(p.numel() for p in matrices) + len(CHARACTERS) * C
    step = 3 * B * T * (2 * weights + 4 * L * C * T)
    muon = 0
    if parts["optimizer"] == "muon":
        for p in matrices:
            r, c = sorted(p.shape)
            muon += 5 * (2 * r * r * c + 2 * r**3 + 2 * r * r * c)
    return {"parameters": count, "step": step / 1e6, "muon": muon / 1e6}


@torch.no_grad()
def by_position(model: ModernGPT, parts: dict, seed: int) -> list[float]:
    """The loss on texts longer than those of the training, by position."""
    long = build(parts, seed, LENGTH)  # its further position vectors are never trained
    own = model.state_dict()
    if "position.weight" in own:
        rows = long.position.weight
        own["position.weight"] = torch.cat([own["position.weight"], rows[T:]])
    long.load_state_dict(own)
    starts = range(0, len(HELD) - LENGTH - 1, LENGTH)
    rows = torch.stack([HELD[i : i + LENGTH + 1] for i in starts])
    logits = long(rows[:, :-1])[0].transpose(1, 2)
    loss = F.cross_entropy(logits, rows[:, 1:], reduction="none").mean(0)
    return loss.view(-1, BUCKET).mean(1).tolist()


class Experts(nn.Module):
    """Feed-forward networks of half the width, two of which each position visits."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(C, EXPERTS, bias=False)
        self.up = nn.Parameter(0.02 * torch.randn(EXPERTS, 2 * C, C))
        self.down = nn.Parameter(0.02 / (2 * L) ** 0.5 * torch.randn(EXPERTS, C, 2 * C))
        nn.init.normal_(self.router.weight, std=0.02)
        self.at_random = False

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, 1)
        shares = F.softmax(self.router(rows), -1)
        weights, chosen = shares.topk(CHOSEN)
        if self.at_random:
            chosen = torch.rand_like(shares).topk(CHOSEN)[1]
        weights = weights / weights.sum(-1, keepdim=True)
        self.chosen = chosen
        load = F.one_hot(chosen, EXPERTS).sum((0, 1)) / chosen.numel()
        self.balance = EXPERTS * (load * shares.mean(0)).sum()
        out = torch.zeros_like(rows)
        for e in range(EXPERTS):
            at, place = (chosen == e).nonzero(as_tuple=True)
            hidden = F.gelu(rows[at] @ self.up[e].T)
            part = weights[at, place, None] * (hidden @ self.down[e].T)
            out = out.index_add(0, at, part)
        return out.view_as(x)


def balanced(model: ModernGPT, batch: tuple[Tensor, ...]) -> Tensor:
    loss = next_token_loss(model, batch)
    return loss + BALANCE * sum(block.mlp.balance for block in model.blocks)


def information(tokens: Tensor, experts: Tensor) -> float:
    """How many nats an expert's number tells about the character just read."""
    joint = torch.zeros(len(CHARACTERS), EXPERTS, dtype=torch.float64)
    joint.index_put_((tokens, experts), torch.ones(1).double(), accumulate=True)
    joint /= joint.sum()
    apart = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)
    return torch.xlogy(joint, joint / apart).nan_to_num().sum().item()


@torch.no_grad()
def routed(model: ModernGPT) -> list[dict]:
    """For each block: the load of each expert, and who goes to which."""
    rows = HELD[: len(HELD) // T * T].view(-1, T)
    model(rows)
    tokens, found = rows.flatten(), []
    for block in model.blocks:
        first = block.mlp.chosen[:, 0]
        load = torch.bincount(block.mlp.chosen.flatten(), minlength=EXPERTS)
        visits = torch.zeros(len(CHARACTERS), EXPERTS)
        visits.index_put_((tokens, first), torch.ones(1), accumulate=True)
        found.append(
            {
                "load": (load / load.sum()).tolist(),
                "nats": information(tokens, first),
                "visits": visits.int().tolist(),
            }
        )
    return found


def experts(seed: int, rates: dict) -> dict:
    """Experts against one network of the same active width, and what routers do."""
    found = {}
    for name, loss in (("free", next_token_loss), ("balanced", balanced)):
        model = build(GPT2, seed)
        for block in model.blocks:
            block.mlp = Experts()
        before = routed(model)
        curve = learn(model, settings(GPT2, rates, TARGET_AT, seed), loss)
        after = routed(model)
        one = {"curve": curve, "before": before, "after": after}
        for block in model.blocks:
            block.mlp.at_random = True
        one["at random"] = held_loss(model)
        for block in model.blocks:
            block.mlp.at_random = False
            nn.init.normal_(block.mlp.router.weight)
        one["new router"] = routed(model)
        one["new router's loss"] = held_loss(model)
        if name == "free":
            del one["before"], one["new router"]
            for block in one["after"]:
                del block["visits"]
        found[name] = one
    for block in found["balanced"]["new router"] + found["balanced"]["before"]:
        del block["visits"]
    return found


@torch.no_grad()
def held_loss(model: LanguageModel) -> float:
    rows = torch.stack([HELD[i : i + T + 1] for i in range(0, len(HELD) - T, T)])
    with evaluating(model):
        return model(rows[:, :-1].contiguous(), rows[:, 1:].contiguous())[1].item()


def alone(name: str, seed: int, rates: dict) -> tuple[dict, list[float] | None]:
    """One change: its cost, its losses, and those by position on longer texts."""
    parts, steps = ALONE[name], LONG_STEPS if name in LONG else STEPS
    model = build(parts, seed)
    one = work(model, parts) | {"first": held_loss(model)}
    one["curve"] = learn(model, settings(parts, rates, steps, seed))
    positions = name in ("GPT-2", "rotary")
    return one, by_position(model, parts, seed) if positions else None


def null(name: str, seed: int, rates: dict) -> dict:
    """GPT-2's recipe with something else that is not one of the changes."""
    config = settings(GPT2, rates, STEPS, seed)
    if name == "decay":
        config = replace(config, weight_decay=0.1)
    if name == "twice the rate":
        config = replace(config, learning_rate=2 * config.learning_rate)
    if name == "biases":
        set_seed(seed)
        shape = GPTConfig(len(CHARACTERS), T, C, H, L, activation="gelu")
        model: LanguageModel = GPT(shape)
    else:
        model = build(GPT2, seed + 100 if name == "other weights" else seed)
    return {"curve": learn(model, config)}


def without(name: str, seed: int, rates: dict) -> dict:
    """All seven but one; or all seven, with queries and keys that are longer."""
    parts = WITHOUT.get(name, TODAY)
    config = settings(parts, rates.get(name, rates["all"]), SHORT, seed)
    if name in WITHOUT:
        return {"curve": learn(build(parts, seed), config)}
    with patch("mygpt.modern.rotate", lambda x, angles: SHARPER * rotate(x, angles)):
        return {"curve": learn(build(parts, seed), config)}


def cosine(name: str, seed: int, rates: dict) -> list[float] | None:
    """The last losses where the rate starts at twice its best, and falls."""
    double = {key: 2 * rate for key, rate in rates.items()}
    config = settings(ALONE[name], double, TARGET_AT, seed, schedule="cosine")
    return learn(build(ALONE[name], seed), config, skip=TARGET_AT - 20)


def high(name: str, seed: int, rate: float) -> float | None:
    config = settings(ALONE[name], {"learning_rate": rate}, 200, seed)
    return finite(last_three(learn(build(ALONE[name], seed), config, skip=140)))


def run(seed: int, rates: dict, tables: dict) -> dict:
    torch.set_num_threads(1)
    found = {"seed": seed, "tuning": tables, "rates": rates, "alone": {}, "long": {}}
    for name in ALONE:
        found["alone"][name], long = alone(name, seed, rates[name])
        if long:
            found["long"][name] = long
    for name in NULLS:
        found["alone"][name] = null(name, seed, rates["GPT-2"])
    names = (*WITHOUT, "sharper")
    found["without"] = {name: without(name, seed, rates) for name in names}
    found["cosine"] = {name: cosine(name, seed, rates[name]) for name in LONG}
    pairs = [(name, rate) for rate in HIGH for name in ("GPT-2", "QK-norm")]
    found["high"] = {f"{name}, {rate}": high(name, seed, rate) for name, rate in pairs}
    found["experts"] = experts(seed, rates["GPT-2"])
    return found


@of_every_run
def claims(run: dict) -> dict:
    """What the chapter says of these runs, each of every seed."""
    balanced, free = run["experts"]["balanced"], run["experts"]["free"]

    def means(name: str, part: str = "alone") -> np.ndarray:
        curve = run[part][name]["curve"]
        return (curve[:, :-2] + curve[:, 1:-1] + curve[:, 2:]) / 3

    def ends(name: str, step: int = TARGET_AT, part: str = "alone") -> np.ndarray:
        return means(name, part)[:, step // EVERY - 3]

    def first_below(name: str, loss: float) -> np.ndarray:
        low = means(name) <= loss
        return np.where(low.any(1), low.argmax(1), 99)

    def leads(name: str, step: int) -> np.ndarray:
        return ends("GPT-2", step) - ends(name, step)

    def loads(blocks: list[dict]) -> np.ndarray:
        return np.max([block["load"] for block in blocks], axis=(0, 2))

    gpt2, target = ends("GPT-2"), np.median(ends("GPT-2"))
    nulls = np.array(list(map(ends, ("GPT-2", "GPT-2, larger start", *NULLS))))
    clear = ("rotary", "Muon", "all")
    unclear = ("RMSNorm", "squared ReLU", "QK-norm", "zero init", "shared keys")
    steps = {name: first_below(name, target) for name in ("GPT-2", *clear)}
    # clearly below what a table of letter pairs reaches
    leaves = {name: first_below(name, 2.1) for name in ("GPT-2", *clear)}
    lost = {
        name: ends(f"without {name}", SHORT, "without") - ends("all", SHORT)
        for name in PARTS
    }
    learned, rotary = (run["long"][name] for name in ("GPT-2", "rotary"))
    high, normed = (run["high"][f"{n}, {HIGH[1]}"] for n in ("GPT-2", "QK-norm"))
    new, before, after = (
        balanced[name][1]["nats"] for name in ("new router", "before", "after")
    )
    return {
        "three end below every run of GPT-2's recipe": [
            ends(name) < nulls.min() - 0.1 for name in clear
        ],
        "all seven need the fewest steps": [
            steps["all"].max() <= steps[name] for name in ("rotary", "Muon")
        ],
        "less than half the steps of GPT-2's": [
            2 * steps[name] < steps["GPT-2"].min() for name in clear
        ],
        "they leave the letter pairs sooner": [
            leaves[name] < leaves["GPT-2"].min() - 3 for name in clear
        ],
        "the lead shrinks and stays": [
            between(0.05, leads(name, LONG_STEPS), leads(name, TARGET_AT))
            for name in clear
        ],
        "the others overlap with GPT-2's": [
            (ends(name).max() > nulls.min(), ends(name).min() < nulls.max())
            for name in unclear
        ],
        "SwiGLU is behind": [
            middle(ends("SwiGLU")) > middle(gpt2) for middle in (np.mean, np.median)
        ],
        "its start is the cause": ends("SwiGLU, larger start") < ends("SwiGLU"),
        "twice the rate is worse": gpt2.mean() < ends("twice the rate").mean(),
        "with a cosine the three are ahead": [
            run["cosine"][name][:, -1] < run["cosine"]["GPT-2"][:, -1] for name in clear
        ],
        "set back, Muon and rotary positions cost most": np.min(
            [lost["Muon"], lost["rotary"]]
        )
        > 3 * np.max([lost[name] for name in PARTS if name not in clear]),
        "without QK-norm it is lower": lost["QK-norm"] < 0,
        "with longer queries and keys lower still": ends("sharper", SHORT, "without")
        < ends("without QK-norm", SHORT, "without"),
        "learned positions fail at once": learned[:, 1] + 0.5 < learned[:, 2],
        "rotary ones a little later": rotary[:, 2] < learned[:, 2],
        "and then more": learned[:, 5] < rotary[:, 5],
        "QK-norm learns at a high rate": normed + 0.05 < high,
        "a free router leans": loads(free["after"]) > 0.25,
        "a balanced one does not": loads(balanced["after"]) < 0.22,
        "who works matters": [
            balanced["curve"][:, -3:].mean(1) + 0.3 < balanced[name]
            for name in ("at random", "new router's loss")
        ],
        "training sharpens": (new < after, before < after),
        "a random router sorts too": new > 0.3,
    }


def results(seeds) -> Iterator[tuple[list[dict], list[str]]]:
    torch.set_num_threads(1)
    rates, tables = tune()
    lines = [f"tuning, {name}: {table}" for name, table in tables.items()]
    for seed in seeds:
        one = run(seed, rates, tables)
        curves = {
            name: v["curve"][: STEPS // EVERY] for name, v in one["alone"].items()
        }
        ends = {name: round(last_three(curve), 3) for name, curve in curves.items()}
        yield [one], [*lines, f"seed {seed}, losses after {STEPS}: {ends}"]
        lines = []


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, results)
