"""A full-size GPT-2, 124M random weights: logits, greedy text, and memory to load it.

    python -m bench.gpt2_full_size [--seeds 3]

The checkpoint is made by transformers in a temporary folder (0.5 GB), in one file and
in shards. Logits are compared at three lengths up to the full context of 1,024, greedy
text over 100 tokens. Memory is what a process holds beyond its files (RssAnon, Linux
alone), above what the imports took: at its peak while `load_gpt2` runs, and after it.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from bench.machine import print_machine
from mygpt.huggingface import load_gpt2
from mygpt.sampling import generate

LENGTHS = (32, 257, 1024)
NEW = 100
BAR, BAR_OF_MEMORY = 1e-5, 1.15

LOADING = """
import sys, threading
from mygpt.huggingface import load_gpt2

def anonymous():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon:"):
            return 1024 * int(line.split()[1])

peak, done = 0, threading.Event()
def watch():
    global peak
    while not done.wait(0.001):
        peak = max(peak, anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
before = anonymous()
model = load_gpt2(sys.argv[1])
done.set()
watcher.join()
weights = sum(4 * p.numel() for p in model.parameters())
print((peak - before) / weights, (anonymous() - before) / weights)
"""


def their_model(seed: int) -> GPT2LMHeadModel:
    torch.manual_seed(seed)
    model = GPT2LMHeadModel(GPT2Config(bos_token_id=None, eos_token_id=None)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or ".ln" in name:
                parameter += 0.1 * torch.randn_like(parameter)
    return model


@torch.no_grad()
def compare(folder: Path, theirs: GPT2LMHeadModel) -> tuple[float, bool]:
    """The largest relative difference of logits, and whether greedy text is equal."""
    ours = load_gpt2(folder)
    differences = []
    for length in LENGTHS:
        ids = torch.randint(50257, (1, length))
        expected = theirs(ids).logits
        largest = (ours(ids)[0] - expected).abs().max() / expected.abs().max()
        differences.append(largest.item())
    ids = torch.randint(50257, (1, LENGTHS[0]))
    greedy = theirs.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, do_sample=False
    )
    return max(differences), torch.equal(generate(ours, ids, NEW, greedy=True), greedy)


def memory(folder: Path) -> tuple[float, float]:
    """Anonymous memory in a fresh process, peak and end, per byte of weights."""
    command = [sys.executable, "-c", LOADING, str(folder)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return tuple(map(float, said.split()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print_machine()
    print(f"{'':24}{'logits':>9}  {'greedy text':12}memory, peak and end / weights")
    for seed in range(options.seeds):
        theirs = their_model(seed)
        for name, shard in (("one file", "10GB"), ("shards of 100 MB", "100MB")):
            with tempfile.TemporaryDirectory() as folder:
                theirs.save_pretrained(folder, max_shard_size=shard)
                difference, same = compare(Path(folder), theirs)
                peak, end = memory(Path(folder))
            print(
                f"{f'seed {seed}, {name}':24}{difference:9.1e}  "
                f"{'equal' if same else 'DIFFERENT':12}{peak:.3f} {end:.3f}",
                flush=True,
            )
    print(f"bars: logits at most {BAR}, text equal, memory at most {BAR_OF_MEMORY}")


if __name__ == "__main__":
    main()
