"""Trained models in the workbook's form, for the last task."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

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


@torch.no_grad()
def weights_of(model: GPT) -> tuple[dict, int]:
    """Return a GPT's weights and number of heads; matrices act on rows, x W."""
    weights = {
        "token": model.token.embedding.weight.detach().clone(),
        "position": model.position.weight.detach().clone(),
        "blocks": [block_weights(block) for block in model.blocks],
        "ln_f_weight": model.ln_f.weight.detach().clone(),
        "ln_f_bias": model.ln_f.bias.detach().clone(),
    }
    return weights, model.config.num_heads


def block_weights(block: nn.Module) -> dict[str, Tensor]:
    named = {}
    for name, layer in (
        *((f"_{letter}", getattr(block.mha, f"W_{letter}")) for letter in "QKVO"),
        ("1", block.mlp.fc1),
        ("2", block.mlp.fc2),
    ):
        named[f"W{name}"] = layer.weight.detach().T.clone()
        none = torch.zeros(layer.out_features)
        named[f"b{name}"] = none if layer.bias is None else layer.bias.detach().clone()
    for name in ("ln1", "ln2"):
        named[f"{name}_weight"] = getattr(block, name).weight.detach().clone()
        named[f"{name}_bias"] = getattr(block, name).bias.detach().clone()
    return named
