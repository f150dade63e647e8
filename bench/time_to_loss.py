"""How soon the modern recipe reaches the loss that nanoGPT's CPU run ends with.

    MYGPT_DATA=FOLDER python -m bench.time_to_loss --nanogpt PATH [--seeds 3]

PATH is a checkout of nanoGPT, of which only model.py is used, and FOLDER has
tinyshakespeare.txt. nanoGPT's part is the run that its README gives for a CPU: 2,000
steps of 12 rows of 64 characters, 4 layers, 4 heads, width 128, no dropout; the other
settings are those of its config/train_shakespeare_char.py. Ours is RECIPES["modern"]
on a model of the same shape. The two take turns in one process, so that a machine that
drifts slows both; seconds are those of the training steps alone. The loss is the mean
over the whole validation set, in windows of 64, for both.
"""

import argparse
import math
import statistics
import sys
import time

import torch

from bench.machine import print_machine
from mygpt.data import Batches, load_corpus, split
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.tokenizers import CharTokenizer
from mygpt.training import RECIPES, Run, TrainingConfig, evaluate

T, C, H, L, B = 64, 128, 4, 4, 12
THEIR_STEPS, WARMUP, PEAK, FLOOR = 2000, 100, 1e-3, 1e-4
TURNS = 20
BAR = 0.2


class NanoGPT:
    """nanoGPT's model and optimizer in the loop of its train.py."""

    def __init__(self, path: str, vocab_size: int, data: torch.Tensor, seed: int):
        sys.path.insert(0, path)
        import model as theirs  # nanoGPT's

        torch.manual_seed(seed)
        shape = {"block_size": T, "n_layer": L, "n_head": H, "n_embd": C}
        config = theirs.GPTConfig(
            vocab_size=vocab_size, **shape, dropout=0.0, bias=False
        )
        self.model = theirs.GPT(config)
        self.optimizer = self.model.configure_optimizers(0.1, PEAK, (0.9, 0.99), "cpu")
        self.data, self.step, self.seconds = data, 0, 0.0

    def take_step(self) -> None:
        start = time.perf_counter()
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate()
        starts = torch.randint(len(self.data) - T, (B,))
        x = torch.stack([self.data[i : i + T] for i in starts])
        y = torch.stack([self.data[i + 1 : i + 1 + T] for i in starts])
        _, loss = self.model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.seconds += time.perf_counter() - start

    def learning_rate(self) -> float:
        if self.step < WARMUP:
            return PEAK * (self.step + 1) / (WARMUP + 1)
        done = (self.step - WARMUP) / (THEIR_STEPS - WARMUP)
        return FLOOR + (PEAK - FLOOR) * (1 + math.cos(math.pi * done)) / 2


def race(nanogpt: str, text: str, steps: int, seed: int) -> tuple[float, ...]:
    """Our loss and seconds, then nanoGPT's."""
    tokenizer = CharTokenizer.train(text)
    data, val_data = map(torch.tensor, split(tokenizer.encode(text)))
    torch.manual_seed(seed)
    ours = ModernGPT(ModernConfig(tokenizer.vocab_size, T, C, H, L))
    config = TrainingConfig(steps, B, seed=seed, **RECIPES["modern"])
    run = Run(ours, Batches(data, B, T, seed), config)
    peer = NanoGPT(nanogpt, tokenizer.vocab_size, data, seed)
    for turn in range(1, TURNS + 1):
        while run.step < steps * turn // TURNS:
            run.take_step()
        while peer.step < THEIR_STEPS * turn // TURNS:
            peer.take_step()
    here, there = (evaluate(model, val_data, T) for model in (ours, peer.model))
    return here, sum(run.history.seconds), there, peer.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nanogpt", required=True, metavar="PATH")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--steps", type=int, default=210, help="steps of the modern recipe"
    )
    options = parser.parse_args()
    print_machine()
    torch.set_num_threads(options.threads)
    text = load_corpus("tinyshakespeare")
    races = []
    for seed in range(1, options.seeds + 1):
        races.append(race(options.nanogpt, text, options.steps, seed))
        here, seconds, there, theirs = races[-1]
        print(
            f"seed {seed}: mygpt {here:.4f} after {options.steps} steps, "
            f"{seconds:.1f} s; nanoGPT {there:.4f} after {THEIR_STEPS} steps, "
            f"{theirs:.1f} s; ratio {seconds / theirs:.3f}",
            flush=True,
        )
    ratio = statistics.median(b / d for _, b, _, d in races)
    margin = min(c - a for a, _, c, _ in races)
    print(f"{'time, median of the seeds':28}{ratio:.3f}   (bar: at most {BAR})")
    print(f"{'smallest margin of the loss':28}{margin:.4f}   (bar: at least 0)")


if __name__ == "__main__":
    main()
