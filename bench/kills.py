"""Training runs killed at random moments: is one lost, or does one end differently?

    python -m bench.kills [--kills 200] [--seed 0]

A small model is trained by `mygpt train`, a checkpoint at every step; in every second
run, each checkpoint is then saved a second time under the same step. The process is
killed (SIGKILL) a random time after it reported a random number of checkpoints, and
perhaps again while it resumes.
After each kill the newest checkpoint must be at least as far as the last one that the
process reported, and `--resume` must end with the same bits as the run that nobody
stopped. Processes are forked from one that has imported everything, so that kills fall
into training and saving, not into imports (POSIX alone).
"""

import argparse
import contextlib
import io
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import torch

from bench.machine import print_machine
from mygpt import training
from mygpt.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from mygpt.cli import commands

TEXT = "she sells sea shells by the sea shore. " * 20
STEPS = 8
SETTINGS = [
    *("--layers=1", "--heads=2", "--width=16", "--length=16", "--batch-size=3"),
    *(f"--steps={STEPS}", "--save-every=1", "--quiet"),
]


def start(out: Path, corpus: Path, twice: bool) -> tuple[int, int]:
    """Fork a process that begins or resumes the run; return its id and its reports."""
    reports, write = os.pipe()
    process = os.fork()
    if process:
        os.close(write)
        return process, reports
    status = 1
    try:
        os.close(reports)
        training.save_checkpoint = reporting(write, twice)
        options = ["--resume", "--quiet"] if checkpoints(out) else SETTINGS
        with contextlib.redirect_stdout(io.StringIO()):
            status = commands.main(["train", str(corpus), "--out", str(out), *options])
    finally:
        os._exit(status)


def reporting(write: int, twice: bool):
    """Make a `save_checkpoint` that reports each step it has saved."""

    def save(folder, model, tokenizer, state):
        for _ in range(1 + twice):
            path = save_checkpoint(folder, model, tokenizer, state)
            os.write(write, bytes([state["step"]]))
        return path

    return save


def kill_after(
    count: int, seconds: float, process: int, reports: int
) -> tuple[bool, int]:
    """Kill a process `seconds` after it has reported `count` checkpoints.

    Return whether it was killed before its end, and the last step that it reported.
    """
    last, told = 0, b"?"
    while count > 0 and told:
        told = os.read(reports, 1)
        last, count = (told[-1] if told else last), count - 1
    end = time.monotonic() + seconds
    while told and (left := end - time.monotonic()) > 0:
        if select.select([reports], [], [], left)[0]:
            told = os.read(reports, 64)
            last = told[-1] if told else last
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    while told := os.read(reports, 64):
        last = told[-1]
    os.close(reports)
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status):
        sys.exit("a run ended with an error")
    return os.WIFSIGNALED(status), last


def finish(out: Path, corpus: Path) -> None:
    process, reports = start(out, corpus, twice=False)
    killed, _ = kill_after(STEPS + 1, 0, process, reports)
    if killed:
        sys.exit(f"{out}: a resumed run was killed")  # it reports at most STEPS


def bits(out: Path) -> list[bytes]:
    last = out / f"step-{STEPS:08d}"
    return [
        (last / f"{name}.safetensors").read_bytes() for name in ("model", "training")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print_machine()
    torch.set_num_threads(1)
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        corpus, whole, out = (Path(folder, name) for name in ("text", "whole", "run"))
        corpus.write_text(TEXT, encoding="utf-8")
        # Here, not in a fork: what PyTorch imports at its first step is then there.
        commands.main(["train", str(corpus), "--out", str(whole), *SETTINGS])
        begun = time.monotonic()
        finish(out, corpus)
        life = time.monotonic() - begun
        kills, before_any, resumed_and_killed, saved_twice = 0, 0, 0, 0
        while kills < options.kills:
            shutil.rmtree(out, ignore_errors=True)
            twice = kills % 2 == 1
            while True:  # killed, and with luck killed again while it goes on
                again = bool(checkpoints(out))
                process, reports = start(out, corpus, twice)
                count = draw.randrange(STEPS * (1 + twice))
                pause = draw.uniform(0, 1.5 * life / STEPS)
                killed, last = kill_after(count, pause, process, reports)
                if killed:
                    kills += 1
                    resumed_and_killed += again
                    saved_twice += twice
                    found = load_checkpoint(out)[2]["step"] if checkpoints(out) else 0
                    before_any += found == 0
                    if found < last:
                        sys.exit(f"LOST: step {last} was saved, step {found} is found")
                if not killed or kills >= options.kills or draw.random() < 0.5:
                    break
            finish(out, corpus)
            if bits(out) != bits(whole):
                sys.exit(f"OTHER BITS after kill {kills}")
            print(f"\r{kills} kills", end="", file=sys.stderr, flush=True)
    print(
        f"{kills} kills: 0 checkpoints lost, every run ended with the same bits\n"
        f"{before_any} before the first checkpoint, {resumed_and_killed} of a resumed "
        f"run, {saved_twice} of runs that save every step twice"
    )


if __name__ == "__main__":
    main()
