"""What many processes cost: tokens a second for each core, beside one process.

    python bench/distributed.py [--rounds 5] [--processes 2 …] [--json FILE]

One process and several take turns on the same global batch for each process's share:
every process has as many rows as the one has alone (weak scaling), one thread each. Two
shapes: a large batch, half a second a step or more, and a small one, where the exchange
of gradients shows. A ratio is that of neighbouring turns, so that a machine that drifts
slows both; with more processes than cores it says nothing and is left out. Only the
steps are timed, in every process, after three that are not.
"""

import argparse
import json
import multiprocessing
import os
import socket
import statistics
import time

from machine import print_machine

from mygpt.runs import cpu_name

SHAPES = {  # rows for each process, length, width, heads, layers, steps in a turn
    "48 x 128, width 192": (48, 128, 192, 6, 4, 4),
    "12 x 64, width 128": (12, 64, 128, 4, 4, 20),
}
V, BAR = 65, 0.9
KINDS = ("copies", "sharded")


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
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    print_machine()
    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["mygpt.distributed"]
    )
    cores = os.cpu_count() or 1
    counts = [count for count in options.processes if count <= cores]
    found = []
    for name, shape in SHAPES.items():
        rounds: dict[tuple, list[float]] = {}
        alone = []
        for _ in range(options.rounds):
            one = turn(shape, "copies", 1)
            alone.append(one)
            for kind in KINDS:
                for count in counts:
                    ratio = one / turn(shape, kind, count)
                    rounds.setdefault((kind, count), []).append(ratio)
        tokens = shape[0] * shape[1] / statistics.median(alone)
        print(
            f"{name}: one process {statistics.median(alone):.3f} s a step, "
            f"{tokens:,.0f} tokens/s"
        )
        for (kind, count), ratios in rounds.items():
            middle = statistics.median(ratios)
            bar = f"   (bar: at least {BAR})" if kind == "copies" else ""
            bar = bar if name.startswith("48") and count == min(2, cores) else ""
            print(
                f"  {kind:8} on {count}: {middle:.3f} of it for each core, "
                f"{min(ratios):.3f} to {max(ratios):.3f}{bar}"
            )
            found.append(
                {
                    "shape": name,
                    "kind": kind,
                    "processes": count,
                    "ratios": ratios,
                    "alone": alone,
                }
            )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(
                {"cpu": cpu_name(), "cores": cores, "runs": found}, file, indent=1
            )


if __name__ == "__main__":
    main()
