"""Encoding a megabyte with GPT-2's vocabulary, beside the `tokenizers` library.

    MYGPT_DATA=FOLDER python -m bench.tokenizer_speed

FOLDER holds tinyshakespeare.txt and, in gpt2, vocab.json and merges.txt. Ours is Python
on one core, its cache emptied before each round; the library is compiled.
"""

import os
import statistics
import sys
import time
from pathlib import Path

from bench.machine import print_machine

os.environ["RAYON_NUM_THREADS"] = "1"

from tokenizers import ByteLevelBPETokenizer

from mygpt.tokenizers import BPETokenizer

ROUNDS = 5
BAR = 3.0  # seconds for a megabyte


def seconds(encode, text: str) -> float:
    start = time.perf_counter()
    encode(text)
    return time.perf_counter() - start


def main() -> None:
    print_machine()
    if not os.environ.get("MYGPT_DATA"):
        sys.exit(
            "set MYGPT_DATA to the folder that holds tinyshakespeare.txt and gpt2/"
        )
    data = Path(os.environ["MYGPT_DATA"])
    ours = BPETokenizer.load(data / "gpt2")
    files = [str(data / "gpt2" / name) for name in ("vocab.json", "merges.txt")]
    theirs = ByteLevelBPETokenizer(*files)
    text = (data / "tinyshakespeare.txt").read_text(encoding="utf-8")
    texts = {
        "a megabyte of Shakespeare": text.encode()[: 10**6].decode(),
        "one word of 100,000 letters": "".join(filter(str.isalpha, text))[: 10**5],
        "100,000 times one letter": "a" * 10**5,
    }
    print(f"{'seconds, median of ' + str(ROUNDS):32}{'mygpt':>8}{'library':>10}")
    for name, sample in texts.items():
        if ours.encode(sample) != theirs.encode(sample).ids:
            sys.exit(f"{name}: the ids differ")
        here, there = [], []
        for _ in range(ROUNDS):
            ours.cache.clear()
            here.append(seconds(ours.encode, sample))
            there.append(seconds(theirs.encode, sample))
        print(
            f"{name:32}{statistics.median(here):8.2f}{statistics.median(there):10.2f}"
        )
    print(f"bar for the megabyte: at most {BAR} s")


if __name__ == "__main__":
    main()
