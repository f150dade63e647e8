"""The package's door: what is found at the top."""

import subprocess
import sys

import mygpt

PROMISED = [
    *("GPT", "GPTConfig", "generate", "train", "TrainingConfig", "load_gpt2"),
    *("BPETokenizer", "CharTokenizer", "WordTokenizer", "load_checkpoint"),
    *("load_corpus", "load_world_model"),
]
MODULES = ["by_hand", "bare", "distributed", "gpt", "training", "sampling"]
MODULES += ["tokenizers", "explorers", "check"]


def test_the_package_exports_what_people_look_for():
    assert set(PROMISED) <= set(mygpt.__all__)
    for name in mygpt.__all__:
        assert getattr(mygpt, name) is not None
    names = ", ".join([*PROMISED, *MODULES])
    code = f"from mygpt import {names}"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
