"""What many processes cost: tokens a second for each core, beside one process.

    python -m bench.distributed [--rounds 5] [--processes 2 …] [--out FILE]

One process and several take turns on the same global batch for each process's share:
every process has as many rows as the one has alone (weak scaling), one thread each. Two
shapes: a large batch, half a second a step or more, and a small one, where the exchange
of gradients shows. A ratio is that of neighbouring turns, so that a machine that drifts
slows both; with more processes than cores it says nothing and is left out. Only the
steps are timed, in every process, after three that are not. What chapter 17 prints is
in mygpt/data/stored/throughput.json: --out writes such a file.
"""

import argparse
import multiprocessing
import os
import platform
import socket
import statistics
import sys
import time

from mygpt.support.stored_runs import cpu_name, store_runs

SHAPES = {  # rows for each process, length, width, heads, layers, steps in a turn
    "48 x 128, width 192": (48, 128, 192, 6, 4, 4),
    "12 x 64, width 128": (12, 64, 128, 4, 4, 20),
}
V, BAR = 65, 0.9
KINDS = ("copies", "sharded")
LARGE = ("48 x 128, width 192",)


def print_machine() -> None:
    """Print the CPU's name, its cores, and the versions of Python and torch."""
    torch = sys.modules.get("torch")
    versions = f"Python {platform.python_version()}" + (
        f", torch {torch.__version__}" if torch else ""
    )
    print(f"{cpu_name()}, {os.cpu_count()} cores; {versions}", flush=True)


def turn(shape: tuple, kind: str, count: int) -> float:
    """Seconds for a step, the mean over a turn, in `count` processes."""
    context = multiprocessing.get_context("forkserver")
    with socket.socket() as one:
        one.bind(("localhost", 0))
        port = one.getsockname()[1]
    times = context.SimpleQueue()
    started = [
        context.Process(target=work, args=(times, rank, count, port, shape, kind))
        for rank in range(count)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
        if process.exitcode:
            raise SystemExit(f"a process ended with status {process.exitcode}")
    return statistics.mean(times.get() for _ in started)


def work(times, rank: int, count: int, port: int, shape: tuple, kind: str) -> None:
    import torch

    from mygpt.distributed import SharedRun, connected
    from mygpt.gpt import GPT, GPTConfig
    from mygpt.training import TrainingConfig

    torch.set_num_threads(1)
    os.environ |= {
        "RANK": str(rank),
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
    }
    B, T, C, H, L, steps = shape
    torch.manual_seed(0)
    model = GPT(GPTConfig(V, T, C, H, L))
    ids = torch.randint(V, (400_000,), generator=torch.Generator().manual_seed(0))
    config = TrainingConfig(steps=10**6, batch_size=B * count, progress=False)
    with connected():
        run = SharedRun(model, ids, config, shard=kind == "sharded")
        for _ in range(3):
            run.take_step()
        begun = time.perf_counter()
        for _ in range(steps):
            run.take_step()
        times.put((time.perf_counter() - begun) / steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--out", metavar="FILE")
    options = parser.parse_args()
    print_machine()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mygpt.distributed", "torch._dynamo"])
    cores = os.cpu_count() or 1
    counts = [count for count in options.processes if count <= cores]
    found, log = [], []
    for name, shape in SHAPES.items():
        alone, ratios = measured(shape, counts, options.rounds)
        log += told(name, alone, ratios, cores)
        found += [
            {
                "shape": name,
                "kind": kind,
                "processes": count,
                "alone": alone,
                "ratios": r,
            }
            for (kind, count), r in ratios.items()
        ]
    if options.out:
        store_runs(options.out, "python -m bench.distributed", log, found)


def measured(shape: tuple, counts: list[int], rounds: int) -> tuple[list, dict]:
    """Seconds of one process's steps, and what several reach of its tokens a second."""
    alone, ratios = [], {}
    for _ in range(rounds):
        for kind in KINDS:
            for count in counts:
                one = turn(shape, "copies", 1)
                alone.append(one)
                found = one / turn(shape, kind, count)
                ratios.setdefault((kind, count), []).append(found)
    return alone, ratios


def told(name: str, alone: list, ratios: dict, cores: int) -> list[str]:
    """The result in lines, which are printed."""
    seconds, tokens = statistics.median(alone), SHAPES[name][0] * SHAPES[name][1]
    lines = [
        f"{name}: one process {seconds:.3f} s a step, {tokens / seconds:,.0f} tokens/s"
    ]
    for (kind, count), found in ratios.items():
        with_bar = kind == "copies" and name in LARGE and count == min(2, cores)
        middle, low, high = statistics.median(found), min(found), max(found)
        bar = f"   (bar: at least {BAR})" if with_bar else ""
        lines.append(
            f"  {kind:8} on {count}: {middle:.3f} of it for each core, "
            f"{low:.3f} to {high:.3f}{bar}"
        )
    print(*lines, sep="\n", flush=True)
    return lines


if __name__ == "__main__":
    main()
