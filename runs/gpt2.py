"""Load trained GPTs with a fault, at five seeds and three widths; store what it costs.

    python -m runs.gpt2 [--seeds 0 1 2 3 4] [--out FILE]

Four minutes of one core.
"""

import copy
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mygpt import GPT, GPTConfig, load_corpus, set_seed
from mygpt.support.stored_runs import make_runs
from runs import between, numbered, of_every_run

SEEDS = (0, 1, 2, 3, 4)
RTOL = None  # which of two nearly equal logits is larger depends on the CPU
WIDTHS = (32, 64, 128)
T, STEPS, TEXTS, RATE = 64, 300, 16, 4e-3
STARTS, NEW = 50, 40  # greedy texts: how many, and how many characters are added
MISTAKES = ("W_O", "queries and keys", "norms", "positions")
FAULTS = ("erf", "bfloat16", "float16", *MISTAKES, "no attention")


def train(width: int, seed: int, ids: Tensor, vocab_size: int) -> GPT:
    """Train GPT-2's design, two blocks, on random pieces of the text."""
    set_seed(seed)
    model = GPT(GPTConfig(vocab_size, 2 * T, width, 4, 2, activation="gelu_tanh"))
    adam = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.99))
    for step in range(STEPS):
        for group in adam.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 30, (STEPS - step) / 150)
        pieces = ids[torch.randint(len(ids) - T, (TEXTS, 1)) + torch.arange(T + 1)]
        _, loss = model(pieces[:, :-1], pieces[:, 1:])
        adam.zero_grad()
        loss.backward()
        adam.step()
    return model.eval()


@torch.no_grad()
def with_fault(model: GPT, fault: str) -> GPT:
    """Copy a model with one thing changed, as a careless loader would."""
    model = copy.deepcopy(model)
    if fault == "erf":
        for block in model.blocks:
            block.mlp.act = nn.GELU()
    elif fault in ("bfloat16", "float16"):
        for p in model.parameters():
            p.copy_(p.to(getattr(torch, fault)))
    elif fault == "W_O":
        for block in model.blocks:
            block.mha.W_O.weight.copy_(block.mha.W_O.weight.T.clone())
    elif fault == "queries and keys":
        for block in model.blocks:
            block.mha.W_Q, block.mha.W_K = block.mha.W_K, block.mha.W_Q
    elif fault == "norms":
        for block in model.blocks:
            block.ln1, block.ln2 = block.ln2, block.ln1
    elif fault == "no attention":  # the null of the other mistakes
        for block in model.blocks:
            block.mha.W_O.weight.zero_()
            block.mha.W_O.bias.zero_()
    elif fault == "positions":
        model.position.weight.copy_(model.position.weight.roll(-1, 0))
    return model


@torch.no_grad()
def logits_of(model: GPT, rows: Tensor) -> Tensor:
    return model(rows)[0]


def loss_of(logits: Tensor, rows: Tensor) -> float:
    logits = logits.double().flatten(0, 1)  # a rise of a millionth is to be seen
    return F.cross_entropy(logits, rows[:, 1:].flatten()).item()


def greedy(model: GPT, rows: Tensor) -> Tensor:
    for _ in range(NEW):
        nexts = logits_of(model, rows)[:, -1].argmax(-1, keepdim=True)
        rows = torch.cat([rows, nexts], dim=1)
    return rows


def measure(model: GPT, ids: Tensor) -> dict:
    """What each fault does on a text that the model was not trained on."""
    rows = ids[: len(ids) // (T + 1) * (T + 1)].view(-1, T + 1)  # (N, T + 1)
    starts = rows[:STARTS, :16]
    right, texts = logits_of(model, rows[:, :-1]), greedy(model, starts)
    found = {"loss": loss_of(right, rows)}
    for fault in FAULTS:
        # shifted, the last position would get a place that was never trained
        t = T - 1 if fault == "positions" else T
        other, asked = with_fault(model, fault), rows[:, : t + 1]
        logits = logits_of(other, asked[:, :-1])
        changed = (greedy(other, starts) != texts).any(dim=1).sum().item()
        found[fault] = {
            "moved": (logits - right[:, :t]).abs().max().item(),
            "rise": loss_of(logits, asked) - loss_of(right[:, :t], asked),
            "texts": changed,
        }
    return found


def results(seeds) -> Iterator[tuple[list[dict], list[str]]]:
    characters, ids = numbered(load_corpus("stories"))
    cut = len(ids) * 9 // 10
    for seed in seeds:
        runs, log = [], []
        for width in WIDTHS:
            model = train(width, seed, ids[:cut], len(characters))
            run = measure(model, ids[cut:])
            runs.append({"seed": seed, "layers": 2, "width": f"{width}"} | run)
            erf = run["erf"]
            log.append(
                f"seed {seed}, width {width}: loss {run['loss']:.3f}, erf: logits move "
                f"by {erf['moved']:.4f}, {erf['texts']} texts of {STARTS} change"
            )
        yield runs, log


@of_every_run
def claims(run: dict) -> dict:
    """What chapter 15 says of these runs."""
    erf, half = run["erf"], run["bfloat16"]
    turned, swapped, norms, shifted, null = (run[fault] for fault in FAULTS[3:])
    return {
        "the erf form moves the logits, by 0.01 at most": between(
            0, erf["moved"], 0.01
        ),
        "it changes the loss by less than 0.0001": abs(erf["rise"]) < 1e-4,
        "it changes few texts, and fewer than bfloat16": (
            erf["texts"].sum() < min(10, half["texts"].sum())
        ),
        "bfloat16 moves the logits further": half["moved"] > erf["moved"],
        "a matrix on its side and a swap cost loss": (
            turned["rise"] > 0.01,
            swapped["rise"] > 0.01,
        ),
        "a matrix on its side costs about what no attention costs": between(
            0.7 * null["rise"], turned["rise"], 1.4 * null["rise"]
        ),
        "swapped norms cost less than either, and less than 0.15": (
            between(0, norms["rise"], 0.15),
            norms["rise"] < turned["rise"],
            norms["rise"] < swapped["rise"],
        ),
        "shifted places cost least": (
            abs(shifted["rise"]) < 0.01,
            abs(shifted["rise"]) < norms["rise"],
        ),
        "swapped norms and shifted places change texts": (
            norms["texts"] > 0,
            shifted["texts"] > 0,
        ),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    make_runs(__file__, __doc__, SEEDS, results)
