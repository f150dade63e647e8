"""Trained models in the workbook's form, for the last task."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch
from torch import Tensor

from mygpt.gpt import GPT
from mygpt.tokenizers import load_tokenizer
from mygpt.world.corpus import STOP


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A trained GPT's weights, named as for the task `gpt`, and its tokens.

    encode: from a text to a list of ids.
    decode: back.
    """

    weights: dict
    num_heads: int
    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], str]


def world_model() -> TrainedModel:
    """Return the ordinary model of the tiny world, which comes with the package."""
    from mygpt.inside.world_models import load_world_model

    made = load_world_model("ordinary")
    words = made.world.words
    ids = {word: i for i, word in enumerate(words)}

    def encode(text: str) -> list[int]:
        unknown = [word for word in text.split() if word not in ids]
        if unknown:
            raise ValueError(f"the tiny world has no word {unknown[0]!r}")
        return [ids[word] for word in (STOP, *text.split())]  # rows begin like this

    def decode(numbers: list[int]) -> str:
        return " ".join(words[int(i)] for i in numbers)

    return TrainedModel(*weights_of(made.model), encode, decode)


def gpt2_model(folder: str | Path) -> TrainedModel:
    """Return the model of a Hugging Face GPT-2 folder, with its tokenizer."""
    from mygpt.huggingface import load_gpt2

    model, tokenizer = load_gpt2(folder), load_tokenizer(folder)
    return TrainedModel(*weights_of(model), tokenizer.encode, tokenizer.decode)


def weights_of(model: GPT) -> tuple[dict, int]:
    """Return a GPT's weights and number of heads; matrices act on rows, x W."""
    stored = model.state_dict()
    weights = {
        "token": stored["token.embedding.weight"].clone(),
        "position": stored["position.weight"].clone(),
        "blocks": [block_weights(block.state_dict()) for block in model.blocks],
        "ln_f_weight": stored["ln_f.weight"].clone(),
        "ln_f_bias": stored["ln_f.bias"].clone(),
    }
    return weights, model.config.num_heads


def block_weights(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a block by the names of the task `block`."""
    layers = {f"_{letter}": f"mha.W_{letter}" for letter in "QKVO"}
    named = {}
    for name, path in {**layers, "1": "mlp.fc1", "2": "mlp.fc2"}.items():
        matrix = stored[f"{path}.weight"].T
        none = torch.zeros(matrix.shape[1])
        named[f"W{name}"] = matrix.clone()
        named[f"b{name}"] = stored.get(f"{path}.bias", none).clone()
    for name, part in product(("ln1", "ln2"), ("weight", "bias")):
        named[f"{name}_{part}"] = stored[f"{name}.{part}"].clone()
    return named
