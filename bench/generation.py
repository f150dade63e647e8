"""Greedy text from a 124M GPT-2 with random weights, beside transformers' generate.

    python bench/generation.py [--threads 2] [--rounds 5]

Batch 1, float32, a prompt of 32 tokens and 128 new ones, both with a key-value cache,
both from the same weights, in turn. One token needs every weight once, so the memory's
bandwidth sets a limit. The bandwidth is measured in the same rounds, as the time to
sum a tensor of the weights' size.
"""

import argparse
import statistics
import tempfile
import time

import torch
from machine import print_machine
from transformers import GPT2LMHeadModel

from mygpt.gpt import GPT, GPTConfig
from mygpt.huggingface import save_gpt2
from mygpt.sampling import generate

PROMPT, NEW = 32, 128
BAR, BAR_OF_LIMIT = 1.1, 0.85


def seconds(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print_machine()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = GPT(GPTConfig.gpt2("small")).eval()
    with tempfile.TemporaryDirectory() as folder:
        save_gpt2(model, folder)
        theirs = GPT2LMHeadModel.from_pretrained(folder).eval()
    theirs.generation_config.pad_token_id = 0
    weights = sum(p.numel() for p in model.parameters())
    memory = torch.ones(weights)
    ids = torch.randint(50257, (1, PROMPT))

    def ours() -> torch.Tensor:
        return generate(model, ids, NEW, greedy=True)

    def peer() -> torch.Tensor:
        return theirs.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW,
            min_new_tokens=NEW, do_sample=False, use_cache=True,
        )  # fmt: skip

    same = torch.equal(ours(), peer())
    rounds = [
        (seconds(ours) / NEW, seconds(peer) / NEW, seconds(memory.sum))
        for _ in range(options.rounds)
    ]
    here, there, read = (1 / statistics.median(t) for t in zip(*rounds, strict=True))
    ratio = statistics.median(b / a for a, b, _ in rounds)
    share = statistics.median(c / a for a, _, c in rounds)
    print(f"medians of {options.rounds} rounds, {options.threads} threads")
    print(f"{'the same tokens':32}{'yes' if same else 'NO'}")
    print(f"{'mygpt':32}{here:6.1f} tokens/s")
    print(f"{'transformers':32}{there:6.1f} tokens/s")
    bandwidth = 4e-9 * weights * read
    print(f"{'memory limit':32}{read:6.1f} tokens/s  ({bandwidth:.1f} GB/s)")
    print(f"{'mygpt / transformers':32}{ratio:6.2f}   (bar: at least {BAR})")
    print(f"{'mygpt / memory limit':32}{share:6.2f}   (bar: at least {BAR_OF_LIMIT})")


if __name__ == "__main__":
    main()
