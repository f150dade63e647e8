"""Train small models with one piece of the recipe changed, and a larger one for longer.

    python -m runs.training [--seeds 0 1 2 3 4] [--out FILE]

Each learns characters of the stories: the small ones at five seeds, the larger at the
first. A quarter of an hour of one core.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from mygpt import GPT, GPTConfig, bare, load_corpus, set_seed
from mygpt.data import split
from mygpt.support.stored_runs import each_seed, make_runs
from runs import between, numbered, of_every_run

SEEDS = (0, 1, 2, 3, 4)
RTOL = 0.5  # on another CPU: rounding grows during a training
T, B = 32, 16
RECIPE = {"warmup": 20, "clip": 1.0, "decay": 0.1, "falls": True}
PLAIN = {"warmup": 0, "clip": None, "decay": 0.0, "falls": False}
WITHOUT = {
    "no warmup": {"warmup": 0},
    "no clipping": {"clip": None},
    "no fall": {"falls": False},
}
RATES = (0.003, 0.01, 0.03)
STEPS = 200
CASES = (
    {f"recipe, {peak}": {"peak": peak} for peak in RATES}
    | {f"plain, {peak}": PLAIN | {"peak": peak} for peak in RATES}
    | {"plain, 0.0055": PLAIN | {"peak": 0.0055}}  # the mean rate of "recipe, 0.01"
    | {f"{n}, {p}": c | {"peak": p} for n, c in WITHOUT.items() for p in RATES}
    | {
        "no decay": {"peak": 0.01, "decay": 0.0},
        "L2 0.1": {"peak": 0.01, "decay": 0.0, "l2": 0.1},
        "L2 0.001": {"peak": 0.01, "decay": 0.0, "l2": 0.001},
    }
)
TEXTS = {"6,000": 6000, "all": None}  # characters to learn from
MARKS = (50, 100, 200, 300, 400, 600, 800)
LONGER = {"steps": 3000, "peak": 0.002, "every": 250}
PROMPT = "Mara asked "
PARTS = ("cases", "weights", "text")  # of the small models, at every seed


def build(V: int, seed: int, C: int = 32) -> GPT:
    set_seed(seed)
    return GPT(GPTConfig(V, T, C, 4, 2, activation="gelu"))


def rate(step: int, steps: int, peak: float, warmup: int, falls: bool) -> float:
    if step < warmup:
        return peak * (step + 1) / warmup
    if not falls:
        return peak
    done = (step - warmup) / (steps - warmup)
    return peak * (0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2)


def loss_of(model: GPT, rows: Tensor) -> Tensor:
    return model(rows[:, :-1].contiguous(), rows[:, 1:].contiguous())[1]


def train(model, ids, steps, peak, warmup, clip, decay, falls, l2=0.0, marks=()):
    """Train, and yield at each of the marks."""
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.99), fused=True)
    for step in range(steps):
        starts = torch.randint(len(ids) - T, (B, 1))
        model.zero_grad()
        loss_of(model, ids[starts + torch.arange(T + 1)]).backward()
        if l2:  # the gradient of l2/2 times the sum of squares
            for p in matrices:
                p.grad += l2 * p.detach()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps, peak, warmup, falls)
        optimizer.step()
        if step + 1 in marks:
            yield step + 1


@torch.no_grad()
def evaluate(model: GPT, ids: Tensor) -> float | None:
    """The mean loss over pieces that do not overlap; None for one that is no number."""
    N = (len(ids) - 1) // T * T
    rows = torch.stack([ids[i : i + T + 1] for i in range(0, N, T)])
    loss = loss_of(model, rows).item()
    return loss if math.isfinite(loss) else None


def length(model: GPT) -> float:
    """The root of the mean square of all weights in matrices."""
    rows = torch.cat([p.detach().flatten() for p in model.parameters() if p.ndim == 2])
    return rows.square().mean().sqrt().item()


def run(seed: int) -> dict:
    torch.set_num_threads(1)
    characters, text = numbered(load_corpus("stories"))
    (ids, held), V = split(text), len(characters)
    found = {"seed": seed, "cases": {}, "weights": {}, "text": {}}
    for name, changes in CASES.items():
        model = build(V, seed)
        for _ in train(model, ids, STEPS, **RECIPE | changes):
            pass
        found["cases"][name] = evaluate(model, held)
        found["weights"][name] = length(model)
    for name, size in TEXTS.items():
        model, part = build(V, seed, 48), ids[:size]
        found["text"][name] = {"train": [], "held": []}
        for _ in train(model, part, MARKS[-1], **RECIPE, peak=0.01, marks=MARKS):
            found["text"][name]["train"].append(evaluate(model, part[:6000]))
            found["text"][name]["held"].append(evaluate(model, held))
    if seed == SEEDS[0]:
        found["longer"] = train_longer(ids, held, characters, seed)
    return found


def train_longer(learn: Tensor, held: Tensor, characters: list[str], seed: int) -> dict:
    """The chapter's own training of its own model, and what it writes at its best."""
    set_seed(seed)
    model = bare.GPT(len(characters), C=128, H=4, L=3, max_T=64)
    state, best = bare.begin(model), math.inf
    found = {"step": [], "train": [], "held": [], "text": "", "prompt": PROMPT}
    for until in range(0, LONGER["steps"] + 1, LONGER["every"]):
        bare.train(model, learn, state, until, LONGER["steps"], peak=LONGER["peak"])
        found["step"].append(until)
        found["train"].append(bare.evaluate(model, learn[: len(held)]))
        found["held"].append(bare.evaluate(model, held))
        if found["held"][-1] < best:
            best, found["text"] = found["held"][-1], write(model, characters, 300)
    return found


@torch.no_grad()
def write(model: bare.GPT, characters: list[str], length: int) -> str:
    """The prompt and what the model makes of it, drawn at a temperature of a half."""
    ids = [characters.index(character) for character in PROMPT]
    with torch.random.fork_rng(devices=()):  # the training's own draws stay the same
        for _ in range(length):
            logits = model(torch.tensor([ids[-64:]]))[0, -1]  # (V,)
            ids.append(bare.sample(bare.softmax(logits / 0.5)).item())
    return "".join(characters[i] for i in ids)


def claims(runs: list[dict]) -> dict[str, bool]:
    """What the chapter says of these runs: of every seed, and of the longer one."""
    of_seeds = [{part: run[part] for part in PARTS} for run in runs]
    (longer,) = (run["longer"] for run in runs if "longer" in run)
    return claims_of_seeds(of_seeds) | claims_of_longer([longer])


@of_every_run
def claims_of_longer(run: dict) -> dict:
    train, held = run["train"][0], run["held"][0]
    best = held.argmin()
    return {
        "the longer run ends far below the first one": between(1.0, held[best], 1.3),
        "it has not learned its text by heart yet": (
            held[best] - train[best] > 0,
            held[best] - train[best] < 0.4,
            held[-1] < held[best] + 0.1,
        ),
        "at first its two losses are the same": abs(held[:3] - train[:3]) < 0.05,
    }


@of_every_run
def claims_of_seeds(run: dict) -> dict:
    cases, sizes, all_text = run["cases"], run["weights"], run["text"]["all"]
    little = run["text"]["6,000"]
    recipe = cases["recipe, 0.03"]

    def below(one: str, other: str) -> np.ndarray:
        return cases[one] < cases[other]

    def apart(one: str, other: str) -> float:
        """How far the loss of one is above that of the other, on average."""
        return cases[one].mean() - cases[other].mean()

    def gaps(text: dict) -> np.ndarray:
        return text["held"][:, -1] - text["train"][:, -1]

    def falls(losses: np.ndarray) -> np.ndarray:
        return np.diff(losses) < 0

    return {
        "every run learns something": [losses < 3 for losses in cases.values()],
        "at 0.003 plain is ahead": below("plain, 0.003", "recipe, 0.003"),
        "there the fall is what costs": (
            below("no fall, 0.003", "recipe, 0.003"),
            abs(apart("no fall, 0.003", "plain, 0.003")) < 0.03,
        ),
        "there clipping helps and warmup does not": (
            below("recipe, 0.003", "no clipping, 0.003"),
            below("no warmup, 0.003", "recipe, 0.003"),
        ),
        "plain at the mean rate does as well": apart("plain, 0.0055", "recipe, 0.01")
        < 0.05,
        "at 0.01 the others beat plain": below("no fall, 0.01", "plain, 0.01"),
        "at 0.01 clipping helps": below("recipe, 0.01", "no clipping, 0.01"),
        "warmup does at most seeds": below("recipe, 0.01", "no warmup, 0.01").mean()
        > 0.5,
        "and the fall costs": below("no fall, 0.01", "recipe, 0.01"),
        "at 0.03 the ranges overlap": [
            (
                cases[f"{name}, 0.03"].min() < recipe.max(),
                cases[f"{name}, 0.03"].max() > recipe.min(),
            )
            for name in ("plain", *WITHOUT)
        ],
        "decay changes little at 0.01": abs(apart("no decay", "recipe, 0.01")) < 0.05,
        "L2 0.1 ends above L2 0.001": below("L2 0.001", "L2 0.1"),
        "L2 0.1 makes the weights far smaller": sizes["L2 0.1"].max()
        < 0.4 * sizes["recipe, 0.01"].min(),
        "the loss on text that was learned from falls": (
            falls(all_text["train"]),
            falls(little["train"]),
        ),
        "on all the text, so does the other": falls(all_text["held"]),
        "on little text it turns at most seeds": (
            little["held"][:, -1] > little["held"].min(1)
        ).mean()
        > 0.5,
        "little text: a wide gap": gaps(little) > 0.25,
        "all the text: a narrow one": gaps(all_text) < 0.1,
        "more text, lower held-out loss": little["held"][:, -1]
        > all_text["held"][:, -1] + 0.1,
    }


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, each_seed(run, "cases"))
