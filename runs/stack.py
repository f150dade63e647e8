"""Train deep stacks with the code of the explorer TrainStack, for chapters 7 to 9.

    python -m runs.stack [--seeds 0 1 2 3 4] [--out FILE]

Two spirals; depths and wirings at two gains, and wirings at five learning rates. Needs
node on the PATH. About 6 minutes on one core.
"""

import json
import math
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from mygpt.support.stored_runs import make_runs
from runs import between, of_every_run

SEEDS = tuple(range(5))
# Another release of node may round a cosine in another way, and training magnifies it.
RTOL = None
GUESSING = math.log(2)
WIRINGS = ("plain", "residual", "pre-norm", "post-norm")
DEPTHS = (4, 16, 32)
GAINS = (1.0, 1.7)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1)
LONG = {"task": "long", "rate": 0.003, "steps": 1500}
SHORT = {"task": "short", "gain": 1.0, "depth": 32, "steps": 300}
CASES = [
    *(
        {**LONG, "wiring": wiring, "gain": gain, "depth": depth}
        for gain, wiring, depth in product(GAINS, WIRINGS, DEPTHS)
    ),
    {**LONG, "wiring": "plain", "gain": 2.4, "depth": 32, "rate": 0.001},
    *(
        {**SHORT, "wiring": wiring, "rate": rate}
        for wiring, rate in product(WIRINGS, RATES)
    ),
]


def trained(cases: list[dict]) -> list[dict]:
    """What node answers for each case: first gradient, last loss, share right."""
    node = shutil.which("node")
    if node is None:
        raise SystemExit("node is not on the PATH: these runs are made by node")
    script = Path(__file__).with_suffix(".mjs")
    lines = "\n".join(map(json.dumps, cases))
    done = subprocess.run(
        [node, str(script)], input=lines, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def results(seeds) -> Iterator[tuple[list[dict], list[str]]]:
    version = subprocess.run(["node", "--version"], capture_output=True, text=True)
    yield [], [f"node {version.stdout.strip()}"]
    for case in CASES:
        given = [{**case, "activation": "relu", "seed": seed} for seed in seeds]
        found = [
            {
                **{name: case[name] for name in ("task", "wiring", "gain", "rate")},
                "layers": case["depth"],
                "steps": case["steps"],
                "seed": seed,
                **end,
            }
            for seed, end in zip(seeds, trained(given), strict=True)
        ]
        ends = " ".join(
            f"diverged at {one['lost']}"
            if one["loss"] is None
            else f"{one['loss']:.2f} ({100 * one['right']:.0f} %)"
            for one in found
        )
        what = f"{case['task']}, {case['wiring']}, {case['depth']} blocks"
        yield found, [f"{what}, gain {case['gain']:g}, rate {case['rate']:g}: {ends}"]


@of_every_run
def claims(run: dict) -> dict:
    """What chapters 7 to 9 say of these runs."""

    def of(name: str, **case) -> np.ndarray:
        """A column of the runs with these settings, one for each seed."""
        chosen = [run[setting] == value for setting, value in case.items()]
        return run[name][np.all(chosen, axis=0)]

    def right(*wirings: str, **case) -> np.ndarray:
        """The shares of new points right, of one wiring or several at each seed."""
        return np.array([of("right", wiring=wiring, **case) for wiring in wirings])

    def guesses(**case) -> tuple:
        near = abs(of("loss", **case) - GUESSING) < 0.01
        return near, abs(of("right", **case) - 0.5) < 0.03

    usual, large = ({"task": "long", "gain": gain} for gain in GAINS)
    plain = {"wiring": "plain", **usual}
    at = {"task": "short", "layers": 32}
    first = of("gradient", layers=32, **plain)
    fast = of("loss", wiring="residual", rate=0.03, **at)
    lost = of("lost", wiring="residual", rate=0.1, **at)
    norms = ("pre-norm", "post-norm")
    seeds = right("post-norm", layers=32, **usual)
    pre, post = right(*norms, rate=0.01, **at)
    return {
        "4 plain blocks learn": right("plain", layers=4, **usual) > 0.95,
        "16 plain blocks guess": guesses(layers=16, **plain),
        "32 plain blocks guess": guesses(layers=32, **plain),
        "the first gradient is below 1e-21": between(0, first.max(), 1e-21),
        "residual learns at every depth": right("residual", **usual) > 0.95,
        "gain 1.7: 16 plain blocks learn": right("plain", layers=16, **large) > 0.85,
        "gain 1.7: 32 plain blocks guess": guesses(wiring="plain", layers=32, **large),
        "gain 2.4 and a lower rate: most of 32 plain blocks learn": (
            (right("plain", gain=2.4, task="long") > 0.9).sum() >= 3
        ),
        "residual and pre-norm learn at every depth and gain": (
            right("residual", "pre-norm", task="long") > 0.87
        ),
        "gain 1.7: 32 blocks of post-norm guess": (
            guesses(wiring="post-norm", layers=32, **large)
        ),
        "16 blocks of post-norm learn": right("post-norm", layers=16, task="long")
        > 0.95,
        "32 blocks of post-norm: seeds disagree": (
            seeds.min() < 0.6,
            seeds.max() > 0.95,
        ),
        "plain guesses at each lower rate": [
            guesses(wiring="plain", rate=rate, **at) for rate in RATES[:4]
        ],
        "at 0.003 residual and pre-norm learn": (
            right("residual", "pre-norm", rate=0.003, **at) > 0.95
        ),
        "at 0.03 residual is far above guessing at four of five": (
            (fast > 1000).sum() == 4,
            fast.min() < 0.1,
        ),
        "at 0.03 pre-norm learns": right("pre-norm", rate=0.03, **at) > 0.9,
        "at 0.1 residual diverges": (
            np.isnan(of("loss", wiring="residual", rate=0.1, **at)),
            between(20, lost, 100),
        ),
        "at 0.1 pre-norm learns": right("pre-norm", rate=0.1, **at) > 0.7,
        "post-norm learns at the lower rates": [
            right(*norms, rate=rate, **at) > 0.94 for rate in RATES[:2]
        ],
        "at 0.01 post-norm does not": post < 0.7,
        "at 0.01 pre-norm is ahead at every seed": pre > post + 0.1,
    }


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, results)
