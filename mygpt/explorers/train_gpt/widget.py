"""Chapter 13: a GPT that is trained in the page, on a text of the reader's own."""

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import traitlets
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.data import load_corpus, split
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import (
    check_above_zero,
    check_member,
    check_whole,
    checked,
)
from mygpt.gpt import GPT, GPTConfig
from mygpt.tokenizers import CharTokenizer, TokenList, WordTokenizer

TOKENIZERS: dict[str, type[TokenList]] = {
    "characters": CharTokenizer,
    "words": WordTokenizer,
}
SIZES = {"small": (2, 64), "large": (4, 128)}  # blocks, channels
HEADS = 4
LENGTH = 64
SOURCES = ("given", "own")
MOST_RATE = 10.0
MOST_STEPS = 100_000
MOST_SEED = 99
SMOOTHING = (1, 0.01)  # as in train_gpt/text.mjs


class TrainGPT(Explorer):
    """A GPT that is trained in the page, watched on its way, and taken apart.

    It learns `text`, by default the stories about a harbour, or one that the reader
    pastes: the last tenth is held out. Its tokens are `pieces`, "characters" or
    "words". Its `size` is "small", 2 blocks of 64 channels, or "large", 4 blocks of
    128; it reads 64 positions. A run has `steps` steps of AdamW; the learning rate
    rises to `rate` and falls to a tenth, as chapter 13 has it. The first weights are
    drawn from `seed`, 0 to 99, or are those of `model`, a GPT of that size whose tokens
    are those of the text.
    """

    text = traitlets.Unicode()
    source = traitlets.Unicode()
    pieces = traitlets.Unicode()
    size = traitlets.Unicode()
    rate = traitlets.Float()
    steps = traitlets.Int()
    seed = traitlets.Int()
    shapes = traitlets.List()
    weights = traitlets.Bytes()

    def __init__(
        self,
        text: str | None = None,
        model: GPT | None = None,
        *,
        pieces: str = "characters",
        size: str = "small",
        rate: float = 0.006,
        steps: int = 2000,
        seed: int = 0,
        source: str = "given",
    ) -> None:
        text = load_corpus("stories") if text is None else text
        super().__init__(
            text=text,
            source=source,
            pieces=pieces,
            size=size,
            rate=rate,
            steps=steps,
            seed=seed,
            **_packed(model, shape_of(text, pieces, size)),
            description="A GPT that is trained in the page.",
        )

    def __repr__(self) -> str:
        length = len(TOKENIZERS[self.pieces].pieces(self.text))
        return f"TrainGPT({length:,} {self.pieces}, {self.size})"

    _checked = checked(
        source=(check_member, SOURCES),
        pieces=(check_member, list(TOKENIZERS)),
        size=(check_member, list(SIZES)),
        rate=(check_above_zero, MOST_RATE),
        steps=(check_whole, 1, MOST_STEPS),
        seed=(check_whole, 0, MOST_SEED),
    )

    def draw(self, figure: Figure) -> None:
        """What the losses of a run are compared with."""
        levels = levels_of(self.text, self.pieces)
        ax = figure.subplots()
        for (name, loss), look in zip(levels.items(), (":", "--"), strict=True):
            ax.axhline(loss, color=plots.PALETTE["ink"], linewidth=1, linestyle=look)
            ax.text(self.steps, loss, f"{name} {loss:.2f}", ha="right", va="bottom")
        highest = 1.15 * max(levels.values())
        ax.set(xlim=(0, self.steps), ylim=(0, highest), xlabel="step", ylabel="loss")


def shape_of(text: str, pieces: str, size: str) -> GPTConfig:
    """The shape of the model that the page trains on a text."""
    kind = check_member("pieces", pieces, list(TOKENIZERS))
    layers, channels = SIZES[check_member("size", size, list(SIZES))]
    tokens = TOKENIZERS[kind].train(text).vocab_size
    return GPTConfig(tokens, LENGTH, channels, HEADS, layers)


def _packed(model: GPT | None, shape: GPTConfig) -> dict[str, Any]:
    """A model's weights as traits: their names and shapes, and their float32."""
    if model is None:
        return {"shapes": [], "weights": b""}
    if model.config != shape:
        raise ValueError(f"model must have the shape {shape}, got {model.config}")
    weights = {
        name: one.detach().cpu().float().numpy().astype("<f4")
        for name, one in model.named_parameters()
    }
    return {
        "shapes": [[name, list(one.shape)] for name, one in weights.items()],
        "weights": b"".join(one.tobytes() for one in weights.values()),
    }


def levels_of(text: str, pieces: str) -> dict[str, float]:
    """The losses, in nats, of guessing and of a bigram model on the held-out part.

    The bigram model is the better of two that add much and little to every count.
    """
    tokenizer = TOKENIZERS[pieces].train(text)
    learn, held = split(tokenizer.encode(text))
    size = tokenizer.vocab_size
    counts, totals = Counter(pairwise(learn)), Counter(learn[:-1])
    bigram = min(
        np.mean(
            [
                np.log((totals[a] + amount * size) / (counts[a, b] + amount))
                for a, b in pairwise(held)
            ]
        )
        for amount in SMOOTHING
    )
    return {"guessing": math.log(size), "bigram model": float(bigram)}
