"""Stored runs: results that take longer than a chapter may, with what made them."""

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from mygpt.support.files import read_json, write_atomically

FOLDER = Path(__file__).parents[1] / "data" / "stored"


def store_runs(
    path: str | Path, command: str, log: list[str], runs: list[dict]
) -> None:
    """Write results, one on a line, with their command, its log, versions and CPU."""
    made = {
        "command": command,
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("torch", "numpy")},
        "cpu": f"{cpu_name()}, {os.cpu_count()} cores",
        "log": log,
    }
    head = json.dumps(made, indent=1, allow_nan=False).removesuffix("\n}")
    lines = ",\n".join(json.dumps(rounded(run), allow_nan=False) for run in runs)
    text = f'{head},\n "runs": [\n{lines}\n ]\n}}\n'
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))


def make_runs(
    script: str,
    doc: str,
    seeds: Sequence[int],
    results: Callable[[Sequence[int]], Iterable[tuple[list[dict], list[str]]]],
) -> None:
    """Be the command of a module of `runs`, which stores a file of `mygpt/data/stored`.

    `results` takes the seeds and yields runs with the lines of their log, as they come.
    """
    name = Path(script).stem
    out = FOLDER / f"{name}.json"
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=seeds)
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args()
    runs, log = [], []
    for found, lines in results(options.seeds):
        runs += found
        log += lines
        print(*lines, sep="\n", file=sys.stderr, flush=True)
    store_runs(options.out, f"python -m runs.{name}", log, runs)


def each_seed(run: Callable[[int], dict], *told: str) -> Callable:
    """Make the `results` of a module that runs once a seed, and logs parts of a run."""

    def results(seeds: Sequence[int]) -> Iterable[tuple[list[dict], list[str]]]:
        for seed in seeds:
            one = run(seed)
            yield [one], [f"seed {seed}: {', '.join(f'{one[part]}' for part in told)}"]

    return results


def load_runs(name: str) -> dict:
    """Read a stored result: command, versions, cpu, log and runs."""
    return read_json(FOLDER / f"{name}.json")


def rounded(found: object, digits: int = 4) -> object:
    """Round numbers to so many significant digits, in lists and dictionaries too."""
    if isinstance(found, float):
        return float(f"{found:.{digits}g}")
    if isinstance(found, dict):
        return {name: rounded(value, digits) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [rounded(value, digits) for value in found]
    return found


def cpu_name() -> str:
    """The processor's name, with family and model if the system gives them."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = dict(re.findall(r"^(model name|cpu family|model)\s*: (.+)$", told, re.M))
    name = found.get("model name", platform.machine())
    numbers = [
        f"{key.split()[-1]} {found[key]}"
        for key in ("cpu family", "model")
        if key in found
    ]
    return f"{name} ({', '.join(numbers)})" if numbers else name
