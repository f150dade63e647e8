"""One explorer of each kind, with a setting of its own, for the tests."""

import re

import numpy as np
import torch
from helpers.live_models import live as live_model  # noqa: F401
from torch.nn import functional as F

from mygpt import explorers
from mygpt.inside import memory as measured
from mygpt.inside.world_models import load_world_model
from mygpt.tokenizers import BPETokenizer

# The folders of the explorers, whose names the functions below have.
STEMS = [re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in explorers.__all__]
FORMS = {
    "ReLU": F.relu,
    "GELU (erf)": F.gelu,
    "GELU (tanh)": lambda x: F.gelu(x, approximate="tanh"),
    "SiLU": F.silu,
}


def curves(points=401, forms=tuple(FORMS)):
    x = torch.linspace(-2, 2, points, dtype=torch.float64, requires_grad=True)
    values = {name: FORMS[name](x) for name in forms}
    slopes = {
        name: torch.autograd.grad(y.sum(), x, retain_graph=True)[0]
        for name, y in values.items()
    }
    return x.detach(), {name: y.detach() for name, y in values.items()}, slopes


def activations(**settings):
    x, values, slopes = curves()
    phi = torch.special.ndtr(x)
    pair = ("GELU (erf)", "GELU (tanh)")
    return explorers.Activations(x, values, slopes, phi, compare=pair, **settings)


AXES = {
    "kinds": ("plain", "residual"),
    "gains": (0.5, 1.0, 3.0),
    "widths": (3, 5, 7, 11, 13),
    "biases": (True, False),
    "depths": (7, 2, 11),
}


def stacks(seed=0, axes=AXES):
    shape = [len(axis) for axis in axes.values()]
    draw = np.random.default_rng(seed)
    array = draw.uniform(-80, 3, (*shape, max(axes["depths"]) + 1))
    for d, depth in enumerate(axes["depths"]):
        array[..., d, depth + 1 :] = np.nan
    return array


def depth(log_std=None, log_grad=None, **settings):
    log_std = stacks(0) if log_std is None else log_std
    log_grad = stacks(1) if log_grad is None else log_grad
    return explorers.Depth(log_std, log_grad, **(AXES | settings))


def layer_norm():
    return explorers.LayerNorm([1, 2, 3, 4, -2.5], gamma=1.5)


def block_walk():
    array = np.random.default_rng(0).normal(size=(3, 7))
    stages = {"x": array, "ln1": 2 * array, "fc1": np.tile(array, 4)}
    return explorers.BlockWalk(stages, ["I", "love", "AI"], stage=1, position=2)


def attention(**settings):
    scores = np.random.default_rng(0).normal(size=(3, 5, 5))
    words = ["I", "love", "AI", "!", "!"]
    return explorers.Attention(scores, words, **({"head": 2} | settings))


def sampling():
    logits = np.random.default_rng(0).normal(size=7)
    return explorers.Sampling(logits, list("abcdefg"), prompt="x", top_k=3)


def memory(**settings):
    hidden = np.random.default_rng(0).normal(size=(3, 5))
    pairs = [[(f"text {n}", 1.5), ("b", -0.5)] for n in range(5)]
    settings |= {"triggers": pairs, "promoted": pairs[::-1]}
    return explorers.Memory(hidden, ["I", "love", "AI"], **settings)


def answering_memory(**settings):
    """A memory whose neurons write words."""
    draw = np.random.default_rng(1)
    written = {"values": draw.normal(size=(5, 4)), "vectors": draw.normal(size=(9, 4))}
    words = [f"word {i}" for i in range(9)]
    return memory(words=words, norms=[1.0, 0.5, 2.0], **written, **settings)


def france(**settings):
    """A trained network at "the capital of france is": world, prompt and explorer."""
    made = load_world_model("attention-first")
    model, asked = made.model, made.prompts(made.world.facts()[:1])
    end = asked.last.item() + 1
    given = {"triggers": [[]] * 256, "token": end - 1, "words": made.words}
    given["values"] = measured.as_read(model, measured.values(model, 1))
    given["norms"] = measured.divisor(model, asked.ids)[0, :end]
    explorer = explorers.Memory(
        measured.coefficients(model, asked.ids)[1][0, :end],
        [made.words[i] for i in asked.ids[0, :end]],
        vectors=model.token.embedding.weight,
        **given | settings,
    )
    return made, asked, explorer


def tokens(**settings):
    bpe = BPETokenizer.train("the cat sat on the mat, the cat", vocab_size=262)
    return explorers.Tokens(bpe, **({"text": "the cat's mat", "piece": 2} | settings))


def descent():
    return explorers.Descent("network", rule="adam", rate=0.03, width=5, steps=20)


def train_stack():
    setting = {"depth": 3, "task": "long", "steps": 7}
    beside = {"wiring": "plain", "activation": "gelu"}
    return explorers.TrainStack("pre-norm", **setting, beside=beside)


def shapes():
    return explorers.Shapes("medium", num_layers=7, bars="shares")


def scale():
    return explorers.Scale("GPT-2 XL", "H100", devices=64, spread="optimizer")


def train_gpt(**settings):
    text = "one sees a sea, and the sea sees one.\n" * 60
    return explorers.TrainGPT(text, **({"steps": 200, "seed": 3} | settings))


# By the names that the page has for them.
EVERY = {stem.replace("_", "-"): globals()[stem] for stem in STEMS}
