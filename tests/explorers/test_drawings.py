"""What each explorer draws for readers without JavaScript, line by line."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers import examples
from helpers.drawings import drawing
from helpers.live_models import PROMPT, live

from mygpt import BPETokenizer, explorers

STORED = Path(__file__).with_name("drawings.json")
STACKS = {
    "one": {"depth": 5},
    "one block": {"depth": 1},
    "two": {"depth": 5, "beside": {"wiring": "plain", "depth": 3}},
    "two of a wiring": {"wiring": "plain", "depth": 7, "beside": {"gain": 2.0}},
    "long": {"depth": 3, "task": "long", "activation": "gelu"},
    "diverged": {"depth": 40, "rate": 10.0, "beside": {"rate": 1e-4}},
    "lost at once": {"depth": 40, "gain": 10.0},
    "no signal": {"wiring": "plain", "depth": 40, "gain": 1e-9},
}
REWRITTEN = [{"kind": "rewrite", "prompt": PROMPT, "word": "lemn"}]


def with_slopes():
    x, values, slopes = examples.curves(8)
    return explorers.Activations(x, values, slopes, visible=["GELU (erf)"])


def update():
    stages = {"x": [[6.0, -3.0]], "attn": [[1.5, 0.5]]}
    return explorers.BlockWalk(stages, ["I"])


def cut():
    logits = np.random.default_rng(1).normal(size=12)
    return explorers.Sampling(logits, list("abcdefghijkl"), top_p=0.7, temperature=0.5)


def long_tokens():
    scores = np.random.default_rng(2).normal(size=(1, 30, 30))
    words = [f"word-number-{i}" for i in range(30)]
    return explorers.Attention(scores, words, causal=False, row=29)


def many_merges():
    word = "internationalisation"
    bpe = BPETokenizer.train(" ".join([word] * 3), vocab_size=290)
    return explorers.Tokens(bpe, word)


def ten_layers():
    axes = examples.AXES | {"depths": (10,)}
    return explorers.Depth(*(examples.stacks(n, axes) for n in (0, 1)), **axes)


OTHERS = ("descent", "live_model", "train_gpt", "train_stack")  # named below
PLAIN = [stem for stem in examples.STEMS if stem not in OTHERS]
CASES = {
    **{stem.replace("_", " "): getattr(examples, stem) for stem in PLAIN},
    "activations, slopes": with_slopes,
    "depth, some": lambda: examples.depth(visible=["residual"], layer=3),
    "depth, ten layers": ten_layers,
    "layer norm, equal": lambda: explorers.LayerNorm([5.0, 5.0, 5.0], beta=0.7),
    "block walk, an update": update,
    "attention, a row": lambda: examples.attention(row=1),
    "attention, long": long_tokens,
    "sampling, cut": cut,
    "memory, a neuron": lambda: examples.memory(neuron=2),
    "memory with words": examples.answering_memory,
    "tokens, many merges": many_merges,
    "training a GPT": examples.train_gpt,
    "live": live,
    "live, small": lambda: live(form="small"),
    "live, edited": lambda: live(edits=REWRITTEN),
    "live, small, edited": lambda: live(form="small", edits=REWRITTEN),
    "shapes, amounts": lambda: explorers.Shapes("xl", length=512),
    "shapes, alone": lambda: explorers.Shapes("xl", compare=""),
    "shapes, itself": lambda: explorers.Shapes("xl", compare="xl"),
    "shapes, long": lambda: explorers.Shapes(max_seq_len=5000, length=5000),
    "scale, one": lambda: explorers.Scale("GPT-2 small"),
    **{
        f"descent, {view}, {steps} steps": (
            partial(explorers.Descent, view, steps=steps, rate=0.2)
        )
        for view in ("one", "two", "network")
        for steps in (0, 7)
    },
    **{
        f"train stack, {name}, {steps} steps": (
            partial(explorers.TrainStack, **STACKS[name], steps=steps)
        )
        for name in STACKS
        for steps in (0, 5)
    },
}


@pytest.mark.parametrize("name", CASES)
def test_the_still_holds_what_is_stored(name, as_stored):
    as_stored(STORED, name, drawing(CASES[name]()))
