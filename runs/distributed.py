"""Train on several processes, kill some, talk seldom: what chapter 17 says of it.

    python -m runs.distributed [--seeds 0 1 2 3 4] [--out FILE]

For each seed ten runs by `mygpt train --processes`, two of them killed, and sixteen
trainings in this process. Ten minutes on two cores.
"""

import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import torch
from torch import Tensor

from mygpt import GPT, GPTConfig, load_corpus, set_seed
from mygpt.checkpoint import checkpoints, step_of
from mygpt.data import split
from mygpt.distributed import load_checkpoint
from mygpt.distributed.shards import Shards
from mygpt.support.stored_runs import make_runs
from mygpt.training import TrainingConfig, evaluate, train
from runs import between, numbered, of_every_run

SEEDS = (0, 1, 2, 3, 4)
RTOL = None  # gaps of rounding: of these only the claims come out again
STEPS, EVERY = 60, 10
SHAPE = ["--layers", "2", "--heads", "4", "--width", "64"]
SAVED = ["--steps", str(STEPS), "--save-every", str(EVERY), "--quiet"]
KINDS = {  # processes, and whether the model is split over them
    "1 process": (1, False),
    "2, copies": (2, False),
    "4, copies": (4, False),
    "2, sharded": (2, True),
    "4, sharded": (4, True),
}
KILLED = ("2, copies", "2, sharded")
WORKERS, ROWS, T, LOCAL_STEPS = 4, 4, 32, 240  # of the workers that talk seldom
TALKS = {"every 8": 8, "every 40": 40, "once": LOCAL_STEPS}
RATES = (0.001, 0.003)
CHARACTERS, STORIES = numbered(load_corpus("stories"))
LEARN, HELD = split(STORIES)
CONFIG = GPTConfig(len(CHARACTERS), 64, 64, 4, 2)
SMALL = GPTConfig(len(CHARACTERS), T, 32, 4, 2)


# Runs of several processes


def start(out: Path, seed: int, processes: int, shard: bool, *more: str):
    """Start a run as a reader would, one thread for each process."""
    arguments = ["stories", "--out", str(out), "--processes", str(processes)]
    options = ["--shard"] * shard + ["--seed", str(seed), "--timeout", "120", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "mygpt", "train", *arguments, *SHAPE, *SAVED, *options],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(running) -> str:
    """Wait for the end; return what the run printed on stderr."""
    try:
        return running.communicate(timeout=300)[1]
    finally:
        running.kill()


def ended(out: Path, running) -> dict:
    """Losses and weights of a run that comes to its end."""
    told = finish(running)
    if running.returncode:
        raise RuntimeError(told)
    model, _, state = load_checkpoint(out)
    history = state["history"]
    return {"losses": history["loss"], "held": history["val_loss"], "model": model}


def alone(seed: int, parts: int) -> dict:
    """The same run in this process, each batch in so many parts."""
    torch.manual_seed(seed)
    model = GPT(CONFIG)
    config = TrainingConfig(
        STEPS, 12 // parts, accumulate=parts, seed=seed, progress=False
    )
    history = train(model, Shards(LEARN, 12 // parts, 64, seed), config)
    held = evaluate(model, HELD, 64)
    return {"losses": history.loss, "held": [held], "model": model}


def weights(found: dict) -> Tensor:
    return torch.cat([p.detach().flatten() for p in found["model"].parameters()])


def same(a: dict, b: dict) -> bool:
    return a["losses"] == b["losses"] and torch.equal(weights(a), weights(b))


def gaps(a: dict, b: dict) -> dict[str, float]:
    """The largest difference of a loss and of a weight."""
    pairs = zip(a["losses"], b["losses"], strict=True)
    return {
        "gap of losses": max(abs(x - y) for x, y in pairs),
        "gap of weights": (weights(a) - weights(b)).abs().max().item(),
    }


def shared(seed: int, folder: Path) -> tuple[dict, dict]:
    """Each kind of run against one process; the runs themselves as well."""
    one, told, runs = alone(seed, 1), {}, {}
    going = {name: start(folder / name, seed, *kind) for name, kind in KINDS.items()}
    for name, (processes, _) in KINDS.items():
        runs[name] = ended(folder / name, going[name])
        in_parts = weights(alone(seed, processes))
        told[name] = gaps(runs[name], one) | {
            "last loss": runs[name]["losses"][-1],
            "held out": runs[name]["held"][-1],
            "bits of one process in parts": torch.equal(weights(runs[name]), in_parts),
        }
    return told, runs


def kill(out: Path, seed: int, shard: bool, draw: random.Random) -> tuple[int, str]:
    """Kill a worker at a random moment; the last checkpoint before, and the message."""
    while True:
        shutil.rmtree(out, ignore_errors=True)
        running = start(out, seed, 2, shard)
        try:
            wanted, pause = EVERY * draw.randint(1, 4), draw.uniform(0, 0.2)
            while not (found := checkpoints(out)) or step_of(found[-1]) < wanted:
                if running.poll() is not None:
                    break
                time.sleep(0.01)
            time.sleep(pause)
            workers = psutil.Process(running.pid).children()
            step = step_of(checkpoints(out)[-1])
            workers[draw.randrange(2)].kill()
        except (psutil.NoSuchProcess, IndexError, ValueError):
            running.kill()
        told = finish(running)
        if running.returncode and "SIGKILL" in told:
            return step, told.strip().replace(f"{out}{os.sep}", "")


def kills(seed: int, folder: Path, runs: dict) -> list[dict]:
    """Two killed runs, continued on two processes, and one of them on others."""
    draw, told, going = random.Random(seed), [], {}
    others, elsewhere = 1 + 3 * (seed % 2), folder / "others"  # 1 process, or 4
    for name in KILLED:
        _, shard = KINDS[name]
        out = folder / f"killed {name}"
        step, message = kill(out, seed, shard, draw)
        found = {"kind": name, "seen before": step, "message": message}
        told.append(found | {"goes on from": step_of(checkpoints(out)[-1])})
        if not shard:
            shutil.copytree(out, elsewhere)
            on_others = start(elsewhere, seed, others, shard, "--resume")
        going[name] = start(out, seed, 2, shard, "--resume")
    for name, found in zip(KILLED, told, strict=True):
        again = ended(folder / f"killed {name}", going[name])
        found["same bits"] = same(again, runs[name])
    again = ended(elsewhere, on_others)
    told[0] |= {"others": others} | gaps(again, runs["2, copies"])
    return told


# Workers that talk seldom, one after the other in this process


def steps(model: GPT, adamw, batches: Shards, count: int) -> None:
    for _ in range(count):
        adamw.zero_grad()
        model(*next(batches))[1].backward()
        adamw.step()


def fresh(seed: int, rate: float) -> tuple[GPT, torch.optim.AdamW]:
    set_seed(seed)
    model = GPT(SMALL)
    return model, torch.optim.AdamW(model.parameters(), lr=rate)


def of_one(seed: int, rate: float, rows: int, count: int) -> float:
    """Held-out loss of a single worker."""
    model, adamw = fresh(seed, rate)
    steps(model, adamw, Shards(LEARN, rows, T, seed), count)
    return evaluate(model, HELD, T)


def of_four(seed: int, rate: float, talk: int) -> float:
    """Held-out loss of four workers that average their weights every `talk` steps."""
    team = [fresh(seed, rate) for _ in range(WORKERS)]
    batches = [
        Shards(LEARN, WORKERS * ROWS, T, seed, rank, WORKERS) for rank in range(WORKERS)
    ]
    for _ in range(LOCAL_STEPS // talk):
        for (model, adamw), own in zip(team, batches, strict=True):
            steps(model, adamw, own, talk)
        for same_place in zip(*(m.parameters() for m, _ in team), strict=True):
            mean = torch.stack([p.detach() for p in same_place]).mean(0)
            for p in same_place:
                p.data.copy_(mean)
    return evaluate(copy.deepcopy(team[0][0]), HELD, T)


def seldom(seed: int, rate: float) -> dict[str, float]:
    return {
        "every step": of_one(seed, rate, WORKERS * ROWS, LOCAL_STEPS),
        **{name: of_four(seed, rate, talk) for name, talk in TALKS.items()},
        "never, one worker": of_one(seed, rate, ROWS, LOCAL_STEPS),
    }


# All of it


def run(seed: int) -> dict:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        told, runs = shared(seed, Path(folder))
        found = {"seed": seed, "runs": told, "kills": kills(seed, Path(folder), runs)}
    return found | {"seldom": {str(rate): seldom(seed, rate) for rate in RATES}}


@of_every_run
def claims(run: dict) -> dict:
    """Each sentence that the chapter says of the stored runs."""
    kinds, kills = [run["runs"][name] for name in KINDS], run["kills"]
    bits = [found["bits of one process in parts"] for found in kinds]
    rates = low, high = [run["seldom"][str(rate)] for rate in RATES]
    often, never = ("every 8", "every 40"), "never, one worker"

    def rounding(found: dict) -> tuple:
        losses, weights = found["gap of losses"], found["gap of weights"]
        return between(0, losses, 1e-6), between(0, weights, 3e-6)

    def closed(at: dict, name: str) -> float:
        """The share that is closed of the gap from one worker to all exchanges."""
        far, near = at[never].mean(), at["every step"].mean()
        return (far - at[name].mean()) / (far - near)

    return {
        "one process is the plain loop, to the bit": (
            bits[0] == 1,
            kinds[0]["gap of weights"] == 0,
        ),
        "two copies have the bits of two parts": bits[1] == 1,
        "the others do not": [one == 0 for one in bits[2:]],
        "they agree to rounding": [rounding(found) for found in kinds[1:]],
        "the last losses lie where the chapter says": [
            between(2.9, found["last loss"], 2.94) for found in kinds
        ],
        "ten were killed": (
            len(kills) == 2,
            [between(0, one["seen before"], STEPS) for one in kills],
        ),
        "none lost what was saved": [
            one["goes on from"] >= one["seen before"] for one in kills
        ],
        "all ended with the same bits": [one["same bits"] == 1 for one in kills],
        "on others to rounding": rounding(kills[KILLED.index("2, copies")]),
        "an exchange at every step is best": [
            at["every step"] < at[name] for at in rates for name in often
        ],
        "a few exchanges help": [
            at[name] < at[never] for at in rates for name in often
        ],
        "more exchanges help on average": [
            at["every 8"].mean() < at["every 40"].mean() for at in rates
        ],
        "once at the end harms at the higher rate": high[never] < high["once"],
        "and is on a par at the lower one": between(
            0, (low["once"] < low[never]).mean(), 1
        ),
        "six exchanges close a quarter to a third": [
            between(0.25, closed(at, "every 40"), 0.34) for at in rates
        ],
        "thirty close four tenths": [
            between(0.35, closed(at, "every 8"), 0.45) for at in rates
        ],
        "those that talk often end lower at the higher rate": [
            high[name] < low[name] for name in ("every step", *often)
        ],
    }


def results(seeds) -> Iterator[tuple[list[dict], list[str]]]:
    for seed in seeds:
        begun = time.perf_counter()
        one = run(seed)
        gap = max(found["gap of losses"] for found in one["runs"].values())
        took = time.perf_counter() - begun
        yield [one], [f"seed {seed}: losses {gap:.1e} apart; {took:.0f} s"]


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, results)
